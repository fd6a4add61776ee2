//! Scoped atomics on global memory, as plain functions on pointers.
//!
//! The name says the order (`relaxed`, `acquire`, `release`, `acqrel`), the bits, and the scope: the threads for which
//! the access is atomic and ordered (`block`, `device`, `system` = the host and all devices, too).
//!
//! The emulator runs one thread at a time, so that every order is as good as the strongest there: it does **not** find
//! a missing acquire or release.

use crate::imp;

macro_rules! atomics {
    ($($kind:ident $name:ident: $type:ty;)+) => {$(
        atomics!(@ $kind $name $type);
    )+};
    (@ load $name:ident $type:ty) => {
        /// The word at `at`.
        ///
        /// # Safety
        /// `at` is aligned and points to readable global memory.
        #[inline(always)]
        #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
        pub unsafe fn $name(at: *const $type) -> $type {
            // SAFETY: handed on to the caller.
            unsafe { imp::$name(at) }
        }
    };
    (@ store $name:ident $type:ty) => {
        /// Writes `value` to `at`.
        ///
        /// # Safety
        /// `at` is aligned and points to writable global memory.
        #[inline(always)]
        #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
        pub unsafe fn $name(at: *mut $type, value: $type) {
            // SAFETY: handed on to the caller.
            unsafe { imp::$name(at, value) }
        }
    };
    (@ add $name:ident $type:ty) => {
        atomics!(@@ "Adds `value` to the word at `at`, wrapping around", $name $type);
    };
    (@ min $name:ident $type:ty) => {
        atomics!(@@ "Lowers the word at `at` to `value` if that is smaller", $name $type);
    };
    (@ max $name:ident $type:ty) => {
        atomics!(@@ "Raises the word at `at` to `value` if that is larger", $name $type);
    };
    (@ or $name:ident $type:ty) => {
        atomics!(@@ "Sets the bits of `value` in the word at `at`", $name $type);
    };
    (@ and $name:ident $type:ty) => {
        atomics!(@@ "Keeps only the bits of `value` in the word at `at`", $name $type);
    };
    (@ exch $name:ident $type:ty) => {
        atomics!(@@ "Replaces the word at `at` by `value`", $name $type);
    };
    (@@ $doc:literal, $name:ident $type:ty) => {
        #[doc = concat!($doc, "; gives what was there before.")]
        ///
        /// # Safety
        /// `at` is aligned and points to writable global memory.
        #[inline(always)]
        #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
        pub unsafe fn $name(at: *mut $type, value: $type) -> $type {
            // SAFETY: handed on to the caller.
            unsafe { imp::$name(at, value) }
        }
    };
    (@ cas $name:ident $type:ty) => {
        /// Replaces the word at `at` by `new` if it is `current`; gives what was there before.
        ///
        /// # Safety
        /// `at` is aligned and points to writable global memory.
        #[inline(always)]
        #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
        pub unsafe fn $name(at: *mut $type, current: $type, new: $type) -> $type {
            // SAFETY: handed on to the caller.
            unsafe { imp::$name(at, current, new) }
        }
    };
}
atomics! {
    load atomic_load_relaxed_32_device: u32;
    load atomic_load_relaxed_32_system: u32;
    load atomic_load_relaxed_64_device: u64;
    load atomic_load_relaxed_64_system: u64;
    load atomic_load_acquire_32_device: u32;
    load atomic_load_acquire_32_system: u32;
    load atomic_load_acquire_64_device: u64;
    load atomic_load_acquire_64_system: u64;
    store atomic_store_relaxed_32_device: u32;
    store atomic_store_relaxed_32_system: u32;
    store atomic_store_relaxed_64_device: u64;
    store atomic_store_relaxed_64_system: u64;
    store atomic_store_release_32_device: u32;
    store atomic_store_release_32_system: u32;
    store atomic_store_release_64_device: u64;
    store atomic_store_release_64_system: u64;
    add atomic_fetch_add_relaxed_32_device: u32;
    add atomic_fetch_add_relaxed_32_block: u32;
    add atomic_fetch_add_relaxed_64_device: u64;
    add atomic_fetch_add_relaxed_64_block: u64;
    min atomic_fetch_min_relaxed_32_device: u32;
    min atomic_fetch_min_relaxed_32_block: u32;
    min atomic_fetch_min_relaxed_64_device: u64;
    min atomic_fetch_min_relaxed_64_block: u64;
    max atomic_fetch_max_relaxed_32_device: u32;
    max atomic_fetch_max_relaxed_32_block: u32;
    max atomic_fetch_max_relaxed_64_device: u64;
    max atomic_fetch_max_relaxed_64_block: u64;
    or atomic_fetch_or_relaxed_32_device: u32;
    or atomic_fetch_or_relaxed_32_block: u32;
    or atomic_fetch_or_relaxed_64_device: u64;
    or atomic_fetch_or_relaxed_64_block: u64;
    and atomic_fetch_and_relaxed_32_device: u32;
    and atomic_fetch_and_relaxed_32_block: u32;
    and atomic_fetch_and_relaxed_64_device: u64;
    and atomic_fetch_and_relaxed_64_block: u64;
    exch atomic_exch_relaxed_32_device: u32;
    exch atomic_exch_relaxed_32_block: u32;
    exch atomic_exch_relaxed_64_device: u64;
    exch atomic_exch_relaxed_64_block: u64;
    exch atomic_exch_acqrel_32_device: u32;
    exch atomic_exch_acqrel_32_block: u32;
    exch atomic_exch_acqrel_64_device: u64;
    exch atomic_exch_acqrel_64_block: u64;
    cas atomic_cas_relaxed_32_device: u32;
    cas atomic_cas_relaxed_32_block: u32;
    cas atomic_cas_relaxed_64_device: u64;
    cas atomic_cas_relaxed_64_block: u64;
    cas atomic_cas_acqrel_32_device: u32;
    cas atomic_cas_acqrel_32_block: u32;
    cas atomic_cas_acqrel_64_device: u64;
    cas atomic_cas_acqrel_64_block: u64;
}
