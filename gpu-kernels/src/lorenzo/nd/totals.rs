//! Inverse, first reading: what warps add up to, so that each can later begin with what stands before it.
//!
//! | what | where | who needs it |
//! |---|---|---|
//! | each row's total in each strip | `totals` | the strips to the right |
//! | each strip's rows of a tile added up, plane by plane (3-D) | `columns` | the tiles below |
//! | each row of a strip over all planes of a chunk added up | `faces` | the chunks behind |

use super::super::packed::{Lane, add, vector_of};
use super::sheet::{LOADS, Memory, Strip, Tiles, anew, rows_at_once, slot, total, total_at, warp_of_grid};
use super::times;
use super::units::put;
use cuda_std::{global, kernel, shared, vector::U32x4, warp};
use shared_types::lorenzo_nd::{InverseParams, PLANE_TOTALS, TILE_ROWS, VOLUME_TOTALS};

const _: () = assert!(LOADS == 8 && TILE_ROWS <= 32);

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
    let array = unsafe { memory.at(params.source) };
    let mut row = chunk * params.depth;
    let end = if params.planes - row < params.depth { params.planes } else { row + params.depth };
    let at_once = rows_at_once(ALIGNED);
    let mut face: Lane = [0; 4];
    while row < end {
        let rest = end - row;
        let rows = if rest < at_once as u64 { rest as u32 } else { at_once as u32 };
        let (first, step) = (row * params.row_bytes, anew(params.row_bytes));
        let mut parts = [[0; 4]; LOADS];
        times!(8, I => {
            let (i, part) = if ALIGNED { (I as u32, 0) } else { (I as u32 / 2, I as u64 % 2) };
            if i < rows {
                // SAFETY: the caller's promise; the row is in the array.
                parts[I] = unsafe { strip_of_lane.load(array, first + u64::from(i) * step, part) };
            }
        });
        let first = anew(first);
        let mut own = 0;
        times!(8, I => {
            if ALIGNED || I % 2 == 0 {
                let i = if ALIGNED { I } else { I / 2 };
                let start = first + i as u64 * step;
                let v = Strip::<W, ALIGNED>::settle(start, [parts[I], parts[I | usize::from(!ALIGNED)]]);
                face = add::<W>(face, v);
                let total = total::<W>(v, params.lanes);
                own = if lane == i as u32 { total } else { own };
            }
        });
        if lane < rows {
            let line = params.first_line + row + u64::from(lane);
            // SAFETY: every row has totals.
            unsafe { put::<W>(total_at::<W>(memory, params, strip, line), own) };
        }
        row += at_once as u64;
    }
    if params.has_faces != 0 {
        // SAFETY: every chunk and strip has a slot.
        unsafe { global::store_v4(slot(memory, params.faces, chunk * params.strips.value() + strip), vector_of(face)) };
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
    let lane = warp::lane_id();
    let strips = params.strips.value();
    // SAFETY: the caller's promise.
    let array = unsafe { memory.at(params.source) };
    let mut plane = chunk * params.depth;
    let end = if params.planes - plane < params.depth { params.planes } else { plane + params.depth };
    let first_row = tile * TILE_ROWS;
    let rows = if params.rows - first_row < TILE_ROWS { (params.rows - first_row) as u32 } else { TILE_ROWS as u32 };
    let faces = shared::dynamic::<Tiles>();
    let mut row = 0;
    while row < TILE_ROWS as u32 {
        faces.write(row, [0; 4]);
        row += 1;
    }
    let at_once = rows_at_once(ALIGNED) as u32;
    while plane < end {
        let line = plane * params.rows + first_row;
        let mut column: Lane = [0; 4];
        let mut own = 0;
        let mut row = 0;
        while row < rows {
            let (first, step) = ((line + u64::from(row)) * params.row_bytes, anew(params.row_bytes));
            let mut parts = [[0; 4]; LOADS];
            times!(8, I => {
                let (i, part) = if ALIGNED { (I as u32, 0) } else { (I as u32 / 2, I as u64 % 2) };
                if row + i < rows {
                    // SAFETY: the caller's promise; the row is in the array.
                    parts[I] = unsafe { strip_of_lane.load(array, first + u64::from(i) * step, part) };
                }
            });
            let first = anew(first);
            times!(8, I => {
                let i = if ALIGNED { row + I as u32 } else { row + I as u32 / 2 };
                // Rows that do not exist are zeros.
                if ALIGNED || I % 2 == 0 {
                    let start = first + u64::from(i - row) * step;
                    let v = Strip::<W, ALIGNED>::settle(start, [parts[I], parts[I | usize::from(!ALIGNED)]]);
                    column = add::<W>(column, v);
                    faces.write(i, add::<W>(faces.read(i), v));
                    let total = total::<W>(v, params.lanes);
                    own = if lane == i { total } else { own };
                }
            });
            row += at_once;
        }
        if lane < rows {
            let line = params.first_line + line + u64::from(lane);
            // SAFETY: every row has totals.
            unsafe { put::<W>(total_at::<W>(memory, params, strip, line), own) };
        }
        if params.has_columns != 0 {
            let at = ((params.first_plane + plane) * params.tiles.value() + tile) * strips + strip;
            // SAFETY: every plane, tile and strip has a slot.
            unsafe { global::store_v4(slot(memory, params.columns, at), vector_of(column)) };
        }
        plane += 1;
    }
    if params.has_faces != 0 {
        let mut row = 0;
        while row < rows {
            let at = (chunk * params.rows + first_row + u64::from(row)) * strips + strip;
            // SAFETY: every chunk, row and strip has a slot.
            unsafe { global::store_v4(slot(memory, params.faces, at), vector_of(faces.read(row))) };
            row += 1;
        }
    }
}

/// The entry points, one per element size and kind.
macro_rules! entry_points {
    ($($name:ident, $body:ident, $launch:ident, $w:literal, $aligned:literal;)*) => {$(
        /// Totals of strips, tiles and chunks.
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
    lorenzo_nd_plane_totals_w1, plane, PLANE_TOTALS, 1, false;
    lorenzo_nd_plane_totals_w2, plane, PLANE_TOTALS, 2, false;
    lorenzo_nd_plane_totals_w4, plane, PLANE_TOTALS, 4, false;
    lorenzo_nd_plane_totals_w8, plane, PLANE_TOTALS, 8, false;
    lorenzo_nd_plane_totals_w1_aligned, plane, PLANE_TOTALS, 1, true;
    lorenzo_nd_plane_totals_w2_aligned, plane, PLANE_TOTALS, 2, true;
    lorenzo_nd_plane_totals_w4_aligned, plane, PLANE_TOTALS, 4, true;
    lorenzo_nd_plane_totals_w8_aligned, plane, PLANE_TOTALS, 8, true;
    lorenzo_nd_volume_totals_w1, volume, VOLUME_TOTALS, 1, false;
    lorenzo_nd_volume_totals_w2, volume, VOLUME_TOTALS, 2, false;
    lorenzo_nd_volume_totals_w4, volume, VOLUME_TOTALS, 4, false;
    lorenzo_nd_volume_totals_w8, volume, VOLUME_TOTALS, 8, false;
    lorenzo_nd_volume_totals_w1_aligned, volume, VOLUME_TOTALS, 1, true;
    lorenzo_nd_volume_totals_w2_aligned, volume, VOLUME_TOTALS, 2, true;
    lorenzo_nd_volume_totals_w4_aligned, volume, VOLUME_TOTALS, 4, true;
    lorenzo_nd_volume_totals_w8_aligned, volume, VOLUME_TOTALS, 8, true;
}
