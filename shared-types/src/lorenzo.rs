//! Lorenzo predictors, block mode: how the kernels cut an array into tiles of whole segments, and division by multiplying.

use crate::launch::Launch;
use bytemuck::{Pod, Zeroable};

/// Division of numbers below `2^31` by a constant from 1 to `2^31`.
///
/// With `k = 31 + ceil(log2 d)` and `m = ceil(2^k / d)`, `n * m / 2^k` rounded down is `n / d` for all `n * (m * d - 2^k) < 2^k`, and
/// `m * d - 2^k < d <= 2^(k - 31)`. (T. Granlund, P. Montgomery, "Division by Invariant Integers using Multiplication", 1994.)
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Divisor {
    magic: u32,
    shift: u32,
}

impl Divisor {
    /// Division by `d`, 1 to `2^31`.
    pub const fn new(d: u32) -> Self {
        let shift = 31 + (u32::BITS - (d - 1).leading_zeros());
        Self { magic: (1u64 << shift).div_ceil(d as u64) as u32, shift }
    }

    /// `n / d`; `n` is below `2^31`.
    #[inline(always)]
    pub const fn divide(self, n: u32) -> u32 {
        ((n as u64 * self.magic as u64) >> self.shift) as u32
    }
}

/// Division of numbers up to `2^63` by a constant from 1 to `2^31`; as [`Divisor`], with `k = 63 + ceil(log2 d)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct WideDivisor {
    magic: u64,
    /// `k - 63`.
    shift: u32,
    reserved: u32,
}

impl WideDivisor {
    /// Division by `d`, 1 to `2^31`.
    pub const fn new(d: u32) -> Self {
        let shift = u32::BITS - (d - 1).leading_zeros();
        Self { magic: (1u128 << (63 + shift)).div_ceil(d as u128) as u64, shift, reserved: 0 }
    }

    /// `n / d`; `n` is at most `2^63`.
    #[inline(always)]
    pub const fn divide(self, n: u64) -> u64 {
        let product = n as u128 * self.magic as u128;
        let (upper, lower) = ((product >> 64) as u64, product as u64);
        // The upper half and one bit more: `shift` may be 0.
        ((upper << 1) | (lower >> 63)) >> self.shift
    }
}

/// Bytes that a block of the block mode's kernels takes at most: whole segments.
pub const TILE_BYTES: u32 = 16_384;

/// Rows of 512 bytes of a warp.
pub const ROWS: u32 = 4;

/// Bytes of shared memory: what the warps tell each other.
pub const SCAN_BYTES: u32 = 256;

/// Differences without centering. Fewer blocks where masks inside lanes take registers.
pub const fn forward_launch(word: u32, aligned: bool) -> Launch {
    Launch { threads: 256, shared_bytes: SCAN_BYTES, min_blocks: if aligned || word >= 4 { 4 } else { 3 } }
}

/// Differences with centering where [`BlockKind::Whole`] or [`BlockKind::Small`].
pub const fn center_launch(word: u32) -> Launch {
    Launch { threads: 256, shared_bytes: 0, min_blocks: if word == 8 { 3 } else { 4 } }
}

/// Bytes of the sums of a tile's segments: of 5461 segments of three bytes, 4 bytes each, at most.
pub const SUM_BYTES: u32 = 21_856;

/// Differences with centering where sums, then means, stand in shared memory.
pub const CENTER_SHARED: Launch = Launch { threads: 256, shared_bytes: SCAN_BYTES + SUM_BYTES, min_blocks: 3 };

/// Numbers of 32 bits that a sum of a segment of elements of `word` bytes takes: no part overflows, see `SegmentSums`.
pub const fn sum_parts(word: u32) -> u32 {
    match word {
        1 | 2 => 1,
        4 => 2,
        _ => 4,
    }
}

/// Sums where [`BlockKind::Aligned`] or [`BlockKind::Any`]. Where a lane may need two means, these stand in shared memory.
pub const fn inverse_launch(word: u32, aligned: bool, centered: bool) -> Launch {
    let shared_bytes = if centered && !aligned { SCAN_BYTES + SUM_BYTES } else { SCAN_BYTES };
    Launch { threads: 256, shared_bytes, min_blocks: if word == 8 && centered && !aligned { 2 } else { 3 } }
}

/// Sums where [`BlockKind::Whole`].
pub const fn inverse_whole_launch(word: u32) -> Launch {
    Launch { threads: 256, shared_bytes: 0, min_blocks: if word == 1 { 3 } else { 4 } }
}

/// Sums where [`BlockKind::Short`].
pub const INVERSE_SHORT: Launch = Launch { threads: 256, shared_bytes: SCAN_BYTES + SUM_BYTES, min_blocks: 3 };

/// Sums where [`BlockKind::Small`].
pub const INVERSE_SMALL: Launch = Launch { threads: 256, shared_bytes: 0, min_blocks: 4 };

/// Block mode: what its kernels are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct BlockParams {
    /// Elements of the array, at least 1.
    pub elements: u64,
    /// Segments of the array.
    pub segments: u64,
    /// Division by the length of a segment, and by that of the last one, for means.
    pub mean: WideDivisor,
    /// See [`Self::mean`].
    pub last_mean: WideDivisor,
    /// Division by the length of a segment, for positions in a tile.
    pub position: Divisor,
    /// As [`Self::last_mean`], for numbers below `2^31`.
    pub last_position: Divisor,
    /// Elements of a segment, 1 to 1024.
    pub length: u32,
    /// Elements of the last segment.
    pub last_length: u32,
    /// Segments of a tile.
    pub tile_segments: u32,
    /// Bits 0, `length`, `2 * length`, .. up to bit 31.
    pub pattern: u32,
    /// Segments that a row goes through, and elements of the next one.
    pub row_segments: u32,
    /// See [`Self::row_segments`].
    pub row_rest: u32,
    /// How often to take differences or sums: 1 or 2.
    pub order: u32,
    /// 1 where a warp's rows are whole segments, so that warps need not know of each other; else 0.
    pub independent: u32,
    /// Lanes that have one segment alone if they are aligned to this, 1 to 32: for segments of whole multiples of 16 bytes.
    pub group: u32,
    /// Lanes that a segment goes through at most, 1 to 32.
    pub reach: u32,
}

const fn min(a: u32, b: u32) -> u32 {
    if a < b { a } else { b }
}

/// Which kernel of a direction suits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockKind {
    /// Segments are a power of two of elements, 16 to 2048 bytes: they begin where lanes do, and a warp's rows are whole ones.
    Whole,
    /// Segments are a power of two of elements, and 8 bytes at most: a lane has several whole ones.
    Small,
    /// Segments are shorter than a lane's 16 bytes, and no power of two of elements: one goes through two lanes at most, and a segment
    /// begins in every lane.
    Short,
    /// Segments are whole multiples of 16 bytes: they begin where lanes do.
    Aligned,
    /// All others: at most one segment begins in a lane, anywhere.
    Any,
}

impl BlockParams {
    /// For `elements` (at least 1) of `word` bytes in segments of `length` (1 to 1024).
    pub const fn new(elements: u64, word: u32, length: u32, order: u32) -> Self {
        Self::of_units(elements, word, length, order, 1)
    }

    /// As [`Self::new`], tiles of a multiple of `unit` segments.
    const fn of_units(elements: u64, word: u32, length: u32, order: u32, unit: u32) -> Self {
        let segments = elements.div_ceil(length as u64);
        let last_length = (elements - (segments - 1) * length as u64) as u32;
        // A tile that begins anywhere needs room for the bytes in front of it, see `Tile`.
        let bytes = length * word;
        let lead = if bytes.is_multiple_of(16) || length.is_power_of_two() { 0 } else { 16 - word };
        let tile_segments = (TILE_BYTES - lead) / (bytes * unit) * unit;
        let mut pattern = 0;
        let mut bit = 0;
        while bit < 32 {
            pattern |= 1 << bit;
            bit += length;
        }
        let row = 512 / word;
        Self {
            elements,
            segments,
            mean: WideDivisor::new(length),
            last_mean: WideDivisor::new(last_length),
            position: Divisor::new(length),
            last_position: Divisor::new(last_length),
            length,
            last_length,
            tile_segments,
            pattern,
            row_segments: row / length,
            row_rest: row % length,
            order,
            group: 1 << min((bytes / 16).trailing_zeros(), 5),
            reach: min((bytes - 1).div_ceil(16) + (lead != 0) as u32, 32),
            independent: (lead == 0 && (ROWS * row).is_multiple_of(length)) as u32,
        }
    }

    /// Blocks to launch.
    pub const fn tiles(&self) -> u64 {
        self.segments.div_ceil(self.tile_segments as u64)
    }

    /// The kernel that suits elements of `word` bytes.
    pub const fn kind(&self, word: u32) -> BlockKind {
        let bytes = self.length * word;
        match self.length.is_power_of_two() {
            true if bytes < 16 => BlockKind::Small,
            true if self.independent != 0 => BlockKind::Whole,
            false if bytes < 16 => BlockKind::Short,
            _ if self.aligned(word) => BlockKind::Aligned,
            _ => BlockKind::Any,
        }
    }

    /// Whether segments of elements of `word` bytes begin only where lanes do.
    pub const fn aligned(&self, word: u32) -> bool {
        (self.length * word).is_multiple_of(16)
    }
}

/// Adaptive, forward.
pub const ADAPTIVE_FORWARD: Launch = Launch { threads: 256, shared_bytes: SCAN_BYTES + SUM_BYTES + 4352, min_blocks: 3 };

/// Adaptive, backward.
pub const ADAPTIVE_INVERSE: Launch = Launch { threads: 256, shared_bytes: SCAN_BYTES, min_blocks: 3 };

/// Adaptive: the launches over modes and means.
pub const ADAPTIVE_MEANS: Launch = Launch { threads: 256, shared_bytes: 48, min_blocks: 4 };

/// Tiles of a block of [`ADAPTIVE_MEANS`].
pub const MEANS_TILES: u32 = 2048;

/// Adaptive, backward: stands beside the number of means where the modes' last byte has bits set that belong to no tile.
pub const MODES_PADDING: u64 = 1 << 63;

/// Adaptive: elements of a coder's block.
pub const CODER_BLOCK: u32 = 32;

/// Adaptive: what its kernels are told. Its tiles are [`BlockParams`]' segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct AdaptiveParams {
    /// Tiles as segments.
    pub block: BlockParams,
    /// 1 where second order may be chosen, else 0.
    pub order2: u32,
    /// 1 where centering may be chosen, else 0.
    pub centering: u32,
    /// 1 where the coder may store a block's first element apart, else 0.
    pub outlier: u32,
    /// 0.
    pub reserved: u32,
}

impl AdaptiveParams {
    /// For `elements` (at least 1) of `word` bytes in tiles of 1 to 32 coder's blocks.
    pub const fn new(elements: u64, word: u32, blocks_per_tile: u32, order2: bool, centering: bool, outlier: bool) -> Self {
        Self {
            // A block's tiles fill whole bytes of modes.
            block: BlockParams::of_units(elements, word, blocks_per_tile * CODER_BLOCK, 2, 4),
            order2: order2 as u32,
            centering: centering as u32,
            outlier: outlier as u32,
            reserved: 0,
        }
    }

    /// Blocks to launch of [`ADAPTIVE_MEANS`].
    pub const fn means_blocks(&self) -> u64 {
        self.block.segments.div_ceil(MEANS_TILES as u64)
    }

    /// Bytes of scratch for elements of `word` bytes: what the blocks of [`ADAPTIVE_MEANS`] tell each other, zero before, and behind it
    /// a mean for every tile, which begin at the first number.
    pub const fn scratch_bytes(&self, word: u32) -> (u64, u64) {
        let look_back = (8 * self.means_blocks()).next_multiple_of(16);
        (look_back, look_back + self.block.segments * word as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn division_by_multiplying_is_division() {
        let mut state = 1u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state
        };
        for d in (1..=1024).chain([65_535, 70_000, 1 << 20, (1 << 31) - 1, 1 << 31]) {
            let (narrow, wide) = (Divisor::new(d), WideDivisor::new(d));
            let near = (0..4).flat_map(|k| [k * u64::from(d), (k * u64::from(d)).saturating_sub(1), k * u64::from(d) + 1]);
            let last = (1u64 << 63) / u64::from(d) * u64::from(d);
            for n in
                near.chain([1 << 63, (1 << 63) - 1, last, last - 1]).chain((0..50).map(|_| random() >> (1 + random() % 60)))
            {
                assert_eq!(wide.divide(n), n / u64::from(d), "{n} / {d}");
                let n = n as u32 >> 1;
                assert_eq!(narrow.divide(n), n / d, "{n} / {d}");
            }
        }
    }
}
