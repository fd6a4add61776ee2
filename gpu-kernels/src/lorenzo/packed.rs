//! Elements of `W` bytes, packed as memory has them into a lane's 16 bytes: sums and differences modulo `2^(8 * W)`.

use cuda_std::{
    bits::{byte_permute, dp4a, funnel_shift_left_wrap, shl_clamp},
    vector::U32x4,
};

/// Repeats `$body` for the elements 0 to 15, each time with `$k` as a constant, so that what it indexes stays in registers.
#[cfg(target_arch = "nvptx64")]
macro_rules! for_elements {
    ($k:ident => $body:expr) => {{
        for_elements!($k, $body, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    }};
    ($k:ident, $body:expr, $($element:literal),*) => {$({
        const $k: usize = $element;
        $body
    })*};
}
/// The same as a loop: on the host, time to compile counts.
#[cfg(not(target_arch = "nvptx64"))]
macro_rules! for_elements {
    ($k:ident => $body:expr) => {
        #[allow(non_snake_case, clippy::needless_range_loop, reason = "a constant on a device")]
        for $k in 0..16 {
            $body
        }
    };
}
pub(crate) use for_elements;

/// A lane's 16 bytes: `16 / W` elements.
pub type Lane = [u32; 4];

/// The highest bit of every element of a register.
const fn tops<const W: u32>() -> u32 {
    if W == 1 { 0x8080_8080 } else { 0x8000_8000 }
}

/// The registers of `v`.
#[inline(always)]
pub fn lane_of(v: U32x4) -> Lane {
    [v.x, v.y, v.z, v.w]
}

/// The vector of `v`.
#[inline(always)]
pub fn vector_of(v: Lane) -> U32x4 {
    U32x4 { x: v[0], y: v[1], z: v[2], w: v[3] }
}

/// `a + b`, element by element.
#[inline(always)]
pub fn add<const W: u32>(a: Lane, b: Lane) -> Lane {
    if W == 8 {
        let pair = |i: usize| wide(a[i], a[i + 1]).wrapping_add(wide(b[i], b[i + 1]));
        return from_wide([pair(0), pair(2)]);
    }
    [add_register::<W>(a[0], b[0]), add_register::<W>(a[1], b[1]), add_register::<W>(a[2], b[2]), add_register::<W>(a[3], b[3])]
}

/// `a - b`, element by element.
#[inline(always)]
pub fn sub<const W: u32>(a: Lane, b: Lane) -> Lane {
    if W == 8 {
        let pair = |i: usize| wide(a[i], a[i + 1]).wrapping_sub(wide(b[i], b[i + 1]));
        return from_wide([pair(0), pair(2)]);
    }
    [sub_register::<W>(a[0], b[0]), sub_register::<W>(a[1], b[1]), sub_register::<W>(a[2], b[2]), sub_register::<W>(a[3], b[3])]
}

/// The elements of a register (`W` up to 4) added: no carry leaves its element.
#[inline(always)]
pub fn add_register<const W: u32>(a: u32, b: u32) -> u32 {
    if W == 4 {
        return a.wrapping_add(b);
    }
    let tops = tops::<W>();
    (a & !tops).wrapping_add(b & !tops) ^ (a ^ b) & tops
}

/// The elements of a register (`W` up to 4) subtracted: no borrow leaves its element.
#[inline(always)]
pub fn sub_register<const W: u32>(a: u32, b: u32) -> u32 {
    if W == 4 {
        return a.wrapping_sub(b);
    }
    let tops = tops::<W>();
    (a | tops).wrapping_sub(b & !tops) ^ (a ^ !b) & tops
}

/// Two registers as a number.
#[inline(always)]
pub fn wide(lower: u32, upper: u32) -> u64 {
    u64::from(upper) << 32 | u64::from(lower)
}

/// Two numbers as a lane.
#[inline(always)]
pub fn from_wide(v: [u64; 2]) -> Lane {
    [v[0] as u32, (v[0] >> 32) as u32, v[1] as u32, (v[1] >> 32) as u32]
}

/// The lane's elements moved up by one: `before` is the element in front of the first, `W` bytes of it in the lowest bits.
#[inline(always)]
pub fn shift_in<const W: u32>(v: Lane, before: u64) -> Lane {
    if W == 8 {
        return [before as u32, (before >> 32) as u32, v[0], v[1]];
    }
    let before = before as u32;
    if W == 4 {
        return [before, v[0], v[1], v[2]];
    }
    let join = |below: u32, own: u32| funnel_shift_left_wrap(below, own, 8 * W);
    [v[0] << (8 * W % 32) | before & ((1 << (8 * W % 32)) - 1), join(v[0], v[1]), join(v[1], v[2]), join(v[2], v[3])]
}

/// The lane's last element, in the lowest bits; what stands above it is 0.
#[inline(always)]
pub fn last<const W: u32>(v: Lane) -> u64 {
    match W {
        1 => u64::from(v[3] >> 24),
        2 => u64::from(v[3] >> 16),
        4 => u64::from(v[3]),
        _ => wide(v[2], v[3]),
    }
}

/// Element by element all ones where the bit of `flags` (bit `k` for element `k`) is set, else zeros.
#[inline(always)]
pub fn mask<const W: u32>(flags: u32) -> Lane {
    let register = |flags: u32| match W {
        // A nibble's bits to the lowest bits of four bytes: no two products meet.
        1 => ((flags & 15).wrapping_mul(0x0020_4081) & 0x0101_0101).wrapping_mul(0xFF),
        2 => ((flags & 1) | (flags & 2) << 15).wrapping_mul(0xFFFF),
        _ => 0u32.wrapping_sub(flags & 1),
    };
    match W {
        1 | 2 | 4 => [0, 1, 2, 3].map(|i| register(flags >> (i * 4 / W))),
        _ => {
            let (a, b) = (register(flags), register(flags >> 1));
            [a, a, b, b]
        }
    }
}

/// `v` where `flags` is set, else zeros; see [`mask`].
#[inline(always)]
pub fn keep<const W: u32>(v: Lane, flags: u32) -> Lane {
    let m = mask::<W>(flags);
    [v[0] & m[0], v[1] & m[1], v[2] & m[2], v[3] & m[3]]
}

/// Which elements of a lane begin a segment: the lane's first one is element `position` (below `length`) of a segment of `length`
/// elements, and `pattern` has the bits 0, `length`, `2 * length`, .. set.
#[inline(always)]
pub fn starts(position: u32, length: u32, pattern: u32) -> u32 {
    shl_clamp(pattern, if position == 0 { 0 } else { length - position })
}

/// Element `k` of a lane, in the lowest bits; what stands above it has no meaning.
#[inline(always)]
pub fn element<const W: u32>(v: Lane, k: usize) -> u64 {
    match W {
        1 => u64::from(v[k / 4] >> (8 * (k % 4))),
        2 => u64::from(v[k / 2] >> (16 * (k % 2))),
        4 => u64::from(v[k]),
        _ => wide(v[2 * k], v[2 * k + 1]),
    }
}

/// The lane of `16 / W` elements, each in the lowest bits of a number.
#[inline(always)]
pub fn pack<const W: u32>(x: &[u64; 16]) -> Lane {
    let pair = |a: u64, b: u64, selector| byte_permute(a as u32, b as u32, selector);
    let bytes = |i: usize| {
        let (lower, upper) = (pair(x[i], x[i + 1], 0x0040), pair(x[i + 2], x[i + 3], 0x0040));
        byte_permute(lower, upper, 0x5410)
    };
    match W {
        1 => [bytes(0), bytes(4), bytes(8), bytes(12)],
        2 => [pair(x[0], x[1], 0x5410), pair(x[2], x[3], 0x5410), pair(x[4], x[5], 0x5410), pair(x[6], x[7], 0x5410)],
        4 => [x[0] as u32, x[1] as u32, x[2] as u32, x[3] as u32],
        _ => from_wide([x[0], x[1]]),
    }
}

/// A lane whose every element is `x`.
#[inline(always)]
pub fn broadcast<const W: u32>(x: u64) -> Lane {
    let register = match W {
        1 => (x as u32 & 0xFF).wrapping_mul(0x0101_0101),
        2 => byte_permute(x as u32, 0, 0x1010),
        4 => x as u32,
        _ => return from_wide([x, x]),
    };
    [register; 4]
}

/// The sum of a lane's elements as signed numbers; modulo `2^32` for `W` up to 2, in which case the upper half has no meaning.
#[inline(always)]
pub fn signed_sum<const W: u32>(v: Lane) -> u64 {
    let halves = |x: u32| ((x << 16) as i32 >> 16).wrapping_add(x as i32 >> 16) as u32;
    let word = |x: u32| x as i32 as u64;
    match W {
        1 => {
            // Bytes counted from -128 on are unsigned.
            let mut sum = 0u32.wrapping_sub(16 * 128);
            for x in v {
                sum = dp4a(x ^ 0x8080_8080, 0x0101_0101, sum);
            }
            sum.into()
        }
        2 => halves(v[0]).wrapping_add(halves(v[1])).wrapping_add(halves(v[2])).wrapping_add(halves(v[3])).into(),
        4 => word(v[0]).wrapping_add(word(v[1])).wrapping_add(word(v[2])).wrapping_add(word(v[3])),
        _ => wide(v[0], v[1]).wrapping_add(wide(v[2], v[3])),
    }
}

/// The sum of a lane's elements in the lowest `8 * W` bits; what stands above them has no meaning.
#[inline(always)]
pub fn sum<const W: u32>(v: Lane) -> u64 {
    match W {
        1 => v.iter().fold(0, |sum, &x| dp4a(x, 0x0101_0101, sum)).into(),
        2 => {
            let (a, b) = (v[0].wrapping_add(v[1]), v[2].wrapping_add(v[3]));
            let upper = (v[0] >> 16).wrapping_add(v[1] >> 16).wrapping_add(v[2] >> 16).wrapping_add(v[3] >> 16);
            a.wrapping_add(b).wrapping_add(upper).into()
        }
        4 => v[0].wrapping_add(v[1]).wrapping_add(v[2]).wrapping_add(v[3]).into(),
        _ => wide(v[0], v[1]).wrapping_add(wide(v[2], v[3])),
    }
}

/// `v` with its elements replaced by `before` plus the sums up to each.
#[inline(always)]
pub fn sums_after<const W: u32>(v: Lane, before: u64) -> Lane {
    let mut carry = before as u32;
    match W {
        1 => v.map(|x| {
            // Bytes below each, and it: no mask, no shift.
            let (a, b) = (dp4a(x, 0x0000_0001, carry), dp4a(x, 0x0000_0101, carry));
            let c = dp4a(x, 0x0001_0101, carry);
            carry = dp4a(x, 0x0101_0101, carry);
            byte_permute(byte_permute(a, b, 0x0040), byte_permute(c, carry, 0x0040), 0x5410)
        }),
        2 => v.map(|x| {
            let first = x.wrapping_add(carry);
            carry = first.wrapping_add(x >> 16);
            byte_permute(first, carry, 0x5410)
        }),
        4 => v.map(|x| {
            carry = carry.wrapping_add(x);
            carry
        }),
        _ => {
            let first = wide(v[0], v[1]).wrapping_add(before);
            from_wide([first, first.wrapping_add(wide(v[2], v[3]))])
        }
    }
}

/// All ones for element `start` and those behind it, else zeros.
#[inline(always)]
pub fn behind<const W: u32>(start: u32) -> Lane {
    let bits = start * (8 * W);
    match W {
        1 | 2 => [0, 32, 64, 96].map(|front| shl_clamp(u32::MAX, bits.saturating_sub(front))),
        4 => [0, 1, 2, 3].map(|i| if start <= i { u32::MAX } else { 0 }),
        _ => [0, 0, 1, 1].map(|i| if start <= i { u32::MAX } else { 0 }),
    }
}

/// `v` where `mask` is set, else zeros.
#[inline(always)]
pub fn and(v: Lane, mask: Lane) -> Lane {
    [v[0] & mask[0], v[1] & mask[1], v[2] & mask[2], v[3] & mask[3]]
}

/// `v` where `mask` is set, else `other`.
#[inline(always)]
pub fn select(mask: Lane, v: Lane, other: Lane) -> Lane {
    let pick = |i: usize| v[i] & mask[i] | other[i] & !mask[i];
    [pick(0), pick(1), pick(2), pick(3)]
}

/// `v` with its elements replaced by the sums from the last start up to each; `flags` are the starts.
#[inline(always)]
pub fn prefix_sums<const W: u32>(v: Lane, flags: u32) -> Lane {
    let mut x = [0; 16];
    x[0] = element::<W>(v, 0);
    for_elements!(K => if K > 0 && K < (16 / W) as usize {
        x[K] = element::<W>(v, K).wrapping_add(if flags >> K & 1 == 0 { x[K - 1] } else { 0 });
    });
    pack::<W>(&x)
}
