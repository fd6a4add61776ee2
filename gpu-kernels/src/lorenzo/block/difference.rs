//! Differences along the rows of a warp.

use super::super::packed::{Lane, element, last, mask, select, shift_in, sub};
use super::tile::Place;
use super::{LINES, for_lines};
use crate::collectives::ALL_LANES;
use cuda_std::{bits::opaque, warp};

/// Each element of a row minus the one before it, or minus `at_start` where a segment begins. `carry` is in lane 0 the element in front of the
/// row, and then the row's last one. All lanes of a warp call this.
///
/// `at_start` gives for a lane what to subtract from its elements that begin a segment, at the place of each: the first alone where
/// `ALIGNED`.
#[inline(always)]
pub fn difference_row<const W: u32, const ALIGNED: bool>(
    v: Lane,
    place: Place,
    carry: &mut u64,
    at_start: &Option<impl Fn(Place) -> Lane>,
) -> Lane {
    let lane = warp::lane_id();
    let from = lane.wrapping_sub(1) % 32;
    let own = last::<W>(v);
    let rotated = if W == 8 {
        warp::warp_shuffle_idx(ALL_LANES, own, from, 32).0
    } else {
        warp::warp_shuffle_idx(ALL_LANES, own as u32, from, 32).0.into()
    };
    let previous = if lane == 0 { *carry } else { rotated };
    *carry = rotated;
    if ALIGNED {
        let first = match (at_start, place.position == 0) {
            (_, false) => previous,
            (None, true) => 0,
            (Some(value), true) => element::<W>(value(place), 0),
        };
        return sub::<W>(v, shift_in::<W>(v, first));
    }
    let (before, starts) = (shift_in::<W>(v, previous), mask::<W>(opaque(place.starts)));
    let value = at_start.as_ref().map_or([0; 4], |value| value(place));
    sub::<W>(v, select(starts, value, before))
}

/// [`difference_row`] for all rows of a warp; `before` is the element in front of them, in lane 0.
#[inline(always)]
pub fn differences<const W: u32, const ALIGNED: bool>(
    rows: &mut [Lane; LINES],
    places: &[Place; LINES],
    before: u64,
    at_start: Option<impl Fn(Place) -> Lane>,
) {
    let mut carry = before;
    for_lines!(I => rows[I] = difference_row::<W, ALIGNED>(rows[I], places[I], &mut carry, &at_start));
}

/// [`differences`] whose segments begin with 0 in front of them.
#[inline(always)]
pub fn plain_differences<const W: u32, const ALIGNED: bool>(rows: &mut [Lane; LINES], places: &[Place; LINES], before: u64) {
    differences::<W, ALIGNED>(rows, places, before, NO_VALUE);
}

/// Nothing in front of a segment.
pub const NO_VALUE: Option<fn(Place) -> Lane> = None;
