//! Chunks straight from global memory, the short last one as well.
//!
//! | phase | who | does | leaves behind |
//! |---|---|---|---|
//! | check | every warp of a chunk, alike | tag and bitmap | |
//! | flag | every warp | its pieces' flags, and how many are set | `flagged` |
//! | check | every warp of a chunk, alike | whole words and low bits end where the bitmap begins | |
//! | expand | every lane, row by row | its whole words, its low bits, and the upper bits of the word before | the plain bytes |
//!
//! A chunk that fails a check decodes to zeros and leaves its status; the others do not notice.

use super::bitmap::Bitmap;
use super::words::{Select, Tables, expand, expand_narrow};
use super::{BLOCK_WARPS, Shape};
use crate::bits128::{drop_low, low};
use crate::clog::decode::{Coded, report_chunk};
use crate::collectives::{ALL_LANES, warp_inclusive_sum};
use crate::lc::{Header, read_entry, read_header, stream_bytes};
use crate::{ROWS, for_rows};
use cuda_std::{
    bits::opaque,
    global, kernel,
    shared::{self, SharedArray},
    thread,
    vector::U32x4,
    warp,
};
use shared_types::{
    lc::{ChunkStatus, NO_FAULT, StreamReport},
    reducer::{DECODE, tag_bytes},
};

/// Shared memory of one block.
#[repr(C, align(16))]
struct DecodeShared {
    tables: Tables,
    /// Flagged words of each warp.
    flagged: SharedArray<u32, { BLOCK_WARPS as usize }>,
}
const _: () = assert!(size_of::<DecodeShared>() <= DECODE.shared_bytes as usize);

/// How a chunk is coded.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// Verbatim.
    Raw,
    /// All words are zero; or the chunk is damaged.
    Zeros,
    /// With a bitmap.
    Reduced,
}

/// What a chunk's tag and bitmap say.
struct Parsed<const W: u32> {
    form: Form,
    keep: u32,
    bitmap: Bitmap<W>,
    /// Where the bitmap begins.
    bitmap_start: u32,
    /// Where the leftover bytes begin.
    leftover_start: u32,
}

/// Reads tag and bitmap of the chunk of `len` plain bytes in the `bytes` bytes at `coded`. All lanes of a warp call this
/// with the same arguments, and get the same answer.
///
/// # Safety
/// The bytes can be read.
#[inline(always)]
unsafe fn parse<const W: u32, const UPPER: bool>(
    shape: Shape<W>,
    coded: *const u8,
    bytes: u32,
    len: u32,
) -> Result<Parsed<W>, ChunkStatus> {
    let leftover = len % W;
    if bytes < tag_bytes(UPPER) + leftover {
        return Err(ChunkStatus::Truncated);
    }
    // SAFETY: the bytes are there.
    let byte = |at: u32| u32::from(unsafe { *coded.add(at as usize) });
    if byte(bytes - 2) | byte(bytes - 1) << 8 != len {
        return Err(ChunkStatus::LengthTag);
    }
    let keep = if UPPER { byte(bytes - 3) } else { 0 };
    let end = bytes - tag_bytes(UPPER) - leftover;
    let mut parsed = Parsed { form: Form::Zeros, keep: 0, bitmap: Bitmap::empty(shape), bitmap_start: 0, leftover_start: end };
    if UPPER && keep > Shape::<W>::BITS {
        if keep > Shape::<W>::BITS + 1 {
            return Err(ChunkStatus::Keep);
        }
        return if end == 0 { Ok(parsed) } else { Err(ChunkStatus::CodedLength) };
    }
    if UPPER && keep == Shape::<W>::BITS {
        // All words whole, nothing saved. In a container such a chunk is never shorter than its plain bytes.
        return Err(ChunkStatus::CodedLength);
    }
    if !UPPER && end == 0 {
        return Ok(parsed);
    }
    // SAFETY: the bitmap ends within the bytes.
    let (bitmap, start) = unsafe { Bitmap::read(shape, coded, end)? };
    parsed.form = Form::Reduced;
    parsed.keep = keep;
    parsed.bitmap = bitmap;
    parsed.bitmap_start = start;
    Ok(parsed)
}

/// The kernel; see the entry points.
///
/// # Safety
/// As for the entry points.
#[inline(always)]
unsafe fn decode<const W: u32, const REPEAT: bool, const UPPER: bool>(
    stream: *const u8,
    length: *const u64,
    capacity: u64,
    chunk_log2: u32,
    plain: *mut U32x4,
    plain_capacity: u64,
    offsets: *const u32,
    statuses: *mut u32,
    report: *mut u64,
) {
    let s = shared::dynamic::<DecodeShared>();
    // Unknown to the compiler, so that it leaves the loop over rows as it is.
    let row_count = opaque(ROWS as u32);
    let (thread, lane) = (thread::thread_idx_x(), warp::lane_id());
    let warp_index = thread / 32;
    let shape = Shape::<W> { chunk_log2 };
    let (slot, part) = shape.place_of(warp_index);
    let chunk = thread::block_idx_x() * shape.chunks() + slot;
    s.tables.write(thread, if REPEAT { Select::Fill } else { Select::Place }, Select::Place);
    // SAFETY: the caller's promises. The scan has seen this header; it is read again to stay on the device.
    let available = unsafe { stream_bytes(length, capacity) };
    // SAFETY: as above.
    let header =
        unsafe { read_header(stream, available, chunk_log2, plain_capacity) }.unwrap_or(Header { plain: 0, chunks: 0 });
    // SAFETY: as above.
    let sound = unsafe { *report.add(StreamReport::STREAM_FAULT) } == NO_FAULT;
    // Bytes of this warp's chunk: 0 where there is none. Warps without one stay for the barrier.
    let len = if sound && chunk < header.chunks { (header.plain - (chunk << chunk_log2)).min(shape.chunk_bytes()) } else { 0 };
    let words = len / W;
    let first_word = |i: u32| part * Shape::<W>::WARP_WORDS + (i * 32 + lane) * Shape::<W>::PIECE_WORDS;
    let piece_words = |i: u32| words.saturating_sub(first_word(i)).min(Shape::<W>::PIECE_WORDS);

    let mut status = ChunkStatus::Ok;
    let mut parsed = Parsed { form: Form::Zeros, keep: 0, bitmap: Bitmap::empty(shape), bitmap_start: 0, leftover_start: 0 };
    let mut start = 0;
    if len > 0 {
        // SAFETY: the scan found the chunk's bytes within the stream.
        unsafe {
            let (bytes, raw) = read_entry(stream, chunk);
            start = 8 + 4 * u64::from(header.chunks) + u64::from(*offsets.add(chunk as usize));
            if raw {
                parsed.form = Form::Raw;
            } else {
                match parse::<W, UPPER>(shape, stream.add(start as usize), bytes, len) {
                    Ok(found) => parsed = found,
                    Err(fault) => status = fault,
                }
            }
        }
    }
    // SAFETY: as above.
    let (bytes, coded) = unsafe { (stream.add(start as usize), Coded::at(stream, start)) };

    let mut flags = Queue::<W>::default();
    let (mut own, mut stray) = (0, 0);
    if parsed.form == Form::Reduced {
        for_rows!(I => {
            // SAFETY: the bitmap is this chunk's.
            let row = unsafe { parsed.bitmap.piece_flags(bytes, parsed.bitmap_start, first_word(I as u32) / Shape::<W>::PIECE_WORDS) };
            flags.put(I, row);
            own += row.count_ones();
            stray |= row & !low(piece_words(I as u32));
        });
    }
    let own = warp::warp_reduce_add(ALL_LANES, own);
    // The top bit tells of flags for words that are not there.
    let stray = warp::warp_vote_any(ALL_LANES, stray != 0);
    if lane == 0 {
        s.flagged.write(warp_index as usize, own | u32::from(stray) << 31);
    }
    thread::sync_threads(); // flagged, tables

    let (mut flagged, mut before, mut strays) = (0, 0, 0);
    let mut w = 0;
    while w < shape.warps() {
        let of_warp = s.flagged.read((slot * shape.warps() + w) as usize);
        if w < part {
            before += of_warp & 0x7FFF_FFFF;
        }
        flagged += of_warp & 0x7FFF_FFFF;
        strays |= of_warp >> 31;
        w += 1;
    }
    let mut low_start = flagged * Shape::<W>::BITS;
    if parsed.form == Form::Reduced {
        if strays != 0 {
            status = ChunkStatus::Bitmap;
        } else {
            let end = low_start + parsed.keep * (words - flagged);
            if parsed.bitmap_start != end.div_ceil(8) {
                status = ChunkStatus::CodedLength;
            } else if !end.is_multiple_of(8) {
                // SAFETY: the rest of the byte in front of the bitmap.
                let rest = unsafe { coded.window(end, 8 - end % 8) }[0] & (0xFF >> (end % 8));
                if rest != 0 {
                    status = ChunkStatus::Padding;
                }
            }
        }
    }
    if status as u32 != ChunkStatus::Ok as u32 {
        parsed.form = Form::Zeros;
    }
    if len == 0 {
        return;
    }
    if part == 0 && lane == 0 {
        // SAFETY: a status per chunk.
        unsafe { report_chunk(statuses, report, chunk, status) };
    }
    if parsed.form != Form::Reduced {
        flags = Queue::default();
        (before, low_start) = (0, 0);
    }

    // SAFETY: the pieces of a chunk lie within the plain bytes, as far as its length says.
    let to =
        unsafe { plain.add(thread::block_idx_x() as usize * (128 * ROWS) + (warp_index * ROWS as u32 * 32 + lane) as usize) };
    // Full chunks of narrow words, as long as more words can be read behind the low bits than there are: all but the last few.
    if W <= 2
        && parsed.form == Form::Reduced
        && len == shape.chunk_bytes()
        && start + u64::from(parsed.bitmap_start) + OVERREAD <= available
    {
        let first_word = first_word(0);
        let bits = parsed.keep * Shape::<W>::PIECE_WORDS;
        // SAFETY: the lengths were checked, the row lies within the plain bytes.
        unsafe {
            if !UPPER {
                expand_rows::<W, REPEAT, 0>(s, coded, flags, first_word, before, low_start, 0, to);
            } else if bits <= 32 {
                expand_rows::<W, REPEAT, 1>(s, coded, flags, first_word, before, low_start, parsed.keep, to);
            } else if bits <= 64 {
                expand_rows::<W, REPEAT, 2>(s, coded, flags, first_word, before, low_start, parsed.keep, to);
            } else {
                expand_rows::<W, REPEAT, 4>(s, coded, flags, first_word, before, low_start, parsed.keep, to);
            }
        }
        return;
    }
    let mut last = [0; 4];
    // Two rows a turn: enough loads in flight, and a loop that stays in the instruction cache.
    let mut i = 0;
    while i < row_count {
        let own = flags.take();
        let counts = own[0].count_ones() | own[1].count_ones() << 16;
        let up_to = warp_inclusive_sum(counts);
        let (sums, _) = warp::warp_shuffle_idx(ALL_LANES, up_to, 31, 32);
        let ranks = up_to - counts;
        let row = |i: u32, own: u32, rank: u32| {
            let at = part * 4096 + (i * 32 + lane) * 16;
            let mut out = [0; 4];
            if parsed.form == Form::Reduced {
                let bits = Shape::<W>::BITS;
                let first = first_word(i).min(words);
                // SAFETY: the lengths were checked, so all bits lie within the chunk.
                unsafe {
                    let whole = coded.window(rank * bits, own.count_ones() * bits);
                    let carry = if REPEAT && rank != 0 { last_word::<W>(coded, rank) } else { [0; 2] };
                    let lower = if UPPER {
                        let others = piece_words(i) - own.count_ones();
                        coded.window(low_start + parsed.keep * (first - rank), parsed.keep * others)
                    } else {
                        [0; 4]
                    };
                    out = expand::<W, REPEAT, UPPER>(&s.tables, whole, lower, own, carry, parsed.keep);
                }
            } else if parsed.form == Form::Raw && at < len {
                // SAFETY: a raw chunk is as long as its plain bytes.
                out = unsafe { coded.window(at * 8, (len - at).min(16) * 8) };
            }
            if at + 16 <= len {
                // SAFETY: sixteen bytes of the chunk.
                unsafe {
                    global::store_streaming_v4(to.add(i as usize * 32), U32x4 { x: out[0], y: out[1], z: out[2], w: out[3] })
                };
            }
            (out, at < len && at + 16 > len)
        };
        let (first, ends) = row(i, own[0], before + (ranks & 0xFFFF));
        if ends {
            last = first;
        }
        let (second, ends) = row(i + 1, own[1], before + (sums & 0xFFFF) + (ranks >> 16));
        if ends {
            last = second;
        }
        before += (sums & 0xFFFF) + (sums >> 16);
        i += 2;
    }

    // The piece that the chunk ends in: a byte at a time, the leftover bytes from where they stand.
    let (end, rest) = (len / 16 * 16, len % 16);
    if rest != 0 && end / 4096 == part && end / 16 % 32 == lane {
        let leftover = if status as u32 == ChunkStatus::Ok as u32 && parsed.form != Form::Raw { len % W } else { 0 };
        let mut i = 0;
        while i < rest {
            let register = match i / 4 {
                0 => last[0],
                1 => last[1],
                2 => last[2],
                _ => last[3],
            };
            // SAFETY: the last bytes of the chunk, plain and coded.
            unsafe {
                let byte = if i + leftover < rest {
                    (register >> (i % 4 * 8)) as u8
                } else {
                    *bytes.add((parsed.leftover_start + i + leftover - rest) as usize)
                };
                *plain.cast::<u8>().add(((chunk << chunk_log2) + end + i) as usize) = byte;
            }
            i += 1;
        }
    }
}

/// How many bytes [`expand_rows`] may read behind the low bits.
const OVERREAD: u64 = 32;

/// Expands the eight rows of a warp in a full chunk of words of 1 or 2 bytes. All lanes of a warp call this.
///
/// The warp's flagged words are in `flags`, `before` are in front of them; the low bits begin at bit `low_start` and fit into
/// `LOWER` registers a piece. `first_word` is the lane's first word in the chunk.
///
/// # Safety
/// The chunk's lengths were checked, and [`OVERREAD`] bytes behind its low bits belong to the stream, too. `to` has room for the
/// lane's pieces.
#[inline(always)]
unsafe fn expand_rows<const W: u32, const REPEAT: bool, const LOWER: usize>(
    s: &DecodeShared,
    coded: Coded,
    mut flags: Queue<W>,
    first_word: u32,
    mut before: u32,
    low_start: u32,
    keep: u32,
    to: *mut U32x4,
) {
    let bits = Shape::<W>::BITS as i32;
    let row_count = opaque(ROWS as u32);
    let mut i = 0;
    while i < row_count {
        let own = flags.take();
        let counts = own[0].count_ones() | own[1].count_ones() << 16;
        let up_to = warp_inclusive_sum(counts);
        let (sums, _) = warp::warp_shuffle_idx(ALL_LANES, up_to, 31, 32);
        let ranks = up_to - counts;
        let ranks = [before + (ranks & 0xFFFF), before + (sums & 0xFFFF) + (ranks >> 16)];
        // All loads of both rows first.
        let load = |row: u32| {
            let rank = ranks[row as usize];
            let first = first_word + (i + row) * 32 * Shape::<W>::PIECE_WORDS;
            let low_bit = (low_start + keep * (first - rank)) as i32;
            // SAFETY: the caller's word.
            unsafe {
                let whole = if REPEAT {
                    coded.registers::<5>(rank as i32 * bits - bits)
                } else {
                    coded.registers::<4>(rank as i32 * bits)
                };
                let lower = match LOWER {
                    0 => [0; 5],
                    1 => coded.registers::<1>(low_bit),
                    2 => coded.registers::<2>(low_bit),
                    _ => coded.registers::<4>(low_bit),
                };
                (whole, lower, s.tables.of_piece::<W, REPEAT>(own[row as usize]))
            }
        };
        let loaded = [load(0), load(1)];
        let mut row = 0;
        while row < 2 {
            let (mut whole, lower, entries) = loaded[row];
            if REPEAT && ranks[row] == 0 {
                // What the first words repeat is zero.
                whole[0] &= !low(Shape::<W>::BITS);
            }
            let lower = [lower[0], lower[1], lower[2], lower[3]];
            let out = expand_narrow::<W, REPEAT, LOWER>(entries, whole, lower, own[row], keep);
            // SAFETY: sixteen bytes of the chunk.
            unsafe {
                global::store_streaming_v4(
                    to.add((i as usize + row) * 32),
                    U32x4 { x: out[0], y: out[1], z: out[2], w: out[3] },
                )
            };
            row += 1;
        }
        before += (sums & 0xFFFF) + (sums >> 16);
        i += 2;
    }
}

/// The flags of a lane's eight pieces, two of which are taken at a time.
#[derive(Clone, Copy, Default)]
struct Queue<const W: u32>([u32; 4]);

impl<const W: u32> Queue<W> {
    /// Puts the flags of row `row`, a constant, into the empty queue.
    #[inline(always)]
    fn put(&mut self, row: usize, flags: u32) {
        let bit = row * Shape::<W>::PIECE_WORDS as usize;
        self.0[bit / 32] |= flags << (bit % 32);
    }

    /// Takes the flags of the next two rows.
    #[inline(always)]
    fn take(&mut self) -> [u32; 2] {
        let bits = Shape::<W>::PIECE_WORDS;
        let taken = [self.0[0] & low(bits), self.0[0] >> bits & low(bits)];
        self.0 = drop_low(self.0, 2 * bits);
        taken
    }
}

/// Word `rank - 1` of the whole words, in both registers, or the lower and the upper half of it in one each.
///
/// # Safety
/// The chunk has it; `rank` is at least 1.
#[inline(always)]
unsafe fn last_word<const W: u32>(coded: Coded, rank: u32) -> [u32; 2] {
    // SAFETY: the caller vouches for the word.
    let v = unsafe { coded.window((rank - 1) * 8 * W, 8 * W) };
    match W {
        // Its upper end counts.
        1 => [0, v[0] << 24],
        2 => [0, v[0] << 16],
        4 => [0, v[0]],
        _ => [v[0], v[1]],
    }
}

/// The entry points, one per component and word size.
macro_rules! entry_points {
    ($($name:ident, $word:literal, $repeat:literal, $upper:literal;)*) => {$(
        /// Decodes a stream that `lc_scan_entries` went through before.
        ///
        /// # Safety
        /// Launched with [`DECODE`], one block per started tile of `plain_capacity`, behind the scan of the same stream, which
        /// had the same first three arguments and wrote `offsets` and `report`. `plain` is 16-aligned and holds
        /// `plain_capacity`; `statuses` has a word per chunk of that many bytes.
        #[kernel(launch = shared_types::reducer::DECODE)]
        pub unsafe fn $name(
            stream: *const u8,
            length: *const u64,
            capacity: u64,
            chunk_log2: u32,
            plain: *mut U32x4,
            plain_capacity: u64,
            offsets: *const u32,
            statuses: *mut u32,
            report: *mut u64,
        ) {
            // SAFETY: the caller's promise.
            unsafe { decode::<$word, $repeat, $upper>(stream, length, capacity, chunk_log2, plain, plain_capacity, offsets, statuses, report) }
        }
    )*};
}

entry_points! {
    rre_decode_w1, 1, true, false;
    rre_decode_w2, 2, true, false;
    rre_decode_w4, 4, true, false;
    rre_decode_w8, 8, true, false;
    rze_decode_w1, 1, false, false;
    rze_decode_w2, 2, false, false;
    rze_decode_w4, 4, false, false;
    rze_decode_w8, 8, false, false;
    rare_decode_w1, 1, true, true;
    rare_decode_w2, 2, true, true;
    rare_decode_w4, 4, true, true;
    rare_decode_w8, 8, true, true;
    raze_decode_w1, 1, false, true;
    raze_decode_w2, 2, false, true;
    raze_decode_w4, 4, false, true;
    raze_decode_w8, 8, false, true;
}
