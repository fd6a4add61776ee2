//! Differences within tiles that lie one after another.

#![forbid(unsafe_code)]

use super::Word;
use std::ops::Range;

/// A row of a tile that lies in the array, wholly or in part.
struct Row {
    /// Where it lies in the array, without what is outside.
    plain: Range<usize>,
    /// Where it lies in the tiles, all of it.
    output: Range<usize>,
    /// Elements from its first element back to the one that foretells that, 0 at a tile's origin.
    before: usize,
}

/// All rows of all tiles, as they lie in the tiles; `None` for those outside of the array.
fn rows(extents: [u64; 3], tile: [u8; 3]) -> impl Iterator<Item = (Range<usize>, Option<Row>)> {
    // All are lengths in memory.
    let ([nx, ny, nz], [tx, ty, tz]) = (extents.map(|extent| extent as usize), tile.map(usize::from));
    let lines = (0..nz.div_ceil(tz)).flat_map(move |k| (0..ny.div_ceil(ty)).map(move |j| (j, k)));
    let tiles = lines.flat_map(move |(j, k)| (0..nx.div_ceil(tx)).map(move |i| (i, j, k)));
    let rows = tiles.flat_map(move |at| (0..tz).flat_map(move |lz| (0..ty).map(move |ly| (at, ly, lz))));
    rows.enumerate().map(move |(number, ((i, j, k), ly, lz))| {
        let (x, y, z) = (i * tx, j * ty + ly, k * tz + lz);
        let output = number * tx..(number + 1) * tx;
        let start = (z * ny + y) * nx + x;
        let before = match (ly, lz) {
            (0, 0) => 0,
            (0, _) => nx * ny,
            _ => nx,
        };
        let inside = y < ny && z < nz;
        (output.clone(), inside.then(|| Row { plain: start..start + tx.min(nx - x), output, before }))
    })
}

pub(super) fn forward<T: Word>(extents: [u64; 3], tile: [u8; 3], plain: &[T::Cell], output: &mut [T::Cell]) {
    for (range, row) in rows(extents, tile) {
        let output = &mut output[range];
        let mut used = 0;
        if let Some(row) = row {
            let own = &plain[row.plain.clone()];
            used = own.len();
            let mut before = if row.before == 0 { T::default() } else { T::load(plain[row.plain.start - row.before]) };
            for (output, own) in output.iter_mut().zip(own) {
                let own = T::load(*own);
                *output = own.minus(before).store();
                before = own;
            }
        }
        output[used..].fill(T::default().store());
    }
}

pub(super) fn inverse<T: Word>(extents: [u64; 3], tile: [u8; 3], output: &[T::Cell], plain: &mut [T::Cell]) {
    for row in rows(extents, tile).filter_map(|(_, row)| row) {
        let mut sum = if row.before == 0 { T::default() } else { T::load(plain[row.plain.start - row.before]) };
        for (plain, output) in plain[row.plain].iter_mut().zip(&output[row.output]) {
            sum = sum.plus(T::load(*output));
            *plain = sum.store();
        }
    }
}
