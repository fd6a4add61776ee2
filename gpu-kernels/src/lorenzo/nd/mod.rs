//! Lorenzo in two and three dimensions. What runs where is in `shared_types::lorenzo_nd`.
//!
//! | file | idea |
//! |---|---|
//! | `units` | aligned 16-byte units of an array of any length, and bytes shifted from lane to lane |
//! | `flat` | forward, any extents: every lane for itself |
//! | `plane` | forward, 2-D: tiles of rows in registers |
//! | `volume` | forward, 3-D: tiles that go from plane to plane |
//! | `sheet` | inverse: a warp's part of a row |
//! | `totals` | inverse, wide: what tiles add up to |
//! | `slots`, `lines` | inverse, wide: what stands above, behind and to the left of each tile |
//! | `sums` | inverse, wide: the sums |
//! | `rest` | inverse, wide: the last unit of an array, if it is not whole |
//! | `chain` | inverse, one axis: one long sum |
//! | `narrow` | inverse, narrow: sums along x and y in shared memory |
//! | `axis` | inverse, narrow: sums along an axis, element by element |

pub mod axis;
pub mod chain;
pub mod flat;
pub mod lines;
pub mod narrow;
pub mod plane;
pub mod rest;
mod sheet;
pub mod slots;
pub mod sums;
pub mod totals;
mod units;
pub mod volume;

/// Repeats `$body` with `$i` as the constants 0 to `$n` - 1, so that arrays stay in registers.
#[cfg(target_arch = "nvptx64")]
macro_rules! times {
    (4, $i:ident => $body:expr) => { times!(@ $i, $body, 0, 1, 2, 3) };
    (5, $i:ident => $body:expr) => { times!(@ $i, $body, 0, 1, 2, 3, 4) };
    (8, $i:ident => $body:expr) => { times!(@ $i, $body, 0, 1, 2, 3, 4, 5, 6, 7) };
    (9, $i:ident => $body:expr) => { times!(@ $i, $body, 0, 1, 2, 3, 4, 5, 6, 7, 8) };
    (@ $i:ident, $body:expr, $($value:literal),*) => {{$({
        const $i: usize = $value;
        $body
    })*}};
}
/// The same as a loop: on the host, time to compile counts.
#[cfg(not(target_arch = "nvptx64"))]
macro_rules! times {
    ($n:literal, $i:ident => $body:expr) => {
        #[allow(non_snake_case, clippy::needless_range_loop, reason = "a constant on a device")]
        for $i in 0..$n {
            $body
        }
    };
}
use times;

/// The entry points of a kernel of the inverse direction, one per element size.
macro_rules! inverse_entry_points {
    ($doc:literal, $launch:ident, $body:ident, $w1:ident, $w2:ident, $w4:ident, $w8:ident) => {
        inverse_entry_points!(@ $doc, $launch, $body, 1, $w1);
        inverse_entry_points!(@ $doc, $launch, $body, 2, $w2);
        inverse_entry_points!(@ $doc, $launch, $body, 4, $w4);
        inverse_entry_points!(@ $doc, $launch, $body, 8, $w8);
    };
    (@ $doc:literal, $launch:ident, $body:ident, $w:literal, $name:ident) => {
        #[doc = $doc]
        ///
        /// # Safety
        /// Launched as `Inverse::plan` says, with memory of the sizes that it says, 16-aligned. Nothing else touches output and
        /// scratch memory, and nothing writes the input, until the launch is over.
        #[cuda_std::kernel(launch = shared_types::lorenzo_nd::$launch)]
        pub unsafe fn $name(
            input: *const cuda_std::vector::U32x4,
            output: *mut cuda_std::vector::U32x4,
            scratch: *mut cuda_std::vector::U32x4,
            params: shared_types::lorenzo_nd::InverseParams,
        ) {
            // SAFETY: the caller's promise.
            unsafe { $body::<$w>(super::sheet::Memory::new(input, output, scratch), &params) }
        }
    };
}
use inverse_entry_points;
