//! Inverse, one axis: one long sum. A warp has `depth` times 512 bytes and goes through them eight at a time; what warps add up to
//! is a chain itself, much shorter, which is summed up in between.

use super::super::packed::add;
use super::sheet::{LOADS, Memory, RowSums, total, warp_of_grid};
use super::units::{Units, get, put};
use super::{inverse_entry_points, times};
use cuda_std::warp;
use shared_types::lorenzo_nd::InverseParams;

const _: () = assert!(LOADS == 8);

/// Adds up each warp's part.
///
/// # Safety
/// As the entry points say.
#[inline(always)]
unsafe fn totals<const W: u32>(memory: Memory, params: &InverseParams) {
    let chunk = warp_of_grid();
    if chunk >= params.warps {
        return;
    }
    let units = Units::of(params.bytes);
    let lane = warp::lane_id();
    // SAFETY: the caller's promise.
    let array = unsafe { memory.at(params.source) };
    let mut unit = chunk * params.depth * 32 + u64::from(lane);
    let mut left = params.depth;
    let mut sum = [0; 4];
    while left > 0 {
        let mut rows = [[0; 4]; LOADS];
        // SAFETY: as above.
        times!(8, I => rows[I] = unsafe { units.load::<W, false>(array, unit + 32 * I as u64) });
        times!(8, I => sum = add::<W>(sum, rows[I]));
        unit += 32 * LOADS as u64;
        left -= LOADS as u64;
    }
    let total = total::<W>(sum, 32);
    if lane == 0 {
        // SAFETY: there is a total for each warp.
        unsafe { put::<W>(memory.scratch.cast::<u8>().add((params.group_totals + chunk * u64::from(W)) as usize), total) };
    }
}

/// Sums, each warp's part from what stands before it.
///
/// # Safety
/// As the entry points say.
#[inline(always)]
unsafe fn sums<const W: u32>(memory: Memory, params: &InverseParams) {
    let chunk = warp_of_grid();
    if chunk >= params.warps {
        return;
    }
    let units = Units::of(params.bytes);
    // SAFETY: the caller's promise.
    let (source, target) = unsafe { (memory.at(params.source), memory.at(params.target)) };
    let mut unit = chunk * params.depth * 32 + u64::from(warp::lane_id());
    let mut left = params.depth;
    let mut before = 0u64;
    if chunk > 0 {
        let at = params.totals + (chunk - 1) * u64::from(W);
        // SAFETY: the sums of the chunks before are there.
        before = unsafe { get::<W>(memory.scratch.cast::<u8>().add(at as usize)) };
    }
    while left > 0 {
        let mut rows = [[0; 4]; LOADS];
        // SAFETY: as above.
        times!(8, I => rows[I] = unsafe { units.load::<W, false>(source, unit + 32 * I as u64) });
        times!(8, I => {
            let sums = RowSums::of::<W>(rows[I]);
            // SAFETY: as above; the unit is this lane's alone.
            unsafe { units.store::<W>(target, unit + 32 * I as u64, sums.after::<W>(before)) };
            before = before.wrapping_add(sums.total::<W>());
        });
        unit += 32 * LOADS as u64;
        left -= LOADS as u64;
    }
}

inverse_entry_points!(
    "Adds up parts of a chain.",
    PLANE_TOTALS,
    totals,
    lorenzo_nd_chain_totals_w1,
    lorenzo_nd_chain_totals_w2,
    lorenzo_nd_chain_totals_w4,
    lorenzo_nd_chain_totals_w8
);
inverse_entry_points!(
    "The sums of a chain.",
    PLANE_TOTALS,
    sums,
    lorenzo_nd_chain_sums_w1,
    lorenzo_nd_chain_sums_w2,
    lorenzo_nd_chain_sums_w4,
    lorenzo_nd_chain_sums_w8
);
