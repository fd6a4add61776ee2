//! Inverse, between the two readings: slots of 512 bytes, outer x `length` x `inner`, become the sums of all slots before them along
//! `length`. Faces (chunk by chunk) and columns (tile by tile) alike; a warp has a group of them and begins with all groups before.

use super::super::packed::{Lane, add, lane_of, vector_of};
use super::sheet::{Memory, slot, total, total_at, warp_of_grid};
use super::units::put;
use super::{inverse_entry_points, times};
use cuda_std::{global, warp};
use shared_types::lorenzo_nd::InverseParams;

/// A warp's group.
#[derive(Clone, Copy)]
struct Group {
    outer: u64,
    group: u64,
    inner: u64,
    /// Its slots along `length`.
    first: u64,
    end: u64,
}

impl Group {
    /// That of the calling warp.
    #[inline(always)]
    fn own(params: &InverseParams) -> Option<Self> {
        let warp_index = warp_of_grid();
        if warp_index >= params.warps {
            return None;
        }
        let (stack, inner) = params.inner.divide(warp_index);
        let (outer, group) = params.groups.divide(stack);
        let first = group * params.group;
        let rest = params.length.value() - first;
        Some(Self { outer, group, inner, first, end: first + if rest < params.group { rest } else { params.group } })
    }

    /// The sum of slots `first` to `end` of those that begin at `slots`, `step` apart.
    ///
    /// # Safety
    /// There are such slots.
    #[inline(always)]
    unsafe fn sum<const W: u32>(memory: Memory, slots: u64, first: u64, count: u64, step: u64) -> Lane {
        let mut sum = [0; 4];
        let mut i = 0;
        while i < count {
            let mut v = [[0; 4]; 8];
            times!(8, I => if i + (I as u64) < count {
                // SAFETY: the caller's word.
                v[I] = unsafe { lane_of(global::load_v4(slot(memory, slots, first + (i + I as u64) * step))) };
            });
            times!(8, I => sum = add::<W>(sum, v[I]));
            i += 8;
        }
        sum
    }
}

/// Adds up a group.
///
/// # Safety
/// As the entry points say.
#[inline(always)]
unsafe fn totals<const W: u32>(memory: Memory, params: &InverseParams) {
    let Some(own) = Group::own(params) else { return };
    let inner = params.inner.value();
    // SAFETY: the caller's promise.
    unsafe {
        let first = (own.outer * params.length.value() + own.first) * inner + own.inner;
        let sum = Group::sum::<W>(memory, params.source.at, first, own.end - own.first, inner);
        let to = (own.outer * params.groups.value() + own.group) * inner + own.inner;
        global::store_v4(slot(memory, params.group_totals, to), vector_of(sum));
    }
}

/// Sums before each slot; their totals, too, where `writes_totals`.
///
/// # Safety
/// As the entry points say.
#[inline(always)]
unsafe fn sums<const W: u32>(memory: Memory, params: &InverseParams) {
    let Some(own) = Group::own(params) else { return };
    let inner = params.inner.value();
    // SAFETY: the caller's promise.
    unsafe {
        let groups_before = own.outer * params.groups.value() * inner + own.inner;
        let mut before = Group::sum::<W>(memory, params.group_totals, groups_before, own.group, inner);
        let first = own.outer * params.length.value();
        let mut i = own.first;
        while i < own.end {
            let mut v = [[0; 4]; 8];
            times!(8, I => if i + (I as u64) < own.end {
                v[I] = lane_of(global::load_v4(slot(memory, params.source.at, (first + i + I as u64) * inner + own.inner)));
            });
            times!(8, I => if i + (I as u64) < own.end {
                let at = first + i + I as u64;
                global::store_v4(slot(memory, params.source.at, at * inner + own.inner), vector_of(before));
                if params.writes_totals != 0 {
                    let total = total::<W>(before, params.lanes);
                    if warp::lane_id() == 0 {
                        put::<W>(total_at::<W>(memory, params, own.inner, params.first_line + at), total);
                    }
                }
                before = add::<W>(before, v[I]);
            });
            i += 8;
        }
    }
}

inverse_entry_points!(
    "Adds up groups of slots.",
    INVERSE_SMALL,
    totals,
    lorenzo_nd_slots_totals_w1,
    lorenzo_nd_slots_totals_w2,
    lorenzo_nd_slots_totals_w4,
    lorenzo_nd_slots_totals_w8
);
inverse_entry_points!(
    "Slots to the sums of those before them.",
    INVERSE_SMALL,
    sums,
    lorenzo_nd_slots_sums_w1,
    lorenzo_nd_slots_sums_w2,
    lorenzo_nd_slots_sums_w4,
    lorenzo_nd_slots_sums_w8
);
