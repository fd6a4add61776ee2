//! Sums, once or twice, and the means added: one read, one write.

use super::super::packed::{Lane, add, broadcast, keep, lane_of, last, mask, prefix_sums};
use super::scan::{Carry, Exchange, scan_row};
use super::sums::SegmentSums;
use super::tile::{Place, Tile, get};
use super::{LINES, for_lines};
use cuda_std::{
    bits::{byte_permute, funnel_shift_left_wrap},
    global, kernel, shared, thread,
    vector::U32x4,
};
use shared_types::lorenzo::{BlockParams, INVERSE_SMALL, inverse_launch};

/// Shared memory of one block.
#[repr(C, align(16))]
struct InverseShared {
    exchange: Exchange,
    means: SegmentSums,
}
const _: () = assert!(size_of::<Exchange>() <= inverse_launch(4, true, true).shared_bytes as usize);
const _: () = assert!(size_of::<InverseShared>() <= inverse_launch(4, false, true).shared_bytes as usize);

/// The kernel for elements of `W` bytes; `means` is looked at where `CENTERED`.
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
    if CENTERED && ALIGNED {
        for_lines!(I => if tile.have(I) > 0 {
            // SAFETY: segments of elements that are there have means.
            own[I] = unsafe { get::<W>(means, (first + u64::from(places[I].segment)) as usize) };
        });
    }
    if CENTERED && !ALIGNED {
        // SAFETY: the caller's promise.
        unsafe { shared::dynamic::<InverseShared>().means.load_means::<W>(means, first, params) };
        thread::sync_threads(); // means
    }
    let mut pass = 0;
    while pass < params.order {
        // What comes into each row's lane from the warp's own rows, and whether what comes from the warps before counts, too.
        let (mut incoming, mut open) = ([0; LINES], [false; LINES]);
        let mut carry = Carry::default();
        for_lines!(I => {
            let starts = if ALIGNED { 0 } else { places[I].starts };
            rows[I] = prefix_sums::<W>(rows[I], starts);
            let begins = if ALIGNED { places[I].position == 0 } else { starts & ((1 << (16 / W)) - 1) != 0 };
            let own = last::<W>(rows[I]);
            let scan = if W == 8 { scan_row::<false>(own, begins) } else { scan_row::<true>(own, begins) };
            (incoming[I], open[I], carry) = scan.chain(carry);
        });
        let before = if params.independent != 0 { 0 } else { exchange.incoming(pass, carry).sum };
        pass += 1;
        let last = pass == params.order;
        for_lines!(I => {
            let incoming = incoming[I].wrapping_add(if open[I] { before } else { 0 });
            if ALIGNED {
                let incoming = if places[I].position == 0 { 0 } else { incoming };
                let mean = if CENTERED && last { own[I] } else { 0 };
                rows[I] = add::<W>(rows[I], broadcast::<W>(incoming.wrapping_add(mean)));
            } else {
                // Only what stands before the lane's first start.
                let starts = places[I].starts;
                let below = (starts & starts.wrapping_neg()).wrapping_sub(1);
                rows[I] = add::<W>(rows[I], keep::<W>(broadcast::<W>(incoming), below));
            }
        });
    }
    if CENTERED && !ALIGNED {
        let shared = shared::dynamic::<InverseShared>();
        for_lines!(I => rows[I] = add_means::<W>(rows[I], places[I], |segment| shared.means.mean::<W>(segment, params)));
    }
    // SAFETY: as above.
    unsafe { tile.store(output, &rows) };
}

/// Adds to each of a lane's elements the mean of its segment, segment by segment.
#[inline(always)]
fn add_means<const W: u32>(v: Lane, place: Place, mean: impl Fn(u32) -> u64) -> Lane {
    // The starts of other segments than the first element's.
    let mut rest = place.starts & ((1 << (16 / W)) - 1) & !1;
    let (mut all, mut done, mut segment) = ([0; 4], 0, place.segment);
    loop {
        let upto = (rest & rest.wrapping_neg()).wrapping_sub(1);
        let (m, x) = (mask::<W>(upto & !done), broadcast::<W>(mean(segment)));
        all = [all[0] | m[0] & x[0], all[1] | m[1] & x[1], all[2] | m[2] & x[2], all[3] | m[3] & x[3]];
        if rest == 0 {
            return add::<W>(v, all);
        }
        done = upto;
        segment = segment.wrapping_add(1);
        rest &= rest - 1;
    }
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

/// The entry points, one per element size and kind.
macro_rules! entry_points {
    ($($plain:ident, $centered:ident, $word:literal, $aligned:literal;)*) => {$(
        /// Sums inside segments, once or twice.
        ///
        /// # Safety
        /// Launched with [`inverse_launch`], one block per tile. `input` and `output` are 16-aligned and hold `params.elements`
        /// elements; nothing else touches `output` until the launch is over. `means` is not looked at.
        #[kernel(launch = inverse_launch($word, $aligned, false))]
        pub unsafe fn $plain(input: *const U32x4, means: *const U32x4, output: *mut U32x4, params: BlockParams) {
            // SAFETY: the caller's promise.
            unsafe { inverse::<$word, $aligned, false>(input, means, output, &params) }
        }

        /// The same, and the segment's mean added to each.
        ///
        /// # Safety
        /// As above; `means` is 16-aligned and holds `params.segments`.
        #[kernel(launch = inverse_launch($word, $aligned, true))]
        pub unsafe fn $centered(input: *const U32x4, means: *const U32x4, output: *mut U32x4, params: BlockParams) {
            // SAFETY: the caller's promise.
            unsafe { inverse::<$word, $aligned, true>(input, means, output, &params) }
        }
    )*};
}

entry_points! {
    lorenzo_inverse_w1_aligned, lorenzo_uncenter_w1_aligned, 1, true;
    lorenzo_inverse_w2_aligned, lorenzo_uncenter_w2_aligned, 2, true;
    lorenzo_inverse_w4_aligned, lorenzo_uncenter_w4_aligned, 4, true;
    lorenzo_inverse_w8_aligned, lorenzo_uncenter_w8_aligned, 8, true;
    lorenzo_inverse_w1_any, lorenzo_uncenter_w1_any, 1, false;
    lorenzo_inverse_w2_any, lorenzo_uncenter_w2_any, 2, false;
    lorenzo_inverse_w4_any, lorenzo_uncenter_w4_any, 4, false;
    lorenzo_inverse_w8_any, lorenzo_uncenter_w8_any, 8, false;
}

/// The entry points for small segments.
macro_rules! small_entry_points {
    ($($name:ident, $word:literal;)*) => {$(
        /// Sums inside small segments, once or twice, and the segment's mean added to each where there are means.
        ///
        /// # Safety
        /// As of the kernels above; `means` is null or 16-aligned and holds `params.segments`.
        #[kernel(launch = INVERSE_SMALL)]
        pub unsafe fn $name(input: *const U32x4, means: *const U32x4, output: *mut U32x4, params: BlockParams) {
            // SAFETY: the caller's promise.
            unsafe { inverse_small::<$word>(input, means, output, &params) }
        }
    )*};
}

small_entry_points! {
    lorenzo_inverse_w1_small, 1;
    lorenzo_inverse_w2_small, 2;
    lorenzo_inverse_w4_small, 4;
    lorenzo_inverse_w8_small, 8;
}
