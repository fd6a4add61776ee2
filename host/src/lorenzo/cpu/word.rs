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
    ($($word:ty, $signed:ty, $sum:ty;)*) => {$(
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
                // Wide enough for 1024 words, or else modulo 2^64 anyway.
                cells.iter().fold(0 as $sum, |sum, cell| sum.wrapping_add(Self::load(*cell) as $signed as $sum)) as i64
            }

            #[inline(always)]
            fn truncate(number: i64) -> Self {
                number as Self
            }
        }
    )*};
}

words! {
    u8, i8, i32;
    u16, i16, i32;
    u32, i32, i64;
    u64, i64, i64;
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
