//! Whole chunks: the choice per subchunk, and CLOG for the rest.

#![forbid(unsafe_code)]

use super::dispatch;
use super::words::Choice;
use crate::stage::clog::cpu as clog;
use crate::stage::lc::Scratch;
use crate::{Error, Result};
use shared_types::clog::Layout;

/// Bytes in front of CLOG's encoding: which subchunks are mapped.
const FLAG_BYTES: usize = 4;

/// Bytes of the encoding of `plain`, or `None` if that is not below `limit`.
pub fn measure(layout: Layout, plain: &[u8], limit: usize) -> Option<usize> {
    measured(layout, plain, limit).map(|(_, size)| size)
}

/// Codes `plain` to the front of `scratch`: the bytes used, or `None` if they were not below `limit`.
pub fn encode(layout: Layout, plain: &[u8], limit: usize, scratch: &mut Scratch) -> Option<usize> {
    let (Choice { mapped, widths }, size) = measured(layout, plain, limit)?;
    let (coded, chunk) = scratch.both_mut();
    let (flags, coded) = coded[..size + clog::SLACK_BYTES].split_at_mut(FLAG_BYTES);
    flags.copy_from_slice(&mapped.to_le_bytes());
    if mapped == 0 {
        clog::write(layout, &widths, plain, coded);
    } else {
        let chunk = &mut chunk[..plain.len()];
        chunk.copy_from_slice(plain);
        dispatch::map(layout, mapped, chunk);
        clog::write(layout, &widths, chunk, coded);
    }
    Some(size)
}

fn measured(layout: Layout, plain: &[u8], limit: usize) -> Option<(Choice, usize)> {
    let choice = dispatch::choose(layout, plain);
    let size = FLAG_BYTES + clog::coded_bytes(layout, &choice.widths);
    (size < limit).then_some((choice, size))
}

/// Decodes `coded` into `plain`, which is `layout.len` bytes long.
pub fn decode(layout: Layout, coded: &[u8], plain: &mut [u8]) -> Result<()> {
    let (mapped, coded) = split(coded)?;
    clog::decode(layout, coded, plain).map_err(behind_the_flags)?;
    if mapped != 0 {
        dispatch::map_back(layout, mapped, plain);
    }
    Ok(())
}

/// Finds what [`decode`] would find wrong.
pub fn check(layout: Layout, coded: &[u8]) -> Result<()> {
    let (_, coded) = split(coded)?;
    clog::check(layout, coded).map_err(behind_the_flags)
}

fn split(coded: &[u8]) -> Result<(u32, &[u8])> {
    let Some((flags, coded)) = coded.split_first_chunk::<FLAG_BYTES>() else {
        return Err(Error::Truncated { field: "flags", offset: 0, need: FLAG_BYTES as u64, have: coded.len() as u64 });
    };
    Ok((u32::from_le_bytes(*flags), coded))
}

/// CLOG's fault with the numbers of the whole encoding.
fn behind_the_flags(fault: Error) -> Error {
    const BEFORE: u64 = FLAG_BYTES as u64;
    match fault {
        Error::Truncated { field, offset, need, have } => Error::Truncated { field, offset: offset + BEFORE, need, have },
        Error::CodedLength { found, expected } => Error::CodedLength { found: found + BEFORE, expected: expected + BEFORE },
        Error::Padding { offset } => Error::Padding { offset: offset + BEFORE },
        other => other,
    }
}
