//! Strings of up to 128 bits in four registers: joining them, and putting them anywhere into shared memory.

use cuda_std::{
    bits::{funnel_shift_left_clamp, funnel_shift_left_wrap, funnel_shift_right_clamp, shl_clamp, shr_clamp},
    shared::SharedArray,
};

/// The lowest `bits` bits, 0 to 32.
#[inline(always)]
pub fn low(bits: u32) -> u32 {
    shl_clamp(1, bits).wrapping_sub(1)
}

/// `q0 | q1 << h`, where `q0` has `h` bits, 0 to 64.
#[inline(always)]
pub fn join(q0: [u32; 2], q1: [u32; 2], h: u32) -> [u32; 4] {
    if h <= 32 {
        [q0[0] | shl_clamp(q1[0], h), q0[1] | funnel_shift_left_clamp(q1[0], q1[1], h), funnel_shift_left_clamp(q1[1], 0, h), 0]
    } else {
        let h = h - 32;
        [q0[0], q0[1] | shl_clamp(q1[0], h), funnel_shift_left_clamp(q1[0], q1[1], h), funnel_shift_left_clamp(q1[1], 0, h)]
    }
}

/// `v` without its lowest `bits` bits, 0 to 32.
#[inline(always)]
pub fn drop_low(v: [u32; 4], bits: u32) -> [u32; 4] {
    [
        funnel_shift_right_clamp(v[0], v[1], bits),
        funnel_shift_right_clamp(v[1], v[2], bits),
        funnel_shift_right_clamp(v[2], v[3], bits),
        shr_clamp(v[3], bits),
    ]
}

/// ORs the `bits` bits of `v` (0 to 32 times `REGISTERS`; there are no others) into words that hold zeros there, from bit `at` of
/// word `from` on. Words that it covers whole are stored, so nobody else may have bits there.
#[inline(always)]
pub fn or_into<const REGISTERS: usize, const N: usize>(
    words: &SharedArray<u32, N>,
    from: u32,
    at: u32,
    v: [u32; 4],
    bits: u32,
) {
    if bits == 0 {
        return;
    }
    let shift = at % 32;
    let w = [
        v[0] << shift,
        funnel_shift_left_wrap(v[0], v[1], shift),
        funnel_shift_left_wrap(v[1], v[2], shift),
        funnel_shift_left_wrap(v[2], v[3], shift),
        funnel_shift_left_wrap(v[3], 0, shift),
    ];
    let end = shift + bits;
    let to = (from + at / 32) as usize;
    if shift == 0 && end >= 32 {
        words.write(to, w[0]);
    } else {
        words.fetch_or(to, w[0]);
    }
    let mut i = 1;
    while i <= REGISTERS {
        let (first, past) = (i as u32 * 32, i as u32 * 32 + 32);
        // No string is so long that it covers the word behind its registers whole.
        if i < REGISTERS && end >= past {
            words.write(to + i, w[i]);
        } else if end > first {
            words.fetch_or(to + i, w[i]);
        }
        i += 1;
    }
}

/// As [`or_into`], for strings of one or two registers that seldom cover a word whole; `bits` is not 0.
#[inline(always)]
pub fn or_few<const REGISTERS: usize, const N: usize>(words: &SharedArray<u32, N>, from: u32, at: u32, v: [u32; 2], bits: u32) {
    let (to, shift) = ((from + at / 32) as usize, at % 32);
    let end = shift + bits;
    words.fetch_or(to, v[0] << shift);
    if end > 32 {
        words.fetch_or(to + 1, funnel_shift_left_wrap(v[0], if REGISTERS > 1 { v[1] } else { 0 }, shift));
    }
    if REGISTERS > 1 && end > 64 {
        words.fetch_or(to + 2, funnel_shift_left_wrap(v[1], 0, shift));
    }
}
