//! Inverse, second reading: sums along x, y and z at once.
//!
//! Sums along y and z are element by element, and along x they are linear, so a warp adds up rows as they are (with the slots of what
//! stands above and behind to begin with) and scans along x last. What stands to the left adds one number to each row, which is
//! summed along y and z in the same way, by one lane per row.

use super::super::packed::{Lane, add, lane_of};
use super::sheet::{LOADS, Memory, RowSums, Strip, Tiles, anew, carry, lane_sums, rows_at_once, slot, warp_of_grid};
use super::times;
use super::units::element_from;
use cuda_std::{global, kernel, shared, vector::U32x4, warp};
use shared_types::lorenzo_nd::{InverseParams, PLANE_SUMS, TILE_ROWS, VOLUME_SUMS};

// A lane for each row of a tile, and one for the columns above it.
const _: () = assert!(LOADS == 8 && TILE_ROWS < 32);

/// 2-D: each row is a plane.
///
/// # Safety
/// As the entry points say.
#[inline(always)]
unsafe fn plane<const W: u32, const ALIGNED: bool>(memory: Memory, params: &InverseParams) {
    let warp_index = warp_of_grid();
    if warp_index >= params.warps {
        return;
    }
    let (chunk, strip) = params.strips.divide_narrow(warp_index);
    let strip_of_lane = Strip::<W, ALIGNED>::new(strip, params);
    let lane = warp::lane_id();
    // SAFETY: the caller's promise.
    let (source, target) = unsafe { (memory.at(params.source), memory.at(params.target)) };
    let mut row = chunk * params.depth;
    let end = if params.planes - row < params.depth { params.planes } else { row + params.depth };
    let at_once = rows_at_once(ALIGNED);
    // All rows above: their columns, and what they have to the left.
    let mut above: Lane = [0; 4];
    let mut left = 0u64;
    if chunk > 0 {
        // SAFETY: every chunk and strip has a slot, and every chunk's face totals.
        unsafe {
            above = lane_of(global::load_v4(slot(memory, params.faces, chunk * params.strips.value() + strip)));
            left = carry::<W>(memory, params, strip, params.face_lines + chunk);
        }
    }
    while row < end {
        let rest = end - row;
        let rows = if rest < at_once as u64 { rest as u32 } else { at_once as u32 };
        let (first, step) = (row * params.row_bytes, anew(params.row_bytes));
        let mut parts = [[0; 4]; LOADS];
        times!(8, I => {
            let (i, part) = if ALIGNED { (I as u32, 0) } else { (I as u32 / 2, I as u64 % 2) };
            if i < rows {
                // SAFETY: the caller's promise; the row is in the array.
                parts[I] = unsafe { strip_of_lane.load(source, first + u64::from(i) * step, part) };
            }
        });
        let first = anew(first);
        let mut own = 0;
        if lane < rows {
            // SAFETY: every row has totals.
            own = unsafe { carry::<W>(memory, params, strip, row + u64::from(lane)) };
        }
        let lefts = lane_sums::<W, 8>(own);
        times!(8, I => {
            if ALIGNED || I % 2 == 0 {
                let i = if ALIGNED { I } else { I / 2 };
                let start = first + i as u64 * step;
                let v = Strip::<W, ALIGNED>::settle(start, [parts[I], parts[I | usize::from(!ALIGNED)]]);
                above = add::<W>(above, v);
                let sums = RowSums::of::<W>(above).after::<W>(left.wrapping_add(element_from::<W>(lefts, i as u32)));
                if (i as u32) < rows {
                    // SAFETY: the caller's promise; the strip of this row is this warp's.
                    unsafe { strip_of_lane.store(target, start, sums) };
                }
            }
        });
        left = left.wrapping_add(element_from::<W>(lefts, at_once as u32 - 1));
        row += at_once as u64;
    }
}

/// A warp's tile in 3-D: what all planes up to one have to the left.
struct Stack<const W: u32> {
    strip: u64,
    tile: u64,
    /// The rows of the tile that exist.
    rows: u32,
    /// Lane `l`: what row `l - 1` has to the left, summed up likewise.
    left: u64,
}

impl<const W: u32> Stack<W> {
    /// Begins a plane: the columns above the tile. `line` is that of the tile's first row, `plane` the number among the columns.
    ///
    /// # Safety
    /// There are such totals and such columns.
    #[inline(always)]
    unsafe fn begin(&mut self, memory: Memory, params: &InverseParams, line: u64, plane: u64) -> Lane {
        let lane = warp::lane_id();
        let tiled = plane * params.tiles.value() + self.tile;
        let mut column = [0; 4];
        let mut own = 0;
        // SAFETY: the caller's word; the first tile has nothing above it.
        unsafe {
            if lane > 0 && lane <= self.rows {
                own = carry::<W>(memory, params, self.strip, line + u64::from(lane) - 1);
            }
            if self.tile > 0 {
                if lane == 0 {
                    own = carry::<W>(memory, params, self.strip, params.column_lines + tiled);
                }
                let at = tiled * params.strips.value() + self.strip;
                column = lane_of(global::load_v4(slot(memory, params.columns, at)));
            }
        }
        self.left = self.left.wrapping_add(lane_sums::<W, 32>(own));
        column
    }
}

/// 3-D.
///
/// # Safety
/// As the entry points say.
#[inline(always)]
unsafe fn volume<const W: u32, const ALIGNED: bool>(memory: Memory, params: &InverseParams) {
    let warp_index = warp_of_grid();
    if warp_index >= params.warps {
        return;
    }
    let (stack, strip) = params.strips.divide_narrow(warp_index);
    let (chunk, tile) = params.tiles.divide_narrow(stack);
    let strip_of_lane = Strip::<W, ALIGNED>::new(strip, params);
    let strips = params.strips.value();
    // SAFETY: the caller's promise.
    let (source, target) = unsafe { (memory.at(params.source), memory.at(params.target)) };
    let mut plane = chunk * params.depth;
    let end = if params.planes - plane < params.depth { params.planes } else { plane + params.depth };
    let first_row = tile * TILE_ROWS;
    let rows = if params.rows - first_row < TILE_ROWS { (params.rows - first_row) as u32 } else { TILE_ROWS as u32 };
    let mut stack = Stack::<W> { strip, tile, rows, left: 0 };
    // Each row, summed up along y and z.
    let behind = shared::dynamic::<Tiles>();
    let mut row = 0;
    if chunk > 0 {
        let first_row = chunk * params.rows + first_row;
        // SAFETY: every chunk has a face: slots, totals and columns.
        let mut column = unsafe { stack.begin(memory, params, params.face_lines + first_row, params.face_planes + chunk) };
        while row < rows {
            let at = (first_row + u64::from(row)) * strips + strip;
            // SAFETY: as above.
            column = add::<W>(column, unsafe { lane_of(global::load_v4(slot(memory, params.faces, at))) });
            behind.write(row, column);
            row += 1;
        }
    }
    while row < TILE_ROWS as u32 {
        behind.write(row, [0; 4]);
        row += 1;
    }
    let at_once = rows_at_once(ALIGNED) as u32;
    while plane < end {
        let line = plane * params.rows + first_row;
        // SAFETY: every row has totals, every plane columns.
        let mut column = unsafe { stack.begin(memory, params, line, plane) };
        let mut row = 0;
        while row < rows {
            let (first, step) = ((line + u64::from(row)) * params.row_bytes, anew(params.row_bytes));
            let mut parts = [[0; 4]; LOADS];
            times!(8, I => {
                let (i, part) = if ALIGNED { (I as u32, 0) } else { (I as u32 / 2, I as u64 % 2) };
                if row + i < rows {
                    // SAFETY: the caller's promise; the row is in the array.
                    parts[I] = unsafe { strip_of_lane.load(source, first + u64::from(i) * step, part) };
                }
            });
            let first = anew(first);
            times!(8, I => {
                let i = if ALIGNED { row + I as u32 } else { row + I as u32 / 2 };
                // Rows that do not exist are zeros, and are not written.
                if ALIGNED || I % 2 == 0 {
                    let start = first + u64::from(i - row) * step;
                    let v = Strip::<W, ALIGNED>::settle(start, [parts[I], parts[I | usize::from(!ALIGNED)]]);
                    column = add::<W>(column, v);
                    let upto = add::<W>(behind.read(i), column);
                    behind.write(i, upto);
                    let left = element_from::<W>(stack.left, i + 1);
                    let sums = RowSums::of::<W>(upto).after::<W>(left);
                    if i < rows {
                        // SAFETY: the caller's promise; the strip of this row is this warp's.
                        unsafe { strip_of_lane.store(target, start, sums) };
                    }
                }
            });
            row += at_once;
        }
        plane += 1;
    }
}

/// The entry points, one per element size and kind.
macro_rules! entry_points {
    ($($name:ident, $body:ident, $launch:ident, $w:literal, $aligned:literal;)*) => {$(
        /// Sums of the array.
        ///
        /// # Safety
        /// Launched as `Inverse::plan` says, with memory of the sizes that it says, 16-aligned. Nothing else touches output and
        /// scratch memory, and nothing writes the input, until the launch is over.
        #[kernel(launch = $launch)]
        pub unsafe fn $name(input: *const U32x4, output: *mut U32x4, scratch: *mut U32x4, params: InverseParams) {
            // SAFETY: the caller's promise.
            unsafe { $body::<$w, $aligned>(Memory::new(input, output, scratch), &params) }
        }
    )*};
}

entry_points! {
    lorenzo_nd_plane_sums_w1, plane, PLANE_SUMS, 1, false;
    lorenzo_nd_plane_sums_w2, plane, PLANE_SUMS, 2, false;
    lorenzo_nd_plane_sums_w4, plane, PLANE_SUMS, 4, false;
    lorenzo_nd_plane_sums_w8, plane, PLANE_SUMS, 8, false;
    lorenzo_nd_plane_sums_w1_aligned, plane, PLANE_SUMS, 1, true;
    lorenzo_nd_plane_sums_w2_aligned, plane, PLANE_SUMS, 2, true;
    lorenzo_nd_plane_sums_w4_aligned, plane, PLANE_SUMS, 4, true;
    lorenzo_nd_plane_sums_w8_aligned, plane, PLANE_SUMS, 8, true;
    lorenzo_nd_volume_sums_w1, volume, VOLUME_SUMS, 1, false;
    lorenzo_nd_volume_sums_w2, volume, VOLUME_SUMS, 2, false;
    lorenzo_nd_volume_sums_w4, volume, VOLUME_SUMS, 4, false;
    lorenzo_nd_volume_sums_w8, volume, VOLUME_SUMS, 8, false;
    lorenzo_nd_volume_sums_w1_aligned, volume, VOLUME_SUMS, 1, true;
    lorenzo_nd_volume_sums_w2_aligned, volume, VOLUME_SUMS, 2, true;
    lorenzo_nd_volume_sums_w4_aligned, volume, VOLUME_SUMS, 4, true;
    lorenzo_nd_volume_sums_w8_aligned, volume, VOLUME_SUMS, 8, true;
}
