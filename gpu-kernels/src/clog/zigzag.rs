//! HCLOG's choice: words as they are, or their zigzag (0, -1, 1, -2, .. become 0, 1, 2, 3, ..).

use crate::collectives::{ALL_LANES, group_or};
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

/// What the choice for a subchunk takes: the OR of its words, negative ones inverted, but with their signs. The lower half is there
/// for 64-bit words alone.
#[derive(Clone, Copy)]
pub struct Measure {
    lower: u32,
    upper: u32,
}

impl Measure {
    /// Of nothing but zeros.
    pub const ZERO: Self = Self { lower: 0, upper: 0 };

    /// Of the subchunk of each aligned group of `lanes` lanes. All lanes of a warp call this; all of a group get the same
    /// answer.
    #[inline(always)]
    pub fn of<const W: u32>(v: U32x4, lanes: u32) -> Self {
        let with_signs = |inverted: u32, plain: u32| {
            let signs = match W {
                1 => 0x8080_8080,
                2 => 0x8000_8000,
                _ => 0x8000_0000,
            };
            inverted | (plain & signs)
        };
        if W == 8 {
            let (first, second) = (signs::<W>(v.y), signs::<W>(v.w));
            let lower = v.x ^ first | v.z ^ second;
            let upper = with_signs(v.y ^ first | v.w ^ second, v.y | v.w);
            return Self { lower: group_or(lower, lanes), upper: group_or(upper, lanes) };
        }
        let inverted = v.x ^ signs::<W>(v.x) | v.y ^ signs::<W>(v.y) | v.z ^ signs::<W>(v.z) | v.w ^ signs::<W>(v.w);
        Self { lower: 0, upper: group_or(with_signs(inverted, v.x | v.y | v.z | v.w), lanes) }
    }

    /// The choice that follows.
    #[inline(always)]
    pub fn choice<const W: u32>(self) -> Choice {
        let upper = match W {
            1 => (self.upper | self.upper >> 8 | self.upper >> 16 | self.upper >> 24) & 0xFF,
            2 => (self.upper | self.upper >> 16) & 0xFFFF,
            _ => self.upper,
        };
        let negative = upper >> (if W == 8 { 32 } else { 8 * W } - 1);
        let upper = upper & if W >= 4 { 0x7FFF_FFFF } else { (1 << (8 * W - 1)) - 1 };
        let length = match W {
            8 if upper != 0 => 64 - upper.leading_zeros(),
            8 => 32 - self.lower.leading_zeros(),
            _ => 32 - upper.leading_zeros(),
        };
        // A zigzag is one bit longer than the word, inverted if negative; only that of 0 is as long: nothing. Without
        // negative words the words themselves are shorter; with one they need all bits.
        let width = length + negative;
        Choice { width, zigzag: negative != 0 && width < 8 * W, compare: negative != 0 && width == 8 * W }
    }
}

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
    let (plain, zigzag) = (largest::<W>(v), largest::<W>(zigzag::<W>(v)));
    group_largest(zigzag, lanes) < group_largest(plain, lanes)
}

/// The largest word of a lane.
#[inline(always)]
fn largest<const W: u32>(v: U32x4) -> u64 {
    if W == 8 {
        let word = |lower: u32, upper: u32| u64::from(upper) << 32 | u64::from(lower);
        return word(v.x, v.y).max(word(v.z, v.w));
    }
    let one = |x: u32| match W {
        1 => (x & 0xFF).max(x >> 8 & 0xFF).max(x >> 16 & 0xFF).max(x >> 24),
        2 => (x & 0xFFFF).max(x >> 16),
        _ => x,
    };
    u64::from(one(v.x).max(one(v.y)).max(one(v.z)).max(one(v.w)))
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
