//! Wide and cache-hinted accesses to global memory.
//!
//! Plain reads and writes through the pointer parameters of a kernel are fine for everything else. The emulator
//! checks the alignment, and nothing more: it does not know what the host allocated.

use crate::imp;
use crate::vector::{U32x2, U32x4};

/// Loads 16 bytes that are read once (`ld.global.nc.L1::no_allocate.v4.u32`).
///
/// # Safety
/// `from` is 16-byte aligned and points to 16 readable bytes of global memory that nobody writes while the kernel
/// runs: the load takes the non-coherent path.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub unsafe fn load_streaming_v4(from: *const U32x4) -> U32x4 {
    // SAFETY: handed on to the caller.
    unsafe { imp::load_streaming_v4(from) }
}

/// Loads 16 bytes (`ld.global.v4.u32`).
///
/// # Safety
/// `from` is 16-byte aligned and points to 16 readable bytes of global memory.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub unsafe fn load_v4(from: *const U32x4) -> U32x4 {
    // SAFETY: handed on to the caller.
    unsafe { imp::load_v4(from) }
}

/// Loads a word through the non-coherent path (`ld.global.nc.u32`).
///
/// # Safety
/// `from` is 4-byte aligned and points to 4 readable bytes of global memory that nobody writes while the kernel
/// runs.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub unsafe fn load_nc_u32(from: *const u32) -> u32 {
    // SAFETY: handed on to the caller.
    unsafe { imp::load_nc_u32(from) }
}

/// Stores 16 bytes that are not read again soon (`st.global.cs.v4.u32`).
///
/// # Safety
/// `to` is 16-byte aligned and points to 16 writable bytes of global memory.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub unsafe fn store_streaming_v4(to: *mut U32x4, value: U32x4) {
    // SAFETY: handed on to the caller.
    unsafe { imp::store_streaming_v4(to, value) }
}

/// Stores 16 bytes (`st.global.v4.u32`).
///
/// # Safety
/// `to` is 16-byte aligned and points to 16 writable bytes of global memory.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub unsafe fn store_v4(to: *mut U32x4, value: U32x4) {
    // SAFETY: handed on to the caller.
    unsafe { imp::store_v4(to, value) }
}

/// Halves of words that gather, and go to memory in units of four, from an end on downwards: what is given first lies highest, as a coder needs that works backwards.
///
/// The units lie `STRIDE` bytes apart, a multiple of 4.
#[derive(Clone, Copy, Debug)]
pub struct HalvesDown<const STRIDE: i32> {
    /// The last four halves, the last one lowest.
    low: u32,
    high: u32,
    count: u32,
    end: *mut U32x2,
}

impl<const STRIDE: i32> HalvesDown<STRIDE> {
    /// Nothing yet; the first unit goes `STRIDE` bytes in front of `end`, the second one twice as far.
    ///
    /// # Safety
    /// There are as many writable units of global memory as halves are taken, four in each, 8-byte aligned.
    #[inline(always)]
    pub unsafe fn new(end: *mut U32x2) -> Self {
        Self { low: 0, high: 0, count: 0, end }
    }

    /// Takes the lower half of `x` if `x` is at least `limit`, and gives what is left of `x`: the upper half then, else all.
    #[inline(always)]
    pub fn take(&mut self, x: u32, limit: u32) -> u32 {
        let Self { low, high, count, end } = *self;
        // SAFETY: who made this vouches for the memory.
        let (x, low, high, count) = unsafe { imp::take_half::<STRIDE>(x, limit, low, high, count, end) };
        (self.low, self.high, self.count) = (low, high, count);
        x
    }

    /// Halves taken.
    #[inline(always)]
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Stores the halves that fill no unit at the upper end of one more, over zeros.
    #[inline(always)]
    pub fn finish(&self) {
        let left = self.count % 4;
        if left > 0 {
            let four = (u64::from(self.high) << 32 | u64::from(self.low)) << (16 * (4 - left));
            let bytes = (self.count / 4 + 1) as usize * STRIDE as usize;
            // SAFETY: who made this vouches for the memory.
            unsafe { *self.end.byte_sub(bytes).cast::<u64>() = four };
        }
    }
}
