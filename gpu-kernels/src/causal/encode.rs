//! Chunks of 16-bit words: a thread a chunk, backwards, its low and its high bank together.
//!
//! | phase | who | does | leaves behind |
//! |---|---|---|---|
//! | build | every warp, row by row; all threads | the tile's tables from its frequencies; a factor for division by each frequency | `tables` (not where they are in global memory), `reciprocals` |
//! | encode | thread `t`: chunk `t`, `t + 512`, .. of the block's | 8 words at a time; a unit of four words is stored when it is whole | the streams, from their ends on |
//! | end | the same | | the chunk's task, as a decoder gets it from the record; but for the place in the payload |
//!
//! The tables are those of the decoder without what it searches by: the two cumulatives of a symbol stand beside each other.

use super::tables::{Far, Near, Place, build};
use super::words::{residuals, unit_residuals, words_before};
use crate::{ROWS, for_rows};
use cuda_std::{
    bits::{byte_permute, opaque},
    global, kernel,
    shared::{self, SharedArray},
    thread,
    vector::U32x4,
};
use shared_types::causal::{
    BUILD_FAR, BUILD_FAR_BLOCKS, Bank, BlockTask, ChunkTask, Fold, LOWER, SCALE, SYMBOLS, TOTAL, TileTask,
};
use shared_types::causal_send::{
    BANKS, ENCODE, ENCODE_FAR, ENCODE_TABLE_BYTES, ENCODE_THREADS, KEYS, LANES, RECIPROCAL_BYTES, UNIT_WORDS, banks_of,
    reciprocal, stream_unit,
};

/// Shared memory of one block: the factors for division by each frequency.
#[repr(C, align(16))]
struct FarShared {
    reciprocals: SharedArray<u32, { RECIPROCAL_BYTES as usize / 4 }>,
}
const _: () = assert!(size_of::<FarShared>() == ENCODE_FAR.shared_bytes as usize);

/// Shared memory of one block: the factors for division by each frequency, then the tables, in one array.
#[repr(C, align(16))]
struct NearShared {
    all: SharedArray<u32, { (RECIPROCAL_BYTES + ENCODE_TABLE_BYTES) as usize / 4 }>,
}
const _: () = assert!(size_of::<NearShared>() == ENCODE.shared_bytes as usize);

/// Words of a unit that is loaded.
const LOAD_WORDS: u32 = 8;

/// A state, and the words that it gave.
struct Stream {
    x: u32,
    /// The last four words, the last one lowest.
    low: u32,
    high: u32,
    count: u32,
    /// The last unit stored.
    to: *mut u64,
}

impl Stream {
    /// A stream that ends in front of `end`.
    #[inline(always)]
    fn new(end: *mut u64) -> Self {
        Self { x: LOWER, low: 0, high: 0, count: 0, to: end }
    }

    /// Stores the four words in front of those stored before.
    ///
    /// # Safety
    /// There is room for another unit.
    #[inline(always)]
    unsafe fn store(&mut self, words: u64) {
        // SAFETY: as promised.
        unsafe {
            self.to = self.to.sub(LANES as usize);
            *self.to = words;
        }
    }

    #[inline(always)]
    fn words(&self) -> u64 {
        u64::from(self.high) << 32 | u64::from(self.low)
    }

    /// Puts `symbol` in row `row` of `bank`.
    ///
    /// # Safety
    /// The stream has room for as many words as symbols are put.
    #[inline(always)]
    unsafe fn put<const N: usize>(
        &mut self,
        tables: impl Place,
        reciprocals: (&SharedArray<u32, N>, u32),
        bank: &Bank,
        row: u32,
        symbol: u32,
    ) {
        let at = bank.pairs + row * bank.stride + 2 * symbol;
        let (c, end) = (tables.half(at), tables.half(at + 2));
        let f = end.wrapping_sub(c);
        // What the frequencies of a sound model are; others could lead out of the table.
        let factor = reciprocals.0.word_at(reciprocals.1 + 4 * (f % TOTAL));
        if self.x >= f << (32 - SCALE) {
            self.high = byte_permute(self.low, self.high, 0x5432);
            self.low = byte_permute(self.x, self.low, 0x5410);
            self.x >>= 16;
            self.count += 1;
            if self.count.is_multiple_of(UNIT_WORDS) {
                // SAFETY: a word is given for a symbol at most.
                unsafe { self.store(self.words()) };
            }
        }
        let mut quotient = (u64::from(self.x) * u64::from(factor) >> 32) as u32;
        if self.x.wrapping_sub(quotient.wrapping_mul(f)) >= f {
            quotient = quotient.wrapping_add(1);
        }
        self.x = quotient.wrapping_mul(TOTAL.wrapping_sub(f)).wrapping_add(self.x).wrapping_add(c);
    }

    /// Stores the words that are no whole unit, at its end.
    ///
    /// # Safety
    /// There is room for them.
    #[inline(always)]
    unsafe fn finish(&mut self) {
        let left = self.count % UNIT_WORDS;
        if left > 0 {
            // SAFETY: as promised.
            unsafe { self.store(self.words() << (16 * (UNIT_WORDS - left))) };
        }
    }
}

/// A chunk at work. `FIRST`: high bytes first, low bytes by them; `CLASSIC`: one state.
struct Chunk<'a, P: Place, const N: usize, const FIRST: bool, const RESIDUAL: bool, const CLASSIC: bool> {
    tables: P,
    reciprocals: (&'a SharedArray<u32, N>, u32),
    /// With the places of `tables`.
    low: Bank,
    high: Bank,
    fold: Fold,
    streams: [Stream; 2],
}

impl<P: Place, const N: usize, const FIRST: bool, const RESIDUAL: bool, const CLASSIC: bool>
    Chunk<'_, P, N, FIRST, RESIDUAL, CLASSIC>
{
    /// Puts a word, the upper half of `pair`; the lower one is the word before. (Or residuals.)
    ///
    /// # Safety
    /// As for [`Stream::put`].
    #[inline(always)]
    unsafe fn put(&mut self, pair: u32) {
        let place = |byte: u32| self.fold.kept_place(byte);
        let (before, now) = (place(pair >> 8 & 0xFF), place(pair >> 24));
        let low_row = if FIRST { now } else { pair & 0xFF };
        let low_symbol = pair >> 16 & 0xFF;
        // SAFETY: as promised.
        unsafe {
            if FIRST {
                self.streams[0].put(self.tables, self.reciprocals, &self.low, low_row, low_symbol);
            }
            self.streams[if CLASSIC { 0 } else { 1 }].put(self.tables, self.reciprocals, &self.high, before, now);
            if !FIRST {
                self.streams[0].put(self.tables, self.reciprocals, &self.low, low_row, low_symbol);
            }
        }
    }

    /// Puts word `at` of the chunk, not the first one.
    ///
    /// # Safety
    /// `plain` is the chunk. The rest is as for [`Stream::put`].
    #[inline(always)]
    unsafe fn put_at(&mut self, plain: *const u16, at: u32) {
        // SAFETY: as promised; `at` is at least 1.
        unsafe {
            let word = |at: u32| u32::from(*plain.add(at as usize));
            let mut pair = word(at) << 16 | word(at - 1);
            if RESIDUAL {
                // The residual of the first word counts as 0.
                let second = if at == 1 { pair & 0xFFFF } else { word(at - 2) };
                pair = residuals(pair, pair << 16 | second);
            }
            self.put(pair);
        }
    }

    /// Codes the words from 1 to `words`.
    ///
    /// # Safety
    /// `plain` is the chunk, of `words` words, 16-aligned. The rest is as for [`Stream::put`].
    #[inline(always)]
    unsafe fn encode(&mut self, plain: *const u16, words: u32) {
        // SAFETY: as promised.
        unsafe {
            let mut at = words;
            while at > 1 && !at.is_multiple_of(LOAD_WORDS) {
                at -= 1;
                self.put_at(plain, at);
            }
            // Whole units but the first one, each loaded two turns before it is needed.
            let load = |unit: i32| {
                let unit = if unit < 0 { 0 } else { unit };
                global::load_v4(plain.cast::<U32x4>().add(unit as usize))
            };
            let mut unit = (at / LOAD_WORDS) as i32 - 1;
            if unit > 0 {
                let (mut now, mut before, mut next) = (load(unit).to_array(), load(unit - 1).to_array(), load(unit - 2));
                if RESIDUAL {
                    now = unit_residuals(now, before[3]);
                }
                while unit > 0 {
                    let ahead = load(unit - 3);
                    if RESIDUAL {
                        // In front of the first word there is none: as if it stood there twice.
                        before = unit_residuals(before, if unit > 1 { next.w } else { before[0] << 16 });
                    }
                    for_rows!(J => {
                        let i = ROWS - 1 - J;
                        let pair = match i {
                            0 => words_before(before[3], now[0]),
                            _ if i % 2 == 1 => now[i / 2],
                            _ => words_before(now[i / 2 - 1], now[i / 2]),
                        };
                        self.put(pair);
                    });
                    (now, before, next) = (before, next.to_array(), ahead);
                    unit -= 1;
                }
                at = LOAD_WORDS;
            }
            while at > 1 {
                at -= 1;
                self.put_at(plain, at);
            }
        }
    }
}

/// Makes the factors at `at` of `all`; all threads of a block call this.
#[inline(always)]
fn build_reciprocals<const N: usize>(all: &SharedArray<u32, N>) {
    let mut f = thread::thread_idx_x();
    while f < TOTAL {
        all.write(f as usize, reciprocal(f));
        f += ENCODE_THREADS;
    }
}

/// Encodes the chunks of a block's task.
///
/// # Safety
/// As for the entry points; `tables` are the tile's, and the factors are the first words of `all`.
#[inline(always)]
unsafe fn encode<P: Place, const N: usize, const FIRST: bool, const RESIDUAL: bool, const CLASSIC: bool>(
    all: &SharedArray<u32, N>,
    tables: P,
    block: BlockTask,
    task: &TileTask,
    plain: *const u8,
    streams: *mut u64,
    chunks: *mut ChunkTask,
) {
    let (mut low, mut high, fold) = (task.layout.low, task.layout.high, task.layout.fold);
    for bank in [&mut low, &mut high] {
        // In registers of each thread, as for the decoder.
        bank.pairs = opaque(bank.pairs + tables.origin());
        bank.stride = opaque(bank.stride);
    }
    let reciprocals = (all, all.address(0));
    let mut number = thread::thread_idx_x();
    while number < block.count {
        let index = block.first + number;
        let place = task.first_chunk + index;
        // SAFETY: a task for each chunk and room for its streams; its bytes lie in the tile.
        unsafe {
            let start = index * task.chunk_words;
            let words = task.plain_bytes / 2 - start;
            let words = if words < task.chunk_words { words } else { task.chunk_words };
            // Where a stream ends; the one that is alone has both places.
            let units = (task.chunk_words / UNIT_WORDS * if CLASSIC { 2 } else { 1 } * LANES) as usize;
            let end = |second: bool| streams.add(stream_unit(place, task.chunk_words, second) as usize + units);
            let mut work = Chunk::<P, N, FIRST, RESIDUAL, CLASSIC> {
                tables,
                reciprocals,
                low,
                high,
                fold,
                streams: [Stream::new(end(false)), Stream::new(end(!CLASSIC))],
            };
            let plain = plain.add(task.plain as usize).cast::<u16>().add(start as usize);
            work.encode(plain, words);
            let [mut a, mut b] = work.streams;
            a.finish();
            if !CLASSIC {
                b.finish();
            }
            let counts = if CLASSIC { a.count } else { a.count | b.count << 16 };
            let states = [a.x, if CLASSIC { 0 } else { b.x }];
            *chunks.add(place as usize) = ChunkTask { states, first_word: 0, words: counts, prefix: u32::from(*plain) };
        }
        number += ENCODE_THREADS;
    }
}

/// The frequencies of the two banks that tile `tile` is coded by.
///
/// # Safety
/// `frequencies` has those of the tile.
#[inline(always)]
unsafe fn banks(frequencies: *const u16, tile: u32, mode: u32) -> [*const u16; 2] {
    let [low, high] = banks_of(mode);
    // SAFETY: as promised.
    let bank = |bank: u32| unsafe { frequencies.add((tile * BANKS + bank) as usize * KEYS as usize) };
    [bank(low), bank(high)]
}

/// Makes the encoder's tables of tiles in global memory: [`BUILD_FAR_BLOCKS`] blocks a tile, whose numbers stand in `list`.
///
/// # Safety
/// Launched with [`BUILD_FAR`]. The tiles of `list` are in `tiles`, with [`shared_types::causal::Layout::encode_far`]; `frequencies` are those of all banks of
/// all tiles, 16-aligned; `tables` has [`shared_types::causal_send::ENCODE_FAR_BYTES`] for each where its task says. Nothing else touches these until
/// the launch is over.
#[kernel(launch = BUILD_FAR)]
pub unsafe fn causal_build_encode_far(tiles: *const TileTask, list: *const u32, frequencies: *const u16, tables: *mut u8) {
    let block = thread::block_idx_x();
    // SAFETY: the caller's promises.
    unsafe {
        let tile = *list.add((block / BUILD_FAR_BLOCKS) as usize);
        let task = &*tiles.add(tile as usize);
        let row = block % BUILD_FAR_BLOCKS * BUILD_FAR.warps() + thread::thread_idx_x() / 32;
        let banks = banks(frequencies, tile, task.mode);
        build(Far(tables.add(task.tables as usize)), task, false, banks, row, 2 * SYMBOLS);
    }
}

/// The entry points, one pair per representation and form.
macro_rules! entry_points {
    ($($near:ident $far:ident $first:literal $residual:literal $classic:literal;)*) => {$(
        /// Chunks, with the tables in shared memory.
        ///
        /// # Safety
        /// Launched with [`ENCODE`], one block per task of `blocks`. The tasks' tiles are in `tiles`, of the kernel's representation and form, with
        /// layouts of their frequencies that fit; `frequencies` are those of all banks of all tiles, 16-aligned. `plain` holds the tiles, in whole
        /// units of 16 bytes, 16-aligned, and they are what was counted. `streams` has room for twice the chunks, `chunks` a place per chunk. Nothing
        /// else touches the outputs until the launch is over.
        #[kernel(launch = ENCODE)]
        pub unsafe fn $near(
            plain: *const u8,
            tiles: *const TileTask,
            blocks: *const BlockTask,
            frequencies: *const u16,
            streams: *mut u64,
            chunks: *mut ChunkTask,
        ) {
            let s = shared::dynamic::<NearShared>();
            let tables = Near(&s.all, RECIPROCAL_BYTES);
            // SAFETY: the caller's promises.
            unsafe {
                let block = *blocks.add(thread::block_idx_x() as usize);
                let task = &*tiles.add(block.tile as usize);
                let banks = banks(frequencies, block.tile, task.mode);
                build_reciprocals(&s.all);
                build(tables, task, $first, banks, thread::thread_idx_x() / 32, ENCODE.warps());
                thread::sync_threads(); // tables, reciprocals
                encode::<_, _, $first, $residual, $classic>(&s.all, tables, block, task, plain, streams, chunks);
            }
        }

        /// Chunks, with the tables in global memory.
        ///
        /// # Safety
        /// As for the twin, but launched with [`ENCODE_FAR`], and [`causal_build_encode_far`] has made the tables.
        #[kernel(launch = ENCODE_FAR)]
        pub unsafe fn $far(
            plain: *const u8,
            tiles: *const TileTask,
            blocks: *const BlockTask,
            tables: *mut u8,
            streams: *mut u64,
            chunks: *mut ChunkTask,
        ) {
            let s = shared::dynamic::<FarShared>();
            // SAFETY: the caller's promises.
            unsafe {
                let block = *blocks.add(thread::block_idx_x() as usize);
                let task = &*tiles.add(block.tile as usize);
                let tables = Far(tables.add(task.tables as usize));
                build_reciprocals(&s.reciprocals);
                thread::sync_threads(); // reciprocals
                encode::<_, _, $first, $residual, $classic>(&s.reciprocals, tables, block, task, plain, streams, chunks);
            }
        }
    )*};
}
entry_points! {
    causal_encode_same_lane_split causal_encode_far_same_lane_split false false false;
    causal_encode_high_first_split causal_encode_far_high_first_split true false false;
    causal_encode_residual_split causal_encode_far_residual_split false true false;
    causal_encode_same_lane_classic causal_encode_far_same_lane_classic false false true;
    causal_encode_high_first_classic causal_encode_far_high_first_classic true false true;
    causal_encode_residual_classic causal_encode_far_residual_classic false true true;
}
