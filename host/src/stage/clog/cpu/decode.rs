//! Coded chunk to plain chunk.

#![forbid(unsafe_code)]

use super::super::format::{Coded, Widths};
use crate::Result;
use shared_types::clog::Layout;
use shared_types::lc::WordSize;

/// Decodes `coded` into `plain`, which is `layout.len` bytes long.
pub fn decode(layout: Layout, coded: &[u8], plain: &mut [u8]) -> Result<()> {
    let coded = Coded::read(layout, coded)?;
    let (words, last) = plain.split_at_mut(plain.len() - layout.leftover() as usize);
    unpack(layout, &coded.widths, coded.payload, words);
    last.copy_from_slice(coded.leftover);
    Ok(())
}

/// Finds what [`decode`] would find wrong.
pub fn check(layout: Layout, coded: &[u8]) -> Result<()> {
    Coded::read(layout, coded).map(|_| ())
}

fn unpack(layout: Layout, widths: &Widths, payload: &[u8], words: &mut [u8]) {
    match layout.word {
        WordSize::W1 => unpack_words::<1>(layout, widths, payload, words),
        WordSize::W2 => unpack_words::<2>(layout, widths, payload, words),
        WordSize::W4 => unpack_words::<4>(layout, widths, payload, words),
        WordSize::W8 => unpack_words::<8>(layout, widths, payload, words),
    }
}

fn unpack_words<const W: usize>(layout: Layout, widths: &Widths, mut payload: &[u8], words: &mut [u8]) {
    let (mut bits, mut fill) = (0u128, 0);
    let words = words.as_chunks_mut::<W>().0;
    for (s, width) in (0..).zip(widths.0) {
        let width = u32::from(width);
        let mask = u64::MAX.checked_shr(u64::BITS - width).unwrap_or(0);
        let range = layout.subchunk(s);
        for word in &mut words[range.start as usize..range.end as usize] {
            if fill < width {
                let mut next = [0; 8];
                let bytes = payload.len().min(8);
                next[..bytes].copy_from_slice(&payload[..bytes]);
                payload = &payload[bytes..];
                bits |= u128::from(u64::from_le_bytes(next)) << fill;
                fill += u64::BITS; // beyond the end, zeros that no word reaches
            }
            word.copy_from_slice(&(bits as u64 & mask).to_le_bytes()[..W]);
            bits >>= width;
            fill -= width;
        }
    }
}
