//! The Lorenzo kernels under the emulator, launched as the library launches them on a device.

use super::emulator::{Memory, run};
use super::lorenzo::{LorenzoExecutor, Settings};
use cuda_std::vector::U32x4;
use gpu_kernels::lorenzo::block::{center, forward, inverse};
use shared_types::lorenzo::{BlockKind, BlockParams, CENTER, CENTER_SMALL, forward_launch, inverse_launch};
use warpack::Result;
use warpack::lorenzo::{Lorenzo, Ports, Predictor};

type Forward = unsafe fn(*const U32x4, *mut U32x4, BlockParams);
type Center = unsafe fn(*const U32x4, *mut U32x4, *mut U32x4, BlockParams);
type Inverse = unsafe fn(*const U32x4, *const U32x4, *mut U32x4, BlockParams);

fn forward_kernel(word: u32, aligned: bool) -> Forward {
    match (word, aligned) {
        (1, true) => forward::lorenzo_forward_w1_aligned,
        (2, true) => forward::lorenzo_forward_w2_aligned,
        (4, true) => forward::lorenzo_forward_w4_aligned,
        (_, true) => forward::lorenzo_forward_w8_aligned,
        (1, false) => forward::lorenzo_forward_w1_any,
        (2, false) => forward::lorenzo_forward_w2_any,
        (4, false) => forward::lorenzo_forward_w4_any,
        (_, false) => forward::lorenzo_forward_w8_any,
    }
}

fn center_kernel(word: u32, kind: BlockKind) -> Center {
    use BlockKind::{Aligned, Any, Small};
    match (word, kind) {
        (1, Aligned) => center::lorenzo_center_w1_aligned,
        (2, Aligned) => center::lorenzo_center_w2_aligned,
        (4, Aligned) => center::lorenzo_center_w4_aligned,
        (_, Aligned) => center::lorenzo_center_w8_aligned,
        (1, Any) => center::lorenzo_center_w1_any,
        (2, Any) => center::lorenzo_center_w2_any,
        (4, Any) => center::lorenzo_center_w4_any,
        (_, Any) => center::lorenzo_center_w8_any,
        (1, Small) => center::lorenzo_center_w1_small,
        (2, Small) => center::lorenzo_center_w2_small,
        (4, Small) => center::lorenzo_center_w4_small,
        (_, Small) => center::lorenzo_center_w8_small,
    }
}

fn inverse_kernel(word: u32, aligned: bool) -> Inverse {
    match (word, aligned) {
        (1, true) => inverse::lorenzo_inverse_w1_aligned,
        (2, true) => inverse::lorenzo_inverse_w2_aligned,
        (4, true) => inverse::lorenzo_inverse_w4_aligned,
        (_, true) => inverse::lorenzo_inverse_w8_aligned,
        (1, false) => inverse::lorenzo_inverse_w1_any,
        (2, false) => inverse::lorenzo_inverse_w2_any,
        (4, false) => inverse::lorenzo_inverse_w4_any,
        (_, false) => inverse::lorenzo_inverse_w8_any,
    }
}

/// The parameters of block mode, and whether there are means.
fn block(lorenzo: &Lorenzo, elements: u64) -> Option<(BlockParams, bool)> {
    let segments = lorenzo.segments()?;
    let word = lorenzo.element().bytes() as u32;
    let params = BlockParams::new(elements, word, segments.block_size(), segments.order().number().into());
    Some((params, segments.centering()))
}

/// The emulator of `cuda_std`.
pub struct Emulator;

impl LorenzoExecutor for Emulator {
    fn name(&self) -> &str {
        "emulator"
    }

    fn max_elements(&self) -> usize {
        70_000
    }

    fn supports(&self, settings: &Settings) -> bool {
        matches!(settings, Settings::Lorenzo(lorenzo) if lorenzo.segments().is_some())
    }

    fn forward(&self, settings: &Settings, plain: &[u8]) -> Result<Ports> {
        let Settings::Lorenzo(lorenzo) = settings else { unreachable!("not supported") };
        let word = settings.element().bytes() as u32;
        let elements = (plain.len() as u64) / u64::from(word);
        let sizes = settings.port_bytes(plain.len() as u64)?;
        if elements == 0 {
            return settings.forward(plain);
        }
        let (params, centering) = block(lorenzo, elements).expect("supported");
        let (mut input, mut output) = (Memory::new(plain.len(), plain), Memory::new(sizes.output as usize, &[]));
        let mut means = Memory::new(sizes.means as usize, &[]);
        let (i, o, m) = (input.pointer(), output.pointer(), means.pointer());
        let (kind, blocks) = (params.kind(word), params.tiles() as u32);
        // SAFETY: the sizes are those that the kernels ask for.
        unsafe {
            if centering {
                let kernel = center_kernel(word, kind);
                let shape = if kind == BlockKind::Small { CENTER_SMALL } else { CENTER };
                run(shape, blocks, || kernel(i, o, m, params));
            } else {
                let aligned = kind == BlockKind::Aligned;
                let kernel = forward_kernel(word, aligned);
                run(forward_launch(word, aligned), blocks, || kernel(i, o, params));
            }
        }
        output.assert_guarded("output");
        means.assert_guarded("means");
        Ok(Ports { output: output.bytes().to_vec(), means: means.bytes().to_vec(), modes: Vec::new() })
    }

    fn inverse(&self, settings: &Settings, ports: &Ports, elements: usize) -> Result<Vec<u8>> {
        let Settings::Lorenzo(lorenzo) = settings else { unreachable!("not supported") };
        let word = settings.element().bytes() as u32;
        let bytes = elements * word as usize;
        let cpu = settings.inverse(ports.as_ref(), bytes as u64);
        if elements == 0 || cpu.is_err() {
            return cpu;
        }
        let (params, centering) = block(lorenzo, elements as u64).expect("supported");
        let (mut input, mut output) = (Memory::new(bytes, &ports.output), Memory::new(bytes, &[]));
        let mut means = Memory::new(ports.means.len(), &ports.means);
        let (i, o) = (input.pointer(), output.pointer());
        let m = if centering { means.pointer() } else { std::ptr::null_mut() };
        let aligned = params.kind(word) == BlockKind::Aligned;
        let kernel = inverse_kernel(word, aligned);
        // SAFETY: as above.
        unsafe { run(inverse_launch(word, aligned), params.tiles() as u32, || kernel(i, m, o, params)) };
        output.assert_guarded("output");
        Ok(output.bytes().to_vec())
    }
}
