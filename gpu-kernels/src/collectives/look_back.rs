//! Exclusive sums over the blocks of one launch, without a second launch (decoupled look-back).
//!
//! Each block owns one 64-bit word in global memory, zero before the launch: two flag bits say whether the lower half
//! is nothing yet, the block's own value, or the sum up to and with the block. Flag and value share a word, so relaxed
//! accesses are enough.
//!
//! A block waits for the blocks before it. Hardware starts the blocks of a one-dimensional grid in index order, so
//! these are running or done.
//!
//! Method: D. Merrill, M. Garland, "Single-pass Parallel Prefix Scan with Decoupled Look-back", NVIDIA, 2016.

use super::ALL_LANES;
use cuda_std::{
    atomic::{atomic_load_relaxed_64_device, atomic_store_relaxed_64_device},
    thread, warp,
};

/// The block's own value stands in the lower half.
const OWN: u64 = 1 << 62;
/// The sum of all blocks up to this one stands in the lower half.
const INCLUSIVE: u64 = 2 << 62;

/// Makes `own`, the value of block `block`, known to the blocks after it. One thread of the block calls this.
///
/// # Safety
/// `words` has a word for every block of the launch, all zero before it.
#[inline(always)]
pub unsafe fn publish(words: *mut u64, block: u32, own: u32) {
    let flag = if block == 0 { INCLUSIVE } else { OWN };
    // SAFETY: the caller vouches for the word.
    unsafe { atomic_store_relaxed_64_device(words.add(block as usize), flag | u64::from(own)) }
}

/// The sum of the values of all blocks before `block`; the inclusive sum is made known to the blocks after it.
///
/// All lanes of one warp call this, after [`publish`] in the same block; all hold the result.
///
/// # Safety
/// As for [`publish`].
#[inline(always)]
pub unsafe fn exclusive_sum(words: *mut u64, block: u32, own: u32) -> u32 {
    if block == 0 {
        return 0;
    }
    let lane = warp::lane_id();
    let mut sum = 0;
    // The lanes look at the 32 blocks before `end`, lane 0 at the nearest.
    let mut end = block;
    loop {
        // Before the first block everything is summed up: to nothing.
        let word = if lane < end {
            // SAFETY: `end - 1 - lane` is below `block`.
            unsafe { atomic_load_relaxed_64_device(words.add((end - 1 - lane) as usize)) }
        } else {
            INCLUSIVE
        };
        let inclusive = warp::warp_vote_ballot(ALL_LANES, word & INCLUSIVE != 0);
        let known = warp::warp_vote_ballot(ALL_LANES, word >> 62 != 0);
        // Only the lanes up to the nearest inclusive sum matter.
        let nearest = inclusive & inclusive.wrapping_neg();
        let wanted = nearest | nearest.wrapping_sub(1);
        if known & wanted != wanted {
            thread::spin_wait();
            continue;
        }
        let value = if wanted >> lane & 1 != 0 { word as u32 } else { 0 };
        sum += warp::warp_reduce_add(ALL_LANES, value);
        if inclusive != 0 {
            break;
        }
        end -= 32;
    }
    if lane == 0 {
        // SAFETY: as above.
        unsafe { atomic_store_relaxed_64_device(words.add(block as usize), INCLUSIVE | u64::from(sum + own)) }
    }
    sum
}

/// The sum of the values of all blocks up to `block`, after the launch that computed it.
///
/// # Safety
/// `words[block]` was written by [`publish`] and [`exclusive_sum`] of an earlier launch.
#[inline(always)]
pub unsafe fn inclusive_sum(words: *const u64, block: u32) -> u32 {
    // SAFETY: the caller vouches for the word.
    unsafe { atomic_load_relaxed_64_device(words.add(block as usize)) as u32 }
}
