//! Words of any chunk, one at a time: the last chunk of a stream may be cut anywhere, so its subchunks are not alike.

#![forbid(unsafe_code)]

use super::super::format::Widths;
use shared_types::clog::{Layout, SUBCHUNKS};

/// A little-endian word of `W` bytes.
fn word<const W: usize>(bytes: &[u8; W]) -> u64 {
    let mut word = [0; 8];
    word[..W].copy_from_slice(bytes);
    u64::from_le_bytes(word)
}

/// The width of every subchunk.
pub fn widths<const W: usize>(layout: Layout, words: &[u8]) -> Widths {
    let words = words.as_chunks::<W>().0;
    let mut widths = [0; SUBCHUNKS as usize];
    for (s, width) in (0..).zip(&mut widths) {
        // The OR of all words is as long as the largest one.
        let range = layout.subchunk(s);
        let any = words[range.start as usize..range.end as usize].iter().fold(0, |any, bytes| any | word(bytes));
        *width = (u64::BITS - any.leading_zeros()) as u8;
    }
    Widths(widths)
}

/// Packs `words` to the front of `payload`, which is as long as the widths ask for or longer.
pub fn pack<const W: usize>(layout: Layout, widths: &Widths, words: &[u8], payload: &mut [u8]) {
    let words = words.as_chunks::<W>().0;
    let (mut bits, mut fill, mut at) = (0u128, 0, 0);
    for (s, width) in (0..).zip(widths.0) {
        let range = layout.subchunk(s);
        for bytes in &words[range.start as usize..range.end as usize] {
            bits |= u128::from(word(bytes)) << fill;
            fill += u32::from(width);
            if fill >= u64::BITS {
                payload[at..at + 8].copy_from_slice(&(bits as u64).to_le_bytes());
                at += 8;
                bits >>= u64::BITS;
                fill -= u64::BITS;
            }
        }
    }
    let rest = fill.div_ceil(8) as usize;
    payload[at..at + rest].copy_from_slice(&bits.to_le_bytes()[..rest]);
}

/// Takes back what [`pack`] packed.
pub fn unpack<const W: usize>(layout: Layout, widths: &Widths, mut payload: &[u8], words: &mut [u8]) {
    let words = words.as_chunks_mut::<W>().0;
    let (mut bits, mut fill) = (0u128, 0);
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
