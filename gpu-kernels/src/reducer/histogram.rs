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

/// Counts the bits of 32 registers.
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
    /// Adds two registers: a plane of twos.
    #[inline(always)]
    fn add_pair(&mut self, a: u32, b: u32) -> u32 {
        let (ones, twos) = add(self.ones, a, b);
        self.ones = ones;
        twos
    }

    /// Adds two planes of twos: a plane of fours; and so on below.
    #[inline(always)]
    fn add_twos(&mut self, a: u32, b: u32) -> u32 {
        let (twos, fours) = add(self.twos, a, b);
        self.twos = twos;
        fours
    }

    #[inline(always)]
    fn add_fours(&mut self, a: u32, b: u32) -> u32 {
        let (fours, eights) = add(self.fours, a, b);
        self.fours = fours;
        eights
    }

    #[inline(always)]
    fn add_eights(&mut self, a: u32, b: u32) -> u32 {
        let (eights, sixteens) = add(self.eights, a, b);
        self.eights = eights;
        sixteens
    }

    #[inline(always)]
    fn add_sixteens(&mut self, a: u32, b: u32) {
        (self.sixteens, self.thirty_twos) = add(self.sixteens, a, b);
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

/// Adds eight registers: a plane of eights.
#[inline(always)]
fn eight_registers(planes: &mut Planes, v: [u32; 8]) -> u32 {
    let (a, b) = (planes.add_pair(v[0], v[1]), planes.add_pair(v[2], v[3]));
    let (c, d) = (planes.add_pair(v[4], v[5]), planes.add_pair(v[6], v[7]));
    let (e, f) = (planes.add_twos(a, b), planes.add_twos(c, d));
    planes.add_fours(e, f)
}

/// Words of shared memory that a warp's counts take: two counts of 16 bits in each.
pub const COUNT_WORDS: usize = 32;

/// Where the count of `k` stands in what [`count`] returns: the word, and how far to shift.
#[inline(always)]
pub fn position<const W: u32>(k: u32) -> (u32, u32) {
    match W {
        1 => (k, 0),
        2 => (k % 8, k / 8 * 16),
        4 => (k % 16, k / 16 * 16),
        _ => (k / 32 * 16 + k % 16, k / 16 % 2 * 16),
    }
}

/// How many words of the rows are longer than `k`, for every `k` below the word's bits, summed over the warp; packed in
/// pairs, see [`position`]. The rows hold words with all bits below the highest set one set. All lanes of a warp call this;
/// `store` is called with each word and its number by all lanes.
#[inline(always)]
pub fn count<const W: u32>(rows: &[Piece; 8], mut store: impl FnMut(u32, u32)) {
    if W == 8 {
        // Lower and upper halves of the words count separately.
        count_half::<0>(rows, &mut store);
        count_half::<1>(rows, &mut store);
        return;
    }
    let mut planes = Planes::default();
    let gather = |row: usize| {
        let (a, b) = (rows[row], rows[row + 1]);
        [a[0], a[1], a[2], a[3], b[0], b[1], b[2], b[3]]
    };
    let a = eight_registers(&mut planes, gather(0));
    let b = eight_registers(&mut planes, gather(2));
    let c = planes.add_eights(a, b);
    let a = eight_registers(&mut planes, gather(4));
    let b = eight_registers(&mut planes, gather(6));
    let d = planes.add_eights(a, b);
    planes.add_sixteens(c, d);
    match W {
        1 => {
            let mut r = 0;
            while r < 8 {
                // The four bytes are of the same bit of four words.
                store(r, warp::warp_reduce_add(ALL_LANES, dp4a(planes.bytes(r), 0x0101_0101, 0)));
                r += 1;
            }
        }
        2 => {
            let mut r = 0;
            while r < 8 {
                let bytes = planes.bytes(r);
                let both = bytes + (bytes >> 16);
                store(r, warp::warp_reduce_add(ALL_LANES, byte_permute(both, 0, 0x4140)));
                r += 1;
            }
        }
        _ => counts_of_32(&planes, 0, &mut store),
    }
}

/// The lower or upper halves of 64-bit words: sixteen registers.
#[inline(always)]
fn count_half<const HALF: usize>(rows: &[Piece; 8], store: &mut impl FnMut(u32, u32)) {
    let mut planes = Planes::default();
    let of = |row: usize| [rows[row][HALF], rows[row][HALF + 2]];
    let gather = |row: usize| {
        let (a, b, c, d) = (of(row), of(row + 1), of(row + 2), of(row + 3));
        [a[0], a[1], b[0], b[1], c[0], c[1], d[0], d[1]]
    };
    let a = eight_registers(&mut planes, gather(0));
    let b = eight_registers(&mut planes, gather(4));
    planes.sixteens = planes.add_eights(a, b);
    counts_of_32(&planes, HALF as u32 * 16, store);
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
