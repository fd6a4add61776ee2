//! Full chunks, straight from global memory: no shared memory, no barrier.
//!
//! | phase | who | does |
//! |---|---|---|
//! | check | every warp of a chunk, alike | tag, widths and length against the container's entry |
//! | unpack | every lane, row by row | the words that cover its bits, shifted and spread, 16 bytes out |
//!
//! A chunk that fails a check decodes to zeros and leaves its status; the others do not notice.

use super::{ROWS, Shape, Widths, ZIGZAG, for_rows, pack, zigzag};
use crate::{
    collectives::ALL_LANES,
    lc::{Header, read_entry, read_header, stream_bytes},
};
use cuda_std::{
    atomic::atomic_fetch_min_relaxed_64_device, bits::funnel_shift_right_wrap, global, kernel, thread, vector::U32x4, warp,
};
use shared_types::lc::{ChunkStatus, NO_FAULT, StreamReport, TILE_BYTES};

/// A coded chunk: the aligned word that its first byte lies in, and the bits in front of that byte.
#[derive(Clone, Copy)]
pub(crate) struct Coded {
    words: *const u32,
    lead: u32,
}

impl Coded {
    /// The chunk at byte `start` of `stream`.
    ///
    /// # Safety
    /// `stream` is 4-aligned and holds `start` bytes.
    #[inline(always)]
    pub unsafe fn at(stream: *const u8, start: u64) -> Self {
        // SAFETY: the caller vouches for the bytes.
        let words = unsafe { stream.add((start & !3) as usize) }.cast();
        Self { words, lead: start as u32 % 4 * 8 }
    }

    /// `bits` bits (0 to 128) from bit `bit` of the chunk on; what lies behind them in the result does not matter.
    /// Reads just the aligned words that cover them.
    ///
    /// # Safety
    /// The stream holds these words.
    #[inline(always)]
    pub unsafe fn window(self, bit: u32, bits: u32) -> [u32; 4] {
        let bit = self.lead + bit;
        let shift = bit % 32;
        // No bits, no word: a damaged chunk may end in front of where they would be.
        let end = if bits == 0 { 0 } else { shift + bits };
        let mut w = [0; 5];
        // SAFETY: only words that hold bits of the window are read.
        unsafe {
            let words = self.words.add((bit / 32) as usize);
            for (i, word) in w.iter_mut().enumerate() {
                if i as u32 * 32 < end {
                    *word = global::load_nc_u32(words.add(i));
                }
            }
        }
        [
            funnel_shift_right_wrap(w[0], w[1], shift),
            funnel_shift_right_wrap(w[1], w[2], shift),
            funnel_shift_right_wrap(w[2], w[3], shift),
            funnel_shift_right_wrap(w[3], w[4], shift),
        ]
    }

    /// As [`Self::window`], but reads the `N + 1` words that cover `N` registers, whether or not they matter; `bit` may lie up to a
    /// word in front of the chunk.
    ///
    /// # Safety
    /// The stream holds these words.
    #[inline(always)]
    pub unsafe fn registers<const N: usize>(self, bit: i32) -> [u32; 5] {
        let bit = (self.lead as i32 + 32 + bit) as u32;
        let (mut w, mut v) = ([0; 6], [0; 5]);
        // SAFETY: the caller vouches for the words.
        unsafe {
            let words = self.words.sub(1).add((bit / 32) as usize);
            for (i, word) in w.iter_mut().enumerate().take(N + 1) {
                *word = global::load_nc_u32(words.add(i));
            }
        }
        for (i, register) in v.iter_mut().enumerate().take(N) {
            *register = funnel_shift_right_wrap(w[i], w[i + 1], bit % 32);
        }
        v
    }

    /// The width of subchunk `lane` of a chunk of `len` plain bytes in `coded` bytes, with [`ZIGZAG`] by HCLOG's flags; tag and widths are
    /// checked. All lanes of a warp call this; all agree on whether it is an error.
    ///
    /// # Safety
    /// The stream holds the chunk's `coded` bytes.
    #[inline(always)]
    pub unsafe fn read_width<const W: u32, const H: bool>(self, coded: u32, len: u32) -> Result<u32, ChunkStatus> {
        let field = (8 * W).ilog2() + 1;
        let lead = if H { 32 } else { 0 };
        if coded * 8 < lead + 16 + 32 * field {
            return Err(ChunkStatus::Truncated);
        }
        // SAFETY: flags, tag and fields lie within the chunk.
        let (flags, tag, width) = unsafe {
            (
                if H { self.window(0, 32)[0] } else { 0 },
                self.window(lead, 16)[0] & 0xFFFF,
                self.window(lead + 16 + warp::lane_id() * field, field)[0] & ((1 << field) - 1),
            )
        };
        if tag != len {
            return Err(ChunkStatus::LengthTag);
        }
        if warp::warp_vote_any(ALL_LANES, width > 8 * W) {
            return Err(ChunkStatus::Width);
        }
        let zigzag = if H && flags >> warp::lane_id() & 1 != 0 { ZIGZAG } else { 0 };
        Ok(width | zigzag)
    }
}

/// Keeps the status of a chunk for the caller, and the lowest bad chunk for the report. One thread calls this.
///
/// # Safety
/// `statuses` has a word for the chunk, `report` is a [`StreamReport`].
#[inline(always)]
pub(crate) unsafe fn report_chunk(statuses: *mut u32, report: *mut u64, chunk: u32, status: ChunkStatus) {
    // SAFETY: the caller vouches for both.
    unsafe {
        *statuses.add(chunk as usize) = status as u32;
        if status as u32 != ChunkStatus::Ok as u32 {
            atomic_fetch_min_relaxed_64_device(
                report.add(StreamReport::CHUNK_FAULT),
                StreamReport::pack_chunk_fault(chunk, status),
            );
        }
    }
}

/// The kernel for words of `W` bytes in chunks of `C`; see the entry points.
///
/// # Safety
/// As for the entry points.
///
/// `back` makes plain rows of a warp's decoded ones, one after another.
#[inline(always)]
pub(crate) unsafe fn decode<const W: u32, const C: u32, const H: bool>(
    stream: *const u8,
    length: *const u64,
    capacity: u64,
    plain: *mut U32x4,
    plain_capacity: u64,
    offsets: *const u32,
    statuses: *mut u32,
    report: *mut u64,
    mut back: impl FnMut(usize, U32x4) -> U32x4,
) {
    let lane = warp::lane_id();
    let unit = thread::block_idx_x() * (TILE_BYTES / 4096) + thread::thread_idx_x() / 32;
    let (chunk, part) = (unit / Shape::<W, C, H>::WARPS, unit % Shape::<W, C, H>::WARPS);
    // SAFETY: the caller's promises. The scan has seen this header; it is read again to stay on the device.
    let header = unsafe { read_header(stream, stream_bytes(length, capacity), C.ilog2(), plain_capacity) }
        .unwrap_or(Header { plain: 0, chunks: 0 });
    if chunk >= header.plain / C {
        return;
    }
    // SAFETY: as above.
    if unsafe { *report.add(StreamReport::STREAM_FAULT) } != NO_FAULT {
        return;
    }

    // SAFETY: the scan found the chunk's bytes within the stream.
    let (coded, widths, status, payload) = unsafe {
        let (bytes, raw) = read_entry(stream, chunk);
        let start = 8 + 4 * u64::from(header.chunks) + u64::from(*offsets.add(chunk as usize));
        let coded = Coded::at(stream, start);
        if raw {
            (coded, Widths::full(8 * W), ChunkStatus::Ok, 0)
        } else {
            let (width, status) = match coded.read_width::<W, H>(bytes, C) {
                Ok(width) => (width, ChunkStatus::Ok),
                Err(status) => (0, status),
            };
            let widths = Widths::of(width);
            let sound = status as u32 != ChunkStatus::Ok as u32
                || bytes == Shape::<W, C, H>::HEADER + widths.total * (Shape::<W, C, H>::WORDS / 8);
            if sound {
                (coded, widths, status, Shape::<W, C, H>::HEADER * 8)
            } else {
                (coded, Widths::full(0), ChunkStatus::CodedLength, 0)
            }
        }
    };
    if part == 0 && lane == 0 {
        // SAFETY: a status per chunk.
        unsafe { report_chunk(statuses, report, chunk, status) };
    }

    // SAFETY: a warp's eight rows lie within its chunk, and that within the plain bytes.
    let to = unsafe { plain.add(unit as usize * (ROWS * 32) + lane as usize) };
    let place = |i: u32| {
        let subchunk = (part * ROWS as u32 + i) * Shape::<W, C, H>::PARTS + lane / Shape::<W, C, H>::LANES;
        let (width, before, as_zigzag) = widths.at(subchunk);
        let bits = width * Shape::<W, C, H>::LANE_WORDS;
        (width, payload + before * Shape::<W, C, H>::WORDS + lane % Shape::<W, C, H>::LANES * bits, bits, as_zigzag)
    };
    if !H {
        for_rows!(I => {
            let (width, at, bits, _) = place(I as u32);
            // SAFETY: the length was checked, so all bits lie within the chunk; the row within the plain bytes.
            unsafe { global::store_streaming_v4(to.add(I * 32), back(I, pack::unpack::<W>(coded.window(at, bits), width))) };
        });
        return;
    }
    // What depends on a flag is a branch, and no load moves across one: so all rows' loads first, or of four and four rows where
    // registers are short.
    let rows_at_once = if W == 1 && Shape::<W, C, H>::PARTS > 1 { ROWS / 2 } else { ROWS };
    let mut windows = [[0; 4]; ROWS];
    let load = |i: u32| {
        let (_, at, bits, _) = place(i);
        // SAFETY: the length was checked, so all bits lie within the chunk.
        unsafe { coded.window(at, bits) }
    };
    for_rows!(I => if I < rows_at_once {
        windows[I] = load(I as u32);
    });
    for_rows!(I => {
        if I == rows_at_once {
            for_rows!(J => if J >= rows_at_once {
                windows[J] = load(J as u32);
            });
        }
        let (width, _, _, as_zigzag) = place(I as u32);
        let row = pack::unpack::<W>(windows[I], width);
        let row = if as_zigzag { zigzag::unzigzag::<W>(row) } else { row };
        // SAFETY: a row within the plain bytes.
        unsafe { global::store_streaming_v4(to.add(I * 32), back(I, row)) };
    });
}

/// The entry points, one per word size and chunk size.
macro_rules! entry_points {
    ($($name:ident, $word:literal, $chunk:literal, $zigzag:literal;)*) => {$(
        /// Decodes the full chunks of a stream that `lc_scan_entries` went through before.
        ///
        /// # Safety
        /// Launched with `shared_types::clog::DECODE`, one block per started tile of `plain_capacity`, behind the scan
        /// of the same stream, which had the same first three arguments and wrote `offsets` and `report`. `plain` is
        /// 16-aligned and holds `plain_capacity`; `statuses` has a word per chunk of that many bytes. The chunk size is in the
        /// kernel's name; the argument is there because other components need it.
        #[kernel(launch = shared_types::clog::DECODE)]
        pub unsafe fn $name(
            stream: *const u8,
            length: *const u64,
            capacity: u64,
            _chunk_log2: u32,
            plain: *mut U32x4,
            plain_capacity: u64,
            offsets: *const u32,
            statuses: *mut u32,
            report: *mut u64,
        ) {
            // SAFETY: the caller's promise.
            unsafe { decode::<$word, $chunk, $zigzag>(stream, length, capacity, plain, plain_capacity, offsets, statuses, report, |_, row| row) }
        }
    )*};
}

entry_points! {
    clog_decode_w1_c4096, 1, 4096, false;
    clog_decode_w2_c4096, 2, 4096, false;
    clog_decode_w4_c4096, 4, 4096, false;
    clog_decode_w8_c4096, 8, 4096, false;
    clog_decode_w1_c8192, 1, 8192, false;
    clog_decode_w2_c8192, 2, 8192, false;
    clog_decode_w4_c8192, 4, 8192, false;
    clog_decode_w8_c8192, 8, 8192, false;
    clog_decode_w1_c16384, 1, 16384, false;
    clog_decode_w2_c16384, 2, 16384, false;
    clog_decode_w4_c16384, 4, 16384, false;
    clog_decode_w8_c16384, 8, 16384, false;
    hclog_decode_w1_c4096, 1, 4096, true;
    hclog_decode_w2_c4096, 2, 4096, true;
    hclog_decode_w4_c4096, 4, 4096, true;
    hclog_decode_w8_c4096, 8, 4096, true;
    hclog_decode_w1_c8192, 1, 8192, true;
    hclog_decode_w2_c8192, 2, 8192, true;
    hclog_decode_w4_c8192, 4, 8192, true;
    hclog_decode_w8_c8192, 8, 8192, true;
    hclog_decode_w1_c16384, 1, 16384, true;
    hclog_decode_w2_c16384, 2, 16384, true;
    hclog_decode_w4_c16384, 4, 16384, true;
    hclog_decode_w8_c16384, 8, 16384, true;
}
