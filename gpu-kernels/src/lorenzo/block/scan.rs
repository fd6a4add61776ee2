//! Sums along the rows of a warp that begin anew wherever a segment does.

use super::super::packed::{Lane, sum};
use super::{LINES, for_lines};
use crate::collectives::ALL_LANES;
use cuda_std::{shared::SharedArray, thread, warp};

/// What the lanes know of one row. Sums are modulo `2^64`, or `2^32` where `NARROW`.
#[derive(Clone, Copy, Default)]
pub struct RowScan {
    /// The sum since the last start before the lane, or since the row's begin.
    pub incoming: u64,
    /// As `incoming`, behind the last lane; the same in every lane.
    pub total: u64,
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

/// The `value` of the lane `distance` below this one in its group of `width` lanes, and whether there is one.
#[inline(always)]
fn up<const NARROW: bool>(value: u64, distance: u32, width: u32) -> (u64, bool) {
    if NARROW {
        let (other, there) = warp::warp_shuffle_up(ALL_LANES, value as u32, distance, width);
        (other.into(), there)
    } else {
        warp::warp_shuffle_up(ALL_LANES, value, distance, width)
    }
}

/// Lane 31's `value`.
#[inline(always)]
pub fn of_last_lane<const NARROW: bool>(value: u64) -> u64 {
    if NARROW {
        warp::warp_shuffle_idx(ALL_LANES, value as u32, 31, 32).0.into()
    } else {
        warp::warp_shuffle_idx(ALL_LANES, value, 31, 32).0
    }
}

/// The sum of `own` in the lanes up to and with this one of its group of `group` lanes, a power of two and the same in all lanes. All
/// lanes of a warp call this.
#[inline(always)]
pub fn scan_group<const NARROW: bool>(own: u64, group: u32) -> u64 {
    let mut sum = own;
    let mut distance = 1;
    while distance < 32 {
        if distance >= group {
            break;
        }
        let (other, there) = up::<NARROW>(sum, distance, group);
        sum = sum.wrapping_add(if there { other } else { 0 });
        distance *= 2;
    }
    sum
}

/// For segments of `length` elements, a power of two, that are whole lanes and of which a warp's rows are whole ones: what stands before the
/// lane in its segment, given its elements `v` of row `i`. Rows come in order, with the same `carry`. All lanes of a warp call this.
#[inline(always)]
pub fn before_in_whole<const W: u32>(v: Lane, i: usize, length: u32, carry: &mut u64) -> u64 {
    let (row, lane) = (512 / W, 16 / W);
    let own = sum::<W>(v);
    let scan = |group: u32| if W == 8 { scan_group::<false>(own, group) } else { scan_group::<true>(own, group) };
    if length <= row {
        return scan(length / lane).wrapping_sub(own);
    }
    let upto = scan(32);
    let carried = if i as u32 * row & (length - 1) == 0 { 0 } else { *carry };
    let total = if W == 8 { of_last_lane::<false>(upto) } else { of_last_lane::<true>(upto) };
    *carry = carried.wrapping_add(total);
    carried.wrapping_add(upto.wrapping_sub(own))
}

/// What stands before the lane in its segment, of all rows; segments as for [`before_in_whole`]. All rows take a step before any takes the
/// next: none waits for itself alone.
#[inline(always)]
pub fn before_in_whole_rows<const W: u32>(rows: &[Lane; LINES], length: u32) -> [u64; LINES] {
    let (row, lane) = (512 / W, 16 / W);
    let group = if length <= row { length / lane } else { 32 };
    let mut own = [0u64; LINES];
    for_lines!(I => own[I] = sum::<W>(rows[I]));
    let mut upto = own;
    let mut distance = 1;
    while distance < group {
        for_lines!(I => {
            let (other, there) =
                if W == 8 { up::<false>(upto[I], distance, group) } else { up::<true>(upto[I], distance, group) };
            upto[I] = upto[I].wrapping_add(if there { other } else { 0 });
        });
        distance *= 2;
    }
    let mut before = [0; LINES];
    for_lines!(I => before[I] = upto[I].wrapping_sub(own[I]));
    if length > row {
        let mut carry = 0u64;
        for_lines!(I => {
            if I as u32 * row & (length - 1) == 0 {
                carry = 0;
            }
            before[I] = before[I].wrapping_add(carry);
            carry = carry.wrapping_add(if W == 8 { of_last_lane::<false>(upto[I]) } else { of_last_lane::<true>(upto[I]) });
        });
    }
    before
}

/// Scans a row; [`scan_rows`] for one, of segments of any length.
#[inline(always)]
pub fn scan_row<const NARROW: bool>(own: u64, starts: bool) -> RowScan {
    let [scan, ..] = scan_rows::<NARROW>(&[own, 0, 0, 0], &[starts, false, false, false], 32);
    scan
}

/// Scans the rows. `own` is the lane's sum since its last start or, where there is none, of all it has; `starts` says whether there is
/// one; no segment goes through more than `reach` lanes, as all of a warp say. All lanes of a warp call this. All rows take a step before
/// any takes the next: none waits for itself alone.
#[inline(always)]
pub fn scan_rows<const NARROW: bool>(own: &[u64; LINES], starts: &[bool; LINES], reach: u32) -> [RowScan; LINES] {
    let lane = warp::lane_id();
    // How far the nearest lane at or below this one is in which a segment begins; lane 0 where there is none.
    let (mut heads, mut near, mut sum) = ([0; LINES], [0; LINES], *own);
    for_lines!(I => {
        heads[I] = warp::warp_vote_ballot(ALL_LANES, starts[I]);
        let below = heads[I] & (u32::MAX >> (31 - lane));
        near[I] = lane - (31 - (below | 1).leading_zeros());
    });
    let mut distance = 1;
    while distance < reach {
        for_lines!(I => {
            let other = up::<NARROW>(sum[I], distance, 32).0;
            if near[I] >= distance {
                sum[I] = sum[I].wrapping_add(other);
            }
        });
        distance *= 2;
    }
    let mut scans = [RowScan::default(); LINES];
    for_lines!(I => {
        let (incoming, there) = up::<NARROW>(sum[I], 1, 32);
        let total = of_last_lane::<NARROW>(sum[I]);
        scans[I] = RowScan { incoming: if there { incoming } else { 0 }, total, heads: heads[I] };
    });
    scans
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
    /// The `own` of the last lane of the warp below; 0 in the lowest. All threads of a block call this, with the same `pass` (0 or 1), once
    /// for each.
    #[inline(always)]
    pub fn last_of_warp_below(&self, pass: u32, own: u64) -> u64 {
        let warp_index = thread::thread_idx_x() / 32;
        if warp::lane_id() == 31 {
            self.sum.write((pass * 8 + warp_index) as usize, own);
        }
        thread::sync_threads(); // sum
        if warp_index == 0 { 0 } else { self.sum.read((pass * 8 + warp_index - 1) as usize) }
    }

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
