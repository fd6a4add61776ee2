//! Sums along the rows of a warp that begin anew wherever a segment does.

use crate::collectives::ALL_LANES;
use cuda_std::{shared::SharedArray, thread, warp};

/// What the lanes know of one row. Sums are modulo `2^64`, or `2^32` where `NARROW`.
#[derive(Clone, Copy, Default)]
pub struct RowScan {
    /// The sum since the last start before the lane, or since the row's begin.
    pub incoming: u64,
    /// As `incoming`, behind the last lane; the same in every lane.
    total: u64,
    /// Bit `l`: a segment begins in lane `l`.
    heads: u32,
}

/// A sum that goes on from row to row, and whether a segment began in between.
#[derive(Clone, Copy, Default)]
pub struct Carry {
    /// The sum since the last start.
    pub sum: u64,
    /// Whether there was a start.
    pub closed: bool,
}

/// Scans a row. `own` is the lane's sum since its last start or, where there is none, of all it has; `starts` says whether there is
/// one. All lanes of a warp call this.
#[inline(always)]
pub fn scan_row<const NARROW: bool>(own: u64, starts: bool) -> RowScan {
    let lane = warp::lane_id();
    let heads = warp::warp_vote_ballot(ALL_LANES, starts);
    // The nearest lane at or below this one in which a segment begins; lane 0 where there is none.
    let below = heads & (u32::MAX >> (31 - lane));
    let nearest = 31 - (below | 1).leading_zeros();
    let up = |value: u64, distance: u32| -> u64 {
        if NARROW {
            warp::warp_shuffle_up(ALL_LANES, value as u32, distance, 32).0.into()
        } else {
            warp::warp_shuffle_up(ALL_LANES, value, distance, 32).0
        }
    };
    let mut sum = own;
    let mut distance = 1;
    while distance < 32 {
        let other = up(sum, distance);
        if lane >= nearest + distance {
            sum = sum.wrapping_add(other);
        }
        distance *= 2;
    }
    let incoming = up(sum, 1);
    let total = if NARROW {
        warp::warp_shuffle_idx(ALL_LANES, sum as u32, 31, 32).0.into()
    } else {
        warp::warp_shuffle_idx(ALL_LANES, sum, 31, 32).0
    };
    RowScan { incoming: if lane == 0 { 0 } else { incoming }, total, heads }
}

impl RowScan {
    /// What comes into the lane, given what comes into the row; whether it stands before all starts so far; and what comes out of the
    /// row.
    #[inline(always)]
    pub fn chain(self, carry: Carry) -> (u64, bool, Carry) {
        let open = self.heads & ((1 << warp::lane_id()) - 1) == 0;
        let incoming = self.incoming.wrapping_add(if open { carry.sum } else { 0 });
        let next = if self.heads == 0 {
            Carry { sum: self.total.wrapping_add(carry.sum), closed: carry.closed }
        } else {
            Carry { sum: self.total, closed: true }
        };
        (incoming, open && !carry.closed, next)
    }
}

/// What the eight warps of a block tell each other, once per pass over the data.
#[repr(C)]
pub struct Exchange {
    sum: SharedArray<u64, 16>,
    closed: SharedArray<u32, 16>,
}

impl Exchange {
    /// What comes into the calling warp, whose own rows' carry is `own`. All threads of a block call this, with the same `pass` (0 or 1),
    /// once for each.
    #[inline(always)]
    pub fn incoming(&self, pass: u32, own: Carry) -> Carry {
        let warp_index = thread::thread_idx_x() / 32;
        if warp::lane_id() == 0 {
            self.sum.write((pass * 8 + warp_index) as usize, own.sum);
            self.closed.write((pass * 8 + warp_index) as usize, own.closed.into());
        }
        thread::sync_threads(); // sum, closed
        let mut carry = Carry::default();
        let mut w = pass * 8;
        while w < pass * 8 + warp_index {
            let sum = self.sum.read(w as usize);
            carry.sum = if self.closed.read(w as usize) != 0 { sum } else { sum.wrapping_add(carry.sum) };
            w += 1;
        }
        carry
    }
}
