//! Forward, 2-D: a warp has eight skewed rows of 512 bytes (480 where rows are no whole units) and reads the one above them, too.
//!
//! | step | does |
//! |---|---|
//! | load | nine rows, all in flight at once |
//! | y | each row minus the one above, moved up by `row_shift` bytes |
//! | x | each element minus the one in front, which for a lane's first one is in the lane below |
//!
//! Where rows are whole units there is nothing to shift, and the element in front of the warp's first lane is read by itself: for all
//! nine rows by nine lanes at once. Else the two lowest lanes only serve the others.

use super::super::packed::{Lane, keep, lane_of, last, shift_in, sub, vector_of};
use super::times;
use super::units::{Units, element_from, element_from_below, get, shift_up};
use cuda_std::{bits::shl_clamp, global, kernel, thread, vector::U32x4, warp};
use shared_types::lorenzo_nd::{FORWARD_PLANE, ForwardParams, PLANE_ROWS, SHIFTED_LANES};

const ROWS: usize = PLANE_ROWS as usize;
const _: () = assert!(ROWS == 8);

/// The kernel for elements of `W` bytes.
///
/// # Safety
/// As the entry points say.
#[inline(always)]
unsafe fn plane<const W: u32, const ALIGNED: bool>(input: *const U32x4, output: *mut U32x4, params: &ForwardParams) {
    let lanes = u64::from(if ALIGNED { 32 } else { SHIFTED_LANES });
    let warps = FORWARD_PLANE.warps();
    let warp_index = u64::from(thread::block_idx_x()) * u64::from(warps) + u64::from(thread::thread_idx_x() / 32);
    if warp_index >= params.warps {
        return;
    }
    let tile = params.strips.divide(warp_index);
    let strip = warp_index - tile * u64::from(params.strip_count);
    // The unit of lane 0 in the row above; before the array's begin it wraps around.
    let above = (tile * ROWS as u64).wrapping_sub(1);
    let corner = above.wrapping_mul(params.pitch_units).wrapping_add(strip * lanes).wrapping_sub(32 - lanes);
    let end = (tile * ROWS as u64 + ROWS as u64 - 1) * params.pitch_units + strip * lanes + lanes;
    // SAFETY: the caller's promise.
    unsafe {
        if tile > 0 && end <= params.bytes / 16 {
            rows::<W, ALIGNED, false>(input, output, params, corner, strip * lanes);
        } else {
            rows::<W, ALIGNED, true>(input, output, params, corner, strip * lanes);
        }
    }
}

/// The rows from `corner` on, which is in the row above them; the warp's first column is `column`. At an `EDGE` of the array, not
/// all units need be there.
///
/// # Safety
/// As the entry points say, and without `EDGE` all units of the rows are in the array.
#[inline(always)]
unsafe fn rows<const W: u32, const ALIGNED: bool, const EDGE: bool>(
    input: *const U32x4,
    output: *mut U32x4,
    params: &ForwardParams,
    corner: u64,
    column: u64,
) {
    let lane = warp::lane_id();
    let units = Units::of(params.bytes);
    let pitch = params.pitch_units;
    let first = corner.wrapping_add(u64::from(lane));
    let unit = |row: usize| first.wrapping_add((row as u64).wrapping_mul(pitch));
    let mut plain = [[0; 4]; ROWS + 1];
    times!(9, I => plain[I] = if EDGE {
        // SAFETY: the caller's promise.
        unsafe { units.load::<W, false>(input, unit(I)) }
    } else {
        // SAFETY: the caller's promise.
        unsafe { lane_of(global::load_streaming_v4(input.add(unit(I) as usize))) }
    });
    // What stands in front of row `l` of the warp, in lane `l`: after the difference along y.
    let mut front_of_rows = 0;
    if ALIGNED {
        let at = corner.wrapping_add(u64::from(lane).wrapping_mul(pitch)).wrapping_mul(16).wrapping_sub(u64::from(W));
        let mut front = 0;
        if lane <= ROWS as u32 && (!EDGE || at < params.bytes) {
            // SAFETY: tested, or by the caller's promise: the unit behind it is in the array, and not its first one.
            front = unsafe { get::<W>(input.cast::<u8>().add(at as usize)) };
        }
        front_of_rows = front.wrapping_sub(element_from_below::<W>(front));
    }
    // Which lanes write: the units of the strip that are in the row.
    let place = column + u64::from(lane);
    let writes =
        if ALIGNED { place < pitch } else { lane >= 32 - SHIFTED_LANES && place - u64::from(32 - SHIFTED_LANES) < pitch };
    let mut x = if ALIGNED { 0 } else { params.nx.divide_narrow(unit(1).wrapping_mul(u64::from(16 / W))).1 as u32 };
    let nx = params.nx.value() as u32;
    let step = params.row_shift / W;
    times!(8, I => {
        let above = if ALIGNED { plain[I] } else { shift_up::<W>(plain[I], params.row_shift) };
        let down: Lane = sub::<W>(plain[I + 1], above);
        let mut left = element_from_below::<W>(last::<W>(down));
        if ALIGNED {
            let front = element_from::<W>(front_of_rows, I as u32 + 1);
            left = if lane == 0 { front } else { left };
        }
        let mut front = shift_in::<W>(down, left);
        let first_column = if ALIGNED {
            u32::from(place == 0)
        } else {
            u32::from(x == 0) | shl_clamp(1, nx.wrapping_sub(x))
        };
        if first_column != 0 {
            front = keep::<W>(front, !first_column);
        }
        let residuals = sub::<W>(down, front);
        if writes {
            if EDGE {
                // SAFETY: the caller's promise; no other lane has the unit.
                unsafe { units.store::<W>(output, unit(I + 1), residuals) };
            } else {
                // SAFETY: as above.
                unsafe { global::store_streaming_v4(output.add(unit(I + 1) as usize), vector_of(residuals)) };
            }
        }
        if !ALIGNED {
            x = if x >= step { x - step } else { x + (nx - step) };
        }
    });
}

/// The entry points, one per element size and kind.
macro_rules! entry_points {
    ($($name:ident, $w:literal, $aligned:literal;)*) => {$(
        /// Differences along x and y.
        ///
        /// # Safety
        /// Launched as `Forward::plan` says. `input` and `output` are 16-aligned and hold `params.bytes`; nothing else touches the
        /// output, and nothing writes the input, until the launch is over.
        #[kernel(launch = FORWARD_PLANE)]
        pub unsafe fn $name(input: *const U32x4, output: *mut U32x4, params: ForwardParams) {
            // SAFETY: the caller's promise.
            unsafe { plane::<$w, $aligned>(input, output, &params) }
        }
    )*};
}

entry_points! {
    lorenzo_nd_plane_w1, 1, false;
    lorenzo_nd_plane_w2, 2, false;
    lorenzo_nd_plane_w4, 4, false;
    lorenzo_nd_plane_w8, 8, false;
    lorenzo_nd_plane_w1_aligned, 1, true;
    lorenzo_nd_plane_w2_aligned, 2, true;
    lorenzo_nd_plane_w4_aligned, 4, true;
    lorenzo_nd_plane_w8_aligned, 8, true;
}
