//! Chunks of any length on any processor.

#![forbid(unsafe_code)]

use super::{Counts, Payload};
use crate::stage::lc::{Scratch, Word, words};

/// What is left of each word: its difference to the one before, or all of it.
#[inline(always)]
fn news<T: Word, const REPEAT: bool>(plain: &[u8]) -> impl ExactSizeIterator<Item = T> {
    let mut before = T::default();
    words::<T>(plain).map(move |word| {
        let new = if REPEAT { word ^ before } else { word };
        before = word;
        new
    })
}

/// How many words have at most `k` bits new, for every `k` up to all.
pub fn count<T: Word, const REPEAT: bool>(plain: &[u8]) -> Counts {
    // In turns, so that equal neighbours need not wait for each other.
    let mut each = [[0; 65]; 2];
    for (i, new) in news::<T, REPEAT>(plain).enumerate() {
        each[i % 2][new.length() as usize] += 1;
    }
    let (mut counts, mut up_to) = ([0; 65], 0);
    for (k, count) in counts.iter_mut().enumerate() {
        up_to += each[0][k] + each[1][k];
        *count = up_to;
    }
    counts
}

/// Flags the words that have more than `keep` bits new: how many.
pub fn flag<T: Word, const REPEAT: bool>(plain: &[u8], keep: usize, flags: &mut [u8]) -> usize {
    let (mut flagged, most) = (0, low_mask::<T>(keep));
    for (i, new) in news::<T, REPEAT>(plain).enumerate() {
        let flag = u8::from(new > most);
        flags[i / 8] |= flag << (i % 8);
        flagged += usize::from(flag);
    }
    flagged
}

/// How many bits are set.
pub fn ones(bytes: &[u8]) -> usize {
    bytes.iter().map(|byte| byte.count_ones() as usize).sum()
}

/// A bit for each byte of `below`, behind its first [`PAD_BYTES`](super::super::bitmap::PAD_BYTES), which differs from the byte
/// before.
pub fn changes(below: &[u8], above: &mut [u8]) {
    let mut before = 0;
    let below = &below[super::super::bitmap::PAD_BYTES..];
    for (bits, qword) in above.iter_mut().zip(below.as_chunks().0) {
        let qword = u64::from_le_bytes(*qword);
        *bits = nonzero_bytes(qword ^ (qword << 8 | before));
        before = qword >> 56;
    }
}

/// A bit for each byte that is not 0.
fn nonzero_bytes(qword: u64) -> u8 {
    const LOW: u64 = 0x7F7F_7F7F_7F7F_7F7F;
    // A byte's top bit: whether the byte is not 0. The multiplication gathers them at the top.
    let tops = (((qword & LOW) + LOW) | qword) & !LOW;
    ((tops >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56) as u8
}

/// Moves the bytes of `level` whose bit in `bits` is set to the front of `coded`: how many.
pub fn gather(level: &[u8], bits: &[u8], coded: &mut [u8]) -> usize {
    let mut at = 0;
    for (bytes, &bits) in level.as_chunks::<8>().0.iter().zip(bits) {
        let mut bits = bits;
        while bits != 0 {
            coded[at] = bytes[bits.trailing_zeros() as usize];
            at += 1;
            bits &= bits - 1;
        }
    }
    at
}

/// Takes back what [`gather`] did: each byte of `level` is the next of `stored` where its bit in `bits` is set, else the byte
/// before it. `stored` has as many bytes as there are bits.
pub fn repeat(bits: &[u8], stored: &[u8], level: &mut [u8]) {
    let (mut stored, mut byte) = (stored.iter(), 0);
    for (bytes, &bits) in level.as_chunks_mut::<8>().0.iter_mut().zip(bits) {
        if bits == 0 {
            *bytes = [byte; 8];
            continue;
        }
        for (i, place) in bytes.iter_mut().enumerate() {
            if bits >> i & 1 != 0 {
                byte = stored.next().copied().unwrap_or(byte);
            }
            *place = byte;
        }
    }
}

/// The low `keep` bits.
fn low_mask<T: Word>(keep: usize) -> T {
    T::from_u64(u64::MAX.checked_shr(64 - keep as u32).unwrap_or(0))
}

/// Moves the flagged words to the front of `scratch`, and behind them `keep` bits of each of the others.
pub fn pick<T: Word>(plain: &[u8], flags: &[u8], flagged: usize, keep: usize, scratch: &mut Scratch) {
    let (whole, low) = scratch.bytes_mut().split_at_mut(flagged * T::BYTES);
    let mut places = whole.chunks_exact_mut(T::BYTES);
    let (mut open, mut fill, mut at) = (0u128, 0, 0);
    for (i, word) in words::<T>(plain).enumerate() {
        if flags[i / 8] >> (i % 8) & 1 != 0 {
            if let Some(place) = places.next() {
                place.copy_from_slice(bytemuck::bytes_of(&word.little_endian()));
            }
            continue;
        }
        open |= u128::from((word & low_mask(keep)).to_u64()) << fill;
        fill += keep;
        if fill >= 64 {
            low[at..at + 8].copy_from_slice(&(open as u64).to_le_bytes());
            at += 8;
            open >>= 64;
            fill -= 64;
        }
    }
    let rest = fill.div_ceil(8);
    low[at..at + rest].copy_from_slice(&open.to_le_bytes()[..rest]);
}

/// Takes back what [`pick`] did: each flagged word of `plain` from the whole ones, the others with their low bits and the
/// upper bits of the last flagged one before, or 0.
pub fn place<T: Word, const REPEAT: bool>(flags: &[u8], payload: Payload<'_>, _: &mut Scratch, plain: &mut [u8]) {
    let Payload { whole, mut low, keep } = payload;
    let (mut whole, low_mask) = (words::<T>(whole), low_mask::<T>(keep));
    let (mut open, mut fill) = (0u128, 0);
    let mut upper = T::default();
    for (i, place) in plain.chunks_exact_mut(T::BYTES).enumerate() {
        let word = if flags[i / 8] >> (i % 8) & 1 != 0 {
            let word = whole.next().unwrap_or_default();
            if REPEAT {
                upper = word & !low_mask;
            }
            word
        } else {
            if fill < keep {
                let mut next = [0; 8];
                let (now, later) = low.split_at(low.len().min(8));
                next[..now.len()].copy_from_slice(now);
                low = later;
                open |= u128::from(u64::from_le_bytes(next)) << fill;
                fill += 64; // beyond the end, zeros that no word reaches
            }
            let word = upper | T::from_u64(open as u64) & low_mask;
            open >>= keep;
            fill -= keep;
            word
        };
        place.copy_from_slice(bytemuck::bytes_of(&word.little_endian()));
    }
}
