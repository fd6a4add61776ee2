//! HCLOG's choice: words as they are, or their zigzag (0, -1, 1, -2, .. become 0, 1, 2, 3, ..).

use super::pack::bit_length;
use crate::collectives::{ALL_LANES, group_max, group_or};
use cuda_std::{
    bits::{byte_permute, funnel_shift_right_wrap},
    vector::U32x4,
    warp,
};

/// The zigzag of each word of `W` bytes.
#[inline(always)]
pub fn zigzag<const W: u32>(v: U32x4) -> U32x4 {
    if W == 8 {
        let pair = |lower: u32, upper: u32| {
            let sign = (upper as i32 >> 31) as u32;
            ((lower << 1) ^ sign, (upper << 1 | lower >> 31) ^ sign)
        };
        let ((x, y), (z, w)) = (pair(v.x, v.y), pair(v.z, v.w));
        return U32x4 { x, y, z, w };
    }
    let one = |x: u32| match W {
        1 => (x << 1 & 0xFEFE_FEFE) ^ signs::<W>(x),
        2 => (x << 1 & 0xFFFE_FFFE) ^ signs::<W>(x),
        _ => x << 1 ^ signs::<W>(x),
    };
    U32x4 { x: one(v.x), y: one(v.y), z: one(v.z), w: one(v.w) }
}

/// All ones in the place of each negative word of a register, zeros in that of the others.
#[inline(always)]
fn signs<const W: u32>(x: u32) -> u32 {
    match W {
        // Selectors with their top bit set repeat a byte's sign.
        1 => byte_permute(x, 0, 0xBA98),
        2 => byte_permute(x, 0, 0xBB99),
        _ => (x as i32 >> 31) as u32,
    }
}

/// Takes [`zigzag`] back.
#[inline(always)]
pub fn unzigzag<const W: u32>(v: U32x4) -> U32x4 {
    if W == 8 {
        let pair = |lower: u32, upper: u32| {
            let sign = 0u32.wrapping_sub(lower & 1);
            (funnel_shift_right_wrap(lower, upper, 1) ^ sign, upper >> 1 ^ sign)
        };
        let ((x, y), (z, w)) = (pair(v.x, v.y), pair(v.z, v.w));
        return U32x4 { x, y, z, w };
    }
    let one = |x: u32| match W {
        1 => (x >> 1 & 0x7F7F_7F7F) ^ (x & 0x0101_0101) * 0xFF,
        2 => (x >> 1 & 0x7FFF_7FFF) ^ (x & 0x0001_0001) * 0xFFFF,
        _ => x >> 1 ^ 0u32.wrapping_sub(x & 1),
    };
    U32x4 { x: one(v.x), y: one(v.y), z: one(v.z), w: one(v.w) }
}

/// What the choice for a subchunk takes: the OR of its words, negative ones inverted, but with their signs. Of 64-bit words, whose
/// OR would take two registers, its length, and in the top bit the sign.
#[derive(Clone, Copy)]
pub struct Measure(u32);

impl Measure {
    /// Of nothing but zeros.
    pub const ZERO: Self = Self(0);

    /// Of the subchunk of each aligned group of `lanes` lanes. All lanes of a warp call this; all of a group get the same
    /// answer.
    #[inline(always)]
    pub fn of<const W: u32>(v: U32x4, lanes: u32) -> Self {
        let with_signs = |inverted: u32, plain: u32| {
            let signs = match W {
                1 => 0x8080_8080,
                2 => 0x8000_8000,
                _ => SIGN,
            };
            inverted | (plain & signs)
        };
        if W == 8 {
            let (first, second) = (signs::<W>(v.y), signs::<W>(v.w));
            let inverted = U32x4 { x: v.x ^ first, y: v.y ^ first, z: v.z ^ second, w: v.w ^ second };
            let length = group_max(bit_length::<W>(inverted), lanes);
            let group = u32::MAX >> (32 - lanes) << (warp::lane_id() & !(lanes - 1));
            let negative = warp::warp_vote_ballot(ALL_LANES, (first | second) != 0) & group != 0;
            return Self(length | if negative { SIGN } else { 0 });
        }
        let inverted = v.x ^ signs::<W>(v.x) | v.y ^ signs::<W>(v.y) | v.z ^ signs::<W>(v.z) | v.w ^ signs::<W>(v.w);
        Self(group_or(with_signs(inverted, v.x | v.y | v.z | v.w), lanes))
    }

    /// The choice that follows.
    #[inline(always)]
    pub fn choice<const W: u32>(self) -> Choice {
        let (negative, length) = match W {
            1 => {
                let or = (self.0 | self.0 >> 8 | self.0 >> 16 | self.0 >> 24) & 0xFF;
                (or >> 7, 32 - (or & 0x7F).leading_zeros())
            }
            2 => {
                let or = (self.0 | self.0 >> 16) & 0xFFFF;
                (or >> 15, 32 - (or & 0x7FFF).leading_zeros())
            }
            4 => (self.0 >> 31, 32 - (self.0 & !SIGN).leading_zeros()),
            _ => (self.0 >> 31, self.0 & !SIGN),
        };
        // A zigzag is one bit longer than the word, inverted if negative; only that of 0 is as long: nothing. Without
        // negative words the words themselves are shorter; with one they need all bits.
        let width = length + negative;
        Choice { width, zigzag: negative != 0 && width < 8 * W, compare: negative != 0 && width == 8 * W }
    }
}

/// The sign of a register.
const SIGN: u32 = 1 << 31;

/// What the lengths of a subchunk's longest word and longest zigzag say.
///
/// A zigzag is smaller only where there are negative words, which need all bits; if the zigzags need fewer, they win. Only
/// where both need all bits must the largest values be compared.
#[derive(Clone, Copy)]
pub struct Choice {
    /// The width: the smaller length.
    pub width: u32,
    /// The zigzags are smaller.
    pub zigzag: bool,
    /// Undecided: [`largest_zigzag_is_smaller`] tells.
    pub compare: bool,
}

/// Whether the largest zigzag of each group's words is smaller than their largest word. All lanes of a warp call this.
#[inline(always)]
pub fn largest_zigzag_is_smaller<const W: u32>(v: U32x4, lanes: u32) -> bool {
    if W == 8 {
        let largest = |v: U32x4| {
            let word = |lower: u32, upper: u32| u64::from(upper) << 32 | u64::from(lower);
            group_largest(word(v.x, v.y).max(word(v.z, v.w)), lanes)
        };
        return largest(zigzag::<W>(v)) < largest(v);
    }
    let largest = |v: U32x4| {
        let one = |x: u32| match W {
            1 => (x & 0xFF).max(x >> 8 & 0xFF).max(x >> 16 & 0xFF).max(x >> 24),
            2 => (x & 0xFFFF).max(x >> 16),
            _ => x,
        };
        group_max(one(v.x).max(one(v.y)).max(one(v.z)).max(one(v.w)), lanes)
    };
    largest(zigzag::<W>(v)) < largest(v)
}

/// The largest value of each aligned group of `lanes` lanes. All lanes of a warp call this.
#[inline(always)]
pub fn group_largest(value: u64, lanes: u32) -> u64 {
    let mut max = value;
    let mut distance = lanes / 2;
    while distance > 0 {
        max = max.max(warp::warp_shuffle_xor(ALL_LANES, max, distance, 32).0);
        distance /= 2;
    }
    max
}
