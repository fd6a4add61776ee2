//! What the 32 lanes of a warp do together.
//!
//! A *mask* names the lanes that take part, bit `i` for lane `i`. All of them, and no others, must call the same
//! function with the same mask; the emulator checks it. In the last warp of a block whose size is no multiple of
//! 32, the lanes that do not exist must not be named.
//!
//! Collectives other than [`sync_warp`] do not order memory.

use crate::imp;

/// Lanes of a warp.
pub const LANES: u32 = 32;

/// The mask that names all lanes of a full warp.
pub const FULL_MASK: u32 = u32::MAX;

/// The thread's place in its warp, 0 to 31.
#[inline(always)]
pub fn lane_id() -> u32 {
    imp::lane_id()
}

/// The lanes that run together with this one right now.
///
/// On a device this depends on how the compiler and the scheduler laid out the branches, so nothing that must be
/// right may hang on it: pass masks down instead. The emulator gathers the lanes that wait at the same call.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub fn activemask() -> u32 {
    imp::activemask()
}

/// Waits for the lanes of `mask`; what they wrote before is visible to all of them after.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub fn sync_warp(mask: u32) {
    imp::sync_warp(mask)
}

/// How a shuffle finds the lane that it reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ShuffleMode {
    /// The lane this many below.
    Up,
    /// The lane this many above.
    Down,
    /// The lane whose number differs in these bits.
    Xor,
    /// The lane of this number in the segment.
    Idx,
}

/// A type that a shuffle can move: `u32`, `i32`, `f32`, `u64` or `i64`.
///
/// 64-bit values take two instructions.
pub trait ShuffleValue: Copy + sealed::Bits {}

mod sealed {
    /// The value as bits.
    pub trait Bits {
        /// Whether it takes 64 bits, not 32.
        const WIDE: bool;
        /// The bits, in the low half if 32.
        fn to_bits(self) -> u64;
        /// The value of these bits.
        fn from_bits(bits: u64) -> Self;
    }
}

macro_rules! shuffle_value {
    ($($type:ty, $wide:literal, $value:ident => $to:expr, $bits:ident => $from:expr;)+) => {$(
        impl sealed::Bits for $type {
            const WIDE: bool = $wide;
            #[inline(always)]
            fn to_bits(self) -> u64 {
                let $value = self;
                $to
            }
            #[inline(always)]
            fn from_bits($bits: u64) -> Self {
                $from
            }
        }
        impl ShuffleValue for $type {}
    )+};
}
shuffle_value! {
    u32, false, v => v as u64, b => b as u32;
    i32, false, v => v as u32 as u64, b => b as i32;
    f32, false, v => f32::to_bits(v) as u64, b => f32::from_bits(b as u32);
    u64, true, v => v, b => b;
    i64, true, v => v as u64, b => b as i64;
}

#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
fn shuffle<T: ShuffleValue>(mode: ShuffleMode, mask: u32, value: T, lanes: u32, width: u32) -> (T, bool) {
    // As CUDA's functions encode it: the bits of a lane number that stay fixed, and the bound within the segment.
    let clamp = (LANES.wrapping_sub(width)) << 8 | if matches!(mode, ShuffleMode::Up) { 0 } else { 31 };
    if T::WIDE {
        let (bits, in_bounds) = imp::shuffle_wide(mode, mask, value.to_bits(), lanes, clamp);
        (T::from_bits(bits), in_bounds)
    } else {
        let (bits, in_bounds) = imp::shuffle(mode, mask, value.to_bits() as u32, lanes, clamp);
        (T::from_bits(bits as u64), in_bounds)
    }
}

/// The `value` of the lane `delta` above this one, and whether there is one in the segment.
///
/// The warp is cut into segments of `width` lanes, a power of two up to 32. Where the segment ends before that
/// lane, the result is the lane's own value and `false`. Only the low five bits of `delta` count.
///
/// The lane that is read must take part, or the value is undefined (a fault in the emulator).
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub fn warp_shuffle_down<T: ShuffleValue>(mask: u32, value: T, delta: u32, width: u32) -> (T, bool) {
    shuffle(ShuffleMode::Down, mask, value, delta, width)
}

/// The `value` of the lane `delta` below this one, and whether there is one in the segment.
///
/// Otherwise as [`warp_shuffle_down`].
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub fn warp_shuffle_up<T: ShuffleValue>(mask: u32, value: T, delta: u32, width: u32) -> (T, bool) {
    shuffle(ShuffleMode::Up, mask, value, delta, width)
}

/// The `value` of the lane whose number is this one's xor `lane_mask`, and whether that lane is not behind the segment.
///
/// A lane of an *earlier* segment is read; otherwise as [`warp_shuffle_down`].
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub fn warp_shuffle_xor<T: ShuffleValue>(mask: u32, value: T, lane_mask: u32, width: u32) -> (T, bool) {
    shuffle(ShuffleMode::Xor, mask, value, lane_mask, width)
}

/// The `value` of lane `index` modulo `width` of this lane's segment, and `true`.
///
/// Otherwise as [`warp_shuffle_down`].
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub fn warp_shuffle_idx<T: ShuffleValue>(mask: u32, value: T, index: u32, width: u32) -> (T, bool) {
    shuffle(ShuffleMode::Idx, mask, value, index, width)
}

/// The lanes of `mask` whose `predicate` holds, as a mask.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub fn warp_vote_ballot(mask: u32, predicate: bool) -> u32 {
    imp::vote_ballot(mask, predicate)
}

/// Whether the `predicate` of any lane of `mask` holds.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub fn warp_vote_any(mask: u32, predicate: bool) -> bool {
    imp::vote_any(mask, predicate)
}

/// Whether the `predicate` of every lane of `mask` holds.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub fn warp_vote_all(mask: u32, predicate: bool) -> bool {
    imp::vote_all(mask, predicate)
}

/// The lanes of `mask` whose `value` equals this lane's, as a mask.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub fn warp_match_any_32(mask: u32, value: u32) -> u32 {
    imp::match_any_32(mask, value)
}

/// The lanes of `mask` whose `value` equals this lane's, as a mask.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub fn warp_match_any_64(mask: u32, value: u64) -> u32 {
    imp::match_any_64(mask, value)
}

/// The sum of the `value`s of the lanes of `mask`, modulo 2^32 (`redux.sync`; sm_80 and later).
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub fn warp_reduce_add(mask: u32, value: u32) -> u32 {
    imp::reduce_add(mask, value)
}

/// The smallest `value` of the lanes of `mask` (`redux.sync`; sm_80 and later).
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub fn warp_reduce_min(mask: u32, value: u32) -> u32 {
    imp::reduce_min(mask, value)
}

/// The largest `value` of the lanes of `mask` (`redux.sync`; sm_80 and later).
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub fn warp_reduce_max(mask: u32, value: u32) -> u32 {
    imp::reduce_max(mask, value)
}

/// The bits set in the `value` of every lane of `mask` (`redux.sync`; sm_80 and later).
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub fn warp_reduce_and(mask: u32, value: u32) -> u32 {
    imp::reduce_and(mask, value)
}

/// The bits set in the `value` of any lane of `mask` (`redux.sync`; sm_80 and later).
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub fn warp_reduce_or(mask: u32, value: u32) -> u32 {
    imp::reduce_or(mask, value)
}

/// The bits set in the `value`s of an odd number of lanes of `mask` (`redux.sync`; sm_80 and later).
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub fn warp_reduce_xor(mask: u32, value: u32) -> u32 {
    imp::reduce_xor(mask, value)
}
