//! The mean that centering takes off.

#![forbid(unsafe_code)]

use super::Word;

/// The rounded mean of a segment of up to 1024 elements, halves away from zero; the sum is taken modulo 2^64.
#[inline(always)]
pub(super) fn mean<T: Word>(segment: &[T::Cell]) -> T {
    let (sum, count) = (T::sum(segment), segment.len() as i64);
    let half = count / 2;
    let rounded = if sum >= 0 { sum.wrapping_add(half) } else { sum.wrapping_sub(half) };
    // The count is 1 to 1024: nothing overflows. Sums of 8, 16 and 32 bits fit into 52, which a shorter division takes.
    T::truncate(rounded / count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_go_away_from_zero_and_sums_wrap() {
        fn of(numbers: &[i64]) -> i64 {
            let cells: Vec<[u8; 8]> = numbers.iter().map(|number| number.to_le_bytes()).collect();
            mean::<u64>(&cells) as i64
        }
        const MAX: i64 = i64::MAX;
        const MIN: i64 = i64::MIN;
        let expected: [(&[i64], i64); 10] = [
            (&[1, 2], 2),
            (&[-1, -2], -2),
            (&[0, 0, 1], 0),
            (&[0, 1, 1], 1),
            (&[-1, 0], -1),
            (&[0, 1], 1),
            (&[MAX, 1], MAX / 2),
            (&[MAX, MAX], -1),
            (&[MIN, MIN], 0),
            (&[MAX], MAX),
        ];
        for (numbers, expected) in expected {
            assert_eq!(of(numbers), expected, "{numbers:?}");
        }
    }
}
