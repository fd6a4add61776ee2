//! Inverse, narrow rows: sums along one axis, in place. A thread has a group of elements along the axis; what groups add up to is
//! summed up in the same way in between. Neighbouring threads have neighbours along the axes before.

use super::inverse_entry_points;
use super::sheet::Memory;
use super::units::{get, put};
use cuda_std::thread;
use shared_types::lorenzo_nd::InverseParams;

/// A thread's elements.
#[derive(Clone, Copy)]
struct Group {
    outer: u64,
    group: u64,
    inner: u64,
    /// The first one's number in the array, and how many there are, `inner` elements apart.
    first: u64,
    count: u64,
}

impl Group {
    /// Those of the calling thread.
    #[inline(always)]
    fn own(params: &InverseParams) -> Option<Self> {
        let index = u64::from(thread::block_idx_x()) * u64::from(thread::block_dim_x()) + u64::from(thread::thread_idx_x());
        if index >= params.warps {
            return None;
        }
        let (stack, inner) = params.inner.divide(index);
        let (outer, group) = params.groups.divide(stack);
        let length = params.length.value();
        let at = group * params.group;
        let rest = length.saturating_sub(at);
        let first = (outer * length + at) * params.inner.value() + inner;
        Some(Self { outer, group, inner, first, count: if rest < params.group { rest } else { params.group } })
    }
}

/// Adds up groups.
///
/// # Safety
/// As the entry points say.
#[inline(always)]
unsafe fn totals<const W: u32>(memory: Memory, params: &InverseParams) {
    let Some(own) = Group::own(params) else { return };
    let step = (params.inner.value() * u64::from(W)) as usize;
    // SAFETY: the caller's promise.
    unsafe {
        let mut from = memory.at(params.source).cast::<u8>().add((own.first * u64::from(W)) as usize);
        let mut sum = 0u64;
        let mut left = own.count;
        while left > 0 {
            sum = sum.wrapping_add(get::<W>(from));
            from = from.wrapping_add(step);
            left -= 1;
        }
        let at = (own.outer * params.groups.value() + own.group) * params.inner.value() + own.inner;
        put::<W>(memory.scratch.cast::<u8>().add((params.group_totals + at * u64::from(W)) as usize), sum);
    }
}

/// Sums, each group's from what stands before it.
///
/// # Safety
/// As the entry points say.
#[inline(always)]
unsafe fn sums<const W: u32>(memory: Memory, params: &InverseParams) {
    let Some(own) = Group::own(params) else { return };
    let step = (params.inner.value() * u64::from(W)) as usize;
    // SAFETY: the caller's promise.
    unsafe {
        let mut sum = 0;
        if own.group > 0 {
            let at = (own.outer * params.groups.value() + own.group - 1) * params.inner.value() + own.inner;
            sum = get::<W>(memory.scratch.cast::<u8>().add((params.group_totals + at * u64::from(W)) as usize));
        }
        let mut from = memory.at(params.source).cast::<u8>().add((own.first * u64::from(W)) as usize);
        let mut to = memory.at(params.target).cast::<u8>().add((own.first * u64::from(W)) as usize);
        let mut left = own.count;
        while left > 0 {
            sum = sum.wrapping_add(get::<W>(from));
            put::<W>(to, sum);
            (from, to) = (from.wrapping_add(step), to.wrapping_add(step));
            left -= 1;
        }
    }
}

inverse_entry_points!(
    "Adds up groups of elements along an axis.",
    INVERSE_SMALL,
    totals,
    lorenzo_nd_axis_totals_w1,
    lorenzo_nd_axis_totals_w2,
    lorenzo_nd_axis_totals_w4,
    lorenzo_nd_axis_totals_w8
);
inverse_entry_points!(
    "Sums along an axis.",
    INVERSE_SMALL,
    sums,
    lorenzo_nd_axis_sums_w1,
    lorenzo_nd_axis_sums_w2,
    lorenzo_nd_axis_sums_w4,
    lorenzo_nd_axis_sums_w8
);
