//! The kernels by name, and their shapes.

use shared_types::launch::Launch;
use shared_types::lorenzo::{
    BlockKind, BlockParams, CENTER_SHARED, INVERSE_SHORT, INVERSE_SMALL, center_launch, forward_launch, inverse_launch,
    inverse_whole_launch,
};
use shared_types::lorenzo_nd::{ForwardKernel, InverseKernel};

/// A kernel's names for elements of 1, 2, 4 and 8 bytes.
macro_rules! each {
    ($front:literal, $back:literal) => {
        [concat!($front, "1", $back), concat!($front, "2", $back), concat!($front, "4", $back), concat!($front, "8", $back)]
    };
}

/// The kernels of block mode for elements of `word` bytes: forward, and inverse.
pub(super) fn block(word: u32, params: &BlockParams, centering: bool) -> [(&'static str, Launch); 2] {
    use BlockKind::{Aligned, Any, Short, Small, Whole};
    let (kind, aligned) = (params.kind(word), params.aligned(word));
    let (forward, launch) = match (centering, kind) {
        (false, _) if aligned => (each!("lorenzo_forward_w", "_aligned"), forward_launch(word, true)),
        (false, _) => (each!("lorenzo_forward_w", "_any"), forward_launch(word, false)),
        (true, Whole) => (each!("lorenzo_center_w", "_whole"), center_launch(word)),
        (true, Aligned) => (each!("lorenzo_center_w", "_aligned"), CENTER_SHARED),
        (true, Any) => (each!("lorenzo_center_w", "_any"), CENTER_SHARED),
        (true, Short) => (each!("lorenzo_center_w", "_short"), CENTER_SHARED),
        (true, Small) => (each!("lorenzo_center_w", "_small"), center_launch(word)),
    };
    let (inverse, shape) = match kind {
        Whole => (each!("lorenzo_inverse_w", "_whole"), inverse_whole_launch(word)),
        Aligned => (each!("lorenzo_inverse_w", "_aligned"), inverse_launch(word, true, true)),
        Any if centering => (each!("lorenzo_uncenter_w", "_any"), inverse_launch(word, false, true)),
        Any => (each!("lorenzo_inverse_w", "_any"), inverse_launch(word, false, false)),
        Short => (each!("lorenzo_inverse_w", "_short"), INVERSE_SHORT),
        Small => (each!("lorenzo_inverse_w", "_small"), INVERSE_SMALL),
    };
    let row = word.ilog2() as usize;
    [(forward[row], launch), (inverse[row], shape)]
}

/// The kernel of the forward direction along all axes for elements of `word` bytes.
pub(super) fn forward(kernel: ForwardKernel, word: u32) -> &'static str {
    use ForwardKernel::*;
    let names = match kernel {
        Flat => each!("lorenzo_nd_flat_w", ""),
        Plane => each!("lorenzo_nd_plane_w", ""),
        PlaneAligned => each!("lorenzo_nd_plane_w", "_aligned"),
        Volume => each!("lorenzo_nd_volume_w", ""),
        VolumeAligned => each!("lorenzo_nd_volume_w", "_aligned"),
    };
    names[word.ilog2() as usize]
}

/// The kernel of a step of the inverse direction along all axes for elements of `word` bytes.
pub(super) fn inverse(kernel: InverseKernel, word: u32) -> &'static str {
    use InverseKernel::*;
    let names = match kernel {
        PlaneTotals => each!("lorenzo_nd_plane_totals_w", ""),
        PlaneTotalsAligned => each!("lorenzo_nd_plane_totals_w", "_aligned"),
        PlaneSums => each!("lorenzo_nd_plane_sums_w", ""),
        PlaneSumsAligned => each!("lorenzo_nd_plane_sums_w", "_aligned"),
        VolumeTotals => each!("lorenzo_nd_volume_totals_w", ""),
        VolumeTotalsAligned => each!("lorenzo_nd_volume_totals_w", "_aligned"),
        VolumeSums => each!("lorenzo_nd_volume_sums_w", ""),
        VolumeSumsAligned => each!("lorenzo_nd_volume_sums_w", "_aligned"),
        SlotsTotals => each!("lorenzo_nd_slots_totals_w", ""),
        SlotsSums => each!("lorenzo_nd_slots_sums_w", ""),
        LinesTotals => each!("lorenzo_nd_lines_totals_w", ""),
        LinesSums => each!("lorenzo_nd_lines_sums_w", ""),
        ChainTotals => each!("lorenzo_nd_chain_totals_w", ""),
        ChainSums => each!("lorenzo_nd_chain_sums_w", ""),
        NarrowTotals => each!("lorenzo_nd_narrow_totals_w", ""),
        NarrowSums => each!("lorenzo_nd_narrow_sums_w", ""),
        AxisTotals => each!("lorenzo_nd_axis_totals_w", ""),
        AxisSums => each!("lorenzo_nd_axis_sums_w", ""),
        Rest => each!("lorenzo_nd_rest_w", ""),
    };
    names[word.ilog2() as usize]
}
