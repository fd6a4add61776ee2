//! Numbers of every width as one generic: all arithmetic is that of the unsigned word, modulo 2^w.

#![forbid(unsafe_code)]

use std::fmt::Debug;

/// `u8`, `u16`, `u32` or `u64`.
pub(in crate::lorenzo) trait Word: Copy + Debug + Default + Eq + Send + Sync + 'static {
    /// How a word lies in memory: little-endian, at any address.
    type Cell: Copy + Debug + Send + Sync;

    fn load(cell: Self::Cell) -> Self;
    fn store(self) -> Self::Cell;

    /// The whole words of `bytes`.
    fn cells(bytes: &[u8]) -> &[Self::Cell];
    fn cells_mut(bytes: &mut [u8]) -> &mut [Self::Cell];
    /// The bytes of words.
    fn bytes(cells: &[Self::Cell]) -> &[u8];
    fn bytes_mut(cells: &mut [Self::Cell]) -> &mut [u8];

    fn plus(self, other: Self) -> Self;
    fn minus(self, other: Self) -> Self;
    fn or(self, other: Self) -> Self;

    /// The word's sign in all bits.
    fn sign(self) -> Self;
    /// Twice the word with another lowest bit.
    fn twice_xor(self, other: Self) -> Self;
    /// Half the word, inverted where its lowest bit was set.
    fn half_xor(self) -> Self;

    /// The word as a two's complement number, without its sign.
    fn magnitude(self) -> Self;
    /// The bits up to the highest that is set: 0 to all of them.
    fn length(self) -> u32;

    /// The sum of up to 1024 words as two's complement numbers, modulo 2^64.
    fn sum(cells: &[Self::Cell]) -> i64;
    /// The low bits of a number.
    fn truncate(number: i64) -> Self;
}

macro_rules! words {
    ($($word:ty, $signed:ty, $sum:ident;)*) => {$(
        impl Word for $word {
            type Cell = [u8; size_of::<$word>()];

            #[inline(always)]
            fn load(cell: Self::Cell) -> Self {
                Self::from_le_bytes(cell)
            }

            #[inline(always)]
            fn store(self) -> Self::Cell {
                self.to_le_bytes()
            }

            #[inline(always)]
            fn cells(bytes: &[u8]) -> &[Self::Cell] {
                bytes.as_chunks().0
            }

            #[inline(always)]
            fn cells_mut(bytes: &mut [u8]) -> &mut [Self::Cell] {
                bytes.as_chunks_mut().0
            }

            #[inline(always)]
            fn bytes(cells: &[Self::Cell]) -> &[u8] {
                cells.as_flattened()
            }

            #[inline(always)]
            fn bytes_mut(cells: &mut [Self::Cell]) -> &mut [u8] {
                cells.as_flattened_mut()
            }

            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                self.wrapping_add(other)
            }

            #[inline(always)]
            fn minus(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }

            #[inline(always)]
            fn or(self, other: Self) -> Self {
                self | other
            }

            #[inline(always)]
            fn sign(self) -> Self {
                (self as $signed >> (Self::BITS - 1)) as Self
            }

            #[inline(always)]
            fn twice_xor(self, other: Self) -> Self {
                self << 1 ^ other
            }

            #[inline(always)]
            fn half_xor(self) -> Self {
                self >> 1 ^ (self & 1).wrapping_neg()
            }

            #[inline(always)]
            fn magnitude(self) -> Self {
                (self as $signed).unsigned_abs()
            }

            #[inline(always)]
            fn length(self) -> u32 {
                Self::BITS - self.leading_zeros()
            }

            #[inline(always)]
            fn sum(cells: &[Self::Cell]) -> i64 {
                $sum(cells)
            }

            #[inline(always)]
            fn truncate(number: i64) -> Self {
                number as Self
            }
        }
    )*};
}

words! {
    u8, i8, sum_of_i8;
    u16, i16, sum_of_i16;
    u32, i32, sum_of_i32;
    u64, i64, sum_of_i64;
}

/// Eight bytes at a time, two in each lane of 16 bits: of 1024, made unsigned, that is 128 times 510, which fits.
#[inline(always)]
fn sum_of_i8(cells: &[[u8; 1]]) -> i64 {
    const LOW: u64 = 0x00FF_00FF_00FF_00FF;
    if cells.len() <= 8 {
        return cells.iter().map(|[byte]| i64::from(*byte as i8)).sum();
    }
    let (whole, rest) = cells.as_flattened().as_chunks();
    let lanes = whole.iter().fold(0u64, |sum, bytes| {
        let bytes = u64::from_le_bytes(*bytes) ^ 0x8080_8080_8080_8080;
        sum.wrapping_add(bytes & LOW).wrapping_add((bytes >> 8) & LOW)
    });
    let lanes: i64 = (0..4).map(|lane| (lanes >> (16 * lane) & 0xFFFF) as i64).sum();
    lanes - 128 * 8 * whole.len() as i64 + rest.iter().map(|byte| i64::from(*byte as i8)).sum::<i64>()
}

#[inline(always)]
fn sum_of_i16(cells: &[[u8; 2]]) -> i64 {
    cells.iter().fold(0i32, |sum, cell| sum.wrapping_add(i16::from_le_bytes(*cell).into())).into()
}

/// The upper and the lower halves by themselves: of 1024 either sum fits into 32 bits, which are not as dear to add as 64.
#[inline(always)]
fn sum_of_i32(cells: &[[u8; 4]]) -> i64 {
    if cells.len() <= 8 {
        return cells.iter().map(|cell| i64::from(i32::from_le_bytes(*cell))).sum();
    }
    let (upper, lower) = cells.iter().fold((0i32, 0i32), |(upper, lower), cell| {
        let number = i32::from_le_bytes(*cell);
        (upper.wrapping_add(number >> 16), lower.wrapping_add(number & 0xFFFF))
    });
    (i64::from(upper) << 16) + i64::from(lower)
}

#[inline(always)]
fn sum_of_i64(cells: &[[u8; 8]]) -> i64 {
    cells.iter().fold(0, |sum, cell| sum.wrapping_add(i64::from_le_bytes(*cell)))
}

/// Runs `$body` with `$word` as the word that has an element's bytes.
macro_rules! by_word {
    ($element:expr, $word:ident => $body:expr) => {
        match $element.bytes() {
            1 => {
                type $word = u8;
                $body
            }
            2 => {
                type $word = u16;
                $body
            }
            4 => {
                type $word = u32;
                $body
            }
            _ => {
                type $word = u64;
                $body
            }
        }
    };
}
pub(in crate::lorenzo) use by_word;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_do_not_overflow_in_their_lanes() {
        for count in [0, 1, 7, 8, 9, 1023, 1024] {
            for (number, byte) in [(i64::MIN, 0x80), (i64::MAX, 0x7F), (-1, 0xFF)] {
                let of = |bits: u32| (number >> (64 - bits)).wrapping_mul(count as i64);
                let cell = |bytes: usize| number.to_le_bytes()[8 - bytes..].to_vec();
                assert_eq!(cell(1), [byte]);
                assert_eq!(u8::sum(u8::cells(&cell(1).repeat(count))), of(8));
                assert_eq!(u16::sum(u16::cells(&cell(2).repeat(count))), of(16));
                assert_eq!(u32::sum(u32::cells(&cell(4).repeat(count))), of(32));
                assert_eq!(u64::sum(u64::cells(&cell(8).repeat(count))), of(64));
            }
        }
    }
}
