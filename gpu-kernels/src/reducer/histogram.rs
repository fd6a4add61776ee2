//! How many words of a warp are longer than `k` bits, for every `k`, without counters in memory.
//!
//! A word with all bits below its highest set one has bit `k` set if and only if it is longer than `k`; it is made, and counted,
//! with its bits reversed. So the question is how often each bit is set: adders three registers wide count bit by bit in planes (a plane holds one binary digit of all
//! 32 counts), the planes are spread to bytes, and the bytes summed over the lanes.

use super::words::Piece;
use crate::collectives::ALL_LANES;
use cuda_std::{
    bits::{byte_permute, dp4a},
    vector::U32x4,
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

    /// The counts of bits `r`, `r + 8`, `r + 16` and `r + 24`, a byte each, for `r` from 0 to 7.
    #[inline(always)]
    fn bytes(&self) -> [u32; 8] {
        // Two planes to fields of two bits for every second bit, the even ones and the odd ones.
        let pairs = |lower: u32, upper: u32| {
            [(lower & 0x5555_5555) | (upper << 1 & 0xAAAA_AAAA), (lower >> 1 & 0x5555_5555) | (upper & 0xAAAA_AAAA)]
        };
        let digits = [pairs(self.ones, self.twos), pairs(self.fours, self.eights), pairs(self.sixteens, self.thirty_twos)];
        let mut bytes = [0; 8];
        let mut i = 0;
        while i < 2 {
            let (a, b, c) = (digits[0][i], digits[1][i], digits[2][i]);
            // Fields of four bits for every fourth bit: the lower four digits, and the upper two.
            let lower = [(a & 0x3333_3333) | (b << 2 & 0xCCCC_CCCC), (a >> 2 & 0x3333_3333) | (b & 0xCCCC_CCCC)];
            let upper = [c & 0x3333_3333, c >> 2 & 0x3333_3333];
            let mut j = 0;
            while j < 2 {
                bytes[2 * j + i] = (lower[j] & 0x0F0F_0F0F) | (upper[j] << 4 & 0xF0F0_F0F0);
                bytes[4 + 2 * j + i] = (lower[j] >> 4 & 0x0F0F_0F0F) | (upper[j] & 0xF0F0_F0F0);
                j += 1;
            }
            i += 1;
        }
        bytes
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
    /// Counts this lane's pieces of two rows, as [`thermometer`](super::words::thermometer) gives them.
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
    /// pairs, see [`position`]. All lanes of a warp call this; `store` is called by all lanes with four words and the number of
    /// the first.
    #[inline(always)]
    pub fn sums(&self, mut store: impl FnMut(u32, U32x4)) {
        let sum = |counts: u32| warp::warp_reduce_add(ALL_LANES, counts);
        let bytes = self.planes.bytes();
        match W {
            // The four bytes are of the same bit of four words.
            1 => store_eight(0, bytes, &mut store, |bytes| sum(dp4a(bytes, 0x0101_0101, 0))),
            2 => store_eight(0, bytes, &mut store, |bytes| sum(byte_permute(bytes + (bytes >> 16), 0, 0x4140))),
            _ => {
                store_eight(0, bytes, &mut store, |bytes| sum(bytes & 0x00FF_00FF));
                store_eight(8, bytes, &mut store, |bytes| sum(bytes >> 8 & 0x00FF_00FF));
            }
        }
        if W == 8 {
            let bytes = self.upper.bytes();
            store_eight(16, bytes, &mut store, |bytes| sum(bytes & 0x00FF_00FF));
            store_eight(24, bytes, &mut store, |bytes| sum(bytes >> 8 & 0x00FF_00FF));
        }
    }
}

/// Calls `store` with what `sum` makes of each of `v`, as words `first` and up.
#[inline(always)]
fn store_eight(first: u32, v: [u32; 8], store: &mut impl FnMut(u32, U32x4), sum: impl Fn(u32) -> u32) {
    store(first, U32x4 { x: sum(v[0]), y: sum(v[1]), z: sum(v[2]), w: sum(v[3]) });
    store(first + 4, U32x4 { x: sum(v[4]), y: sum(v[5]), z: sum(v[6]), w: sum(v[7]) });
}

/// Words of shared memory that a warp's counts take: two counts of 16 bits in each.
pub const COUNT_WORDS: usize = 32;

/// Where the count of `k` stands in what [`Histogram::sums`] stores: the word, and how far to shift.
#[inline(always)]
pub fn position<const W: u32>(k: u32) -> (u32, u32) {
    // Words are counted with their bits reversed.
    let bit = 8 * W - 1 - k;
    match W {
        1 => (bit, 0),
        2 => (bit % 8, bit / 8 * 16),
        4 => (bit % 16, bit / 16 * 16),
        _ => (bit / 32 * 16 + bit % 16, bit / 16 % 2 * 16),
    }
}
