//! `tiled_lorenzo`: the tiles of an array, and how the kernels take them.

use crate::launch::Launch;
use crate::lorenzo::Divisor;
use crate::lorenzo_nd::Extent;
use bytemuck::{Pod, Zeroable};

/// Elements of a block's tiles at most; the largest tile has 1024.
pub const BLOCK_ELEMENTS: u32 = 4096;

/// Tiles of a block at most: one for each thread, to find its place.
pub const BLOCK_TILES: u32 = 256;

/// Both directions: the elements, one word of padding for each 32, and each tile's place.
pub const TILED: Launch =
    Launch { threads: BLOCK_TILES, shared_bytes: (BLOCK_ELEMENTS + BLOCK_ELEMENTS / 32) * 4 + BLOCK_TILES * 12, min_blocks: 4 };

/// What the kernels are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct TiledParams {
    /// Extents of the array.
    pub nx: u64,
    /// See [`Self::nx`].
    pub ny: u64,
    /// See [`Self::nx`].
    pub nz: u64,
    /// Tiles of the array.
    pub tiles: u64,
    /// Tiles along x.
    pub tiles_x: Extent,
    /// Tiles along y.
    pub tiles_y: Extent,
    /// Elements of a row of a tile, rows of a slab, slabs of a tile.
    pub tx: u32,
    /// See [`Self::tx`].
    pub ty: u32,
    /// See [`Self::tx`].
    pub tz: u32,
    /// Elements of a tile.
    pub tile_elements: u32,
    /// Tiles of a block.
    pub block_tiles: u32,
    reserved: u32,
    /// Division by [`Self::tx`].
    pub by_tx: Divisor,
    /// Division by [`Self::ty`].
    pub by_ty: Divisor,
    /// Division by [`Self::tile_elements`].
    pub by_tile: Divisor,
    /// Division by the elements that a block's tiles have in one row of each.
    pub by_row: Divisor,
}

/// One launch, for either direction. The kernels' parameters are input, output and [`Self::params`]; they are `lorenzo_tiled_wN` and
/// `lorenzo_untiled_wN` for elements of 2 and 4 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tiled {
    /// Blocks of the grid.
    pub blocks: u64,
    /// Elements of the tiled array, those outside of the array included.
    pub tiled_elements: u64,
    /// What the kernels are told.
    pub params: TiledParams,
}

impl Tiled {
    /// For an array of these extents, each at least 1, in tiles of `tile`, each at least 1 and 1024 elements in all at most.
    pub const fn plan(extents: [u64; 3], tile: [u32; 3]) -> Self {
        let [nx, ny, nz] = extents;
        let [tx, ty, tz] = tile;
        let (tiles_x, tiles_y) = (nx.div_ceil(tx as u64), ny.div_ceil(ty as u64));
        let tiles = tiles_x * tiles_y * nz.div_ceil(tz as u64);
        let tile_elements = tx * ty * tz;
        let fitting = BLOCK_ELEMENTS / tile_elements;
        let block_tiles = if fitting < BLOCK_TILES { fitting } else { BLOCK_TILES };
        let params = TiledParams {
            nx,
            ny,
            nz,
            tiles,
            tiles_x: Extent::new(tiles_x),
            tiles_y: Extent::new(tiles_y),
            tx,
            ty,
            tz,
            tile_elements,
            block_tiles,
            reserved: 0,
            by_tx: Divisor::new(tx),
            by_ty: Divisor::new(ty),
            by_tile: Divisor::new(tile_elements),
            by_row: Divisor::new(tx * block_tiles),
        };
        Self { blocks: tiles.div_ceil(block_tiles as u64), tiled_elements: tiles * tile_elements as u64, params }
    }
}
