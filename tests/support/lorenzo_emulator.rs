//! The Lorenzo kernels under the emulator, launched as the library launches them on a device.

use super::emulator::{self, Kernels, Memory, Tails, run};
use super::lorenzo::{LorenzoExecutor, Settings};
use super::lorenzo_nd;
use cuda_std::vector::U32x4;
use gpu_kernels::lorenzo::block::{center, forward, inverse};
use gpu_kernels::lorenzo::{adaptive, fused, tiled};
use shared_types::clog::{DECODE, FUSED_ENCODE};
use shared_types::launch::Launch;
use shared_types::lc::{ChunkSize, TILE_BYTES};
use shared_types::lorenzo::{
    ADAPTIVE_FORWARD, ADAPTIVE_INVERSE, ADAPTIVE_MEANS, AdaptiveParams, BlockKind, BlockParams, CENTER_SHARED, INVERSE_SHORT,
    INVERSE_SMALL, MODES_PADDING, center_launch, forward_launch, inverse_launch, inverse_whole_launch,
};
use shared_types::lorenzo_tiled::Tiled;
use warpack::lorenzo::{AdaptiveLorenzo, Lorenzo, Mode, Policy, Ports, Predictor, TiledLorenzo};
use warpack::stage::lc::{Decoded, Settings as ChunkSettings};
use warpack::{Error, Result};

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

fn center_kernel(word: u32, kind: BlockKind) -> (Center, Launch) {
    use BlockKind::{Aligned, Any, Short, Small, Whole};
    let kernel: Center = match (word, kind) {
        (1, Whole) => center::lorenzo_center_w1_whole,
        (2, Whole) => center::lorenzo_center_w2_whole,
        (4, Whole) => center::lorenzo_center_w4_whole,
        (_, Whole) => center::lorenzo_center_w8_whole,
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
        (1, Short) => center::lorenzo_center_w1_short,
        (2, Short) => center::lorenzo_center_w2_short,
        (_, Short) => center::lorenzo_center_w4_short,
    };
    let launch = match kind {
        Whole | Small => center_launch(word),
        Aligned | Any | Short => CENTER_SHARED,
    };
    (kernel, launch)
}

fn inverse_kernel(word: u32, kind: BlockKind, centering: bool) -> (Inverse, Launch) {
    use BlockKind::{Aligned, Any, Short, Small, Whole};
    let kernel: Inverse = match (word, kind) {
        (1, Whole) => inverse::lorenzo_inverse_w1_whole,
        (2, Whole) => inverse::lorenzo_inverse_w2_whole,
        (4, Whole) => inverse::lorenzo_inverse_w4_whole,
        (_, Whole) => inverse::lorenzo_inverse_w8_whole,
        (1, Aligned) => inverse::lorenzo_inverse_w1_aligned,
        (2, Aligned) => inverse::lorenzo_inverse_w2_aligned,
        (4, Aligned) => inverse::lorenzo_inverse_w4_aligned,
        (_, Aligned) => inverse::lorenzo_inverse_w8_aligned,
        (1, Any) if centering => inverse::lorenzo_uncenter_w1_any,
        (2, Any) if centering => inverse::lorenzo_uncenter_w2_any,
        (4, Any) if centering => inverse::lorenzo_uncenter_w4_any,
        (_, Any) if centering => inverse::lorenzo_uncenter_w8_any,
        (1, Any) => inverse::lorenzo_inverse_w1_any,
        (2, Any) => inverse::lorenzo_inverse_w2_any,
        (4, Any) => inverse::lorenzo_inverse_w4_any,
        (_, Any) => inverse::lorenzo_inverse_w8_any,
        (1, Small) => inverse::lorenzo_inverse_w1_small,
        (2, Small) => inverse::lorenzo_inverse_w2_small,
        (4, Small) => inverse::lorenzo_inverse_w4_small,
        (_, Small) => inverse::lorenzo_inverse_w8_small,
        (1, Short) => inverse::lorenzo_inverse_w1_short,
        (2, Short) => inverse::lorenzo_inverse_w2_short,
        (_, Short) => inverse::lorenzo_inverse_w4_short,
    };
    let launch = match kind {
        Whole => inverse_whole_launch(word),
        Aligned => inverse_launch(word, true, true),
        Any => inverse_launch(word, false, centering),
        Small => INVERSE_SMALL,
        Short => INVERSE_SHORT,
    };
    (kernel, launch)
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

    fn forward(&self, settings: &Settings, plain: &[u8]) -> Result<Ports> {
        let word = settings.element().bytes() as u32;
        let elements = (plain.len() as u64) / u64::from(word);
        let sizes = settings.port_bytes(plain.len() as u64)?;
        if elements == 0 {
            return settings.forward(plain);
        }
        let lorenzo = match settings {
            Settings::Lorenzo(lorenzo) => lorenzo,
            Settings::Adaptive(lorenzo) => return Ok(adaptive_forward(lorenzo, plain)),
            Settings::Tiled(tiled) => {
                let plan = tiled_plan(tiled, elements);
                let kernel = if word == 2 { tiled::lorenzo_tiled_w2 } else { tiled::lorenzo_tiled_w4 };
                let output = lorenzo_nd::run_tiled(&plan, kernel, plain, sizes.output as usize);
                return Ok(Ports { output, ..Ports::default() });
            }
        };
        if let Mode::Grid { extents } = lorenzo.mode() {
            let output = lorenzo_nd::forward(plain, extents.map(|extent| extent as usize), word as usize);
            return Ok(Ports { output, ..Ports::default() });
        }
        let (params, centering) = block(lorenzo, elements).expect("supported");
        let (mut input, mut output) = (Memory::new(plain.len(), plain), Memory::new(sizes.output as usize, &[]));
        let mut means = Memory::new(sizes.means as usize, &[]);
        let (i, o, m) = (input.pointer(), output.pointer(), means.pointer());
        let blocks = params.tiles() as u32;
        // SAFETY: the sizes are those that the kernels ask for.
        unsafe {
            if centering {
                let (kernel, shape) = center_kernel(word, params.kind(word));
                run(shape, blocks, || kernel(i, o, m, params));
            } else {
                let aligned = params.aligned(word);
                let kernel = forward_kernel(word, aligned);
                run(forward_launch(word, aligned), blocks, || kernel(i, o, params));
            }
        }
        output.assert_guarded("output");
        means.assert_guarded("means");
        Ok(Ports { output: output.bytes().to_vec(), means: means.bytes().to_vec(), modes: Vec::new() })
    }

    fn inverse(&self, settings: &Settings, ports: &Ports, elements: usize) -> Result<Vec<u8>> {
        let word = settings.element().bytes() as u32;
        let bytes = elements * word as usize;
        let cpu = settings.inverse(ports.as_ref(), bytes as u64);
        // What the kernels can't know: lengths that the host checks in front of them.
        let modes = settings.port_bytes(bytes as u64)?.modes;
        let counted =
            matches!(settings, Settings::Adaptive(_)) && (ports.output.len(), ports.modes.len() as u64) == (bytes, modes);
        if elements == 0 || cpu.is_err() && !counted {
            return cpu;
        }
        let lorenzo = match settings {
            Settings::Lorenzo(lorenzo) => lorenzo,
            Settings::Adaptive(lorenzo) => return adaptive_inverse(lorenzo, ports, bytes),
            Settings::Tiled(tiled) => {
                let plan = tiled_plan(tiled, elements as u64);
                let kernel = if word == 2 { tiled::lorenzo_untiled_w2 } else { tiled::lorenzo_untiled_w4 };
                return Ok(lorenzo_nd::run_tiled(&plan, kernel, &ports.output, bytes));
            }
        };
        if let Mode::Grid { extents } = lorenzo.mode() {
            return Ok(lorenzo_nd::inverse(&ports.output, extents.map(|extent| extent as usize), word as usize));
        }
        let (params, centering) = block(lorenzo, elements as u64).expect("supported");
        let (mut input, mut output) = (Memory::new(bytes, &ports.output), Memory::new(bytes, &[]));
        let mut means = Memory::new(ports.means.len(), &ports.means);
        let (i, o) = (input.pointer(), output.pointer());
        let m = if centering { means.pointer() } else { std::ptr::null_mut() };
        let (kernel, shape) = inverse_kernel(word, params.kind(word), centering);
        // SAFETY: as above.
        unsafe { run(shape, params.tiles() as u32, || kernel(i, m, o, params)) };
        output.assert_guarded("output");
        Ok(output.bytes().to_vec())
    }
}

fn tiled_plan(lorenzo: &TiledLorenzo, elements: u64) -> Tiled {
    let extents = lorenzo.extents().unwrap_or([elements, 1, 1]);
    Tiled::plan(extents.map(|extent| extent.max(1)), lorenzo.tile().map(u32::from))
}

fn adaptive_params(lorenzo: &AdaptiveLorenzo, bytes: usize) -> AdaptiveParams {
    let word = lorenzo.element().bytes();
    AdaptiveParams::new(
        bytes as u64 / word,
        word as u32,
        lorenzo.blocks_per_tile(),
        lorenzo.enable_order2(),
        lorenzo.enable_centering(),
        lorenzo.policy() == Policy::Outlier,
    )
}

fn adaptive_forward(lorenzo: &AdaptiveLorenzo, plain: &[u8]) -> Ports {
    let params = adaptive_params(lorenzo, plain.len());
    let (word, sizes) = (lorenzo.element().bytes(), lorenzo.port_bytes(plain.len() as u64).expect("checked"));
    let (tiles, tile_bytes) = (params.block.segments, (params.block.segments * word) as usize);
    let (mut input, mut output) = (Memory::new(plain.len(), plain), Memory::new(plain.len(), &[]));
    let (mut modes, mut means) = (Memory::new(sizes.modes as usize, &[]), Memory::new(sizes.means as usize, &[]));
    let mut tile_means = Memory::new(tile_bytes, &[]);
    let mut look_back = Memory::new(8 * params.means_blocks() as usize, &vec![0; 8 * params.means_blocks() as usize]);
    let mut centered = Memory::new(8, &[]);
    let (i, o, d, m, t) = (input.pointer(), output.pointer(), modes.pointer(), means.pointer(), tile_means.pointer());
    let (l, c) = (look_back.pointer(), centered.pointer());
    let (blocks, means_blocks) = (params.block.tiles() as u32, params.means_blocks() as u32);
    // SAFETY: the sizes are those that the kernels ask for.
    unsafe {
        if word == 2 {
            run(ADAPTIVE_FORWARD, blocks, || adaptive::adaptive_lorenzo_forward_w2(i, o, d, t, params));
            run(ADAPTIVE_MEANS, means_blocks, || adaptive::adaptive_lorenzo_pack_w2(d, t, m, l, c, tiles));
        } else {
            run(ADAPTIVE_FORWARD, blocks, || adaptive::adaptive_lorenzo_forward_w4(i, o, d, t, params));
            run(ADAPTIVE_MEANS, means_blocks, || adaptive::adaptive_lorenzo_pack_w4(d, t, m, l, c, tiles));
        }
    }
    for (memory, name) in
        [(&output, "output"), (&modes, "modes"), (&means, "means"), (&centered, "centered"), (&tile_means, "tiles' means")]
    {
        memory.assert_guarded(name);
    }
    let count = u64::from_le_bytes(centered.bytes().try_into().expect("eight bytes"));
    let means = means.bytes()[..(count * word) as usize].to_vec();
    Ports { output: output.bytes().to_vec(), means, modes: modes.bytes().to_vec() }
}

fn adaptive_inverse(lorenzo: &AdaptiveLorenzo, ports: &Ports, bytes: usize) -> Result<Vec<u8>> {
    let params = adaptive_params(lorenzo, bytes);
    let word = lorenzo.element().bytes();
    let (tiles, held) = (params.block.segments, ports.means.len() as u64 / word);
    let (mut input, mut output) = (Memory::new(bytes, &ports.output), Memory::new(bytes, &[]));
    let (mut modes, mut means) = (Memory::new(ports.modes.len(), &ports.modes), Memory::new(ports.means.len(), &ports.means));
    let mut tile_means = Memory::new((tiles * word) as usize, &[]);
    let mut look_back = Memory::new(8 * params.means_blocks() as usize, &vec![0; 8 * params.means_blocks() as usize]);
    let mut centered = Memory::new(8, &[]);
    let (i, o, d, m, t) = (input.pointer(), output.pointer(), modes.pointer(), means.pointer(), tile_means.pointer());
    let (l, c) = (look_back.pointer(), centered.pointer());
    let (blocks, means_blocks) = (params.block.tiles() as u32, params.means_blocks() as u32);
    // SAFETY: as above.
    unsafe {
        if word == 2 {
            run(ADAPTIVE_MEANS, means_blocks, || adaptive::adaptive_lorenzo_spread_w2(d, m, held, t, l, c, tiles));
            run(ADAPTIVE_INVERSE, blocks, || adaptive::adaptive_lorenzo_inverse_w2(i, d, t, o, params));
        } else {
            run(ADAPTIVE_MEANS, means_blocks, || adaptive::adaptive_lorenzo_spread_w4(d, m, held, t, l, c, tiles));
            run(ADAPTIVE_INVERSE, blocks, || adaptive::adaptive_lorenzo_inverse_w4(i, d, t, o, params));
        }
    }
    for (memory, name) in [(&output, "output"), (&centered, "centered"), (&tile_means, "tiles' means")] {
        memory.assert_guarded(name);
    }
    let counted = u64::from_le_bytes(centered.bytes().try_into().expect("eight bytes"));
    if counted & MODES_PADDING != 0 {
        return Err(Error::Padding { offset: ports.modes.len() as u64 - 1 });
    }
    let (found, expected) = (ports.means.len() as u64, counted * lorenzo.element().bytes());
    if found == expected { Ok(output.bytes().to_vec()) } else { Err(Error::PortLength { port: "means", found, expected }) }
}

type Encode = unsafe fn(*const U32x4, u32, u32, *mut u8, *mut u64, *mut u64, u32, u32);
type EncodeTail = unsafe fn(*const u8, u32, u32, *mut u8, *const u64, *mut u64, u32, u32);
type Decode = unsafe fn(*const u8, *const u64, u64, u32, *mut U32x4, u64, *const u32, *mut u32, *mut u64, u32, u32);
type DecodeTail = unsafe fn(*const u8, *const u64, u64, u32, *mut u8, u64, *const u32, *mut u32, *mut u64, u32, u32);

/// Lorenzo, zigzag and CLOG in one.
fn fused(settings: ChunkSettings, length: u32, order: u32) -> Kernels {
    use ChunkSize::{C4096, C8192, C16384};
    let (encode, decode): (Encode, Decode) = match (settings.word.bytes(), settings.chunk) {
        (2, C4096) => (fused::lorenzo_clog_encode_w2_c4096, fused::lorenzo_clog_decode_w2_c4096),
        (2, C8192) => (fused::lorenzo_clog_encode_w2_c8192, fused::lorenzo_clog_decode_w2_c8192),
        (2, C16384) => (fused::lorenzo_clog_encode_w2_c16384, fused::lorenzo_clog_decode_w2_c16384),
        (_, C4096) => (fused::lorenzo_clog_encode_w4_c4096, fused::lorenzo_clog_decode_w4_c4096),
        (_, C8192) => (fused::lorenzo_clog_encode_w4_c8192, fused::lorenzo_clog_decode_w4_c8192),
        (_, C16384) => (fused::lorenzo_clog_encode_w4_c16384, fused::lorenzo_clog_decode_w4_c16384),
    };
    let (encode_tail, decode_tail): (EncodeTail, DecodeTail) = match settings.word.bytes() {
        2 => (fused::lorenzo_clog_encode_tail_w2, fused::lorenzo_clog_decode_tail_w2),
        _ => (fused::lorenzo_clog_encode_tail_w4, fused::lorenzo_clog_decode_tail_w4),
    };
    let (b, k) = (length, order);
    Kernels {
        // SAFETY: whoever calls keeps the kernel's promises; so below.
        encode: Box::new(move |p, n, c, s, l, r| unsafe { encode(p, n, c, s, l, r, b, k) }),
        // SAFETY: as above.
        decode: Box::new(move |s, l, n, c, p, m, o, t, r| unsafe { decode(s, l, n, c, p, m, o, t, r, b, k) }),
        tails: Some(Tails {
            // SAFETY: as above.
            encode: Box::new(move |p, n, c, s, l, r| unsafe { encode_tail(p, n, c, s, l, r, b, k) }),
            // SAFETY: as above.
            decode: Box::new(move |s, l, n, c, p, m, o, t, r| unsafe { decode_tail(s, l, n, c, p, m, o, t, r, b, k) }),
        }),
        encode_launch: FUSED_ENCODE,
        decode_launch: DECODE,
        tile_bytes: TILE_BYTES,
    }
}

/// The stream of `plain`, by the fused kernels.
pub fn encode_fused(plain: &[u8], settings: ChunkSettings, length: u32, order: u32) -> Vec<u8> {
    emulator::Emulator.stream_of(&fused(settings, length, order), settings, plain)
}

/// What is in `coded`, by the fused kernels.
pub fn decode_fused(coded: &[u8], plain_bytes: usize, settings: ChunkSettings, length: u32, order: u32) -> Vec<u8> {
    if plain_bytes == 0 {
        return Vec::new();
    }
    let outcome = emulator::Emulator.outcome_of(&fused(settings, length, order), settings, coded, plain_bytes);
    assert_eq!(outcome.decoded, Decoded::Whole { plain_bytes: plain_bytes as u64 });
    outcome.plain
}
