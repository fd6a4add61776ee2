//! Forward, any extents: a lane has a unit of 16 bytes and fetches what stands next to it along the axes, mostly from the caches.

use super::super::packed::{Lane, add, keep, sub};
use super::units::{Units, join};
use cuda_std::{bits::shl_clamp, kernel, thread, vector::U32x4};
use shared_types::lorenzo_nd::{FLAT, ForwardParams};

/// Bit `k`: element `k` of the unit is the first of its row; and: it is in the first row of its plane.
#[inline(always)]
fn borders<const W: u32>(unit: u64, params: &ForwardParams) -> (u32, u32) {
    let lane = 16 / W;
    let (row, x) = params.nx.divide(unit * u64::from(lane));
    let (_, y) = params.ny.divide(row);
    let (nx, ny) = (params.nx.value(), params.ny.value());
    if nx >= u64::from(lane) {
        // At most one row ends in the unit.
        let left = if nx - x < 32 { (nx - x) as u32 } else { 32 };
        let before = shl_clamp(1, left).wrapping_sub(1);
        let first_row = if y == 0 { before } else { 0 } | if y + 1 == ny { !before } else { 0 };
        return (u32::from(x == 0) | shl_clamp(1, left), first_row);
    }
    let (mut x, mut y) = (x, y);
    let (mut first_column, mut first_row) = (0, 0);
    let mut k = 0;
    while k < lane {
        first_column |= u32::from(x == 0) << k;
        first_row |= u32::from(y == 0) << k;
        x += 1;
        if x == nx {
            x = 0;
            y = if y + 1 == ny { 0 } else { y + 1 };
        }
        k += 1;
    }
    (first_column, first_row)
}

/// The kernel for elements of `W` bytes.
///
/// # Safety
/// As the entry points say.
#[inline(always)]
unsafe fn flat<const W: u32>(input: *const U32x4, output: *mut U32x4, params: &ForwardParams) {
    let units = Units::of(params.bytes);
    let unit = u64::from(thread::block_idx_x()) * u64::from(FLAT.threads) + u64::from(thread::thread_idx_x());
    if unit * 16 >= params.bytes {
        return;
    }
    // The elements `offset` bytes in front of the unit's, and those one further in front.
    let near = |offset: u64| -> (Lane, Lane) {
        let start = (unit * 16).wrapping_sub(offset).wrapping_sub(u64::from(W));
        let (from, at) = ((start as i64 >> 4) as u64, start as u32 & 15);
        // SAFETY: the caller's promise.
        let (lower, upper) =
            unsafe { (units.load::<W, true>(input, from), units.load::<W, true>(input, from.wrapping_add(1))) };
        (join::<W>(lower, upper, at + W), join::<W>(lower, upper, at))
    };
    let (mut own, mut front) = near(0);
    // What would be in front of the array is 0 by itself.
    let (mut first_column, mut first_row) = (0, 0);
    if params.dimensions >= 2 {
        (first_column, first_row) = borders::<W>(unit, params);
        if params.dimensions == 2 {
            first_row = 0;
        }
        let (above, above_front) = near(params.row_bytes);
        own = sub::<W>(own, keep::<W>(above, !first_row));
        front = sub::<W>(front, keep::<W>(above_front, !first_row));
    }
    if params.dimensions == 3 {
        let (behind, behind_front) = near(params.plane_bytes);
        let (both, both_front) = near(params.plane_bytes + params.row_bytes);
        own = add::<W>(sub::<W>(own, behind), keep::<W>(both, !first_row));
        front = add::<W>(sub::<W>(front, behind_front), keep::<W>(both_front, !first_row));
    }
    let residuals = sub::<W>(own, keep::<W>(front, !first_column));
    // SAFETY: the unit is this lane's alone.
    unsafe { units.store::<W>(output, unit, residuals) };
}

/// The entry points, one per element size.
macro_rules! entry_points {
    ($($name:ident, $w:literal;)*) => {$(
        /// Differences along all axes, whatever their extents.
        ///
        /// # Safety
        /// Launched as `Forward::plan` says. `input` and `output` are 16-aligned and hold `params.bytes`; nothing else touches the
        /// output, and nothing writes the input, until the launch is over.
        #[kernel(launch = FLAT)]
        pub unsafe fn $name(input: *const U32x4, output: *mut U32x4, params: ForwardParams) {
            // SAFETY: the caller's promise.
            unsafe { flat::<$w>(input, output, &params) }
        }
    )*};
}

entry_points! {
    lorenzo_nd_flat_w1, 1;
    lorenzo_nd_flat_w2, 2;
    lorenzo_nd_flat_w4, 4;
    lorenzo_nd_flat_w8, 8;
}
