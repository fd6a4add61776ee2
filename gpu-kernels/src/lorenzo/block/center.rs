//! The means of the segments, then differences with the mean in front of each segment: one read, one write.
//!
//! | phase | does | leaves behind |
//! |---|---|---|
//! | sum | each segment's sum, in the lane that has its last element | |
//! | mean | sums to rounded means | `means` |
//! | difference | each segment's first element from the mean, all others from the one before | the output |

use super::super::packed::{Lane, element, keep, mask, pack, shift_in, signed_sum, sub};
use super::difference::{differences, plain_differences};
use super::scan::{Carry, Exchange, RowScan, scan_row};
use super::tile::{Place, Tile};
use super::{LINES, for_lines};
use cuda_std::{
    bits::byte_permute,
    kernel,
    shared::{self, SharedArray, SharedValue},
    thread,
    vector::U32x4,
};
use shared_types::lorenzo::{BlockParams, CENTER, CENTER_SMALL, TILE_BYTES};

/// An unsigned number of an element's size.
pub(crate) trait Bits: SharedValue + 'static {
    /// The lowest bits of `x`.
    fn cut(x: u64) -> Self;
    /// The number.
    fn wide(self) -> u64;
}

macro_rules! bits {
    ($($type:ty),*) => {$(
        impl Bits for $type {
            #[inline(always)]
            fn cut(x: u64) -> Self {
                x as Self
            }
            #[inline(always)]
            fn wide(self) -> u64 {
                self as u64
            }
        }
    )*};
}
bits!(u8, u16, u32, u64);

/// Shared memory of one block: `N` is `TILE_BYTES` over the size of `T`.
#[repr(C, align(16))]
struct CenterShared<T, const N: usize> {
    exchange: Exchange,
    means: SharedArray<T, N>,
}
const _: () = assert!(size_of::<CenterShared<u64, { TILE_BYTES as usize / 8 }>>() <= CENTER.shared_bytes as usize);

/// The rounded mean of a segment whose elements add up to `sum`.
#[inline(always)]
fn mean<const W: u32>(sum: u64, last: bool, params: &BlockParams) -> u64 {
    let half = if last { params.last_length } else { params.length } / 2;
    if W <= 2 {
        // At most 1024 * 2^15 in 32 bits.
        let sum = sum as u32 as i32;
        let divisor = if last { params.last_position } else { params.position };
        let quotient = divisor.divide(sum.unsigned_abs() + half);
        return if sum < 0 { 0u32.wrapping_sub(quotient) } else { quotient }.into();
    }
    // The rounded sum may have wrapped, and with it changed its sign.
    let half = u64::from(half);
    let rounded = if (sum as i64) < 0 { sum.wrapping_sub(half) } else { sum.wrapping_add(half) } as i64;
    let quotient = if last { params.last_mean } else { params.mean }.divide(rounded.unsigned_abs());
    if rounded < 0 { 0u64.wrapping_sub(quotient) } else { quotient }
}

/// Calls `set` with the number in the tile and the mean of every segment, in the lane that has its last element. All threads of a block
/// call this; `last_segment` is the number of the array's last segment.
#[inline(always)]
pub(crate) fn segment_means<const W: u32, const ALIGNED: bool>(
    rows: &[Lane; LINES],
    places: &[Place; LINES],
    tile: Tile<W>,
    exchange: &Exchange,
    params: &BlockParams,
    last_segment: u64,
    set: impl Fn(u32, u64),
) {
    // Sum: what each lane has from its last start on.
    let mut scans = [RowScan::default(); LINES];
    let mut carry = Carry::default();
    for_lines!(I => {
        let starts = places[I].starts & ((1 << Tile::<W>::LANE) - 1);
        let (own, begins) = if ALIGNED {
            (signed_sum::<W>(rows[I]), places[I].position == 0)
        } else {
            // The bits from the highest start on; all where there is none.
            let from = if starts == 0 { u32::MAX } else { u32::MAX << (31 - starts.leading_zeros()) };
            (signed_sum::<W>(keep::<W>(rows[I], from)), starts != 0)
        };
        scans[I] = if W <= 2 { scan_row::<true>(own, begins) } else { scan_row::<false>(own, begins) };
        carry = scans[I].next(carry);
    });
    let mut carry = if params.independent != 0 { Carry::default() } else { exchange.incoming(0, carry) };
    // Mean: where a segment ends.
    for_lines!(I => {
        let (incoming, next) = scans[I].chain(carry);
        carry = next;
        let place = places[I];
        let have = tile.have(I);
        // Element `k` is its segment's last one if the next one is a start, or is not there.
        let is_end = tile.at + I as u32 * Tile::<W>::ROW + have == tile.live;
        if ALIGNED {
            if have > 0 && (place.position + Tile::<W>::LANE == params.length || is_end) {
                let sum = signed_sum::<W>(rows[I]).wrapping_add(if place.position == 0 { 0 } else { incoming });
                let last = u64::from(place.segment) == last_segment;
                set(place.segment, mean::<W>(sum, last, params));
            }
        } else {
            let there = (1u32 << have) - 1;
            let mut ends = place.starts >> 1 & there;
            if is_end && have > 0 {
                ends |= 1 << (have - 1);
            }
            // The bits of the segment's elements in this lane; only those of a segment that began before have `incoming`.
            let (mut done, mut segment) = (0, place.segment);
            let mut before = if place.position == 0 { 0 } else { incoming };
            while ends != 0 {
                let upto = ends ^ (ends - 1);
                let sum = signed_sum::<W>(keep::<W>(rows[I], upto & !done)).wrapping_add(before);
                let last = u64::from(segment) == last_segment;
                set(segment, mean::<W>(sum, last, params));
                done = upto;
                segment += 1;
                before = 0;
                ends &= ends - 1;
            }
        }
    });
}

/// The kernel for elements of `W` bytes, of type `T` without sign; `N` is `TILE_BYTES / W`.
///
/// # Safety
/// As the entry points say.
#[inline(always)]
unsafe fn center<T: Bits, const N: usize, const W: u32, const ALIGNED: bool>(
    input: *const U32x4,
    output: *mut U32x4,
    means: *mut T,
    params: &BlockParams,
) {
    let s = shared::dynamic::<CenterShared<T, N>>();
    let tile = Tile::<W>::own(params);
    let mut rows = [[0; 4]; LINES];
    // SAFETY: the caller's promise.
    for_lines!(I => rows[I] = unsafe { tile.load(I, input) });
    // SAFETY: as above.
    let before = unsafe { tile.before(input) };
    let mut places = [tile.first_place(params); LINES];
    for_lines!(I => if I > 0 { places[I] = places[I - 1].next(params) });

    let first_segment = u64::from(thread::block_idx_x()) * u64::from(params.tile_segments);
    let tile_segments = {
        let rest = params.segments - first_segment;
        if rest < u64::from(params.tile_segments) { rest as u32 } else { params.tile_segments }
    };
    // The number of the array's last segment, if it is in this tile.
    let last_segment = params.segments - 1 - first_segment;

    segment_means::<W, ALIGNED>(&rows, &places, tile, &s.exchange, params, last_segment, |segment, mean| {
        s.means.write(segment as usize, T::cut(mean));
    });
    thread::sync_threads(); // means

    // Difference.
    let live = tile_segments;
    let at_start = |place: Place, number: u32| {
        let segment = place.segment + number + u32::from(!ALIGNED && place.position != 0);
        // Behind the array's end are no means.
        if segment < live { s.means.read(segment as usize).wide() } else { 0 }
    };
    // The element in front of the warp's rows, as its own warp sees it after the first time.
    let first = places[0];
    let reference = if first.position != 1 {
        before[1]
    } else if first.segment < live {
        s.means.read(first.segment as usize).wide()
    } else {
        0
    };
    let second = before[0].wrapping_sub(reference);
    differences::<W, ALIGNED>(&mut rows, &places, before[0], Some(at_start));
    if params.order == 2 {
        plain_differences::<W, ALIGNED>(&mut rows, &places, second);
    }
    for_lines!(I => {
        // SAFETY: as above.
        unsafe { tile.store(I, output, rows[I]) };
    });
    let mut segment = thread::thread_idx_x();
    while segment < tile_segments {
        // SAFETY: the tile's segments have means.
        unsafe { *means.add((first_segment + u64::from(segment)) as usize) = s.means.read(segment as usize) };
        segment += CENTER.threads;
    }
}

/// The kernel for segments of a power of two of elements that are shorter than a lane's 16 bytes.
///
/// # Safety
/// As the entry points say.
#[inline(always)]
unsafe fn center_small<const W: u32>(input: *const U32x4, output: *mut U32x4, means: *mut u8, params: &BlockParams) {
    let tile = Tile::<W>::own(params);
    let mut rows = [[0; 4]; LINES];
    // SAFETY: the caller's promise.
    for_lines!(I => rows[I] = unsafe { tile.load(I, input) });
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
        // SAFETY: as above.
        unsafe { tile.store(I, output, v) };
    });
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
    for j in 0..lane / B {
        let mut sum = 0u64;
        for k in 0..B {
            sum = sum.wrapping_add(signed(j * B + k));
        }
        // Only the array's very last segment can be shorter.
        let last = at + (j * B) as u32 + B as u32 > tile.live;
        packed[j] = if B == 1 { element::<W>(v, j) } else { mean::<W>(sum, last, params) };
        for k in 0..B {
            spread[j * B + k] = packed[j];
        }
    }
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

/// The entry points, one per element size and kind.
macro_rules! entry_points {
    ($($name:ident, $type:ty, $aligned:literal;)*) => {$(
        /// Means of segments, and differences inside segments from them, once or twice.
        ///
        /// # Safety
        /// Launched with [`CENTER`], one block per tile. `input` and `output` are 16-aligned and hold `params.elements`
        /// elements, `means` holds `params.segments`; nothing else touches the outputs until the launch is over.
        #[kernel(launch = CENTER)]
        pub unsafe fn $name(input: *const U32x4, output: *mut U32x4, means: *mut U32x4, params: BlockParams) {
            const W: usize = size_of::<$type>();
            // SAFETY: the caller's promise.
            unsafe { center::<$type, { TILE_BYTES as usize / W }, { W as u32 }, $aligned>(input, output, means.cast(), &params) }
        }
    )*};
}

entry_points! {
    lorenzo_center_w1_aligned, u8, true;
    lorenzo_center_w2_aligned, u16, true;
    lorenzo_center_w4_aligned, u32, true;
    lorenzo_center_w8_aligned, u64, true;
    lorenzo_center_w1_any, u8, false;
    lorenzo_center_w2_any, u16, false;
    lorenzo_center_w4_any, u32, false;
    lorenzo_center_w8_any, u64, false;
}

/// The entry points for small segments.
macro_rules! small_entry_points {
    ($($name:ident, $word:literal;)*) => {$(
        /// Means of small segments, and differences inside segments from them, once or twice.
        ///
        /// # Safety
        /// As of the kernels above; `means` is 16-aligned.
        #[kernel(launch = CENTER_SMALL)]
        pub unsafe fn $name(input: *const U32x4, output: *mut U32x4, means: *mut U32x4, params: BlockParams) {
            // SAFETY: the caller's promise.
            unsafe { center_small::<$word>(input, output, means.cast(), &params) }
        }
    )*};
}

small_entry_points! {
    lorenzo_center_w1_small, 1;
    lorenzo_center_w2_small, 2;
    lorenzo_center_w4_small, 4;
    lorenzo_center_w8_small, 8;
}
