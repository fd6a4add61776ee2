//! Wide and cache-hinted accesses to global memory.
//!
//! Plain reads and writes through the pointer parameters of a kernel are fine for everything else. The emulator
//! checks the alignment, and nothing more: it does not know what the host allocated.

use crate::imp;
use crate::vector::U32x4;

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
