//! Differences along the rows of a warp.

use super::super::packed::{Lane, broadcast, keep, last, mask, shift_in, sub};
use super::tile::Place;
use super::{LINES, for_lines};
use crate::collectives::ALL_LANES;
use cuda_std::warp;

/// Replaces each element by its difference from the one before it, or from `at_start` where a segment begins. `before` is the
/// element in front of the warp's rows, in lane 0. All lanes of a warp call this.
///
/// `at_start` gives the number to subtract from the element that begins a segment, by row and by the number of the start among
/// those of the lane (0 where `ALIGNED`).
#[inline(always)]
pub fn differences<const W: u32, const ALIGNED: bool>(
    rows: &mut [Lane; LINES],
    places: &[Place; LINES],
    before: u64,
    at_start: Option<impl Fn(Place, u32) -> u64>,
) {
    let lane = warp::lane_id();
    // In lane 0: the element in front of the row.
    let mut carry = before;
    for_lines!(I => {
        let from = lane.wrapping_sub(1) % 32;
        let own = last::<W>(rows[I]);
        let rotated = if W == 8 {
            warp::warp_shuffle_idx(ALL_LANES, own, from, 32).0
        } else {
            warp::warp_shuffle_idx(ALL_LANES, own as u32, from, 32).0.into()
        };
        let previous = if lane == 0 { carry } else { rotated };
        carry = rotated;
        let place = places[I];
        let reference = if ALIGNED {
            let first = match (&at_start, place.position == 0) {
                (_, false) => previous,
                (None, true) => 0,
                (Some(value), true) => value(place, 0),
            };
            shift_in::<W>(rows[I], first)
        } else {
            let mut reference = keep::<W>(shift_in::<W>(rows[I], previous), !place.starts);
            if let Some(value) = &at_start {
                let mut rest = place.starts & ((1 << (16 / W)) - 1);
                let mut number = 0;
                while rest != 0 {
                    let (m, x) = (mask::<W>(rest & rest.wrapping_neg()), broadcast::<W>(value(place, number)));
                    reference = [reference[0] | m[0] & x[0], reference[1] | m[1] & x[1], reference[2] | m[2] & x[2], reference[3] | m[3] & x[3]];
                    rest &= rest - 1;
                    number += 1;
                }
            }
            reference
        };
        rows[I] = sub::<W>(rows[I], reference);
    });
}

/// [`differences`] whose segments begin with 0 in front of them.
#[inline(always)]
pub fn plain_differences<const W: u32, const ALIGNED: bool>(rows: &mut [Lane; LINES], places: &[Place; LINES], before: u64) {
    differences::<W, ALIGNED>(rows, places, before, None::<fn(Place, u32) -> u64>);
}
