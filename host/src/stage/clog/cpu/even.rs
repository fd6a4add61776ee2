//! Chunks whose subchunks are alike and whole groups of 64 bytes: every full chunk. Eight words of `b` bits are `b` bytes, so
//! each subchunk starts at a byte, and eight plain bytes (a *qword*: one to eight words) can be handled as one number.
//!
//! This is the plain source; the dispatcher also compiles it for processors that move the bits of a qword in one instruction.

#![forbid(unsafe_code)]

use super::super::format::Widths;
use shared_types::clog::{Layout, SUBCHUNKS};

/// Subchunks are whole groups of so many bytes.
pub const GROUP_BYTES: usize = 64;

/// What an encoder may write behind the payload, and a decoder read behind a subchunk.
pub const SLACK_BYTES: usize = 64;

/// No subchunk is longer.
const MAX_SUBCHUNK_BYTES: usize = 512;

/// Whether a chunk is of this kind.
pub fn is_even(layout: Layout) -> bool {
    (layout.len as usize).is_multiple_of(SUBCHUNKS as usize * GROUP_BYTES)
}

/// Bits of a qword whose words take `width` bits.
pub const fn qword_bits<const W: usize>(width: u8) -> usize {
    width as usize * 8 / W
}

/// The lowest `bits` bits, 0 to 64.
pub const fn low_mask(bits: usize) -> u64 {
    if bits == 0 { 0 } else { u64::MAX >> (64 - bits) }
}

/// The width of words whose OR, qword by qword, is `any`.
#[inline(always)]
pub fn width_of<const W: usize>(mut any: u64) -> u8 {
    let mut lane = 32;
    while lane >= 8 * W {
        any |= any >> lane;
        lane /= 2;
    }
    (64 - (any & low_mask(8 * W)).leading_zeros()) as u8
}

/// The width of every subchunk.
#[inline(always)]
pub fn widths<const W: usize>(words: &[u8]) -> Widths {
    let mut widths = [0; SUBCHUNKS as usize];
    for (width, subchunk) in widths.iter_mut().zip(words.chunks_exact(words.len() / SUBCHUNKS as usize)) {
        let mut any = [0; GROUP_BYTES / 8];
        for group in subchunk.as_chunks::<GROUP_BYTES>().0 {
            for (any, qword) in any.iter_mut().zip(group.as_chunks().0) {
                *any |= u64::from_le_bytes(*qword);
            }
        }
        *width = width_of::<W>(any.iter().fold(0, |all, any| all | any));
    }
    Widths(widths)
}

/// Every second field of `bits` bits, from the lowest on, in lanes of `lane` bits.
const fn every_second(lane: usize, bits: usize) -> u64 {
    let (mut mask, mut at) = (0, 0);
    while at < 64 {
        mask |= low_mask(bits) << at;
        at += 2 * lane;
    }
    mask
}

/// Moves the words of a qword together: from `8 * W` bits each to `width`.
#[inline(always)]
fn squeeze<const W: usize>(mut qword: u64, width: u8) -> u64 {
    let (mut lane, mut bits) = (8 * W, width as usize);
    while lane < 64 {
        // Two neighbours become one lane of twice the size and twice the bits.
        let low = every_second(lane, bits);
        qword = (qword & low) | ((qword >> lane) & low) << bits;
        (lane, bits) = (2 * lane, 2 * bits);
    }
    qword
}

/// Takes back what [`squeeze`] did; what lies above the words of `qword` does not matter.
#[inline(always)]
fn spread<const W: usize>(mut qword: u64, width: u8) -> u64 {
    let mut lane = 32;
    while lane >= 8 * W {
        let bits = width as usize * lane / (8 * W);
        let low = every_second(lane, bits);
        qword = (qword & low) | ((qword >> (bits % 64)) & low) << lane;
        lane /= 2;
    }
    qword & if W == 8 { low_mask(width.into()) } else { u64::MAX }
}

/// Packs `words` to the front of `payload`, which has room for the slack behind them.
#[inline(always)]
pub fn pack<const W: usize>(widths: &Widths, words: &[u8], payload: &mut [u8]) {
    pack_by::<W>(widths, words, payload, squeeze::<W>);
}

/// [`pack`] with another [`squeeze`].
#[inline(always)]
pub fn pack_by<const W: usize>(widths: &Widths, words: &[u8], payload: &mut [u8], squeeze: impl Fn(u64, u8) -> u64) {
    let mut at = 0;
    for (&width, subchunk) in widths.0.iter().zip(words.chunks_exact(words.len() / SUBCHUNKS as usize)) {
        let bits = qword_bits::<W>(width);
        let (mut open, mut fill) = (0, 0);
        for qword in subchunk.as_chunks().0 {
            let qword = squeeze(u64::from_le_bytes(*qword), width);
            open |= qword << fill;
            fill += bits;
            if fill >= 64 {
                payload[at..at + 8].copy_from_slice(&open.to_le_bytes());
                at += 8;
                // What did not fit; a shift by 64 in two steps.
                open = qword >> 1 >> (bits + 63 - fill);
                fill -= 64;
            }
        }
        payload[at..at + 8].copy_from_slice(&open.to_le_bytes());
        at += fill / 8;
    }
}

/// Takes back what [`pack`] packed.
#[inline(always)]
pub fn unpack<const W: usize>(widths: &Widths, payload: &[u8], words: &mut [u8]) {
    unpack_by::<W>(widths, payload, words, spread::<W>);
}

/// [`unpack`] with another [`spread`].
#[inline(always)]
pub fn unpack_by<const W: usize>(widths: &Widths, payload: &[u8], words: &mut [u8], spread: impl Fn(u64, u8) -> u64) {
    for_each_subchunk::<W>(widths, payload, words, |width, coded, subchunk| {
        let bits = qword_bits::<W>(width);
        for (place, at) in subchunk.as_chunks_mut::<8>().0.iter_mut().zip((0..).step_by(bits.max(1))) {
            let at = if bits == 0 { 0 } else { at };
            let (bytes, shift) = (&coded[at / 8..][..9], at % 8);
            let low = bytes.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
            let qword = low >> shift | u64::from(bytes[8]) << 1 << (63 - shift);
            *place = spread(qword, width).to_le_bytes();
        }
    });
}

/// Calls `unpack` with every subchunk's width, its coded bytes with the slack behind them, and its place.
#[inline(always)]
pub fn for_each_subchunk<const W: usize>(
    widths: &Widths,
    payload: &[u8],
    words: &mut [u8],
    mut unpack: impl FnMut(u8, &[u8], &mut [u8]),
) {
    let share = words.len() / SUBCHUNKS as usize;
    assert!(share <= MAX_SUBCHUNK_BYTES);
    let mut work = widths.0.iter().zip(words.chunks_exact_mut(share)).peekable();
    let mut rest = payload;
    while let Some((&width, subchunk)) = work.next_if(|(width, _)| {
        let coded_bytes = share / 8 * qword_bits::<W>(**width) / 8;
        coded_bytes + SLACK_BYTES <= rest.len()
    }) {
        unpack(width, rest, subchunk);
        rest = &rest[share / 8 * qword_bits::<W>(width) / 8..];
    }
    // Near the end of the payload there is no slack: the last subchunks are read from a copy that has it.
    let mut tail = [0; MAX_SUBCHUNK_BYTES + 2 * SLACK_BYTES];
    tail[..rest.len()].copy_from_slice(rest);
    let mut rest = &tail[..];
    for (&width, subchunk) in work {
        unpack(width, rest, subchunk);
        rest = &rest[share / 8 * qword_bits::<W>(width) / 8..];
    }
}
