//! What stands before each of a tile's segments: sums over the whole tile, so that a segment's own are differences of them. No sum has to
//! begin anew anywhere, and only the lane in which a segment begins knows where.

use super::super::packed::Lane;
use super::scan::{Exchange, of_last_lane, scan_group};
use super::tile::{Place, Tile};
use super::{LINES, for_lines};
use cuda_std::{bits::opaque, shared::SharedArray};
use shared_types::lorenzo::{BlockParams, STARTS_WORDS};

/// A number for each segment, in one word of 32 bits or two.
#[repr(C)]
pub struct Starts(SharedArray<u32, { STARTS_WORDS as usize }>);

impl Starts {
    /// Writes the number of a segment.
    #[inline(always)]
    pub fn write<const WORDS: u32>(&self, segment: u32, value: u64) {
        let at = (segment * WORDS) as usize;
        self.0.write(at, value as u32);
        if WORDS == 2 {
            self.0.write(at + 1, (value >> 32) as u32);
        }
    }

    /// The number of a segment; the upper half is 0 where there is one word.
    #[inline(always)]
    pub fn read<const WORDS: u32>(&self, segment: u32) -> u64 {
        let at = (segment * WORDS) as usize;
        let lower = u64::from(self.0.read(at));
        if WORDS == 2 { u64::from(self.0.read(at + 1)) << 32 | lower } else { lower }
    }
}

/// What stands before each of a lane's rows in the warp's rows, and what all of these add up to; `sum` gives that of a lane's elements. All lanes
/// of a warp call this.
#[inline(always)]
pub fn before_rows<const NARROW: bool>(rows: &[Lane; LINES], sum: impl Fn(Lane) -> u64) -> ([u64; LINES], u64) {
    let (mut before, mut all) = ([0; LINES], 0u64);
    // What has no meaning takes no register.
    let narrow = |x: u64| if NARROW { u64::from(x as u32) } else { x };
    for_lines!(I => {
        let own = sum(rows[I]);
        let upto = scan_group::<NARROW>(own, 32);
        before[I] = narrow(all.wrapping_add(upto.wrapping_sub(own)));
        all = narrow(all.wrapping_add(of_last_lane::<NARROW>(upto)));
    });
    (before, all)
}

/// The segment that begins in a lane, in the tile, and its first element, counted from the lane's first.
#[inline(always)]
pub fn begin<const W: u32>(place: Place, segments: u32, params: &BlockParams) -> Option<(u32, u32)> {
    // Masks made of the start are cheaper to make again than to keep for four rows.
    let (start, segment) = (opaque(place.start(params)), place.next_segment());
    if start < Tile::<W>::LANE && segment < segments { Some((segment, start)) } else { None }
}

/// How many segments the calling block's tile has.
#[inline(always)]
pub fn segments(first: u64, params: &BlockParams) -> u32 {
    let rest = params.segments - first;
    if rest < u64::from(params.tile_segments) { rest as u32 } else { params.tile_segments }
}

/// What the warps tell each other, and [`Starts`].
#[repr(C, align(16))]
pub struct StartsShared {
    /// The warps' sums.
    pub exchange: Exchange,
    /// The segments'.
    pub starts: Starts,
    /// The segments' means.
    pub means: Starts,
}
