//! The short last chunk, both directions: any length, subchunks of any size, one block. Plain rather than fast.
//!
//! | phase | who | encode | decode |
//! |---|---|---|---|
//! | 1 | warp `w`: subchunks `w`, `w + 8`, .. | zeros the packed chunk, measures | |
//! | 2 | every warp, alike | sums the widths | reads, checks and sums the widths |
//! | 3 | warp `w`: its subchunks | ORs each word's bits into place | takes each word from its bits |
//! | 4 | all threads | copies to the end of the container | |

use super::decode::{Coded, report_chunk};
use super::{ZIGZAG, zigzag};
use crate::{
    collectives::{ALL_LANES, copy_out::copy_out, look_back, warp_inclusive_sum},
    lc::{div_ceil, finish, read_entry, read_header, stream_bytes, write_stream_header},
};
use cuda_std::{
    bits::shl_clamp,
    kernel,
    shared::{self, SharedArray},
    thread,
    vector::U32x4,
    warp,
};
use shared_types::{
    clog::{Layout, SUBCHUNKS, TAIL},
    lc::{ChunkStatus, NO_FAULT, RAW, StreamReport, TILE_BYTES, WordSize},
};

/// Words of the packed chunk: a full one and room for reading and writing past its end.
const PACKED_WORDS: usize = 16_448 / 4;

/// Shared memory of the block.
#[repr(C, align(16))]
struct TailShared {
    packed: SharedArray<u32, PACKED_WORDS>,
    width: SharedArray<u32, 32>,
}
const _: () = assert!(size_of::<TailShared>() <= TAIL.shared_bytes as usize);

/// The word size of `W` bytes.
const fn word_size<const W: u32>() -> WordSize {
    match WordSize::from_bytes(W as u64) {
        Some(word) => word,
        None => panic!("words are of 1, 2, 4 or 8 bytes"),
    }
}

/// Word `i` of the chunk at `plain`, as its lower and upper 32 bits.
///
/// # Safety
/// `plain` is aligned to the word size and holds the word.
#[inline(always)]
pub(crate) unsafe fn load_word<const W: u32>(plain: *const u8, i: u32) -> (u32, u32) {
    // SAFETY: the caller vouches for the word.
    unsafe {
        match W {
            1 => (u32::from(*plain.add(i as usize)), 0),
            2 => (u32::from(*plain.cast::<u16>().add(i as usize)), 0),
            4 => (*plain.cast::<u32>().add(i as usize), 0),
            _ => {
                let word = *plain.cast::<u64>().add(i as usize);
                (word as u32, (word >> 32) as u32)
            }
        }
    }
}

/// Writes what [`load_word`] reads.
///
/// # Safety
/// As for [`load_word`].
#[inline(always)]
pub(crate) unsafe fn store_word<const W: u32>(plain: *mut u8, i: u32, lower: u32, upper: u32) {
    // SAFETY: the caller vouches for the word.
    unsafe {
        match W {
            1 => *plain.add(i as usize) = lower as u8,
            2 => *plain.cast::<u16>().add(i as usize) = lower as u16,
            4 => *plain.cast::<u32>().add(i as usize) = lower,
            _ => *plain.cast::<u64>().add(i as usize) = u64::from(upper) << 32 | u64::from(lower),
        }
    }
}

/// A word's halves as one number.
#[inline(always)]
pub(crate) fn join_word((lower, upper): (u32, u32)) -> u64 {
    u64::from(upper) << 32 | u64::from(lower)
}

/// The zigzag of one word.
#[inline(always)]
pub(crate) fn zigzag_word<const W: u32>((lower, upper): (u32, u32)) -> (u32, u32) {
    let v = zigzag::zigzag::<W>(U32x4 { x: lower, y: upper, z: 0, w: 0 });
    (v.x, v.y)
}

/// Takes [`zigzag_word`] back.
#[inline(always)]
fn unzigzag_word<const W: u32>((lower, upper): (u32, u32)) -> (u32, u32) {
    let v = zigzag::unzigzag::<W>(U32x4 { x: lower, y: upper, z: 0, w: 0 });
    (v.x, v.y)
}

/// ORs `bits` bits (0 to 32) of `value`, which has no others, into the packed chunk at bit `at`.
#[inline(always)]
fn or_bits(packed: &SharedArray<u32, PACKED_WORDS>, at: u32, value: u32, bits: u32) {
    if bits == 0 {
        return;
    }
    let (word, shift) = ((at / 32) as usize, at % 32);
    packed.fetch_or(word, value << shift);
    if shift + bits > 32 {
        packed.fetch_or(word + 1, value >> (32 - shift));
    }
}

/// Encodes the last chunk, shorter than `1 << chunk_log2`, behind what the full chunks' kernel left.
///
/// # Safety
/// As for the entry points; `front` is called with the chunk's plain bytes and a word that they hold.
///
/// `front` gives a word to be coded.
#[inline(always)]
pub(crate) unsafe fn encode_tail<const W: u32, const H: bool>(
    plain: *const u8,
    plain_bytes: u32,
    chunk_log2: u32,
    stream: *mut u8,
    look_back: *const u64,
    report: *mut u64,
    front: impl Fn(*const u8, u32) -> (u32, u32),
) {
    let s = shared::dynamic::<TailShared>();
    let (thread, lane) = (thread::thread_idx_x(), warp::lane_id());
    let warp_index = thread / 32;
    let full = plain_bytes >> chunk_log2;
    let layout = Layout { len: plain_bytes & ((1 << chunk_log2) - 1), word: word_size::<W>() };
    // SAFETY: the last chunk begins behind the full ones.
    let plain = unsafe { plain.add((full << chunk_log2) as usize) };

    let mut word = thread;
    while word < PACKED_WORDS as u32 {
        s.packed.write(word as usize, 0);
        word += TAIL.threads;
    }
    let mut sub = warp_index;
    while sub < SUBCHUNKS {
        let words = layout.subchunk(sub);
        let (mut lower, mut upper) = (0, 0);
        let (mut largest, mut largest_zigzag) = (0, 0);
        let mut i = words.start + lane;
        while i < words.end {
            let word = front(plain, i);
            lower |= word.0;
            upper |= word.1;
            if H {
                largest = largest.max(join_word(word));
                largest_zigzag = largest_zigzag.max(join_word(zigzag_word::<W>(word)));
            }
            i += 32;
        }
        let (lower, upper) = (warp::warp_reduce_or(ALL_LANES, lower), warp::warp_reduce_or(ALL_LANES, upper));
        if lane == 0 {
            let width = if upper == 0 { 32 - lower.leading_zeros() } else { 64 - upper.leading_zeros() };
            s.width.write(sub as usize, width);
        }
        if H {
            let (largest, largest_zigzag) = (zigzag::group_largest(largest, 32), zigzag::group_largest(largest_zigzag, 32));
            if lane == 0 && largest_zigzag < largest {
                s.width.write(sub as usize, 64 - largest_zigzag.leading_zeros() | ZIGZAG);
            }
        }
        sub += TAIL.warps();
    }
    thread::sync_threads(); // packed (zeros), width

    // Lane `sub` holds its subchunk's width and first bit.
    let entry = s.width.read(lane as usize);
    let width = entry & !ZIGZAG;
    let flags = if H { warp::warp_vote_ballot(ALL_LANES, entry & ZIGZAG != 0) } else { 0 };
    let lead = if H { 4 } else { 0 };
    let own = layout.subchunk(lane);
    let up_to = warp_inclusive_sum(width * (own.end - own.start));
    let (payload_bits, _) = warp::warp_shuffle_idx(ALL_LANES, up_to, 31, 32);
    let before = up_to - width * (own.end - own.start);
    let coded = lead + layout.coded_bytes(payload_bits);
    let raw = coded >= layout.len;
    let stored = if raw { layout.len } else { coded };

    if raw {
        let mut i = thread;
        while i < layout.words() {
            let (lower, upper) = front(plain, i);
            or_bits(&s.packed, i * 8 * W, lower, (8 * W).min(32));
            or_bits(&s.packed, i * 8 * W + 32, upper, (8 * W).saturating_sub(32));
            i += TAIL.threads;
        }
        if thread < layout.leftover() {
            let i = layout.len - layout.leftover() + thread;
            // SAFETY: a byte behind the last whole word.
            or_bits(&s.packed, i * 8, u32::from(unsafe { *plain.add(i as usize) }), 8);
        }
    } else {
        if warp_index == 0 {
            or_bits(&s.packed, lead * 8 + 16 + lane * layout.field_bits(), width, layout.field_bits());
            if lane == 0 {
                or_bits(&s.packed, 0, flags, lead * 8);
                or_bits(&s.packed, lead * 8, layout.len, 16);
            }
            if lane < layout.leftover() {
                // SAFETY: a byte behind the last whole word.
                let byte = unsafe { *plain.add((layout.len - layout.leftover() + lane) as usize) };
                or_bits(&s.packed, (coded - layout.leftover() + lane) * 8, u32::from(byte), 8);
            }
        }
        let mut sub = warp_index;
        while sub < SUBCHUNKS {
            let words = layout.subchunk(sub);
            let (width, _) = warp::warp_shuffle_idx(ALL_LANES, width, sub, 32);
            let (first, _) = warp::warp_shuffle_idx(ALL_LANES, before, sub, 32);
            let mut i = words.start + lane;
            while i < words.end {
                let word = front(plain, i);
                let (lower, upper) = if H && flags >> sub & 1 != 0 { zigzag_word::<W>(word) } else { word };
                let at = (lead + layout.header_bytes()) * 8 + first + (i - words.start) * width;
                or_bits(&s.packed, at, lower, width.min(32));
                or_bits(&s.packed, at + 32, upper, width.saturating_sub(32));
                i += 32;
            }
            sub += TAIL.warps();
        }
    }
    thread::sync_threads(); // packed

    let tiles = div_ceil(full << chunk_log2, TILE_BYTES.ilog2());
    // SAFETY: the launch before this one summed up the tiles.
    let before = if tiles == 0 { 0 } else { unsafe { look_back::inclusive_sum(look_back, tiles - 1) } };
    let start = 8 + 4 * u64::from(full + 1) + u64::from(before);
    // SAFETY: the bytes behind the full chunks, within the longest stream.
    unsafe { copy_out(&s.packed, 0, stored, stream, start, thread, TAIL.threads) };
    if thread == 0 {
        // SAFETY: the last entry, the header and the filling, within the longest stream.
        unsafe {
            *stream.add(8 + 4 * full as usize).cast::<u32>() = if raw { RAW | stored } else { stored };
            write_stream_header(stream, plain_bytes, full + 1);
            finish(stream, start + u64::from(stored), report);
        }
    }
}

/// Decodes the last chunk if it is short.
///
/// # Safety
/// As for the entry points; `back` is called with the chunk's place.
///
/// `back` makes the plain words of the decoded ones that all threads have written to `plain`; all threads call it.
#[inline(always)]
pub(crate) unsafe fn decode_tail<const W: u32, const H: bool>(
    stream: *const u8,
    length: *const u64,
    capacity: u64,
    chunk_log2: u32,
    plain: *mut u8,
    plain_capacity: u64,
    offsets: *const u32,
    statuses: *mut u32,
    report: *mut u64,
    back: impl Fn(*mut u8, u32),
) {
    let (thread, lane) = (thread::thread_idx_x(), warp::lane_id());
    // SAFETY: the caller's promises.
    let Ok(header) = (unsafe { read_header(stream, stream_bytes(length, capacity), chunk_log2, plain_capacity) }) else {
        return;
    };
    let layout = Layout { len: header.plain & ((1 << chunk_log2) - 1), word: word_size::<W>() };
    if layout.len == 0 {
        return;
    }
    let chunk = header.chunks - 1;
    // SAFETY: as above.
    if unsafe { *report.add(StreamReport::STREAM_FAULT) } != NO_FAULT {
        return;
    }
    // SAFETY: the scan found the chunk's bytes within the stream, and the plain length within the capacity.
    let (bytes, raw, start, plain) = unsafe {
        let (bytes, raw) = read_entry(stream, chunk);
        let start = 8 + 4 * u64::from(header.chunks) + u64::from(*offsets.add(chunk as usize));
        (bytes, raw, start, plain.add((chunk << chunk_log2) as usize))
    };
    if raw {
        let mut i = thread;
        while i < layout.len {
            // SAFETY: the chunk's bytes, coded and plain.
            unsafe { *plain.add(i as usize) = *stream.add((start + u64::from(i)) as usize) };
            i += TAIL.threads;
        }
        if thread == 0 {
            // SAFETY: a status per chunk.
            unsafe { report_chunk(statuses, report, chunk, ChunkStatus::Ok) };
        }
        back(plain, layout.words());
        return;
    }

    // SAFETY: the chunk lies within the stream.
    let coded = unsafe { Coded::at(stream, start) };
    // SAFETY: as above.
    let (entry, mut status) = match unsafe { coded.read_width::<W, H>(bytes, layout.len) } {
        Ok(entry) => (entry, ChunkStatus::Ok),
        Err(status) => (0, status),
    };
    let mut width = entry & !ZIGZAG;
    let flags = if H { warp::warp_vote_ballot(ALL_LANES, entry & ZIGZAG != 0) } else { 0 };
    let lead = if H { 4 } else { 0 };
    let own = layout.subchunk(lane);
    let mut up_to = warp_inclusive_sum(width * (own.end - own.start));
    let (payload_bits, _) = warp::warp_shuffle_idx(ALL_LANES, up_to, 31, 32);
    let end = (lead + layout.header_bytes()) * 8 + payload_bits;
    if status as u32 == ChunkStatus::Ok as u32 {
        if bytes != lead + layout.coded_bytes(payload_bits) {
            status = ChunkStatus::CodedLength;
        } else if !end.is_multiple_of(8) {
            // SAFETY: the rest of the payload's last byte.
            let rest = unsafe { coded.window(end, 8 - end % 8) }[0] & (0xFF >> (end % 8));
            if rest != 0 {
                status = ChunkStatus::Padding;
            }
        }
    }
    let sound = status as u32 == ChunkStatus::Ok as u32;
    if !sound {
        (width, up_to) = (0, 0);
    }
    let before = up_to - width * (own.end - own.start);
    let mut sub = thread / 32;
    while sub < SUBCHUNKS {
        let words = layout.subchunk(sub);
        let (width, _) = warp::warp_shuffle_idx(ALL_LANES, width, sub, 32);
        let (first, _) = warp::warp_shuffle_idx(ALL_LANES, before, sub, 32);
        let mut i = words.start + lane;
        while i < words.end {
            let at = (lead + layout.header_bytes()) * 8 + first + (i - words.start) * width;
            // SAFETY: the length was checked, so all bits lie within the chunk; the word within the plain bytes.
            unsafe {
                let window = coded.window(at, width);
                let lower = window[0] & shl_clamp(1, width).wrapping_sub(1);
                let upper = window[1] & shl_clamp(1, width.saturating_sub(32)).wrapping_sub(1);
                let word = if H && flags >> sub & 1 != 0 { unzigzag_word::<W>((lower, upper)) } else { (lower, upper) };
                store_word::<W>(plain, i, word.0, word.1);
            }
            i += 32;
        }
        sub += TAIL.warps();
    }
    if thread < layout.leftover() {
        let at = layout.leftover() - thread;
        // SAFETY: the bytes behind the last whole word, coded and plain; a damaged chunk is not read.
        unsafe {
            *plain.add((layout.len - at) as usize) =
                if sound { *stream.add((start + u64::from(bytes - at)) as usize) } else { 0 }
        };
    }
    if thread == 0 {
        // SAFETY: a status per chunk.
        unsafe { report_chunk(statuses, report, chunk, status) };
    }
    back(plain, layout.words());
}

/// The entry points, one pair per word size.
macro_rules! entry_points {
    ($($encode:ident, $decode:ident, $word:literal, $zigzag:literal;)*) => {$(
        /// Encodes the short last chunk of `plain_bytes` bytes and finishes the stream.
        ///
        /// # Safety
        /// Launched with `shared_types::clog::TAIL`, one block, behind the launch for the full chunks if there are any, whose
        /// look-back words it reads. `plain_bytes` is no multiple of `1 << chunk_log2`. The rest as for that launch.
        #[kernel(launch = shared_types::clog::TAIL)]
        pub unsafe fn $encode(plain: *const u8, plain_bytes: u32, chunk_log2: u32, stream: *mut u8, look_back: *const u64, report: *mut u64) {
            // SAFETY: the caller's promise.
            unsafe { encode_tail::<$word, $zigzag>(plain, plain_bytes, chunk_log2, stream, look_back, report, |plain, i| load_word::<$word>(plain, i)) }
        }

        /// Decodes the last chunk of a stream if it is short, and does nothing otherwise.
        ///
        /// # Safety
        /// Launched with `shared_types::clog::TAIL`, one block, behind the scan of the same stream. The rest as for the
        /// launch for the full chunks.
        #[kernel(launch = shared_types::clog::TAIL)]
        pub unsafe fn $decode(
            stream: *const u8,
            length: *const u64,
            capacity: u64,
            chunk_log2: u32,
            plain: *mut u8,
            plain_capacity: u64,
            offsets: *const u32,
            statuses: *mut u32,
            report: *mut u64,
        ) {
            // SAFETY: the caller's promise.
            unsafe { decode_tail::<$word, $zigzag>(stream, length, capacity, chunk_log2, plain, plain_capacity, offsets, statuses, report, |_, _| {}) }
        }
    )*};
}

entry_points! {
    clog_encode_tail_w1, clog_decode_tail_w1, 1, false;
    clog_encode_tail_w2, clog_decode_tail_w2, 2, false;
    clog_encode_tail_w4, clog_decode_tail_w4, 4, false;
    clog_encode_tail_w8, clog_decode_tail_w8, 8, false;
    hclog_encode_tail_w1, hclog_decode_tail_w1, 1, true;
    hclog_encode_tail_w2, hclog_decode_tail_w2, 2, true;
    hclog_encode_tail_w4, hclog_decode_tail_w4, 4, true;
    hclog_encode_tail_w8, hclog_decode_tail_w8, 8, true;
}
