//! RZE: chunks without the words that are zero.
//!
//! A word is *flagged* where it is not 0. The flagged words are stored, and a compressed bitmap of the flags.
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
//! use warpack::{ChunkSize, WordSize, stage::{lc::{self, Settings}, rze::Rze}};
//! let settings = Settings { word: WordSize::W1, chunk: ChunkSize::C4096 };
//! let plain = [0; 4096];
//! let mut coded = [0; 4096];
//! let used = lc::encode_chunk::<Rze>(settings, &plain, &mut coded).expect("that shrinks");
//! assert_eq!(used, 2); // the length: no word is flagged
//! let mut again = [1; 4096];
//! lc::decode_chunk::<Rze>(settings, &coded[..used], &mut again)?;
//! assert_eq!(again, plain);
//! # Ok::<(), warpack::Error>(())
//! ```
//!
//! RZE is a component of the LC framework (Texas State University); see THIRD_PARTY.md.

#![forbid(unsafe_code)]

use super::Entry;
use super::lc::{Family, Settings};
use super::reducer::Reducer;

/// RZE's row in the table of stages.
pub static ENTRY: Entry = Entry {
    name: "rze",
    id: 4,
    about: "drops words that are zero",
    settings: Settings::NAMES,
    alone: true,
    from_options: |options| Ok(Box::new(Family::<Rze>::new(Settings::from_options(options)))),
    from_record: |record| Ok(Box::new(Family::<Rze>::new(Settings::read(&ENTRY, record)?))),
};

/// The component: [`super::lc`] makes a stage of it.
pub type Rze = Reducer<false, false>;
