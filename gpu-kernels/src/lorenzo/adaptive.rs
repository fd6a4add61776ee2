//! Adaptive Lorenzo: each tile with the order and the centering that a coder of bit planes takes fewest bytes for.
//!
//! The tiles are the segments of block mode and lie in a block's rows alike. Forward, one read and one write:
//!
//! | phase | who | does | leaves behind |
//! |---|---|---|---|
//! | mean | every warp | tiles' means | `means` |
//! | cost | every warp, row by row | both orders' residuals, with and without the mean; bit lengths of each coder's block | `cost` |
//! | choose | thread `t`: tile `t` | the cheapest, its place among the centered ones | `choice`, `rank` |
//! | look back | warp 0 | the centered tiles of all blocks before | `base` |
//! | difference | every warp, row by row | the residuals again, as chosen | the output |
//!
//! Backward the choices are read and counted first.

use super::block::difference::difference_row;
use super::block::scan::{Carry, Exchange, scan_row};
use super::block::sums::SegmentSums;
use super::block::tile::{Ends, Place, Tile, get};
use super::block::{LINES, for_lines};
use super::packed::{Lane, add, broadcast, keep, last, prefix_sums, sub};
use crate::collectives::{ALL_LANES, group_or, look_back};
use cuda_std::{
    bits::byte_permute,
    kernel,
    shared::{self, SharedArray},
    thread,
    vector::U32x4,
    warp,
};
use shared_types::lorenzo::{ADAPTIVE, AdaptiveParams, CODER_BLOCK, MODES_PADDING};

/// Most tiles of a block: of 32 elements of 2 bytes in 16 KiB.
const TILES: usize = 256;

/// Shared memory of one block.
#[repr(C, align(16))]
struct AdaptiveShared {
    ends: Ends,
    exchange: Exchange,
    /// Bytes of each tile's candidates: one after another.
    cost: SharedArray<u32, { 4 * TILES }>,
    /// Bit 0: second order; bit 1: centered.
    choice: SharedArray<u8, TILES>,
    /// Centered tiles before this one in the block; the last entry: all.
    rank: SharedArray<u32, { TILES + 1 }>,
    /// Centered tiles of each warp of tiles.
    count: SharedArray<u32, 8>,
    /// Centered tiles of all blocks before.
    base: SharedArray<u32, 1>,
    sums: SegmentSums,
}
const _: () = assert!(size_of::<AdaptiveShared>() <= ADAPTIVE.shared_bytes as usize);

/// The bits of all magnitudes of a lane's elements but the first, and the first one's. Magnitudes are without sign.
#[inline(always)]
fn magnitudes<const W: u32>(v: Lane) -> (u32, u32) {
    let one = |x: u32| {
        if W == 2 {
            // No carry leaves an element: a negative number's inverse is at most 2^15 - 1.
            (x ^ byte_permute(x, 0, 0xBB99)) + (x >> 15 & 0x0001_0001)
        } else {
            (x as i32).unsigned_abs()
        }
    };
    let m = [one(v[0]), one(v[1]), one(v[2]), one(v[3])];
    let rest = m[1] | m[2] | m[3];
    if W == 2 { ((m[0] | rest) >> 16 | rest & 0xFFFF, m[0] & 0xFFFF) } else { (rest, m[0]) }
}

/// Bytes of a coder's block whose first element has the magnitude `first`, all others the bits `rest`.
#[inline(always)]
fn cost(first: u32, rest: u32, outlier: bool) -> u32 {
    let length = |x: u32| 32 - x.leading_zeros();
    let r = length(first | rest);
    let plain = if r == 0 { 0 } else { 4 * (r + 1) };
    let apart = length(first).div_ceil(8) + 4 * (length(rest) + 1);
    if outlier && apart < plain { apart } else { plain }
}

/// The places of the choice's centered tiles: each tile's rank among those of its block, from the choice of tile `thread`. All
/// threads of a block call this; it ends with a barrier.
#[inline(always)]
fn count_centered(s: &AdaptiveShared, choice: u32) {
    let (thread, lane) = (thread::thread_idx_x(), warp::lane_id());
    let centered = warp::warp_vote_ballot(ALL_LANES, choice & 2 != 0);
    let below = (centered & ((1 << lane) - 1)).count_ones();
    if lane == 0 {
        s.count.write((thread / 32) as usize, centered.count_ones());
    }
    s.choice.write(thread as usize, choice as u8);
    thread::sync_threads(); // count, choice
    let (mut before, mut w) = (0, 0);
    while w < thread / 32 {
        before += s.count.read(w as usize);
        w += 1;
    }
    s.rank.write(thread as usize, before + below);
    if thread == ADAPTIVE.threads - 1 {
        s.rank.write(TILES, before + below + u32::from(choice & 2 != 0));
    }
    thread::sync_threads(); // rank
}

/// Forward, for elements of `W` bytes.
///
/// # Safety
/// As the entry points say.
#[inline(always)]
unsafe fn forward<const W: u32>(
    input: *const U32x4,
    output: *mut U32x4,
    modes: *mut u8,
    means: *mut u8,
    look_back: *mut u64,
    centered: *mut u64,
    params: &AdaptiveParams,
) {
    let s = shared::dynamic::<AdaptiveShared>();
    let block = &params.block;
    let thread = thread::thread_idx_x();
    let tile = Tile::<W>::own(block);
    // SAFETY: the caller's promise.
    let mut rows = unsafe { tile.load(input) };
    let mut places = [tile.first_place(block); LINES];
    for_lines!(I => if I > 0 { places[I] = places[I - 1].next(block) });
    let first_segment = u64::from(thread::block_idx_x()) * u64::from(block.tile_segments);
    let live = {
        let rest = block.segments - first_segment;
        if rest < u64::from(block.tile_segments) { rest as u32 } else { block.tile_segments }
    };

    for candidate in 0..4 {
        s.cost.write((candidate * ADAPTIVE.threads + thread) as usize, 0);
    }
    s.sums.clear::<W>(block);
    // A barrier between the zeros and the sums, too.
    let before = Tile::<W>::before(&rows, &s.ends);
    for_lines!(I => s.sums.add_row::<W, true>(rows[I], places[I], block));
    thread::sync_threads(); // sums
    let mut mean = 0;
    if thread < live {
        mean = s.sums.to_mean::<W>(thread, first_segment + u64::from(thread) == block.segments - 1, block);
    }
    thread::sync_threads(); // means

    // The element in front of the warp's rows, after taking differences once.
    let second = |reference: u64| before[0].wrapping_sub(if places[0].position == 1 { reference } else { before[1] });
    let zero = Some(|_: Place, _: u32| 0);
    let (mut carry, mut carry2) = (before[0], second(0));
    for_lines!(I => {
        let place = places[I];
        let have = tile.have(I);
        let d = difference_row::<W, true>(rows[I], place, &mut carry, &zero);
        let e = difference_row::<W, true>(d, place, &mut carry2, &zero);
        let there = |v: Lane| if have == Tile::<W>::LANE { v } else { keep::<W>(v, (1 << have) - 1) };
        let (d, e) = (there(d), there(e));
        let begins = place.position == 0 && have > 0;
        let lanes = CODER_BLOCK * W / 16;
        let leads = warp::lane_id().is_multiple_of(lanes);
        // Of each coder's block the bits of all but the leading lane's elements, in that lane.
        let ((rest_d, first_d), (rest_e, first_e)) = (magnitudes::<W>(d), magnitudes::<W>(e));
        let others = |rest: u32, first: u32| if leads { 0 } else { rest | first };
        let (mut others_d, mut others_e) = (others(rest_d, first_d), others(rest_e, first_e));
        if W == 2 {
            let both = group_or(others_d | others_e << 16, lanes);
            (others_d, others_e) = (both & 0xFFFF, both >> 16);
        } else {
            (others_d, others_e) = (group_or(others_d, lanes), group_or(others_e, lanes));
        }
        if leads && have > 0 {
            let outlier = params.outlier != 0;
            let bytes_d = cost(first_d, others_d | rest_d, outlier);
            let bytes_e = cost(first_e, others_e | rest_e, outlier);
            let at = (place.segment * 4) as usize;
            s.cost.fetch_add(at, bytes_d);
            s.cost.fetch_add(at + 1, bytes_e);
            if begins {
                // Centered, only the tile's first element is another: less the mean; in second order the one after it, too: more
                // by as much.
                let mean = s.sums.mean::<W>(place.segment, block) as u32;
                let (pair, plus) =
                    if W == 2 { (mean & 0xFFFF, [mean << 16, 0, 0, 0]) } else { (mean, [0, mean, 0, 0]) };
                let minus = |v: Lane| sub::<W>(v, [pair, 0, 0, 0]);
                let (rest_dc, first_dc) = magnitudes::<W>(minus(d));
                let (rest_ec, first_ec) = magnitudes::<W>(there(minus(add::<W>(e, plus))));
                // What these cost more, or less; modulo 2^32.
                let more_d = cost(first_dc, others_d | rest_dc, outlier).wrapping_sub(bytes_d);
                let more_e = cost(first_ec, others_e | rest_ec, outlier).wrapping_sub(bytes_e);
                s.cost.write(at + 2, more_d);
                s.cost.write(at + 3, more_e);
            }
        }
    });
    thread::sync_threads(); // cost

    let mut choice = 0;
    if thread < live {
        let mut best = s.cost.read((thread * 4) as usize);
        for c in 1..4u32 {
            let allowed = (c & 1 == 0 || params.order2 != 0) && (c & 2 == 0 || params.centering != 0);
            let own = s.cost.read((thread * 4 + c) as usize);
            let bytes =
                if c & 2 != 0 { own.wrapping_add(s.cost.read((thread * 4 + (c & 1)) as usize)).wrapping_add(W) } else { own };
            if allowed && bytes < best {
                (best, choice) = (bytes, c);
            }
        }
    }
    let mut byte = choice << (thread % 4 * 2);
    byte |= warp::warp_shuffle_xor(ALL_LANES, byte, 1, 32).0;
    byte |= warp::warp_shuffle_xor(ALL_LANES, byte, 2, 32).0;
    if thread.is_multiple_of(4) && thread < live {
        // SAFETY: a block's tiles are whole bytes of modes, and the last ones a started one.
        unsafe { *modes.add(((first_segment + u64::from(thread)) / 4) as usize) = byte as u8 };
    }
    count_centered(s, choice);

    let own = s.rank.read(TILES);
    if thread == 0 {
        // SAFETY: the launch gives every block a word.
        unsafe { look_back::publish(look_back, thread::block_idx_x(), own) };
    }
    let chosen = |segment: u32| if segment < live { u32::from(s.choice.read(segment as usize)) } else { 0 };
    let value = |segment: u32| if chosen(segment) & 2 != 0 { s.sums.mean::<W>(segment, block) } else { 0 };
    let at_start = Some(|place: Place, _: u32| value(place.segment));
    let (mut carry, mut carry2) = (before[0], second(value(places[0].segment)));
    for_lines!(I => {
        let d = difference_row::<W, true>(rows[I], places[I], &mut carry, &at_start);
        let e = difference_row::<W, true>(d, places[I], &mut carry2, &zero);
        let twice = chosen(places[I].segment) & 1 != 0;
        let pick = |k: usize| if twice { e[k] } else { d[k] };
        rows[I] = [pick(0), pick(1), pick(2), pick(3)];
    });
    // SAFETY: as above.
    unsafe { tile.store(output, &rows) };
    if thread < 32 {
        // SAFETY: as for `publish`.
        let base = unsafe { look_back::exclusive_sum(look_back, thread::block_idx_x(), own) };
        if thread == 0 {
            s.base.write(0, base);
            if thread::block_idx_x() == thread::grid_dim_x() - 1 {
                // SAFETY: the caller's promise.
                unsafe { *centered = u64::from(base) + u64::from(own) };
            }
        }
    }
    thread::sync_threads(); // base
    if thread < live && choice & 2 != 0 {
        let at = u64::from(s.base.read(0)) + u64::from(s.rank.read(thread as usize));
        // SAFETY: a mean per tile at most.
        unsafe {
            match W {
                2 => *means.cast::<u16>().add(at as usize) = mean as u16,
                _ => *means.cast::<u32>().add(at as usize) = mean as u32,
            }
        }
    }
}

/// Backward, for elements of `W` bytes.
///
/// # Safety
/// As the entry points say.
#[inline(always)]
unsafe fn inverse<const W: u32>(
    input: *const U32x4,
    modes: *const u8,
    means: *const U32x4,
    means_held: u64,
    output: *mut U32x4,
    look_back: *mut u64,
    centered: *mut u64,
    params: &AdaptiveParams,
) {
    let s = shared::dynamic::<AdaptiveShared>();
    let block = &params.block;
    let thread = thread::thread_idx_x();
    let tile = Tile::<W>::own(block);
    // SAFETY: the caller's promise.
    let mut rows = unsafe { tile.load(input) };
    let mut places = [tile.first_place(block); LINES];
    for_lines!(I => if I > 0 { places[I] = places[I - 1].next(block) });
    let first_segment = u64::from(thread::block_idx_x()) * u64::from(block.tile_segments);
    let live = {
        let rest = block.segments - first_segment;
        if rest < u64::from(block.tile_segments) { rest as u32 } else { block.tile_segments }
    };
    let mut choice = 0;
    if thread < live {
        // SAFETY: two bits per tile.
        choice = u32::from(unsafe { *modes.add(((first_segment + u64::from(thread)) / 4) as usize) }) >> (thread % 4 * 2) & 3;
    }
    count_centered(s, choice);
    let own = s.rank.read(TILES);
    if thread == 0 {
        // SAFETY: the launch gives every block a word.
        unsafe { look_back::publish(look_back, thread::block_idx_x(), own) };
    }
    let twice = thread::sync_threads_or(choice & 1) != 0;

    let mut pass = 0;
    while pass < 1 + u32::from(twice) {
        let (mut incoming, mut open, mut next) = ([0; LINES], [false; LINES], [[0; 4]; LINES]);
        let mut carry = Carry::default();
        for_lines!(I => {
            next[I] = prefix_sums::<W>(rows[I], 0);
            let scan = scan_row::<true>(last::<W>(next[I]), places[I].position == 0);
            (incoming[I], open[I], carry) = scan.chain(carry);
        });
        let before = if block.independent != 0 { 0 } else { s.exchange.incoming(pass, carry).sum };
        for_lines!(I => {
            let incoming = incoming[I].wrapping_add(if open[I] { before } else { 0 });
            let begins = places[I].position == 0;
            let sums = add::<W>(next[I], broadcast::<W>(if begins { 0 } else { incoming }));
            let segment = places[I].segment;
            let wanted = pass == 0 || segment < live && s.choice.read(segment as usize) & 1 != 0;
            let pick = |k: usize| if wanted { sums[k] } else { rows[I][k] };
            rows[I] = [pick(0), pick(1), pick(2), pick(3)];
        });
        pass += 1;
    }
    if thread < 32 {
        // SAFETY: as for `publish`.
        let base = unsafe { look_back::exclusive_sum(look_back, thread::block_idx_x(), own) };
        if thread == 0 {
            s.base.write(0, base);
            if thread::block_idx_x() == thread::grid_dim_x() - 1 {
                // The last byte's bits that belong to no tile.
                let used = live % 4 * 2;
                // SAFETY: the last tile's byte; the caller's promise.
                unsafe {
                    let byte = u32::from(*modes.add(((block.segments - 1) / 4) as usize));
                    let padding = if used != 0 && byte >> used != 0 { MODES_PADDING } else { 0 };
                    *centered = padding | u64::from(base) + u64::from(own);
                }
            }
        }
    }
    thread::sync_threads(); // base
    let base = u64::from(s.base.read(0));
    for_lines!(I => {
        let segment = places[I].segment;
        let mut mean = 0;
        if segment < live && s.choice.read(segment as usize) & 2 != 0 {
            let at = base + u64::from(s.rank.read(segment as usize));
            if at < means_held {
                // SAFETY: as many are held.
                mean = unsafe { get::<W>(means, at as usize) };
            }
        }
        rows[I] = add::<W>(rows[I], broadcast::<W>(mean));
    });
    // SAFETY: as above.
    unsafe { tile.store(output, &rows) };
}

/// The entry points, one pair per element size.
macro_rules! entry_points {
    ($($forward:ident, $inverse:ident, $word:literal;)*) => {$(
        /// Residuals, modes and means of an array; `centered` becomes the number of means.
        ///
        /// # Safety
        /// Launched with [`ADAPTIVE`], one block per tile of `params.block`. `input` and `output` are 16-aligned and hold the elements, `modes` a
        /// byte for every four tiles, `means` a mean for every tile; `look_back` has a zero word per block. Nothing else touches the
        /// outputs until the launch is over.
        #[kernel(launch = ADAPTIVE)]
        pub unsafe fn $forward(
            input: *const U32x4,
            output: *mut U32x4,
            modes: *mut u8,
            means: *mut U32x4,
            look_back: *mut u64,
            centered: *mut u64,
            params: AdaptiveParams,
        ) {
            // SAFETY: the caller's promise.
            unsafe { forward::<$word>(input, output, modes, means.cast(), look_back, centered, &params) }
        }

        /// The array again; `centered` becomes the number of means that the modes ask for, which should be `means_held`: means that are not
        /// there count as 0.
        ///
        /// # Safety
        /// As above, `means` holds `means_held`.
        #[kernel(launch = ADAPTIVE)]
        pub unsafe fn $inverse(
            input: *const U32x4,
            modes: *const u8,
            means: *const U32x4,
            means_held: u64,
            output: *mut U32x4,
            look_back: *mut u64,
            centered: *mut u64,
            params: AdaptiveParams,
        ) {
            // SAFETY: the caller's promise.
            unsafe { inverse::<$word>(input, modes, means, means_held, output, look_back, centered, &params) }
        }
    )*};
}

entry_points! {
    adaptive_lorenzo_forward_w2, adaptive_lorenzo_inverse_w2, 2;
    adaptive_lorenzo_forward_w4, adaptive_lorenzo_inverse_w4, 4;
}
