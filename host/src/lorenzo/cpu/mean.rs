//! The mean that centering takes off.

#![forbid(unsafe_code)]

use super::Word;

/// Divides sums of segments of one length.
#[derive(Clone, Copy)]
pub(super) struct Mean {
    count: i64,
    /// 2^64 / count, rounded up.
    reciprocal: u64,
}

impl Mean {
    /// Of segments of `count` elements, 1 to 1024.
    #[inline(always)]
    pub(super) fn of(count: usize) -> Self {
        Self { count: count as i64, reciprocal: (u64::MAX / count as u64).wrapping_add(1) }
    }

    /// The rounded mean of `segment`, halves away from zero; the sum is taken modulo 2^64.
    #[inline(always)]
    pub(super) fn mean<T: Word>(self, segment: &[T::Cell]) -> T {
        let (sum, half) = (T::sum(segment), self.count / 2);
        if size_of::<T>() == 8 {
            let rounded = if sum >= 0 { sum.wrapping_add(half) } else { sum.wrapping_sub(half) };
            return T::truncate(rounded / self.count);
        }
        // A multiplication instead of a division. The reciprocal is too large by less than the count, 2^10, over 2^64, which is too little to show in a
        // quotient of less than 2^54; the sum of 1024 words of 32 bits has 42.
        let rounded = sum.unsigned_abs() + half as u64;
        let mean = if self.count == 1 { rounded } else { ((u128::from(rounded) * u128::from(self.reciprocal)) >> 64) as u64 };
        T::truncate(if sum >= 0 { mean as i64 } else { (mean as i64).wrapping_neg() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of<T: Word>(numbers: &[i64]) -> T {
        let cells: Vec<T::Cell> = numbers.iter().map(|number| T::truncate(*number).store()).collect();
        Mean::of(cells.len()).mean::<T>(&cells)
    }

    #[test]
    fn halves_go_away_from_zero_and_sums_wrap() {
        const MAX: i64 = i64::MAX;
        const MIN: i64 = i64::MIN;
        let small: [(&[i64], i64); 6] =
            [(&[1, 2], 2), (&[-1, -2], -2), (&[0, 0, 1], 0), (&[0, 1, 1], 1), (&[-1, 0], -1), (&[0, 1], 1)];
        for (numbers, expected) in small {
            assert_eq!(of::<u8>(numbers), u8::truncate(expected), "{numbers:?}");
            assert_eq!(of::<u16>(numbers), u16::truncate(expected), "{numbers:?}");
            assert_eq!(of::<u32>(numbers), u32::truncate(expected), "{numbers:?}");
            assert_eq!(of::<u64>(numbers), u64::truncate(expected), "{numbers:?}");
        }
        let large: [(&[i64], i64); 4] = [(&[MAX, 1], MAX / 2), (&[MAX, MAX], -1), (&[MIN, MIN], 0), (&[MAX], MAX)];
        for (numbers, expected) in large {
            assert_eq!(of::<u64>(numbers), expected as u64, "{numbers:?}");
        }
    }

    /// Sums at a multiple of the count, where a quotient changes, and one beside it; up to the largest.
    #[test]
    fn a_multiplication_divides_as_well() {
        for count in 1..=1024 {
            let mean = Mean::of(count);
            let largest = count as u64 * (1 << 31) + mean.count as u64 / 2;
            for quotient in (0..=31).map(|bit| 1u64 << bit).chain([3, 1000, 12_345_677, (1 << 31) - 1]) {
                for sum in [-1, 0, 1].map(|by| (quotient * count as u64).wrapping_add_signed(by)) {
                    if sum <= largest && count > 1 {
                        let product = u128::from(sum) * u128::from(mean.reciprocal);
                        assert_eq!((product >> 64) as u64, sum / count as u64, "{sum} / {count}");
                    }
                }
            }
        }
    }
}
