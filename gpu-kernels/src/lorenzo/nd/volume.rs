//! Forward, 3-D: a warp has four skewed rows as in [`super::plane`] and goes with them from plane to plane.
//!
//! | step | does |
//! |---|---|
//! | load | five rows of the next plane, while this one is worked on |
//! | z | each row minus the one in the plane before, which is still in registers, moved up by `plane_shift` bytes |
//! | y, x | as in 2-D |
//!
//! The first row of a plane has the last one of the plane before above it in memory, and must not see it.

use super::super::packed::{Lane, keep, lane_of, last, shift_in, sub, vector_of};
use super::times;
use super::units::{Units, element_from, element_from_below, get, shift_up};
use cuda_std::{bits::shl_clamp, global, kernel, thread, vector::U32x4, warp};
use shared_types::lorenzo_nd::{FORWARD_VOLUME, ForwardParams, SHIFTED_LANES, VOLUME_ROWS};

const ROWS: usize = VOLUME_ROWS as usize;
const _: () = assert!(ROWS == 4);

/// A warp's part of the array.
#[derive(Clone, Copy)]
struct Column {
    /// The unit of lane 0 in the row above the tile, in the plane before the first one. Before the array's begin it wraps around.
    corner: u64,
    /// The tile's first row in its plane, and the first of the columns that the strip's lanes write, in units.
    row: u64,
    column: u64,
    /// How many planes.
    depth: u32,
}

/// The kernel for elements of `W` bytes.
///
/// # Safety
/// As the entry points say.
#[inline(always)]
unsafe fn volume<const W: u32, const ALIGNED: bool>(input: *const U32x4, output: *mut U32x4, params: &ForwardParams) {
    let lanes = u64::from(if ALIGNED { 32 } else { SHIFTED_LANES });
    let warps = FORWARD_VOLUME.warps();
    let warp_index = u64::from(thread::block_idx_x()) * u64::from(warps) + u64::from(thread::thread_idx_x() / 32);
    if warp_index >= params.warps {
        return;
    }
    let stack = params.strips.divide(warp_index);
    let strip = warp_index - stack * u64::from(params.strip_count);
    let chunk = params.tiles.divide(stack);
    let tile = stack - chunk * u64::from(params.tile_count);
    let first_plane = chunk * u64::from(params.depth);
    let left = params.planes - first_plane;
    let depth = if left < u64::from(params.depth) { left as u32 } else { params.depth };
    let row = tile * ROWS as u64;
    let corner = first_plane
        .wrapping_sub(1)
        .wrapping_mul(params.plane_units)
        .wrapping_add(row.wrapping_sub(1).wrapping_mul(params.pitch_units))
        .wrapping_add(strip * lanes)
        .wrapping_sub(32 - lanes);
    let warp = Column { corner, row, column: strip * lanes, depth };
    let last_plane = (first_plane + u64::from(depth) - 1) * params.plane_units;
    let end = last_plane + (row + ROWS as u64 - 1) * params.pitch_units + strip * lanes + lanes;
    // SAFETY: the caller's promise.
    unsafe {
        if chunk > 0 && end <= params.bytes / 16 {
            planes::<W, ALIGNED, false>(input, output, params, warp);
        } else {
            planes::<W, ALIGNED, true>(input, output, params, warp);
        }
    }
}

/// What a warp has of one plane.
#[derive(Clone, Copy)]
struct Slice {
    rows: [Lane; ROWS + 1],
    /// Lane `l`: the element in front of row `l`, where lane 0 has no lanes below that serve it.
    fronts: u64,
}

impl Slice {
    /// The slice whose first lane has unit `corner` in the row above the tile.
    ///
    /// # Safety
    /// As for [`planes`].
    #[inline(always)]
    unsafe fn load<const W: u32, const ALIGNED: bool, const EDGE: bool>(
        input: *const U32x4,
        params: &ForwardParams,
        corner: u64,
        first_row: bool,
    ) -> Self {
        let lane = warp::lane_id();
        let units = Units::of(params.bytes);
        let pitch = params.pitch_units;
        let unit = |row: usize| corner.wrapping_add(u64::from(lane)).wrapping_add((row as u64).wrapping_mul(pitch));
        let mut slice = Self { rows: [[0; 4]; ROWS + 1], fronts: 0 };
        times!(5, I => {
            if I > 0 || !ALIGNED || !first_row {
                slice.rows[I] = if EDGE {
                    // SAFETY: the caller's promise.
                    unsafe { units.load::<W, false>(input, unit(I)) }
                } else {
                    // SAFETY: as above.
                    unsafe { lane_of(global::load_streaming_v4(input.add(unit(I) as usize))) }
                };
            }
        });
        if ALIGNED {
            let at = corner.wrapping_add(u64::from(lane).wrapping_mul(pitch)).wrapping_mul(16).wrapping_sub(u64::from(W));
            if lane <= ROWS as u32 && !(first_row && lane == 0) && (!EDGE || at < params.bytes) {
                // SAFETY: tested, or by the caller's promise: the unit behind it is in the array, and not its first one.
                slice.fronts = unsafe { get::<W>(input.cast::<u8>().add(at as usize)) };
            }
        }
        slice
    }
}

/// All planes of a warp. At an `EDGE` of the array, not all units need be there.
///
/// # Safety
/// As the entry points say, and without `EDGE` all units of the rows are in the array.
#[inline(always)]
unsafe fn planes<const W: u32, const ALIGNED: bool, const EDGE: bool>(
    input: *const U32x4,
    output: *mut U32x4,
    params: &ForwardParams,
    warp: Column,
) {
    let lane = warp::lane_id();
    let units = Units::of(params.bytes);
    let pitch = params.pitch_units;
    let first_row = warp.row == 0;
    let mut corner = warp.corner;
    // SAFETY: the caller's promise.
    let mut before = unsafe { Slice::load::<W, ALIGNED, EDGE>(input, params, corner, first_row) };
    corner = corner.wrapping_add(params.plane_units);
    // SAFETY: as above.
    let mut next = unsafe { Slice::load::<W, ALIGNED, EDGE>(input, params, corner, first_row) };

    // Which lanes write which rows (bit `i` for row `i`): the units of the strip that are in the row and in the plane.
    let served = if ALIGNED { 0 } else { 32 - SHIFTED_LANES };
    let place = (warp.column + u64::from(lane)).wrapping_sub(u64::from(served));
    let mut writes = 0;
    times!(4, I => {
        let in_plane = ((warp.row + I as u64) * pitch).wrapping_add(place) < params.plane_units;
        writes |= u32::from(lane >= served && place < pitch && in_plane) << I;
    });

    // Where the lane's unit of the first row begins. A plane more changes nothing, and keeps the number from being negative.
    let (nx, ny) = (params.nx.value() as u32, params.ny.value() as u32);
    let (row_step, plane_step) = (params.row_shift / W, params.plane_shift / W);
    let (mut plane_x, mut plane_y) = (0, 0);
    if !ALIGNED {
        let element = corner.wrapping_add(u64::from(lane)).wrapping_add(pitch).wrapping_mul(u64::from(16 / W));
        let (row, x) = params.nx.divide_narrow(element.wrapping_add(params.plane_bytes / u64::from(W)));
        (plane_x, plane_y) = (x as u32, params.ny.divide_narrow(row).1 as u32);
    }

    let mut left_planes = warp.depth;
    while left_planes > 0 {
        let slice = next;
        let first = corner.wrapping_add(u64::from(lane)).wrapping_add(pitch);
        corner = corner.wrapping_add(params.plane_units);
        left_planes -= 1;
        if left_planes > 0 {
            // SAFETY: as above.
            next = unsafe { Slice::load::<W, ALIGNED, EDGE>(input, params, corner, first_row) };
        }
        let mut deep = [[0; 4]; ROWS + 1];
        times!(5, I => {
            let behind = if ALIGNED { before.rows[I] } else { shift_up::<W>(before.rows[I], params.plane_shift) };
            deep[I] = sub::<W>(slice.rows[I], behind);
        });
        let mut fronts = 0;
        if ALIGNED {
            let deep = slice.fronts.wrapping_sub(before.fronts);
            fronts = deep.wrapping_sub(element_from_below::<W>(deep));
        }
        let (mut x, mut y) = (plane_x, plane_y);
        times!(4, I => {
            let mut above = deep[I];
            let mut first_column = u32::from(ALIGNED && place == 0);
            if !ALIGNED {
                above = shift_up::<W>(above, params.row_shift);
                let left = nx - x;
                first_column = u32::from(x == 0) | shl_clamp(1, left);
                // The elements up to the row's end, if there is one in the unit, are in row `y`, the others in the next one.
                let upto = shl_clamp(1, left).wrapping_sub(1);
                let top = if y == 0 { upto } else { 0 } | if y == ny - 1 { !upto } else { 0 };
                if top != 0 {
                    above = keep::<W>(above, !top);
                }
            }
            let down = sub::<W>(deep[I + 1], above);
            let mut left = element_from_below::<W>(last::<W>(down));
            if ALIGNED {
                let front = element_from::<W>(fronts, I as u32 + 1);
                left = if lane == 0 { front } else { left };
            }
            let mut front = shift_in::<W>(down, left);
            if first_column != 0 {
                front = keep::<W>(front, !first_column);
            }
            let residuals = sub::<W>(down, front);
            if writes >> I & 1 != 0 {
                let unit = first.wrapping_add((I as u64).wrapping_mul(pitch));
                if EDGE {
                    // SAFETY: the caller's promise; no other lane has the unit.
                    unsafe { units.store::<W>(output, unit, residuals) };
                } else {
                    // SAFETY: as above.
                    unsafe { global::store_streaming_v4(output.add(unit as usize), vector_of(residuals)) };
                }
            }
            if !ALIGNED {
                if x >= row_step {
                    x -= row_step;
                    y = if y == ny - 1 { 0 } else { y + 1 };
                } else {
                    x += nx - row_step;
                }
            }
        });
        if !ALIGNED {
            if plane_x >= plane_step {
                plane_x -= plane_step;
            } else {
                plane_x += nx - plane_step;
                plane_y = if plane_y == 0 { ny - 1 } else { plane_y - 1 };
            }
        }
        before = slice;
    }
}

/// The entry points, one per element size and kind.
macro_rules! entry_points {
    ($($name:ident, $w:literal, $aligned:literal;)*) => {$(
        /// Differences along x, y and z.
        ///
        /// # Safety
        /// Launched as `Forward::plan` says. `input` and `output` are 16-aligned and hold `params.bytes`; nothing else touches the
        /// output, and nothing writes the input, until the launch is over.
        #[kernel(launch = FORWARD_VOLUME)]
        pub unsafe fn $name(input: *const U32x4, output: *mut U32x4, params: ForwardParams) {
            // SAFETY: the caller's promise.
            unsafe { volume::<$w, $aligned>(input, output, &params) }
        }
    )*};
}

entry_points! {
    lorenzo_nd_volume_w1, 1, false;
    lorenzo_nd_volume_w2, 2, false;
    lorenzo_nd_volume_w4, 4, false;
    lorenzo_nd_volume_w8, 8, false;
    lorenzo_nd_volume_w1_aligned, 1, true;
    lorenzo_nd_volume_w2_aligned, 2, true;
    lorenzo_nd_volume_w4_aligned, 4, true;
    lorenzo_nd_volume_w8_aligned, 8, true;
}
