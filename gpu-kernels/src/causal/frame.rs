//! From streams to frames: a block a tile finds every chunk's place, then all blocks copy.
//!
//! A frame that would not be smaller than the stored one becomes the stored one. Who copies knows by its length.

use crate::collectives::{ALL_LANES, warp_inclusive_sum};
use cuda_std::{
    global, kernel,
    shared::{self, SharedArray},
    thread,
    vector::U32x4,
    warp,
};
use shared_types::causal::{BlockTask, ChunkTask, DIGEST_WORDS, MODE_CLASSIC, MODE_HIGH_FIRST, TileTask};
use shared_types::causal_send::{
    FrameTask, HEADER_BYTES, HEADER_DIGEST_AT, HEADER_WORDS_AT, LANES, PACK, PLACE, UNIT_WORDS, stream_unit,
};

/// Shared memory of one block: what each warp counted.
#[repr(C, align(16))]
struct PlaceShared {
    sums: SharedArray<u32, { PLACE.warps() as usize }>,
}
const _: () = assert!(size_of::<PlaceShared>() == PLACE.shared_bytes as usize);

/// Words of both streams of a chunk.
#[inline(always)]
fn chunk_words(chunk: ChunkTask) -> u32 {
    (chunk.words & 0xFFFF) + (chunk.words >> 16)
}

/// Puts the place of each chunk's words into its task, and writes the frame's header and its records; the frame's length goes to `lengths`.
///
/// # Safety
/// Launched with [`PLACE`], one block per tile of `tiles`, whose frames `frames` describes, after the chunks were encoded. `digests` has 32 bytes per tile.
/// `coded` is 16-aligned and has room for each tile's stored frame where its task says. Nothing else touches the outputs until the launch is over.
#[kernel(launch = PLACE)]
pub unsafe fn causal_place(
    tiles: *const TileTask,
    frames: *const FrameTask,
    digests: *const u32,
    chunks: *mut ChunkTask,
    coded: *mut u8,
    lengths: *mut u32,
) {
    let s = shared::dynamic::<PlaceShared>();
    let (tile, thread) = (thread::block_idx_x() as usize, thread::thread_idx_x());
    let (lane, warp) = (warp::lane_id(), thread / 32);
    // SAFETY: the caller's promises.
    unsafe {
        let (task, frame) = (&*tiles.add(tile), &*frames.add(tile));
        let chunks = chunks.add(task.first_chunk as usize);
        let (mut words, mut base) = (0, 0);
        while base < frame.chunks {
            let at = base + thread;
            let own = if at < frame.chunks { chunk_words(*chunks.add(at as usize)) } else { 0 };
            let up_to = warp_inclusive_sum(own);
            if lane == 31 {
                s.sums.write(warp as usize, up_to);
            }
            thread::sync_threads(); // sums
            let of_warps = warp_inclusive_sum(s.sums.read(lane as usize));
            thread::sync_threads(); // free again
            let (of_all, _) = warp::warp_shuffle_idx(ALL_LANES, of_warps, 31, 32);
            let (before, _) = warp::warp_shuffle_idx(ALL_LANES, of_warps, (warp + 31) % 32, 32);
            if at < frame.chunks {
                let before = if warp == 0 { 0 } else { before };
                (*chunks.add(at as usize)).first_word = words + before + up_to - own;
            }
            words += of_all;
            base += PLACE.threads;
        }
        let stored = HEADER_BYTES + task.plain_bytes;
        let length = frame.payload + 2 * words;
        let is_stored = length >= stored;
        let to = coded.add(frame.coded as usize);
        if thread < HEADER_BYTES / 4 {
            let digest = digests.add(tile * DIGEST_WORDS as usize);
            let header = if is_stored { frame.stored.as_ptr() } else { frame.header.as_ptr() };
            let word = if (HEADER_DIGEST_AT..HEADER_DIGEST_AT + DIGEST_WORDS).contains(&thread) {
                *digest.add((thread - HEADER_DIGEST_AT) as usize)
            } else if thread == HEADER_WORDS_AT && !is_stored {
                words
            } else {
                *header.add(thread as usize)
            };
            *to.cast::<u32>().add(thread as usize) = word;
        }
        if thread == 0 {
            *lengths.add(tile) = if is_stored { stored } else { length };
        }
        if is_stored {
            return;
        }
        // A record's halves of words: a state and a count for each stream, and the prefix.
        let halves = if task.mode & MODE_CLASSIC != 0 { 5 } else { 9 };
        let records = to.add(frame.records as usize).cast::<u16>();
        let mut at = thread;
        while at < frame.chunks {
            let chunk = *chunks.add(at as usize);
            let record = records.add((halves * at) as usize);
            let write = |place: usize, half: u32| *record.add(place) = half as u16;
            write(0, chunk.states[0]);
            write(1, chunk.states[0] >> 16);
            write(2, chunk.words);
            write(3, 0);
            if halves == 9 {
                write(4, chunk.states[1]);
                write(5, chunk.states[1] >> 16);
                write(6, chunk.words >> 16);
                write(7, 0);
            }
            let prefix = chunk.prefix;
            let prefix = if task.mode & MODE_HIGH_FIRST != 0 { prefix >> 8 | prefix << 8 } else { prefix };
            write(halves as usize - 1, prefix);
            at += PLACE.threads;
        }
        let end = halves * frame.chunks;
        if end + thread < (frame.payload - frame.records) / 2 {
            *records.add((end + thread) as usize) = 0;
        }
    }
}

/// Copies `words` words from the end of a stream to place `first` of a payload; all lanes of a warp call this.
///
/// # Safety
/// `end` is where the stream ends; `payload` is 8-aligned and has room.
#[inline(always)]
unsafe fn copy(end: *const u64, words: u32, payload: *mut u16, first: u32) {
    let lane = warp::lane_id();
    // SAFETY: as promised.
    unsafe {
        let to = payload.add(first as usize);
        // The word that is `back` words in front of the end, from 1 on.
        let word = |back: u32| {
            let unit = end.sub((back.div_ceil(UNIT_WORDS) * LANES) as usize);
            *unit >> (16 * ((UNIT_WORDS - back % UNIT_WORDS) % UNIT_WORDS))
        };
        // Up to a whole unit of the payload; whole units of it; the rest.
        let front = (UNIT_WORDS - first % UNIT_WORDS) % UNIT_WORDS;
        let front = if front < words { front } else { words };
        let units = (words - front) / UNIT_WORDS;
        if lane < front {
            *to.add(lane as usize) = word(words - lane) as u16;
        }
        let behind = front + units * UNIT_WORDS + lane;
        if behind < words {
            *to.add(behind as usize) = word(words - behind) as u16;
        }
        let to = to.add(front as usize).cast::<u64>();
        let mut at = lane;
        while at < units {
            let back = words - front - UNIT_WORDS * at;
            let from = end.sub((back.div_ceil(UNIT_WORDS) * LANES) as usize);
            let shift = 16 * ((UNIT_WORDS - back % UNIT_WORDS) % UNIT_WORDS);
            let mut four = *from >> shift;
            if shift > 0 {
                four |= *from.add(LANES as usize) << (64 - shift);
            }
            *to.add(at as usize) = four;
            at += 32;
        }
    }
}

/// Copies the chunks' streams to their places, or the chunks themselves where the frame is the stored one: a warp a chunk.
///
/// # Safety
/// Launched with [`PACK`], one block per task of `blocks`, after `causal_place`. The rest is as there and for encoding.
#[kernel(launch = PACK)]
pub unsafe fn causal_pack(
    plain: *const u8,
    tiles: *const TileTask,
    frames: *const FrameTask,
    blocks: *const BlockTask,
    streams: *const u64,
    chunks: *const ChunkTask,
    lengths: *const u32,
    coded: *mut u8,
) {
    let lane = warp::lane_id();
    // SAFETY: the caller's promises.
    unsafe {
        let block = *blocks.add(thread::block_idx_x() as usize);
        let (task, frame) = (&*tiles.add(block.tile as usize), &*frames.add(block.tile as usize));
        let to = coded.add(frame.coded as usize);
        let is_stored = *lengths.add(block.tile as usize) >= HEADER_BYTES + task.plain_bytes;
        let mut number = thread::thread_idx_x() / 32;
        while number < block.count {
            let index = block.first + number;
            if is_stored {
                let start = index * task.chunk_words * 2;
                let rest = task.plain_bytes - start;
                let bytes = if rest < 2 * task.chunk_words { rest } else { 2 * task.chunk_words };
                let from = plain.add(task.plain as usize + start as usize);
                let to = to.add((HEADER_BYTES + start) as usize);
                let mut unit = lane;
                while unit < bytes / 16 {
                    let (from, to) = (from.cast::<U32x4>(), to.cast::<U32x4>());
                    global::store_v4(to.add(unit as usize), global::load_v4(from.add(unit as usize)));
                    unit += 32;
                }
                let word = bytes / 16 * 8 + lane;
                if word < bytes / 2 {
                    *to.cast::<u16>().add(word as usize) = *from.cast::<u16>().add(word as usize);
                }
            } else {
                let place = task.first_chunk + index;
                let chunk = *chunks.add(place as usize);
                let payload = to.add(frame.payload as usize).cast::<u16>();
                let classic = task.mode & MODE_CLASSIC != 0;
                let units = (task.chunk_words / UNIT_WORDS * LANES) as usize;
                let (low, high) = (chunk.words & 0xFFFF, chunk.words >> 16);
                let end = |second: bool| streams.add(stream_unit(place, task.chunk_words, second) as usize + units);
                // The stream that is alone has both places.
                copy(end(classic), low, payload, chunk.first_word);
                if !classic {
                    copy(end(true), high, payload, chunk.first_word + low);
                }
            }
            number += PACK.warps();
        }
    }
}
