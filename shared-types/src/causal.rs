//! The causal codec on a device: what its kernels are launched with, and how a block's memory is laid out.
//!
//! A batch is many frames, each a tile. The host has read their headers, models and records; the kernels find these as arrays of
//! [`TileTask`], [`ChunkTask`] and [`BlockTask`], and beside them the inflated models.

use crate::launch::Launch;
use bytemuck::{Pod, Zeroable};

/// Symbols of a row, and rows of a bank.
pub const SYMBOLS: u32 = 256;
/// Bytes of an inflated model.
pub const MODEL_BYTES: u32 = 2 * SYMBOLS * SYMBOLS * 2;
/// The sum of a row in use.
pub const TOTAL: u32 = 1 << SCALE;
/// Bits of a probability.
pub const SCALE: u32 = 12;
/// Where every state must end.
pub const LOWER: u32 = 1 << 16;

/// Most threads that decode in a block: two streams of 32 bytes each take [`RING_BYTES`].
const THREADS: u32 = 512;
/// The words of all streams of a block that wait to be decoded: two halves of 16 bytes a stream.
pub const RING_BYTES: u32 = THREADS * 2 * 32;
/// All the memory that a block can have.
const BLOCK_BYTES: u32 = 227 << 10;
/// What a block's tables can take.
pub const TABLE_BYTES: u32 = BLOCK_BYTES - RING_BYTES;

/// Decodes with the tables in shared memory: one block a multiprocessor.
pub const DECODE: Launch = Launch { threads: THREADS, shared_bytes: BLOCK_BYTES, min_blocks: 1 };
/// Decodes with the tables in global memory: what shared memory does not take is left to the cache.
pub const DECODE_FAR: Launch = Launch { threads: THREADS, shared_bytes: RING_BYTES, min_blocks: 1 };
/// Builds the tables in global memory, a warp a row.
pub const BUILD_FAR: Launch = Launch { threads: 256, shared_bytes: 0, min_blocks: 1 };
/// Blocks of [`BUILD_FAR`] for a tile.
pub const BUILD_FAR_BLOCKS: u32 = 2 * SYMBOLS / BUILD_FAR.warps();
/// Finds out what is wrong with chunks that were refused, a thread a chunk.
pub const VERDICT: Launch = Launch { threads: 256, shared_bytes: 0, min_blocks: 1 };
/// Hashes the leaves of a tile's digest, a thread a leaf.
pub const LEAVES: Launch = Launch { threads: 128, shared_bytes: 0, min_blocks: 8 };
/// Hashes what is above the leaves, a warp a tile.
pub const TREE: Launch = Launch { threads: 32, shared_bytes: 32 * 64 + 64, min_blocks: 1 };
/// Wipes refused tiles.
pub const WIPE: Launch = Launch { threads: 256, shared_bytes: 0, min_blocks: 1 };
/// Blocks of [`WIPE`] for a tile.
pub const WIPE_BLOCKS: u32 = 8;

/// Bytes of a leaf's piece of the tile.
pub const LEAF_BYTES: u32 = 8192;
/// Digests under one node.
pub const FAN_OUT: u32 = 64;
/// Words of a digest.
pub const DIGEST_WORDS: u32 = 8;

/// One bank's rows: cumulative frequencies in pairs, and where to begin to search them.
///
/// A row of symbols 0 to `symbols - 1` has the words `c(2k) | c(2k + 1) << 16`, and one more that ends every search; `buckets` bytes beside it tell for
/// each of as many equal parts of the slots the pair of the symbol that holds the part's first slot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Bank {
    /// Rows, the last of which may stand for all that are not here and empty.
    pub rows: u32,
    /// Symbols of a row.
    pub symbols: u32,
    /// Byte from the start of the tables where the pairs begin; a multiple of 4.
    pub pairs: u32,
    /// Bytes of a row's pairs.
    pub stride: u32,
    /// Byte from the start of the tables where the buckets begin; a multiple of 4.
    pub starts: u32,
    /// Buckets of a row, a multiple of 4 up to 256.
    pub buckets: u32,
}

impl Bank {
    /// Bytes of the pairs of a row of `symbols` symbols.
    pub const fn stride_of(symbols: u32) -> u32 {
        let pairs = symbols.div_ceil(2);
        4 * (if pairs == 0 { 1 } else { pairs } + 1)
    }

    const fn bytes(self) -> u32 {
        self.rows * (self.stride + self.buckets)
    }
}

/// Bytes without a hole: what lies behind it moves up. High bytes of signed numbers are small or large, but not in between.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Fold {
    /// Where the hole begins.
    pub hole: u32,
    /// Bytes of the hole.
    pub gap: u32,
    /// Bytes that are left: those in front of the hole and those behind it, up to the last one that matters.
    pub count: u32,
}

impl Fold {
    /// Nothing folded.
    pub const WHOLE: Self = Self { hole: SYMBOLS, gap: 0, count: SYMBOLS };

    /// Keeps the bytes of which `keep` is true; the largest hole goes, and what is behind the last one.
    pub fn of(keep: &[bool; SYMBOLS as usize]) -> Self {
        let mut fold = Self { hole: 0, gap: 0, count: 0 };
        let mut end = 0; // behind the last one so far
        for (byte, _) in (0u32..).zip(keep).filter(|(_, keep)| **keep) {
            if byte - end > fold.gap {
                (fold.hole, fold.gap) = (end, byte - end);
            }
            end = byte + 1;
        }
        fold.count = end - fold.gap;
        fold
    }

    /// Where byte `byte` is; `count` for those that are nowhere.
    #[inline(always)]
    pub const fn place(self, byte: u32) -> u32 {
        let place = if byte < self.hole {
            byte
        } else if byte < self.hole + self.gap {
            self.count
        } else {
            byte - self.gap
        };
        if place < self.count { place } else { self.count }
    }

    /// Where byte `byte` is, one of those that are kept.
    #[inline(always)]
    pub const fn kept_place(self, byte: u32) -> u32 {
        byte.wrapping_sub(if byte < self.hole { 0 } else { self.gap })
    }

    /// The byte at `place`.
    #[inline(always)]
    pub const fn byte(self, place: u32) -> u32 {
        if place < self.hole { place } else { place + self.gap }
    }
}

/// The tables of a tile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Layout {
    /// By the low byte before, or by the place of the own word's high byte.
    pub low: Bank,
    /// By the place of the high byte before.
    pub high: Bank,
    /// Places of high bytes.
    pub fold: Fold,
}

/// Bytes of the tables in global memory, for a tile.
pub const FAR_BYTES: u32 = 2 * SYMBOLS * (Bank::stride_of(SYMBOLS) + SYMBOLS);

impl Layout {
    /// Every row of both banks, for global memory.
    pub fn far() -> Self {
        let bank = |at: u32| Bank {
            rows: SYMBOLS,
            symbols: SYMBOLS,
            pairs: at,
            stride: Bank::stride_of(SYMBOLS),
            starts: at + SYMBOLS * Bank::stride_of(SYMBOLS),
            buckets: SYMBOLS,
        };
        Self { low: bank(0), high: bank(FAR_BYTES / 2), fold: Fold::WHOLE }
    }

    /// Only the rows that matter, for shared memory: the high bank's of `fold`, and the low bank's by high bytes (`high_first`) or by low
    /// bytes. `None` where they don't fit.
    ///
    /// As many buckets as there is room for: first the low bank's, where most symbols differ.
    pub fn near(fold: Fold, high_first: bool) -> Option<Self> {
        let low_rows = if !high_first {
            SYMBOLS
        } else if fold.count == 0 {
            1
        } else {
            fold.count
        };
        let high_rows = if fold.count < SYMBOLS { fold.count + 1 } else { SYMBOLS };
        let (low_stride, high_stride) = (Bank::stride_of(SYMBOLS), Bank::stride_of(fold.count));
        const FEWEST: u32 = 32;
        let pairs = low_rows * low_stride + high_rows * high_stride;
        let left = TABLE_BYTES.checked_sub(pairs)?;
        let low_buckets = (left.checked_sub(high_rows * FEWEST)? / low_rows / 4 * 4).min(SYMBOLS);
        if low_buckets < FEWEST {
            return None;
        }
        let high_buckets = ((left - low_rows * low_buckets) / high_rows / 4 * 4).min(SYMBOLS);
        let low_starts = pairs;
        let low =
            Bank { rows: low_rows, symbols: SYMBOLS, pairs: 0, stride: low_stride, starts: low_starts, buckets: low_buckets };
        let high = Bank {
            rows: high_rows,
            symbols: fold.count,
            pairs: low_rows * low_stride,
            stride: high_stride,
            starts: low_starts + low_rows * low_buckets,
            buckets: high_buckets,
        };
        debug_assert!(low.bytes() + high.bytes() <= TABLE_BYTES);
        Some(Self { low, high, fold })
    }
}

/// One tile of a batch. Offsets are bytes into the batch's memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct TileTask {
    /// Where the payload begins in the coded bytes; a multiple of 16.
    pub payload: u64,
    /// Where the tile begins in the plain bytes; a multiple of 16.
    pub plain: u64,
    /// Where the tables begin, if they are in global memory; a multiple of 16.
    pub tables: u64,
    /// Words of the payload.
    pub payload_words: u32,
    /// Bytes of the tile.
    pub plain_bytes: u32,
    /// Words of a whole chunk.
    pub chunk_words: u32,
    /// Its first chunk's number in the batch.
    pub first_chunk: u32,
    /// Its first leaf's number in the batch.
    pub first_leaf: u32,
    /// Its model's number in the batch.
    pub model: u32,
    /// How its bytes are modelled: see [`MODE_HIGH_FIRST`] and the others.
    pub mode: u32,
    /// Where the rows are.
    pub layout: Layout,
    /// The tile's digest, four bytes a word.
    pub digest: [u32; DIGEST_WORDS as usize],
}

/// [`TileTask::mode`]: the high byte before the low one, which is coded by it.
pub const MODE_HIGH_FIRST: u32 = 1;
/// [`TileTask::mode`]: zigzag numbers of differences.
pub const MODE_RESIDUAL: u32 = 2;
/// [`TileTask::mode`]: one state for both banks.
pub const MODE_CLASSIC: u32 = 4;

/// One chunk, from its record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct ChunkTask {
    /// The states: the low bank's and the high bank's; one for both comes first.
    pub states: [u32; 2],
    /// Where its words begin in the payload.
    pub first_word: u32,
    /// Words of the first state, and 2^16 times those of the second.
    pub words: u32,
    /// The first word of the tile's chunk.
    pub prefix: u32,
}

/// What a block does: some chunks, or leaves, of one tile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct BlockTask {
    /// The tile.
    pub tile: u32,
    /// The first one of the tile's.
    pub first: u32,
    /// How many.
    pub count: u32,
}

/// What became of a chunk. The kernels write them as `u32`: see [`ChunkStatus::pack`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum ChunkStatus {
    /// Decoded, and ended as a sound chunk does.
    Ok = 0,
    /// A row of zeros was met; the detail is its number in the model.
    DeadRow = 1,
    /// A word was asked for behind the last one.
    OutOfWords = 2,
    /// The last state is not 2^16; the detail is what it is.
    Terminal = 3,
    /// Words are left; the detail says how many.
    UnusedWords = 4,
    /// Something is wrong, [`VERDICT`] has not yet said what.
    Refused = 5,
}

impl ChunkStatus {
    /// The status with the state that it is about (0 low or only, 1 high) and the word of the chunk.
    #[inline(always)]
    pub const fn pack(self, stream: u32, word: u32) -> u32 {
        self as u32 | stream << 8 | word << 16
    }

    /// The parts of what [`ChunkStatus::pack`] made: status, state, word.
    pub const fn unpack(packed: u32) -> (Self, u32, u32) {
        let status = match packed & 0xFF {
            0 => Self::Ok,
            1 => Self::DeadRow,
            2 => Self::OutOfWords,
            3 => Self::Terminal,
            4 => Self::UnusedWords,
            _ => Self::Refused,
        };
        (status, packed >> 8 & 0xFF, packed >> 16)
    }
}

/// What became of a tile: [`TILE_OK`], [`TILE_DIGEST`], [`TILE_FRONT`], or the number of its first bad chunk.
pub const TILE_OK: u32 = u32::MAX;
/// The host refused what is in front of the payload.
pub const TILE_FRONT: u32 = u32::MAX - 2;
/// All chunks ended well, but the digest is another.
pub const TILE_DIGEST: u32 = u32::MAX - 1;

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(bytes: &[core::ops::Range<usize>]) -> Fold {
        let mut keep = [false; SYMBOLS as usize];
        bytes.iter().for_each(|bytes| keep[bytes.clone()].fill(true));
        Fold::of(&keep)
    }

    #[test]
    #[allow(clippy::single_range_in_vec_init, reason = "ranges are meant")]
    fn folds_leave_out_the_largest_hole() {
        for (bytes, hole, gap, count) in [
            (&[0..16][..], 0, 0, 16),
            (&[0..256], 0, 0, 256),
            (&[0..5, 250..256], 5, 245, 11),
            (&[100..103], 0, 100, 3),
            (&[10..11, 20..21, 200..202], 21, 179, 23),
            (&[], 0, 0, 0),
        ] {
            let fold = kept(bytes);
            assert_eq!((fold.hole, fold.gap, fold.count), (hole, gap, count), "{bytes:?}");
            for byte in 0..SYMBOLS {
                let place = fold.place(byte);
                if bytes.iter().any(|bytes| bytes.contains(&(byte as usize))) {
                    assert!(place < count && place == fold.kept_place(byte));
                }
                assert!(place == count || fold.byte(place) == byte, "{bytes:?}, {byte}");
            }
        }
    }

    #[test]
    fn tables_fit_or_are_far() {
        for count in 0..=SYMBOLS {
            for high_first in [false, true] {
                let fold = Fold { hole: 0, gap: 0, count };
                let Some(Layout { low, high, .. }) = Layout::near(fold, high_first) else {
                    assert!(count > 60, "{count} high bytes don't fit");
                    continue;
                };
                let ends = [low.pairs + low.rows * low.stride, high.pairs + high.rows * high.stride];
                assert_eq!(ends, [high.pairs, low.starts]);
                assert_eq!(low.starts + low.rows * low.buckets, high.starts);
                assert!(high.starts + high.rows * high.buckets <= TABLE_BYTES);
                assert!(low.buckets >= 32 && high.buckets >= 32 && low.buckets <= 256 && high.buckets <= 256);
                assert!(high_first || count > 22 || low.buckets == 256, "{count}: {low:?}");
            }
        }
        assert_eq!(Layout::near(Fold::WHOLE, false), None);
    }
}
