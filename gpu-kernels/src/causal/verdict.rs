//! Why chunks were refused: they are decoded once more, each symbol checked as the CPU's receiver checks it, straight from the model.
//!
//! Threads of sound chunks leave at once. The others take as many steps as their chunk has symbols, and 32 loads at most for each.

use cuda_std::{atomic::atomic_fetch_min_relaxed_32_device, global, kernel, thread, vector::U32x4};
use shared_types::causal::{
    BlockTask, ChunkStatus, ChunkTask, LOWER, MODE_CLASSIC, MODE_HIGH_FIRST, MODE_RESIDUAL, MODEL_BYTES, SCALE, SYMBOLS, TOTAL,
    TileTask, VERDICT,
};

/// A state at work, and its words.
#[derive(Clone, Copy)]
struct Stream {
    x: u32,
    at: u32,
    end: u32,
}

/// What is wrong: a packed status and its detail; 0 for nothing so far.
type Fault = (u32, u32);

/// A chunk at work.
struct Chunk {
    /// Row after row, both banks.
    model: *const u16,
    payload: *const u16,
    streams: [Stream; 2],
    classic: bool,
    fault: Fault,
}

impl Chunk {
    /// The symbol of word `word` in row `row` of the model, which a number from 256 on takes from the high bank; 0 after a fault.
    #[inline(always)]
    fn symbol(&mut self, row: u32, word: u32) -> u32 {
        if self.fault.0 != 0 {
            return 0;
        }
        let number = if row >= SYMBOLS && !self.classic { 1 } else { 0 };
        let mut stream = if number == 0 { self.streams[0] } else { self.streams[1] };
        let slot = stream.x & (TOTAL - 1);
        let (mut c, mut f, mut found) = (0, 0, SYMBOLS);
        let mut unit = 0;
        while unit < SYMBOLS / 8 && found == SYMBOLS {
            // SAFETY: a row has 32 units of eight frequencies, and is 16-aligned.
            let v = unsafe { global::load_v4(self.model.add((row * SYMBOLS + 8 * unit) as usize).cast::<U32x4>()) };
            let eight = [v.x & 0xFFFF, v.x >> 16, v.y & 0xFFFF, v.y >> 16, v.z & 0xFFFF, v.z >> 16, v.w & 0xFFFF, v.w >> 16];
            for (i, frequency) in eight.into_iter().enumerate() {
                if found == SYMBOLS {
                    if slot < c + frequency {
                        (found, f) = (8 * unit + i as u32, frequency);
                    } else {
                        c += frequency;
                    }
                }
            }
            unit += 1;
        }
        if found == SYMBOLS {
            self.fault = (ChunkStatus::DeadRow.pack(number, word), row);
            return 0;
        }
        stream.x = f.wrapping_mul(stream.x >> SCALE).wrapping_add(slot.wrapping_sub(c));
        if stream.x < LOWER {
            if stream.at >= stream.end {
                self.fault = (ChunkStatus::OutOfWords.pack(number, word), 0);
                return 0;
            }
            // SAFETY: the host has seen that the chunk's words lie in the payload.
            let next = u32::from(unsafe { *self.payload.add(stream.at as usize) });
            stream.x = stream.x << 16 | next;
            stream.at += 1;
        }
        if number == 0 {
            self.streams[0] = stream;
        } else {
            self.streams[1] = stream;
        }
        found
    }

    #[inline(always)]
    fn finish(&mut self, number: u32) {
        let stream = if number == 0 { self.streams[0] } else { self.streams[1] };
        if self.fault.0 != 0 {
            return;
        }
        if stream.x != LOWER {
            self.fault = (ChunkStatus::Terminal.pack(number, 0), stream.x);
        } else if stream.at < stream.end {
            self.fault = (ChunkStatus::UnusedWords.pack(number, 0), stream.end - stream.at);
        }
    }
}

/// Finds out what is wrong with refused chunks: puts the exact status and its detail in their places, and the number of a tile's first bad chunk in
/// `tile_statuses`.
///
/// # Safety
/// Launched with [`VERDICT`], one block per task of `blocks`, after the tasks' chunks were decoded: `statuses` are theirs. `details` has a
/// word per chunk, `tile_statuses` one per tile, which was [`TILE_OK`](shared_types::causal::TILE_OK). The rest is as for decoding.
#[kernel(launch = VERDICT)]
pub unsafe fn causal_verdict(
    coded: *const u8,
    tiles: *const TileTask,
    chunks: *const ChunkTask,
    blocks: *const BlockTask,
    models: *const u8,
    statuses: *mut u32,
    details: *mut u32,
    tile_statuses: *mut u32,
) {
    // SAFETY: the caller's promises.
    unsafe {
        let block = *blocks.add(thread::block_idx_x() as usize);
        let task = &*tiles.add(block.tile as usize);
        let mut number = thread::thread_idx_x();
        while number < block.count {
            let index = block.first + number;
            let place = (task.first_chunk + index) as usize;
            if *statuses.add(place) != ChunkStatus::Ok as u32 {
                let model = models.add(task.model as usize * MODEL_BYTES as usize).cast();
                let payload = coded.add(task.payload as usize).cast();
                let start = index * task.chunk_words;
                let words = task.plain_bytes / 2 - start;
                let words = if words < task.chunk_words { words } else { task.chunk_words };
                let (status, detail) = explain(model, payload, *chunks.add(place), task.mode, words);
                *statuses.add(place) = status;
                *details.add(place) = detail;
                atomic_fetch_min_relaxed_32_device(tile_statuses.add(block.tile as usize), index);
            }
            number += VERDICT.threads;
        }
    }
}

/// What the CPU says of the chunk.
///
/// # Safety
/// As for the kernel.
#[inline(always)]
unsafe fn explain(model: *const u16, payload: *const u16, chunk: ChunkTask, mode: u32, words: u32) -> Fault {
    let classic = mode & MODE_CLASSIC != 0;
    let middle = chunk.first_word + (chunk.words & 0xFFFF);
    let streams = [
        Stream { x: chunk.states[0], at: chunk.first_word, end: middle },
        Stream { x: chunk.states[1], at: middle, end: middle + (chunk.words >> 16) },
    ];
    let mut work = Chunk { model, payload, streams, classic, fault: (0, 0) };
    let context = if mode & MODE_RESIDUAL != 0 { 0 } else { chunk.prefix };
    let (mut low, mut high) = (context & 0xFF, context >> 8 & 0xFF);
    let mut word = 1;
    while word < words && work.fault.0 == 0 {
        // One place for the symbols of either order.
        let mut turn = 0;
        while turn < 2 {
            let of_high = (turn == 0) == (mode & MODE_HIGH_FIRST != 0);
            let by = if !of_high && mode & MODE_HIGH_FIRST == 0 { low } else { high };
            let symbol = work.symbol(if of_high { SYMBOLS + by } else { by }, word);
            if of_high {
                high = symbol;
            } else {
                low = symbol;
            }
            turn += 1;
        }
        word += 1;
    }
    work.finish(0);
    if !classic {
        work.finish(1);
    }
    // Nothing found: the decoder and this differ, which is for the host to report.
    if work.fault.0 == 0 { (ChunkStatus::Refused as u32, 0) } else { work.fault }
}
