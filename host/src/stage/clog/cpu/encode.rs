//! Plain chunk to coded chunk.

#![forbid(unsafe_code)]

use super::super::format::Widths;
use shared_types::clog::{Layout, SUBCHUNKS};
use shared_types::lc::WordSize;

/// Bytes of the encoding of `plain`, or `None` if that is not below `limit`.
pub fn measure(layout: Layout, plain: &[u8], limit: usize) -> Option<usize> {
    measured(layout, plain, limit).map(|(_, size)| size)
}

/// Codes `plain` to the front of `coded`, which has room for `limit` bytes and the slack: the bytes used, or `None` if
/// they were not below `limit`.
pub fn encode(layout: Layout, plain: &[u8], limit: usize, coded: &mut [u8]) -> Option<usize> {
    let (widths, size) = measured(layout, plain, limit)?;
    widths.write(layout, coded);
    let leftover = layout.leftover() as usize;
    let (words, last) = plain.split_at(plain.len() - leftover);
    pack(layout, &widths, words, &mut coded[layout.header_bytes() as usize..size - leftover]);
    coded[size - leftover..size].copy_from_slice(last);
    Some(size)
}

fn measured(layout: Layout, plain: &[u8], limit: usize) -> Option<(Widths, usize)> {
    let widths = match layout.word {
        WordSize::W1 => widths::<1>(layout, plain),
        WordSize::W2 => widths::<2>(layout, plain),
        WordSize::W4 => widths::<4>(layout, plain),
        WordSize::W8 => widths::<8>(layout, plain),
    };
    let size = layout.coded_bytes(widths.payload_bits(layout)) as usize;
    (size < limit).then_some((widths, size))
}

fn pack(layout: Layout, widths: &Widths, words: &[u8], payload: &mut [u8]) {
    match layout.word {
        WordSize::W1 => pack_words::<1>(layout, widths, words, payload),
        WordSize::W2 => pack_words::<2>(layout, widths, words, payload),
        WordSize::W4 => pack_words::<4>(layout, widths, words, payload),
        WordSize::W8 => pack_words::<8>(layout, widths, words, payload),
    }
}

/// A little-endian word of `W` bytes.
fn word<const W: usize>(bytes: &[u8; W]) -> u64 {
    let mut word = [0; 8];
    word[..W].copy_from_slice(bytes);
    u64::from_le_bytes(word)
}

/// The words of subchunk `s`.
fn subchunk<const W: usize>(layout: Layout, s: u32, words: &[u8]) -> &[[u8; W]] {
    let range = layout.subchunk(s);
    &words.as_chunks::<W>().0[range.start as usize..range.end as usize]
}

fn widths<const W: usize>(layout: Layout, plain: &[u8]) -> Widths {
    let mut widths = [0; SUBCHUNKS as usize];
    for (s, width) in (0..).zip(&mut widths) {
        // The OR of all words is as long as the largest one.
        let any = subchunk::<W>(layout, s, plain).iter().fold(0, |any, bytes| any | word(bytes));
        *width = (u64::BITS - any.leading_zeros()) as u8;
    }
    Widths(widths)
}

fn pack_words<const W: usize>(layout: Layout, widths: &Widths, words: &[u8], payload: &mut [u8]) {
    let (mut bits, mut fill, mut at) = (0u128, 0, 0);
    for (s, width) in (0..).zip(widths.0) {
        for bytes in subchunk::<W>(layout, s, words) {
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
    let rest = payload.len() - at;
    payload[at..].copy_from_slice(&bits.to_le_bytes()[..rest]);
}
