//! `tiled_lorenzo`: small tiles, each one's elements together in the output, each element minus the one before it in its row, the one
//! above where it begins a row, the one behind where it begins a slab.
//!
//! A block takes as many tiles, neighbours along x, as have 4096 elements, and keeps them in shared memory in the order of the output.
//!
//! | phase | tiling | untiling |
//! |---|---|---|
//! | places | a thread per tile: where it begins in the array and how much of it is inside | the same |
//! | load | the array, row by row through all tiles of the block | the tiles |
//! | work | each element minus the one before it | sums down each tile's edge, each slab's edge, each row |
//! | store | the tiles | the array, row by row through all tiles |
//!
//! The sums are one thread's each, one element after the other.

use super::element::{Element, padded};
use cuda_std::{
    kernel,
    shared::{self, SharedArray},
    thread,
    vector::U32x4,
};
use shared_types::lorenzo_tiled::{BLOCK_ELEMENTS, BLOCK_TILES, TILED, TiledParams};

/// Shared memory of one block: `N` elements are [`BLOCK_ELEMENTS`] and their padding.
#[repr(C, align(16))]
struct TiledShared<T, const N: usize> {
    elements: SharedArray<T, N>,
    /// Where each tile begins in the array.
    origin: SharedArray<u64, { BLOCK_TILES as usize }>,
    /// How much of it is inside the array, 8 bits an axis.
    inside: SharedArray<u32, { BLOCK_TILES as usize }>,
}
const _: () = assert!(size_of::<TiledShared<u32, { padded::<4>(BLOCK_ELEMENTS) }>>() <= TILED.shared_bytes as usize);

/// Where an element stands in its tile.
#[derive(Clone, Copy)]
struct Local {
    /// The tile's number in the block.
    tile: u32,
    /// The row in the tile.
    row: u32,
    x: u32,
}

impl Local {
    /// Of element `at` of the block's tiles, in the order of the output.
    #[inline(always)]
    fn of_tiled(at: u32, params: &TiledParams) -> Self {
        let tile = params.by_tile.divide(at);
        let in_tile = at - tile * params.tile_elements;
        let row = params.by_tx.divide(in_tile);
        Self { tile, row, x: in_tile - row * params.tx }
    }

    /// Of element `at` of the block's tiles, row by row through all tiles.
    #[inline(always)]
    fn of_rows(at: u32, params: &TiledParams) -> Self {
        let row = params.by_row.divide(at);
        let in_row = at - row * (params.tx * params.block_tiles);
        let tile = params.by_tx.divide(in_row);
        Self { tile, row, x: in_row - tile * params.tx }
    }

    /// The element's number among those of the block's tiles, in the order of the output.
    #[inline(always)]
    fn tiled(self, params: &TiledParams) -> u32 {
        self.tile * params.tile_elements + self.row * params.tx + self.x
    }

    /// Row and slab.
    #[inline(always)]
    fn yz(self, params: &TiledParams) -> (u32, u32) {
        let z = params.by_ty.divide(self.row);
        (self.row - z * params.ty, z)
    }
}

impl<T: Element, const N: usize> TiledShared<T, N> {
    /// The first phase: places. Gives how many tiles the block has.
    #[inline(always)]
    fn places(&self, params: &TiledParams) -> u32 {
        let first = u64::from(thread::block_idx_x()) * u64::from(params.block_tiles);
        let rest = params.tiles - first;
        let tiles = if rest < u64::from(params.block_tiles) { rest as u32 } else { params.block_tiles };
        let own = thread::thread_idx_x();
        if own < tiles {
            let (above, i) = params.tiles_x.divide(first + u64::from(own));
            let (k, j) = params.tiles_y.divide(above);
            let start = |number: u64, size: u32| number * u64::from(size);
            let (x, y, z) = (start(i, params.tx), start(j, params.ty), start(k, params.tz));
            let inside = |rest: u64, size: u32| if rest < u64::from(size) { rest as u32 } else { size };
            self.origin.write(own as usize, (z * params.ny + y) * params.nx + x);
            let inside_x = inside(params.nx - x, params.tx);
            let inside_yz = inside(params.ny - y, params.ty) << 8 | inside(params.nz - z, params.tz) << 16;
            self.inside.write(own as usize, inside_x | inside_yz);
        }
        thread::sync_threads(); // origin, inside
        tiles
    }

    /// Whether an element is inside the array.
    #[inline(always)]
    fn is_inside(&self, local: Local, params: &TiledParams) -> bool {
        let inside = self.inside.read(local.tile as usize);
        let (y, z) = local.yz(params);
        local.x < inside & 0xFF && y < inside >> 8 & 0xFF && z < inside >> 16
    }

    /// The number of an element in the array.
    #[inline(always)]
    fn in_array(&self, local: Local, params: &TiledParams) -> usize {
        let (y, z) = local.yz(params);
        let row = u64::from(z) * params.ny + u64::from(y);
        (self.origin.read(local.tile as usize) + row * params.nx + u64::from(local.x)) as usize
    }
}

/// Array to tiles.
///
/// # Safety
/// As the entry points say.
#[inline(always)]
unsafe fn tile<T: Element, const N: usize, const W: u32>(input: *const T, output: *mut T, params: &TiledParams) {
    let s = shared::dynamic::<TiledShared<T, N>>();
    let tiles = s.places(params);
    let all = params.block_tiles * params.tile_elements;
    let mut at = thread::thread_idx_x();
    while at < all {
        let local = Local::of_rows(at, params);
        if local.tile < tiles {
            let mut value = T::ZERO;
            if s.is_inside(local, params) {
                // SAFETY: inside the array.
                value = unsafe { *input.add(s.in_array(local, params)) };
            }
            s.elements.write(padded::<W>(local.tiled(params)), value);
        }
        at += TILED.threads;
    }
    thread::sync_threads(); // elements
    let first = u64::from(thread::block_idx_x()) * u64::from(all);
    let mut at = thread::thread_idx_x();
    while at < tiles * params.tile_elements {
        let local = Local::of_tiled(at, params);
        let (y, z) = local.yz(params);
        let back = if local.x > 0 {
            1
        } else if y > 0 {
            params.tx
        } else if z > 0 {
            params.tx * params.ty
        } else {
            0
        };
        let mut residual = T::ZERO;
        if s.is_inside(local, params) {
            residual = s.elements.read(padded::<W>(at));
            if back > 0 {
                residual = residual.minus(s.elements.read(padded::<W>(at - back)));
            }
        }
        // SAFETY: every tile has a place for all of its elements.
        unsafe { *output.add(first as usize + at as usize) = residual };
        at += TILED.threads;
    }
}

/// Tiles to array.
///
/// # Safety
/// As the entry points say.
#[inline(always)]
unsafe fn untile<T: Element, const N: usize, const W: u32>(input: *const T, output: *mut T, params: &TiledParams) {
    let s = shared::dynamic::<TiledShared<T, N>>();
    let tiles = s.places(params);
    let all = params.block_tiles * params.tile_elements;
    let first = u64::from(thread::block_idx_x()) * u64::from(all);
    let mut at = thread::thread_idx_x();
    while at < tiles * params.tile_elements {
        // SAFETY: every tile has a place for all of its elements.
        s.elements.write(padded::<W>(at), unsafe { *input.add(first as usize + at as usize) });
        at += TILED.threads;
    }
    thread::sync_threads(); // elements
    // Sums of `count` elements, `step` apart, from `from` on.
    let scan = |from: u32, step: u32, count: u32| {
        let mut sum = s.elements.read(padded::<W>(from));
        let (mut at, mut left) = (from, count - 1);
        while left > 0 {
            at += step;
            sum = sum.plus(s.elements.read(padded::<W>(at)));
            s.elements.write(padded::<W>(at), sum);
            left -= 1;
        }
    };
    let own = thread::thread_idx_x();
    let slab = params.tx * params.ty;
    if params.tz > 1 {
        if own < tiles {
            scan(own * params.tile_elements, slab, params.tz);
        }
        thread::sync_threads(); // elements: the tiles' edges
    }
    if params.ty > 1 {
        let mut at = own;
        while at < tiles * params.tz {
            scan(at * slab, params.tx, params.ty);
            at += TILED.threads;
        }
        thread::sync_threads(); // elements: the slabs' edges
    }
    if params.tx > 1 {
        let mut at = own;
        while at < tiles * params.tz * params.ty {
            scan(at * params.tx, 1, params.tx);
            at += TILED.threads;
        }
        thread::sync_threads(); // elements
    }
    let mut at = own;
    while at < all {
        let local = Local::of_rows(at, params);
        if local.tile < tiles && s.is_inside(local, params) {
            let value = s.elements.read(padded::<W>(local.tiled(params)));
            // SAFETY: inside the array.
            unsafe { *output.add(s.in_array(local, params)) = value };
        }
        at += TILED.threads;
    }
}

/// The entry points, one per element size and direction.
macro_rules! entry_points {
    ($($name:ident, $body:ident, $type:ty;)*) => {$(
        /// Tiles of differences from an array, or an array from them.
        ///
        /// # Safety
        /// Launched as `Tiled::plan` says. `input` and `output` are 16-aligned and hold the array and its tiles; nothing else touches
        /// the output until the launch is over.
        #[kernel(launch = TILED)]
        pub unsafe fn $name(input: *const U32x4, output: *mut U32x4, params: TiledParams) {
            const W: u32 = size_of::<$type>() as u32;
            // SAFETY: the caller's promise.
            unsafe { $body::<$type, { padded::<W>(BLOCK_ELEMENTS) }, W>(input.cast(), output.cast(), &params) }
        }
    )*};
}

entry_points! {
    lorenzo_tiled_w2, tile, u16;
    lorenzo_tiled_w4, tile, u32;
    lorenzo_untiled_w2, untile, u16;
    lorenzo_untiled_w4, untile, u32;
}
