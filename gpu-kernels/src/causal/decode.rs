//! Chunks of 16-bit words: a thread a chunk, its low and its high bank together, as two independent chains where they have a state each.
//!
//! | phase | who | does | leaves behind |
//! |---|---|---|---|
//! | build | every warp, row by row | the tile's tables from its model | `tables` (not where they are in global memory) |
//! | begin | thread `t`: chunk `t`, `t + 512`, .. of the block's | copies the first two units of each stream | `ring` |
//! | decode | the same | 16 words at a time; every four symbols of a stream: takes what was copied, begins the next copy | the plain words |
//! | end | the same | compares states and counts | the chunk's status |
//!
//! A stream's words wait in a ring of two halves of 16 bytes. A symbol takes one word at most, so that with a look every four symbols the half that is
//! read never ends before the other one has come. The words of a chunk that takes more than it has are whatever lies there; its status tells.

use super::tables::{Far, Near, Place, banks_of_model, build};
use cuda_std::{
    bits::{byte_permute, opaque},
    global, kernel,
    shared::{self, SharedArray, wait_for_copies},
    thread,
    vector::U32x4,
};
use shared_types::causal::{
    Bank, BlockTask, ChunkStatus, ChunkTask, DECODE, DECODE_FAR, Fold, LOWER, RING_BYTES, SCALE, TABLE_BYTES, TOTAL, TileTask,
};

const RING_WORDS: usize = RING_BYTES as usize / 4;

/// Shared memory of one block: the rings of its threads.
#[repr(C, align(16))]
struct FarShared {
    ring: SharedArray<u32, RING_WORDS>,
}
const _: () = assert!(size_of::<FarShared>() == DECODE_FAR.shared_bytes as usize);

/// Shared memory of one block: the rings of its threads, then the tables, in one array.
#[repr(C, align(16))]
struct NearShared {
    all: SharedArray<u32, { (RING_BYTES + TABLE_BYTES) as usize / 4 }>,
}
const _: () = assert!(size_of::<NearShared>() == DECODE.shared_bytes as usize);

/// Bits of a position that count bytes within a half, and the one that tells the halves apart: what an address takes.
const PLACE: u32 = 0x20E;
/// The bits between them, always ones, so that a carry passes over them: in the ring the other lanes' halves lie there.
const LANES: u32 = 0x1F0;
/// Bytes from one half to the other.
const HALF: u32 = 0x200;

/// A state and the words in front of it.
struct Stream<const N: usize> {
    ring: &'static SharedArray<u32, N>,
    /// The address of the stream's ring.
    base: u32,
    x: u32,
    /// Words taken, as an address.
    position: u32,
    /// Halves asked for.
    halves: u32,
    /// The unit that the first half comes from, of the payload's; and the last one that may be read.
    unit: i32,
    last: i32,
    payload: *const U32x4,
}

impl<const N: usize> Stream<N> {
    /// Stream `number` of the thread, from word `first` of the payload's `words` on. Begins to copy both halves.
    ///
    /// # Safety
    /// `payload` has `words` words, rounded up to units, and a unit in front of it.
    #[inline(always)]
    unsafe fn new(
        ring: &'static SharedArray<u32, N>,
        number: u32,
        x: u32,
        first: u32,
        payload: *const U32x4,
        words: u32,
    ) -> Self {
        let thread = thread::thread_idx_x();
        let base = ring.address(thread / 32 * 2048 + number * 1024 + thread % 32 * 16);
        let position = LANES | first % 8 * 2;
        let (unit, last) = ((first / 8) as i32, words.div_ceil(8) as i32 - 1);
        let mut stream = Self { ring, base, x, position, halves: 0, unit, last, payload };
        stream.copy();
        stream.copy();
        stream
    }

    #[inline(always)]
    fn copy(&mut self) {
        let unit = self.unit + self.halves as i32;
        let unit = if unit < self.last { unit } else { self.last };
        // SAFETY: not behind the last unit; in front of the first one only where there is none, and something is there.
        unsafe {
            self.ring.copy_async_v4(self.base + self.halves % 2 * HALF, self.payload.offset(unit as isize));
        }
        self.halves += 1;
    }

    /// Asks for the next half if there is room for it. All copies so far have been waited for.
    #[inline(always)]
    fn refill(&mut self) {
        if self.halves < self.position / HALF + 2 {
            self.copy();
        }
    }

    /// The next symbol, in row `row` of `bank`; `seen` gathers the frequencies' bits.
    #[inline(always)]
    fn symbol(&mut self, tables: impl Place, bank: &Bank, row: u32, seen: &mut u32) -> u32 {
        let next = self.ring.half_at(self.base + (self.position & PLACE));
        let slot = self.x & (TOTAL - 1);
        let search = slot << 16 | 0xFFFF;
        // One pair in front of where a search ends that finds its symbol in the row's first.
        let pairs = bank.pairs + 4 + row * bank.stride;
        let start = tables.byte(bank.starts + row * bank.buckets + (slot * bank.buckets >> SCALE));
        // Or the compiler follows the address back through all symbols before, and computes it anew in front of the search.
        let mut at = opaque(pairs + 4 * start);
        let (mut e0, mut e1) = (tables.word(at - 4), tables.word(at));
        // A row's last word is larger than every search. (A vote on whether any lane goes on takes more than the lanes' parting and meeting: the
        // compiler has to prepare for lanes that come to it apart.)
        while search >= e1 {
            at += 4;
            e0 = e1;
            e1 = tables.word(at);
        }
        let middle = byte_permute(e0, e1, 0x5432);
        let (second, third) = (search >= e0, search >= middle);
        let pair = if third {
            e1
        } else if second {
            middle
        } else {
            e0
        };
        let symbol = (at - pairs) / 2 + u32::from(second) + u32::from(third);
        let c = pair & 0xFFFF;
        let f = (pair >> 16).wrapping_sub(c);
        *seen |= f;
        let x = f.wrapping_mul(self.x >> SCALE).wrapping_add(slot.wrapping_sub(c));
        if x < LOWER {
            self.x = byte_permute(next, x, 0x5410);
            self.position = (self.position + 2) | LANES;
        } else {
            self.x = x;
        }
        symbol
    }

    /// Words taken since the first one, which was at `first`.
    #[inline(always)]
    fn taken(&self, first: u32) -> u32 {
        self.position / HALF * 8 + self.position % 16 / 2 - first % 8
    }
}

/// Repeats `$body` for the 16 words of a group, with `$i` as a constant: registers can't be indexed by a variable.
#[cfg(target_arch = "nvptx64")]
macro_rules! for_words {
    ($i:ident => $body:expr) => {{
        for_words!($i, $body, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    }};
    ($i:ident, $body:expr, $($word:literal),*) => {$({
        const $i: usize = $word;
        $body
    })*};
}
/// The same as a loop: on the host, time to compile counts.
#[cfg(not(target_arch = "nvptx64"))]
macro_rules! for_words {
    ($i:ident => $body:expr) => {
        #[allow(non_snake_case, clippy::needless_range_loop, reason = "a constant on a device")]
        for $i in 0..GROUP {
            $body
        }
    };
}

/// Words that are stored together.
const GROUP: usize = 16;

/// A chunk at work. `FIRST`: high bytes first, low bytes by them; `CLASSIC`: one state.
struct Chunk<P: Place, const N: usize, const FIRST: bool, const RESIDUAL: bool, const CLASSIC: bool> {
    tables: P,
    /// With the places of `tables`.
    low: Bank,
    high: Bank,
    fold: Fold,
    streams: [Stream<N>; 2],
    /// The low byte before.
    before_low: u32,
    /// The place of the high byte before; with `FIRST`: of the word's own, decoded ahead.
    place: u32,
    /// The word before.
    before: u32,
    seen: u32,
}

impl<P: Place, const N: usize, const FIRST: bool, const RESIDUAL: bool, const CLASSIC: bool>
    Chunk<P, N, FIRST, RESIDUAL, CLASSIC>
{
    #[inline(always)]
    fn high(&mut self) {
        let stream = &mut self.streams[if CLASSIC { 0 } else { 1 }];
        self.place = stream.symbol(self.tables, &self.high, self.place, &mut self.seen);
    }

    #[inline(always)]
    fn low(&mut self, row: u32) {
        self.before_low = self.streams[0].symbol(self.tables, &self.low, row, &mut self.seen);
    }

    /// The next word, in the low half; `more`: there is one behind it.
    #[inline(always)]
    fn word(&mut self, more: bool) -> u32 {
        let place;
        if FIRST {
            place = self.place;
            self.low(place);
            if more {
                self.high();
            }
        } else {
            self.low(self.before_low);
            self.high();
            place = self.place;
        }
        let word = byte_permute(self.before_low, self.fold.byte(place), 0x0040);
        if RESIDUAL {
            let z = word & 0xFFFF;
            self.before = self.before.wrapping_add(z >> 1 ^ (z & 1).wrapping_neg());
            self.before
        } else {
            word
        }
    }

    #[inline(always)]
    fn refill(&mut self) {
        wait_for_copies();
        self.streams[0].refill();
        if !CLASSIC {
            self.streams[1].refill();
        }
    }

    /// Decodes the words from 1 to `words` to `plain`.
    ///
    /// # Safety
    /// `plain` is 16-aligned and has room for `words` words.
    #[inline(always)]
    unsafe fn decode(&mut self, plain: *mut u16, words: u32) {
        // Both banks look as often, and in classic chunks twice as many symbols come from the one stream.
        const fn looks(classic: bool, word: usize) -> bool {
            word.is_multiple_of(if classic { 2 } else { 4 })
        }
        wait_for_copies();
        if FIRST && words > 1 {
            self.high();
        }
        let mut at = 1;
        while at < words {
            if at % GROUP as u32 == 0 && at + GROUP as u32 + u32::from(FIRST) <= words {
                let mut group = [0; GROUP / 2];
                for_words!(I => {
                    if looks(CLASSIC, I) {
                        self.refill();
                    }
                    let word = self.word(true);
                    group[I / 2] = if I % 2 == 0 { word } else { byte_permute(group[I / 2], word, 0x5410) };
                });
                let [a, b, c, d, e, f, g, h] = group;
                // SAFETY: a group is two units, within the chunk.
                unsafe {
                    let to = plain.add(at as usize).cast::<U32x4>();
                    global::store_v4(to, U32x4::new(a, b, c, d));
                    global::store_v4(to.add(1), U32x4::new(e, f, g, h));
                }
                at += GROUP as u32;
            } else {
                self.refill();
                let word = self.word(at + 1 < words);
                // SAFETY: within the chunk.
                unsafe { *plain.add(at as usize) = word as u16 };
                at += 1;
            }
        }
    }
}

/// Decodes the chunks of a block's task.
///
/// # Safety
/// As for the entry points; `tables` are the tile's.
#[inline(always)]
unsafe fn decode<P: Place, const N: usize, const FIRST: bool, const RESIDUAL: bool, const CLASSIC: bool>(
    ring: &'static SharedArray<u32, N>,
    tables: P,
    block: BlockTask,
    task: &TileTask,
    coded: *const u8,
    chunks: *const ChunkTask,
    plain: *mut u8,
    statuses: *mut u32,
) {
    let (mut low, mut high, fold) = (task.layout.low, task.layout.high, task.layout.fold);
    for bank in [&mut low, &mut high] {
        // In registers of each thread: those of the warp, where all this could lie, can't be used by every instruction.
        bank.pairs = opaque(bank.pairs + tables.origin());
        bank.stride = opaque(bank.stride);
        bank.starts = opaque(bank.starts + tables.origin());
        bank.buckets = opaque(bank.buckets);
    }
    let mut number = thread::thread_idx_x();
    while number < block.count {
        let index = block.first + number;
        let place = task.first_chunk + index;
        // SAFETY: a task for each chunk; its words lie in the payload, its bytes in the tile.
        unsafe {
            let chunk = *chunks.add(place as usize);
            let start = index * task.chunk_words;
            let words = task.plain_bytes / 2 - start;
            let words = if words < task.chunk_words { words } else { task.chunk_words };
            let payload = coded.add(task.payload as usize).cast::<U32x4>();
            let seconds = chunk.first_word + (chunk.words & 0xFFFF);
            let stream = |number: u32, x: u32, first: u32| Stream::new(ring, number, x, first, payload, task.payload_words);
            let streams = [stream(0, chunk.states[0], chunk.first_word), stream(1, chunk.states[1], seconds)];
            let context = if RESIDUAL { 0 } else { chunk.prefix };
            let mut work = Chunk::<P, N, FIRST, RESIDUAL, CLASSIC> {
                tables,
                low,
                high,
                fold,
                streams,
                before_low: context & 0xFF,
                place: fold.place(context >> 8 & 0xFF),
                before: chunk.prefix,
                seen: 0,
            };
            let plain = plain.add(task.plain as usize).cast::<u16>().add(start as usize);
            *plain = chunk.prefix as u16;
            work.decode(plain, words);
            let [a, b] = &work.streams;
            let mut wrong = work.seen & TOTAL | a.x ^ LOWER | a.taken(chunk.first_word) ^ (chunk.words & 0xFFFF);
            if !CLASSIC {
                wrong |= b.x ^ LOWER | b.taken(seconds) ^ chunk.words >> 16;
            }
            let status = if wrong == 0 { ChunkStatus::Ok } else { ChunkStatus::Refused };
            *statuses.add(place as usize) = status as u32;
        }
        wait_for_copies(); // none is on its way when the next chunk begins
        number += DECODE.threads;
    }
}

/// The entry points, one pair per representation and form.
macro_rules! entry_points {
    ($($near:ident $far:ident $first:literal $residual:literal $classic:literal;)*) => {$(
        /// Chunks, with the tables in shared memory.
        ///
        /// # Safety
        /// Launched with [`DECODE`], one block per task of `blocks`. The tasks' tiles are in `tiles`, of the kernel's representation and form and
        /// with layouts that fit; their chunks in `chunks`, their models in `models`. `coded` holds whole units of 16 bytes, 16-aligned: the
        /// payloads, and at least a unit in front of each. `plain` is 16-aligned and has room for the tiles, `statuses` a word per chunk.
        /// Nothing else touches the outputs until the launch is over.
        #[kernel(launch = DECODE)]
        pub unsafe fn $near(
            coded: *const u8,
            tiles: *const TileTask,
            chunks: *const ChunkTask,
            blocks: *const BlockTask,
            models: *const u8,
            plain: *mut u8,
            statuses: *mut u32,
        ) {
            let s = shared::dynamic::<NearShared>();
            let tables = Near(&s.all, RING_BYTES);
            // SAFETY: the caller's promises.
            unsafe {
                let block = *blocks.add(thread::block_idx_x() as usize);
                let task = &*tiles.add(block.tile as usize);
                let banks = banks_of_model(models, task);
                build(tables, task, $first, banks, thread::thread_idx_x() / 32, DECODE.warps());
                thread::sync_threads(); // tables
                decode::<_, _, $first, $residual, $classic>(&s.all, tables, block, task, coded, chunks, plain, statuses);
            }
        }

        /// Chunks, with the tables in global memory.
        ///
        /// # Safety
        /// As for the twin, but launched with [`DECODE_FAR`], and `causal_build_far` has made the tables.
        #[kernel(launch = DECODE_FAR)]
        pub unsafe fn $far(
            coded: *const u8,
            tiles: *const TileTask,
            chunks: *const ChunkTask,
            blocks: *const BlockTask,
            tables: *mut u8,
            plain: *mut u8,
            statuses: *mut u32,
        ) {
            let s = shared::dynamic::<FarShared>();
            // SAFETY: the caller's promises.
            unsafe {
                let block = *blocks.add(thread::block_idx_x() as usize);
                let task = &*tiles.add(block.tile as usize);
                let tables = Far(tables.add(task.tables as usize));
                decode::<_, _, $first, $residual, $classic>(&s.ring, tables, block, task, coded, chunks, plain, statuses);
            }
        }
    )*};
}
entry_points! {
    causal_decode_same_lane_split causal_decode_far_same_lane_split false false false;
    causal_decode_high_first_split causal_decode_far_high_first_split true false false;
    causal_decode_residual_split causal_decode_far_residual_split false true false;
    causal_decode_same_lane_classic causal_decode_far_same_lane_classic false false true;
    causal_decode_high_first_classic causal_decode_far_high_first_classic true false true;
    causal_decode_residual_classic causal_decode_far_residual_classic false true true;
}
