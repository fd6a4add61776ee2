//! Differences without centering: one read, one write.

use super::difference::plain_differences;
use super::tile::{Ends, Tile};
use super::{LINES, for_lines};
use cuda_std::{kernel, shared, vector::U32x4};
use shared_types::lorenzo::{BlockParams, forward_launch};

/// The kernel for elements of `W` bytes.
///
/// # Safety
/// As the entry points say.
#[inline(always)]
unsafe fn forward<const W: u32, const ALIGNED: bool>(input: *const U32x4, output: *mut U32x4, params: &BlockParams) {
    let tile = Tile::<W>::own(params);
    // SAFETY: the caller's promise.
    let mut rows = unsafe { tile.load(input) };
    let before = if params.independent != 0 { [0, 0] } else { Tile::<W>::before(&rows, shared::dynamic::<Ends>()) };
    let mut places = [tile.first_place(params); LINES];
    for_lines!(I => if I > 0 { places[I] = places[I - 1].next(params) });
    plain_differences::<W, ALIGNED>(&mut rows, &places, before[0]);
    if params.order == 2 {
        // The element in front of the rows, as its own warp sees it after the first time.
        let before = before[0].wrapping_sub(if places[0].position == 1 { 0 } else { before[1] });
        plain_differences::<W, ALIGNED>(&mut rows, &places, before);
    }
    // SAFETY: as above.
    unsafe { tile.store(output, &rows) };
}

/// The entry points, one per element size and kind.
macro_rules! entry_points {
    ($($name:ident, $word:literal, $aligned:literal;)*) => {$(
        /// Differences inside segments, once or twice.
        ///
        /// # Safety
        /// Launched with [`forward_launch`], one block per tile. `input` and `output` are 16-aligned and hold `params.elements`
        /// elements; nothing else touches `output` until the launch is over.
        #[kernel(launch = forward_launch($word, $aligned))]
        pub unsafe fn $name(input: *const U32x4, output: *mut U32x4, params: BlockParams) {
            // SAFETY: the caller's promise.
            unsafe { forward::<$word, $aligned>(input, output, &params) }
        }
    )*};
}

entry_points! {
    lorenzo_forward_w1_aligned, 1, true;
    lorenzo_forward_w2_aligned, 2, true;
    lorenzo_forward_w4_aligned, 4, true;
    lorenzo_forward_w8_aligned, 8, true;
    lorenzo_forward_w1_any, 1, false;
    lorenzo_forward_w2_any, 2, false;
    lorenzo_forward_w4_any, 4, false;
    lorenzo_forward_w8_any, 8, false;
}
