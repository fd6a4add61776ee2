//! Inverse, narrow rows: sums along x and y of as many whole rows as have 4096 elements, in shared memory.
//!
//! A block has a *run* of rows: a part of a plane, which begins with what stands above it; or several runs, each a whole plane.
//!
//! | phase | who | does | leaves behind |
//! |---|---|---|---|
//! | load | all threads | the rows, as memory has them | `elements` |
//! | x | a thread per row | sums along the row | `elements` |
//! | y | a thread per column and segment of a run | sums down the segment | `elements`, the segments' last in `above` |
//! | above | a thread per column of a run | sums of the segments before each one | `above` |
//! | store | all threads | each element, what is above its segment and what is above the run | the array |
//!
//! Totals are the same but for the end: the last row of the run is what it adds up to.

use super::super::element::{Element, padded};
use super::inverse_entry_points;
use super::sheet::Memory;
use cuda_std::{
    shared::{self, SharedArray},
    thread,
};
use shared_types::lorenzo_nd::{InverseParams, NARROW, NARROW_ELEMENTS};

/// Shared memory of one block: `N` elements are [`NARROW_ELEMENTS`] and their padding.
#[repr(C, align(16))]
struct NarrowShared<T, const N: usize> {
    elements: SharedArray<T, N>,
    above: SharedArray<T, { NARROW.threads as usize }>,
}
const _: () = assert!(size_of::<NarrowShared<u64, { padded::<8>(NARROW_ELEMENTS) }>>() <= NARROW.shared_bytes as usize);

/// The rows of a block.
#[derive(Clone, Copy)]
struct Rows {
    /// The first element's number in the array, and how many there are.
    first: u64,
    elements: u32,
    rows: u32,
    runs: u32,
    /// The number of the run among those that have totals, and whether it is its plane's first one.
    run: u64,
    begins: bool,
}

impl Rows {
    /// Those of the calling thread's block.
    #[inline(always)]
    fn own(params: &InverseParams) -> Self {
        let block = u64::from(thread::block_idx_x());
        let nx = params.nx.value();
        let least = |a: u64, b: u64| if a < b { a } else { b };
        let (first_row, rows, runs, begins) = if params.has_faces == 0 {
            let first = block * params.depth;
            let planes = least(params.planes - first, params.depth);
            (first * params.rows, planes * params.rows, planes, true)
        } else {
            let (plane, tile) = params.tiles.divide(block);
            let first = tile * params.group;
            (plane * params.rows + first, least(params.rows - first, params.group), 1, tile == 0)
        };
        let (first, elements) = (first_row * nx, (rows * nx) as u32);
        Self { first, elements, rows: rows as u32, runs: runs as u32, run: block, begins }
    }
}

impl<T: Element, const N: usize> NarrowShared<T, N> {
    /// Loads the rows and sums them up along x, and down each segment; then what is above each segment.
    ///
    /// # Safety
    /// `array` holds the rows.
    #[inline(always)]
    unsafe fn scan<const W: u32>(&self, array: *const T, rows: Rows, params: &InverseParams) {
        let own = thread::thread_idx_x();
        let nx = params.nx.value() as u32;
        let mut at = own;
        while at < rows.elements {
            // SAFETY: the caller's word.
            self.elements.write(padded::<W>(at), unsafe { *array.add(rows.first as usize + at as usize) });
            at += NARROW.threads;
        }
        thread::sync_threads(); // elements
        let mut row = own;
        while row < rows.rows {
            self.sum::<W>(row * nx, 1, nx);
            row += NARROW.threads;
        }
        thread::sync_threads(); // elements, along x
        let run_rows = params.group as u32;
        let mut work = own;
        while work < rows.runs * params.segments * nx {
            let above = params.by_row.divide(work);
            let x = work - above * nx;
            let (run, segment) = if params.segments == 1 {
                (above, 0)
            } else if rows.runs == 1 {
                (0, above)
            } else {
                let mut run = 0;
                let mut segment = above;
                while segment >= params.segments {
                    segment -= params.segments;
                    run += 1;
                }
                (run, segment)
            };
            let first = run * run_rows + segment * params.segment_rows;
            let in_run = if rows.rows < (run + 1) * run_rows { rows.rows } else { (run + 1) * run_rows };
            if first < in_run {
                let count = if in_run - first < params.segment_rows { in_run - first } else { params.segment_rows };
                self.sum::<W>(first * nx + x, nx, count);
                if params.segments > 1 {
                    self.above.write(work as usize, self.elements.read(padded::<W>((first + count - 1) * nx + x)));
                }
            } else if params.segments > 1 {
                self.above.write(work as usize, T::ZERO);
            }
            work += NARROW.threads;
        }
        thread::sync_threads(); // elements, along y; above: the segments' last
        if params.segments > 1 {
            if own < rows.runs * nx {
                let run = params.by_row.divide(own);
                let mut at = run * params.segments * nx + (own - run * nx);
                let mut sum = T::ZERO;
                let mut left = params.segments;
                while left > 0 {
                    let last = self.above.read(at as usize);
                    self.above.write(at as usize, sum);
                    sum = sum.plus(last);
                    at += nx;
                    left -= 1;
                }
            }
            thread::sync_threads(); // above
        }
    }

    /// Sums of `count` elements, `step` apart, from `from` on.
    #[inline(always)]
    fn sum<const W: u32>(&self, from: u32, step: u32, count: u32) {
        let (mut at, mut left, mut sum) = (from, count, T::ZERO);
        while left > 0 {
            sum = sum.plus(self.elements.read(padded::<W>(at)));
            self.elements.write(padded::<W>(at), sum);
            at += step;
            left -= 1;
        }
    }

    /// The sum of element `at` of the block, from its run's begin on.
    #[inline(always)]
    fn get<const W: u32>(&self, at: u32, params: &InverseParams) -> (T, u32) {
        let nx = params.nx.value() as u32;
        let row = params.by_row.divide(at);
        let x = at - row * nx;
        let mut value = self.elements.read(padded::<W>(at));
        if params.segments > 1 {
            let run = params.by_run.divide(row);
            let segment = params.by_segment.divide(row - run * params.group as u32);
            value = value.plus(self.above.read(((run * params.segments + segment) * nx + x) as usize));
        }
        (value, x)
    }
}

/// What each run adds up to.
///
/// # Safety
/// As the entry points say.
#[inline(always)]
unsafe fn totals_of<T: Element, const N: usize, const W: u32>(memory: Memory, params: &InverseParams) {
    let s = shared::dynamic::<NarrowShared<T, N>>();
    let rows = Rows::own(params);
    let nx = params.nx.value();
    // SAFETY: the caller's promise.
    unsafe {
        s.scan::<W>(memory.at(params.source).cast::<T>(), rows, params);
        let own = thread::thread_idx_x();
        if own < nx as u32 {
            let (total, _) = s.get::<W>(rows.elements - nx as u32 + own, params);
            let to = memory.scratch.byte_add(params.group_totals as usize).cast::<T>();
            *to.add((rows.run * nx) as usize + own as usize) = total;
        }
    }
}

/// The sums along x and y.
///
/// # Safety
/// As the entry points say.
#[inline(always)]
unsafe fn sums_of<T: Element, const N: usize, const W: u32>(memory: Memory, params: &InverseParams) {
    let s = shared::dynamic::<NarrowShared<T, N>>();
    let rows = Rows::own(params);
    let nx = params.nx.value();
    // SAFETY: the caller's promise.
    unsafe {
        s.scan::<W>(memory.at(params.source).cast::<T>(), rows, params);
        let above = memory.scratch.byte_add(params.group_totals as usize).cast::<T>();
        let target = memory.at(params.target).cast::<T>();
        let mut at = thread::thread_idx_x();
        while at < rows.elements {
            let (mut value, x) = s.get::<W>(at, params);
            if !rows.begins {
                value = value.plus(*above.add(((rows.run - 1) * nx) as usize + x as usize));
            }
            *target.add(rows.first as usize + at as usize) = value;
            at += NARROW.threads;
        }
    }
}

/// The kernels for elements of `W` bytes.
macro_rules! by_type {
    ($($name:ident => $body:ident;)*) => {$(
        /// As the function of the same name, by the size of an element.
        ///
        /// # Safety
        /// As the entry points say.
        #[inline(always)]
        unsafe fn $name<const W: u32>(memory: Memory, params: &InverseParams) {
            // SAFETY: the caller's promise.
            unsafe {
                match W {
                    1 => $body::<u8, { padded::<1>(NARROW_ELEMENTS) }, 1>(memory, params),
                    2 => $body::<u16, { padded::<2>(NARROW_ELEMENTS) }, 2>(memory, params),
                    4 => $body::<u32, { padded::<4>(NARROW_ELEMENTS) }, 4>(memory, params),
                    _ => $body::<u64, { padded::<8>(NARROW_ELEMENTS) }, 8>(memory, params),
                }
            }
        }
    )*};
}
by_type! {
    totals => totals_of;
    sums => sums_of;
}

inverse_entry_points!(
    "What runs of narrow rows add up to.",
    NARROW,
    totals,
    lorenzo_nd_narrow_totals_w1,
    lorenzo_nd_narrow_totals_w2,
    lorenzo_nd_narrow_totals_w4,
    lorenzo_nd_narrow_totals_w8
);
inverse_entry_points!(
    "Sums of narrow rows along x and y.",
    NARROW,
    sums,
    lorenzo_nd_narrow_sums_w1,
    lorenzo_nd_narrow_sums_w2,
    lorenzo_nd_narrow_sums_w4,
    lorenzo_nd_narrow_sums_w8
);
