//! A warp's part of a row, for sums: 16 bytes a lane, by columns.
//!
//! Where rows are whole units, that is what memory has. Else a lane puts its bytes together from two units, and its results are moved
//! up to where units begin before they are written: lane `l` writes the unit in which its bytes begin, with what the lane below has of
//! it. The lowest lane is the highest one of the warp to the left and writes nothing. Units that two rows share are written
//! element by element, by either row's warp.
//!
//! The array's very last unit, if it is not whole, counts as zeros here and is not written: no other element depends on it. See
//! [`super::rest`].

use super::super::packed::{Lane, add, broadcast, lane_of, last, prefix_sums, signed_sum, vector_of};
use super::units::{element_from, first, from_below, get, join, put, shift_out};
use crate::collectives::ALL_LANES;
use cuda_std::{bits::opaque, global, shared::SharedArray, thread, vector::U32x4, warp};
use shared_types::lorenzo_nd::{InverseParams, KEPT_LANES, SLOT_BYTES, TILE_ROWS, VOLUME_SUMS, Where};

/// Accesses that a warp has in flight: that many rows, or half as many where each takes two units.
pub const LOADS: usize = 8;

/// Rows that a warp takes at once.
pub const fn rows_at_once(aligned: bool) -> usize {
    if aligned { LOADS } else { LOADS / 2 }
}

/// The memory that the host names.
#[derive(Clone, Copy)]
pub struct Memory {
    input: *const U32x4,
    output: *mut U32x4,
    /// Scratch memory.
    pub scratch: *mut U32x4,
}

impl Memory {
    /// These three.
    #[inline(always)]
    pub fn new(input: *const U32x4, output: *mut U32x4, scratch: *mut U32x4) -> Self {
        Self { input, output, scratch }
    }

    /// Where an array begins.
    ///
    /// # Safety
    /// It is in its memory.
    #[inline(always)]
    pub unsafe fn at(self, place: Where) -> *mut U32x4 {
        match place.memory {
            Where::INPUT => self.input.cast_mut(),
            Where::OUTPUT => self.output,
            // SAFETY: the caller's word.
            _ => unsafe { self.scratch.byte_add(place.at as usize) },
        }
    }
}

/// `value`, computed anew: what hangs on it need not be kept in registers from an earlier use.
#[inline(always)]
pub fn anew(value: u64) -> u64 {
    value & !0xFFFF_FFFF | u64::from(opaque(value as u32))
}

/// The number of the calling warp among those of the grid.
#[inline(always)]
pub fn warp_of_grid() -> u64 {
    let warps = u64::from(thread::block_dim_x() / 32);
    u64::from(thread::block_idx_x()) * warps + u64::from(thread::thread_idx_x() / 32)
}

/// A lane's columns.
#[derive(Clone, Copy)]
pub struct Strip<const W: u32, const ALIGNED: bool> {
    /// The first of the lane's bytes in its row; -16, wrapped around, in the lowest lane of the first strip of unaligned rows.
    column: u64,
    /// Whether the lane reads anything.
    live: bool,
    /// How far it is from the lane's first byte to the row's end, between -64 and 64; -64 where the lane never writes.
    left: i32,
    /// Whole units of the array.
    whole: u64,
}

impl<const W: u32, const ALIGNED: bool> Strip<W, ALIGNED> {
    /// Those of strip `strip`.
    #[inline(always)]
    pub fn new(strip: u64, params: &InverseParams) -> Self {
        let lane = u64::from(warp::lane_id());
        let column = if ALIGNED {
            (strip * 32 + lane) * 16
        } else {
            (strip * u64::from(KEPT_LANES) + lane).wrapping_sub(1).wrapping_mul(16)
        };
        let live = column < params.row_bytes;
        let left = if !live || !ALIGNED && lane == 0 {
            // A lane with nothing in the row can still have the end of the row in its unit.
            let behind = column.wrapping_sub(params.row_bytes);
            if lane > 0 && behind < 16 { -(behind as i32) } else { -64 }
        } else if params.row_bytes - column < 64 {
            (params.row_bytes - column) as i32
        } else {
            64
        };
        Self { column, live, left, whole: params.bytes / 16 }
    }

    /// Unit `part` (0, or 1 where rows are no whole units) of the lane's bytes in the row that begins at byte `start`.
    ///
    /// # Safety
    /// `array` is 16-aligned and holds the array, and nobody writes it while the kernel runs; the row is in the array.
    #[inline(always)]
    pub unsafe fn load(&self, array: *const U32x4, start: u64, part: u64) -> Lane {
        let unit = start.wrapping_add(self.column) / 16 + part;
        if self.live && (ALIGNED || unit < self.whole) {
            // SAFETY: tested; rows of whole units are in the array whole.
            unsafe { lane_of(global::load_streaming_v4(array.add(unit as usize))) }
        } else {
            [0; 4]
        }
    }

    /// The lane's bytes from the units that [`Self::load`] gave.
    #[inline(always)]
    pub fn settle(start: u64, parts: [Lane; 2]) -> Lane {
        if ALIGNED { parts[0] } else { join::<W>(parts[0], parts[1], start as u32 & 15) }
    }

    /// Writes the lanes' bytes to the row that begins at byte `start`. All lanes of a warp call this.
    ///
    /// # Safety
    /// As for [`Self::load`], but for writing: no other warp has this strip of the row.
    #[inline(always)]
    pub unsafe fn store(&self, array: *mut U32x4, start: u64, v: Lane) {
        if ALIGNED {
            if self.live {
                // SAFETY: the caller's word.
                unsafe { global::store_streaming_v4(array.add((start + self.column) as usize / 16), vector_of(v)) };
            }
            return;
        }
        let phase = start as u32 & 15;
        let moved = join::<W>(from_below(v), v, 16 - phase);
        // How much of the row is behind the begin of the lane's unit.
        let left = self.left + phase as i32;
        let at = start.wrapping_add(self.column).wrapping_sub(u64::from(phase));
        let to = array.cast::<u8>().wrapping_add(at as usize);
        let begins_before = self.column == 0 && phase > 0;
        // SAFETY: each branch stays inside the row.
        unsafe {
            if left >= 16 && !begins_before {
                global::store_streaming_v4(to.cast(), vector_of(moved));
            } else if begins_before {
                store_elements::<W>(to.wrapping_add(phase as usize), v, 16 - phase);
            } else if left > 0 && at / 16 < self.whole {
                store_elements::<W>(to, moved, left as u32);
            }
        }
    }
}

/// Writes the first `bytes` of a lane, element by element.
///
/// # Safety
/// `to` is aligned to elements and writable for `bytes`.
#[inline(always)]
unsafe fn store_elements<const W: u32>(to: *mut u8, v: Lane, bytes: u32) {
    let (mut v, mut done) = (v, 0);
    while done < bytes {
        // SAFETY: the caller's word.
        unsafe { put::<W>(to.add(done as usize), first::<W>(v)) };
        v = shift_out::<W>(v);
        // Opaque, so that the loop is not unrolled: it is rare.
        done = opaque(done + W);
    }
}

/// A sum for each row of a tile, for each warp of a block, in shared memory: a lane touches only its own 16 bytes.
#[repr(C, align(16))]
pub struct Tiles {
    rows: SharedArray<u32, { VOLUME_SUMS.shared_bytes as usize / 4 }>,
}

impl Tiles {
    #[inline(always)]
    fn at(row: u32) -> usize {
        let warp_index = thread::thread_idx_x() / 32;
        ((warp_index * TILE_ROWS as u32 + row) * (SLOT_BYTES as u32 / 4) + warp::lane_id() * 4) as usize
    }

    /// The calling lane's part of row `row` of its warp's tile.
    #[inline(always)]
    pub fn read(&self, row: u32) -> Lane {
        lane_of(self.rows.read_vec4(Self::at(row)))
    }

    /// Replaces it.
    #[inline(always)]
    pub fn write(&self, row: u32, v: Lane) {
        self.rows.write_vec4(Self::at(row), vector_of(v));
    }
}

/// The lane's 16 bytes of slot `slot` of those that begin at `slots` in scratch memory.
///
/// # Safety
/// There is such a slot.
#[inline(always)]
pub unsafe fn slot(memory: Memory, slots: u64, slot: u64) -> *mut U32x4 {
    let at = slots + slot * SLOT_BYTES + u64::from(warp::lane_id()) * 16;
    // SAFETY: the caller's word.
    unsafe { memory.scratch.byte_add(at as usize) }
}

/// The total of the elements of the warp's lowest `lanes` lanes; what stands above it has no meaning. All lanes of a warp call this,
/// and all get it.
#[inline(always)]
pub fn total<const W: u32>(v: Lane, lanes: u32) -> u64 {
    let counts = warp::lane_id() < lanes;
    match W {
        1 | 2 => warp::warp_reduce_add(ALL_LANES, if counts { signed_sum::<W>(v) as u32 } else { 0 }).into(),
        4 => {
            let sum = v[0].wrapping_add(v[1]).wrapping_add(v[2]).wrapping_add(v[3]);
            warp::warp_reduce_add(ALL_LANES, if counts { sum } else { 0 }).into()
        }
        _ => {
            let sum = if counts { signed_sum::<W>(v) } else { 0 };
            // Sums of 32 numbers of 16 bits have room in 32.
            let part = |bits: u64| u64::from(warp::warp_reduce_add(ALL_LANES, bits as u32));
            let lower = part(sum & 0xFFFF).wrapping_add(part(sum >> 16 & 0xFFFF) << 16);
            lower.wrapping_add(part(sum >> 32) << 32)
        }
    }
}

/// What the lanes know of one row.
#[derive(Clone, Copy)]
pub struct RowSums {
    /// The sums inside each lane.
    own: Lane,
    /// What the lanes below add up to.
    before: u64,
    /// What all lanes add up to, in the highest lane.
    upto: u64,
}

impl RowSums {
    /// Scans a row. All lanes of a warp call this.
    #[inline(always)]
    pub fn of<const W: u32>(v: Lane) -> Self {
        let own = prefix_sums::<W>(v, 0);
        let total = last::<W>(own);
        let upto = lane_sums::<W, 32>(total);
        Self { own, before: upto.wrapping_sub(total), upto }
    }

    /// The row's sums where `carry` is in front of it.
    #[inline(always)]
    pub fn after<const W: u32>(&self, carry: u64) -> Lane {
        add::<W>(self.own, broadcast::<W>(self.before.wrapping_add(carry)))
    }

    /// The row's total. All lanes of a warp call this, and all get it.
    #[inline(always)]
    pub fn total<const W: u32>(&self) -> u64 {
        element_from::<W>(self.upto, 31)
    }
}

/// The inclusive sums of the lanes' values in groups of `N` lanes. All lanes of a warp call this.
#[inline(always)]
pub fn lane_sums<const W: u32, const N: u32>(value: u64) -> u64 {
    let lane = warp::lane_id() % N;
    let mut sum = value;
    let mut distance = 1;
    while distance < N {
        let below: u64 = if W == 8 {
            warp::warp_shuffle_up(ALL_LANES, sum, distance, 32).0
        } else {
            warp::warp_shuffle_up(ALL_LANES, sum as u32, distance, 32).0.into()
        };
        if lane >= distance {
            sum = sum.wrapping_add(below);
        }
        distance *= 2;
    }
    sum
}

/// What stands to the left of strip `strip` in line `line`.
///
/// # Safety
/// There are such totals.
#[inline(always)]
pub unsafe fn carry<const W: u32>(memory: Memory, params: &InverseParams, strip: u64, line: u64) -> u64 {
    // SAFETY: the caller's word.
    unsafe {
        let totals = memory.scratch.byte_add(params.totals as usize).cast::<u8>();
        let mut sum = 0u64;
        if params.direct == 0 {
            sum = get::<W>(totals.add(((strip * params.lines + line) * u64::from(W)) as usize));
        } else {
            let mut left = 0;
            while left < strip {
                sum = sum.wrapping_add(get::<W>(totals.add(((left * params.lines + line) * u64::from(W)) as usize)));
                left += 1;
            }
        }
        sum
    }
}

/// Where the total of strip `strip` in line `line` stands.
///
/// # Safety
/// There is such a total.
#[inline(always)]
pub unsafe fn total_at<const W: u32>(memory: Memory, params: &InverseParams, strip: u64, line: u64) -> *mut u8 {
    let at = params.totals + (strip * params.lines + line) * u64::from(W);
    // SAFETY: the caller's word.
    unsafe { memory.scratch.cast::<u8>().add(at as usize) }
}
