//! How many words of a warp are longer than `k` bits, for every `k`, without counters in memory.
//!
//! A word with all bits below its highest set one has bit `k` set if and only if it is longer than `k`. So the question is
//! how often each bit is set: adders three registers wide count bit by bit in planes (a plane holds one binary digit of all
//! 32 counts), the planes are spread to bytes, and the bytes summed over the lanes.

use super::words::Piece;
use crate::collectives::ALL_LANES;
use cuda_std::{
    bits::{byte_permute, dp4a},
    warp,
};

/// Adds three planes of one weight: a plane of that weight, and one of twice the weight.
#[inline(always)]
fn add(a: u32, b: u32, c: u32) -> (u32, u32) {
    (a ^ b ^ c, a & b | a & c | b & c)
}

/// How often each bit is set in up to 32 registers: a plane for each binary digit.
#[derive(Clone, Copy, Default)]
struct Planes {
    ones: u32,
    twos: u32,
    fours: u32,
    eights: u32,
    sixteens: u32,
    thirty_twos: u32,
}

impl Planes {
    /// Counts two registers: what is left of them are the twos.
    #[inline(always)]
    fn two(&mut self, a: u32, b: u32) -> u32 {
        let (ones, twos) = add(self.ones, a, b);
        self.ones = ones;
        twos
    }

    /// Counts four registers: what is left of them are the fours.
    #[inline(always)]
    fn four(&mut self, v: [u32; 4]) -> u32 {
        let (a, b) = (self.two(v[0], v[1]), self.two(v[2], v[3]));
        let (twos, fours) = add(self.twos, a, b);
        self.twos = twos;
        fours
    }

    /// Adds a plane of fours.
    #[inline(always)]
    fn add_fours(&mut self, fours: u32) {
        let carry = self.fours & fours;
        self.fours ^= fours;
        self.add_eights(carry);
    }

    /// Adds a plane of eights.
    #[inline(always)]
    fn add_eights(&mut self, eights: u32) {
        let carry = self.eights & eights;
        self.eights ^= eights;
        self.thirty_twos |= self.sixteens & carry;
        self.sixteens ^= carry;
    }

    /// The counts of bits `r`, `r + 8`, `r + 16` and `r + 24`, a byte each.
    #[inline(always)]
    fn bytes(&self, r: u32) -> u32 {
        let digit = |plane: u32| plane >> r & 0x0101_0101;
        digit(self.ones)
            + (digit(self.twos) << 1)
            + (digit(self.fours) << 2)
            + (digit(self.eights) << 3)
            + (digit(self.sixteens) << 4)
            + (digit(self.thirty_twos) << 5)
    }
}

/// The counts of a warp's pieces so far.
#[derive(Clone, Copy, Default)]
pub struct Histogram<const W: u32> {
    /// Of 64-bit words the lower halves.
    planes: Planes,
    /// The upper halves of 64-bit words.
    upper: Planes,
}

impl<const W: u32> Histogram<W> {
    /// Counts this lane's pieces of two rows, whose words have all bits below the highest set one set.
    #[inline(always)]
    pub fn add(&mut self, rows: [Piece; 2]) {
        let [a, b] = rows;
        if W == 8 {
            let (lower, upper) = (self.planes.four([a[0], a[2], b[0], b[2]]), self.upper.four([a[1], a[3], b[1], b[3]]));
            self.planes.add_fours(lower);
            self.upper.add_fours(upper);
        } else {
            let (a, b) = (self.planes.four(a), self.planes.four(b));
            let (fours, eights) = add(self.planes.fours, a, b);
            self.planes.fours = fours;
            self.planes.add_eights(eights);
        }
    }

    /// How many words of the rows are longer than `k`, for every `k` below the word's bits, summed over the warp; packed in
    /// pairs, see [`position`]. All lanes of a warp call this; `store` is called by all lanes with each word's number and the
    /// word.
    #[inline(always)]
    pub fn sums(&self, mut store: impl FnMut(u32, u32)) {
        match W {
            1 => {
                let mut r = 0;
                while r < 8 {
                    // The four bytes are of the same bit of four words.
                    store(r, warp::warp_reduce_add(ALL_LANES, dp4a(self.planes.bytes(r), 0x0101_0101, 0)));
                    r += 1;
                }
            }
            2 => {
                let mut r = 0;
                while r < 8 {
                    let bytes = self.planes.bytes(r);
                    let both = bytes + (bytes >> 16);
                    store(r, warp::warp_reduce_add(ALL_LANES, byte_permute(both, 0, 0x4140)));
                    r += 1;
                }
            }
            4 => counts_of_32(&self.planes, 0, &mut store),
            _ => {
                counts_of_32(&self.planes, 0, &mut store);
                counts_of_32(&self.upper, 16, &mut store);
            }
        }
    }
}

/// Words of shared memory that a warp's counts take: two counts of 16 bits in each.
pub const COUNT_WORDS: usize = 32;

/// Where the count of `k` stands in what [`Histogram::sums`] stores: the word, and how far to shift.
#[inline(always)]
pub fn position<const W: u32>(k: u32) -> (u32, u32) {
    match W {
        1 => (k, 0),
        2 => (k % 8, k / 8 * 16),
        4 => (k % 16, k / 16 * 16),
        _ => (k / 32 * 16 + k % 16, k / 16 % 2 * 16),
    }
}

/// The counts of 32 different bits.
#[inline(always)]
fn counts_of_32(planes: &Planes, first: u32, store: &mut impl FnMut(u32, u32)) {
    let mut r = 0;
    while r < 8 {
        let bytes = planes.bytes(r);
        store(first + r, warp::warp_reduce_add(ALL_LANES, bytes & 0x00FF_00FF));
        store(first + r + 8, warp::warp_reduce_add(ALL_LANES, bytes >> 8 & 0x00FF_00FF));
        r += 1;
    }
}
