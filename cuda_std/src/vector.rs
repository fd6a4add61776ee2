//! Vectors that one memory access moves whole.
//!
//! Their alignment is what lets the device use one 8- or 16-byte access: an array of the same size would be
//! split into its elements.

/// Four `u32`, 16-byte aligned: what `ld.v4.u32` and `st.v4.u32` move.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(C, align(16))]
pub struct U32x4 {
    /// The word at the lowest address.
    pub x: u32,
    /// The second word.
    pub y: u32,
    /// The third word.
    pub z: u32,
    /// The word at the highest address.
    pub w: u32,
}

impl U32x4 {
    /// The four words, lowest address first.
    #[inline(always)]
    pub const fn new(x: u32, y: u32, z: u32, w: u32) -> Self {
        Self { x, y, z, w }
    }

    /// The vector of these words, lowest address first.
    #[inline(always)]
    pub const fn from_array(words: [u32; 4]) -> Self {
        Self::new(words[0], words[1], words[2], words[3])
    }

    /// The words, lowest address first.
    #[inline(always)]
    pub const fn to_array(self) -> [u32; 4] {
        [self.x, self.y, self.z, self.w]
    }
}

/// Two `u32`, 8-byte aligned: what `ld.v2.u32` and `st.v2.u32` move.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(C, align(8))]
pub struct U32x2 {
    /// The word at the lower address.
    pub x: u32,
    /// The word at the higher address.
    pub y: u32,
}

impl U32x2 {
    /// The two words, lower address first.
    #[inline(always)]
    pub const fn new(x: u32, y: u32) -> Self {
        Self { x, y }
    }
}

/// Two `u64`, 16-byte aligned: what `ld.v2.u64` and `st.v2.u64` move.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(C, align(16))]
pub struct U64x2 {
    /// The word at the lower address.
    pub x: u64,
    /// The word at the higher address.
    pub y: u64,
}

impl U64x2 {
    /// The two words, lower address first.
    #[inline(always)]
    pub const fn new(x: u64, y: u64) -> Self {
        Self { x, y }
    }
}
