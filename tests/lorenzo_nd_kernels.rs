//! The kernels of 2-D and 3-D Lorenzo in the emulator, against loops written from the format's page.
#![cfg(feature = "cuda")]

mod support;

use cuda_std::emulator::{Config, launch};
use gpu_kernels::lorenzo::nd::{flat, plane, volume};
use shared_types::lorenzo_nd::{Extents, Forward, ForwardKernel};
use support::assert_same_bytes;
use support::emulator::Memory;

/// The elements of an array of elements of `word` bytes, each in the lowest bits of a number.
fn elements(bytes: &[u8], word: usize) -> Vec<u64> {
    let element = |bytes: &[u8]| bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte));
    bytes.chunks_exact(word).map(element).collect()
}

fn bytes(elements: &[u64], word: usize) -> Vec<u8> {
    elements.iter().flat_map(|element| element.to_le_bytes().into_iter().take(word)).collect()
}

/// `e(x, y, z)` as the format's section 5 has it.
fn residuals(plain: &[u8], [nx, ny, nz]: [usize; 3], word: usize) -> Vec<u8> {
    let q = elements(plain, word);
    let mut e = Vec::with_capacity(q.len());
    for z in 0..nz {
        for y in 0..ny {
            for x in 0..nx {
                let at = |dx: usize, dy: usize, dz: usize| {
                    if dx > x || dy > y || dz > z { 0 } else { q[((z - dz) * ny + y - dy) * nx + x - dx] }
                };
                let mut residual = 0u64;
                for (dx, dy, dz) in (0..8).map(|i| (i & 1, i >> 1 & 1, i >> 2)) {
                    let term = at(dx, dy, dz);
                    residual = if (dx + dy + dz) % 2 == 0 { residual.wrapping_add(term) } else { residual.wrapping_sub(term) };
                }
                e.push(residual);
            }
        }
    }
    bytes(&e, word)
}

/// Bytes without a pattern; runs of the extremes among them.
fn random(len: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(2) + 1;
    let mut data = Vec::with_capacity(len + 16);
    while data.len() < len {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        match state >> 60 {
            0 => data.extend([0xFF; 16]),
            1 => data.extend([0x80, 0, 0, 0, 0, 0, 0, 0x80]),
            2 => data.extend([0xFF, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F]),
            _ => data.extend((state >> 8).to_le_bytes().into_iter().take(5)),
        }
    }
    data.truncate(len);
    data
}

fn forward(plain: &[u8], extents: [usize; 3], word: usize) -> Vec<u8> {
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
    let config = Config::new(u32::try_from(blocks).expect("a small grid"), shape.threads, shape.shared_bytes);
    // SAFETY: the memory is as large as the plan says, and as aligned.
    launch(config, || unsafe { function(from, to, params) }).unwrap_or_else(|fault| panic!("{extents:?} x {word}: {fault}"));
    input.assert_guarded("the input");
    output.assert_guarded("the output");
    output.bytes().to_vec()
}

/// Extents that meet every border of the kernels' tiles, for elements of `word` bytes: rows of whole units and others, tiny, around a
/// strip, a tile of rows and a chunk of planes.
fn shapes(word: usize) -> Vec<[usize; 3]> {
    let unit = 16 / word;
    let mut shapes = vec![
        [1, 1, 1],
        [2, 1, 1],
        [1, 3, 1],
        [1, 1, 1000],
        [1000, 1, 1],
        [2, 2, 1],
        [2, 2, 2],
        [3, 5, 7],
        [1, 5, 7],
        [5, 1, 7],
        [1, 300, 1],
        [2, 700, 1],
        [17, 33, 1],
        [31, 31, 5],
        [1, 70_000, 1],
        [70_000, 1, 1],
        [3, 1, 1000],
        [1000, 1, 3],
        [4, 4, 40],
    ];
    for nx in
        [15 * unit, 15 * unit + 1, 16 * unit, 30 * unit + 1, 31 * unit - 1, 32 * unit, 33 * unit, 33 * unit + 3, 65 * unit - 1]
    {
        shapes.extend([
            [nx, 2, 1],
            [nx, 7, 1],
            [nx, 8, 1],
            [nx, 9, 1],
            [nx, 25, 1],
            [nx, 2, 2],
            [nx, 5, 3],
            [nx, 4, 9],
            [nx, 9, 6],
            [nx, 11, 13],
        ]);
    }
    shapes
}

fn forward_in_all_shapes(word: usize) {
    for (seed, extents) in shapes(word).into_iter().enumerate() {
        let plain = random(extents.iter().product::<usize>() * word, seed as u64);
        let at = format!("{extents:?} of {word} bytes");
        assert_same_bytes(&forward(&plain, extents, word), &residuals(&plain, extents, word), &at);
    }
}

#[test]
fn differences_of_1_byte() {
    forward_in_all_shapes(1);
}

#[test]
fn differences_of_2_bytes() {
    forward_in_all_shapes(2);
}

#[test]
fn differences_of_4_bytes() {
    forward_in_all_shapes(4);
}

#[test]
fn differences_of_8_bytes() {
    forward_in_all_shapes(8);
}
