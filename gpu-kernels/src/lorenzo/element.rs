//! Elements one by one, in shared memory.

use cuda_std::shared::SharedValue;

/// An element, without a sign.
pub trait Element: SharedValue + 'static {
    /// Zero.
    const ZERO: Self;
    /// The sum, modulo two to the element's bits.
    fn plus(self, other: Self) -> Self;
    /// The difference, likewise.
    fn minus(self, other: Self) -> Self;
}

macro_rules! elements {
    ($($type:ty),*) => {$(
        impl Element for $type {
            const ZERO: Self = 0;
            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
            #[inline(always)]
            fn minus(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }
        }
    )*};
}
elements!(u8, u16, u32, u64);

/// Where element `at` of `W` bytes stands in shared memory: 4 bytes (8 for elements of 8) of padding after each 128 keep threads that
/// are a whole row apart in different banks.
#[inline(always)]
pub const fn padded<const W: u32>(at: u32) -> usize {
    (at + at / (128 / W) * 4u32.div_ceil(W)) as usize
}
