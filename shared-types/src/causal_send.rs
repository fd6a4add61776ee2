//! The causal codec's encoder on a device: what its kernels are launched with, and what they leave for each other.
//!
//! A batch is many tiles of one grain and form. [`TileTask`](crate::causal::TileTask)s say where they lie, as for the decoder; a tile's chunks are
//! numbered from a multiple of [`LANES`] on, and a warp's streams lie interleaved in the scratch: see [`stream_unit`].

use crate::causal::{Bank, Fold, LEAF_BYTES, Layout, MODE_HIGH_FIRST, MODE_RESIDUAL, SCALE, SYMBOLS};
use crate::launch::Launch;
use bytemuck::{Pod, Zeroable};

/// Banks that are counted and fitted for a tile.
pub const BANKS: u32 = 5;
/// Low bytes by the low byte before.
pub const BANK_LOW: u32 = 0;
/// Low bytes by their own word's high byte.
pub const BANK_LOW_BY_HIGH: u32 = 1;
/// High bytes by the high byte before.
pub const BANK_HIGH: u32 = 2;
/// As [`BANK_LOW`], of the residuals.
pub const BANK_RESIDUAL_LOW: u32 = 3;
/// As [`BANK_HIGH`], of the residuals.
pub const BANK_RESIDUAL_HIGH: u32 = 4;
/// Counters of a bank, and frequencies: a row a context.
pub const KEYS: u32 = SYMBOLS * SYMBOLS;

/// The low and the high bank of a mode.
#[inline(always)]
pub const fn banks_of(mode: u32) -> [u32; 2] {
    if mode & MODE_RESIDUAL != 0 {
        [BANK_RESIDUAL_LOW, BANK_RESIDUAL_HIGH]
    } else if mode & MODE_HIGH_FIRST != 0 {
        [BANK_LOW_BY_HIGH, BANK_HIGH]
    } else {
        [BANK_LOW, BANK_HIGH]
    }
}

/// Words of shared memory for counters: two counters of 16 bits each, or some of 32.
pub const COUNTER_WORDS: u32 = KEYS / 2;
/// Most high bytes whose pairs have counters of their own for some lanes.
pub const MOST_RANKS: u32 = 128;
/// Counts a part of a tile for one bank.
pub const COUNT: Launch =
    Launch { threads: 1024, shared_bytes: 4 * (COUNTER_WORDS + LANES) + SYMBOLS + MOST_RANKS + 32, min_blocks: 1 };
/// Makes frequencies of counts, a warp a row.
pub const FIT: Launch = Launch { threads: 256, shared_bytes: 0, min_blocks: 4 };
/// Blocks of [`FIT`] for a tile.
pub const FIT_BLOCKS: u32 = BANKS * SYMBOLS / FIT.warps();
/// Hashes what is above the leaves, a warp a tile.
pub const ROOT: Launch = crate::causal::TREE;

/// Most threads that encode in a block.
pub const ENCODE_THREADS: u32 = 512;
/// A word for each frequency, and for that of a row of zeros; see [`reciprocal`]. Filled up to 16 bytes.
pub const RECIPROCAL_BYTES: u32 = (4 << SCALE) + 16;
/// All the memory that a block can have.
const BLOCK_BYTES: u32 = 227 << 10;
/// What an encoder's tables can take in shared memory.
pub const ENCODE_TABLE_BYTES: u32 = BLOCK_BYTES - RECIPROCAL_BYTES;
/// Encodes with the tables in shared memory: one block a multiprocessor.
pub const ENCODE: Launch = Launch { threads: ENCODE_THREADS, shared_bytes: BLOCK_BYTES, min_blocks: 1 };
/// Encodes with the tables in global memory.
pub const ENCODE_FAR: Launch = Launch { threads: ENCODE_THREADS, shared_bytes: RECIPROCAL_BYTES, min_blocks: 1 };
/// Bytes of an encoder's tables in global memory, for a tile.
pub const ENCODE_FAR_BYTES: u32 = 2 * SYMBOLS * Bank::stride_of(SYMBOLS);

/// Finds every chunk's place in the payload, and writes header and records, a block a tile.
pub const PLACE: Launch = Launch { threads: 1024, shared_bytes: 4 * 32, min_blocks: 1 };
/// Copies the streams of some chunks together.
pub const PACK: Launch = Launch { threads: 256, shared_bytes: 0, min_blocks: 6 };
/// Chunks of a block of [`PACK`].
pub const PACK_CHUNKS: u32 = 8;

/// Streams that lie interleaved.
pub const LANES: u32 = 32;
/// Words of a unit of a stream.
pub const UNIT_WORDS: u32 = 4;

/// The place of the first unit of chunk `chunk` of the batch, in units of 8 bytes. Chunks have `chunk_words` words, and emit fewer in each of two streams; `second`
/// asks for the second one. The unit behind it is [`LANES`] further on. (A stream that is alone takes both places.)
#[inline(always)]
pub const fn stream_unit(chunk: u32, chunk_words: u32, second: bool) -> u64 {
    let units = (chunk_words / UNIT_WORDS) as u64;
    ((chunk / LANES) as u64 * 2 + second as u64) * units * LANES as u64 + (chunk % LANES) as u64
}

/// A factor for division by the frequency `f`: `floor((2^32 - 1) / f)`.
///
/// With `m * f = 2^32 - e`, `1 <= e <= f`, the product `x * m / 2^32` is `x / f - x * e / (f * 2^32)`. A state that takes `f` is below `f * 2^20`, so
/// that the second part is below `f / 2^12 < 1`: the whole part is the quotient or one less.
#[inline(always)]
pub const fn reciprocal(f: u32) -> u32 {
    match u32::MAX.checked_div(f) {
        Some(m) => m,
        None => 0,
    }
}

impl Layout {
    /// As [`Layout::far`], for an encoder, which searches nothing: no buckets.
    pub fn encode_far() -> Self {
        let stride = Bank::stride_of(SYMBOLS);
        let bank = |pairs: u32| Bank { rows: SYMBOLS, symbols: SYMBOLS, pairs, stride, starts: 0, buckets: 0 };
        Self { low: bank(0), high: bank(ENCODE_FAR_BYTES / 2), fold: Fold::WHOLE }
    }

    /// As [`Layout::near`], for an encoder.
    pub fn encode_near(fold: Fold, high_first: bool) -> Option<Self> {
        let low_rows = if high_first { fold.count } else { SYMBOLS };
        let bank = |rows: u32, symbols: u32, pairs: u32| Bank {
            rows,
            symbols,
            pairs,
            stride: Bank::stride_of(symbols),
            starts: 0,
            buckets: 0,
        };
        let low = bank(low_rows, SYMBOLS, 0);
        let high = bank(fold.count, fold.count, low.rows * low.stride);
        (high.pairs + high.rows * high.stride <= ENCODE_TABLE_BYTES).then_some(Self { low, high, fold })
    }
}

/// What a block of [`COUNT`] counts: some units of 16 bytes of a tile, for one bank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct CountTask {
    /// The tile.
    pub tile: u32,
    /// The bank, [`BANK_LOW`] or another.
    pub bank: u32,
    /// The first unit of the tile's.
    pub first: u32,
    /// How many.
    pub units: u32,
}

/// What a tile's frame is to be, once its model is compressed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct FrameTask {
    /// Byte of the coded bytes where the frame begins; a multiple of 16.
    pub coded: u64,
    /// The header of the coded frame, but for [`HEADER_WORDS_AT`] and [`HEADER_DIGEST_AT`].
    pub header: [u32; 16],
    /// The header of the stored frame, but for the digest.
    pub stored: [u32; 16],
    /// Chunks of the tile.
    pub chunks: u32,
    /// Byte of the frame where the records begin.
    pub records: u32,
    /// Byte of the frame where the payload begins.
    pub payload: u32,
    /// Fills up.
    pub filling: u32,
}

/// The word of a header that counts the payload's words.
pub const HEADER_WORDS_AT: u32 = 5;
/// The word of a header where the digest begins.
pub const HEADER_DIGEST_AT: u32 = 6;
/// Bytes of a header.
pub const HEADER_BYTES: u32 = 64;

const _: () = assert!(LEAF_BYTES.is_multiple_of(16));

#[cfg(test)]
mod tests {
    use super::*;
    use crate::causal::TOTAL;

    /// At the edges of every frequency.
    #[test]
    fn quotients_are_exact_or_one_less() {
        for f in 1..TOTAL {
            let limit = f << (32 - SCALE);
            for x in [1, f - 1, f, f + 1, limit / 2 / f * f, limit / 2 / f * f + f - 1, limit - f, limit - 1] {
                let quotient = ((u64::from(x) * u64::from(reciprocal(f))) >> 32) as u32;
                assert!(quotient == x / f || quotient + 1 == x / f, "{x} / {f}: {quotient}");
            }
        }
    }

    #[test]
    fn tables_fit_or_are_far() {
        let of = |count, high_first| Layout::encode_near(Fold { hole: 0, gap: 0, count }, high_first);
        assert_eq!(of(SYMBOLS, false), None);
        assert!((0..200).all(|count| of(count, false).is_some() && of(count, true).is_some()));
        let Layout { low, high, .. } = Layout::encode_far();
        assert_eq!((low.rows * low.stride, high.pairs + high.rows * high.stride), (high.pairs, ENCODE_FAR_BYTES));
    }

    #[test]
    fn streams_lie_apart() {
        let words = 1024;
        let units = u64::from(words / UNIT_WORDS * LANES);
        assert_eq!(stream_unit(0, words, false), 0);
        assert_eq!(stream_unit(31, words, false), 31);
        assert_eq!(stream_unit(5, words, true), units + 5);
        assert_eq!(stream_unit(32, words, false), 2 * units);
    }
}
