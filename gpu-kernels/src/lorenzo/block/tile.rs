//! Which elements a lane has.

use super::super::packed::{Lane, lane_of, starts, vector_of};
use cuda_std::{bits::funnel_shift_left_wrap, bits::funnel_shift_right_wrap, global, thread, vector::U32x4, warp};
use shared_types::lorenzo::{BlockParams, ROWS};

/// A lane's part of a tile of elements of `W` bytes.
#[derive(Clone, Copy)]
pub struct Tile<const W: u32> {
    /// The tile's first element in the array.
    pub first: u64,
    /// Elements of the tile.
    pub live: u32,
    /// The lane's first element in the tile.
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
        let live = if rest < u64::from(tile) { rest as u32 } else { tile };
        let at = thread::thread_idx_x() / 32 * (ROWS * Self::ROW) + warp::lane_id() * Self::LANE;
        Self { first, live, at }
    }

    /// The lane's first 16 bytes in the array, in units of 16 bytes.
    #[inline(always)]
    fn unit(self) -> usize {
        ((self.first + u64::from(self.at)) / u64::from(Self::LANE)) as usize
    }

    /// How many of the lane's elements of row `i` there are.
    #[inline(always)]
    pub fn have(self, i: usize) -> u32 {
        self.live.saturating_sub(self.at + i as u32 * Self::ROW).min(Self::LANE)
    }

    /// The places of the rows, one after the other: call `next` for each behind the first.
    #[inline(always)]
    pub fn first_place(self, params: &BlockParams) -> Place {
        let segment = params.position.divide(self.at);
        let position = self.at - segment * params.length;
        Place { position, segment, starts: starts(position, params.length, params.pattern) }
    }

    /// The lane's elements of row `i`; zeros where there are none.
    ///
    /// # Safety
    /// `array` is 16-aligned and holds the array.
    #[inline(always)]
    pub unsafe fn load(self, i: usize, array: *const U32x4) -> Lane {
        let have = self.have(i);
        // SAFETY: the first element of the lane is in the array wherever `have` is not 0, and a multiple of 16 bytes from its start.
        unsafe {
            let from = array.add(self.unit() + 32 * i);
            if have == Self::LANE {
                return lane_of(global::load_streaming_v4(from));
            }
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
    }

    /// Writes the lane's elements of row `i`, as many as there are.
    ///
    /// # Safety
    /// `array` is 16-aligned, holds the array, and nobody else writes these elements.
    #[inline(always)]
    pub unsafe fn store(self, i: usize, array: *mut U32x4, v: Lane) {
        let have = self.have(i);
        // SAFETY: as for `load`.
        unsafe {
            let to = array.add(self.unit() + 32 * i);
            if have == Self::LANE {
                global::store_streaming_v4(to, vector_of(v));
                return;
            }
            let (to, mut v) = (to.cast::<u8>(), v);
            let mut done = 0;
            while done < have * W {
                *to.add(done as usize) = v[0] as u8;
                let down = |own: u32, above: u32| funnel_shift_right_wrap(own, above, 8);
                v = [down(v[0], v[1]), down(v[1], v[2]), down(v[2], v[3]), v[3] >> 8];
                done += 1;
            }
        }
    }

    /// The elements one and two places in front of the lane's first one, for the lane that begins a warp's rows; zeros for all
    /// others, and where the tile begins or ended before.
    ///
    /// # Safety
    /// As for [`Self::load`].
    #[inline(always)]
    pub unsafe fn before(self, array: *const U32x4) -> [u64; 2] {
        if warp::lane_id() != 0 || self.at == 0 || self.at >= self.live {
            return [0, 0];
        }
        let index = (self.first + u64::from(self.at)) as usize;
        // SAFETY: `at` is a whole number of rows.
        unsafe { [get::<W>(array, index - 1), get::<W>(array, index - 2)] }
    }
}

impl Place {
    /// The same lane's place in the next row.
    #[inline(always)]
    pub fn next(self, params: &BlockParams) -> Self {
        let (mut position, mut segment) = (self.position + params.row_rest, self.segment + params.row_segments);
        if position >= params.length {
            position -= params.length;
            segment += 1;
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
