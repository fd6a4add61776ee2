//! RAZE: chunks without the upper bits that are zero.
//!
//! One number for the whole chunk, `keep`, splits the words in two kinds. A word is *flagged* where it has more than `keep` bits,
//! and stored whole; of the others only the lowest `keep` bits are. `keep` is what drops the most bits, the smallest such
//! number.
//!
//! | bytes | field |
//! |---|---|
//! | word size x flagged words | the flagged words, whole |
//! | .. | the low `keep` bits of each of the others, least significant bit first, and zeros up to a whole byte |
//! | .. | the bitmap |
//! | length mod word size | the bytes behind the last whole word, verbatim |
//! | 1 | `keep` |
//! | 2 | length of the plain chunk in bytes |
//!
//! Where all words are zero, the first three fields are absent and `keep` is one more than the bits of a word. Where nothing can
//! be dropped, the words follow as they are, without a bitmap, and `keep` is the bits of a word.
//!
//! The bitmap is that of [`super::reducer`].
//!
//! ```
//! use warpack::{ChunkSize, WordSize, stage::{lc::{self, Settings}, raze::Raze}};
//! let settings = Settings { word: WordSize::W2, chunk: ChunkSize::C4096 };
//! let mut plain = [0; 4096];
//! for (i, word) in plain.chunks_exact_mut(2).enumerate() {
//!     word.copy_from_slice(&(i as u16 % 8).to_le_bytes());
//! }
//! let mut coded = [0; 4096];
//! let used = lc::encode_chunk::<Raze>(settings, &plain, &mut coded).expect("that shrinks");
//! assert_eq!(used, 768 + 4 + 3); // 3 bits of each word, an empty bitmap, the tag
//! let mut again = [1; 4096];
//! lc::decode_chunk::<Raze>(settings, &coded[..used], &mut again)?;
//! assert_eq!(again, plain);
//! # Ok::<(), warpack::Error>(())
//! ```
//!
//! RAZE is a component of the LC framework (Texas State University); see THIRD_PARTY.md.

#![forbid(unsafe_code)]

use super::Entry;
use super::lc::{Family, Settings};
use super::reducer::Reducer;

/// RAZE's row in the table of stages.
pub static ENTRY: Entry = Entry {
    name: "raze",
    id: 6,
    about: "drops upper bits that are zero",
    settings: Settings::NAMES,
    alone: true,
    from_options: |options| Ok(Box::new(Family::<Raze>::new(Settings::from_options(options)))),
    from_record: |record| Ok(Box::new(Family::<Raze>::new(Settings::read(&ENTRY, record)?))),
};

/// The component: [`super::lc`] makes a stage of it.
pub type Raze = Reducer<false, true>;
