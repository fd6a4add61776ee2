//! The host side of the device functions: each tells the emulator what the thread does, waits if it must, and does it.
//!
//! What waits is inlined: a processor predicts the return from a function badly when the stack was switched since its call.

pub use super::atomics::*;

use super::fault::{Access, Collective, Fault};
use super::state::{Barrier, State, stop, switch, with, with_any};
use super::warp::Slot;
use crate::shared::SharedValue;
use crate::vector::{U32x2, U32x4};
use crate::warp::ShuffleMode;
use core::panic::Location;

macro_rules! coordinates {
    ($($x:ident $y:ident $z:ident: $state:ident => $dim:expr;)+) => {$(
        pub fn $x() -> u32 {
            with(|$state| $dim.x)
        }
        pub fn $y() -> u32 {
            with(|$state| $dim.y)
        }
        pub fn $z() -> u32 {
            with(|$state| $dim.z)
        }
    )+};
}
coordinates! {
    thread_idx_x thread_idx_y thread_idx_z: state => state.coordinates[state.current];
    block_idx_x block_idx_y block_idx_z: state => state.block_idx;
    block_dim_x block_dim_y block_dim_z: state => state.block;
    grid_dim_x grid_dim_y grid_dim_z: state => state.grid;
}

pub fn lane_id() -> u32 {
    with(|state| state.current as u32 % 32)
}

/// Waits at a barrier of the block and gives its result.
#[inline(always)]
fn barrier(barrier: Barrier, predicate: bool, at: &'static Location<'static>) -> u32 {
    let go_on = with(|state| if state.is_over() { Ok(true) } else { state.arrive_at_barrier(barrier, predicate, at) });
    wait(go_on);
    with(|state| state.barrier_result())
}

/// Lets others run, unless the thread can go on at once.
#[inline(always)]
fn wait(go_on: Result<bool, Fault>) {
    match go_on {
        Ok(true) => {}
        Ok(false) => switch(),
        Err(fault) => stop(fault),
    }
}

#[inline(always)]
#[track_caller]
pub fn sync_threads() {
    barrier(Barrier::Plain, false, Location::caller());
}

#[inline(always)]
#[track_caller]
pub fn sync_threads_count(predicate: bool) -> u32 {
    barrier(Barrier::Count, predicate, Location::caller())
}

#[inline(always)]
#[track_caller]
pub fn sync_threads_and(predicate: bool) -> bool {
    barrier(Barrier::And, predicate, Location::caller()) != 0
}

#[inline(always)]
#[track_caller]
pub fn sync_threads_or(predicate: bool) -> bool {
    barrier(Barrier::Or, predicate, Location::caller()) != 0
}

// One thread runs at a time, so that fences have nothing to do.
pub fn device_fence() {}
pub fn block_fence() {}

/// Whoever sleeps may be polling.
#[inline(always)]
#[track_caller]
pub fn nanosleep(_nanoseconds: u32) {
    spin_wait();
}

#[inline(always)]
#[track_caller]
pub fn spin_wait() {
    let at = Location::caller();
    let go_on = with(|state| if state.is_over() { Ok(true) } else { state.poll(at).map(|()| false) });
    wait(go_on);
}

#[inline(always)]
#[track_caller]
pub fn activemask() -> u32 {
    let at = Location::caller();
    let go_on = with(|state| {
        if !state.is_over() {
            state.ask_activemask(at);
        }
        Ok(state.is_over())
    });
    wait(go_on);
    with(|state| state.slot().result as u32)
}

/// Waits for the other lanes at a collective and gives its result.
#[inline(always)]
#[track_caller]
fn collective(collective: Collective, mask: u32, value: u64, lanes: u32, clamp: u32) -> (u64, bool) {
    let slot = Slot { value, lanes, clamp, at: Location::caller(), result: 0, in_bounds: false };
    if with(|state| state.join(collective, mask, slot)) {
        switch();
    } else {
        wait(with(|state| state.arrive(collective, mask)));
    }
    with(|state| {
        let slot = state.slot();
        (slot.result, slot.in_bounds)
    })
}

#[inline(always)]
#[track_caller]
pub fn sync_warp(mask: u32) {
    collective(Collective::SyncWarp, mask, 0, 0, 0);
}

/// The segments' width is a power of two: others make PTX's operand a different one than CUDA's functions mean.
#[inline]
#[track_caller]
fn check_width(clamp: u32) {
    // The inverse of how the caller made it.
    let width = 32_u32.wrapping_sub((clamp as i32 >> 8) as u32);
    if !width.is_power_of_two() || width > 32 {
        let at = Location::caller();
        let fault =
            with(|state| (!state.is_over()).then(|| Fault::ShuffleWidth { place: state.place(state.current, at), width }));
        if let Some(fault) = fault {
            stop(fault);
        }
    }
}

#[inline(always)]
#[track_caller]
pub fn shuffle(mode: ShuffleMode, mask: u32, value: u32, lanes: u32, clamp: u32) -> (u32, bool) {
    check_width(clamp);
    let name = match mode {
        ShuffleMode::Up => Collective::ShuffleUp,
        ShuffleMode::Down => Collective::ShuffleDown,
        ShuffleMode::Xor => Collective::ShuffleXor,
        ShuffleMode::Idx => Collective::ShuffleIdx,
    };
    let (bits, in_bounds) = collective(name, mask, u64::from(value), lanes, clamp);
    (bits as u32, in_bounds)
}

#[inline(always)]
#[track_caller]
pub fn shuffle_wide(mode: ShuffleMode, mask: u32, value: u64, lanes: u32, clamp: u32) -> (u64, bool) {
    check_width(clamp);
    let name = match mode {
        ShuffleMode::Up => Collective::ShuffleUp64,
        ShuffleMode::Down => Collective::ShuffleDown64,
        ShuffleMode::Xor => Collective::ShuffleXor64,
        ShuffleMode::Idx => Collective::ShuffleIdx64,
    };
    collective(name, mask, value, lanes, clamp)
}

#[inline(always)]
#[track_caller]
pub fn vote_ballot(mask: u32, predicate: bool) -> u32 {
    collective(Collective::VoteBallot, mask, u64::from(predicate), 0, 0).0 as u32
}

#[inline(always)]
#[track_caller]
pub fn vote_any(mask: u32, predicate: bool) -> bool {
    collective(Collective::VoteAny, mask, u64::from(predicate), 0, 0).0 != 0
}

#[inline(always)]
#[track_caller]
pub fn vote_all(mask: u32, predicate: bool) -> bool {
    collective(Collective::VoteAll, mask, u64::from(predicate), 0, 0).0 != 0
}

#[inline(always)]
#[track_caller]
pub fn match_any_32(mask: u32, value: u32) -> u32 {
    collective(Collective::MatchAny32, mask, u64::from(value), 0, 0).0 as u32
}

#[inline(always)]
#[track_caller]
pub fn match_any_64(mask: u32, value: u64) -> u32 {
    collective(Collective::MatchAny64, mask, value, 0, 0).0 as u32
}

macro_rules! reduce {
    ($($name:ident => $collective:ident;)+) => {$(
        #[inline(always)]
        #[track_caller]
        pub fn $name(mask: u32, value: u32) -> u32 {
            collective(Collective::$collective, mask, u64::from(value), 0, 0).0 as u32
        }
    )+};
}
reduce! {
    reduce_add => ReduceAdd;
    reduce_min => ReduceMin;
    reduce_max => ReduceMax;
    reduce_and => ReduceAnd;
    reduce_or => ReduceOr;
    reduce_xor => ReduceXor;
}

#[track_caller]
pub fn shared_base(bytes: usize) -> *mut u8 {
    let at = Location::caller();
    with(|state| state.shared_base(bytes, at)).unwrap_or_else(|fault| stop(fault))
}

#[inline]
#[track_caller]
pub fn check_shared_index(index: usize, count: usize, len: usize) {
    if index >= len || count > len - index {
        let at = Location::caller();
        stop(with(|state| Fault::SharedIndex { place: state.place(state.current, at), index, count, len }));
    }
}

/// Notes and checks an access to a `T` in shared memory. Gives whether it can be made: while the threads are being
/// unwound, there are no more accesses.
#[inline]
#[track_caller]
fn touch<T>(pointer: *const T, access: Access) -> bool {
    let at = Location::caller();
    let checked = with(|state| {
        if state.is_over() { Ok(false) } else { state.touch_shared(pointer.cast(), size_of::<T>(), access, at).map(|()| true) }
    });
    checked.unwrap_or_else(|fault| stop(fault))
}

/// # Safety
/// `from` points to a `T` inside of an array that a reference of the caller's points to.
#[inline]
#[track_caller]
pub unsafe fn shared_read<T: SharedValue>(from: *const T) -> T {
    if touch(from, Access::Read) {
        // SAFETY: the access lies in the shared memory, is aligned, and was written.
        unsafe { from.read() }
    } else {
        // SAFETY: shared values are plain bits.
        unsafe { core::mem::zeroed() }
    }
}

/// # Safety
/// `to` points to a `T` inside of an array that a reference of the caller's points to.
#[inline]
#[track_caller]
pub unsafe fn shared_write<T: SharedValue>(to: *mut T, value: T) {
    if touch(to, Access::Write) {
        // SAFETY: the access lies in the shared memory and is aligned; the emulator's memory always holds some bytes, and
        // shared values are plain bits without padding.
        let changes = unsafe {
            let bytes = |value: *const T| core::slice::from_raw_parts(value.cast::<u8>(), size_of::<T>());
            let changes = bytes(to) != bytes(&value);
            to.write(value);
            changes
        };
        if changes {
            with(State::progress);
        }
    }
}

macro_rules! shared_vectors {
    ($($read:ident $write:ident $type:ty;)+) => {$(
        /// # Safety
        /// As for `shared_read`.
        #[inline]
        #[track_caller]
        pub unsafe fn $read(from: *const $type) -> $type {
            // SAFETY: handed on to the caller.
            unsafe { shared_read(from) }
        }

        /// # Safety
        /// As for `shared_write`.
        #[inline]
        #[track_caller]
        pub unsafe fn $write(to: *mut $type, value: $type) {
            // SAFETY: handed on to the caller.
            unsafe { shared_write(to, value) }
        }
    )+};
}
shared_vectors! {
    shared_read_vec4 shared_write_vec4 U32x4;
    shared_read_vec2 shared_write_vec2 U32x2;
}

macro_rules! shared_at {
    ($($name:ident $type:ty;)+) => {$(
        /// # Safety
        /// As for `shared_read`, from byte `address` of `words`.
        #[inline]
        #[track_caller]
        pub unsafe fn $name(words: *const u8, address: u32) -> u32 {
            // SAFETY: handed on to the caller.
            unsafe { shared_read::<$type>(words.add(address as usize).cast()).into() }
        }
    )+};
}
shared_at! {
    shared_word_at u32;
    shared_half_at u16;
    shared_byte_at u8;
}

/// The copy is made at the wait, so that whoever does not wait sees what was there before.
///
/// # Safety
/// As for `shared_write`, to byte `address` of `words`; `from` points to readable bytes until the wait.
#[inline]
#[track_caller]
pub unsafe fn copy_async_v4(words: *mut u8, address: u32, from: *const U32x4) {
    check_global(from);
    // SAFETY: handed on to the caller.
    let to = unsafe { words.add(address as usize) }.cast();
    with(|state| {
        let thread = state.current;
        if state.copies.len() <= thread {
            state.copies.resize_with(thread + 1, Vec::new);
        }
        state.copies[thread].push((to, from));
    });
}

#[inline]
#[track_caller]
pub fn wait_for_copies() {
    let copies = with(|state| state.copies.get_mut(state.current).map(core::mem::take)).unwrap_or_default();
    for &(to, from) in &copies {
        // SAFETY: promised when the copy was begun.
        unsafe { shared_write(to, from.read()) };
    }
    with(|state| {
        if let Some(place) = state.copies.get_mut(state.current) {
            *place = copies;
            place.clear(); // keeps its memory
        }
    });
}

/// Where byte `at` of an array lies: there.
#[inline]
pub fn shared_place(_words: *mut u8, at: u32) -> u32 {
    at
}

macro_rules! split_stores {
    ($($name:ident $one:ident $type:ty, $values:expr;)+) => {$(
        /// # Safety
        /// As for `shared_write`, to bytes `first` and `second` of `words`.
        #[inline]
        #[track_caller]
        pub unsafe fn $name(words: *mut u8, flags: u32, v: [u32; 4], mut first: u32, mut second: u32) -> (u32, u32) {
            for (i, value) in $values(v).into_iter().enumerate() {
                let to = if flags >> i & 1 != 0 { &mut first } else { &mut second };
                // SAFETY: handed on to the caller.
                unsafe { shared_write::<$type>(words.add(*to as usize).cast(), value) };
                *to += size_of::<$type>() as u32;
            }
            (first, second)
        }

        /// # Safety
        /// As for `shared_write`, to byte `first` of `words`.
        #[inline]
        #[track_caller]
        pub unsafe fn $one(words: *mut u8, flags: u32, v: [u32; 4], mut first: u32) -> u32 {
            for (i, value) in $values(v).into_iter().enumerate() {
                if flags >> i & 1 != 0 {
                    // SAFETY: handed on to the caller.
                    unsafe { shared_write::<$type>(words.add(first as usize).cast(), value) };
                    first += size_of::<$type>() as u32;
                }
            }
            first
        }
    )+};
}
split_stores! {
    split_store_1 store_if_1 u8, |v: [u32; 4]| v.map(|x| x as u8);
    split_store_2 store_if_2 u16, |v: [u32; 4]| v.map(|x| x as u16);
    split_store_4 store_if_4 u32, |v: [u32; 4]| v;
    split_store_8 store_if_8 U32x2, |v: [u32; 4]| [U32x2 { x: v[0], y: v[1] }, U32x2 { x: v[2], y: v[3] }];
}

macro_rules! shared_atomics {
    ($($name:ident => $join:expr;)+) => {$(
        /// # Safety
        /// `at` points to a word inside of an array that a reference of the caller's points to.
        #[inline]
        #[track_caller]
        pub unsafe fn $name(at: *mut u32, value: u32) -> u32 {
            if !touch(at, Access::Atomic) {
                return 0;
            }
            // SAFETY: the access lies in the shared memory, is aligned, and was written; one thread runs at a time.
            let (before, after) = unsafe {
                let before = at.read();
                let after = $join(before, value);
                at.write(after);
                (before, after)
            };
            if after != before {
                with(State::progress);
            }
            before
        }
    )+};
}
shared_atomics! {
    shared_fetch_add => u32::wrapping_add;
    shared_fetch_or => |before, value| before | value;
    shared_fetch_and => |before, value| before & value;
    shared_fetch_max => u32::max;
    shared_fetch_min => u32::min;
}

/// Checks the alignment of an access to global memory.
#[inline]
#[track_caller]
pub(super) fn check_global<T>(pointer: *const T) {
    let (align, excess) = (size_of::<T>(), pointer as usize % size_of::<T>());
    if excess != 0 {
        let at = Location::caller();
        match with_any(|state| state.place(state.current, at)) {
            Some(place) => stop(Fault::GlobalAlignment { place, align, excess }),
            None => panic!("access to global memory {excess} bytes behind a multiple of {align}"),
        }
    }
}

/// # Safety
/// As for the function of the same name in `global`.
#[inline]
#[track_caller]
pub unsafe fn load_v4(from: *const U32x4) -> U32x4 {
    check_global(from);
    // SAFETY: the caller promises readable bytes.
    unsafe { from.read() }
}

/// # Safety
/// As for the function of the same name in `global`.
#[inline]
#[track_caller]
pub unsafe fn load_streaming_v4(from: *const U32x4) -> U32x4 {
    // SAFETY: handed on to the caller.
    unsafe { load_v4(from) }
}

/// # Safety
/// As for the function of the same name in `global`.
#[inline]
#[track_caller]
pub unsafe fn load_nc_u32(from: *const u32) -> u32 {
    check_global(from);
    // SAFETY: the caller promises readable bytes.
    unsafe { from.read() }
}

/// # Safety
/// As for the function of the same name in `global`.
#[inline]
#[track_caller]
pub unsafe fn store_v4(to: *mut U32x4, value: U32x4) {
    check_global(to);
    // SAFETY: the caller promises writable bytes.
    unsafe { to.write(value) }
}

/// # Safety
/// As for the function of the same name in `global`.
#[inline]
#[track_caller]
pub unsafe fn store_streaming_v4(to: *mut U32x4, value: U32x4) {
    // SAFETY: handed on to the caller.
    unsafe { store_v4(to, value) }
}

/// # Safety
/// As for what it is a step of, [`HalvesDown`](crate::global::HalvesDown).
#[inline]
#[track_caller]
pub unsafe fn take_half<const STRIDE: i32>(
    x: u32,
    limit: u32,
    low: u32,
    high: u32,
    count: u32,
    end: *mut U32x2,
) -> (u32, u32, u32, u32) {
    if x < limit {
        return (x, low, high, count);
    }
    let (low, high, count) = (low << 16 | x & 0xFFFF, high << 16 | low >> 16, count + 1);
    if count % 4 == 0 {
        let to = end.wrapping_byte_sub((count / 4) as usize * STRIDE as usize);
        check_global(to);
        // SAFETY: the caller promises writable bytes.
        unsafe { to.write(U32x2::new(low, high)) };
    }
    (x >> 16, low, high, count)
}
