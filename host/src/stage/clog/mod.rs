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

mod cpu;
mod format;
#[cfg(test)]
mod tests;

use super::lc::{self, Component, Family, Scratch};
use super::{Coder, Entry};
use crate::{Backend, Error, Result};
use shared_types::lc::{ChunkStatus, WordSize};

pub use super::lc::Settings;
#[cfg(feature = "cuda")]
pub use super::lc::{Decoded, DeviceCodec, REPORT_BYTES, chunk_status, stream_status};
pub use shared_types::clog::Layout;

/// CLOG's row in the table of stages.
pub static ENTRY: Entry = Entry {
    name: "clog",
    id: 1,
    about: "every subchunk at the bit width of its largest word",
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

    fn coder(settings: Settings, backend: &Backend) -> Result<Box<dyn Coder>> {
        match backend {
            Backend::Cpu => Ok(Box::new(lc::CpuCoder::<Self>::new(settings))),
            #[cfg(feature = "cuda")]
            Backend::Cuda(device) => {
                Ok(Box::new(lc::cuda::CudaCoder::new(lc::DeviceCodec::new(&ENTRY, settings, device)?, check)?))
            }
        }
    }

    fn measure(word: WordSize, plain: &[u8], limit: usize) -> Option<usize> {
        cpu::measure(layout(word, plain.len()), plain, limit)
    }

    fn encode(word: WordSize, plain: &[u8], limit: usize, coded: &mut Scratch) -> Option<usize> {
        cpu::encode(layout(word, plain.len()), plain, limit, coded.bytes_mut())
    }

    fn decode(word: WordSize, coded: &[u8], plain: &mut [u8]) -> Result<()> {
        cpu::decode(layout(word, plain.len()), coded, plain)
    }

    fn check(word: WordSize, coded: &[u8], plain_bytes: usize) -> Result<()> {
        cpu::check(layout(word, plain_bytes), coded)
    }
}

/// The layout of a chunk of `plain_bytes` bytes, which the container keeps within a chunk.
fn layout(word: WordSize, plain_bytes: usize) -> Layout {
    debug_assert!((1..=Scratch::CODED_BYTES).contains(&plain_bytes));
    Layout { len: plain_bytes as u32, word }
}

fn assert_chunk(settings: Settings, plain_bytes: usize) {
    let most = settings.chunk.bytes() as usize;
    assert!((1..=most).contains(&plain_bytes), "a chunk holds 1 to {most} bytes, not {plain_bytes}");
}

/// Codes one chunk to the front of `coded`: the bytes used, or `None` where that would be as long as a full chunk or longer.
///
/// The encoding of a short chunk can be longer than the chunk; only the container refuses that.
///
/// # Panics
/// If `plain` is empty or longer than a chunk, or if `coded` is shorter than the encoding ([`ChunkSize::bytes`] are always
/// enough).
///
/// [`ChunkSize::bytes`]: crate::ChunkSize::bytes
pub fn encode_chunk(settings: Settings, plain: &[u8], coded: &mut [u8]) -> Option<usize> {
    assert_chunk(settings, plain.len());
    let mut scratch = Scratch::new();
    let used = Clog::encode(settings.word, plain, settings.chunk.bytes() as usize, &mut scratch)?;
    assert!(coded.len() >= used, "the encoding has {used} bytes, the buffer {}", coded.len());
    coded[..used].copy_from_slice(scratch.coded(used));
    Some(used)
}

/// Decodes one chunk, whose length is known: `plain.len()`.
///
/// # Errors
/// [`Error::NotSmaller`], or else the first fault in the order of [`ChunkStatus`]. What `plain` holds then is unspecified.
///
/// # Panics
/// If `plain` is empty or longer than a chunk.
pub fn decode_chunk(settings: Settings, coded: &[u8], plain: &mut [u8]) -> Result<()> {
    assert_chunk(settings, plain.len());
    check_smaller(settings, coded)?;
    Clog::decode(settings.word, coded, plain)
}

/// Finds what [`decode_chunk`] would find wrong with the encoding of a chunk of `plain_bytes` bytes. CLOG's faults are all in
/// the header and the padding, so an encoding that passes decodes.
///
/// # Errors
/// Those of [`decode_chunk`].
///
/// # Panics
/// If `plain_bytes` is 0 or more than a chunk.
pub fn check_chunk(settings: Settings, coded: &[u8], plain_bytes: usize) -> Result<()> {
    assert_chunk(settings, plain_bytes);
    check_smaller(settings, coded)?;
    Clog::check(settings.word, coded, plain_bytes)
}

fn check_smaller(settings: Settings, coded: &[u8]) -> Result<()> {
    let chunk = settings.chunk.bytes();
    if coded.len() >= chunk as usize {
        return Err(Error::NotSmaller { coded: coded.len() as u64, chunk });
    }
    Ok(())
}

/// Replaces the contents of `coded` with the stream of `plain`: [`lc::encode`].
///
/// # Errors
/// [`Error::TooLong`].
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
