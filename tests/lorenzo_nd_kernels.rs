//! The kernels of 2-D and 3-D Lorenzo in the emulator, against loops written from the format's page.
#![cfg(feature = "cuda")]

mod support;

use gpu_kernels::lorenzo::tiled;
use shared_types::lorenzo_nd::{Extents, Forward, Inverse};
use shared_types::lorenzo_tiled::Tiled;
use std::collections::HashSet;
use support::assert_same_bytes;
use support::lorenzo_nd::{forward, inverse, run_tiled};

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

/// As [`shapes`], and at the borders of strips, tiles and chunks of the inverse direction; many of each, too.
fn inverse_shapes(word: usize) -> Vec<[usize; 3]> {
    let unit = 16 / word;
    let mut shapes = shapes(word);
    for nx in [31 * unit, 30 * unit + unit / 2 + 1, 62 * unit + 1, 64 * unit, 96 * unit + 2] {
        shapes.extend([
            [nx, 16, 1],
            [nx, 17, 1],
            [nx, 33, 1],
            [nx, 70, 1],
            [nx, 16, 2],
            [nx, 17, 18],
            [nx, 33, 5],
            [nx, 2, 35],
        ]);
    }
    shapes.extend([
        [2, 9000, 1],
        [3, 2500, 4],
        [7, 70, 90],
        [14 * unit, 300, 3],
        [unit + 1, 3, 700],
        [2, 2, 5000],
        [5, 1000, 2],
        [16 * unit, 1100, 1],
        [15 * unit + 1, 2, 1200],
        [15 * unit, 1100, 2],
        [800 * unit + 1, 2, 1],
        [2200 * unit, 3, 2],
    ]);
    shapes
}

fn inverse_in_all_shapes(word: usize) {
    for (seed, extents) in inverse_shapes(word).into_iter().enumerate() {
        let plain = random(extents.iter().product::<usize>() * word, seed as u64);
        let at = format!("{extents:?} of {word} bytes");
        assert_same_bytes(&inverse(&residuals(&plain, extents, word), extents, word), &plain, &at);
    }
}

#[test]
fn any_extents() {
    let mut state = 7u64;
    let mut random_below = |n: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % n
    };
    for seed in 0..150 {
        let word = 1 << random_below(4);
        let mut extents = [1; 3];
        for axis in 0..3 {
            let room = 16_384 / extents.iter().product::<usize>();
            let most = [2, 40, 600, 3000][random_below(4)];
            extents[axis] = 1 + random_below(room.min(most));
        }
        extents.rotate_left(random_below(3));
        let plain = random(extents.iter().product::<usize>() * word, seed);
        let at = format!("{extents:?} of {word} bytes");
        let coded = forward(&plain, extents, word);
        assert_same_bytes(&coded, &residuals(&plain, extents, word), &at);
        assert_same_bytes(&inverse(&coded, extents, word), &plain, &at);
    }
}

#[test]
fn the_shapes_meet_every_kernel() {
    for word in [1, 2, 4, 8] {
        let extents = |shape: [usize; 3]| Extents::new(shape.map(|n| n as u64));
        let forward: HashSet<_> =
            shapes(word).into_iter().map(|shape| format!("{:?}", Forward::plan(extents(shape), word as u32).kernel)).collect();
        assert_eq!(forward.len(), 5, "{forward:?} of {word} bytes");
        let plans = inverse_shapes(word).into_iter().map(|shape| Inverse::plan(extents(shape), word as u32));
        let inverse: HashSet<_> =
            plans.flat_map(|plan| plan.steps().iter().map(|step| format!("{:?}", step.kernel)).collect::<Vec<_>>()).collect();
        assert_eq!(inverse.len(), 19, "{inverse:?} of {word} bytes");
    }
}

#[test]
fn sums_of_1_byte() {
    inverse_in_all_shapes(1);
}

#[test]
fn sums_of_2_bytes() {
    inverse_in_all_shapes(2);
}

#[test]
fn sums_of_4_bytes() {
    inverse_in_all_shapes(4);
}

#[test]
fn sums_of_8_bytes() {
    inverse_in_all_shapes(8);
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

/// The tiles of `plain` as the format's section 7 has them.
fn tiles(plain: &[u8], [nx, ny, nz]: [usize; 3], [tx, ty, tz]: [usize; 3], word: usize) -> Vec<u8> {
    let q = elements(plain, word);
    let at = |x: usize, y: usize, z: usize| q[(z * ny + y) * nx + x];
    let mut e = Vec::new();
    for (k, j, i) in product(nz.div_ceil(tz), ny.div_ceil(ty), nx.div_ceil(tx)) {
        for (lz, ly, lx) in product(tz, ty, tx) {
            let (x, y, z) = (i * tx + lx, j * ty + ly, k * tz + lz);
            e.push(if x >= nx || y >= ny || z >= nz {
                0
            } else {
                let before = if lx > 0 {
                    at(x - 1, y, z)
                } else if ly > 0 {
                    at(x, y - 1, z)
                } else if lz > 0 {
                    at(x, y, z - 1)
                } else {
                    0
                };
                at(x, y, z).wrapping_sub(before)
            });
        }
    }
    bytes(&e, word)
}

/// All triples below these, the last one fastest.
fn product(a: usize, b: usize, c: usize) -> impl Iterator<Item = (usize, usize, usize)> {
    (0..a * b * c).map(move |i| (i / c / b, i / c % b, i % c))
}

#[test]
fn tiles_and_back() {
    let shapes = [
        ([1, 1, 1], [1, 1, 1]),
        ([3, 2, 1], [2, 2, 1]),
        ([100, 1, 1], [64, 1, 1]),
        ([5000, 1, 1], [64, 1, 1]),
        ([64, 64, 1], [8, 8, 1]),
        ([71, 33, 1], [8, 8, 1]),
        ([17, 9, 11], [4, 4, 4]),
        ([40, 40, 5], [4, 4, 4]),
        ([300, 7, 3], [255, 2, 2]),
        ([7, 300, 3], [1, 255, 4]),
        ([2, 3, 600], [2, 2, 255]),
        ([50, 50, 2], [32, 32, 1]),
        ([1100, 3, 1], [1, 1, 1]),
        ([31, 37, 41], [3, 5, 7]),
        ([70_000, 2, 1], [9, 3, 2]),
    ];
    for (seed, (extents, tile)) in shapes.into_iter().enumerate() {
        let plan = Tiled::plan(extents.map(|n| n as u64), tile.map(|n| n as u32));
        for (word, forward, inverse) in [
            (2, tiled::lorenzo_tiled_w2 as unsafe fn(_, _, _), tiled::lorenzo_untiled_w2 as unsafe fn(_, _, _)),
            (4, tiled::lorenzo_tiled_w4, tiled::lorenzo_untiled_w4),
        ] {
            let plain = random(extents.iter().product::<usize>() * word, seed as u64);
            let expected = tiles(&plain, extents, tile, word);
            let at = format!("{extents:?} of {word} bytes in {tile:?}");
            assert_same_bytes(&run_tiled(&plan, forward, &plain, plan.tiled_elements as usize * word), &expected, &at);
            // What stands outside of the array means nothing.
            let mut coded = expected;
            if extents == [71, 33, 1] {
                let last = coded.len() - word;
                coded[last..].fill(0xAB);
            }
            assert_same_bytes(&run_tiled(&plan, inverse, &coded, plain.len()), &plain, &at);
        }
    }
}
