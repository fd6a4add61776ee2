//! The kernels of 2-D and 3-D Lorenzo and of tiles in the emulator.

use super::emulator::Memory;
use cuda_std::emulator::{Config, Order, launch};
use cuda_std::vector::U32x4;
use gpu_kernels::lorenzo::nd::{axis, chain, flat, lines, narrow, plane, rest, slots, sums, totals, volume};
use shared_types::lorenzo_nd::{Extents, Forward, ForwardKernel, Inverse, InverseKernel, InverseParams};
use shared_types::lorenzo_tiled::{TILED, Tiled, TiledParams};

/// No block waits for another: any order will do.
fn order(seed: usize) -> Order {
    if seed.is_multiple_of(3) { Order::Grid } else { Order::Seeded(seed as u64) }
}

/// The residuals of `plain`.
pub fn forward(plain: &[u8], extents: [usize; 3], word: usize) -> Vec<u8> {
    let Forward { kernel, blocks, params } = Forward::plan(Extents::new(extents.map(|n| n as u64)), word as u32);
    use ForwardKernel::{Flat, Plane, PlaneAligned, Volume, VolumeAligned};
    let function = match (kernel, word) {
        (Flat, 1) => flat::lorenzo_nd_flat_w1,
        (Flat, 2) => flat::lorenzo_nd_flat_w2,
        (Flat, 4) => flat::lorenzo_nd_flat_w4,
        (Flat, _) => flat::lorenzo_nd_flat_w8,
        (Plane, 1) => plane::lorenzo_nd_plane_w1,
        (Plane, 2) => plane::lorenzo_nd_plane_w2,
        (Plane, 4) => plane::lorenzo_nd_plane_w4,
        (Plane, _) => plane::lorenzo_nd_plane_w8,
        (PlaneAligned, 1) => plane::lorenzo_nd_plane_w1_aligned,
        (PlaneAligned, 2) => plane::lorenzo_nd_plane_w2_aligned,
        (PlaneAligned, 4) => plane::lorenzo_nd_plane_w4_aligned,
        (PlaneAligned, _) => plane::lorenzo_nd_plane_w8_aligned,
        (Volume, 1) => volume::lorenzo_nd_volume_w1,
        (Volume, 2) => volume::lorenzo_nd_volume_w2,
        (Volume, 4) => volume::lorenzo_nd_volume_w4,
        (Volume, _) => volume::lorenzo_nd_volume_w8,
        (VolumeAligned, 1) => volume::lorenzo_nd_volume_w1_aligned,
        (VolumeAligned, 2) => volume::lorenzo_nd_volume_w2_aligned,
        (VolumeAligned, 4) => volume::lorenzo_nd_volume_w4_aligned,
        (VolumeAligned, _) => volume::lorenzo_nd_volume_w8_aligned,
    };
    let (mut input, mut output) = (Memory::new(plain.len(), plain), Memory::new(plain.len(), &[]));
    let (from, to) = (input.pointer(), output.pointer());
    let shape = kernel.launch();
    let config =
        Config::new(u32::try_from(blocks).expect("a small grid"), shape.threads, shape.shared_bytes).order(order(plain.len()));
    // SAFETY: the memory is as large as the plan says, and as aligned.
    launch(config, || unsafe { function(from, to, params) }).unwrap_or_else(|fault| panic!("{extents:?} x {word}: {fault}"));
    input.assert_guarded("the input");
    output.assert_guarded("the output");
    output.bytes().to_vec()
}

type Sums = unsafe fn(*const U32x4, *mut U32x4, *mut U32x4, InverseParams);

fn inverse_kernel(kernel: InverseKernel, word: usize) -> Sums {
    macro_rules! by_word {
        ($module:ident, $w1:ident, $w2:ident, $w4:ident, $w8:ident) => {
            match word {
                1 => $module::$w1,
                2 => $module::$w2,
                4 => $module::$w4,
                _ => $module::$w8,
            }
        };
    }
    match kernel {
        InverseKernel::PlaneTotals => by_word!(
            totals,
            lorenzo_nd_plane_totals_w1,
            lorenzo_nd_plane_totals_w2,
            lorenzo_nd_plane_totals_w4,
            lorenzo_nd_plane_totals_w8
        ),
        InverseKernel::PlaneTotalsAligned => by_word!(
            totals,
            lorenzo_nd_plane_totals_w1_aligned,
            lorenzo_nd_plane_totals_w2_aligned,
            lorenzo_nd_plane_totals_w4_aligned,
            lorenzo_nd_plane_totals_w8_aligned
        ),
        InverseKernel::PlaneSums => by_word!(
            sums,
            lorenzo_nd_plane_sums_w1,
            lorenzo_nd_plane_sums_w2,
            lorenzo_nd_plane_sums_w4,
            lorenzo_nd_plane_sums_w8
        ),
        InverseKernel::PlaneSumsAligned => by_word!(
            sums,
            lorenzo_nd_plane_sums_w1_aligned,
            lorenzo_nd_plane_sums_w2_aligned,
            lorenzo_nd_plane_sums_w4_aligned,
            lorenzo_nd_plane_sums_w8_aligned
        ),
        InverseKernel::VolumeTotals => by_word!(
            totals,
            lorenzo_nd_volume_totals_w1,
            lorenzo_nd_volume_totals_w2,
            lorenzo_nd_volume_totals_w4,
            lorenzo_nd_volume_totals_w8
        ),
        InverseKernel::VolumeTotalsAligned => by_word!(
            totals,
            lorenzo_nd_volume_totals_w1_aligned,
            lorenzo_nd_volume_totals_w2_aligned,
            lorenzo_nd_volume_totals_w4_aligned,
            lorenzo_nd_volume_totals_w8_aligned
        ),
        InverseKernel::VolumeSums => by_word!(
            sums,
            lorenzo_nd_volume_sums_w1,
            lorenzo_nd_volume_sums_w2,
            lorenzo_nd_volume_sums_w4,
            lorenzo_nd_volume_sums_w8
        ),
        InverseKernel::VolumeSumsAligned => by_word!(
            sums,
            lorenzo_nd_volume_sums_w1_aligned,
            lorenzo_nd_volume_sums_w2_aligned,
            lorenzo_nd_volume_sums_w4_aligned,
            lorenzo_nd_volume_sums_w8_aligned
        ),
        InverseKernel::SlotsTotals => by_word!(
            slots,
            lorenzo_nd_slots_totals_w1,
            lorenzo_nd_slots_totals_w2,
            lorenzo_nd_slots_totals_w4,
            lorenzo_nd_slots_totals_w8
        ),
        InverseKernel::SlotsSums => by_word!(
            slots,
            lorenzo_nd_slots_sums_w1,
            lorenzo_nd_slots_sums_w2,
            lorenzo_nd_slots_sums_w4,
            lorenzo_nd_slots_sums_w8
        ),
        InverseKernel::LinesTotals => by_word!(
            lines,
            lorenzo_nd_lines_totals_w1,
            lorenzo_nd_lines_totals_w2,
            lorenzo_nd_lines_totals_w4,
            lorenzo_nd_lines_totals_w8
        ),
        InverseKernel::LinesSums => by_word!(
            lines,
            lorenzo_nd_lines_sums_w1,
            lorenzo_nd_lines_sums_w2,
            lorenzo_nd_lines_sums_w4,
            lorenzo_nd_lines_sums_w8
        ),
        InverseKernel::ChainTotals => by_word!(
            chain,
            lorenzo_nd_chain_totals_w1,
            lorenzo_nd_chain_totals_w2,
            lorenzo_nd_chain_totals_w4,
            lorenzo_nd_chain_totals_w8
        ),
        InverseKernel::ChainSums => by_word!(
            chain,
            lorenzo_nd_chain_sums_w1,
            lorenzo_nd_chain_sums_w2,
            lorenzo_nd_chain_sums_w4,
            lorenzo_nd_chain_sums_w8
        ),
        InverseKernel::NarrowTotals => by_word!(
            narrow,
            lorenzo_nd_narrow_totals_w1,
            lorenzo_nd_narrow_totals_w2,
            lorenzo_nd_narrow_totals_w4,
            lorenzo_nd_narrow_totals_w8
        ),
        InverseKernel::NarrowSums => by_word!(
            narrow,
            lorenzo_nd_narrow_sums_w1,
            lorenzo_nd_narrow_sums_w2,
            lorenzo_nd_narrow_sums_w4,
            lorenzo_nd_narrow_sums_w8
        ),
        InverseKernel::AxisTotals => by_word!(
            axis,
            lorenzo_nd_axis_totals_w1,
            lorenzo_nd_axis_totals_w2,
            lorenzo_nd_axis_totals_w4,
            lorenzo_nd_axis_totals_w8
        ),
        InverseKernel::AxisSums => {
            by_word!(axis, lorenzo_nd_axis_sums_w1, lorenzo_nd_axis_sums_w2, lorenzo_nd_axis_sums_w4, lorenzo_nd_axis_sums_w8)
        }
        InverseKernel::Rest => by_word!(rest, lorenzo_nd_rest_w1, lorenzo_nd_rest_w2, lorenzo_nd_rest_w4, lorenzo_nd_rest_w8),
    }
}

/// The array that `residuals` are of.
pub fn inverse(residuals: &[u8], extents: [usize; 3], word: usize) -> Vec<u8> {
    let plan = Inverse::plan(Extents::new(extents.map(|n| n as u64)), word as u32);
    let (mut input, mut output) = (Memory::new(residuals.len(), residuals), Memory::new(residuals.len(), &[]));
    let mut scratch = Memory::new(plan.scratch_bytes as usize, &[]);
    let (from, to, between) = (input.pointer(), output.pointer(), scratch.pointer());
    for step in plan.steps() {
        let function = inverse_kernel(step.kernel, word);
        let shape = step.kernel.launch();
        let config = Config::new(u32::try_from(step.blocks).expect("a small grid"), shape.threads, shape.shared_bytes)
            .order(order(residuals.len()));
        // SAFETY: the memory is as large as the plan says, and as aligned.
        launch(config, || unsafe { function(from, to, between, step.params) })
            .unwrap_or_else(|fault| panic!("{extents:?} x {word}, {:?}: {fault}", step.kernel));
    }
    input.assert_guarded("the input");
    output.assert_guarded("the output");
    scratch.assert_guarded("scratch memory");
    output.bytes().to_vec()
}

/// Runs one of the kernels over `input`; `bytes` come out.
pub fn run_tiled(
    plan: &Tiled,
    kernel: unsafe fn(*const U32x4, *mut U32x4, TiledParams),
    input: &[u8],
    bytes: usize,
) -> Vec<u8> {
    let (mut from, mut to) = (Memory::new(input.len(), input), Memory::new(bytes, &[]));
    let (input, output) = (from.pointer(), to.pointer());
    let blocks = u32::try_from(plan.blocks).expect("a small grid");
    // SAFETY: the memory is as large as the plan says, and as aligned.
    launch(Config::new(blocks, TILED.threads, TILED.shared_bytes), || unsafe { kernel(input, output, plan.params) })
        .unwrap_or_else(|fault| panic!("{:?}: {fault}", plan.params));
    to.assert_guarded("the output");
    to.bytes().to_vec()
}
