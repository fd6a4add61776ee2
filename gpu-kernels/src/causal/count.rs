//! How often each symbol follows each context, for the five banks.
//!
//! | phase | who | does | leaves behind |
//! |---|---|---|---|
//! | look (high banks) | thread `t`: a unit of the part | finds out which high bytes there are, and ranks them | `ranks`, `bytes` |
//! | clear | all threads | | `counters` |
//! | count | thread `t`: units `t`, `t + 1024`, .. of the part | makes a key of each word and counts it | `counters` |
//! | add up | all threads | adds what was counted to the bank's counters in global memory | the counts |
//!
//! All keys of a bank fit as counters of 16 bits. One that reaches 2^15 gives that away to global memory: the thread that sees the bit set clears it, and
//! adds what it cleared. Fewer than 2^15 additions are under way at a time, so that none gets lost.
//!
//! High bytes are few, and hot: that many lanes hit one counter, and wait for each other. Where a look at the part finds at most 32 of them, the
//! counters of their pairs are kept 32 times, for each lane its own; with up to 64 and 128 bytes, 8 and 2 times. Bytes that the look missed are counted in
//! global memory straight away.
//!
//! A branch around an addition would have each wait for the one before. So a lane that has nothing to count adds to a word that nobody reads.

use super::words::{residuals, unit_residuals, words_before};
use crate::{ROWS, collectives::ALL_LANES, for_rows};
use cuda_std::{
    atomic::atomic_fetch_add_relaxed_32_device,
    bits::byte_permute,
    global, kernel,
    shared::{self, SharedArray},
    thread,
    vector::U32x4,
    warp,
};
use shared_types::causal::{SYMBOLS, TileTask};
use shared_types::causal_send::{
    BANK_HIGH, BANK_LOW, BANK_LOW_BY_HIGH, BANK_RESIDUAL_LOW, BANKS, COUNT, COUNTER_WORDS, CountTask, KEYS, LANES, MOST_RANKS,
};

/// Shared memory of one block.
#[repr(C, align(16))]
struct CountShared {
    /// And a word for each lane that counts nothing.
    counters: SharedArray<u32, { (COUNTER_WORDS + LANES) as usize }>,
    /// The rank of each high byte, four a word; [`UNRANKED`] for those that have none.
    ranks: SharedArray<u32, { SYMBOLS as usize / 4 }>,
    /// The byte of each rank, four a word.
    bytes: SharedArray<u32, { MOST_RANKS as usize / 4 }>,
    /// A bit for each high byte of the look.
    seen: SharedArray<u32, { SYMBOLS as usize / 32 }>,
}
const _: () = assert!(size_of::<CountShared>() == COUNT.shared_bytes as usize);

/// No rank: with the bit that ranks don't have.
const UNRANKED: u32 = 0xFF;

/// Words of a unit.
const UNIT: u32 = 8;

/// A unit of a part, and what of it counts.
#[derive(Clone, Copy)]
struct Unit {
    /// The words, or the residuals.
    v: [u32; 4],
    /// The word in front of them, in the upper half.
    before: u32,
    /// Words from the first one on that are there.
    words: u32,
    /// Whether a chunk begins here, whose first word does not count.
    start: bool,
}

impl Unit {
    /// The unit `v` of the plain words, `before` the two in front of it; `RESIDUAL`: what is coded instead.
    #[inline(always)]
    fn new<const RESIDUAL: bool>(v: [u32; 4], before: u32, words: u32, start: bool) -> Self {
        if !RESIDUAL {
            return Self { v, before, words, start };
        }
        // A chunk's first word has no difference: as if the same word stood in front of it.
        let before = if start { v[0] << 16 } else { before };
        // Of the upper word only: in the lower half stands a word that is not known.
        let z = residuals(before, before << 16);
        Self { v: unit_residuals(v, before), before: z, words, start }
    }

    /// Word `i`, in the upper half, and in the lower the word before.
    #[inline(always)]
    fn pair(&self, i: usize) -> u32 {
        match i {
            0 => words_before(self.before, self.v[0]),
            _ if i % 2 == 1 => self.v[i / 2],
            _ => words_before(self.v[i / 2 - 1], self.v[i / 2]),
        }
    }

    /// Whether all words count, and are the word in front of them again: in a run, eight additions to one counter become one.
    #[inline(always)]
    fn is_run(&self) -> bool {
        let [a, b, c, d] = self.v;
        self.words == UNIT && !self.start && (self.pair(0) ^ a | a ^ b | a ^ c | a ^ d) == 0
    }

    /// Whether word `i` counts.
    #[inline(always)]
    fn counts(&self, i: usize) -> bool {
        (i as u32) < self.words && (i > 0 || !self.start)
    }
}

/// The tile of a block, and its part of it.
struct Part<'a> {
    task: CountTask,
    tile: &'a TileTask,
    plain: *const U32x4,
}

impl Part<'_> {
    /// The words of unit `unit`, or zeros behind the part.
    #[inline(always)]
    fn load(&self, unit: u32) -> U32x4 {
        if unit < self.task.first + self.task.units {
            // SAFETY: a unit of the tile.
            unsafe { global::load_v4(self.plain.add(unit as usize)) }
        } else {
            U32x4::default()
        }
    }

    #[inline(always)]
    fn is_start(&self, unit: u32) -> bool {
        unit & (self.tile.chunk_words / UNIT - 1) == 0
    }

    /// The two words in front of unit `unit`, which is there and begins no chunk.
    #[inline(always)]
    fn load_before(&self, unit: u32) -> u32 {
        // SAFETY: the end of the unit before.
        unsafe { *self.plain.add(unit as usize).cast::<u32>().sub(1) }
    }

    /// Words of unit `unit`.
    #[inline(always)]
    fn words(&self, unit: u32) -> u32 {
        if unit >= self.task.first + self.task.units {
            return 0;
        }
        let left = self.tile.plain_bytes / 2 - UNIT * unit;
        if left < UNIT { left } else { UNIT }
    }

    /// Calls `each` with this thread's units, one after another, and with empty ones where other threads have more. All threads of a block call this.
    #[inline(always)]
    fn for_units<const RESIDUAL: bool>(&self, mut each: impl FnMut(Unit)) {
        let lane = warp::lane_id();
        let end = self.task.first + self.task.units;
        let mut base = self.task.first;
        let mut unit = base + thread::thread_idx_x();
        let mut next = self.load(unit);
        while base < end {
            let v = next;
            next = self.load(unit + COUNT.threads);
            let (mut before, _) = warp::warp_shuffle_up(ALL_LANES, v.w, 1, 32);
            let (words, start) = (self.words(unit), self.is_start(unit));
            if lane == 0 && words > 0 && !start {
                before = self.load_before(unit);
            }
            each(Unit::new::<RESIDUAL>(v.to_array(), before, words, start));
            base += COUNT.threads;
            unit += COUNT.threads;
        }
    }

    /// Which high bytes a unit of each thread has: their bits, of the whole block, in `s.seen`. All threads of a block call this; a barrier must follow.
    #[inline(always)]
    fn look<const RESIDUAL: bool>(&self, s: &CountShared) {
        let thread = thread::thread_idx_x();
        if thread < SYMBOLS / 32 {
            s.seen.write(thread as usize, 0);
        }
        thread::sync_threads(); // seen
        // Spread over the part; its units times the threads are below 2^31.
        let unit = self.task.first + (thread * self.task.units >> COUNT.threads.trailing_zeros());
        let (words, start) = (self.words(unit), self.is_start(unit));
        let before = if words > 0 && !start { self.load_before(unit) } else { 0 };
        let unit = Unit::new::<RESIDUAL>(self.load(unit).to_array(), before, words, start);
        for group in 0..SYMBOLS / 32 {
            let mut bits = 0;
            for_rows!(I => {
                let byte = unit.pair(I) >> 24;
                if (I as u32) < words && byte / 32 == group {
                    bits |= 1 << (byte % 32);
                }
            });
            let bits = warp::warp_reduce_or(ALL_LANES, bits);
            if thread % 32 == 0 && bits != 0 {
                s.seen.fetch_or(group as usize, bits);
            }
        }
    }
}

/// Adds `count` to a counter in global memory.
///
/// # Safety
/// `counts` has [`KEYS`] counters.
#[inline(always)]
unsafe fn add(counts: *mut u32, key: u32, count: u32) {
    // SAFETY: keys have 16 bits.
    unsafe { atomic_fetch_add_relaxed_32_device(counts.add(key as usize), count) };
}

#[inline(always)]
fn clear(s: &CountShared) {
    let mut at = 4 * thread::thread_idx_x();
    while at < COUNTER_WORDS + LANES {
        s.counters.write_vec4(at as usize, U32x4::default());
        at += 4 * COUNT.threads;
    }
    thread::sync_threads(); // counters
}

/// Counts in 16 bits a key; `selector` picks symbol and context from the bytes of a word and the word before.
///
/// # Safety
/// As for [`add`].
#[inline(always)]
unsafe fn count_keys<const RESIDUAL: bool>(s: &CountShared, part: &Part<'_>, selector: u32, counts: *mut u32) {
    /// Of a counter, as a factor for the place of its lowest bit.
    const FULL: u32 = 0x8000;
    let nowhere = COUNTER_WORDS + warp::lane_id();
    // The word of a key's counter, and the counter's lowest bit.
    let place = |key: u32| (key / 2, key % 2 * 0xFFFF + 1);
    clear(s);
    part.for_units::<RESIDUAL>(|unit| {
        let mut full = 0;
        if unit.is_run() {
            let (word, one) = place(byte_permute(unit.v[0], 0, selector));
            full = s.counters.fetch_add(word as usize, UNIT * one) & one * FULL;
        } else if unit.words == UNIT {
            for_rows!(I => {
                let (word, one) = place(byte_permute(unit.pair(I), 0, selector));
                let word = if I == 0 && unit.start { nowhere } else { word };
                full |= s.counters.fetch_add(word as usize, one) & one * FULL;
            });
        } else if unit.words > 0 {
            for_rows!(I => {
                if unit.counts(I) {
                    let (word, one) = place(byte_permute(unit.pair(I), 0, selector));
                    full |= s.counters.fetch_add(word as usize, one) & one * FULL;
                }
            });
        }
        if full != 0 {
            for_rows!(I => {
                let key = byte_permute(unit.pair(I), 0, selector);
                let (word, one) = place(key);
                if unit.counts(I) && s.counters.fetch_and(word as usize, !(one * FULL)) & one * FULL != 0 {
                    // SAFETY: as promised.
                    unsafe { add(counts, key, FULL) };
                }
            });
        }
    });
    thread::sync_threads(); // counted
    let mut at = thread::thread_idx_x();
    while at < COUNTER_WORDS {
        let two = s.counters.read(at as usize);
        // SAFETY: as promised.
        unsafe {
            if two & 0xFFFF != 0 {
                add(counts, 2 * at, two & 0xFFFF);
            }
            if two >> 16 != 0 {
                add(counts, 2 * at + 1, two >> 16);
            }
        }
        at += COUNT.threads;
    }
}

/// Counts pairs of high bytes with ranks of `rank_bits` bits, as many times as there is room.
///
/// # Safety
/// As for [`add`].
#[inline(always)]
unsafe fn count_ranks<const RESIDUAL: bool>(s: &CountShared, part: &Part<'_>, rank_bits: u32, counts: *mut u32) {
    let thread = thread::thread_idx_x();
    let copy_bits = COUNTER_WORDS.trailing_zeros() - 2 * rank_bits;
    let copy = thread & ((1 << copy_bits) - 1);
    let nowhere = COUNTER_WORDS + warp::lane_id();
    // Counters from one rank of the context, and of the symbol, to the next.
    let (row, step) = (1 << (rank_bits + copy_bits), 1 << copy_bits);
    let rank = |byte: u32| u32::from(s.ranks.read_part::<u8>(byte as usize));
    let is_ranked = |before: u32, now: u32| (before | now) & MOST_RANKS == 0;
    clear(s);
    part.for_units::<RESIDUAL>(|unit| {
        let mut missed = 0;
        if unit.words == UNIT {
            // All of them first: a look behind an addition would wait for it.
            let mut ranks = [0; ROWS];
            for_rows!(I => ranks[I] = rank(unit.pair(I) >> 24));
            let mut before = rank(unit.before >> 24);
            for_rows!(I => {
                let now = ranks[I];
                let counts = I > 0 || !unit.start;
                let counter = if counts && is_ranked(before, now) { before * row + (now * step + copy) } else { nowhere };
                s.counters.fetch_add(counter as usize, 1);
                missed |= if counts { before | now } else { 0 };
                before = now;
            });
        } else if unit.words > 0 {
            missed = MOST_RANKS;
        }
        if missed & MOST_RANKS != 0 {
            for_rows!(I => {
                let pair = unit.pair(I);
                let (before, now) = (rank(pair >> 8 & 0xFF), rank(pair >> 24));
                // What is no whole unit was not counted at all.
                if unit.counts(I) && !(unit.words == UNIT && is_ranked(before, now)) {
                    // SAFETY: as promised.
                    unsafe { add(counts, byte_permute(pair, 0, KEYS_HIGH), 1) };
                }
            });
        }
    });
    thread::sync_threads(); // counted
    let mut key = thread;
    while key < 1 << (2 * rank_bits) {
        let mut sum = 0;
        let mut i = 0;
        while i < 1 << copy_bits {
            // Each lane begins with a copy of its own, or all would read from one bank of the memory.
            sum += s.counters.read((key << copy_bits | (thread + i) & ((1 << copy_bits) - 1)) as usize);
            i += 1;
        }
        if sum != 0 {
            let byte = |rank: u32| u32::from(s.bytes.read_part::<u8>(rank as usize));
            let (context, symbol) = (byte(key >> rank_bits), byte(key & ((1 << rank_bits) - 1)));
            // SAFETY: as promised.
            unsafe { add(counts, context << 8 | symbol, sum) };
        }
        key += COUNT.threads;
    }
}

/// Counts a high bank in the way that suits its bytes.
///
/// # Safety
/// As for [`add`].
#[inline(always)]
unsafe fn count_high<const RESIDUAL: bool>(s: &CountShared, part: &Part<'_>, counts: *mut u32) {
    part.look::<RESIDUAL>(s);
    thread::sync_threads(); // seen
    let thread = thread::thread_idx_x();
    let (mut ranks, mut rank, mut own) = (0, 0, 0);
    for group in 0..SYMBOLS / 32 {
        let bits = s.seen.read(group as usize);
        if thread / 32 == group {
            rank = ranks + (bits & ((1 << (thread % 32)) - 1)).count_ones();
            own = bits >> (thread % 32) & 1;
        }
        ranks += bits.count_ones();
    }
    let rank_bits = match ranks {
        ..33 => 5,
        33..65 => 6,
        65..=MOST_RANKS => 7,
        // SAFETY: as promised.
        _ => return unsafe { count_keys::<RESIDUAL>(s, part, KEYS_HIGH, counts) },
    };
    if thread < SYMBOLS {
        s.ranks.write_part::<u8>(thread as usize, if own == 1 { rank as u8 } else { UNRANKED as u8 });
        if own == 1 {
            s.bytes.write_part::<u8>(rank as usize, thread as u8);
        }
    }
    // The barrier behind the clearing publishes the ranks, too.
    // SAFETY: as promised.
    unsafe { count_ranks::<RESIDUAL>(s, part, rank_bits, counts) }
}

/// For `byte_permute`: the low byte of the upper word, and as context that of the lower word.
const KEYS_LOW: u32 = 0x4402;
/// The upper word.
const KEYS_LOW_BY_HIGH: u32 = 0x4432;
/// As [`KEYS_LOW`], of the high bytes.
const KEYS_HIGH: u32 = 0x4413;

/// Adds the counts of a part of a tile to those of one of its banks: context times 256 plus symbol.
///
/// # Safety
/// Launched with [`COUNT`], one block per task of `tasks`, whose tiles are in `tiles` and lie in `plain`, 16-aligned, in whole units. `counts` has
/// [`KEYS`] counters for each of the [`BANKS`] banks of each tile. Nothing else touches these until the launch is over.
#[kernel(launch = COUNT)]
pub unsafe fn causal_count(tiles: *const TileTask, tasks: *const CountTask, plain: *const u8, counts: *mut u32) {
    let s = shared::dynamic::<CountShared>();
    // SAFETY: the caller's promises.
    unsafe {
        let task = *tasks.add(thread::block_idx_x() as usize);
        let tile = &*tiles.add(task.tile as usize);
        let part = Part { task, tile, plain: plain.add(tile.plain as usize).cast() };
        let counts = counts.add((task.tile * BANKS + task.bank) as usize * KEYS as usize);
        match task.bank {
            BANK_LOW => count_keys::<false>(s, &part, KEYS_LOW, counts),
            BANK_LOW_BY_HIGH => count_keys::<false>(s, &part, KEYS_LOW_BY_HIGH, counts),
            BANK_HIGH => count_high::<false>(s, &part, counts),
            BANK_RESIDUAL_LOW => count_keys::<true>(s, &part, KEYS_LOW, counts),
            _ => count_high::<true>(s, &part, counts),
        }
    }
}
