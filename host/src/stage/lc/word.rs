//! Words of every size as one generic.

#![forbid(unsafe_code)]

use bytemuck::Pod;
use std::ops::{BitAnd, BitOr, BitXor, Not};

/// A word of a chunk: `u8`, `u16`, `u32` or `u64`.
pub(in crate::stage) trait Word:
    Pod + Default + Ord + BitAnd<Output = Self> + BitOr<Output = Self> + BitXor<Output = Self> + Not<Output = Self>
{
    /// Bytes of a word.
    const BYTES: usize = size_of::<Self>();

    /// From how it lies in a chunk, or to that: little-endian.
    fn little_endian(self) -> Self;

    /// The bits up to the highest that is set: 0 to all of them.
    fn length(self) -> u32;

    /// The word as the two's complement of a number, small ones of either sign to small ones: 0, -1, 1, -2 to 0, 1, 2, 3.
    fn to_sign_magnitude(self) -> Self;

    /// Takes back what [`Self::to_sign_magnitude`] did.
    fn to_twos_complement(self) -> Self;

    /// As a number.
    fn to_u64(self) -> u64;

    /// The low bits of a number.
    fn from_u64(number: u64) -> Self;
}

macro_rules! words {
    ($($word:ty, $signed:ty;)*) => {$(
        impl Word for $word {
            #[inline(always)]
            fn little_endian(self) -> Self {
                self.to_le()
            }

            #[inline(always)]
            fn length(self) -> u32 {
                Self::BITS - self.leading_zeros()
            }

            #[inline(always)]
            fn to_sign_magnitude(self) -> Self {
                self << 1 ^ (self as $signed >> (Self::BITS - 1)) as $word
            }

            #[inline(always)]
            fn to_twos_complement(self) -> Self {
                self >> 1 ^ (self & 1).wrapping_neg()
            }

            #[inline(always)]
            fn to_u64(self) -> u64 {
                self.into()
            }

            #[inline(always)]
            fn from_u64(number: u64) -> Self {
                number as $word
            }
        }
    )*};
}

words! {
    u8, i8;
    u16, i16;
    u32, i32;
    u64, i64;
}

/// The whole words of `bytes`.
#[inline(always)]
pub(in crate::stage) fn words<T: Word>(bytes: &[u8]) -> impl ExactSizeIterator<Item = T> {
    bytes.chunks_exact(T::BYTES).map(|bytes| bytemuck::pod_read_unaligned::<T>(bytes).little_endian())
}

/// Puts what `change` makes of each whole word of `bytes` in its place.
#[inline(always)]
pub(in crate::stage) fn change_words<T: Word>(bytes: &mut [u8], change: impl Fn(T) -> T) {
    for place in bytes.chunks_exact_mut(T::BYTES) {
        let word = bytemuck::pod_read_unaligned::<T>(place).little_endian();
        place.copy_from_slice(bytemuck::bytes_of(&change(word).little_endian()));
    }
}

/// Calls `$function` compiled for words of `$word`.
macro_rules! by_word {
    ($word:expr, $function:ident$(::$path:ident)*($($argument:expr),* $(,)?)) => {
        match $word {
            ::shared_types::lc::WordSize::W1 => $function$(::$path)*::<u8>($($argument),*),
            ::shared_types::lc::WordSize::W2 => $function$(::$path)*::<u16>($($argument),*),
            ::shared_types::lc::WordSize::W4 => $function$(::$path)*::<u32>($($argument),*),
            ::shared_types::lc::WordSize::W8 => $function$(::$path)*::<u64>($($argument),*),
        }
    };
}
pub(in crate::stage) use by_word;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sign_goes_to_the_lowest_bit() {
        assert_eq!([0, -1, 1, -2, 2, i8::MAX, i8::MIN].map(|v| (v as u8).to_sign_magnitude()), [0, 1, 2, 3, 4, 254, 255]);
        assert!((0..=u16::MAX).all(|word| word.to_sign_magnitude().to_twos_complement() == word));
        assert_eq!(u64::MAX.to_sign_magnitude(), 1);
        assert_eq!((1u64 << 63).to_sign_magnitude(), u64::MAX);
        assert_eq!(u32::MAX.to_twos_complement(), 1 << 31);
    }
}
