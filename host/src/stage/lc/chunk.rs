//! One chunk by itself, without the container: what a component makes of it, short of nothing.

#![forbid(unsafe_code)]

use super::{Component, Scratch, Settings};
use crate::{Error, Result};

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
pub fn encode<C: Component>(settings: Settings, plain: &[u8], coded: &mut [u8]) -> Option<usize> {
    assert_chunk(settings, plain.len());
    let mut scratch = Scratch::new();
    let used = C::encode(settings, plain, settings.chunk.bytes() as usize, &mut scratch)?;
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
///
/// [`ChunkStatus`]: shared_types::lc::ChunkStatus
pub fn decode<C: Component>(settings: Settings, coded: &[u8], plain: &mut [u8]) -> Result<()> {
    assert_chunk(settings, plain.len());
    check_smaller(settings, coded)?;
    C::decode(settings, coded, plain, &mut Scratch::new())
}

/// Finds what [`decode`] would find wrong with the encoding of a chunk of `plain_bytes` bytes. An encoding that passes
/// decodes.
///
/// # Errors
/// Those of [`decode`].
///
/// # Panics
/// If `plain_bytes` is 0 or more than a chunk.
pub fn check<C: Component>(settings: Settings, coded: &[u8], plain_bytes: usize) -> Result<()> {
    assert_chunk(settings, plain_bytes);
    check_smaller(settings, coded)?;
    C::check(settings, coded, plain_bytes)
}

fn check_smaller(settings: Settings, coded: &[u8]) -> Result<()> {
    let chunk = settings.chunk.bytes();
    if coded.len() >= chunk as usize {
        return Err(Error::NotSmaller { coded: coded.len() as u64, chunk });
    }
    Ok(())
}
