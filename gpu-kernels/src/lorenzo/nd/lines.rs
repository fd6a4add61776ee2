//! Inverse, between the two readings: the totals of strips become those of all strips to the left, line by line. A thread has a line
//! and a group of its strips, and begins with all groups before.

use super::sheet::{Memory, total_at};
use super::units::{get, put};
use super::{inverse_entry_points, times};
use cuda_std::thread;
use shared_types::lorenzo_nd::InverseParams;

/// A thread's group of strips.
#[derive(Clone, Copy)]
struct Group {
    group: u64,
    line: u64,
    first: u64,
    end: u64,
}

impl Group {
    /// That of the calling thread.
    #[inline(always)]
    fn own(params: &InverseParams) -> Option<Self> {
        let index = u64::from(thread::block_idx_x()) * u64::from(thread::block_dim_x()) + u64::from(thread::thread_idx_x());
        if index >= params.warps {
            return None;
        }
        let (group, line) = params.inner.divide(index);
        let first = group * params.group;
        let rest = params.length.value() - first;
        Some(Self { group, line, first, end: first + if rest < params.group { rest } else { params.group } })
    }
}

/// Adds up a group.
///
/// # Safety
/// As the entry points say.
#[inline(always)]
unsafe fn totals<const W: u32>(memory: Memory, params: &InverseParams) {
    let Some(own) = Group::own(params) else { return };
    let mut sum = 0u64;
    let mut strip = own.first;
    // SAFETY: the caller's promise.
    unsafe {
        while strip < own.end {
            let mut v = [0; 8];
            times!(8, I => if strip + (I as u64) < own.end {
                v[I] = get::<W>(total_at::<W>(memory, params, strip + I as u64, own.line));
            });
            times!(8, I => sum = sum.wrapping_add(v[I]));
            strip += 8;
        }
        let at = params.group_totals + (own.group * params.lines + own.line) * u64::from(W);
        put::<W>(memory.scratch.cast::<u8>().add(at as usize), sum);
    }
}

/// Sums before each strip.
///
/// # Safety
/// As the entry points say.
#[inline(always)]
unsafe fn sums<const W: u32>(memory: Memory, params: &InverseParams) {
    let Some(own) = Group::own(params) else { return };
    let mut before = 0u64;
    // SAFETY: the caller's promise.
    unsafe {
        let groups = memory.scratch.cast::<u8>().add(params.group_totals as usize);
        let mut group = 0;
        while group < own.group {
            let mut v = [0; 8];
            times!(8, I => if group + (I as u64) < own.group {
                v[I] = get::<W>(groups.add((((group + I as u64) * params.lines + own.line) * u64::from(W)) as usize));
            });
            times!(8, I => before = before.wrapping_add(v[I]));
            group += 8;
        }
        let mut strip = own.first;
        while strip < own.end {
            let mut v = [0; 8];
            times!(8, I => if strip + (I as u64) < own.end {
                v[I] = get::<W>(total_at::<W>(memory, params, strip + I as u64, own.line));
            });
            times!(8, I => if strip + (I as u64) < own.end {
                put::<W>(total_at::<W>(memory, params, strip + I as u64, own.line), before);
                before = before.wrapping_add(v[I]);
            });
            strip += 8;
        }
    }
}

inverse_entry_points!(
    "Adds up groups of strips of each line.",
    INVERSE_SMALL,
    totals,
    lorenzo_nd_lines_totals_w1,
    lorenzo_nd_lines_totals_w2,
    lorenzo_nd_lines_totals_w4,
    lorenzo_nd_lines_totals_w8
);
inverse_entry_points!(
    "Totals of strips to those of all strips to the left.",
    INVERSE_SMALL,
    sums,
    lorenzo_nd_lines_sums_w1,
    lorenzo_nd_lines_sums_w2,
    lorenzo_nd_lines_sums_w4,
    lorenzo_nd_lines_sums_w8
);
