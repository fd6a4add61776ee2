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
use crate::lorenzo::{Divisor, WideDivisor};
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

/// Lanes of a warp whose results are kept where rows are no whole units, in the inverse direction: the lowest lane has what the
/// warp to the left has as its last.
pub const KEPT_LANES: u32 = 31;

/// Rows of a warp's tile in 3-D, inverse.
pub const TILE_ROWS: u64 = 16;

/// Bytes of a warp's part of a row, and of what is kept of it in scratch memory: 16 a lane.
pub const SLOT_BYTES: u64 = 512;

/// Inverse: totals in 2-D, and both readings of a chain.
pub const PLANE_TOTALS: Launch = Launch { threads: 128, shared_bytes: 0, min_blocks: 5 };

/// Inverse: sums in 2-D.
pub const PLANE_SUMS: Launch = Launch { threads: 128, shared_bytes: 0, min_blocks: 3 };

/// Inverse: totals in 3-D. Each warp keeps a tile of totals in shared memory.
pub const VOLUME_TOTALS: Launch = Launch { threads: 128, shared_bytes: TILES_BYTES, min_blocks: 4 };

/// Inverse: sums in 3-D. Each warp keeps a tile of sums in shared memory.
pub const VOLUME_SUMS: Launch = Launch { threads: 128, shared_bytes: TILES_BYTES, min_blocks: 4 };

/// Bytes of a tile of slots for each of four warps.
const TILES_BYTES: u32 = 4 * TILE_ROWS as u32 * SLOT_BYTES as u32;

/// Elements of a block's rows at most, where rows are narrow.
pub const NARROW_ELEMENTS: u32 = 4096;

/// Inverse: narrow rows. The elements, 8 bytes each at most, their padding, and a sum for each thread.
pub const NARROW: Launch =
    Launch { threads: 256, shared_bytes: (NARROW_ELEMENTS + NARROW_ELEMENTS / 16 + 256) * 8, min_blocks: 4 };

/// Inverse: the kernels that work on what others left in scratch memory, and those for narrow arrays.
pub const INVERSE_SMALL: Launch = Launch { threads: 128, shared_bytes: 0, min_blocks: 4 };

/// The kernels of the inverse direction; each exists for elements of 1, 2, 4 and 8 bytes (`_wN`).
///
/// *Totals* kernels add up what a warp has, *sums* kernels turn such totals into what stands before each warp, or the array into
/// its sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InverseKernel {
    /// `lorenzo_nd_plane_totals_wN`
    PlaneTotals,
    /// `lorenzo_nd_plane_totals_wN_aligned`
    PlaneTotalsAligned,
    /// `lorenzo_nd_plane_sums_wN`
    PlaneSums,
    /// `lorenzo_nd_plane_sums_wN_aligned`
    PlaneSumsAligned,
    /// `lorenzo_nd_volume_totals_wN`
    VolumeTotals,
    /// `lorenzo_nd_volume_totals_wN_aligned`
    VolumeTotalsAligned,
    /// `lorenzo_nd_volume_sums_wN`
    VolumeSums,
    /// `lorenzo_nd_volume_sums_wN_aligned`
    VolumeSumsAligned,
    /// `lorenzo_nd_slots_totals_wN`
    SlotsTotals,
    /// `lorenzo_nd_slots_sums_wN`
    SlotsSums,
    /// `lorenzo_nd_lines_totals_wN`
    LinesTotals,
    /// `lorenzo_nd_lines_sums_wN`
    LinesSums,
    /// `lorenzo_nd_chain_totals_wN`
    ChainTotals,
    /// `lorenzo_nd_chain_sums_wN`
    ChainSums,
    /// `lorenzo_nd_narrow_totals_wN`
    NarrowTotals,
    /// `lorenzo_nd_narrow_sums_wN`
    NarrowSums,
    /// `lorenzo_nd_axis_totals_wN`
    AxisTotals,
    /// `lorenzo_nd_axis_sums_wN`
    AxisSums,
    /// `lorenzo_nd_rest_wN`
    Rest,
}

impl InverseKernel {
    /// The shape of a block.
    pub const fn launch(self) -> Launch {
        use InverseKernel::*;
        match self {
            PlaneTotals | PlaneTotalsAligned | ChainTotals | ChainSums => PLANE_TOTALS,
            PlaneSums | PlaneSumsAligned => PLANE_SUMS,
            VolumeTotals | VolumeTotalsAligned => VOLUME_TOTALS,
            VolumeSums | VolumeSumsAligned => VOLUME_SUMS,
            NarrowTotals | NarrowSums => NARROW,
            SlotsTotals | SlotsSums | LinesTotals | LinesSums | AxisTotals | AxisSums | Rest => INVERSE_SMALL,
        }
    }
}

/// Where a kernel finds an array: in the memory that the host names, or `at` bytes into scratch memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Where {
    /// Bytes into scratch memory.
    pub at: u64,
    /// [`Self::INPUT`], [`Self::OUTPUT`] or [`Self::SCRATCH`].
    pub memory: u32,
    reserved: u32,
}

impl Where {
    /// The residuals.
    pub const INPUT: u32 = 0;
    /// The plain array.
    pub const OUTPUT: u32 = 1;
    /// Scratch memory.
    pub const SCRATCH: u32 = 2;

    const fn input() -> Self {
        Self { at: 0, memory: Self::INPUT, reserved: 0 }
    }

    const fn output() -> Self {
        Self { at: 0, memory: Self::OUTPUT, reserved: 0 }
    }

    const fn scratch(at: u64) -> Self {
        Self { at, memory: Self::SCRATCH, reserved: 0 }
    }
}

/// What the kernels of the inverse direction are told. Each uses a part of it.
///
/// | kernels | array | grid |
/// |---|---|---|
/// | plane | `planes` rows of `row_bytes` | a warp per strip and chunk of `depth` rows |
/// | volume | `planes` planes of `rows` rows of `row_bytes` | a warp per strip, tile of rows and chunk of `depth` planes |
/// | chain | `bytes` | a warp per `depth` times 512 bytes |
/// | slots | slots of 512 bytes: outer x `length` x `inner` | a warp per outer, group of `group` slots along `length`, and inner |
/// | lines | elements: `strips` x `lines` | a thread per group of strips and line |
/// | narrow | `rows` rows of `row_bytes` each in `planes` planes | a block per `group` rows of a plane, or `depth` whole planes |
/// | axis | elements: outer x `length` x `inner` | a thread per outer, group and inner |
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct InverseParams {
    /// Where the kernel reads.
    pub source: Where,
    /// Where it writes.
    pub target: Where,
    /// Bytes of the array.
    pub bytes: u64,
    /// Bytes of a row.
    pub row_bytes: u64,
    /// Rows of a plane; 1 in 2-D, where each row counts as a plane.
    pub rows: u64,
    /// Planes.
    pub planes: u64,
    /// Elements of a row and rows of a plane, as the whole array has them.
    pub nx: Extent,
    /// See [`Self::nx`].
    pub ny: Extent,
    /// Warps (threads in lines and axis) with something to do.
    pub warps: u64,
    /// Strips side by side in a row.
    pub strips: Extent,
    /// Tiles above each other in a plane.
    pub tiles: Extent,
    /// Planes of a chunk.
    pub depth: u64,
    /// Bytes into scratch memory: what the chunks before each one add up to, a slot for each row and strip.
    pub faces: u64,
    /// Bytes into scratch memory: what the tiles above each one add up to, a slot for each plane and strip.
    pub columns: u64,
    /// Bytes into scratch memory: the totals of each strip of each line.
    pub totals: u64,
    /// From one strip's totals to the next: all lines. The array's rows come first, then those of the faces, then the columns.
    pub lines: u64,
    /// The line of the array's first row, for totals.
    pub first_line: u64,
    /// The line of the first chunk's first row.
    pub face_lines: u64,
    /// The line of the first plane's first tile.
    pub column_lines: u64,
    /// The first plane's number among all columns; the chunks' planes stand behind the array's.
    pub first_plane: u64,
    /// The number of the first chunk's plane.
    pub face_planes: u64,
    /// Slots, elements or strips that are added up.
    pub length: Extent,
    /// What stands beside each other.
    pub inner: Extent,
    /// How many along `length` a warp or thread takes.
    pub group: u64,
    /// How many groups there are.
    pub groups: Extent,
    /// Bytes into scratch memory: the totals of the groups.
    pub group_totals: u64,
    /// Lanes that count for a strip's total: 32 or [`KEPT_LANES`].
    pub lanes: u32,
    /// 1 where totals are still those of each strip alone; 0 where they are of all strips to the left.
    pub direct: u32,
    /// 1 where there is more than one chunk.
    pub has_faces: u32,
    /// 1 where there is more than one tile.
    pub has_columns: u32,
    /// Narrow: division by the elements of a row, the rows of a run (a plane, or a block's part of one), and those of a segment, of
    /// which a run has `segments`, each scanned by itself.
    pub by_row: Divisor,
    /// See [`Self::by_row`].
    pub by_run: Divisor,
    /// See [`Self::by_row`].
    pub by_segment: Divisor,
    /// See [`Self::by_row`].
    pub segment_rows: u32,
    /// See [`Self::by_row`].
    pub segments: u32,
    /// Slots: 1 where each one's total goes to `totals`.
    pub writes_totals: u32,
    /// Axes of the array, 0 to 3.
    pub dimensions: u32,
}

/// One launch of the inverse direction. The kernel's parameters are input, output, scratch memory and [`Self::params`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Which kernel.
    pub kernel: InverseKernel,
    /// Blocks of its grid.
    pub blocks: u64,
    /// What it is told.
    pub params: InverseParams,
}

/// The most launches that an inverse takes.
pub const MAX_STEPS: usize = 48;

/// Sums of a whole array: launches, one after the other, and the scratch memory between them.
#[derive(Clone, Copy, Debug)]
pub struct Inverse {
    steps: [Step; MAX_STEPS],
    count: usize,
    /// Bytes of scratch memory, 16-aligned. What is in it before does not matter.
    pub scratch_bytes: u64,
}

impl Inverse {
    /// The launches in order.
    pub fn steps(&self) -> &[Step] {
        &self.steps[..self.count]
    }

    /// For an array of these extents, of elements of `word` bytes (1, 2, 4 or 8).
    pub const fn plan(extents: Extents, word: u32) -> Self {
        let [nx, ny, nz] = extents.axes;
        let bytes = extents.elements() * word as u64;
        let row_bytes = nx * word as u64;
        let one = Extent::new(1);
        let params = InverseParams {
            source: Where::input(),
            target: Where::output(),
            bytes,
            row_bytes,
            rows: 1,
            planes: 1,
            nx: Extent::new(nx),
            ny: Extent::new(ny),
            warps: 1,
            strips: one,
            tiles: one,
            depth: 1,
            faces: 0,
            columns: 0,
            totals: 0,
            lines: 0,
            first_line: 0,
            face_lines: 0,
            column_lines: 0,
            first_plane: 0,
            face_planes: 0,
            length: one,
            inner: one,
            group: 1,
            groups: one,
            group_totals: 0,
            lanes: 32,
            direct: 0,
            has_faces: 0,
            has_columns: 0,
            by_row: Divisor::new(1),
            by_run: Divisor::new(1),
            by_segment: Divisor::new(1),
            segment_rows: 1,
            segments: 1,
            writes_totals: 0,
            dimensions: extents.dimensions,
        };
        let mut plan =
            Self { steps: [Step { kernel: InverseKernel::Rest, blocks: 0, params }; MAX_STEPS], count: 0, scratch_bytes: 0 };
        if extents.dimensions < 2 {
            plan.chain(params, bytes, word);
        } else if row_bytes < 15 * UNIT {
            plan.narrow([nx, ny, nz], params, word);
        } else {
            plan.sheets([nx, ny, nz], params, word);
        }
        plan
    }

    /// Bytes of scratch memory that nothing else has.
    const fn take(&mut self, bytes: u64) -> u64 {
        let at = self.scratch_bytes;
        self.scratch_bytes += bytes.next_multiple_of(UNIT);
        at
    }

    /// One more launch with a warp, or a thread, for each of `params.warps`.
    const fn launch(&mut self, kernel: InverseKernel, params: InverseParams) {
        use InverseKernel::*;
        let shape = kernel.launch();
        let per_block = match kernel {
            LinesTotals | LinesSums | AxisTotals | AxisSums | Rest => shape.threads,
            NarrowTotals | NarrowSums => 1,
            _ => shape.warps(),
        };
        self.steps[self.count] = Step { kernel, blocks: params.warps.div_ceil(per_block as u64), params };
        self.count += 1;
    }

    /// One chain: totals of chunks, which are a shorter chain, and so on; then sums, from the shortest chain to the longest.
    const fn chain(&mut self, params: InverseParams, bytes: u64, word: u32) {
        const LEVELS: usize = 4;
        let mut levels = [params; LEVELS];
        let (mut last, mut bytes) = (0, bytes);
        loop {
            let pieces = bytes.div_ceil(SLOT_BYTES);
            // Enough warps for a large device, each with as much as leaves them.
            let depth = pieces.div_ceil(16_384).next_multiple_of(8);
            levels[last].bytes = bytes;
            levels[last].depth = depth;
            levels[last].warps = pieces.div_ceil(depth);
            if levels[last].warps <= 1 {
                break;
            }
            bytes = levels[last].warps * word as u64;
            // The totals, and the sums of them.
            let (totals, sums) = (self.take(bytes), self.take(bytes));
            levels[last].group_totals = totals;
            levels[last].totals = sums;
            levels[last].has_faces = 1;
            levels[last + 1].source = Where::scratch(totals);
            levels[last + 1].target = Where::scratch(sums);
            last += 1;
        }
        let mut level = 0;
        while level < last {
            self.launch(InverseKernel::ChainTotals, levels[level]);
            level += 1;
        }
        loop {
            self.launch(InverseKernel::ChainSums, levels[level]);
            if level == 0 {
                break;
            }
            level -= 1;
        }
    }

    /// Narrow rows: x and y at once, then z.
    const fn narrow(&mut self, [nx, ny, nz]: [u64; 3], mut params: InverseParams, word: u32) {
        let most = NARROW_ELEMENTS as u64 / nx;
        params.planes = nz;
        params.rows = ny;
        params.by_row = Divisor::new(nx as u32);
        let run_rows;
        if ny <= most {
            // Blocks of whole planes.
            params.depth = most / ny;
            params.group = ny;
            params.warps = nz.div_ceil(params.depth);
            run_rows = ny;
        } else {
            params.group = most;
            let tiles = ny.div_ceil(most);
            params.tiles = Extent::new(tiles);
            params.warps = tiles * nz;
            params.has_faces = 1;
            run_rows = most;
        }
        params.by_run = Divisor::new(run_rows as u32);
        // As many threads as there are, each with a part of a column.
        let columns = nx * params.depth;
        let segments = if columns > 128 { 1 } else { 256 / columns };
        let segments = if segments > run_rows { run_rows } else { segments };
        let segment_rows = run_rows.div_ceil(segments);
        params.segment_rows = segment_rows as u32;
        params.segments = run_rows.div_ceil(segment_rows) as u32;
        params.by_segment = Divisor::new(segment_rows as u32);
        if params.has_faces != 0 {
            let totals = self.take(nx * params.warps * word as u64);
            params.group_totals = totals;
            self.launch(InverseKernel::NarrowTotals, params);
            self.axis(params, [nx, params.tiles.value(), nz], word, Where::scratch(totals));
        }
        self.launch(InverseKernel::NarrowSums, params);
        if nz > 1 {
            self.axis(params, [nx * ny, nz, 1], word, Where::output());
        }
    }

    /// Sums in place along the middle one of three axes, as a chain: see [`Self::chain`].
    const fn axis(&mut self, params: InverseParams, [inner, length, outer]: [u64; 3], word: u32, array: Where) {
        const LEVELS: usize = 8;
        /// Elements that a thread goes through.
        const GROUP: u64 = 64;
        let mut levels = [params; LEVELS];
        let (mut last, mut length) = (0, length);
        levels[0].source = array;
        levels[0].target = array;
        loop {
            let groups = length.div_ceil(GROUP);
            levels[last].length = Extent::new(length);
            levels[last].inner = Extent::new(inner);
            levels[last].group = length.div_ceil(groups);
            levels[last].groups = Extent::new(groups);
            levels[last].warps = inner * groups * outer;
            if groups == 1 {
                break;
            }
            length = groups;
            let totals = self.take(inner * groups * outer * word as u64);
            levels[last].group_totals = totals;
            levels[last].has_faces = 1;
            levels[last + 1].source = Where::scratch(totals);
            levels[last + 1].target = Where::scratch(totals);
            last += 1;
        }
        let mut level = 0;
        while level < last {
            self.launch(InverseKernel::AxisTotals, levels[level]);
            level += 1;
        }
        loop {
            self.launch(InverseKernel::AxisSums, levels[level]);
            if level == 0 {
                break;
            }
            level -= 1;
        }
    }

    /// Wide rows.
    const fn sheets(&mut self, [nx, ny, nz]: [u64; 3], mut params: InverseParams, word: u32) {
        use InverseKernel::*;
        let aligned = params.row_bytes.is_multiple_of(UNIT);
        let volume = nz > 1;
        let (rows, planes) = if volume { (ny, nz) } else { (1, ny) };
        // Where rows are no whole units, a row's last one begins up to 15 bytes before the lane that has its first byte.
        let strips = if aligned {
            params.row_bytes.div_ceil(SLOT_BYTES)
        } else {
            (params.row_bytes + UNIT - 1).div_ceil(KEPT_LANES as u64 * UNIT)
        };
        let tiles = rows.div_ceil(TILE_ROWS);
        // Enough warps for a large device, each with as much as leaves them, but not so little that the chunks' faces weigh.
        let wanted = if volume { 2112 } else { 8448 };
        let depth = planes.div_ceil(if strips * tiles < wanted { wanted / (strips * tiles) } else { 1 });
        let depth = if depth < 16 { 16 } else { depth.next_multiple_of(8) };
        let chunks = planes.div_ceil(depth);
        params.lanes = if aligned { 32 } else { KEPT_LANES };
        params.rows = rows;
        params.planes = planes;
        params.strips = Extent::new(strips);
        params.tiles = Extent::new(tiles);
        params.depth = depth;
        params.has_faces = (chunks > 1) as u32;
        params.has_columns = (volume && tiles > 1) as u32;
        params.direct = (strips <= 8) as u32;
        // Lines of totals: the array's rows, the faces' rows, the columns.
        params.face_lines = rows * planes;
        params.face_planes = planes;
        params.column_lines = params.face_lines + rows * chunks;
        let column_planes = planes + chunks;
        params.lines = params.column_lines + if params.has_columns != 0 { column_planes * tiles } else { 0 };
        params.totals = self.take(params.lines * strips * word as u64);
        if chunks > 1 {
            params.faces = self.take(chunks * rows * strips * SLOT_BYTES);
        }
        if params.has_columns != 0 {
            params.columns = self.take(column_planes * tiles * strips * SLOT_BYTES);
        }
        params.warps = strips * tiles * chunks;
        let (totals, sums) = match (volume, aligned) {
            (false, false) => (PlaneTotals, PlaneSums),
            (false, true) => (PlaneTotalsAligned, PlaneSumsAligned),
            (true, false) => (VolumeTotals, VolumeSums),
            (true, true) => (VolumeTotalsAligned, VolumeSumsAligned),
        };
        self.launch(totals, params);
        if chunks > 1 {
            let mut faces = params;
            faces.source = Where::scratch(params.faces);
            if volume {
                self.slots(faces, 1, chunks, rows * strips);
                // The faces are planes themselves, whose rows and columns count.
                faces.row_bytes = strips * SLOT_BYTES;
                faces.bytes = faces.row_bytes * rows * chunks;
                faces.planes = chunks;
                faces.depth = chunks.div_ceil(wanted / (strips * tiles) + 1);
                faces.warps = strips * tiles * chunks.div_ceil(faces.depth);
                faces.first_line = params.face_lines;
                faces.first_plane = params.face_planes;
                faces.has_faces = 0;
                self.launch(VolumeTotalsAligned, faces);
            } else {
                faces.writes_totals = 1;
                faces.first_line = params.face_lines;
                self.slots(faces, 1, chunks, strips);
            }
        }
        if params.has_columns != 0 {
            let mut columns = params;
            columns.source = Where::scratch(params.columns);
            columns.writes_totals = 1;
            columns.first_line = params.column_lines;
            self.slots(columns, column_planes, tiles, strips);
        }
        if params.direct == 0 {
            self.lines(params, strips, word);
        }
        self.launch(sums, params);
        if !params.bytes.is_multiple_of(UNIT) {
            let mut rest = params;
            rest.planes = nz;
            rest.rows = ny;
            rest.row_bytes = nx * word as u64;
            rest.warps = 1;
            self.launch(Rest, rest);
        }
    }

    /// Slots to the sums of all slots before them along the middle axis of outer x length x inner.
    const fn slots(&mut self, mut params: InverseParams, outer: u64, length: u64, inner: u64) {
        // A warp first adds up all groups before its own: as many as it then has slots.
        let group = if length <= 64 { length } else { length.isqrt().next_multiple_of(8) };
        let groups = length.div_ceil(group);
        params.length = Extent::new(length);
        params.inner = Extent::new(inner);
        params.group = group;
        params.groups = Extent::new(groups);
        params.warps = outer * groups * inner;
        if groups > 1 {
            params.group_totals = self.take(outer * groups * inner * SLOT_BYTES);
            self.launch(InverseKernel::SlotsTotals, params);
        }
        self.launch(InverseKernel::SlotsSums, params);
    }

    /// Totals of strips to those of all strips to the left.
    const fn lines(&mut self, mut params: InverseParams, strips: u64, word: u32) {
        let group = if strips <= 64 { strips } else { strips.isqrt().next_multiple_of(8) };
        let groups = strips.div_ceil(group);
        params.length = Extent::new(strips);
        params.group = group;
        params.groups = Extent::new(groups);
        params.inner = Extent::new(params.lines);
        params.warps = groups * params.lines;
        if groups > 1 {
            params.group_totals = self.take(groups * params.lines * word as u64);
            self.launch(InverseKernel::LinesTotals, params);
        }
        self.launch(InverseKernel::LinesSums, params);
    }
}
