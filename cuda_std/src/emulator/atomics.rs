//! Atomics on global memory, on the host.
//!
//! One thread of the emulator runs at a time, so that orders and scopes make no difference.

use super::device::check_global;
use super::state::{State, with_any};
use core::sync::atomic::Ordering::SeqCst;
use core::sync::atomic::{AtomicU32, AtomicU64};

/// A change of memory may end a poll.
fn note(changed: bool) {
    if changed {
        with_any(State::progress);
    }
}

macro_rules! atomics {
    ($($kind:ident $name:ident: $type:ty, $atomic:ty;)+) => {$(atomics!(@ $kind $name $type, $atomic);)+};
    (@ load $name:ident $type:ty, $atomic:ty) => {
        /// # Safety
        /// As for the function of the same name in `atomic`.
        #[track_caller]
        pub unsafe fn $name(at: *const $type) -> $type {
            check_global(at);
            // SAFETY: the caller promises a word, and it is aligned.
            unsafe { <$atomic>::from_ptr(at.cast_mut()) }.load(SeqCst)
        }
    };
    (@ store $name:ident $type:ty, $atomic:ty) => {
        /// # Safety
        /// As for the function of the same name in `atomic`.
        #[track_caller]
        pub unsafe fn $name(at: *mut $type, value: $type) {
            check_global(at);
            // SAFETY: the caller promises a word, and it is aligned.
            let before = unsafe { <$atomic>::from_ptr(at) }.swap(value, SeqCst);
            note(before != value);
        }
    };
    (@ add $name:ident $type:ty, $atomic:ty) => { atomics!(@@ fetch_add $name $type, $atomic); };
    (@ min $name:ident $type:ty, $atomic:ty) => { atomics!(@@ fetch_min $name $type, $atomic); };
    (@ max $name:ident $type:ty, $atomic:ty) => { atomics!(@@ fetch_max $name $type, $atomic); };
    (@ or $name:ident $type:ty, $atomic:ty) => { atomics!(@@ fetch_or $name $type, $atomic); };
    (@ and $name:ident $type:ty, $atomic:ty) => { atomics!(@@ fetch_and $name $type, $atomic); };
    (@ exch $name:ident $type:ty, $atomic:ty) => { atomics!(@@ swap $name $type, $atomic); };
    (@@ $method:ident $name:ident $type:ty, $atomic:ty) => {
        /// # Safety
        /// As for the function of the same name in `atomic`.
        #[track_caller]
        pub unsafe fn $name(at: *mut $type, value: $type) -> $type {
            check_global(at);
            // SAFETY: the caller promises a word, and it is aligned.
            let atomic = unsafe { <$atomic>::from_ptr(at) };
            let before = atomic.$method(value, SeqCst);
            note(before != atomic.load(SeqCst));
            before
        }
    };
    (@ cas $name:ident $type:ty, $atomic:ty) => {
        /// # Safety
        /// As for the function of the same name in `atomic`.
        #[track_caller]
        pub unsafe fn $name(at: *mut $type, current: $type, new: $type) -> $type {
            check_global(at);
            // SAFETY: the caller promises a word, and it is aligned.
            let result = unsafe { <$atomic>::from_ptr(at) }.compare_exchange(current, new, SeqCst, SeqCst);
            note(result.is_ok() && current != new);
            match result {
                Ok(before) | Err(before) => before,
            }
        }
    };
}
atomics! {
    load atomic_load_relaxed_32_device: u32, AtomicU32;
    load atomic_load_relaxed_32_system: u32, AtomicU32;
    load atomic_load_relaxed_64_device: u64, AtomicU64;
    load atomic_load_relaxed_64_system: u64, AtomicU64;
    load atomic_load_acquire_32_device: u32, AtomicU32;
    load atomic_load_acquire_32_system: u32, AtomicU32;
    load atomic_load_acquire_64_device: u64, AtomicU64;
    load atomic_load_acquire_64_system: u64, AtomicU64;
    store atomic_store_relaxed_32_device: u32, AtomicU32;
    store atomic_store_relaxed_32_system: u32, AtomicU32;
    store atomic_store_relaxed_64_device: u64, AtomicU64;
    store atomic_store_relaxed_64_system: u64, AtomicU64;
    store atomic_store_release_32_device: u32, AtomicU32;
    store atomic_store_release_32_system: u32, AtomicU32;
    store atomic_store_release_64_device: u64, AtomicU64;
    store atomic_store_release_64_system: u64, AtomicU64;
    add atomic_fetch_add_relaxed_32_device: u32, AtomicU32;
    add atomic_fetch_add_relaxed_32_block: u32, AtomicU32;
    add atomic_fetch_add_relaxed_64_device: u64, AtomicU64;
    add atomic_fetch_add_relaxed_64_block: u64, AtomicU64;
    min atomic_fetch_min_relaxed_32_device: u32, AtomicU32;
    min atomic_fetch_min_relaxed_32_block: u32, AtomicU32;
    min atomic_fetch_min_relaxed_64_device: u64, AtomicU64;
    min atomic_fetch_min_relaxed_64_block: u64, AtomicU64;
    max atomic_fetch_max_relaxed_32_device: u32, AtomicU32;
    max atomic_fetch_max_relaxed_32_block: u32, AtomicU32;
    max atomic_fetch_max_relaxed_64_device: u64, AtomicU64;
    max atomic_fetch_max_relaxed_64_block: u64, AtomicU64;
    or atomic_fetch_or_relaxed_32_device: u32, AtomicU32;
    or atomic_fetch_or_relaxed_32_block: u32, AtomicU32;
    or atomic_fetch_or_relaxed_64_device: u64, AtomicU64;
    or atomic_fetch_or_relaxed_64_block: u64, AtomicU64;
    and atomic_fetch_and_relaxed_32_device: u32, AtomicU32;
    and atomic_fetch_and_relaxed_32_block: u32, AtomicU32;
    and atomic_fetch_and_relaxed_64_device: u64, AtomicU64;
    and atomic_fetch_and_relaxed_64_block: u64, AtomicU64;
    exch atomic_exch_relaxed_32_device: u32, AtomicU32;
    exch atomic_exch_relaxed_32_block: u32, AtomicU32;
    exch atomic_exch_relaxed_64_device: u64, AtomicU64;
    exch atomic_exch_relaxed_64_block: u64, AtomicU64;
    exch atomic_exch_acqrel_32_device: u32, AtomicU32;
    exch atomic_exch_acqrel_32_block: u32, AtomicU32;
    exch atomic_exch_acqrel_64_device: u64, AtomicU64;
    exch atomic_exch_acqrel_64_block: u64, AtomicU64;
    cas atomic_cas_relaxed_32_device: u32, AtomicU32;
    cas atomic_cas_relaxed_32_block: u32, AtomicU32;
    cas atomic_cas_relaxed_64_device: u64, AtomicU64;
    cas atomic_cas_relaxed_64_block: u64, AtomicU64;
    cas atomic_cas_acqrel_32_device: u32, AtomicU32;
    cas atomic_cas_acqrel_32_block: u32, AtomicU32;
    cas atomic_cas_acqrel_64_device: u64, AtomicU64;
    cas atomic_cas_acqrel_64_block: u64, AtomicU64;
}
