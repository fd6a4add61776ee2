//! Lorenzo predictors, block mode: how the kernels cut an array into tiles of whole segments, and division by multiplying.

use bytemuck::{Pod, Zeroable};

/// Division of numbers below `2^31` by a constant from 1 to `2^31`.
///
/// With `k = 31 + ceil(log2 d)` and `m = ceil(2^k / d)`, `n * m / 2^k` rounded down is `n / d` for all `n * (m * d - 2^k) < 2^k`, and
/// `m * d - 2^k < d <= 2^(k - 31)`. (T. Granlund, P. Montgomery, "Division by Invariant Integers using Multiplication", 1994.)
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Divisor {
    magic: u32,
    shift: u32,
}

impl Divisor {
    /// Division by `d`, 1 to `2^31`.
    pub const fn new(d: u32) -> Self {
        let shift = 31 + (u32::BITS - (d - 1).leading_zeros());
        Self { magic: (1u64 << shift).div_ceil(d as u64) as u32, shift }
    }

    /// `n / d`; `n` is below `2^31`.
    #[inline(always)]
    pub const fn divide(self, n: u32) -> u32 {
        (n as u64 * self.magic as u64 >> self.shift) as u32
    }
}

/// Division of numbers up to `2^63` by a constant from 1 to `2^31`; as [`Divisor`], with `k = 63 + ceil(log2 d)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct WideDivisor {
    magic: u64,
    /// `k - 63`.
    shift: u32,
    reserved: u32,
}

impl WideDivisor {
    /// Division by `d`, 1 to `2^31`.
    pub const fn new(d: u32) -> Self {
        let shift = u32::BITS - (d - 1).leading_zeros();
        Self { magic: (1u128 << (63 + shift)).div_ceil(d as u128) as u64, shift, reserved: 0 }
    }

    /// `n / d`; `n` is at most `2^63`.
    #[inline(always)]
    pub const fn divide(self, n: u64) -> u64 {
        let product = n as u128 * self.magic as u128;
        let (upper, lower) = ((product >> 64) as u64, product as u64);
        // The upper half and one bit more: `shift` may be 0.
        (upper << 1 | lower >> 63) >> self.shift
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn division_by_multiplying_is_division() {
        let mut state = 1u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state
        };
        for d in (1..=1024).chain([65_535, 70_000, 1 << 20, (1 << 31) - 1, 1 << 31]) {
            let (narrow, wide) = (Divisor::new(d), WideDivisor::new(d));
            let near = (0..4).flat_map(|k| [k * u64::from(d), (k * u64::from(d)).saturating_sub(1), k * u64::from(d) + 1]);
            let last = (1u64 << 63) / u64::from(d) * u64::from(d);
            for n in
                near.chain([1 << 63, (1 << 63) - 1, last, last - 1]).chain((0..50).map(|_| random() >> (1 + random() % 60)))
            {
                assert_eq!(wide.divide(n), n / u64::from(d), "{n} / {d}");
                let n = n as u32 >> 1;
                assert_eq!(narrow.divide(n), n / d, "{n} / {d}");
            }
        }
    }
}
