//! RRE: chunks without the words that repeat the one before.
//!
//! A word is *flagged* where it differs from the word before it (the first: from 0). The flagged words are stored, and a
//! compressed bitmap of the flags.
//!
//! | bytes | field |
//! |---|---|
//! | word size x flagged words | the flagged words |
//! | .. | the bitmap; absent where no word is flagged |
//! | length mod word size | the bytes behind the last whole word, verbatim |
//! | 2 | length of the plain chunk in bytes |
//!
//! The bitmap is that of [`super::reducer`].
//!
//! ```
//! use warpack::{ChunkSize, WordSize, stage::{lc::{self, Settings}, rre::Rre}};
//! let settings = Settings { word: WordSize::W1, chunk: ChunkSize::C4096 };
//! let plain = [7; 4096];
//! let mut coded = [0; 4096];
//! let used = lc::encode_chunk::<Rre>(settings, &plain, &mut coded).expect("that shrinks");
//! assert_eq!(used, 1 + 7 + 2); // the first word, the bitmap, the length
//! let mut again = [1; 4096];
//! lc::decode_chunk::<Rre>(settings, &coded[..used], &mut again)?;
//! assert_eq!(again, plain);
//! # Ok::<(), warpack::Error>(())
//! ```
//!
//! RRE is a component of the LC framework (Texas State University); see THIRD_PARTY.md.

#![forbid(unsafe_code)]

use super::Entry;
use super::lc::{Family, Settings};
use super::reducer::Reducer;

/// RRE's row in the table of stages.
pub static ENTRY: Entry = Entry {
    name: "rre",
    id: 3,
    about: "drops words that repeat the one before",
    settings: Settings::NAMES,
    alone: true,
    from_options: |options| Ok(Box::new(Family::<Rre>::new(Settings::from_options(options)))),
    from_record: |record| Ok(Box::new(Family::<Rre>::new(Settings::read(&ENTRY, record)?))),
};

/// The component: [`super::lc`] makes a stage of it.
pub type Rre = Reducer<true, false>;
