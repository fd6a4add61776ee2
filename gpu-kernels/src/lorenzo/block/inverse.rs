//! Sums, once or twice, and the means added: one read, one write.

use super::super::packed::{Lane, add, and, behind, broadcast, keep, lane_of, last, prefix_sums, sum, sums_after};
use super::scan::{Carry, Exchange, before_in_whole_rows, scan_rows};
use super::sums::SegmentSums;
use super::tile::{Tile, get};
use super::{LINES, for_lines};
use crate::collectives::ALL_LANES;
use cuda_std::{
    bits::{byte_permute, funnel_shift_left_wrap, opaque},
    global, kernel, shared, thread,
    vector::U32x4,
    warp,
};
use shared_types::lorenzo::{BlockParams, INVERSE_SHORT, INVERSE_SMALL, inverse_launch, inverse_whole_launch};

/// Shared memory of one block, where a lane may need several means.
#[repr(C, align(16))]
struct ShortShared {
    exchange: Exchange,
    means: SegmentSums,
}
const _: () = assert!(size_of::<ShortShared>() <= INVERSE_SHORT.shared_bytes as usize);
const _: () = assert!(size_of::<ShortShared>() <= inverse_launch(4, false, true).shared_bytes as usize);
const _: () = assert!(size_of::<Exchange>() <= inverse_launch(4, true, true).shared_bytes as usize);

/// The kernel for segments of whole lanes where `ALIGNED`, else of any length of more than a lane; `means` is looked at where `CENTERED`, and
/// where `ALIGNED` is null where there are none.
///
/// # Safety
/// As the entry points say.
#[inline(always)]
unsafe fn inverse<const W: u32, const ALIGNED: bool, const CENTERED: bool>(
    input: *const U32x4,
    means: *const U32x4,
    output: *mut U32x4,
    params: &BlockParams,
) {
    let exchange = shared::dynamic::<Exchange>();
    let tile = Tile::<W>::own(params);
    // SAFETY: the caller's promise.
    let mut rows = unsafe { tile.load(input) };
    let mut places = [tile.first_place(params); LINES];
    for_lines!(I => if I > 0 { places[I] = places[I - 1].next(params) });
    let first = u64::from(thread::block_idx_x()) * u64::from(params.tile_segments);
    // The lane's means, asked for early; all of the tile's in shared memory, where a lane may need several.
    let mut own = [0; LINES];
    if CENTERED && ALIGNED && !means.is_null() {
        for_lines!(I => if tile.have(I) > 0 {
            // SAFETY: segments of elements that are there have means.
            own[I] = unsafe { get::<W>(means, (first + u64::from(places[I].segment)) as usize) };
        });
    }
    if CENTERED && !ALIGNED {
        // SAFETY: the caller's promise.
        unsafe { shared::dynamic::<ShortShared>().means.load_means::<W>(means, first, params) };
        thread::sync_threads(); // means
    }
    let mean = |segment: u32| shared::dynamic::<ShortShared>().means.mean::<W>(segment, params);
    let mut pass = 0;
    while pass < params.order {
        let last = pass + 1 == params.order;
        // Of each row: what comes into the lane from the warp's own rows, whether what comes from the warps before counts, too, and the
        // sum of what stands before the lane's start.
        let (mut incoming, mut open, mut front) = ([0; LINES], [false; LINES], [0; LINES]);
        let mut carry = Carry::default();
        let (mut sums, mut begins) = ([0; LINES], [false; LINES]);
        for_lines!(I => {
            // Masks made of the start are cheaper to make again than to keep for four rows.
            let start = opaque(places[I].start(params));
            begins[I] = if ALIGNED { places[I].position == 0 } else { start < Tile::<W>::LANE };
            if !ALIGNED && begins[I] {
                front[I] = sum::<W>(and(rows[I], behind::<W>(start).map(|mask| !mask)));
            }
            sums[I] = sum::<W>(rows[I]).wrapping_sub(front[I]);
        });
        let scans = if W == 8 {
            scan_rows::<false>(&sums, &begins, params.reach)
        } else {
            scan_rows::<true>(&sums, &begins, params.reach)
        };
        for_lines!(I => (incoming[I], open[I], carry) = scans[I].chain(carry));
        let before = if params.independent != 0 { 0 } else { exchange.incoming(pass, carry).sum };
        for_lines!(I => {
            let mut from = incoming[I].wrapping_add(if open[I] { before } else { 0 });
            if ALIGNED {
                if places[I].position == 0 {
                    from = 0;
                }
                if CENTERED && last {
                    from = from.wrapping_add(own[I]);
                }
                rows[I] = sums_after::<W>(rows[I], from);
            } else {
                let next = places[I].next_segment();
                let mut at_start = 0;
                if CENTERED && last {
                    from = from.wrapping_add(mean(next.wrapping_sub(u32::from(places[I].position != 0))));
                    at_start = mean(next);
                }
                rows[I] = sums_after::<W>(rows[I], from);
                // From the lane's start on, if there is one, from its mean on.
                let start = opaque(places[I].start(params));
                if start < Tile::<W>::LANE {
                    let other = at_start.wrapping_sub(from.wrapping_add(front[I]));
                    rows[I] = add::<W>(rows[I], and(broadcast::<W>(other), behind::<W>(start)));
                }
            }
        });
        pass += 1;
    }
    // SAFETY: as above.
    unsafe { tile.store(output, &rows) };
}

/// The kernel for segments of a power of two of elements of which a warp's rows are whole ones; `means` is null where there are none.
///
/// # Safety
/// As the entry points say.
#[inline(always)]
unsafe fn inverse_whole<const W: u32>(input: *const U32x4, means: *const U32x4, output: *mut U32x4, params: &BlockParams) {
    let tile = Tile::<W>::own(params);
    // SAFETY: the caller's promise.
    let mut rows = unsafe { tile.load(input) };
    // The lane's means, asked for early.
    let mut own = [0; LINES];
    if !means.is_null() {
        let first = u64::from(thread::block_idx_x()) * u64::from(params.tile_segments);
        for_lines!(I => if tile.have(I) > 0 {
            let segment = params.position.divide(tile.at + I as u32 * Tile::<W>::ROW);
            // SAFETY: segments of elements that are there have means.
            own[I] = unsafe { get::<W>(means, (first + u64::from(segment)) as usize) };
        });
    }
    let mut pass = 0;
    while pass < params.order {
        let last = pass + 1 == params.order;
        let before = before_in_whole_rows::<W>(&rows, params.length);
        for_lines!(I => rows[I] = sums_after::<W>(rows[I], before[I].wrapping_add(if last { own[I] } else { 0 })));
        pass += 1;
    }
    // SAFETY: as above.
    unsafe { tile.store(output, &rows) };
}

/// The kernel for segments shorter than a lane's 16 bytes, of no power of two of elements; `means` is null where there are none.
///
/// # Safety
/// As the entry points say.
#[inline(always)]
unsafe fn inverse_short<const W: u32>(input: *const U32x4, means: *const U32x4, output: *mut U32x4, params: &BlockParams) {
    let s = shared::dynamic::<ShortShared>();
    let tile = Tile::<W>::own(params);
    // SAFETY: the caller's promise.
    let mut rows = unsafe { tile.load(input) };
    let mut places = [tile.first_place(params); LINES];
    for_lines!(I => if I > 0 { places[I] = places[I - 1].next(params) });
    let first = u64::from(thread::block_idx_x()) * u64::from(params.tile_segments);
    if !means.is_null() {
        // SAFETY: the caller's promise.
        unsafe { s.means.load_means::<W>(means, first, params) };
    }
    let mut pass = 0;
    while pass < params.order {
        for_lines!(I => rows[I] = prefix_sums::<W>(rows[I], places[I].starts));
        // A segment begins in every lane, so that nothing comes from farther than the lane below.
        let mut carry = s.exchange.last_of_warp_below(pass, last::<W>(rows[LINES - 1]));
        for_lines!(I => {
            let own = last::<W>(rows[I]) as u32;
            let rotated = warp::warp_shuffle_idx(ALL_LANES, own, warp::lane_id().wrapping_sub(1) % 32, 32).0.into();
            let incoming = if warp::lane_id() == 0 { carry } else { rotated };
            carry = rotated;
            let starts = places[I].starts;
            let below = (starts & starts.wrapping_neg()).wrapping_sub(1);
            rows[I] = add::<W>(rows[I], keep::<W>(broadcast::<W>(incoming), below));
        });
        pass += 1;
    }
    if !means.is_null() {
        for_lines!(I => rows[I] = add::<W>(rows[I], s.means.short_means::<W>(places[I], params)));
    }
    // SAFETY: as above.
    unsafe { tile.store(output, &rows) };
}

/// The kernel for segments of a power of two of elements that are shorter than a lane's 16 bytes.
///
/// # Safety
/// As the entry points say.
#[inline(always)]
unsafe fn inverse_small<const W: u32>(input: *const U32x4, means: *const U32x4, output: *mut U32x4, params: &BlockParams) {
    let tile = Tile::<W>::own(params);
    // SAFETY: the caller's promise.
    let mut rows = unsafe { tile.load(input) };
    let mut own = [[0; 4]; LINES];
    if !means.is_null() {
        let first = u64::from(thread::block_idx_x()) * u64::from(params.tile_segments);
        for_lines!(I => {
            let segment = first + u64::from(params.position.divide(tile.at + I as u32 * Tile::<W>::ROW));
            let (have, length) = (tile.have(I), params.length);
            // SAFETY: the segments of elements that are there have means; a lane's whole segments' stand beside each other, from a
            // multiple of their size on.
            unsafe {
                let from = means.cast::<u8>().add((segment * u64::from(W)) as usize);
                if have == Tile::<W>::LANE {
                    own[I] = match length {
                        1 => lane_of(global::load_v4(from.cast())),
                        2 => {
                            let pair = *from.cast::<u64>();
                            [pair as u32, (pair >> 32) as u32, 0, 0]
                        }
                        4 => [*from.cast::<u32>(), 0, 0, 0],
                        _ => [u32::from(*from.cast::<u16>()), 0, 0, 0],
                    };
                } else {
                    // The array's last ones, byte by byte from behind.
                    let mut left = params.position.divide(have + length - 1) * W;
                    while left > 0 {
                        left -= 1;
                        let v = own[I];
                        let up = |below: u32, own: u32| funnel_shift_left_wrap(below, own, 8);
                        let byte = u32::from(*from.add(left as usize));
                        own[I] = [v[0] << 8 | byte, up(v[0], v[1]), up(v[1], v[2]), up(v[2], v[3])];
                    }
                }
            }
        });
    }
    for_lines!(I => {
        let mut v = prefix_sums::<W>(rows[I], params.pattern);
        if params.order == 2 {
            v = prefix_sums::<W>(v, params.pattern);
        }
        rows[I] = add::<W>(v, spread::<W>(own[I], params.length));
    });
    // SAFETY: as above.
    unsafe { tile.store(output, &rows) };
}

/// For each element of a lane the mean of its segment of `length` elements, given the lane's means one after another.
#[inline(always)]
fn spread<const W: u32>(means: Lane, length: u32) -> Lane {
    let (a, b) = (means[0], means[1]);
    match length {
        1 => means,
        2 => match W {
            1 => {
                [byte_permute(a, 0, 0x1100), byte_permute(a, 0, 0x3322), byte_permute(b, 0, 0x1100), byte_permute(b, 0, 0x3322)]
            }
            2 => {
                [byte_permute(a, 0, 0x1010), byte_permute(a, 0, 0x3232), byte_permute(b, 0, 0x1010), byte_permute(b, 0, 0x3232)]
            }
            _ => [a, a, b, b],
        },
        4 if W == 1 => {
            [byte_permute(a, 0, 0x0000), byte_permute(a, 0, 0x1111), byte_permute(a, 0, 0x2222), byte_permute(a, 0, 0x3333)]
        }
        4 => {
            let (x, y) = (byte_permute(a, 0, 0x1010), byte_permute(a, 0, 0x3232));
            [x, x, y, y]
        }
        _ => {
            let (x, y) = (byte_permute(a, 0, 0x0000), byte_permute(a, 0, 0x1111));
            [x, x, y, y]
        }
    }
}

/// The entry points, per element size and kind of segments.
macro_rules! entry_points {
    ($($name:ident, $kernel:expr, $launch:expr;)*) => {$(
        /// Sums inside segments, once or twice, and the segment's mean added to each where there are means.
        ///
        /// # Safety
        /// Launched as it says, one block per tile. `input` and `output` are 16-aligned and hold `params.elements` elements; nothing else
        /// touches `output` until the launch is over. `means` is null, or 16-aligned and holds `params.segments`.
        #[kernel(launch = $launch)]
        pub unsafe fn $name(input: *const U32x4, means: *const U32x4, output: *mut U32x4, params: BlockParams) {
            // SAFETY: the caller's promise.
            unsafe { $kernel(input, means, output, &params) }
        }
    )*};
}

entry_points! {
    lorenzo_inverse_w1_whole, inverse_whole::<1>, inverse_whole_launch(1);
    lorenzo_inverse_w2_whole, inverse_whole::<2>, inverse_whole_launch(2);
    lorenzo_inverse_w4_whole, inverse_whole::<4>, inverse_whole_launch(4);
    lorenzo_inverse_w8_whole, inverse_whole::<8>, inverse_whole_launch(8);
    lorenzo_inverse_w1_aligned, inverse::<1, true, true>, inverse_launch(1, true, true);
    lorenzo_inverse_w2_aligned, inverse::<2, true, true>, inverse_launch(2, true, true);
    lorenzo_inverse_w4_aligned, inverse::<4, true, true>, inverse_launch(4, true, true);
    lorenzo_inverse_w8_aligned, inverse::<8, true, true>, inverse_launch(8, true, true);
    lorenzo_inverse_w1_any, inverse::<1, false, false>, inverse_launch(1, false, false);
    lorenzo_inverse_w2_any, inverse::<2, false, false>, inverse_launch(2, false, false);
    lorenzo_inverse_w4_any, inverse::<4, false, false>, inverse_launch(4, false, false);
    lorenzo_inverse_w8_any, inverse::<8, false, false>, inverse_launch(8, false, false);
    lorenzo_uncenter_w1_any, inverse::<1, false, true>, inverse_launch(1, false, true);
    lorenzo_uncenter_w2_any, inverse::<2, false, true>, inverse_launch(2, false, true);
    lorenzo_uncenter_w4_any, inverse::<4, false, true>, inverse_launch(4, false, true);
    lorenzo_uncenter_w8_any, inverse::<8, false, true>, inverse_launch(8, false, true);
    lorenzo_inverse_w1_small, inverse_small::<1>, INVERSE_SMALL;
    lorenzo_inverse_w2_small, inverse_small::<2>, INVERSE_SMALL;
    lorenzo_inverse_w4_small, inverse_small::<4>, INVERSE_SMALL;
    lorenzo_inverse_w8_small, inverse_small::<8>, INVERSE_SMALL;
    lorenzo_inverse_w1_short, inverse_short::<1>, INVERSE_SHORT;
    lorenzo_inverse_w2_short, inverse_short::<2>, INVERSE_SHORT;
    lorenzo_inverse_w4_short, inverse_short::<4>, INVERSE_SHORT;
}
