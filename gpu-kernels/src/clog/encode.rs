//! Full chunks to their place in the container, in one pass over the plain bytes.
//!
//! | phase | who | does | leaves behind |
//! |---|---|---|---|
//! | load | every lane | eight rows of 16 bytes | its rows, in registers |
//! | measure | every warp, row by row | the longest word of each subchunk | `width` |
//! | place | warp 0 | the chunks' stored sizes, their sum to the look-back | `stored`, the chunk entries |
//! | pack | every warp | each lane's bits into its chunk's slot | `slots` |
//! | look back | warp 0 | the bytes of all tiles before | `tile_start` |
//! | copy | every chunk's warps | the slot to its place | the container |
//!
//! In a slot the header ends and the payload begins at byte 48, so that both can be built from whole words. A raw chunk
//! is packed at full width and copied without its header.

use super::{ROW_BYTES, ROWS, Shape, Widths, ZIGZAG, for_rows, pack, zigzag};
use crate::collectives::{ALL_LANES, copy_out::copy_out, group_max, look_back};
use crate::lc;
use cuda_std::{
    bits::{funnel_shift_left_wrap, opaque, shl_clamp},
    global, kernel,
    shared::{self, SharedArray},
    thread,
    vector::U32x4,
    warp,
};
use shared_types::{
    clog::{SLOT_LEAD, SLOT_SLACK, SLOT_WORDS, encode_launch},
    lc::{ChunkSize, RAW, TILE_BYTES},
};

/// Warps of a block.
const WARPS: u32 = TILE_BYTES / (ROWS as u32 * ROW_BYTES);
const _: () = assert!(WARPS == encode_launch(2, ChunkSize::C16384, false).warps());

/// Shared memory of one block.
#[repr(C, align(16))]
pub struct EncodeShared {
    slots: SharedArray<u32, SLOT_WORDS>,
    width: SharedArray<u8, 256>,
    /// Stored bytes of each chunk of the tile.
    stored: SharedArray<u32, 8>,
    /// Where each chunk of the tile starts, from the tile's start.
    chunk_start: SharedArray<u32, 8>,
    /// Stored bytes of all tiles before this one.
    tile_start: SharedArray<u32, 1>,
}
const _: () = assert!(size_of::<EncodeShared>() <= encode_launch(2, ChunkSize::C16384, false).shared_bytes as usize);

/// The width itself.
#[inline(always)]
fn width_of(entry: u8) -> u32 {
    u32::from(entry) & !ZIGZAG
}

/// A lane's bits and where they go.
#[derive(Clone, Copy)]
struct Piece {
    v: [u32; 4],
    /// How many bits of `v` count.
    bits: u32,
    /// First bit, from the payload's start.
    at: u32,
}

/// The kernel for words of `W` bytes in chunks of `C`.
///
/// # Safety
/// Launched with [`encode_launch`], one block per started tile of full chunks. `plain` is 16-aligned and holds `plain_bytes`;
/// `stream` is 16-aligned and holds the longest stream of that many bytes; `look_back` has a zero word per block,
/// `report` is a `StreamReport` of ones. Nothing else touches the outputs until the launch is over.
///
/// `front` makes the words to be coded of a warp's plain rows; HCLOG (`H`), which reads rows twice, has none.
#[inline(always)]
pub(crate) unsafe fn encode<const W: u32, const C: u32, const H: bool>(
    plain: *const U32x4,
    plain_bytes: u32,
    stream: *mut u8,
    look_back: *mut u64,
    report: *mut u64,
    front: impl Fn(&mut [U32x4; ROWS]),
) {
    let s = shared::dynamic::<EncodeShared>();
    let lane = warp::lane_id();
    let warp_index = thread::thread_idx_x() / 32;
    let tile = thread::block_idx_x();
    let chunks = plain_bytes / C;
    let chunks_in_tile = TILE_BYTES / C;

    // This warp's chunk, by its index in the tile and in all; its part of the chunk.
    let slot = warp_index / Shape::<W, C, H>::WARPS;
    let part = warp_index % Shape::<W, C, H>::WARPS;
    let chunk = tile * chunks_in_tile + slot;
    let active = chunk < chunks;

    let mut rows = [U32x4 { x: 0, y: 0, z: 0, w: 0 }; ROWS];
    if active {
        // SAFETY: a full chunk lies within `plain`; a warp's eight rows lie within its chunk.
        let from = unsafe { plain.add((tile * WARPS + warp_index) as usize * (ROWS * 32) + lane as usize) };
        // SAFETY: as above.
        for_rows!(I => rows[I] = unsafe { global::load_streaming_v4(from.add(I * 32)) });
    }
    front(&mut rows);
    // Subchunk of this lane in row `i`.
    let subchunk = |i: u32| (part * ROWS as u32 + i) * Shape::<W, C, H>::PARTS + lane / Shape::<W, C, H>::LANES;

    let member = lane % Shape::<W, C, H>::LANES;
    if H {
        // Lane `i` of a subchunk's lanes decides for that of row `i`.
        let mut own = zigzag::Measure::ZERO;
        for_rows!(I => {
            let measure = zigzag::Measure::of::<W>(rows[I], Shape::<W, C, H>::LANES);
            if member == I as u32 {
                own = measure;
            }
        });
        let choice = own.choice::<W>();
        let decides = member < ROWS as u32;
        if decides {
            s.width.write((slot * 32 + subchunk(member)) as usize, choice.width as u8 | u8::from(choice.zigzag) * ZIGZAG as u8);
        }
        let compare = decides && choice.compare;
        let mut rest = warp::warp_vote_ballot(ALL_LANES, compare);
        let mut lanes = 16;
        while lanes >= Shape::<W, C, H>::LANES {
            rest |= rest >> lanes;
            lanes /= 2;
        }
        rest &= (1 << ROWS) - 1;
        while rest != 0 {
            // Rare in data that shrinks, so the row is read again rather than kept for a loop.
            let i = rest.trailing_zeros();
            // SAFETY: only rows that were read set a bit.
            let row = unsafe {
                global::load_v4(plain.add((tile * WARPS + warp_index) as usize * (ROWS * 32) + (i * 32 + lane) as usize))
            };
            let smaller = zigzag::largest_zigzag_is_smaller::<W>(row, Shape::<W, C, H>::LANES);
            if compare && member == i {
                s.width.write((slot * 32 + subchunk(i)) as usize, (8 * W) as u8 | u8::from(smaller) * ZIGZAG as u8);
            }
            rest &= rest - 1;
        }
    } else {
        for_rows!(I => {
            let width = group_max(pack::bit_length::<W>(rows[I]), Shape::<W, C, H>::LANES);
            if member == 0 {
                s.width.write((slot * 32 + subchunk(I as u32)) as usize, width as u8);
            }
        });
    }
    if !Shape::<W, C, H>::ALIGNED {
        // Lanes OR their bits into words that hold zeros; the slot belongs to this warp alone.
        let mut word = lane;
        while word < C / 4 {
            s.slots.write((slot * slot_words::<C>() + SLOT_LEAD / 4 + word) as usize, 0);
            word += 32;
        }
        warp::sync_warp(ALL_LANES); // zeros
    }
    thread::sync_threads(); // width

    let data_start = 8 + 4 * u64::from(plain_bytes.div_ceil(C));
    if warp_index == 0 {
        // Place: lane `c` ends up with chunk `c`.
        let (mut stored, mut start, mut tile_bytes) = (0, 0, 0);
        for c in 0..chunks_in_tile {
            let total = warp::warp_reduce_add(ALL_LANES, width_of(s.width.read((c * 32 + lane) as usize)));
            let (bytes, _) = stored_bytes::<W, C, H>(total);
            let bytes = if tile * chunks_in_tile + c < chunks { bytes } else { 0 };
            if lane == c {
                (stored, start) = (bytes, tile_bytes);
            }
            tile_bytes += bytes;
        }
        if lane == 0 {
            // SAFETY: the launch gives every block a word.
            unsafe { look_back::publish(look_back, tile, tile_bytes) };
        }
        if lane < chunks_in_tile {
            s.stored.write(lane as usize, stored);
            s.chunk_start.write(lane as usize, start);
            let chunk = tile * chunks_in_tile + lane;
            if chunk < chunks {
                let entry = if stored == C { RAW | C } else { stored };
                // SAFETY: the entry of an existing chunk, 4-aligned.
                unsafe { *stream.add(8 + 4 * chunk as usize).cast::<u32>() = entry };
            }
        }
    }

    let own = s.width.read((slot * 32 + lane) as usize);
    let packed = Widths::of(u32::from(own));
    let widths = if stored_bytes::<W, C, H>(packed.total).1 { Widths::full(8 * W) } else { packed };
    let payload = slot * slot_words::<C>() + SLOT_LEAD / 4;
    if part == Shape::<W, C, H>::WARPS - 1 {
        // Copying reads whole 16-byte units: give the words behind the payload a value.
        let end = (widths.total * (Shape::<W, C, H>::WORDS / 8)).div_ceil(4);
        if lane < SLOT_SLACK / 4 && (Shape::<W, C, H>::ALIGNED || end + lane >= C / 4) {
            s.slots.write((payload + end + lane) as usize, 0);
        }
    }
    if H {
        // The zigzags are computed again below: kept, they would double the rows.
        for_rows!(I => rows[I] = opaque_row(rows[I]));
    }
    for_rows!(I => {
        let (width, before, as_zigzag) = widths.at(subchunk(I as u32));
        let bits = width * Shape::<W, C, H>::LANE_WORDS;
        let at = before * Shape::<W, C, H>::WORDS + lane % Shape::<W, C, H>::LANES * bits;
        let row = if H && as_zigzag { zigzag::zigzag::<W>(rows[I]) } else { rows[I] };
        let piece = Piece { v: pack::pack::<W>(row, width), bits, at };
        if Shape::<W, C, H>::ALIGNED {
            store_aligned::<W, C, H>(&s.slots, payload, piece, lane);
        } else {
            store_by_or(&s.slots, payload, piece);
        }
    });
    if part == Shape::<W, C, H>::WARPS - 1 {
        // Of a raw chunk these flags are none, but then nobody copies the header.
        write_header::<W, C, H>(s, slot, lane, if H { widths.flags() } else { 0 });
    }

    // From here on the sizes come from shared memory: until here, registers are short.
    let tile_bytes = || {
        let last = chunks_in_tile as usize - 1;
        s.chunk_start.read(last) + s.stored.read(last)
    };
    if warp_index == 0 {
        warp::sync_warp(ALL_LANES); // stored, chunk_start
        let tile_bytes = tile_bytes();
        // SAFETY: as for `publish`.
        let before = unsafe { look_back::exclusive_sum(look_back, tile, tile_bytes) };
        if lane == 0 {
            s.tile_start.write(0, before);
        }
    }
    thread::sync_threads(); // slots, stored, chunk_start, tile_start

    let start = data_start + u64::from(s.tile_start.read(0));
    if active {
        let to = start + u64::from(s.chunk_start.read(slot as usize));
        let stored = s.stored.read(slot as usize);
        let from = slot * slot_words::<C>() * 4 + SLOT_LEAD - if stored == C { 0 } else { Shape::<W, C, H>::HEADER };
        let member = part * 32 + lane;
        // SAFETY: the look-back gives every chunk bytes of its own, within the longest stream.
        unsafe { copy_out(&s.slots, from, stored, stream, to, member, Shape::<W, C, H>::WARPS * 32) };
    }
    if thread::thread_idx_x() == 0 {
        if tile == 0 {
            // SAFETY: the header of a stream that has chunks.
            unsafe { lc::write_stream_header(stream, plain_bytes, plain_bytes.div_ceil(C)) };
        }
        if tile == thread::grid_dim_x() - 1 && plain_bytes.is_multiple_of(C) {
            // SAFETY: the longest stream has room for the filling.
            unsafe { lc::finish(stream, start + u64::from(tile_bytes()), report) };
        }
    }
}

/// See [`opaque`].
#[inline(always)]
fn opaque_row(v: U32x4) -> U32x4 {
    U32x4 { x: opaque(v.x), y: opaque(v.y), z: opaque(v.z), w: opaque(v.w) }
}

/// Words of a slot of one chunk.
const fn slot_words<const C: u32>() -> u32 {
    (SLOT_LEAD + C + SLOT_SLACK) / 4
}

/// Bytes that the container stores for a full chunk whose widths add up to `total`, and whether it is raw.
#[inline(always)]
fn stored_bytes<const W: u32, const C: u32, const H: bool>(total: u32) -> (u32, bool) {
    let coded = Shape::<W, C, H>::HEADER + total * (Shape::<W, C, H>::WORDS / 8);
    if coded >= C { (C, true) } else { (coded, false) }
}

/// Writes the lanes' pieces as whole words. All lanes of a warp call this; the pieces of a subchunk follow each other
/// without gaps from a word border on, and fill whole words.
#[inline(always)]
fn store_aligned<const W: u32, const C: u32, const H: bool>(
    slots: &SharedArray<u32, SLOT_WORDS>,
    payload: u32,
    piece: Piece,
    lane: u32,
) {
    let place = lane % Shape::<W, C, H>::LANES;
    let (mut v, mut bits) = (piece.v, piece.bits);
    // Pieces shorter than a word are joined first, so that a word never has more than two authors: then the first of 2,
    // 4, 8 or 16 lanes holds the bits of all of them.
    let mut joined = 1;
    let mut distance = 1;
    let short = |bits: u32| bits.wrapping_sub(1) < 31;
    while warp::warp_vote_any(ALL_LANES, short(bits)) {
        let (next, _) = warp::warp_shuffle_down(ALL_LANES, v[0], distance, 32);
        if short(bits) {
            v[0] |= next << bits;
            v[1] = funnel_shift_left_wrap(next, 0, bits);
            bits *= 2;
            joined = 2 * distance;
        }
        distance *= 2;
    }
    // The word that the piece ends in, unless it ends with it, goes to the piece behind.
    let shift = piece.at % 32;
    let w = [
        v[0] << shift,
        funnel_shift_left_wrap(v[0], v[1], shift),
        funnel_shift_left_wrap(v[1], v[2], shift),
        funnel_shift_left_wrap(v[2], v[3], shift),
        funnel_shift_left_wrap(v[3], 0, shift),
    ];
    let whole = (shift + bits) / 32;
    let rest = match whole {
        0 => w[0],
        1 => w[1],
        2 => w[2],
        3 => w[3],
        _ => w[4],
    };
    let (before, _) = warp::warp_shuffle_idx(ALL_LANES, rest, lane.wrapping_sub(joined) % 32, 32);
    let first = w[0] | if place == 0 { 0 } else { before };
    if place & (joined - 1) == 0 {
        let to = (payload + piece.at / 32) as usize;
        if bits == 128 && piece.at.is_multiple_of(128) {
            slots.write_vec4(to, U32x4 { x: first, y: w[1], z: w[2], w: w[3] });
            return;
        }
        if whole > 0 {
            slots.write(to, first);
        }
        if whole > 1 {
            slots.write(to + 1, w[1]);
        }
        if whole > 2 {
            slots.write(to + 2, w[2]);
        }
        if whole > 3 {
            slots.write(to + 3, w[3]);
        }
    }
}

/// ORs the lanes' pieces into words that hold zeros: for subchunks that begin at any bit.
#[inline(always)]
fn store_by_or(slots: &SharedArray<u32, SLOT_WORDS>, payload: u32, piece: Piece) {
    let (v, shift) = (piece.v, piece.at % 32);
    let words = (shift + piece.bits).div_ceil(32);
    let w = [
        v[0] << shift,
        funnel_shift_left_wrap(v[0], v[1], shift),
        funnel_shift_left_wrap(v[1], v[2], shift),
        funnel_shift_left_wrap(v[2], v[3], shift),
        funnel_shift_left_wrap(v[3], 0, shift),
    ];
    for (i, word) in w.iter().enumerate() {
        if (i as u32) < words {
            slots.fetch_or((payload + piece.at / 32) as usize + i, *word);
        }
    }
}

/// Writes the words in front of the payload: zeros, HCLOG's flags, the tag in the upper half of a word, the width fields.
#[inline(always)]
fn write_header<const W: u32, const C: u32, const H: bool>(s: &EncodeShared, slot: u32, lane: u32, flags: u32) {
    let field = Shape::<W, C, H>::FIELD;
    let lead = SLOT_LEAD / 4;
    if lane >= lead {
        return;
    }
    // `FIELD` words hold 32 fields of `FIELD` bits.
    let mut word = 0;
    if lane + field + 1 == lead {
        word = C << 16 | flags >> 16;
    } else if H && lane + field + 2 == lead {
        word = flags << 16;
    } else if lane + field >= lead {
        let first_bit = (lane + field - lead) * 32;
        let mut f = first_bit / field;
        while f < 32 && f * field < first_bit + 32 {
            let width = width_of(s.width.read((slot * 32 + f) as usize));
            let bit = f * field;
            word |= if bit < first_bit { width >> (first_bit - bit) } else { shl_clamp(width, bit - first_bit) };
            f += 1;
        }
    }
    s.slots.write((slot * slot_words::<C>() + lane) as usize, word);
}

/// The entry points, one per word size and chunk size.
macro_rules! entry_points {
    ($($name:ident, $word:literal, $chunk:ident, $zigzag:literal;)*) => {$(
        /// Encodes the full chunks of `plain_bytes` bytes.
        ///
        /// # Safety
        /// Launched with [`encode_launch`], one block per started tile of full chunks, at least one. `plain` is 16-aligned and
        /// holds `plain_bytes`; `stream` is 16-aligned and holds the longest stream of that many bytes; `look_back` has a
        /// zero word per block, `report` is a `StreamReport` of ones. Nothing else touches the outputs until the launch
        /// is over. The chunk size is in the kernel's name; the argument is there because other components need it.
        #[kernel(launch = encode_launch($word, ChunkSize::$chunk, $zigzag))]
        pub unsafe fn $name(plain: *const U32x4, plain_bytes: u32, _chunk_log2: u32, stream: *mut u8, look_back: *mut u64, report: *mut u64) {
            // SAFETY: the caller's promise.
            unsafe { encode::<$word, { ChunkSize::$chunk.bytes() }, $zigzag>(plain, plain_bytes, stream, look_back, report, |_| {}) }
        }
    )*};
}

entry_points! {
    clog_encode_w1_c4096, 1, C4096, false;
    clog_encode_w2_c4096, 2, C4096, false;
    clog_encode_w4_c4096, 4, C4096, false;
    clog_encode_w8_c4096, 8, C4096, false;
    clog_encode_w1_c8192, 1, C8192, false;
    clog_encode_w2_c8192, 2, C8192, false;
    clog_encode_w4_c8192, 4, C8192, false;
    clog_encode_w8_c8192, 8, C8192, false;
    clog_encode_w1_c16384, 1, C16384, false;
    clog_encode_w2_c16384, 2, C16384, false;
    clog_encode_w4_c16384, 4, C16384, false;
    clog_encode_w8_c16384, 8, C16384, false;
    hclog_encode_w1_c4096, 1, C4096, true;
    hclog_encode_w2_c4096, 2, C4096, true;
    hclog_encode_w4_c4096, 4, C4096, true;
    hclog_encode_w8_c4096, 8, C4096, true;
    hclog_encode_w1_c8192, 1, C8192, true;
    hclog_encode_w2_c8192, 2, C8192, true;
    hclog_encode_w4_c8192, 4, C8192, true;
    hclog_encode_w8_c8192, 8, C8192, true;
    hclog_encode_w1_c16384, 1, C16384, true;
    hclog_encode_w2_c16384, 2, C16384, true;
    hclog_encode_w4_c16384, 4, C16384, true;
    hclog_encode_w8_c16384, 8, C16384, true;
}
