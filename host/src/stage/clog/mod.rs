//! CLOG: every subchunk at the bit width of its largest word.
//!
//! A chunk is cut into 32 subchunks of equal size (to one word). Each is packed with as many bits a word as its largest word
//! needs, so it shrinks by the leading zeros that all its words share.
//!
//! | bits | field |
//! |---|---|
//! | 16 | length of the plain chunk in bytes |
//! | 32 x `F` | width of each subchunk; `F` = 4, 5, 6, 7 for words of 1, 2, 4, 8 bytes |
//! | sum of width x words | the words, least significant bit first, subchunk after subchunk |
//! | 0..=7 | zeros up to a whole byte |
//! | 8 x (length mod word size) | the bytes behind the last whole word, verbatim |
//!
//! One chunk:
//!
//! ```
//! use warpack::{ChunkSize, WordSize, stage::clog::{self, Settings}};
//! let settings = Settings { word: WordSize::W1, chunk: ChunkSize::C4096 };
//! let mut coded = [0; 4096];
//! let used = clog::encode_chunk(settings, &[0; 4096], &mut coded).expect("zeros shrink");
//! assert_eq!(used, 18); // the length and the width table; no payload
//! let mut plain = [1; 4096];
//! clog::decode_chunk(settings, &coded[..used], &mut plain)?;
//! assert_eq!(plain, [0; 4096]);
//! # Ok::<(), warpack::Error>(())
//! ```
//!
//! A stream of any length, in the container of [`super::lc`]:
//!
//! ```
//! use warpack::stage::clog::{self, Settings};
//! let plain: Vec<u8> = (0..100_000u32).flat_map(|i| ((i % 1000) as u16).to_le_bytes()).collect();
//! let mut coded = Vec::new();
//! clog::encode(Settings::default(), &plain, &mut coded)?;
//! assert!(coded.len() < plain.len() * 11 / 16); // 10 of 16 bits, and the headers
//! let mut again = vec![0; plain.len()];
//! clog::decode(Settings::default(), &coded, &mut again)?;
//! assert_eq!(again, plain);
//! # Ok::<(), warpack::Error>(())
//! ```
//!
//! CLOG is a component of the LC framework (Texas State University); see THIRD_PARTY.md.

pub(in crate::stage) mod cpu;
pub(in crate::stage) mod format;
#[cfg(test)]
mod tests;

use super::Entry;
use super::lc::{self, Component, Family, Scratch};
use crate::Result;
use shared_types::lc::ChunkStatus;

pub use super::lc::Settings;
#[cfg(feature = "cuda")]
pub use super::lc::{Decoded, DeviceCodec, REPORT_BYTES, chunk_status, stream_status};
pub use shared_types::clog::Layout;

/// CLOG's row in the table of stages.
pub static ENTRY: Entry = Entry {
    name: "clog",
    id: 1,
    about: "every subchunk at the bit width of its largest word",
    settings: Settings::NAMES,
    alone: true,
    from_options: |options| Ok(Box::new(Family::<Clog>::new(Settings::from_options(options)))),
    from_record: |record| Ok(Box::new(Family::<Clog>::new(Settings::read(&ENTRY, record)?))),
};

/// The component: [`lc`] makes a stage of it.
#[derive(Clone, Copy, Debug)]
pub struct Clog;

impl Component for Clog {
    fn entry() -> &'static Entry {
        &ENTRY
    }

    fn measure(settings: Settings, plain: &[u8], limit: usize) -> Option<usize> {
        cpu::measure(layout(settings, plain.len()), plain, limit)
    }

    fn encode(settings: Settings, plain: &[u8], limit: usize, scratch: &mut Scratch) -> Option<usize> {
        cpu::encode(layout(settings, plain.len()), plain, limit, scratch.bytes_mut())
    }

    fn decode(settings: Settings, coded: &[u8], plain: &mut [u8], _: &mut Scratch) -> Result<()> {
        cpu::decode(layout(settings, plain.len()), coded, plain)
    }

    fn check(settings: Settings, coded: &[u8], plain_bytes: usize) -> Result<()> {
        cpu::check(layout(settings, plain_bytes), coded)
    }
}

/// The layout of a chunk of `plain_bytes` bytes, which the container keeps within a chunk.
fn layout(settings: Settings, plain_bytes: usize) -> Layout {
    debug_assert!((1..=Scratch::CODED_BYTES).contains(&plain_bytes));
    Layout { len: plain_bytes as u32, word: settings.word }
}

/// Codes one chunk: [`lc::encode_chunk`].
///
/// # Panics
/// As that does.
pub fn encode_chunk(settings: Settings, plain: &[u8], coded: &mut [u8]) -> Option<usize> {
    lc::encode_chunk::<Clog>(settings, plain, coded)
}

/// Decodes one chunk: [`lc::decode_chunk`].
///
/// # Errors
/// Whatever is wrong with `coded`, the first fault.
///
/// # Panics
/// If `plain` is empty or longer than a chunk.
pub fn decode_chunk(settings: Settings, coded: &[u8], plain: &mut [u8]) -> Result<()> {
    lc::decode_chunk::<Clog>(settings, coded, plain)
}

/// Finds what [`decode_chunk`] would find wrong: [`lc::check_chunk`]. CLOG's faults are all in the header and the padding.
///
/// # Errors
/// Those of [`decode_chunk`].
///
/// # Panics
/// If `plain_bytes` is 0 or more than a chunk.
pub fn check_chunk(settings: Settings, coded: &[u8], plain_bytes: usize) -> Result<()> {
    lc::check_chunk::<Clog>(settings, coded, plain_bytes)
}

/// Replaces the contents of `coded` with the stream of `plain`: [`lc::encode`].
///
/// # Errors
/// [`crate::Error::TooLong`].
pub fn encode(settings: Settings, plain: &[u8], coded: &mut Vec<u8>) -> Result<()> {
    lc::encode::<Clog>(settings, plain, coded)
}

/// Decodes a stream that holds exactly `plain.len()` bytes: [`lc::decode`].
///
/// # Errors
/// Whatever is wrong with `coded`, the first fault.
pub fn decode(settings: Settings, coded: &[u8], plain: &mut [u8]) -> Result<()> {
    lc::decode::<Clog>(settings, coded, plain)
}

/// Decodes what can be decoded, a status per chunk: [`lc::decode_each`].
///
/// # Errors
/// A fault of the container.
pub fn decode_each(settings: Settings, coded: &[u8], plain: &mut [u8]) -> Result<Vec<ChunkStatus>> {
    lc::decode_each::<Clog>(settings, coded, plain)
}

/// Checks a stream without decoding it: the plain bytes it holds. A stream that passes decodes.
///
/// # Errors
/// Those of [`decode`].
pub fn check(settings: Settings, coded: &[u8]) -> Result<u32> {
    lc::check::<Clog>(settings, coded)
}
