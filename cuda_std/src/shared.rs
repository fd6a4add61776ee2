//! The shared memory of a block, typed.
//!
//! A kernel describes its shared memory as one `#[repr(C)]` struct of [`SharedArray`]s and asks for it with
//! [`dynamic`]. For 16-byte accesses the struct carries `#[repr(C, align(16))]`.
//!
//! ```
//! use cuda_std::shared::{self, SharedArray};
//!
//! #[repr(C, align(16))]
//! struct Scratch {
//!     words: SharedArray<u32, 256>,
//!     total: SharedArray<u32, 1>,
//! }
//!
//! fn first_word() -> u32 {
//!     let scratch = shared::dynamic::<Scratch>();
//!     scratch.words.read(0)
//! }
//! ```
//!
//! **On a device nothing is checked**: an index beyond the array is undefined behaviour, although these functions are
//! not marked `unsafe`. The emulator checks every access: bounds, alignment, reads of what nobody wrote, and races.
//! A kernel is sound when the emulator has nothing to say about it.

use crate::imp;
use crate::vector::{U32x2, U32x4, U64x2};
use core::cell::UnsafeCell;
use core::mem::MaybeUninit;

/// The strictest alignment that [`dynamic`] can give.
pub const MAX_ALIGN: usize = 16;

/// The dynamic shared memory of the block as an `S`, laid at its start.
///
/// The launch must ask for at least `size_of::<S>()` bytes; the emulator checks it. Calling this again gives the same
/// memory. `S` consists of [`SharedArray`]s only.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub fn dynamic<S>() -> &'static S {
    const { assert!(align_of::<S>() <= MAX_ALIGN, "shared memory is aligned to 16 bytes, not more") };
    let base: *const S = imp::shared_base(size_of::<S>()).cast();
    // SAFETY: the memory is as large as S (checked by the emulator), 16-byte aligned, and lives as long as any thread
    // that can hold the reference. SharedArrays are all UnsafeCell and MaybeUninit, so that neither unwritten bytes nor
    // writes of other threads break a shared reference.
    unsafe { &*base }
}

/// A type that shared memory can hold: plain bits, every pattern a value.
pub trait SharedValue: Copy + sealed::Plain {}

mod sealed {
    pub trait Plain {}
}

macro_rules! shared_value {
    ($($type:ty),+) => {$(
        impl sealed::Plain for $type {}
        impl SharedValue for $type {}
    )+};
}
shared_value!(u8, u16, u32, u64, i8, i16, i32, i64, f32, f64, U32x2, U32x4, U64x2);

/// `N` values in shared memory, for all threads of the block to read and write.
#[repr(transparent)]
pub struct SharedArray<T, const N: usize>(UnsafeCell<[MaybeUninit<T>; N]>);

// SAFETY: the accesses of different threads go through raw pointers, never through references to the values; that they
// do not race is what the emulator checks.
unsafe impl<T: SharedValue, const N: usize> Sync for SharedArray<T, N> {}

impl<T: SharedValue, const N: usize> SharedArray<T, N> {
    /// The number of values.
    pub const LEN: usize = N;

    /// The value at `index`, which must be below `N`.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub fn read(&self, index: usize) -> T {
        let from = self.element::<T>(index);
        // SAFETY: `element` points into the array; the emulator checks that the value was written.
        unsafe { imp::shared_read(from) }
    }

    /// Writes `value` to `index`, which must be below `N`.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub fn write(&self, index: usize, value: T) {
        let to = self.element::<T>(index);
        // SAFETY: `element` points into the array.
        unsafe { imp::shared_write(to, value) }
    }

    /// The values from `index` on, as far as a `V` reaches.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn element<V>(&self, index: usize) -> *mut V {
        imp::check_shared_index(index, size_of::<V>() / size_of::<T>(), N);
        // SAFETY: the caller promises, and the emulator has checked, that the index is in bounds.
        unsafe { self.0.get().cast::<T>().add(index).cast() }
    }
}

impl<const N: usize> SharedArray<u32, N> {
    /// The four words from `index` on, in one access; `index` is a multiple of 4 and the array 16-byte aligned.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub fn read_vec4(&self, index: usize) -> U32x4 {
        let from = self.element::<U32x4>(index);
        // SAFETY: `element` points into the array; alignment is the caller's promise, which the emulator checks.
        unsafe { imp::shared_read_vec4(from) }
    }

    /// Writes four words from `index` on, in one access; `index` is a multiple of 4 and the array 16-byte aligned.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub fn write_vec4(&self, index: usize, value: U32x4) {
        let to = self.element::<U32x4>(index);
        // SAFETY: `element` points into the array; alignment is the caller's promise, which the emulator checks.
        unsafe { imp::shared_write_vec4(to, value) }
    }

    /// The two words from `index` on, in one access; `index` is even and the array 8-byte aligned.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub fn read_vec2(&self, index: usize) -> U32x2 {
        let from = self.element::<U32x2>(index);
        // SAFETY: `element` points into the array; alignment is the caller's promise, which the emulator checks.
        unsafe { imp::shared_read_vec2(from) }
    }

    /// Writes two words from `index` on, in one access; `index` is even and the array 8-byte aligned.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub fn write_vec2(&self, index: usize, value: U32x2) {
        let to = self.element::<U32x2>(index);
        // SAFETY: `element` points into the array; alignment is the caller's promise, which the emulator checks.
        unsafe { imp::shared_write_vec2(to, value) }
    }
}

impl<const N: usize> SharedArray<u32, N> {
    /// The `V` at byte `at` of the words; `at` is a multiple of its size, and the array as aligned as a `V`.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub fn read_part<V: SharedValue>(&self, at: usize) -> V {
        let from = self.part::<V>(at);
        // SAFETY: `part` points into the array; the emulator checks alignment, and that the value was written.
        unsafe { imp::shared_read(from) }
    }

    /// Writes `value` to byte `at` of the words; `at` is a multiple of its size, and the array as aligned as a `V`.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub fn write_part<V: SharedValue>(&self, at: usize, value: V) {
        let to = self.part::<V>(at);
        // SAFETY: `part` points into the array; alignment is the caller's promise, which the emulator checks.
        unsafe { imp::shared_write(to, value) }
    }

    /// Byte `at`, where a `V` begins.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn part<V>(&self, at: usize) -> *mut V {
        imp::check_shared_index(at, size_of::<V>(), 4 * N);
        // SAFETY: the caller promises, and the emulator has checked, that the bytes are in bounds.
        unsafe { self.0.get().cast::<u8>().add(at).cast() }
    }
}

/// Accesses by address: a number that a thread computes with as it likes, without the array's own place being added each time.
impl<const N: usize> SharedArray<u32, N> {
    /// The address of byte `at` of the words. Adding to it gives the address of a later byte.
    #[inline(always)]
    pub fn address(&self, at: u32) -> u32 {
        imp::shared_place(self.0.get().cast(), at)
    }

    /// The word at `address`, a multiple of 4 bytes behind the start of the array.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub fn word_at(&self, address: u32) -> u32 {
        imp::check_shared_index(address as usize, 4, 4 * N);
        // SAFETY: the address is in bounds, as the caller promises and the emulator has checked; it checks the rest, too.
        unsafe { imp::shared_word_at(self.0.get().cast(), address) }
    }

    /// The half of a word at `address`, a multiple of 2 bytes behind the start of the array.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub fn half_at(&self, address: u32) -> u32 {
        imp::check_shared_index(address as usize, 2, 4 * N);
        // SAFETY: as above.
        unsafe { imp::shared_half_at(self.0.get().cast(), address) }
    }

    /// The byte at `address`.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub fn byte_at(&self, address: u32) -> u32 {
        imp::check_shared_index(address as usize, 1, 4 * N);
        // SAFETY: as above.
        unsafe { imp::shared_byte_at(self.0.get().cast(), address) }
    }

    /// Begins to copy 16 bytes of global memory to `address`, past the registers (`cp.async.cg`); [`wait_for_copies`] waits for it. Until then the
    /// bytes must neither be relied upon nor written. `address` is a multiple of 16 bytes behind the start of the array, and that as aligned.
    ///
    /// # Safety
    /// `from` is 16-byte aligned and points to 16 readable bytes of global memory, which nobody writes before the copy was waited for.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub unsafe fn copy_async_v4(&self, address: u32, from: *const U32x4) {
        imp::check_shared_index(address as usize, 16, 4 * N);
        // SAFETY: the address is in bounds; the rest is the caller's promise.
        unsafe { imp::copy_async_v4(self.0.get().cast(), address, from) }
    }
}

/// Waits until all copies that this thread has begun are there, for this thread to see ([`SharedArray::copy_async_v4`]).
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub fn wait_for_copies() {
    imp::wait_for_copies()
}

/// Two places in an array of words that take values one behind another: each value goes to one of the two.
#[derive(Clone, Copy)]
pub struct Split<'a, const N: usize> {
    words: &'a SharedArray<u32, N>,
    first: u32,
    second: u32,
}

impl<'a, const N: usize> Split<'a, N> {
    /// The places that begin at the bytes `first` and `second` of `words`.
    #[inline(always)]
    pub fn new(words: &'a SharedArray<u32, N>, first: u32, second: u32) -> Self {
        let place = |at| imp::shared_place(words.0.get().cast(), at);
        Self { words, first: place(first), second: place(second) }
    }

    /// Stores four values of `W` bytes (1, 2 or 4), the low ones of `v`, or two of 8, lower half first: to the end of the first
    /// place where the bit of `flags` is set, the lowest bit for the first value, else of the second, or (not `BOTH`)
    /// nowhere. Both ends are multiples of `W`, and the array as aligned.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub fn store<const W: u32, const BOTH: bool>(&mut self, flags: u32, v: [u32; 4]) {
        let set = (flags & if W == 8 { 3 } else { 15 }).count_ones();
        let clear = if W == 8 { 2 } else { 4 } - set;
        if set > 0 {
            imp::check_shared_index(self.first as usize, (set * W) as usize, 4 * N);
        }
        if BOTH && clear > 0 {
            imp::check_shared_index(self.second as usize, (clear * W) as usize, 4 * N);
        }
        let (words, first, second) = (self.words.0.get().cast(), self.first, self.second);
        // SAFETY: the bytes are in bounds, as the caller promises and the emulator has checked; it checks the alignment, too.
        unsafe {
            if BOTH {
                (self.first, self.second) = match W {
                    1 => imp::split_store_1(words, flags, v, first, second),
                    2 => imp::split_store_2(words, flags, v, first, second),
                    4 => imp::split_store_4(words, flags, v, first, second),
                    _ => imp::split_store_8(words, flags, v, first, second),
                };
            } else {
                self.first = match W {
                    1 => imp::store_if_1(words, flags, v, first),
                    2 => imp::store_if_2(words, flags, v, first),
                    4 => imp::store_if_4(words, flags, v, first),
                    _ => imp::store_if_8(words, flags, v, first),
                };
            }
        }
    }
}

macro_rules! shared_atomics {
    ($($(#[doc = $doc:literal])+ $name:ident => $imp:ident;)+) => {
        /// Atomics, without order for other memory (`atom.shared`). They do not race with each other, but with plain accesses.
        impl<const N: usize> SharedArray<u32, N> {$(
            $(#[doc = $doc])+
            #[inline(always)]
            #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
            pub fn $name(&self, index: usize, value: u32) -> u32 {
                let at = self.element::<u32>(index);
                // SAFETY: `element` points into the array; the emulator checks that the value was written.
                unsafe { imp::$imp(at, value) }
            }
        )+}
    };
}
shared_atomics! {
    /// Adds `value`, modulo 2^32, to the word at `index`; gives what was there before.
    fetch_add => shared_fetch_add;
    /// Sets the bits of `value` in the word at `index`; gives what was there before.
    fetch_or => shared_fetch_or;
    /// Keeps only the bits of `value` in the word at `index`; gives what was there before.
    fetch_and => shared_fetch_and;
    /// Raises the word at `index` to `value` if that is larger; gives what was there before.
    fetch_max => shared_fetch_max;
    /// Lowers the word at `index` to `value` if that is smaller; gives what was there before.
    fetch_min => shared_fetch_min;
}
