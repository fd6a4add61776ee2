//! What follows what, counted for all candidates in one pass.
//!
//! Keys are made for a block of words at a time, which the compiler turns into vector code; then each is counted. A counter that is hit by one
//! word and by the next waits for its own store, so words take turns between two tables; only high bytes are that regular, and
//! their tables are the ones that come twice.

use super::group::Level;
use crate::causal::model::SYMBOLS;
use crate::causal::{Grain, zigzag};
use rayon::prelude::*;

/// Counters of a bank: context times 256 plus symbol.
const KEYS: usize = SYMBOLS * SYMBOLS;
/// Words whose keys are made at a time.
const BLOCK_WORDS: usize = 256;

/// The five banks' counts.
#[derive(Debug)]
pub(super) struct Counts {
    /// `L` after `L`.
    pub(super) low: Vec<u32>,
    /// `L` beside `H`.
    pub(super) low_by_high: Vec<u32>,
    /// `H` after `H`.
    pub(super) high: Vec<u32>,
    /// As `low`, of the residuals.
    pub(super) residual_low: Vec<u32>,
    /// As `high`, of the residuals.
    pub(super) residual_high: Vec<u32>,
}

/// A table of a fixed size: an index of 16 bits needs no check.
type Table = [u32; KEYS];

fn table() -> Box<Table> {
    match vec![0; KEYS].into_boxed_slice().try_into() {
        Ok(table) => table,
        Err(_) => unreachable!("it has that size"),
    }
}

/// Tables of one thread.
struct Tables {
    low: Box<Table>,
    low_by_high: Box<Table>,
    high: [Box<Table>; 2],
    residual_low: Box<Table>,
    residual_high: [Box<Table>; 2],
}

/// Keys of a block of words.
#[derive(Default)]
struct Keys {
    low: Block,
    low_by_high: Block,
    high: Block,
    residual_low: Block,
    residual_high: Block,
}

#[repr(align(64))]
struct Block([u16; BLOCK_WORDS]);

impl Default for Block {
    fn default() -> Self {
        Self([0; BLOCK_WORDS])
    }
}

impl Keys {
    /// Of the words `words[1..]`, each after the one before; `z` is the residual of `words[0]`. At most [`BLOCK_WORDS`].
    #[inline(always)]
    fn make(&mut self, words: &[[u8; 2]], z: u16) {
        let [mut x, mut residual] = [[0u16; BLOCK_WORDS + 1]; 2];
        for i in 0..words.len().min(BLOCK_WORDS + 1) {
            x[i] = u16::from_le_bytes(words[i]);
        }
        residual[0] = z;
        for i in 0..BLOCK_WORDS {
            residual[i + 1] = zigzag(x[i + 1].wrapping_sub(x[i]));
        }
        for i in 0..BLOCK_WORDS {
            let ([before, now], [z_before, z_now]) = ([x[i], x[i + 1]], [residual[i], residual[i + 1]]);
            self.low.0[i] = before << 8 | now & 0xFF;
            self.low_by_high.0[i] = now;
            self.high.0[i] = before & 0xFF00 | now >> 8;
            self.residual_low.0[i] = z_before << 8 | z_now & 0xFF;
            self.residual_high.0[i] = z_before & 0xFF00 | z_now >> 8;
        }
    }
}

impl Tables {
    fn new() -> Self {
        Self {
            low: table(),
            low_by_high: table(),
            high: [table(), table()],
            residual_low: table(),
            residual_high: [table(), table()],
        }
    }

    /// Counts a chunk.
    #[inline(always)]
    fn count(&mut self, keys: &mut Keys, chunk: &[u8]) {
        let words = chunk.as_chunks::<2>().0;
        let mut z = 0;
        let mut start = 0;
        while start + 1 < words.len() {
            let end = words.len().min(start + 1 + BLOCK_WORDS);
            let block = &words[start..end];
            keys.make(block, z);
            let count = block.len() - 1;
            let [high, other_high] = &mut self.high;
            let [residual_high, other_residual_high] = &mut self.residual_high;
            let mut one = |i: usize, high: &mut Table, residual_high: &mut Table| {
                self.low[usize::from(keys.low.0[i])] += 1;
                self.low_by_high[usize::from(keys.low_by_high.0[i])] += 1;
                high[usize::from(keys.high.0[i])] += 1;
                self.residual_low[usize::from(keys.residual_low.0[i])] += 1;
                residual_high[usize::from(keys.residual_high.0[i])] += 1;
            };
            let mut i = 0;
            while i + 1 < count {
                one(i, high, residual_high);
                one(i + 1, other_high, other_residual_high);
                i += 2;
            }
            if i < count {
                one(i, high, residual_high);
            }
            if let [.., before, last] = block {
                z = zigzag(u16::from_le_bytes(*last).wrapping_sub(u16::from_le_bytes(*before)));
            }
            start = end - 1;
        }
    }

    /// Counts chunks of `chunk_bytes` bytes.
    #[inline(always)]
    pub(super) fn count_all(mut self, part: &[u8], chunk_bytes: usize) -> Self {
        let mut keys = Keys::default();
        // A loop, since what an iterator calls is not compiled for the caller's instructions.
        for chunk in part.chunks(chunk_bytes) {
            self.count(&mut keys, chunk);
        }
        self
    }

    fn join(self) -> Counts {
        let sum = |[a, b]: [Box<Table>; 2]| {
            let mut sum = (a as Box<[u32]>).into_vec();
            add(&mut sum, &b[..]);
            sum
        };
        let plain = |table: Box<Table>| (table as Box<[u32]>).into_vec();
        Counts {
            low: plain(self.low),
            low_by_high: plain(self.low_by_high),
            high: sum(self.high),
            residual_low: plain(self.residual_low),
            residual_high: sum(self.residual_high),
        }
    }
}

fn add(sum: &mut [u32], more: &[u32]) {
    sum.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
}

impl Counts {
    fn plus(mut self, more: Self) -> Self {
        add(&mut self.low, &more.low);
        add(&mut self.low_by_high, &more.low_by_high);
        add(&mut self.high, &more.high);
        add(&mut self.residual_low, &more.residual_low);
        add(&mut self.residual_high, &more.residual_high);
        self
    }
}

/// [`Tables::count_all`] with wider vectors for the keys.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
fn count_avx512(part: &[u8], chunk_bytes: usize) -> Tables {
    Tables::new().count_all(part, chunk_bytes)
}

/// As [`count_avx512`], with AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn count_avx2(part: &[u8], chunk_bytes: usize) -> Tables {
    Tables::new().count_all(part, chunk_bytes)
}

/// Counts the words of every chunk of `tile` but the first of each, on all threads.
pub(super) fn count(level: Level, tile: &[u8], grain: Grain) -> Counts {
    let chunk = grain.bytes();
    // A part a thread: each has tables of its own. A small tile is not worth more than one.
    let threads = rayon::current_num_threads().min(tile.len().div_ceil(1 << 20)).max(1);
    let part = tile.len().div_ceil(threads).next_multiple_of(chunk);
    let count = |part| match level {
        Level::Plain => Tables::new().count_all(part, chunk),
        // SAFETY: as below.
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => unsafe { count_avx2(part, chunk) },
        // SAFETY: `level` went through `Level::or_plain`, which asked the processor for these features and more.
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => unsafe { count_avx512(part, chunk) },
    };
    let counts = tile.par_chunks(part).map(|part| count(part).join()).reduce_with(Counts::plus);
    counts.unwrap_or_else(|| Tables::new().join())
}
