//! Lorenzo predictors, 2-D and 3-D: which kernels run, over which grids, with which parameters.
//!
//! [`Extents`] drops the axes of extent 1, which changes no result; [`Forward`] and [`Inverse`] are then all that a host needs to
//! know. Both are plain numbers, so that an emulator and a device launch the same.
//!
//! # Skewed rows
//!
//! Rows begin at any multiple of an element's size, accesses at multiples of 16 bytes. Forward, the kernels of wide arrays therefore
//! walk over *skewed rows*: the array's bytes cut every `pitch` bytes, the row's bytes rounded down to a multiple of 16. What stands one
//! row above a byte is then always `row_shift` = row - pitch bytes in front of the byte one skewed row above it: one shift, the same
//! for the whole array. Planes likewise. True rows begin somewhere inside, which the kernels find by counting.

use crate::launch::Launch;
use crate::lorenzo::WideDivisor;
use bytemuck::{Pod, Zeroable};
use core::num::NonZeroU64;

/// Bytes of a lane's access.
pub const UNIT: u64 = 16;

/// Lanes whose results are kept in a warp that loads two lanes more to the left, for shifts: 480 bytes are whole sectors.
pub const SHIFTED_LANES: u32 = 30;

/// Rows of a warp's tile in 2-D.
pub const PLANE_ROWS: u32 = 8;

/// Rows of a warp's tile in 3-D, which goes through several planes.
pub const VOLUME_ROWS: u32 = 4;

/// Forward, rows of any length: a lane takes 16 bytes and all their neighbours from memory.
pub const FLAT: Launch = Launch { threads: 256, shared_bytes: 0, min_blocks: 4 };

/// Forward, 2-D, wide.
pub const FORWARD_PLANE: Launch = Launch { threads: 128, shared_bytes: 0, min_blocks: 6 };

/// Forward, 3-D, wide.
pub const FORWARD_VOLUME: Launch = Launch { threads: 128, shared_bytes: 0, min_blocks: 4 };

/// A number to divide by, of any size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Extent {
    value: u64,
    divisor: WideDivisor,
}

impl Extent {
    /// Division by `value`, at least 1.
    pub const fn new(value: u64) -> Self {
        let narrow = if value > 1 << 31 { 1 } else { value as u32 };
        Self { value, divisor: WideDivisor::new(narrow) }
    }

    /// The number itself.
    #[inline(always)]
    pub const fn value(self) -> u64 {
        self.value
    }

    /// Quotient and rest of `n`, at most `2^63`.
    #[inline(always)]
    pub fn divide(self, n: u64) -> (u64, u64) {
        let quotient = if self.value > 1 << 31 {
            NonZeroU64::new(self.value).map_or(0, |value| n / value)
        } else {
            self.divisor.divide(n)
        };
        (quotient, n.wrapping_sub(quotient.wrapping_mul(self.value)))
    }

    /// As [`Self::divide`], where the number is known to be at most `2^31`.
    #[inline(always)]
    pub const fn divide_narrow(self, n: u64) -> (u64, u64) {
        let quotient = self.divisor.divide(n);
        (quotient, n.wrapping_sub(quotient.wrapping_mul(self.value)))
    }
}

/// The extents of an array without its axes of extent 1: 0 to 3 that are left, fast axis first, then ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extents {
    /// Elements along each axis that is left.
    pub axes: [u64; 3],
    /// How many there are; 0 for an array of one element.
    pub dimensions: u32,
}

impl Extents {
    /// Of an array of these extents along x, y and z, each at least 1.
    pub const fn new(extents: [u64; 3]) -> Self {
        let (mut axes, mut dimensions, mut axis) = ([1; 3], 0, 0);
        while axis < 3 {
            if extents[axis] != 1 {
                axes[dimensions] = extents[axis];
                dimensions += 1;
            }
            axis += 1;
        }
        Self { axes, dimensions: dimensions as u32 }
    }

    /// Elements of the array.
    pub const fn elements(self) -> u64 {
        self.axes[0] * self.axes[1] * self.axes[2]
    }
}

/// What the kernels of the forward direction are told. Units are of 16 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct ForwardParams {
    /// Bytes of the array.
    pub bytes: u64,
    /// Bytes of a row and of a plane.
    pub row_bytes: u64,
    /// See [`Self::row_bytes`].
    pub plane_bytes: u64,
    /// Elements of a row.
    pub nx: Extent,
    /// Rows of a plane.
    pub ny: Extent,
    /// Units from one skewed row to the next.
    pub pitch_units: u64,
    /// Units from one skewed plane to the next.
    pub plane_units: u64,
    /// Skewed planes.
    pub planes: u64,
    /// Warps with something to do.
    pub warps: u64,
    /// Strips side by side in a row.
    pub strips: WideDivisor,
    /// See [`Self::strips`].
    pub strip_count: u32,
    /// Tiles above each other in a plane (3-D).
    pub tile_count: u32,
    /// See [`Self::tile_count`].
    pub tiles: WideDivisor,
    /// Planes that a warp goes through (3-D).
    pub depth: u32,
    /// Axes, 0 to 3.
    pub dimensions: u32,
    /// By how many bytes a row is longer than a skewed row, below 16.
    pub row_shift: u32,
    /// By how many bytes a plane is longer than a skewed plane, below 16.
    pub plane_shift: u32,
}

/// The kernels of the forward direction; each exists for elements of 1, 2, 4 and 8 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForwardKernel {
    /// `lorenzo_nd_flat_wN`: any extents.
    Flat,
    /// `lorenzo_nd_plane_wN`: 2-D, wide.
    Plane,
    /// `lorenzo_nd_plane_wN_aligned`: the same with rows of whole units.
    PlaneAligned,
    /// `lorenzo_nd_volume_wN`: 3-D, wide.
    Volume,
    /// `lorenzo_nd_volume_wN_aligned`: the same with rows of whole units.
    VolumeAligned,
}

impl ForwardKernel {
    /// The shape of a block.
    pub const fn launch(self) -> Launch {
        match self {
            Self::Flat => FLAT,
            Self::Plane | Self::PlaneAligned => FORWARD_PLANE,
            Self::Volume | Self::VolumeAligned => FORWARD_VOLUME,
        }
    }
}

/// One launch: differences of a whole array. The kernel's parameters are the input, the output and [`Self::params`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Forward {
    /// Which kernel.
    pub kernel: ForwardKernel,
    /// Blocks of its grid.
    pub blocks: u64,
    /// What it is told.
    pub params: ForwardParams,
}

impl Forward {
    /// For an array of these extents, of elements of `word` bytes (1, 2, 4 or 8).
    pub const fn plan(extents: Extents, word: u32) -> Self {
        let [nx, ny, _] = extents.axes;
        let bytes = extents.elements() * word as u64;
        let units = bytes.div_ceil(UNIT);
        let row_bytes = nx * word as u64;
        let plane_bytes = row_bytes * ny;
        let mut params = ForwardParams {
            bytes,
            row_bytes,
            plane_bytes,
            nx: Extent::new(nx),
            ny: Extent::new(ny),
            pitch_units: row_bytes / UNIT,
            plane_units: plane_bytes / UNIT,
            planes: 1,
            warps: units.div_ceil(32),
            strips: WideDivisor::new(1),
            strip_count: 1,
            tile_count: 1,
            tiles: WideDivisor::new(1),
            depth: 1,
            dimensions: extents.dimensions,
            row_shift: (row_bytes % UNIT) as u32,
            plane_shift: (plane_bytes % UNIT) as u32,
        };
        let aligned = params.row_shift == 0;
        let lanes = if aligned { 32 } else { SHIFTED_LANES as u64 };
        let strips = params.pitch_units.div_ceil(lanes);
        // Under a half of the lanes would have anything to do, or numbers do not fit.
        let narrow = params.pitch_units < 15 || nx >= 1 << 31 || ny >= 1 << 31;
        if extents.dimensions < 2 || narrow {
            let blocks = units.div_ceil(FLAT.threads as u64);
            return Self { kernel: ForwardKernel::Flat, blocks, params };
        }
        params.strips = WideDivisor::new(strips as u32);
        params.strip_count = strips as u32;
        if extents.dimensions == 2 {
            let tiles = units.div_ceil(params.pitch_units).div_ceil(PLANE_ROWS as u64);
            params.warps = tiles * strips;
            let blocks = params.warps.div_ceil(FORWARD_PLANE.warps() as u64);
            let kernel = if aligned { ForwardKernel::PlaneAligned } else { ForwardKernel::Plane };
            return Self { kernel, blocks, params };
        }
        let tiles = params.plane_units.div_ceil(params.pitch_units).div_ceil(VOLUME_ROWS as u64);
        params.tiles = WideDivisor::new(tiles as u32);
        params.tile_count = tiles as u32;
        params.planes = units.div_ceil(params.plane_units);
        // Each warp reads one plane more than it writes, but there shall be enough of them.
        let (least, most) = (4, 32);
        let depth = params.planes * tiles * strips / 16_384;
        params.depth = if depth < least {
            least
        } else if depth > most {
            most
        } else {
            depth
        } as u32;
        params.warps = params.planes.div_ceil(params.depth as u64) * tiles * strips;
        let blocks = params.warps.div_ceil(FORWARD_VOLUME.warps() as u64);
        Self { kernel: if aligned { ForwardKernel::VolumeAligned } else { ForwardKernel::Volume }, blocks, params }
    }
}
