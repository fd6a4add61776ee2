//! HCLOG on a CPU: the choice per subchunk, and CLOG for the rest.

#![forbid(unsafe_code)]

use crate::stage::clog::cpu as clog;
use crate::stage::clog::format::Widths;
use crate::stage::lc::{Scratch, Word, by_word, change_words, words};
use crate::{Error, Result};
use shared_types::clog::{Layout, SUBCHUNKS};
use std::ops::Range;

/// Bytes in front of CLOG's encoding: which subchunks are mapped.
const FLAG_BYTES: usize = 4;

/// What becomes of the subchunks.
struct Choice {
    /// A bit for each that is mapped.
    mapped: u32,
    /// What its words take then.
    widths: Widths,
}

/// The bytes of subchunk `s`.
fn bytes_of(layout: Layout, s: u32) -> Range<usize> {
    let (words, word) = (layout.subchunk(s), layout.word.bytes());
    (words.start * word) as usize..(words.end * word) as usize
}

fn choose<T: Word>(layout: Layout, plain: &[u8]) -> Choice {
    let mut choice = Choice { mapped: 0, widths: Widths([0; SUBCHUNKS as usize]) };
    for (s, width) in (0..).zip(&mut choice.widths.0) {
        let (mut as_is, mut mapped) = (T::default(), T::default());
        for word in words::<T>(&plain[bytes_of(layout, s)]) {
            as_is = as_is.max(word);
            mapped = mapped.max(word.to_sign_magnitude());
        }
        choice.mapped |= u32::from(mapped < as_is) << s;
        *width = mapped.min(as_is).length() as u8;
    }
    choice
}

/// Changes the words of all `mapped` subchunks.
fn change<T: Word>(layout: Layout, mapped: u32, plain: &mut [u8], change: impl Fn(T) -> T) {
    for s in (0..SUBCHUNKS).filter(|s| mapped >> s & 1 != 0) {
        change_words(&mut plain[bytes_of(layout, s)], &change);
    }
}

fn map<T: Word>(layout: Layout, mapped: u32, plain: &mut [u8]) {
    change(layout, mapped, plain, T::to_sign_magnitude);
}

fn map_back<T: Word>(layout: Layout, mapped: u32, plain: &mut [u8]) {
    change(layout, mapped, plain, T::to_twos_complement);
}

/// Bytes of the encoding of `plain`, or `None` if that is not below `limit`.
pub fn measure(layout: Layout, plain: &[u8], limit: usize) -> Option<usize> {
    measured(layout, plain, limit).map(|(_, size)| size)
}

/// Codes `plain` to the front of `coded`, which has room for `limit` bytes and the slack: the bytes used, or `None` if
/// they were not below `limit`.
pub fn encode(layout: Layout, plain: &[u8], limit: usize, coded: &mut [u8]) -> Option<usize> {
    let (Choice { mapped, widths }, size) = measured(layout, plain, limit)?;
    let (flags, coded) = coded[..size + clog::SLACK_BYTES].split_at_mut(FLAG_BYTES);
    flags.copy_from_slice(&mapped.to_le_bytes());
    if mapped == 0 {
        clog::write(layout, &widths, plain, coded);
    } else {
        let mut chunk = [0; Scratch::CODED_BYTES];
        let chunk = &mut chunk[..plain.len()];
        chunk.copy_from_slice(plain);
        by_word!(layout.word, map(layout, mapped, chunk));
        clog::write(layout, &widths, chunk, coded);
    }
    Some(size)
}

fn measured(layout: Layout, plain: &[u8], limit: usize) -> Option<(Choice, usize)> {
    let choice = by_word!(layout.word, choose(layout, plain));
    let size = FLAG_BYTES + clog::coded_bytes(layout, &choice.widths);
    (size < limit).then_some((choice, size))
}

/// Decodes `coded` into `plain`, which is `layout.len` bytes long.
pub fn decode(layout: Layout, coded: &[u8], plain: &mut [u8]) -> Result<()> {
    let (mapped, coded) = split(coded)?;
    clog::decode(layout, coded, plain).map_err(behind_the_flags)?;
    if mapped != 0 {
        by_word!(layout.word, map_back(layout, mapped, plain));
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
