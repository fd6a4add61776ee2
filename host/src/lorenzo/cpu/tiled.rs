//! Differences within tiles that lie one after another.

#![forbid(unsafe_code)]

use super::Word;

/// A row of a tile.
#[derive(Clone, Copy)]
struct Row {
    /// Where it begins in the array.
    plain: usize,
    /// Elements of it that are in the array, 0 where it is outside.
    inside: usize,
    /// Elements from its first element back to the one that foretells that, 0 at a tile's origin.
    before: usize,
}

/// Calls `each` for all rows of all tiles, in the order in which they lie in the tiles.
#[inline(always)]
fn rows(extents: [u64; 3], tile: [u8; 3], mut each: impl FnMut(Row)) {
    // All are lengths in memory.
    let ([nx, ny, nz], [tx, ty, tz]) = (extents.map(|extent| extent as usize), tile.map(usize::from));
    for z0 in (0..nz).step_by(tz) {
        for y0 in (0..ny).step_by(ty) {
            for x0 in (0..nx).step_by(tx) {
                let in_x = tx.min(nx - x0);
                for z in z0..z0 + tz {
                    let mut plain = (z * ny + y0) * nx + x0;
                    let mut before = if z == z0 { 0 } else { nx * ny };
                    for y in y0..y0 + ty {
                        let inside = if y < ny && z < nz { in_x } else { 0 };
                        each(Row { plain, inside, before });
                        plain += nx;
                        before = nx;
                    }
                }
            }
        }
    }
}

pub(super) fn forward<T: Word>(extents: [u64; 3], tile: [u8; 3], plain: &[T::Cell], output: &mut [T::Cell]) {
    let mut left = output;
    rows(extents, tile, |row| {
        let output;
        (output, left) = std::mem::take(&mut left).split_at_mut(tile[0].into());
        let (inside, outside) = output.split_at_mut(row.inside);
        let mut before = T::default();
        if row.before > 0 && row.inside > 0 {
            before = T::load(plain[row.plain - row.before]);
        }
        if row.inside > 0 {
            for (output, own) in inside.iter_mut().zip(&plain[row.plain..]) {
                let own = T::load(*own);
                *output = own.minus(before).store();
                before = own;
            }
        }
        outside.fill(T::default().store());
    });
}

pub(super) fn inverse<T: Word>(extents: [u64; 3], tile: [u8; 3], output: &[T::Cell], plain: &mut [T::Cell]) {
    let mut left = output;
    rows(extents, tile, |row| {
        let output;
        (output, left) = left.split_at(tile[0].into());
        if row.inside == 0 {
            return;
        }
        let mut sum = if row.before == 0 { T::default() } else { T::load(plain[row.plain - row.before]) };
        for (plain, output) in plain[row.plain..][..row.inside].iter_mut().zip(output) {
            sum = sum.plus(T::load(*output));
            *plain = sum.store();
        }
    });
}
