//! Sums, once or twice, and the means added: one read, one write.

use super::super::packed::{Lane, add, broadcast, keep, last, prefix_sums};
use super::scan::{Carry, Exchange, scan_row};
use super::tile::{Place, Tile, get};
use super::{LINES, for_lines};
use cuda_std::{bits::byte_permute, kernel, shared, vector::U32x4};
use shared_types::lorenzo::{BlockParams, inverse_launch};

/// The kernel for elements of `W` bytes.
///
/// # Safety
/// As the entry points say.
#[inline(always)]
unsafe fn inverse<const W: u32, const ALIGNED: bool>(
    input: *const U32x4,
    means: *const U32x4,
    output: *mut U32x4,
    params: &BlockParams,
) {
    let exchange = shared::dynamic::<Exchange>();
    let tile = Tile::<W>::own(params);
    let mut rows = [[0; 4]; LINES];
    // SAFETY: the caller's promise.
    for_lines!(I => rows[I] = unsafe { tile.load(I, input) });
    let mut places = [tile.first_place(params); LINES];
    for_lines!(I => if I > 0 { places[I] = places[I - 1].next(params) });
    // Powers of two that fit into a lane: no sum leaves it.
    let inside = !ALIGNED && (16 / W).is_multiple_of(params.length);
    let mut pass = 0;
    while pass < params.order {
        if inside {
            for_lines!(I => rows[I] = prefix_sums::<W>(rows[I], places[I].starts));
        } else {
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
            for_lines!(I => {
                let incoming = incoming[I].wrapping_add(if open[I] { before } else { 0 });
                rows[I] = if ALIGNED {
                    let incoming = if places[I].position == 0 { 0 } else { incoming };
                    add::<W>(rows[I], broadcast::<W>(incoming))
                } else {
                    // Only what stands before the lane's first start.
                    let starts = places[I].starts;
                    let below = (starts & starts.wrapping_neg()).wrapping_sub(1);
                    add::<W>(rows[I], keep::<W>(broadcast::<W>(incoming), below))
                };
            });
        }
        pass += 1;
    }
    if !means.is_null() {
        let first = u64::from(cuda_std::thread::block_idx_x()) * u64::from(params.tile_segments);
        for_lines!(I => {
            let have = tile.have(I);
            if have > 0 {
                let mean = |segment: u32| {
                    if segment >= params.tile_segments {
                        return 0; // of elements in front of the tile
                    }
                    // SAFETY: the segments of elements that are there have means.
                    unsafe { get::<W>(means, (first + u64::from(segment)) as usize) }
                };
                rows[I] = if ALIGNED {
                    add::<W>(rows[I], broadcast::<W>(mean(places[I].segment)))
                } else if inside && have == 16 / W {
                    // SAFETY: the lane's whole segments' means stand beside each other, from a multiple of their size on.
                    unsafe { add::<W>(rows[I], expanded_means::<W>(means, first + u64::from(places[I].segment), params.length)) }
                } else {
                    add_means::<W>(rows[I], places[I], have, mean)
                };
            }
        });
    }
    // SAFETY: as above.
    for_lines!(I => unsafe { tile.store(I, output, rows[I]) });
}

/// Adds to each of a lane's elements the mean of its segment, segment by segment.
#[inline(always)]
fn add_means<const W: u32>(v: Lane, place: Place, have: u32, mean: impl Fn(u32) -> u64) -> Lane {
    // The starts of other segments than the first element's.
    let mut rest = place.starts & ((1 << have) - 1) & !1;
    let (mut v, mut done, mut segment) = (v, 0, place.segment);
    loop {
        let upto = (rest & rest.wrapping_neg()).wrapping_sub(1);
        v = add::<W>(v, keep::<W>(broadcast::<W>(mean(segment)), upto & !done));
        if rest == 0 {
            return v;
        }
        done = upto;
        segment = segment.wrapping_add(1);
        rest &= rest - 1;
    }
}

/// For each element of a lane the mean of its segment of `length` elements: a power of two that is smaller than the lane.
///
/// # Safety
/// The lane's means, from index `first` on, are in `means` and aligned to their size.
#[inline(always)]
unsafe fn expanded_means<const W: u32>(means: *const U32x4, first: u64, length: u32) -> Lane {
    // Each register of the lane is made from the bytes of one register of means.
    // SAFETY: the caller's word, for all accesses here.
    let word = |i: u64| unsafe { *means.cast::<u32>().add((first * u64::from(W) / 4 + i) as usize) };
    if length == 1 {
        return [word(0), word(1), word(2), word(3)];
    }
    if length == 2 {
        let (a, b) = (word(0), word(1));
        return match W {
            1 => {
                [byte_permute(a, 0, 0x1100), byte_permute(a, 0, 0x3322), byte_permute(b, 0, 0x1100), byte_permute(b, 0, 0x3322)]
            }
            2 => {
                [byte_permute(a, 0, 0x1010), byte_permute(a, 0, 0x3232), byte_permute(b, 0, 0x1010), byte_permute(b, 0, 0x3232)]
            }
            _ => [a, a, b, b],
        };
    }
    if length == 4 {
        let a = word(0);
        return if W == 1 {
            [byte_permute(a, 0, 0x0000), byte_permute(a, 0, 0x1111), byte_permute(a, 0, 0x2222), byte_permute(a, 0, 0x3333)]
        } else {
            let (x, y) = (byte_permute(a, 0, 0x1010), byte_permute(a, 0, 0x3232));
            [x, x, y, y]
        };
    }
    // SAFETY: as above.
    let a = unsafe { u32::from(*means.cast::<u16>().add((first / 2) as usize)) };
    let (x, y) = (byte_permute(a, 0, 0x0000), byte_permute(a, 0, 0x1111));
    [x, x, y, y]
}

/// The entry points, one per element size and kind.
macro_rules! entry_points {
    ($($name:ident, $word:literal, $aligned:literal;)*) => {$(
        /// Sums inside segments, once or twice, and the segment's mean added to each.
        ///
        /// # Safety
        /// Launched with [`inverse_launch`], one block per tile. `input` and `output` are 16-aligned and hold `params.elements`
        /// elements, `means` is null or 16-aligned and holds `params.segments`; nothing else touches `output` until the launch is
        /// over.
        #[kernel(launch = inverse_launch($word, $aligned))]
        pub unsafe fn $name(input: *const U32x4, means: *const U32x4, output: *mut U32x4, params: BlockParams) {
            // SAFETY: the caller's promise.
            unsafe { inverse::<$word, $aligned>(input, means, output, &params) }
        }
    )*};
}

entry_points! {
    lorenzo_inverse_w1_aligned, 1, true;
    lorenzo_inverse_w2_aligned, 2, true;
    lorenzo_inverse_w4_aligned, 4, true;
    lorenzo_inverse_w8_aligned, 8, true;
    lorenzo_inverse_w1_any, 1, false;
    lorenzo_inverse_w2_any, 2, false;
    lorenzo_inverse_w4_any, 4, false;
    lorenzo_inverse_w8_any, 8, false;
}
