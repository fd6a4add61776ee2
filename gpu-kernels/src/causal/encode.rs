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
use super::words::{residuals, unit_residuals};
use crate::{ROWS, for_rows};
use cuda_std::{
    bits::opaque,
    global::{self, HalvesDown},
    kernel,
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

/// A symbol's share, and a factor for division by it.
#[derive(Clone, Copy)]
struct Share {
    c: u32,
    f: u32,
    factor: u32,
}

/// A state, and the words that it gave.
struct Stream {
    x: u32,
    words: HalvesDown<{ 8 * LANES as i32 }>,
}

impl Stream {
    /// A stream that ends in front of `end`.
    ///
    /// # Safety
    /// The stream has room for as many words as symbols are put.
    #[inline(always)]
    unsafe fn new(end: *mut u64) -> Self {
        // SAFETY: as promised.
        Self { x: LOWER, words: unsafe { HalvesDown::new(end.cast()) } }
    }

    /// Puts a symbol.
    #[inline(always)]
    fn put(&mut self, share: Share) {
        let Share { c, f, factor } = share;
        let x = self.words.take(self.x, f << (32 - SCALE));
        // Exact, or one less.
        let quotient = (u64::from(x) * u64::from(factor) >> 32) as u32;
        let others = TOTAL.wrapping_sub(f);
        let next = quotient.wrapping_mul(others).wrapping_add(x.wrapping_add(c));
        let is_less = x.wrapping_sub(quotient.wrapping_mul(f)) >= f;
        self.x = if is_less { next.wrapping_add(others) } else { next };
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
    /// The word that is put next: its low byte, and the place of its high byte.
    low_byte: u32,
    place: u32,
}

impl<P: Place, const N: usize, const FIRST: bool, const RESIDUAL: bool, const CLASSIC: bool>
    Chunk<'_, P, N, FIRST, RESIDUAL, CLASSIC>
{
    #[inline(always)]
    fn share(&self, bank: &Bank, row: u32, symbol: u32) -> Share {
        let at = bank.pairs + row * bank.stride + 2 * symbol;
        let (c, end) = (self.tables.half(at), self.tables.half(at + 2));
        // Up to 4096, whatever the tables say.
        let f = end.wrapping_sub(c);
        Share { c, f, factor: self.reciprocals.0.word_at(self.reciprocals.1 + 4 * f) }
    }

    /// Puts the word in hand by the one before, whose bytes these are, and takes that into the hand.
    #[inline(always)]
    fn put_by(&mut self, low_byte: u32, high_byte: u32) {
        let place = self.fold.kept_place(high_byte);
        let high = self.share(&self.high, place, self.place);
        let low = self.share(&self.low, if FIRST { self.place } else { low_byte }, self.low_byte);
        // The last one is what a decoder begins with.
        if FIRST {
            self.streams[0].put(low);
        }
        self.streams[if CLASSIC { 0 } else { 1 }].put(high);
        if !FIRST {
            self.streams[0].put(low);
        }
        (self.low_byte, self.place) = (low_byte, place);
    }

    /// What is coded of word `at` of the chunk: the word or its residual.
    ///
    /// # Safety
    /// `plain` is the chunk.
    #[inline(always)]
    unsafe fn code_at(plain: *const u16, at: u32) -> u32 {
        // SAFETY: as promised.
        let word = |at: u32| u32::from(unsafe { *plain.add(at as usize) });
        if !RESIDUAL {
            word(at)
        } else if at == 0 {
            0
        } else {
            residuals(word(at), word(at - 1)) & 0xFFFF
        }
    }

    /// Codes the words from 1 to `words`, backwards.
    ///
    /// # Safety
    /// `plain` is the chunk, of `words` words, 16-aligned.
    #[inline(always)]
    unsafe fn encode(&mut self, plain: *const u16, words: u32) {
        // SAFETY: as promised.
        unsafe {
            let mut at = words - 1;
            let last = Self::code_at(plain, at);
            (self.low_byte, self.place) = (last & 0xFF, self.fold.kept_place(last >> 8));
            while !at.is_multiple_of(LOAD_WORDS) {
                at -= 1;
                let code = Self::code_at(plain, at);
                self.put_by(code & 0xFF, code >> 8);
            }
            // The word in hand is the first one of its unit. Each of those in front is loaded two turns before it is needed.
            let load = |unit: i32| {
                let unit = if unit < 0 { 0 } else { unit };
                global::load_v4(plain.cast::<U32x4>().add(unit as usize))
            };
            let mut unit = (at / LOAD_WORDS) as i32 - 1;
            let (mut now, mut next) = (load(unit), load(unit - 1));
            while unit >= 0 {
                let ahead = load(unit - 2);
                let mut v = now.to_array();
                if RESIDUAL {
                    // In front of the first word there is none: as if it stood there twice.
                    v = unit_residuals(v, if unit > 0 { next.w } else { v[0] << 16 });
                }
                for_rows!(J => {
                    let i = ROWS - 1 - J;
                    let pair = v[i / 2] >> (i % 2 * 16);
                    self.put_by(pair & 0xFF, pair >> 8 & 0xFF);
                });
                (now, next) = (next, ahead);
                unit -= 1;
            }
        }
    }
}

/// Makes the factors at `at` of `all`; all threads of a block call this.
#[inline(always)]
fn build_reciprocals<const N: usize>(all: &SharedArray<u32, N>) {
    let mut f = thread::thread_idx_x();
    while f <= TOTAL {
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
                low_byte: 0,
                place: 0,
            };
            let plain = plain.add(task.plain as usize).cast::<u16>().add(start as usize);
            work.encode(plain, words);
            let [a, b] = &work.streams;
            a.words.finish();
            if !CLASSIC {
                b.words.finish();
            }
            let counts = if CLASSIC { a.words.count() } else { a.words.count() | b.words.count() << 16 };
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
