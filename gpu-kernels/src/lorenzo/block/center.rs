//! The means of the segments, then differences with the mean in front of each segment: one read, one write.
//!
//! Where a warp's rows are whole segments, the lanes of each add up and divide by themselves. Elsewhere:
//!
//! | phase | who | does | leaves behind |
//! |---|---|---|---|
//! | sum | every warp, row by row | adds up the segments' elements | `sums` |
//! | mean | thread `t`: segments `t`, `t + 256`, .. | sums to rounded means | the means, in `sums` too |
//! | difference | every warp, row by row | each segment's first element from the mean, all others from the one before | the output |

use super::super::packed::{Lane, broadcast, element, for_elements, keep, mask, pack, shift_in, signed_sum, sub};
use super::difference::{NO_VALUE, difference_row, differences, plain_differences};
use super::sums::{SegmentSums, mean};
use super::tile::{Ends, Place, Tile};
use super::{LINES, for_lines};
use crate::collectives::ALL_LANES;
use cuda_std::{bits::byte_permute, kernel, shared, thread, vector::U32x4, warp};
use shared_types::lorenzo::{BlockParams, CENTER_SHARED, center_launch};

/// Shared memory of one block, where warps do not have whole segments.
#[repr(C, align(16))]
struct ShortShared {
    ends: Ends,
    sums: SegmentSums,
}
const _: () = assert!(size_of::<ShortShared>() <= CENTER_SHARED.shared_bytes as usize);

/// Mean `index` of an array of means of `W` bytes.
///
/// # Safety
/// `means` holds it, and nobody else touches it.
#[inline(always)]
unsafe fn put_mean<const W: u32>(means: *mut u8, index: u64, mean: u64) {
    // SAFETY: the caller's word.
    unsafe {
        match W {
            1 => *means.add(index as usize) = mean as u8,
            2 => *means.cast::<u16>().add(index as usize) = mean as u16,
            4 => *means.cast::<u32>().add(index as usize) = mean as u32,
            _ => *means.cast::<u64>().add(index as usize) = mean,
        }
    }
}

/// The kernel for segments that are short where `SHORT`, else of whole lanes where `ALIGNED`, else of any length of more than a lane.
///
/// # Safety
/// As the entry points say.
#[inline(always)]
unsafe fn center<const W: u32, const ALIGNED: bool, const SHORT: bool>(
    input: *const U32x4,
    output: *mut U32x4,
    means: *mut u8,
    params: &BlockParams,
) {
    let s = shared::dynamic::<ShortShared>();
    let tile = Tile::<W>::own(params);
    // SAFETY: the caller's promise.
    let mut rows = unsafe { tile.load(input) };
    let mut places = [tile.first_place(params); LINES];
    for_lines!(I => if I > 0 { places[I] = places[I - 1].next(params) });
    s.sums.clear::<W>(params);
    // A barrier between the zeros and the sums, too.
    let before = Tile::<W>::before(&rows, &s.ends);
    if ALIGNED || SHORT {
        for_lines!(I => s.sums.add_row::<W, SHORT>(rows[I], places[I], params));
    } else {
        s.sums.add_rows::<W>(&rows, &places, params);
    }
    thread::sync_threads(); // sums

    let first_segment = u64::from(thread::block_idx_x()) * u64::from(params.tile_segments);
    let rest = params.segments - first_segment;
    let segments = if rest < u64::from(params.tile_segments) { rest as u32 } else { params.tile_segments };
    let mut segment = thread::thread_idx_x();
    while segment < segments {
        let index = first_segment + u64::from(segment);
        let mean = s.sums.to_mean::<W>(segment, index == params.segments - 1, params);
        // SAFETY: the tile's segments have means.
        unsafe { put_mean::<W>(means, index, mean) };
        segment += thread::block_dim_x();
    }
    thread::sync_threads(); // means

    let at_start = |place: Place| {
        if SHORT {
            return s.sums.short_means::<W>(place, params);
        }
        broadcast::<W>(s.sums.mean::<W>(if ALIGNED { place.segment } else { place.next_segment() }, params))
    };
    // The element in front of the warp's rows, as its own warp sees it after the first time.
    let first = places[0];
    let reference = if first.position == 1 { s.sums.mean::<W>(first.segment, params) } else { before[1] };
    differences::<W, ALIGNED>(&mut rows, &places, before[0], Some(at_start));
    if params.order == 2 {
        plain_differences::<W, ALIGNED>(&mut rows, &places, before[0].wrapping_sub(reference));
    }
    // SAFETY: as above.
    unsafe { tile.store(output, &rows) };
}

/// The mean of a segment of `length` elements, a power of two, that add up to `sum`: rounded, and away from zero in the middle.
#[inline(always)]
fn mean_of_power<const W: u32>(sum: u64, length: u32) -> u64 {
    let half = u64::from(length) / 2;
    if W <= 2 {
        // At most 1024 * 2^15 in 32 bits.
        let (sum, half) = (sum as u32 as i32, half as u32);
        let quotient = (sum.unsigned_abs() + half) >> length.trailing_zeros();
        return if sum < 0 { 0u32.wrapping_sub(quotient) } else { quotient }.into();
    }
    let rounded = if (sum as i64) < 0 { sum.wrapping_sub(half) } else { sum.wrapping_add(half) } as i64;
    let quotient = rounded.unsigned_abs() >> length.trailing_zeros();
    if rounded < 0 { 0u64.wrapping_sub(quotient) } else { quotient }
}

/// Replaces each row's `sums` by those of each aligned group of `group` lanes, a power of two; modulo `2^32` where `NARROW`. All lanes of a
/// warp call this. All rows take a step before any takes the next: none waits for itself alone.
#[inline(always)]
fn group_sums<const NARROW: bool>(sums: &mut [u64; LINES], group: u32) {
    if NARROW && group == 32 {
        for_lines!(I => sums[I] = warp::warp_reduce_add(ALL_LANES, sums[I] as u32).into());
        return;
    }
    let mut distance = 1;
    while distance < group {
        for_lines!(I => sums[I] = sums[I].wrapping_add(if NARROW {
            warp::warp_shuffle_xor(ALL_LANES, sums[I] as u32, distance, 32).0.into()
        } else {
            warp::warp_shuffle_xor(ALL_LANES, sums[I], distance, 32).0
        }));
        distance *= 2;
    }
}

/// The kernel for segments of a power of two of elements of which a warp's rows are whole ones.
///
/// # Safety
/// As the entry points say.
#[inline(always)]
unsafe fn center_whole<const W: u32>(input: *const U32x4, output: *mut U32x4, means: *mut u8, params: &BlockParams) {
    let tile = Tile::<W>::own(params);
    // SAFETY: the caller's promise.
    let mut rows = unsafe { tile.load(input) };
    let first_segment = u64::from(thread::block_idx_x()) * u64::from(params.tile_segments);
    let long = params.length > Tile::<W>::ROW;
    let group = if long { 32 } else { params.length / Tile::<W>::LANE };
    let mut sums = [0u64; LINES];
    for_lines!(I => sums[I] = signed_sum::<W>(rows[I]));
    if W <= 2 {
        group_sums::<true>(&mut sums, group);
    } else {
        group_sums::<false>(&mut sums, group);
    }
    if long {
        let (a, b) = (sums[0].wrapping_add(sums[1]), sums[2].wrapping_add(sums[3]));
        let two = params.length == 2 * Tile::<W>::ROW;
        let all = a.wrapping_add(b);
        let (a, b) = if two { (a, b) } else { (all, all) };
        sums = [a, a, b, b];
    }
    let (mut carry, mut carry2) = (0, 0);
    for_lines!(I => {
        let at = tile.at + I as u32 * Tile::<W>::ROW;
        let segment = first_segment + u64::from(params.position.divide(at));
        let place = Place { position: at & (params.length - 1), ..Place::default() };
        let last = segment >= params.segments - 1;
        let mean = if last { mean::<W>(sums[I], true, params) } else { mean_of_power::<W>(sums[I], params.length) };
        if place.position == 0 && tile.have(I) > 0 {
            // SAFETY: the tile's segments have means.
            unsafe { put_mean::<W>(means, segment, mean) };
        }
        let at_start = Some(|_: Place| broadcast::<W>(mean));
        rows[I] = difference_row::<W, true>(rows[I], place, &mut carry, &at_start);
        if params.order == 2 {
            rows[I] = difference_row::<W, true>(rows[I], place, &mut carry2, &NO_VALUE);
        }
    });
    // SAFETY: as above.
    unsafe { tile.store(output, &rows) };
}

/// The kernel for segments of a power of two of elements that are shorter than a lane's 16 bytes.
///
/// # Safety
/// As the entry points say.
#[inline(always)]
unsafe fn center_small<const W: u32>(input: *const U32x4, output: *mut U32x4, means: *mut u8, params: &BlockParams) {
    let tile = Tile::<W>::own(params);
    // SAFETY: the caller's promise.
    let mut rows = unsafe { tile.load(input) };
    let first_segment = u64::from(thread::block_idx_x()) * u64::from(params.tile_segments);
    for_lines!(I => {
        let (at, have) = (tile.at + I as u32 * Tile::<W>::ROW, tile.have(I));
        // Means beside each other, and spread over their elements.
        let (means_of, spread) = match params.length {
            1 => small_means::<W, 1>(rows[I], tile, at, params),
            2 if W < 8 => small_means::<W, 2>(rows[I], tile, at, params),
            4 if W < 4 => small_means::<W, 4>(rows[I], tile, at, params),
            _ => small_means::<W, 8>(rows[I], tile, at, params),
        };
        if have > 0 {
            let segment = first_segment + u64::from(params.position.divide(at));
            let bytes = (have + params.length - 1 >> params.length.trailing_zeros()) * W;
            // SAFETY: the lane's segments have means, and a lane's means begin at a multiple of their bytes.
            unsafe { store_means::<W>(means.add((segment * u64::from(W)) as usize), means_of, bytes, params.length) };
        }
        let reference = shift_in::<W>(rows[I], 0);
        let starts = mask::<W>(params.pattern);
        let mix = |i: usize| reference[i] & !starts[i] | spread[i] & starts[i];
        let mut v = sub::<W>(rows[I], [mix(0), mix(1), mix(2), mix(3)]);
        if params.order == 2 {
            v = sub::<W>(v, keep::<W>(shift_in::<W>(v, 0), !params.pattern));
        }
        rows[I] = v;
    });
    // SAFETY: as above.
    unsafe { tile.store(output, &rows) };
}

/// The means of the segments of `B` elements in a lane, packed from the lowest bits on, and each repeated for all its elements.
#[inline(always)]
fn small_means<const W: u32, const B: usize>(v: Lane, tile: Tile<W>, at: u32, params: &BlockParams) -> (Lane, Lane) {
    let (mut packed, mut spread) = ([0; 16], [0; 16]);
    let signed = |k: usize| match W {
        1 => element::<W>(v, k) as i8 as i64 as u64,
        2 => element::<W>(v, k) as i16 as i64 as u64,
        4 => element::<W>(v, k) as i32 as i64 as u64,
        _ => element::<W>(v, k),
    };
    let lane = (16 / W) as usize;
    let mut sum = 0u64;
    for_elements!(K => if K < lane {
        sum = sum.wrapping_add(signed(K));
        if (K + 1) % B == 0 {
            // Only the array's very last segment can be shorter.
            let last = at + K as u32 + 1 > tile.live;
            packed[K / B] = if B == 1 {
                element::<W>(v, K)
            } else if last {
                mean::<W>(sum, true, params)
            } else {
                mean_of_power::<W>(sum, B as u32)
            };
            sum = 0;
        }
    });
    for_elements!(K => if K < lane {
        spread[K] = packed[K / B];
    });
    (pack::<W>(&packed), pack::<W>(&spread))
}

/// Writes the first `bytes` of `v`, as one access where the lane's means are all there: 16 over the segments' length.
///
/// # Safety
/// `to` is writable for `bytes`, and aligned to the whole lane's means.
#[inline(always)]
unsafe fn store_means<const W: u32>(to: *mut u8, v: Lane, bytes: u32, length: u32) {
    // SAFETY: the caller's word.
    unsafe {
        if bytes == 16 {
            *to.cast::<U32x4>() = U32x4 { x: v[0], y: v[1], z: v[2], w: v[3] };
        } else if bytes * length == 16 && bytes == 8 {
            *to.cast::<[u32; 2]>() = [v[0], v[1]];
        } else if bytes * length == 16 && bytes == 4 {
            *to.cast::<u32>() = v[0];
        } else {
            let mut v = v;
            let mut done = 0;
            while done < bytes {
                *to.add(done as usize) = v[0] as u8;
                let down = |own: u32, above: u32| byte_permute(own, above, 0x4321);
                v = [down(v[0], v[1]), down(v[1], v[2]), down(v[2], v[3]), v[3] >> 8];
                done += 1;
            }
        }
    }
}

/// The entry points, per element size and kind of segments.
macro_rules! entry_points {
    ($($name:ident, $kernel:expr, $launch:expr;)*) => {$(
        /// Means of segments, and differences inside segments from them, once or twice.
        ///
        /// # Safety
        /// Launched as it says, one block per tile. `input`, `output` and `means` are 16-aligned; they hold `params.elements` elements and
        /// `params.segments` means; nothing else touches the outputs until the launch is over.
        #[kernel(launch = $launch)]
        pub unsafe fn $name(input: *const U32x4, output: *mut U32x4, means: *mut U32x4, params: BlockParams) {
            // SAFETY: the caller's promise.
            unsafe { $kernel(input, output, means.cast(), &params) }
        }
    )*};
}

entry_points! {
    lorenzo_center_w1_whole, center_whole::<1>, center_launch(1);
    lorenzo_center_w2_whole, center_whole::<2>, center_launch(2);
    lorenzo_center_w4_whole, center_whole::<4>, center_launch(4);
    lorenzo_center_w8_whole, center_whole::<8>, center_launch(8);
    lorenzo_center_w1_aligned, center::<1, true, false>, CENTER_SHARED;
    lorenzo_center_w2_aligned, center::<2, true, false>, CENTER_SHARED;
    lorenzo_center_w4_aligned, center::<4, true, false>, CENTER_SHARED;
    lorenzo_center_w8_aligned, center::<8, true, false>, CENTER_SHARED;
    lorenzo_center_w1_any, center::<1, false, false>, CENTER_SHARED;
    lorenzo_center_w2_any, center::<2, false, false>, CENTER_SHARED;
    lorenzo_center_w4_any, center::<4, false, false>, CENTER_SHARED;
    lorenzo_center_w8_any, center::<8, false, false>, CENTER_SHARED;
    lorenzo_center_w1_short, center::<1, false, true>, CENTER_SHARED;
    lorenzo_center_w2_short, center::<2, false, true>, CENTER_SHARED;
    lorenzo_center_w4_short, center::<4, false, true>, CENTER_SHARED;
    lorenzo_center_w1_small, center_small::<1>, center_launch(1);
    lorenzo_center_w2_small, center_small::<2>, center_launch(2);
    lorenzo_center_w4_small, center_small::<4>, center_launch(4);
    lorenzo_center_w8_small, center_small::<8>, center_launch(8);
}
