//! The container around the LC components: its header and entries checked, and where each chunk starts.

use crate::collectives::{look_back, warp_inclusive_sum};
use cuda_std::{
    atomic::atomic_fetch_min_relaxed_64_device,
    kernel,
    shared::{self, SharedArray},
    thread, warp,
};
use shared_types::lc::{HEADER_BYTES, NO_FAULT, RAW, SCAN, SCAN_ENTRIES, StreamReport, StreamStatus};

/// The header of a stream that was checked.
#[derive(Clone, Copy)]
pub(crate) struct Header {
    /// Plain bytes of the stream.
    pub plain: u32,
    /// Chunks of the stream.
    pub chunks: u32,
}

/// Bytes of the stream: at most `capacity`, and what `length` says where the caller left it in device memory.
///
/// # Safety
/// `length` is null or points to a `u64`.
#[inline(always)]
pub(crate) unsafe fn stream_bytes(length: *const u64, capacity: u64) -> u64 {
    // SAFETY: the caller vouches for `length`.
    if length.is_null() { capacity } else { unsafe { *length }.min(capacity) }
}

/// Reads and checks what stands in front of the entries. An empty stream has no chunks.
///
/// # Safety
/// `stream` is 4-aligned and holds `bytes`.
#[inline(always)]
pub(crate) unsafe fn read_header(
    stream: *const u8,
    bytes: u64,
    chunk_log2: u32,
    plain_capacity: u64,
) -> Result<Header, StreamStatus> {
    if bytes == 0 {
        return Ok(Header { plain: 0, chunks: 0 });
    }
    if bytes < u64::from(HEADER_BYTES) {
        return Err(StreamStatus::Truncated);
    }
    // SAFETY: eight bytes are there.
    let (plain, chunks) = unsafe { (*stream.cast::<u32>(), *stream.add(4).cast::<u32>()) };
    if chunks != div_ceil(plain, chunk_log2) {
        Err(StreamStatus::ChunkCount)
    } else if u64::from(plain) > plain_capacity {
        Err(StreamStatus::PlainLength)
    } else if bytes < u64::from(HEADER_BYTES) + 4 * u64::from(chunks) {
        Err(StreamStatus::Entries)
    } else {
        Ok(Header { plain, chunks })
    }
}

/// How many units of `1 << log2` cover `bytes`.
#[inline(always)]
pub(crate) fn div_ceil(bytes: u32, log2: u32) -> u32 {
    (bytes >> log2) + u32::from(bytes & ((1 << log2) - 1) != 0)
}

/// Entry `index`: the stored bytes, and whether they are raw.
///
/// # Safety
/// `stream` is 4-aligned and holds the entry.
#[inline(always)]
pub(crate) unsafe fn read_entry(stream: *const u8, index: u32) -> (u32, bool) {
    // SAFETY: the caller vouches for the entry.
    let entry = unsafe { *stream.add(HEADER_BYTES as usize + 4 * index as usize).cast::<u32>() };
    (entry & !RAW, entry & RAW != 0)
}

/// Writes the plain length and the chunk count.
///
/// # Safety
/// `stream` is 4-aligned and has eight bytes.
pub(crate) unsafe fn write_stream_header(stream: *mut u8, plain_bytes: u32, chunks: u32) {
    // SAFETY: the caller vouches for the bytes.
    unsafe {
        *stream.cast::<u32>() = plain_bytes;
        *stream.add(4).cast::<u32>() = chunks;
    }
}

/// Fills the stream, whose chunks end at `end`, up to a multiple of four, and reports its length.
///
/// # Safety
/// `stream` has room for the filling; `report` is a [`StreamReport`].
pub(crate) unsafe fn finish(stream: *mut u8, end: u64, report: *mut u64) {
    let bytes = end.next_multiple_of(4);
    let mut at = end;
    // SAFETY: the caller vouches for the filling and the report.
    unsafe {
        while at < bytes {
            *stream.add(at as usize) = 0;
            at += 1;
        }
        *report.add(StreamReport::BYTES) = bytes;
        let fits = bytes <= u64::from(u32::MAX);
        *report.add(StreamReport::STREAM_FAULT) =
            if fits { NO_FAULT } else { StreamReport::pack_stream_fault(StreamStatus::TooLong, 0) };
    }
}

/// Shared memory of one block of the scan.
#[repr(C, align(16))]
struct ScanShared {
    /// Sum of each warp's entries.
    warp_sum: SharedArray<u32, 8>,
    /// Sum of all blocks before this one.
    before: SharedArray<u32, 1>,
}
const _: () = assert!(size_of::<ScanShared>() <= SCAN.shared_bytes as usize);

/// Checks a stream's container and leaves in `offsets` where each chunk's bytes start, counted from the first chunk.
///
/// Faults go to `report`, whose `bytes` become the plain length. Behind a bad entry the offsets mean nothing, but stay
/// sums of at most the stream's plain length.
///
/// # Safety
/// Launched with [`SCAN`], one block per [`SCAN_ENTRIES`] chunks that `plain_capacity` can hold, at least one. `stream`
/// is 4-aligned and holds `capacity` bytes; `length` is null or points to the true length; `offsets` has a word per chunk;
/// `look_back` has a zero word per block; `report` is a [`StreamReport`] of ones.
#[kernel(launch = shared_types::lc::SCAN)]
pub unsafe fn lc_scan_entries(
    stream: *const u8,
    length: *const u64,
    capacity: u64,
    chunk_log2: u32,
    plain_capacity: u64,
    offsets: *mut u32,
    look_back: *mut u64,
    report: *mut u64,
) {
    let s = shared::dynamic::<ScanShared>();
    let (thread, block) = (thread::thread_idx_x(), thread::block_idx_x());
    let (warp_index, lane) = (thread / 32, warp::lane_id());
    // SAFETY: the caller's promises.
    let bytes = unsafe { stream_bytes(length, capacity) };
    // SAFETY: as above.
    let header = match unsafe { read_header(stream, bytes, chunk_log2, plain_capacity) } {
        Ok(header) => header,
        Err(status) => {
            // The same answer in every thread: nobody waits for anybody.
            if block == 0 && thread == 0 {
                // SAFETY: the report is there.
                unsafe { report_stream_fault(report, status, 0) };
            }
            return;
        }
    };
    if block == 0 && thread == 0 {
        // SAFETY: as above.
        unsafe { *report.add(StreamReport::BYTES) = u64::from(header.plain) };
        if header.chunks == 0 && bytes > u64::from(HEADER_BYTES) {
            // SAFETY: as above.
            unsafe { report_stream_fault(report, StreamStatus::StreamLength, 0) };
        }
    }
    if block * SCAN_ENTRIES >= header.chunks {
        return;
    }

    let first = block * SCAN_ENTRIES + thread * 4;
    let mut stored = [0; 4];
    for (i, stored) in stored.iter_mut().enumerate() {
        let index = first + i as u32;
        if index < header.chunks {
            let plain = (1 << chunk_log2).min(header.plain - (index << chunk_log2));
            // SAFETY: the entries end within the stream.
            let (bytes, raw) = unsafe { read_entry(stream, index) };
            if if raw { bytes != plain } else { bytes == 0 || bytes >= plain } {
                // SAFETY: as above.
                unsafe { report_stream_fault(report, StreamStatus::Entry, index) };
            } else {
                *stored = bytes;
            }
        }
    }
    let own: u32 = stored[0] + stored[1] + stored[2] + stored[3];
    let up_to = warp_inclusive_sum(own);
    if lane == 31 {
        s.warp_sum.write(warp_index as usize, up_to);
    }
    thread::sync_threads(); // warp_sum
    let (mut before_warp, mut block_sum) = (0, 0);
    for w in 0..SCAN.warps() {
        let sum = s.warp_sum.read(w as usize);
        if w < warp_index {
            before_warp += sum;
        }
        block_sum += sum;
    }
    if warp_index == 0 {
        if lane == 0 {
            // SAFETY: the launch gives every block a word.
            unsafe { look_back::publish(look_back, block, block_sum) };
        }
        // SAFETY: as above.
        let before = unsafe { look_back::exclusive_sum(look_back, block, block_sum) };
        if lane == 0 {
            s.before.write(0, before);
        }
    }
    thread::sync_threads(); // before
    let mut offset = s.before.read(0) + before_warp + up_to - own;
    for (i, stored) in stored.iter().enumerate() {
        let index = first + i as u32;
        if index < header.chunks {
            // SAFETY: a word per chunk.
            unsafe { *offsets.add(index as usize) = offset };
            offset += stored;
        }
    }
    // The thread with the last entry knows the sum of all.
    if (header.chunks - 1).wrapping_sub(first) < 4 {
        let end = u64::from(HEADER_BYTES) + 4 * u64::from(header.chunks) + u64::from(offset);
        // SAFETY: as above; the filling is read only within the stream.
        unsafe {
            if bytes != end.next_multiple_of(4) {
                report_stream_fault(report, StreamStatus::StreamLength, 0);
            } else {
                let mut at = end;
                while at < bytes {
                    if *stream.add(at as usize) != 0 {
                        report_stream_fault(report, StreamStatus::Padding, 0);
                    }
                    at += 1;
                }
            }
        }
    }
}

/// Keeps the first fault in the order of [`StreamStatus`], and there the lowest chunk.
///
/// # Safety
/// `report` is a [`StreamReport`].
unsafe fn report_stream_fault(report: *mut u64, status: StreamStatus, index: u32) {
    // SAFETY: the caller vouches for the report.
    unsafe {
        atomic_fetch_min_relaxed_64_device(
            report.add(StreamReport::STREAM_FAULT),
            StreamReport::pack_stream_fault(status, index),
        )
    };
}
