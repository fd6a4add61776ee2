//! What kernels share. Each function says who calls it, which lanes hold the result, and when its scratch is free again.

pub mod copy_out;
pub mod look_back;

use cuda_std::warp;

/// The mask of a whole warp.
pub const ALL_LANES: u32 = u32::MAX;

/// The inclusive sum over the lanes of a warp.
///
/// Every lane of the warp calls this; every lane holds the sum of the values of the lanes up to its own.
#[inline(always)]
pub fn warp_inclusive_sum(value: u32) -> u32 {
    let lane = warp::lane_id();
    let mut sum = value;
    let mut distance = 1;
    while distance < 32 {
        let (below, _) = warp::warp_shuffle_up(ALL_LANES, sum, distance, 32);
        if lane >= distance {
            sum += below;
        }
        distance *= 2;
    }
    sum
}

/// The largest value of each aligned group of `lanes` lanes (8, 16 or 32).
///
/// Every lane of the warp calls this; every lane holds the result of its group.
#[inline(always)]
pub fn group_max(value: u32, lanes: u32) -> u32 {
    if lanes == 32 {
        return warp::warp_reduce_max(ALL_LANES, value);
    }
    let mut max = value;
    let mut distance = lanes / 2;
    while distance > 0 {
        let (other, _) = warp::warp_shuffle_xor(ALL_LANES, max, distance, 32);
        max = max.max(other);
        distance /= 2;
    }
    max
}

/// The bits set in any lane of each aligned group of `lanes` lanes (8, 16 or 32).
///
/// Every lane of the warp calls this; every lane holds the result of its group.
#[inline(always)]
pub fn group_or(value: u32, lanes: u32) -> u32 {
    if lanes == 32 {
        return warp::warp_reduce_or(ALL_LANES, value);
    }
    let mut any = value;
    let mut distance = lanes / 2;
    while distance > 0 {
        any |= warp::warp_shuffle_xor(ALL_LANES, any, distance, 32).0;
        distance /= 2;
    }
    any
}
