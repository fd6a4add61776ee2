//! Lorenzo in block mode, zigzag and CLOG in one pass: the same bytes as one stage after another.
//!
//! Segments are a power of two of elements, 16 to 4096 bytes long, so that each warp of CLOG's kernels, which takes 4096 bytes, has whole
//! ones, and each segment begins where a lane does. The elements have the size of CLOG's words.

use super::block::difference::{NO_VALUE, difference_row};
use super::block::scan::{Carry, before_in_whole, scan_row};
use super::block::tile::Place;
use super::packed::{lane_of, sums_after, vector_of};
use crate::clog::tail::{decode_tail, encode_tail, join_word, load_word, store_word, zigzag_word};
use crate::clog::{decode::decode, encode::encode, zigzag::unzigzag, zigzag::zigzag};
use crate::collectives::ALL_LANES;
use crate::{ROWS, for_rows};
use cuda_std::{kernel, thread, vector::U32x4, warp};
use shared_types::{
    clog::{DECODE, FUSED_ENCODE, TAIL},
    lc::ChunkSize,
};

/// The place of a lane's elements in row `i` of a warp; `length` as in [`residuals`].
#[inline(always)]
fn place<const W: u32>(i: usize, length: u32) -> Place {
    let at = (i as u32 * 32 + warp::lane_id()) * (16 / W);
    Place { position: at & (length - 1), ..Place::default() }
}

/// Replaces a warp's rows by the zigzag of their differences, of first or second `order`, inside segments of `length` elements.
#[inline(always)]
fn residuals<const W: u32>(rows: &mut [U32x4; ROWS], length: u32, order: u32) {
    let (mut first, mut second) = (0, 0);
    for_rows!(I => {
        let place = place::<W>(I, length);
        let mut v = difference_row::<W, true>(lane_of(rows[I]), place, &mut first, &NO_VALUE);
        if order == 2 {
            v = difference_row::<W, true>(v, place, &mut second, &NO_VALUE);
        }
        rows[I] = zigzag::<W>(vector_of(v));
    });
}

/// What goes on from row to row: the sums of either order.
#[derive(Clone, Copy, Default)]
struct Sums([u64; 2]);

impl Sums {
    /// Takes row `i` of [`residuals`] back; rows come in order.
    #[inline(always)]
    fn restore<const W: u32>(&mut self, i: usize, row: U32x4, length: u32, order: u32) -> U32x4 {
        let mut v = lane_of(unzigzag::<W>(row));
        let sums = |v, carry: &mut u64| sums_after::<W>(v, before_in_whole::<W>(v, i, length, carry));
        v = sums(v, &mut self.0[0]);
        if order == 2 {
            v = sums(v, &mut self.0[1]);
        }
        vector_of(v)
    }
}

/// Word `i` of [`residuals`] of the elements at `plain`.
///
/// # Safety
/// `plain` is aligned to the word size, begins with a segment, and holds the word.
#[inline(always)]
unsafe fn residual<const W: u32>(plain: *const u8, i: u32, length: u32, order: u32) -> (u32, u32) {
    // SAFETY: the words in front of it in its segment are there, too.
    let at = |back: u32| if i & (length - 1) < back { 0 } else { join_word(unsafe { load_word::<W>(plain, i - back) }) };
    let mut d = at(0).wrapping_sub(at(1));
    if order == 2 {
        // The difference before this one; in front of the segment's first element there is none.
        d = d.wrapping_sub(at(1).wrapping_sub(at(2)));
    }
    let d = if W == 8 { d } else { d & ((1 << (8 * W % 64)) - 1) };
    let (lower, upper) = zigzag_word::<W>((d as u32, (d >> 32) as u32));
    if W == 4 || W == 8 { (lower, upper) } else { (lower & ((1 << (8 * W % 32)) - 1), 0) }
}

/// Takes [`residual`] back for `words` words, in place. All threads of a block call this; each warp takes segments of its own.
///
/// # Safety
/// As for [`residual`]; the block's threads have written the words.
#[inline(always)]
unsafe fn restore_tail<const W: u32>(plain: *mut u8, words: u32, length: u32, order: u32) {
    thread::sync_threads(); // the words
    let lane = warp::lane_id();
    let mut start = thread::thread_idx_x() / 32 * length;
    while start < words {
        let end = if start + length < words { start + length } else { words };
        let mut carries = [Carry::default(); 2];
        let mut row = start;
        while row < end {
            let i = row + lane;
            // SAFETY: a word of the chunk.
            let mut x = if i < end { unsafe { join_word(load_word::<W>(plain, i)) } } else { 0 };
            let v = unzigzag::<W>(U32x4 { x: x as u32, y: (x >> 32) as u32, z: 0, w: 0 });
            x = u64::from(v.y) << 32 | u64::from(v.x);
            let sum = |x: u64, carry: &mut Carry| {
                let (incoming, _, next) = scan_row::<false>(x, false).chain(*carry);
                *carry = next;
                x.wrapping_add(incoming)
            };
            x = sum(x, &mut carries[0]);
            if order == 2 {
                x = sum(x, &mut carries[1]);
            }
            if i < end {
                // SAFETY: as above.
                unsafe { store_word::<W>(plain, i, x as u32, (x >> 32) as u32) };
            }
            row += 32;
        }
        warp::sync_warp(ALL_LANES);
        start += TAIL.warps() * length;
    }
}

/// The entry points for full chunks, per word size and chunk size.
macro_rules! entry_points {
    ($($encode:ident, $decode:ident, $word:literal, $chunk:ident;)*) => {$(
        /// Encodes the full chunks of `plain_bytes` bytes: zigzags of differences of `order` 1 or 2 inside segments of `length` elements.
        ///
        /// # Safety
        /// As for CLOG's kernel of the same word and chunk size. `length` is a power of two, 16 to 4096 bytes.
        #[kernel(launch = FUSED_ENCODE)]
        pub unsafe fn $encode(
            plain: *const U32x4,
            plain_bytes: u32,
            _chunk_log2: u32,
            stream: *mut u8,
            look_back: *mut u64,
            report: *mut u64,
            length: u32,
            order: u32,
        ) {
            // SAFETY: the caller's promise.
            unsafe {
                encode::<$word, { ChunkSize::$chunk.bytes() }, false>(plain, plain_bytes, stream, look_back, report, |rows| {
                    residuals::<$word>(rows, length, order)
                })
            }
        }

        /// Decodes what the kernel above encodes.
        ///
        /// # Safety
        /// As for CLOG's kernel of the same word and chunk size. `length` is a power of two, 16 to 4096 bytes.
        #[kernel(launch = DECODE)]
        pub unsafe fn $decode(
            stream: *const u8,
            stream_length: *const u64,
            capacity: u64,
            _chunk_log2: u32,
            plain: *mut U32x4,
            plain_capacity: u64,
            offsets: *const u32,
            statuses: *mut u32,
            report: *mut u64,
            length: u32,
            order: u32,
        ) {
            let mut sums = Sums::default();
            // SAFETY: the caller's promise.
            unsafe {
                decode::<$word, { ChunkSize::$chunk.bytes() }, false>(
                    stream,
                    stream_length,
                    capacity,
                    plain,
                    plain_capacity,
                    offsets,
                    statuses,
                    report,
                    |i, row| sums.restore::<$word>(i, row, length, order),
                )
            }
        }
    )*};
}

entry_points! {
    lorenzo_clog_encode_w2_c4096, lorenzo_clog_decode_w2_c4096, 2, C4096;
    lorenzo_clog_encode_w2_c8192, lorenzo_clog_decode_w2_c8192, 2, C8192;
    lorenzo_clog_encode_w2_c16384, lorenzo_clog_decode_w2_c16384, 2, C16384;
    lorenzo_clog_encode_w4_c4096, lorenzo_clog_decode_w4_c4096, 4, C4096;
    lorenzo_clog_encode_w4_c8192, lorenzo_clog_decode_w4_c8192, 4, C8192;
    lorenzo_clog_encode_w4_c16384, lorenzo_clog_decode_w4_c16384, 4, C16384;
}

/// The entry points for the short last chunk, per word size.
macro_rules! tail_entry_points {
    ($($encode:ident, $decode:ident, $word:literal;)*) => {$(
        /// Encodes the short last chunk, as the kernels above encode full ones, and finishes the stream.
        ///
        /// # Safety
        /// As for CLOG's kernel of the same word size; the plain bytes are whole words. `length` as above.
        #[kernel(launch = TAIL)]
        pub unsafe fn $encode(
            plain: *const u8,
            plain_bytes: u32,
            chunk_log2: u32,
            stream: *mut u8,
            look_back: *const u64,
            report: *mut u64,
            length: u32,
            order: u32,
        ) {
            // SAFETY: the caller's promise.
            unsafe {
                encode_tail::<$word, false>(plain, plain_bytes, chunk_log2, stream, look_back, report, |plain, i| {
                    residual::<$word>(plain, i, length, order)
                })
            }
        }

        /// Decodes the last chunk of a stream if it is short, and does nothing otherwise.
        ///
        /// # Safety
        /// As for CLOG's kernel of the same word size. `length` as above.
        #[kernel(launch = TAIL)]
        pub unsafe fn $decode(
            stream: *const u8,
            stream_length: *const u64,
            capacity: u64,
            chunk_log2: u32,
            plain: *mut u8,
            plain_capacity: u64,
            offsets: *const u32,
            statuses: *mut u32,
            report: *mut u64,
            length: u32,
            order: u32,
        ) {
            // SAFETY: the caller's promise.
            unsafe {
                decode_tail::<$word, false>(
                    stream,
                    stream_length,
                    capacity,
                    chunk_log2,
                    plain,
                    plain_capacity,
                    offsets,
                    statuses,
                    report,
                    |plain, words| restore_tail::<$word>(plain, words, length, order),
                )
            }
        }
    )*};
}

tail_entry_points! {
    lorenzo_clog_encode_tail_w2, lorenzo_clog_decode_tail_w2, 2;
    lorenzo_clog_encode_tail_w4, lorenzo_clog_decode_tail_w4, 4;
}
