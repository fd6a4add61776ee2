//! 16 bytes of words to their low `b` bits each, and back, in four registers.
//!
//! Packing joins neighbours until one value of `T = b * 16 / W` bits is left: four values of `T/4` bits, two of `T/2`,
//! one of `T`. Unpacking is the same tree backwards. Every shift may be as long as its register (widths 0 and full), so
//! all of them clamp.

use crate::bits128::{join, low};
use cuda_std::{
    bits::{funnel_shift_right_clamp, shl_clamp, shr_clamp},
    vector::U32x4,
};

/// The low `b` bits of each word of `W` bytes in `v`, word after word; the words fit into `b` bits.
#[inline(always)]
pub fn pack<const W: u32>(v: U32x4, b: u32) -> [u32; 4] {
    if W == 8 {
        return join([v.x, v.y], [v.z, v.w], b);
    }
    // Values of `c` bits each, one a register.
    let c = b * (4 / W);
    let p = [quarter::<W>(v.x, b), quarter::<W>(v.y, b), quarter::<W>(v.z, b), quarter::<W>(v.w, b)];
    let q0 = [p[0] | shl_clamp(p[1], c), shr_clamp(p[1], 32 - c)];
    let q1 = [p[2] | shl_clamp(p[3], c), shr_clamp(p[3], 32 - c)];
    join(q0, q1, 2 * c)
}

/// The words of one register, joined to `b * 4 / W` bits.
#[inline(always)]
fn quarter<const W: u32>(x: u32, b: u32) -> u32 {
    match W {
        1 => {
            let pairs = (x & 0x00FF_00FF) | (x >> 8 & 0x00FF_00FF) << b;
            (pairs & 0xFFFF) | (pairs >> 16) << (2 * b)
        }
        2 => (x & 0xFFFF) | (x >> 16) << b,
        _ => x,
    }
}

/// The words of `W` bytes whose low `b` bits stand one after another in `v`; what lies behind them in `v` does not matter.
#[inline(always)]
pub fn unpack<const W: u32>(v: [u32; 4], b: u32) -> U32x4 {
    let half = b * (8 / W);
    let q0 = [v[0], v[1]];
    let q1 = if half <= 32 {
        [funnel_shift_right_clamp(v[0], v[1], half), funnel_shift_right_clamp(v[1], v[2], half)]
    } else {
        [funnel_shift_right_clamp(v[1], v[2], half - 32), funnel_shift_right_clamp(v[2], v[3], half - 32)]
    };
    if W == 8 {
        let (lower, upper) = (low(b.min(32)), low(b.saturating_sub(32)));
        return U32x4 { x: q0[0] & lower, y: q0[1] & upper, z: q1[0] & lower, w: q1[1] & upper };
    }
    let c = half / 2;
    U32x4 {
        x: spread::<W>(q0[0], b),
        y: spread::<W>(funnel_shift_right_clamp(q0[0], q0[1], c), b),
        z: spread::<W>(q1[0], b),
        w: spread::<W>(funnel_shift_right_clamp(q1[0], q1[1], c), b),
    }
}

/// The words of one register from their `b * 4 / W` bits; higher bits of `p` do not matter.
#[inline(always)]
pub fn spread<const W: u32>(p: u32, b: u32) -> u32 {
    match W {
        1 => {
            let pair = low(2 * b);
            let pairs = (p & pair) | (p << (16 - 2 * b)) & (pair << 16);
            let byte = low(b) * 0x0001_0001;
            (pairs & byte) | (pairs << (8 - b)) & (byte << 8)
        }
        2 => {
            let word = low(b);
            (p & word) | (p << (16 - b)) & (word << 16)
        }
        _ => p & low(b),
    }
}

/// Bits of the longest word of `W` bytes in `v`.
#[inline(always)]
pub fn bit_length<const W: u32>(v: U32x4) -> u32 {
    if W == 8 {
        let (lower, upper) = (v.x | v.z, v.y | v.w);
        return if upper == 0 { 32 - lower.leading_zeros() } else { 64 - upper.leading_zeros() };
    }
    let mut any = v.x | v.y | v.z | v.w;
    if W <= 2 {
        any |= any >> 16;
    }
    if W == 1 {
        any |= any >> 8;
    }
    let mask = if W == 4 { u32::MAX } else { (1 << (8 * W % 32)) - 1 };
    32 - (any & mask).leading_zeros()
}
