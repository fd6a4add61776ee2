//! The sums of a tile's segments, and their means, in shared memory.
//!
//! A sum of 32 bits takes the elements as they are (`W` up to 2: at most 1024 times 2^15). Longer elements are added up 16 bits at a
//! time, so that no part overflows: shared memory adds words of 32 bits in one instruction.

use super::super::packed::{Lane, element, for_elements, keep, signed_sum};
use super::scan::scan_rows;
use super::tile::{Place, Tile, get};
use super::{LINES, for_lines};
use crate::collectives::ALL_LANES;
use cuda_std::{bits::byte_permute, shared::SharedArray, thread, vector::U32x4, warp};
use shared_types::lorenzo::{BlockParams, SUM_BYTES, sum_parts};

/// Parts of a sum; those that an element size does not need are 0.
type Parts = [u32; 4];

/// The sums of the segments, then their means, `sum_parts` words each.
#[repr(C)]
pub struct SegmentSums(SharedArray<u32, { SUM_BYTES as usize / 4 }>);

/// The parts of the sum of a lane's elements.
#[inline(always)]
fn lane_parts<const W: u32>(v: Lane) -> Parts {
    let low = |x: u32| x & 0xFFFF;
    match W {
        1 | 2 => [signed_sum::<W>(v) as u32, 0, 0, 0],
        4 => {
            let high = |x: u32| (x as i32 >> 16) as u32;
            let upper = high(v[0]).wrapping_add(high(v[1])).wrapping_add(high(v[2])).wrapping_add(high(v[3]));
            [low(v[0]) + low(v[1]) + low(v[2]) + low(v[3]), upper, 0, 0]
        }
        _ => [low(v[0]) + low(v[2]), (v[0] >> 16) + (v[2] >> 16), low(v[1]) + low(v[3]), (v[1] >> 16) + (v[3] >> 16)],
    }
}

/// The parts of element `k`.
#[inline(always)]
fn element_parts<const W: u32>(v: Lane, k: usize) -> Parts {
    let x = element::<W>(v, k);
    match W {
        1 => [x as i8 as u32, 0, 0, 0],
        2 => [x as i16 as u32, 0, 0, 0],
        4 => [x as u32 & 0xFFFF, (x as i32 >> 16) as u32, 0, 0],
        _ => [x as u32 & 0xFFFF, x as u32 >> 16, (x >> 32) as u32 & 0xFFFF, (x >> 48) as u32],
    }
}

/// The parts of a sum.
#[inline(always)]
fn sum_to_parts<const W: u32>(sum: u64) -> Parts {
    match W {
        1 | 2 => [sum as u32, 0, 0, 0],
        // At most 1024 times 2^31.
        4 => [sum as u32 & 0xFFFF, (sum >> 16) as u32, 0, 0],
        _ => [sum as u32 & 0xFFFF, sum as u32 >> 16, (sum >> 32) as u32 & 0xFFFF, (sum >> 48) as u32],
    }
}

#[inline(always)]
fn add_parts(a: Parts, b: Parts) -> Parts {
    [a[0].wrapping_add(b[0]), a[1].wrapping_add(b[1]), a[2].wrapping_add(b[2]), a[3].wrapping_add(b[3])]
}

/// What `each` makes of each part that elements of `W` bytes have.
#[inline(always)]
fn map_parts<const W: u32>(parts: Parts, each: impl Fn(u32) -> u32) -> Parts {
    let part = |i: u32| if i < sum_parts(W) { each(parts[i as usize]) } else { 0 };
    [part(0), part(1), part(2), part(3)]
}

/// The rounded mean of a segment whose elements add up to `sum`.
#[inline(always)]
pub fn mean<const W: u32>(sum: u64, last: bool, params: &BlockParams) -> u64 {
    let half = if last { params.last_length } else { params.length } / 2;
    if W <= 2 {
        // At most 1024 * 2^15 in 32 bits.
        let sum = sum as u32 as i32;
        let divisor = if last { params.last_position } else { params.position };
        let quotient = divisor.divide(sum.unsigned_abs() + half);
        return if sum < 0 { 0u32.wrapping_sub(quotient) } else { quotient }.into();
    }
    // The rounded sum may have wrapped, and with it changed its sign.
    let half = u64::from(half);
    let rounded = if (sum as i64) < 0 { sum.wrapping_sub(half) } else { sum.wrapping_add(half) } as i64;
    let quotient = if last { params.last_mean } else { params.mean }.divide(rounded.unsigned_abs());
    if rounded < 0 { 0u64.wrapping_sub(quotient) } else { quotient }
}

impl SegmentSums {
    /// Sets the sums to 0. All threads of a block call this, and pass a barrier before they add.
    #[inline(always)]
    pub fn clear<const W: u32>(&self, params: &BlockParams) {
        let mut word = thread::thread_idx_x();
        while word < params.tile_segments * sum_parts(W) {
            self.0.write(word as usize, 0);
            word += thread::block_dim_x();
        }
    }

    /// Fills in the means of the tile, whose first segment is `first` of the array's. All threads of a block call this, and pass a barrier
    /// before they ask for one.
    ///
    /// # Safety
    /// `means` is aligned and holds the array's.
    #[inline(always)]
    pub unsafe fn load_means<const W: u32>(&self, means: *const U32x4, first: u64, params: &BlockParams) {
        let rest = params.segments - first;
        let segments = if rest < u64::from(params.tile_segments) { rest as u32 } else { params.tile_segments };
        let mut segment = thread::thread_idx_x();
        while segment < params.tile_segments {
            // SAFETY: a segment of the array.
            let mean = if segment < segments { unsafe { get::<W>(means, (first + u64::from(segment)) as usize) } } else { 0 };
            let at = (segment * sum_parts(W)) as usize;
            self.0.write(at, mean as u32);
            if W == 8 {
                self.0.write(at + 1, (mean >> 32) as u32);
            }
            segment += thread::block_dim_x();
        }
    }

    /// Adds to a segment's sum. Segments that are not the tile's are left alone.
    #[inline(always)]
    fn add<const W: u32>(&self, segment: u32, parts: Parts, params: &BlockParams) {
        if segment < params.tile_segments {
            for i in 0..sum_parts(W) {
                self.0.fetch_add((segment * sum_parts(W) + i) as usize, parts[i as usize]);
            }
        }
    }

    /// Adds a row's elements to the sums of their segments. All lanes of a warp call this; what is not there is 0. Segments are
    /// `BlockKind::Short` where `SHORT`, and begin only where lanes do elsewhere.
    #[inline(always)]
    pub fn add_row<const W: u32, const SHORT: bool>(&self, v: Lane, place: Place, params: &BlockParams) {
        let lane = warp::lane_id();
        let inside = place.starts & ((1 << Tile::<W>::LANE) - 1);
        if SHORT {
            let (mut parts, mut segment) = (element_parts::<W>(v, 0), place.segment);
            for_elements!(K => if K > 0 && K < Tile::<W>::LANE as usize {
                if inside >> K & 1 != 0 {
                    self.add::<W>(segment, parts, params);
                    segment = segment.wrapping_add(1);
                    parts = [0; 4];
                }
                parts = add_parts(parts, element_parts::<W>(v, K));
            });
            self.add::<W>(segment, parts, params);
            return;
        }
        if params.length >= Tile::<W>::ROW {
            // At most one segment begins in the row: what stands before its first element, and the rest.
            let heads = warp::warp_vote_ballot(ALL_LANES, inside != 0);
            let total = map_parts::<W>(lane_parts::<W>(v), |part| warp::warp_reduce_add(ALL_LANES, part));
            if heads == 0 {
                if lane == 0 {
                    self.add::<W>(place.segment, total, params);
                }
                return;
            }
            let head = heads.trailing_zeros();
            let front = if lane < head { lane_parts::<W>(v) } else { [0; 4] };
            let front = map_parts::<W>(front, |part| warp::warp_reduce_add(ALL_LANES, part));
            if lane == 0 {
                self.add::<W>(place.segment, front, params);
            }
            if lane == 31 {
                let minus = |i: usize| total[i].wrapping_sub(front[i]);
                // The segment of the row's last element.
                let segment = place.segment.wrapping_add(u32::from(inside > 1));
                self.add::<W>(segment, [minus(0), minus(1), minus(2), minus(3)], params);
            }
        } else {
            // Aligned groups of lanes have one segment each.
            let mut parts = lane_parts::<W>(v);
            let mut distance = params.group / 2;
            while distance > 0 {
                let other = map_parts::<W>(parts, |part| warp::warp_shuffle_xor(ALL_LANES, part, distance, 32).0);
                parts = add_parts(parts, other);
                distance /= 2;
            }
            if lane & (params.group - 1) == 0 {
                self.add::<W>(place.segment, parts, params);
            }
        }
    }

    /// Adds all rows' elements to the sums of their segments, of which at most one begins in a lane. All lanes of a warp call this; what is not
    /// there is 0.
    #[inline(always)]
    pub fn add_rows<const W: u32>(&self, rows: &[Lane; LINES], places: &[Place; LINES], params: &BlockParams) {
        let (mut own, mut front, mut begins) = ([0u64; LINES], [0; LINES], [false; LINES]);
        for_lines!(I => {
            let start = places[I].start(params);
            begins[I] = start < Tile::<W>::LANE;
            if begins[I] {
                front[I] = signed_sum::<W>(keep::<W>(rows[I], (1 << start) - 1));
            }
            own[I] = signed_sum::<W>(rows[I]).wrapping_sub(front[I]);
        });
        let scans = if W <= 2 {
            scan_rows::<true>(&own, &begins, params.reach)
        } else {
            scan_rows::<false>(&own, &begins, params.reach)
        };
        // A lane adds to the segment that ends in it what came into the lane; the last one adds the rest.
        for_lines!(I => {
            let place = places[I];
            if begins[I] {
                let sum = scans[I].incoming.wrapping_add(front[I]);
                self.add::<W>(place.next_segment().wrapping_sub(1), sum_to_parts::<W>(sum), params);
            }
            if warp::lane_id() == 31 {
                let segment = if begins[I] { place.next_segment() } else { place.segment };
                self.add::<W>(segment, sum_to_parts::<W>(scans[I].total), params);
            }
        });
    }

    /// For each of a lane's elements the mean of its segment, where [`BlockKind::Short`](shared_types::lorenzo::BlockKind).
    #[inline(always)]
    pub fn short_means<const W: u32>(&self, place: Place, params: &BlockParams) -> Lane {
        let segment = |i: u32| self.mean::<W>(place.segment.wrapping_add(i), params) as u32;
        let inner = place.starts & !1;
        if W == 4 {
            let (first, second) = (segment(0), segment(1));
            return [1, 2, 4, 8].map(|bit: u32| if inner & (2 * bit - 1) == 0 { first } else { second });
        }
        let pair = |a: u32, b: u32| byte_permute(a, b, if W == 1 { 0x0040 } else { 0x5410 });
        // The means of all segments that a lane may have, packed: up to six of bytes, four of halves.
        let (lower, upper) = if W == 1 {
            let lower = byte_permute(pair(segment(0), segment(1)), pair(segment(2), segment(3)), 0x5410);
            (lower, if params.length < 5 { pair(segment(4), segment(5)) } else { 0 })
        } else {
            (pair(segment(0), segment(1)), pair(segment(2), segment(3)))
        };
        // Of four elements each, how many segments begun before: prefix sums of four bits, in as many digits.
        let begun = |bits: u32, before: u32| {
            let pairs = (bits & 15 | bits << 6) & 0x0303;
            let digits = (pairs | pairs << 3) & 0x1111;
            digits.wrapping_mul(0x1111).wrapping_add(before * 0x1111)
        };
        let count = |elements: u32| (inner & ((1 << elements) - 1)).count_ones();
        if W == 1 {
            return [0, 4, 8, 12].map(|k: u32| byte_permute(lower, upper, begun(inner >> k, count(k)) & 0xFFFF));
        }
        // The bytes of half `i` are `2 * i` and `2 * i + 1`.
        let halves = |digits: u32| {
            let spread = (digits & 15) | (digits & 0xF0) << 4;
            byte_permute(lower, upper, spread * 0x22 + 0x1010)
        };
        let (front, back) = (begun(inner, 0), begun(inner >> 4, count(4)));
        [halves(front), halves(front >> 8), halves(back), halves(back >> 8)]
    }

    /// Replaces a segment's sum by its mean, and returns it. One thread does this; `last` says whether the segment is the array's last.
    #[inline(always)]
    pub fn to_mean<const W: u32>(&self, segment: u32, last: bool, params: &BlockParams) -> u64 {
        let at = (segment * sum_parts(W)) as usize;
        let part = |i: usize| self.0.read(at + i);
        let sum = match W {
            1 | 2 => part(0).into(),
            4 => u64::from(part(0)).wrapping_add(((part(1) as i32 as i64) << 16) as u64),
            _ => {
                let shifted = |i: usize| u64::from(part(i)) << (16 * i);
                shifted(0).wrapping_add(shifted(1)).wrapping_add(shifted(2)).wrapping_add(shifted(3))
            }
        };
        let mean = mean::<W>(sum, last, params);
        self.0.write(at, mean as u32);
        if W == 8 {
            self.0.write(at + 1, (mean >> 32) as u32);
        }
        mean
    }

    /// A segment's mean, in the lowest bits; 0 for segments that are not the tile's.
    #[inline(always)]
    pub fn mean<const W: u32>(&self, segment: u32, params: &BlockParams) -> u64 {
        if segment >= params.tile_segments {
            return 0;
        }
        let at = (segment * sum_parts(W)) as usize;
        let lower = self.0.read(at).into();
        if W == 8 { u64::from(self.0.read(at + 1)) << 32 | lower } else { lower }
    }
}
