//! Chunks of any length on any processor.

#![forbid(unsafe_code)]

use super::Counts;
use crate::stage::lc::{Word, words};

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

/// Flags the words that have anything new.
pub fn flag_whole<T: Word, const REPEAT: bool>(plain: &[u8], flags: &mut [u8]) {
    let mut news = news::<T, REPEAT>(plain);
    for flags in flags {
        *flags = (0..8).fold(0, |all, i| all | u8::from(news.next().is_some_and(|new| new != T::default())) << i);
        if news.len() == 0 {
            break;
        }
    }
}

/// The bits that each word has new.
pub fn lengths<T: Word, const REPEAT: bool>(plain: &[u8], lengths: &mut [u8]) {
    for (length, new) in lengths.iter_mut().zip(news::<T, REPEAT>(plain)) {
        *length = new.length() as u8;
    }
}

/// How many of the lengths are at most `k`, for `k` up to `bits`.
pub fn count(lengths: &[u8], bits: usize) -> Counts {
    // Four at a time, so that equal neighbours need not wait for each other.
    let mut each = [[0; 65]; 4];
    let (fours, rest) = lengths.as_chunks();
    for &[a, b, c, d] in fours {
        each[0][usize::from(a)] += 1;
        each[1][usize::from(b)] += 1;
        each[2][usize::from(c)] += 1;
        each[3][usize::from(d)] += 1;
    }
    for &length in rest {
        each[0][usize::from(length)] += 1;
    }
    let mut counts = [0; 65];
    let mut up_to = 0;
    for (k, count) in counts[..=bits].iter_mut().enumerate() {
        up_to += each.iter().map(|each| each[k]).sum::<u32>();
        *count = up_to;
    }
    counts
}

/// Flags the words whose length is above `keep`.
pub fn flag_longer(lengths: &[u8], keep: u8, flags: &mut [u8]) {
    for (flags, lengths) in flags.iter_mut().zip(lengths.chunks(8)) {
        *flags = (0..).zip(lengths).fold(0, |all, (i, &length)| all | u8::from(length > keep) << i);
    }
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

/// Moves the flagged words to the front of `coded`, and behind them `keep` bits of each of the others.
pub fn pick<T: Word>(plain: &[u8], flags: &[u8], flagged: usize, keep: usize, coded: &mut [u8]) {
    let (whole, low) = coded.split_at_mut(flagged * T::BYTES);
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

/// Takes back what [`pick`] did: each flagged word of `plain` from `whole`, the others with their low `keep` bits from `low` and
/// the upper bits of the last flagged one before, or 0.
pub fn place<T: Word, const REPEAT: bool>(flags: &[u8], whole: &[u8], low: &[u8], keep: usize, plain: &mut [u8]) {
    let (mut whole, mut low, low_mask) = (words::<T>(whole), low, low_mask::<T>(keep));
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
