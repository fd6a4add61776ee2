//! Plain bytes to their place in the container, in one pass.
//!
//! | phase | who | does | leaves behind |
//! |---|---|---|---|
//! | load | every warp | its eight rows | `plain` |
//! | measure | every warp, RARE and RAZE | counts the words longer than `k` bits | `counts`, differences in `stream` |
//! | flag | every warp | finds the best `keep`; flags the words that are longer | `flags`, `flagged`, zeros in `stream` |
//! | size | each chunk's first warp | the levels above the flags, and so the stored size, the chunk entry | `levels`, `stored` |
//! | place | warp 0 | the sizes to the look-back | `chunk_start` |
//! | pack | every warp | flagged words, low bits of the others; behind a barrier bitmap and tag | `stream` |
//! | look back | warp 0 | the bytes of all tiles before | `tile_start` |
//! | copy | every chunk's warps | the stream, or the plain bytes, to their place | the container |

use super::bitmap::{Bitmap, Flags};
use super::histogram::{COUNT_WORDS, Histogram, position};
use super::words::{Piece, difference, longer_than, registers, thermometer};
use super::{BLOCK_WARPS, Shape};
use crate::bits128::{low, or_few, or_into};
use crate::clog::pack::pack;
use crate::collectives::{ALL_LANES, copy_out::copy_out, look_back, warp_inclusive_sum};
use crate::{ROWS, for_rows, lc::div_ceil};
use cuda_std::{
    bits::{opaque, shl_clamp, shr_clamp},
    global, kernel,
    shared::{self, SharedArray, Split},
    thread,
    vector::{U32x2, U32x4},
    warp,
};
use shared_types::{
    lc::RAW,
    reducer::{ENCODE, TILE_BYTES, tag_bytes},
};

/// Bytes behind each chunk's stream, so that 16-byte reads may pass its end.
const SLACK_BYTES: u32 = 16;

/// The word of `data` where the streams begin.
const STREAM: u32 = (TILE_BYTES + SLACK_BYTES) / 4;

/// Shared memory of one block.
#[repr(C, align(16))]
pub struct EncodeShared {
    /// The tile, and a unit that reads may reach into; later the words that are not flagged, each warp's in the place of its
    /// rows. From [`STREAM`] on a slot for each chunk: up to four of 4096 bytes. One array, so that words can go to either.
    data: SharedArray<u32, { STREAM as usize + (TILE_BYTES + 4 * SLACK_BYTES) as usize / 4 }>,
    /// A bit for each word, a warp's rows after another's.
    flags: SharedArray<u32, { TILE_BYTES as usize / 32 }>,
    counts: SharedArray<u32, { BLOCK_WARPS as usize * COUNT_WORDS }>,
    /// For each word of `flags` the flagged words before it.
    ranks: SharedArray<u16, { TILE_BYTES as usize / 32 }>,
    /// Words of level 1 of the chunks' bitmaps, and the set bits before each.
    levels: [SharedArray<u32, 64>; 2],
    /// Flagged words of each warp, where `counts` do not tell.
    flagged: SharedArray<u32, 4>,
    /// Stored bytes of each chunk of the tile.
    stored: SharedArray<u32, 4>,
    /// Where each chunk of the tile starts, from the tile's start.
    chunk_start: SharedArray<u32, 4>,
    /// Stored bytes of all tiles before this one.
    tile_start: SharedArray<u32, 1>,
}
const _: () = assert!(size_of::<EncodeShared>() <= ENCODE.shared_bytes as usize);

/// The kernel; see the entry points.
///
/// # Safety
/// As for the entry points.
#[inline(always)]
unsafe fn encode<const W: u32, const REPEAT: bool, const UPPER: bool>(
    plain: *const U32x4,
    plain_bytes: u32,
    chunk_log2: u32,
    stream: *mut u8,
    look_back: *mut u64,
    report: *mut u64,
) {
    let s = shared::dynamic::<EncodeShared>();
    // Unknown to the compiler, so that it leaves the loops over rows as they are.
    let row_count = opaque(ROWS as u32);
    let (thread, lane, tile) = (thread::thread_idx_x(), warp::lane_id(), thread::block_idx_x());
    let warp_index = thread / 32;
    let shape = Shape::<W> { chunk_log2 };
    let (slot, part) = shape.place_of(warp_index);
    let chunks = div_ceil(plain_bytes, chunk_log2);
    let chunk = tile * shape.chunks() + slot;
    // Bytes of this warp's chunk: 0 where there is none.
    let len = if chunk < chunks { (plain_bytes - (chunk << chunk_log2)).min(shape.chunk_bytes()) } else { 0 };
    let words = len / W;
    // The first word of this lane's piece in row `i`, from the chunk's start; how many of the piece's words there are.
    let first_word = |i: u32| part * Shape::<W>::WARP_WORDS + (i * 32 + lane) * Shape::<W>::PIECE_WORDS;
    let piece_words = |i: u32| words.saturating_sub(first_word(i)).min(Shape::<W>::PIECE_WORDS);

    let row_unit = (warp_index * ROWS as u32 * 32 + lane) as usize;
    let zero = U32x4 { x: 0, y: 0, z: 0, w: 0 };
    // SAFETY: the tile lies within `plain`, as far as the chunks' lengths say.
    let row_from = unsafe { plain.add(tile as usize * (TILE_BYTES / 16) as usize + row_unit) };
    // This lane's piece of a row that the chunk may end in or in front of.
    let load_row = |i: u32| {
        let (at, end) = (part * 4096 + i * 512 + lane * 16, len / 16 * 16);
        if at < end {
            // SAFETY: the sixteen bytes are within the chunk.
            unsafe { global::load_streaming_v4(row_from.add(i as usize * 32)) }
        } else if at == end {
            // SAFETY: the last bytes of the chunk.
            unsafe { load_some(row_from.add(i as usize * 32).cast(), len % 16) }
        } else {
            zero
        }
    };
    if len >= (part + 1) * 4096 {
        let mut rows = [zero; ROWS];
        // SAFETY: the warp's rows are within the chunk.
        for_rows!(I => rows[I] = unsafe { global::load_streaming_v4(row_from.add(I * 32)) });
        for_rows!(I => s.data.write_vec4((row_unit + I * 32) * 4, rows[I]));
    } else {
        let mut i = 0;
        while i < row_count {
            s.data.write_vec4((row_unit + i as usize * 32) * 4, load_row(i));
            i += 1;
        }
    }
    // This lane's unit in row `i`, where the streams are.
    let stream_unit = row_unit + STREAM as usize / 4;
    if !UPPER {
        for_rows!(I => s.data.write_vec4((stream_unit + I * 32) * 4, zero));
    }
    if thread < 4 {
        s.data.write_vec4((STREAM + TILE_BYTES / 4 + thread * 4) as usize, zero);
    }
    if thread == 0 {
        s.data.write_vec4(TILE_BYTES as usize / 4, zero);
    }

    // The row in front of this warp's: its last word is all that counts.
    let mut before_rows = [0; 4];
    if REPEAT && part > 0 && lane == 31 && len > part * 4096 {
        // SAFETY: the sixteen bytes in front of a warp's first row are within its chunk.
        before_rows = registers(unsafe {
            global::load_v4(
                plain.add(tile as usize * (TILE_BYTES / 16) as usize + (warp_index * ROWS as u32 * 32) as usize - 1),
            )
        });
    }
    // What this lane's words of two rows say, by the row before them. The rows are gone through in loops, again and again from
    // shared memory: kept in registers, unrolled, they fill the instruction cache, and the warps wait for instructions.
    let two_rows = |i: u32, last: &mut Piece| {
        let mut rows = [
            registers(s.data.read_vec4((row_unit + i as usize * 32) * 4)),
            registers(s.data.read_vec4((row_unit + i as usize * 32 + 32) * 4)),
        ];
        if REPEAT {
            let own = rows;
            rows = [difference::<W>(own[0], *last), difference::<W>(own[1], own[0])];
            *last = own[1];
        }
        // Words that are not there say nothing: zeros are never flagged, and never longer than anything.
        if len < (part + 1) * 4096 {
            rows = [first_words::<W>(rows[0], piece_words(i)), first_words::<W>(rows[1], piece_words(i + 1))];
        }
        rows
    };

    let mut keep = 0;
    let mut worthwhile = true;
    let mut nothing = false;
    if UPPER {
        let mut histogram = Histogram::<W>::default();
        let mut last = before_rows;
        let mut i = 0;
        while i < row_count {
            let rows = two_rows(i, &mut last);
            // Kept for the flags, where the stream will be.
            write_rows(&s.data, stream_unit + i as usize * 32, rows);
            histogram.add([thermometer::<W>(rows[0]), thermometer::<W>(rows[1])]);
            i += 2;
        }
        histogram.sums(|first, counts| {
            if lane == 0 {
                s.counts.write_vec4(warp_index as usize * COUNT_WORDS + first as usize, counts);
            }
        });
        thread::sync_threads(); // plain, counts
        // Lane `k` for `keep` = `k`, and for `k` + 32 where words are that long.
        let longer = |k: u32| {
            let (word, shift) = position::<W>(k);
            let mut sum = 0;
            let mut w = 0;
            while w < shape.warps() {
                let counts = s.counts.read((slot * shape.warps() + w) as usize * COUNT_WORDS + word as usize);
                sum += counts >> shift & 0xFFFF;
                w += 1;
            }
            sum
        };
        // The largest saving, and of equal ones that of the smallest `k`.
        let key = |k: u32, longer: u32| ((Shape::<W>::BITS - k) * (words - longer)) << 6 | (63 - k);
        let own = if lane < Shape::<W>::BITS { longer(lane) } else { words };
        let mut best = if lane < Shape::<W>::BITS { key(lane, own) } else { 0 };
        if W == 8 {
            best = best.max(key(lane + 32, longer(lane + 32)));
        }
        best = warp::warp_reduce_max(ALL_LANES, best);
        worthwhile = best >> 6 != 0;
        keep = 63 - best % 64;
        nothing = warp::warp_shuffle_idx(ALL_LANES, own, 0, 32).0 == 0;
    }

    let mut own = 0;
    let mut last = before_rows;
    let mut i = 0;
    while i < row_count {
        let rows = if UPPER {
            let at = stream_unit + i as usize * 32;
            let rows = [registers(s.data.read_vec4(at * 4)), registers(s.data.read_vec4((at + 32) * 4))];
            write_rows(&s.data, at, [[0; 4]; 2]);
            rows
        } else {
            two_rows(i, &mut last)
        };
        let flags = [longer_than::<W>(rows[0], keep), longer_than::<W>(rows[1], keep)];
        if !UPPER {
            own += flags[0].count_ones() + flags[1].count_ones();
        }
        store_flags::<W>(&s.flags, warp_index, i, flags[0]);
        store_flags::<W>(&s.flags, warp_index, i + 1, flags[1]);
        i += 2;
    }
    if !UPPER {
        let own = warp::warp_reduce_add(ALL_LANES, own);
        if lane == 0 {
            s.flagged.write(warp_index as usize, own);
        }
    }
    thread::sync_threads(); // flags, flagged; plain, stream (zeros)

    // Size.
    let (mut flagged, mut before, mut own) = (0, 0, 0);
    let mut w = 0;
    while w < shape.warps() {
        let warp = (slot * shape.warps() + w) as usize;
        let of_warp = if UPPER {
            // The flagged words are those longer than `keep`.
            let (word, shift) = position::<W>(keep);
            s.counts.read(warp * COUNT_WORDS + word as usize) >> shift & 0xFFFF
        } else {
            s.flagged.read(warp)
        };
        if w < part {
            before += of_warp;
        } else if w == part {
            own = of_warp;
        }
        flagged += of_warp;
        w += 1;
    }
    if !UPPER {
        nothing = flagged == 0;
    }
    let leftover = len % W;
    let flags_from = slot * shape.warps() * Shape::<W>::WARP_FLAG_WORDS;
    let levels_from = slot * Bitmap::<W>::words1(shape);
    let low_start = flagged * Shape::<W>::BITS;
    let bitmap_start = (low_start + if UPPER { keep * (words - flagged) } else { 0 }).div_ceil(8);
    let nothing_saved = !(worthwhile || nothing);
    let mut bitmap = Bitmap::<W>::empty(shape);
    if part == 0 {
        if !nothing {
            bitmap = Bitmap::<W>::of(shape, &s.flags, flags_from);
            bitmap.share(&s.levels, levels_from);
        }
        let body = if nothing { 0 } else { bitmap_start + bitmap.bytes() };
        let coded = body + leftover + tag_bytes(UPPER);
        let raw = nothing_saved || coded >= len;
        let stored = if raw { len } else { coded };
        if lane == 0 {
            s.stored.write(slot as usize, stored | if raw { RAW } else { 0 });
            if len > 0 {
                // SAFETY: the entry of an existing chunk, 4-aligned.
                unsafe { *stream.add(8 + 4 * chunk as usize).cast::<u32>() = if raw { RAW | stored } else { stored } };
            }
        }
    }

    // Place.
    if shape.chunks() > 1 {
        thread::sync_threads(); // stored
    } else {
        warp::sync_warp(ALL_LANES); // stored, by warp 0 for itself
    }
    let mut tile_bytes = 0;
    if warp_index == 0 {
        let own = if lane < shape.chunks() { s.stored.read(lane as usize) & !RAW } else { 0 };
        let up_to = warp_inclusive_sum(own);
        if lane < shape.chunks() {
            s.chunk_start.write(lane as usize, up_to - own);
        }
        tile_bytes = warp::warp_shuffle_idx(ALL_LANES, up_to, 31, 32).0;
        if lane == 0 {
            // SAFETY: the launch gives every block a word.
            unsafe { look_back::publish(look_back, tile, tile_bytes) };
        }
    }

    // Pack. The stream begins up to three bytes behind its slot's begin, so that the low bits begin with a word.
    let lead = (flagged * W).wrapping_neg() % 4;
    let slot_word = STREAM + slot * (shape.chunk_bytes() + SLACK_BYTES) / 4;
    let pack_words = || {
        write_ranks::<W>(s, warp_index, before);
        warp::sync_warp(ALL_LANES); // ranks
        // At most four words a lane at a time: stores of lanes that far apart hit different banks, or nearly.
        let mut step = 0;
        while step < opaque(Shape::<W>::STEPS) {
            let words = [step_words::<W, _>(&s.data, warp_index, step), step_words::<W, _>(&s.data, warp_index, step + 1)];
            // Words that are not flagged go to where words up to these were.
            warp::sync_warp(ALL_LANES); // these words
            let scatter = |i: u32| {
                let (flags, rank) = flags_and_rank::<W>(s, warp_index, step + i);
                let whole = slot_word * 4 + lead + rank * W;
                let index = ((step + i) * 32 + lane) * Shape::<W>::STEP_WORDS - (rank - before);
                let mut to = Split::new(&s.data, whole, warp_index * 4096 + index * W);
                if UPPER && keep > 0 {
                    to.store::<W, true>(flags, words[i as usize]);
                } else {
                    to.store::<W, false>(flags, words[i as usize]);
                }
            };
            scatter(0);
            scatter(1);
            step += 2;
        }
        if UPPER && keep > 0 {
            let first = (part * Shape::<W>::WARP_WORDS).min(words);
            let others = (words - first).min(Shape::<W>::WARP_WORDS) - own;
            let low_start = lead * 8 + low_start + keep * (first - before);
            pack_others::<W, _>(&s.data, warp_index, others, keep, slot_word, low_start);
        }
    };
    // With low bits, while the first warp of the chunk is still busy with the bitmap.
    if UPPER && !nothing && !nothing_saved {
        pack_words();
    }
    thread::sync_threads(); // stored, levels, chunk_start; stream up to the bitmap where there are low bits
    let stored = s.stored.read(slot as usize);
    let (stored, raw) = (stored & !RAW, stored & RAW != 0);
    if !raw {
        if !UPPER && !nothing {
            pack_words();
        }
        // From here on bytes that nobody else touches.
        let at = slot_word * 4 + lead;
        if !nothing {
            let from = Flags { words: &s.flags, from: flags_from, levels: &s.levels, levels_from };
            bitmap.write_flags(from, &s.data, at + bitmap_start, part);
        }
        if part == 0 {
            if !nothing {
                bitmap.write_levels(&s.data, at + bitmap_start);
            }
            let end = at + stored - tag_bytes(UPPER);
            if lane < leftover {
                // SAFETY: one of the last bytes of the chunk.
                let byte = unsafe { *plain.cast::<u8>().add(((chunk << chunk_log2) + len - leftover + lane) as usize) };
                s.data.write_part((end - leftover + lane) as usize, byte);
            }
            if lane == 0 {
                let form = if nothing { Shape::<W>::BITS + 1 } else { keep };
                let (tag, bytes) = if UPPER { (len << 8 | form, 7) } else { (len, 3) };
                Split::new(&s.data, end, 0).store::<1, false>(bytes, [tag, tag >> 8, tag >> 16, 0]);
            }
        }
    } else if UPPER && keep > 0 && !nothing_saved {
        // Rare: saved less than the bitmap takes. The rows again, which are no more.
        let mut i = 0;
        while i < row_count {
            s.data.write_vec4((row_unit + i as usize * 32) * 4, load_row(i));
            i += 1;
        }
    }

    if warp_index == 0 {
        // SAFETY: as for `publish`.
        let tile_start = unsafe { look_back::exclusive_sum(look_back, tile, tile_bytes) };
        if lane == 0 {
            s.tile_start.write(0, tile_start);
        }
    }
    thread::sync_threads(); // stream, chunk_start, tile_start

    let start = 8 + 4 * u64::from(chunks) + u64::from(s.tile_start.read(0));
    if len > 0 {
        let to = start + if shape.chunks() > 1 { u64::from(s.chunk_start.read(slot as usize)) } else { 0 };
        let (member, members) = (part * 32 + lane, shape.warps() * 32);
        // SAFETY: the look-back gives every chunk bytes of its own, within the longest stream.
        unsafe {
            let from = if raw { slot << chunk_log2 } else { slot_word * 4 + lead };
            copy_out(&s.data, from, stored, stream, to, member, members);
        }
    }
    if thread == 0 {
        // SAFETY: header and filling of the longest stream.
        unsafe {
            if tile == 0 {
                crate::lc::write_stream_header(stream, plain_bytes, chunks);
            }
            if tile == thread::grid_dim_x() - 1 {
                crate::lc::finish(stream, start + u64::from(tile_bytes), report);
            }
        }
    }
}

/// The first `bytes` bytes (0 to 15) at `from`, zeros behind.
///
/// # Safety
/// They can be read.
#[inline(always)]
unsafe fn load_some(from: *const u8, bytes: u32) -> U32x4 {
    let mut v = U32x4 { x: 0, y: 0, z: 0, w: 0 };
    let mut i = 0;
    while i < bytes {
        // SAFETY: the caller vouches for the byte.
        let byte = u32::from(unsafe { *from.add(i as usize) }) << (8 * (i % 4));
        match i / 4 {
            0 => v.x |= byte,
            1 => v.y |= byte,
            2 => v.z |= byte,
            _ => v.w |= byte,
        }
        i += 1;
    }
    v
}

/// The first `words` words of a piece, zeros behind.
#[inline(always)]
fn first_words<const W: u32>(v: [u32; 4], words: u32) -> [u32; 4] {
    let bits = words * 8 * W;
    [
        low(bits.min(32)) & v[0],
        low(bits.saturating_sub(32).min(32)) & v[1],
        low(bits.saturating_sub(64).min(32)) & v[2],
        low(bits.saturating_sub(96)) & v[3],
    ]
}

/// This lane's words of step `step` of a warp: four of up to 4 bytes, a register each with others above them, or two of 8.
#[inline(always)]
fn step_words<const W: u32, const N: usize>(data: &SharedArray<u32, N>, warp_index: u32, step: u32) -> Piece {
    let at = ((warp_index * 4096 + (step * 32 + warp::lane_id()) * Shape::<W>::STEP_WORDS * W) / 4) as usize;
    match W {
        1 => {
            let x = data.read(at);
            [x, x >> 8, x >> 16, x >> 24]
        }
        2 => {
            let v = data.read_vec2(at);
            [v.x, v.x >> 16, v.y, v.y >> 16]
        }
        _ => registers(data.read_vec4(at)),
    }
}

/// ORs the low `keep` bits (at least 1) of the `others` words that were scattered to the place of this warp's rows into the
/// stream, from bit `at` of word `word` on. All lanes of a warp call this.
#[inline(always)]
fn pack_others<const W: u32, const N: usize>(
    data: &SharedArray<u32, N>,
    warp_index: u32,
    others: u32,
    keep: u32,
    word: u32,
    at: u32,
) {
    let place = warp_index * 4096;
    // Zeros behind the last word, to the end of its piece, where words that are not there may have gone to.
    warp::sync_warp(ALL_LANES); // words that are not there
    let index = others + warp::lane_id();
    if index < others.next_multiple_of(Shape::<W>::PIECE_WORDS) {
        let to = (place + index * W) as usize;
        match W {
            1 => data.write_part(to, 0u8),
            2 => data.write_part(to, 0u16),
            4 => data.write_part(to, 0u32),
            _ => data.write_vec2(to / 4, U32x2 { x: 0, y: 0 }),
        }
    }
    warp::sync_warp(ALL_LANES); // the words that are not flagged
    let (lower, upper) = match W {
        1 => (low(keep) * 0x0101_0101, low(keep) * 0x0101_0101),
        2 => (low(keep) * 0x0001_0001, low(keep) * 0x0001_0001),
        4 => (low(keep), low(keep)),
        _ => (low(keep.min(32)), low(keep.saturating_sub(32))),
    };
    // The registers of a piece, masked, where its bits go, and how many they are.
    let each = |put: fn(&SharedArray<u32, N>, Piece, u32, u32, u32, u32)| {
        let mut first = warp::lane_id() * Shape::<W>::PIECE_WORDS;
        while first < others {
            let v = data.read_vec4((place + first * W) as usize / 4);
            let bits = keep * (others - first).min(Shape::<W>::PIECE_WORDS);
            put(data, [v.x & lower, v.y & upper, v.z & lower, v.w & upper], keep, word, at + keep * first, bits);
            first += 32 * Shape::<W>::PIECE_WORDS;
        }
    };
    // The fewer registers the bits of a piece need, the simpler.
    let bits = keep * Shape::<W>::PIECE_WORDS;
    if bits <= 32 {
        each(|data, v, keep, word, at, bits| {
            let v = pack_64::<W>(v, keep);
            or_few::<1, _>(data, word, at, [v[0], 0], bits);
        });
    } else if bits <= 64 {
        each(|data, v, keep, word, at, bits| or_few::<2, _>(data, word, at, pack_64::<W>(v, keep), bits));
    } else {
        each(|data, v, keep, word, at, bits| {
            or_into::<4, _>(data, word, at, pack::<W>(U32x4 { x: v[0], y: v[1], z: v[2], w: v[3] }, keep), bits)
        });
    }
}

/// As [`pack`], where all words together have at most 64 bits.
#[inline(always)]
fn pack_64<const W: u32>(v: Piece, keep: u32) -> [u32; 2] {
    let join = |lower: u32, upper: u32, bits: u32| [lower | shl_clamp(upper, bits), shr_clamp(upper, 32 - bits)];
    if W == 8 {
        return join(v[0], v[2], keep);
    }
    // By multiplying and adding: as many instructions as shifts alone.
    let power = |bits: u32| 1u32 << bits;
    let one = |x: u32| match W {
        1 => {
            let pairs = x - (x >> 8 & 0x00FF_00FF) * (0x100 - power(keep));
            pairs - (pairs >> 16) * (0x1_0000 - power(2 * keep))
        }
        2 => x - (x >> 16) * (0x1_0000 - power(keep)),
        _ => x,
    };
    let bits = keep * (4 / W);
    let (first, second) = (one(v[0]) + one(v[1]) * power(bits), one(v[2]) + one(v[3]) * power(bits));
    join(first, second, 2 * bits)
}

/// For each word of flags of this warp's rows the number of flagged words before it, `before` of which are other warps'. All
/// lanes of a warp call this.
#[inline(always)]
fn write_ranks<const W: u32>(s: &EncodeShared, warp_index: u32, before: u32) {
    // Words of flags of a lane: 4, 2 or 1; only half of the lanes have one of the largest words.
    let own = if W == 8 { 1 } else { 4 / W };
    let first = warp::lane_id() * own;
    let there = first < Shape::<W>::WARP_FLAG_WORDS;
    let from = warp_index * Shape::<W>::WARP_FLAG_WORDS + first;
    let count = |i: u32| s.flags.read((from + i) as usize).count_ones();
    let mut counts = [0; 4];
    if there {
        counts[0] = count(0);
        if own > 1 {
            counts[1] = count(1);
        }
        if own > 2 {
            (counts[2], counts[3]) = (count(2), count(3));
        }
    }
    let sum = counts[0] + counts[1] + counts[2] + counts[3];
    let rank = before + warp_inclusive_sum(sum) - sum;
    if there {
        s.ranks.write(from as usize, rank as u16);
        if own > 1 {
            s.ranks.write(from as usize + 1, (rank + counts[0]) as u16);
        }
        if own > 2 {
            s.ranks.write(from as usize + 2, (rank + counts[0] + counts[1]) as u16);
            s.ranks.write(from as usize + 3, (rank + counts[0] + counts[1] + counts[2]) as u16);
        }
    }
}

/// The flags of this lane's words of step `step`, with others above them, and the number of flagged words before them.
#[inline(always)]
fn flags_and_rank<const W: u32>(s: &EncodeShared, warp_index: u32, step: u32) -> (u32, u32) {
    let bit = warp::lane_id() * Shape::<W>::STEP_WORDS;
    let at = warp_index * Shape::<W>::WARP_FLAG_WORDS + step * Shape::<W>::STEP_WORDS + bit / 32;
    let (flags, rank) = (s.flags.read(at as usize), u32::from(s.ranks.read(at as usize)));
    (flags >> (bit % 32), rank + (flags & low(bit % 32)).count_ones())
}

/// Writes this lane's pieces of two rows, the first at unit `unit`.
#[inline(always)]
fn write_rows<const N: usize>(words: &SharedArray<u32, N>, unit: usize, rows: [Piece; 2]) {
    let [a, b] = rows;
    words.write_vec4(unit * 4, U32x4 { x: a[0], y: a[1], z: a[2], w: a[3] });
    words.write_vec4((unit + 32) * 4, U32x4 { x: b[0], y: b[1], z: b[2], w: b[3] });
}

/// The byte where the flags of this lane's piece in a row begin.
#[inline(always)]
fn flag_byte<const W: u32>(warp_index: u32, row: u32) -> usize {
    ((warp_index * ROWS as u32 + row) * (64 / W) + warp::lane_id() * 2 / W) as usize
}

/// Writes the flags of a row. All lanes of a warp call this.
#[inline(always)]
fn store_flags<const W: u32>(flags: &SharedArray<u32, { TILE_BYTES as usize / 32 }>, warp_index: u32, row: u32, own: u32) {
    let at = flag_byte::<W>(warp_index, row);
    if W == 1 {
        flags.write_part(at, own as u16);
        return;
    }
    // Two or four pieces of larger words share a byte, joined in the first of them.
    let (mut joined, mut lanes, mut bits) = (own, 1, 16 / W);
    while bits < 8 {
        joined |= warp::warp_shuffle_down(ALL_LANES, joined, lanes, 32).0 << bits;
        lanes *= 2;
        bits *= 2;
    }
    if warp::lane_id() % lanes == 0 {
        flags.write_part(at, joined as u8);
    }
}

/// The entry points, one per component and word size.
macro_rules! entry_points {
    ($($name:ident, $word:literal, $repeat:literal, $upper:literal;)*) => {$(
        /// Encodes `plain_bytes` bytes.
        ///
        /// # Safety
        /// Launched with [`ENCODE`], one block per started tile, at least one. `plain` is 16-aligned and holds `plain_bytes`;
        /// `stream` is 16-aligned and holds the longest stream of that many bytes; `look_back` has a zero word per block,
        /// `report` is a `StreamReport` of ones. Nothing else touches the outputs until the launch is over.
        #[kernel(launch = shared_types::reducer::ENCODE)]
        pub unsafe fn $name(plain: *const U32x4, plain_bytes: u32, chunk_log2: u32, stream: *mut u8, look_back: *mut u64, report: *mut u64) {
            // SAFETY: the caller's promise.
            unsafe { encode::<$word, $repeat, $upper>(plain, plain_bytes, chunk_log2, stream, look_back, report) }
        }
    )*};
}

entry_points! {
    rre_encode_w1, 1, true, false;
    rre_encode_w2, 2, true, false;
    rre_encode_w4, 4, true, false;
    rre_encode_w8, 8, true, false;
    rze_encode_w1, 1, false, false;
    rze_encode_w2, 2, false, false;
    rze_encode_w4, 4, false, false;
    rze_encode_w8, 8, false, false;
    rare_encode_w1, 1, true, true;
    rare_encode_w2, 2, true, true;
    rare_encode_w4, 4, true, true;
    rare_encode_w8, 8, true, true;
    raze_encode_w1, 1, false, true;
    raze_encode_w2, 2, false, true;
    raze_encode_w4, 4, false, true;
    raze_encode_w8, 8, false, true;
}
