//! Adaptive Lorenzo: each tile with the order and the centering that a coder of bit planes takes fewest bytes for.
//!
//! The tiles are the segments of block mode and lie in a block's rows alike. Forward, one read and one write of the elements:
//!
//! | phase | who | does | leaves behind |
//! |---|---|---|---|
//! | mean | every warp | tiles' means | a mean for every tile |
//! | difference | every warp, row by row | differences once, in place; what the costs depend on, of each coder's block, in one lane | |
//! | cost | every lane, for one coder's block | bytes of either order, with and without the mean | `cost` |
//! | choose | thread `t`: tile `t` | the cheapest | `choice`, the modes |
//! | difference | every warp, row by row | differences once more, and the mean, where chosen | the output |
//!
//! Then a launch of its own, over modes and means alone, puts the means of the centered tiles beside each other. Backward such a launch
//! comes first and gives every tile a mean, 0 where it is not centered, so that the one that reads and writes the elements waits for
//! nobody. (With look-back in the large kernel backward took 1.7 to 2.3 times as long.)

use super::block::difference::{NO_VALUE, difference_row};
use super::block::scan::{Carry, Exchange, scan_rows};
use super::block::sums::SegmentSums;
use super::block::tile::{Ends, Tile, get};
use super::block::{LINES, for_lines};
use super::packed::{Lane, add_register, keep, sub_register, sum, sums_after};
use crate::collectives::{ALL_LANES, group_or, look_back, warp_inclusive_sum};
use cuda_std::{
    bits::byte_permute,
    kernel,
    shared::{self, SharedArray},
    thread,
    vector::U32x4,
    warp,
};
use shared_types::lorenzo::{
    ADAPTIVE_FORWARD, ADAPTIVE_INVERSE, ADAPTIVE_MEANS, AdaptiveParams, CODER_BLOCK, MEANS_TILES, MODES_PADDING,
};

/// Most tiles of a block: of 32 elements of 2 bytes in 16 KiB.
const TILES: usize = 256;

/// Shared memory of one block, forward.
#[repr(C, align(16))]
struct ForwardShared {
    ends: Ends,
    /// Bytes of each tile's candidates: first order, second; and what these take more when centered, modulo `2^32`.
    cost: SharedArray<u32, { 4 * TILES }>,
    /// Bit 0: second order; bit 1: centered.
    choice: SharedArray<u8, TILES>,
    sums: SegmentSums,
}
const _: () = assert!(size_of::<ForwardShared>() <= ADAPTIVE_FORWARD.shared_bytes as usize);
const _: () = assert!(size_of::<Exchange>() <= ADAPTIVE_INVERSE.shared_bytes as usize);

/// The magnitudes of a lane's elements, without sign.
#[inline(always)]
fn magnitudes<const W: u32>(v: Lane) -> Lane {
    v.map(|x| {
        if W == 2 {
            // No carry leaves an element: a negative number's inverse is at most 2^15 - 1.
            (x ^ byte_permute(x, 0, 0xBB99)) + (x >> 15 & 0x0001_0001)
        } else {
            (x as i32).unsigned_abs()
        }
    })
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

/// What the costs of a coder's block depend on: its differences, taken once and twice.
#[derive(Clone, Copy, Default)]
struct Facts {
    /// The bits of all magnitudes but the first one's, taken once and twice.
    others: [u32; 2],
    /// The first element.
    first: [u32; 2],
    /// Taken twice: the second element, and the bits of the magnitudes behind it.
    second: u32,
    rest: u32,
}

impl Facts {
    /// Of the coder's block that the calling lane's elements belong to. All lanes of a warp call this. Elements of two bytes stand in pairs:
    /// taken once in the lower half, twice in the upper; `rest` in the lower half of `second`'s.
    #[inline(always)]
    fn gather<const W: u32>(once: Lane, twice: Lane) -> Self {
        let lanes = CODER_BLOCK * W / 16;
        let leads = warp::lane_id().is_multiple_of(lanes);
        let (m, n) = (magnitudes::<W>(once), magnitudes::<W>(twice));
        let (behind_m, behind_n) = (m[1] | m[2] | m[3], n[1] | n[2] | n[3]);
        if W == 2 {
            // The leading lane's first element stands in the lower half of its first pair, and its second one in the upper.
            let without_first = if leads { 0xFFFF_0000 } else { u32::MAX };
            let (a, b) = (behind_m | m[0] & without_first, behind_n | n[0] & without_first);
            let rest = behind_n | if leads { 0 } else { n[0] };
            let second = if leads { twice[0] & 0xFFFF_0000 } else { 0 };
            let first = if leads { byte_permute(once[0], twice[0], 0x5410) } else { 0 };
            return Self {
                others: [group_or(byte_permute(a, b, 0x5410) | byte_permute(a, b, 0x7632), lanes), 0],
                first: [group_or(first, lanes), 0],
                second: group_or((rest | rest >> 16) & 0xFFFF | second, lanes),
                rest: 0,
            };
        }
        let others = |behind: u32, first: u32| group_or(behind | if leads { 0 } else { first }, lanes);
        let leader = warp::lane_id() & !(lanes - 1);
        let lead = |x: u32| warp::warp_shuffle_idx(ALL_LANES, x, leader, 32).0;
        Self {
            others: [others(behind_m, m[0]), others(behind_n, n[0])],
            first: [lead(once[0]), lead(twice[0])],
            second: lead(twice[1]),
            rest: group_or(n[2] | n[3] | if leads { 0 } else { n[0] | n[1] }, lanes),
        }
    }

    /// The numbers that stood in pairs one by one; elements with their signs.
    #[inline(always)]
    fn apart<const W: u32>(self) -> Self {
        if W != 2 {
            return self;
        }
        let signed = |x: u32| [(x << 16) as i32 >> 16, x as i32 >> 16].map(|x| x as u32);
        Self {
            others: [self.others[0] & 0xFFFF, self.others[0] >> 16],
            first: signed(self.first[0]),
            second: signed(self.second)[1],
            rest: self.second & 0xFFFF,
        }
    }
}

/// The bytes of a mean of `W` bytes, at its tile.
///
/// # Safety
/// `means` holds it, and nobody else touches it.
#[inline(always)]
unsafe fn put_mean<const W: u32>(means: *mut u8, at: u64, mean: u32) {
    // SAFETY: the caller's word.
    unsafe {
        match W {
            2 => *means.cast::<u16>().add(at as usize) = mean as u16,
            _ => *means.cast::<u32>().add(at as usize) = mean,
        }
    }
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
    tile_means: *mut u8,
    params: &AdaptiveParams,
) {
    let s = shared::dynamic::<ForwardShared>();
    let block = &params.block;
    let (thread, lane) = (thread::thread_idx_x(), warp::lane_id());
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
        s.cost.write((candidate * ADAPTIVE_FORWARD.threads + thread) as usize, 0);
    }
    s.sums.clear::<W>(block);
    // A barrier between the zeros and the sums, too.
    let before = Tile::<W>::before(&rows, &s.ends);
    for_lines!(I => s.sums.add_row::<W, false>(rows[I], places[I], block));
    thread::sync_threads(); // sums
    if thread < live {
        let at = first_segment + u64::from(thread);
        let mean = s.sums.to_mean::<W>(thread, at == block.segments - 1, block);
        // SAFETY: the caller's promise.
        unsafe { put_mean::<W>(tile_means, at, mean as u32) };
    }

    // The element in front of the warp's rows, after taking differences once; no mean is in it.
    let second = before[0].wrapping_sub(if places[0].position == 1 { 0 } else { before[1] });
    let (mut carry, mut carry2) = (before[0], second);
    let lanes = CODER_BLOCK * W / 16;
    let mut facts = Facts::default();
    for_lines!(I => {
        let have = tile.have(I);
        let there = |v: Lane| if have == Tile::<W>::LANE { v } else { keep::<W>(v, (1 << have) - 1) };
        rows[I] = there(difference_row::<W, true>(rows[I], places[I], &mut carry, &NO_VALUE));
        let twice = there(difference_row::<W, true>(rows[I], places[I], &mut carry2, &NO_VALUE));
        let gathered = Facts::gather::<W>(rows[I], twice);
        if lane % lanes == I as u32 {
            facts = gathered;
        }
    });
    thread::sync_threads(); // means
    // The lane's own coder's block: of row `lane % lanes`.
    let row = lane % lanes;
    let at = (thread / 32 * LINES as u32 + row) * Tile::<W>::ROW + lane / lanes * CODER_BLOCK;
    if row < LINES as u32 && at < tile.live {
        let facts = facts.apart::<W>();
        let outlier = params.outlier != 0;
        let magnitude = |x: u32| (x as i32).unsigned_abs();
        let bytes = [0, 1].map(|k: usize| cost(magnitude(facts.first[k]), facts.others[k], outlier));
        let segment = block.position.divide(at);
        let to = (segment * 4) as usize;
        s.cost.fetch_add(to, bytes[0]);
        s.cost.fetch_add(to + 1, bytes[1]);
        if segment * block.length == at {
            // Centered, only the tile's first element is another: less the mean; taken twice the one behind it, too: more by as much.
            let mean = s.sums.mean::<W>(segment, block) as u32;
            let wrapped = |x: u32| if W == 2 { ((x << 16) as i32 >> 16) as u32 } else { x };
            let first = magnitude(wrapped(facts.first[0].wrapping_sub(mean)));
            let second = if at + 1 < tile.live { magnitude(wrapped(facts.second.wrapping_add(mean))) } else { 0 };
            s.cost.write(to + 2, cost(first, facts.others[0], outlier).wrapping_sub(bytes[0]));
            s.cost.write(to + 3, cost(first, facts.rest | second, outlier).wrapping_sub(bytes[1]));
        }
    }
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
    s.choice.write(thread as usize, choice as u8);
    let mut byte = choice << (thread % 4 * 2);
    byte |= warp::warp_shuffle_xor(ALL_LANES, byte, 1, 32).0;
    byte |= warp::warp_shuffle_xor(ALL_LANES, byte, 2, 32).0;
    if thread.is_multiple_of(4) && thread < live {
        // SAFETY: a block's tiles are whole bytes of modes, and the last ones a started one.
        unsafe { *modes.add(((first_segment + u64::from(thread)) / 4) as usize) = byte as u8 };
    }
    thread::sync_threads(); // choice

    let mut carry2 = second;
    for_lines!(I => {
        let twice = difference_row::<W, true>(rows[I], places[I], &mut carry2, &NO_VALUE);
        let segment = places[I].segment;
        let chosen = if segment < live { u32::from(s.choice.read(segment as usize)) } else { 0 };
        if chosen & 1 != 0 {
            rows[I] = twice;
        }
        if places[I].position == 0 && chosen & 2 != 0 {
            let mean = s.sums.mean::<W>(segment, block) as u32;
            let again = if chosen & 1 != 0 { mean } else { 0 };
            if W == 2 {
                let less = sub_register::<W>(rows[I][0], mean & 0xFFFF);
                rows[I][0] = add_register::<W>(less, again << 16);
            } else {
                (rows[I][0], rows[I][1]) = (rows[I][0].wrapping_sub(mean), rows[I][1].wrapping_add(again));
            }
        }
    });
    // SAFETY: as above.
    unsafe { tile.store(output, &rows) };
}

/// Backward, for elements of `W` bytes.
///
/// # Safety
/// As the entry points say.
#[inline(always)]
unsafe fn inverse<const W: u32>(
    input: *const U32x4,
    modes: *const u8,
    tile_means: *const U32x4,
    output: *mut U32x4,
    params: &AdaptiveParams,
) {
    let exchange = shared::dynamic::<Exchange>();
    let block = &params.block;
    let tile = Tile::<W>::own(block);
    // SAFETY: the caller's promise.
    let mut rows = unsafe { tile.load(input) };
    let mut places = [tile.first_place(block); LINES];
    for_lines!(I => if I > 0 { places[I] = places[I - 1].next(block) });
    let first = u64::from(thread::block_idx_x()) * u64::from(block.tile_segments);
    // The lane's tiles' means and modes, asked for early.
    let (mut own, mut twice) = ([0; LINES], [false; LINES]);
    for_lines!(I => if tile.have(I) > 0 {
        let at = first + u64::from(places[I].segment);
        // SAFETY: tiles of elements that are there have means and modes.
        unsafe {
            own[I] = get::<W>(tile_means, at as usize);
            twice[I] = u32::from(*modes.add((at / 4) as usize)) >> (at as u32 % 4 * 2) & 1 != 0;
        }
    });
    let mut any = false;
    for_lines!(I => any |= twice[I]);
    let any = if block.independent != 0 {
        warp::warp_vote_ballot(ALL_LANES, any) != 0
    } else {
        thread::sync_threads_or(any.into()) != 0
    };
    let mut pass = 0;
    while pass < 1 + u32::from(any) {
        let (mut incoming, mut open) = ([0; LINES], [false; LINES]);
        let (mut sums, mut begins) = ([0; LINES], [false; LINES]);
        for_lines!(I => (sums[I], begins[I]) = (sum::<W>(rows[I]), places[I].position == 0));
        let scans = scan_rows::<true>(&sums, &begins, block.reach);
        let mut carry = Carry::default();
        for_lines!(I => (incoming[I], open[I], carry) = scans[I].chain(carry));
        let before = if block.independent != 0 { 0 } else { exchange.incoming(pass, carry).sum };
        for_lines!(I => {
            let incoming = incoming[I].wrapping_add(if open[I] { before } else { 0 });
            let mut from = if places[I].position == 0 { 0 } else { incoming };
            if pass == u32::from(twice[I]) {
                from = from.wrapping_add(own[I]);
            }
            if pass <= u32::from(twice[I]) {
                rows[I] = sums_after::<W>(rows[I], from);
            }
        });
        pass += 1;
    }
    // SAFETY: as above.
    unsafe { tile.store(output, &rows) };
}

/// Tiles of a thread of the launches over means: whole bytes of modes, and fewer bits than a register has.
const OWN_TILES: u32 = MEANS_TILES / ADAPTIVE_MEANS.threads;
const _: () = assert!(OWN_TILES.is_multiple_of(4) && OWN_TILES <= 12);

/// Shared memory of one block of the launches over means.
#[repr(C)]
struct MeansShared {
    /// Centered tiles of each warp.
    count: SharedArray<u32, 8>,
    /// Centered tiles of all blocks before.
    base: SharedArray<u32, 1>,
}
const _: () = assert!(size_of::<MeansShared>() <= ADAPTIVE_MEANS.shared_bytes as usize);

/// Calls `each` for every tile with its number and, where it is centered, its place among the centered ones. `centered` becomes their number;
/// [`MODES_PADDING`] stands beside it where the modes' last byte has bits set that belong to no tile.
///
/// # Safety
/// As the entry points say.
#[inline(always)]
unsafe fn for_tiles(modes: *const u8, tiles: u64, look_back: *mut u64, centered: *mut u64, each: impl Fn(u64, Option<u64>)) {
    let s = shared::dynamic::<MeansShared>();
    let (thread, lane) = (thread::thread_idx_x(), warp::lane_id());
    let first = u64::from(thread::block_idx_x()) * u64::from(MEANS_TILES) + u64::from(thread * OWN_TILES);
    // The thread's modes, two bits each.
    let mut bits = 0u32;
    let mut k = 0;
    while k < OWN_TILES && first + u64::from(k) < tiles {
        // SAFETY: modes of tiles that are there.
        bits |= u32::from(unsafe { *modes.add(((first + u64::from(k)) / 4) as usize) }) << (2 * k);
        k += 4;
    }
    let live =
        if first < tiles { if tiles - first < u64::from(OWN_TILES) { (tiles - first) as u32 } else { OWN_TILES } } else { 0 };
    let used = (1 << (2 * live)) - 1;
    let padding = bits & !used != 0;
    let own = (bits & used & 0xAAAA_AAAA).count_ones();
    let upto = warp_inclusive_sum(own);
    if lane == 31 {
        s.count.write((thread / 32) as usize, upto);
    }
    thread::sync_threads(); // count
    let (mut before, mut all, mut w) = (upto - own, 0, 0);
    while w < 8 {
        let count = s.count.read(w as usize);
        before += if w < thread / 32 { count } else { 0 };
        all += count;
        w += 1;
    }
    if thread < 32 {
        // SAFETY: the launch gives every block a word.
        let base = unsafe {
            if thread == 0 {
                look_back::publish(look_back, thread::block_idx_x(), all);
            }
            look_back::exclusive_sum(look_back, thread::block_idx_x(), all)
        };
        if thread == 0 {
            s.base.write(0, base);
        }
    }
    thread::sync_threads(); // base
    let mut place = u64::from(s.base.read(0)) + u64::from(before);
    if live > 0 && first + u64::from(live) == tiles {
        let padding = if padding { MODES_PADDING } else { 0 };
        // SAFETY: the caller's promise; one thread has the last tile.
        unsafe { *centered = padding | place + u64::from(own) };
    }
    let mut k = 0;
    while k < live {
        let has = bits >> (2 * k) & 2 != 0;
        each(first + u64::from(k), if has { Some(place) } else { None });
        place += u64::from(has);
        k += 1;
    }
}

/// The entry points, four per element size.
macro_rules! entry_points {
    ($($forward:ident, $pack:ident, $spread:ident, $inverse:ident, $word:literal;)*) => {$(
        /// Residuals and modes of an array, and a mean for every tile.
        ///
        /// # Safety
        /// Launched with [`ADAPTIVE_FORWARD`], one block per tile of `params.block`. `input` and `output` are 16-aligned and hold the elements, `modes`
        /// a byte for every four tiles, `tile_means` a mean for every tile. Nothing else touches the outputs until the launch is over.
        #[kernel(launch = ADAPTIVE_FORWARD)]
        pub unsafe fn $forward(
            input: *const U32x4,
            output: *mut U32x4,
            modes: *mut u8,
            tile_means: *mut U32x4,
            params: AdaptiveParams,
        ) {
            // SAFETY: the caller's promise.
            unsafe { forward::<$word>(input, output, modes, tile_means.cast(), &params) }
        }

        /// The means of the centered ones of `tiles` tiles one after another; `centered` becomes their number.
        ///
        /// # Safety
        /// Launched with [`ADAPTIVE_MEANS`], one block per [`MEANS_TILES`]. `modes` and `tile_means` as above; `means` holds a mean for every tile;
        /// `look_back` has a zero word per block. Nothing else touches the outputs until the launch is over.
        #[kernel(launch = ADAPTIVE_MEANS)]
        pub unsafe fn $pack(
            modes: *const u8,
            tile_means: *const U32x4,
            means: *mut U32x4,
            look_back: *mut u64,
            centered: *mut u64,
            tiles: u64,
        ) {
            // SAFETY: the caller's promise.
            unsafe {
                for_tiles(modes, tiles, look_back, centered, |tile, place| {
                    if let Some(place) = place {
                        put_mean::<$word>(means.cast(), place, get::<$word>(tile_means, tile as usize) as u32);
                    }
                })
            }
        }

        /// A mean for every one of `tiles` tiles, 0 where it is not centered; `centered` becomes the number of means that the modes ask for, which
        /// should be `means_held`: means that are not there count as 0.
        ///
        /// # Safety
        /// As above; `means` holds `means_held`.
        #[kernel(launch = ADAPTIVE_MEANS)]
        pub unsafe fn $spread(
            modes: *const u8,
            means: *const U32x4,
            means_held: u64,
            tile_means: *mut U32x4,
            look_back: *mut u64,
            centered: *mut u64,
            tiles: u64,
        ) {
            // SAFETY: the caller's promise.
            unsafe {
                for_tiles(modes, tiles, look_back, centered, |tile, place| {
                    let mean = match place {
                        Some(place) if place < means_held => get::<$word>(means, place as usize) as u32,
                        _ => 0,
                    };
                    put_mean::<$word>(tile_means.cast(), tile, mean);
                })
            }
        }

        /// The array again.
        ///
        /// # Safety
        /// Launched with [`ADAPTIVE_INVERSE`], one block per tile of `params.block`; buffers as above.
        #[kernel(launch = ADAPTIVE_INVERSE)]
        pub unsafe fn $inverse(
            input: *const U32x4,
            modes: *const u8,
            tile_means: *const U32x4,
            output: *mut U32x4,
            params: AdaptiveParams,
        ) {
            // SAFETY: the caller's promise.
            unsafe { inverse::<$word>(input, modes, tile_means, output, &params) }
        }
    )*};
}

entry_points! {
    adaptive_lorenzo_forward_w2, adaptive_lorenzo_pack_w2, adaptive_lorenzo_spread_w2, adaptive_lorenzo_inverse_w2, 2;
    adaptive_lorenzo_forward_w4, adaptive_lorenzo_pack_w4, adaptive_lorenzo_spread_w4, adaptive_lorenzo_inverse_w4, 4;
}
