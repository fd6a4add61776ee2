//! The arithmetic of one symbol: a 32-bit rANS state that gives and takes 16-bit words.
//!
//! `SCALE` is the number of bits of a probability: frequencies of a row sum to `2^SCALE`. The representations of this page use
//! [`SCALE`]; nothing here knows that.

#![forbid(unsafe_code)]

/// Bits of a probability in representations 0 to 2.
pub const SCALE: u32 = 12;
/// Where every encoder's state begins and every decoder's must end; a state between two symbols is never below.
pub const LOWER: u32 = 1 << 16;

/// The state after the decoder took a symbol of frequency `f` whose slots begin at `c`, before renormalisation.
#[inline]
pub const fn take<const SCALE: u32>(x: u32, f: u32, c: u32) -> u32 {
    let slot = x & ((1 << SCALE) - 1);
    f.wrapping_mul(x >> SCALE).wrapping_add(slot.wrapping_sub(c))
}

/// A factor for [`put`]: `ceil(2^(32 + SCALE) / f)`.
///
/// With `m * f = 2^(32 + SCALE) + e`, `0 <= e < f <= 2^SCALE`, the product `x * m` divided by `2^(32 + SCALE)` is `x / f + x * e / (f * 2^(32 + SCALE))`.
/// The second part is below `1 / f` for every 32-bit `x`, so that the quotient's whole part is exact. And `x < f * 2^(32 - SCALE)` keeps the product within 64 bits.
pub const fn reciprocal<const SCALE: u32>(f: u32) -> u64 {
    (1u64 << (32 + SCALE)).div_ceil(f as u64)
}

/// Whether a word must be emitted before a symbol of frequency `f` is put.
#[inline]
pub const fn is_full<const SCALE: u32>(x: u32, f: u32) -> bool {
    x >= f << (32 - SCALE)
}

/// The state after the encoder put a symbol of frequency `f` whose slots begin at `c`. `x` is not [full](is_full); `reciprocal` is
/// [`reciprocal`] of `f`.
#[inline]
pub const fn put<const SCALE: u32>(x: u32, f: u32, c: u32, reciprocal: u64) -> u32 {
    let quotient = ((x as u64).wrapping_mul(reciprocal) >> (32 + SCALE)) as u32;
    quotient.wrapping_mul((1 << SCALE) - f).wrapping_add(x).wrapping_add(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against plain division, at every edge of every frequency and scale in use.
    #[test]
    fn division_by_reciprocal_is_exact() {
        fn check<const SCALE: u32>() {
            for f in 1..1u32 << SCALE {
                let limit = u64::from(f) << (32 - SCALE);
                let m = reciprocal::<SCALE>(f);
                let mut x = u64::from(f) * 7;
                while x < limit {
                    for x in [x - 1, x, x + 1].map(|x| x.min(limit - 1) as u32) {
                        let expected = ((x / f) << SCALE) + x % f + 3;
                        assert_eq!(put::<SCALE>(x, f, 3, m), expected, "{x} / {f} at {SCALE} bits");
                    }
                    x += x / 3 / u64::from(f) * u64::from(f) + u64::from(f);
                }
                let x = (limit - 1) as u32;
                assert_eq!(put::<SCALE>(x, f, 0, m), ((x / f) << SCALE) + x % f);
            }
        }
        check::<12>();
        check::<11>();
    }

    #[test]
    fn take_undoes_put() {
        for f in [1, 2, 3, 16, 255, 2047, 4095] {
            for c in [0, 1, 4096 - f] {
                for x in [LOWER, LOWER + 1, (f << 20) - 1] {
                    if x < f << 20 {
                        let after = put::<12>(x, f, c, reciprocal::<12>(f));
                        assert_eq!(take::<12>(after, f, c), x);
                    }
                }
            }
        }
    }
}
