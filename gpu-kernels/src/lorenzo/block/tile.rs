//! Which elements a lane has.

use super::super::packed::{Lane, element, keep, lane_of, starts, vector_of, wide};
use super::{LINES, for_lines};
use cuda_std::{bits::funnel_shift_left_wrap, global, shared::SharedArray, thread, vector::U32x4, warp};
use shared_types::lorenzo::{BlockParams, ROWS};

/// Repeats `$body` for the registers 0 to 3 of a lane, each time with `$r` as a constant.
macro_rules! for_registers {
    ($r:ident => $body:expr) => {{
        for_registers!($r, $body, 0, 1, 2, 3);
    }};
    ($r:ident, $body:expr, $($register:literal),*) => {$({
        const $r: usize = $register;
        $body
    })*};
}

/// A lane's part of a tile of elements of `W` bytes.
///
/// Rows begin at multiples of 16 bytes. Where the tile does not, its first row begins with up to `15 / W` elements of the tile before.
#[derive(Clone, Copy)]
pub struct Tile<const W: u32> {
    /// The first row's first element in the array.
    pub first: u64,
    /// Elements of the first row that belong to the tile before.
    pub lead: u32,
    /// Elements in the rows, those in front of the tile with them.
    pub live: u32,
    /// The lane's first element in the first row, counted from `first`.
    pub at: u32,
}

/// Where a lane's elements of one row stand in their segments.
#[derive(Clone, Copy, Default)]
pub struct Place {
    /// The first element's position in its segment.
    pub position: u32,
    /// The segment of the first element, in the tile.
    pub segment: u32,
    /// Bit `k`: element `k` begins a segment; one bit more than there are elements, see [`starts`].
    pub starts: u32,
}

impl<const W: u32> Tile<W> {
    /// Elements of a lane in a row.
    pub const LANE: u32 = 16 / W;
    /// Elements of a row.
    pub const ROW: u32 = 512 / W;

    /// The calling lane's part of its block's tile.
    #[inline(always)]
    pub fn own(params: &BlockParams) -> Self {
        let tile = params.tile_segments * params.length;
        let first = u64::from(thread::block_idx_x()) * u64::from(tile);
        let rest = params.elements - first;
        let lead = first as u32 & (Self::LANE - 1);
        let live = lead + if rest < u64::from(tile) { rest as u32 } else { tile };
        let at = thread::thread_idx_x() / 32 * (ROWS * Self::ROW) + warp::lane_id() * Self::LANE;
        Self { first: first - u64::from(lead), lead, live, at }
    }

    /// The lane's first 16 bytes in the array, in units of 16 bytes.
    #[inline(always)]
    fn unit(self) -> usize {
        ((self.first + u64::from(self.at)) / u64::from(Self::LANE)) as usize
    }

    /// How many of the lane's elements of row `i` there are, those in front of the tile with them.
    #[inline(always)]
    pub fn have(self, i: usize) -> u32 {
        self.live.saturating_sub(self.at + i as u32 * Self::ROW).min(Self::LANE)
    }

    /// How many of the lane's elements of row `i` stand in front of the tile: of the first lane's in the first row.
    #[inline(always)]
    fn skip(self, i: usize) -> u32 {
        if i == 0 && self.at == 0 { self.lead } else { 0 }
    }

    /// The place of the lane's elements of the first row; call `next` for each row behind it.
    #[inline(always)]
    pub fn first_place(self, params: &BlockParams) -> Place {
        // Counted from the start of a segment at or in front of the row's.
        let before = params.position.divide(self.lead + params.length - 1);
        let at = self.at + before * params.length - self.lead;
        let segment = params.position.divide(at);
        let position = at - segment * params.length;
        Place { position, segment: segment.wrapping_sub(before), starts: starts(position, params.length, params.pattern) }
    }

    /// The lane's elements of row `i`; zeros where there are none.
    ///
    /// # Safety
    /// `array` is 16-aligned and holds the array.
    #[inline(always)]
    unsafe fn load_row(self, i: usize, array: *const U32x4) -> Lane {
        let (have, skip) = (self.have(i), self.skip(i));
        // SAFETY: the first element of the lane is in the array wherever `have` is not 0, and a multiple of 16 bytes from its start.
        let v = unsafe {
            let from = array.add(self.unit() + 32 * i);
            if have == Self::LANE {
                lane_of(global::load_streaming_v4(from))
            } else {
                // The array's last elements, byte by byte from behind.
                let (from, mut v) = (from.cast::<u8>(), [0u32; 4]);
                let mut left = have * W;
                while left > 0 {
                    left -= 1;
                    let up = |below: u32, own: u32| funnel_shift_left_wrap(below, own, 8);
                    v = [v[0] << 8 | u32::from(*from.add(left as usize)), up(v[0], v[1]), up(v[1], v[2]), up(v[2], v[3])];
                }
                v
            }
        };
        if i == 0 && skip > 0 { keep::<W>(v, u32::MAX << skip) } else { v }
    }

    /// The lane's elements of all rows.
    ///
    /// # Safety
    /// As for [`Self::load_row`].
    #[inline(always)]
    pub unsafe fn load(self, array: *const U32x4) -> [Lane; LINES] {
        let mut rows = [[0; 4]; LINES];
        // SAFETY: the caller's word.
        for_lines!(I => rows[I] = unsafe { self.load_row(I, array) });
        rows
    }

    /// Writes the lane's elements of row `i`, as many as there are.
    ///
    /// # Safety
    /// `array` is 16-aligned, holds the array, and nobody else writes the tile's elements.
    #[inline(always)]
    unsafe fn store_row(self, i: usize, array: *mut U32x4, v: Lane) {
        let (have, skip) = (self.have(i), self.skip(i));
        // SAFETY: as for `load_row`.
        unsafe {
            let to = array.add(self.unit() + 32 * i);
            if have == Self::LANE && skip == 0 {
                global::store_streaming_v4(to, vector_of(v));
                return;
            }
            // A lane at an end of the tile: whole registers where there are such, else elements.
            let to = to.cast::<u8>();
            let each = if W < 4 { 4 / W } else { 1 };
            for_registers!(R => if W < 8 || R % 2 == 0 {
                let first = R as u32 * 4 / W;
                if first >= skip && first + each <= have {
                    if W == 8 {
                        *to.add(4 * R).cast::<u64>() = wide(v[R], v[(R + 1) % 4]);
                    } else {
                        *to.add(4 * R).cast::<u32>() = v[R];
                    }
                } else if W < 4 {
                    let mut k = 0;
                    while k < each {
                        if first + k >= skip && first + k < have {
                            let part = v[R] >> (8 * W * k);
                            if W == 1 {
                                *to.add(4 * R + k as usize) = part as u8;
                            } else {
                                *to.add(4 * R + 2 * k as usize).cast::<u16>() = part as u16;
                            }
                        }
                        k += 1;
                    }
                }
            });
        }
    }

    /// Writes the lane's elements of all rows, as many as there are.
    ///
    /// # Safety
    /// As for [`Self::store_row`].
    #[inline(always)]
    pub unsafe fn store(self, array: *mut U32x4, rows: &[Lane; LINES]) {
        // SAFETY: the caller's word.
        for_lines!(I => unsafe { self.store_row(I, array, rows[I]) });
    }

    /// The two elements in front of the warp's rows, the nearest first, in lane 0; zeros for the block's first warp. All threads of a
    /// block call this unless segments are independent of warps; it has a barrier.
    #[inline(always)]
    pub fn before(rows: &[Lane; LINES], ends: &Ends) -> [u64; 2] {
        Self::tell_ends(rows, ends);
        thread::sync_threads(); // ends
        Self::told_ends(ends)
    }

    /// The first half of [`Self::before`]: a barrier must come between it and [`Self::told_ends`].
    #[inline(always)]
    pub fn tell_ends(rows: &[Lane; LINES], ends: &Ends) {
        let warp_index = thread::thread_idx_x() / 32;
        if warp::lane_id() == 31 {
            let lane = (Self::LANE - 1) as usize;
            ends.0.write((2 * warp_index) as usize, element::<W>(rows[LINES - 1], lane));
            ends.0.write((2 * warp_index + 1) as usize, element::<W>(rows[LINES - 1], lane - 1));
        }
    }

    /// See [`Self::tell_ends`].
    #[inline(always)]
    pub fn told_ends(ends: &Ends) -> [u64; 2] {
        let warp_index = thread::thread_idx_x() / 32;
        if warp_index == 0 {
            return [0, 0];
        }
        [ends.0.read((2 * warp_index - 2) as usize), ends.0.read((2 * warp_index - 1) as usize)]
    }
}

/// The last two elements of each warp's rows, the last one first.
#[repr(C)]
pub struct Ends(SharedArray<u64, 16>);

impl Place {
    /// The first element that begins a segment, counted from the lane's first; a lane's elements or more where there is none.
    #[inline(always)]
    pub fn start(self, params: &BlockParams) -> u32 {
        if self.position == 0 { 0 } else { params.length - self.position }
    }

    /// The segment that begins at [`Self::start`], in the tile.
    #[inline(always)]
    pub fn next_segment(self) -> u32 {
        self.segment.wrapping_add(u32::from(self.position != 0))
    }

    /// The same lane's place in the next row.
    #[inline(always)]
    pub fn next(self, params: &BlockParams) -> Self {
        let (mut position, mut segment) = (self.position + params.row_rest, self.segment.wrapping_add(params.row_segments));
        if position >= params.length {
            position -= params.length;
            segment = segment.wrapping_add(1);
        }
        Self { position, segment, starts: starts(position, params.length, params.pattern) }
    }
}

/// Element `index` of an array of elements of `W` bytes.
///
/// # Safety
/// It is in the array, and aligned.
#[inline(always)]
pub unsafe fn get<const W: u32>(array: *const U32x4, index: usize) -> u64 {
    // SAFETY: the caller's word.
    unsafe {
        match W {
            1 => (*array.cast::<u8>().add(index)).into(),
            2 => (*array.cast::<u16>().add(index)).into(),
            4 => (*array.cast::<u32>().add(index)).into(),
            _ => *array.cast::<u64>().add(index),
        }
    }
}
