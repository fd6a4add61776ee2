//! A piece as words: differences, bit lengths, flags, and picking words by flags.
//!
//! Flags are bits: bit `i` for word `i` of the piece. Words are picked, dropped and filled in a register at a time, by
//! byte permutations whose selectors depend on the flags of that register's words and stand in a table.

use crate::bits128::{drop_low, join, join4, low};
use crate::clog::pack::{quarter, spread};
use crate::collectives::ALL_LANES;
use cuda_std::{
    bits::{byte_permute, funnel_shift_left_wrap, shl_clamp},
    shared::SharedArray,
    vector::U32x4,
    warp,
};

/// A piece's registers.
pub type Piece = [u32; 4];

/// The registers of `v`.
#[inline(always)]
pub fn registers(v: U32x4) -> Piece {
    [v.x, v.y, v.z, v.w]
}

/// Each word of the row XORed with the one before it. `last` is the row before (its lane 31 counts). All lanes of a warp
/// call this.
#[inline(always)]
pub fn difference<const W: u32>(v: Piece, last: Piece) -> Piece {
    let lane = warp::lane_id();
    // The lane before; lane 0 gets the last lane of the row before.
    let before = |i: usize| {
        let own = if lane == 31 { last[i] } else { v[i] };
        warp::warp_shuffle_idx(ALL_LANES, own, lane.wrapping_sub(1) % 32, 32).0
    };
    if W == 8 {
        return [v[0] ^ before(2), v[1] ^ before(3), v[2] ^ v[0], v[3] ^ v[1]];
    }
    let shifted = |below: u32, own: u32| if W == 4 { below } else { funnel_shift_left_wrap(below, own, 8 * W) };
    [v[0] ^ shifted(before(3), v[0]), v[1] ^ shifted(v[0], v[1]), v[2] ^ shifted(v[1], v[2]), v[3] ^ shifted(v[2], v[3])]
}

/// Every word with all bits below its highest set bit set, too.
#[inline(always)]
pub fn smear<const W: u32>(d: Piece) -> Piece {
    if W == 8 {
        let pair = |lower: u32, upper: u32| {
            let below = if upper != 0 { u32::MAX } else { smear_register::<4>(lower) };
            (below, smear_register::<4>(upper))
        };
        let ((a, b), (c, e)) = (pair(d[0], d[1]), pair(d[2], d[3]));
        return [a, b, c, e];
    }
    [smear_register::<W>(d[0]), smear_register::<W>(d[1]), smear_register::<W>(d[2]), smear_register::<W>(d[3])]
}

#[inline(always)]
fn smear_register<const W: u32>(mut x: u32) -> u32 {
    // Shifts that stay inside the words: the bits that would come from the word above are masked out.
    let mut distance = 1;
    while distance < 8 * W {
        let kept = match W {
            1 => (0xFF >> distance) * 0x0101_0101,
            2 => (0xFFFF >> distance) * 0x0001_0001,
            _ => u32::MAX >> distance,
        };
        x |= x >> distance & kept;
        distance *= 2;
    }
    x
}

/// Which words of `d` are longer than `keep` bits (0 to 63).
#[inline(always)]
pub fn longer_than<const W: u32>(d: Piece, keep: u32) -> u32 {
    let above = !low(keep);
    match W {
        1 => {
            let mask = (above & 0xFF) * 0x0101_0101;
            nonzero_bytes(d[0] & mask)
                | nonzero_bytes(d[1] & mask) << 4
                | nonzero_bytes(d[2] & mask) << 8
                | nonzero_bytes(d[3] & mask) << 12
        }
        2 => {
            let mask = (above & 0xFFFF) * 0x0001_0001;
            nonzero_halves(d[0] & mask)
                | nonzero_halves(d[1] & mask) << 2
                | nonzero_halves(d[2] & mask) << 4
                | nonzero_halves(d[3] & mask) << 6
        }
        4 => {
            let flag = |i: usize| u32::from(d[i] & above != 0) << i;
            flag(0) | flag(1) | flag(2) | flag(3)
        }
        _ => {
            let upper = if keep <= 32 { u32::MAX } else { !low(keep - 32) };
            let flag = |i: usize| u32::from(d[2 * i] & above != 0 || d[2 * i + 1] & upper != 0) << i;
            flag(0) | flag(1)
        }
    }
}

/// Bit `i` says whether byte `i` is not zero.
#[inline(always)]
pub fn nonzero_bytes(x: u32) -> u32 {
    let top = ((x & 0x7F7F_7F7F) + 0x7F7F_7F7F | x) & 0x8080_8080;
    // Bits 7, 15, 23, 31 to bits 28 to 31: no two products meet.
    (top >> 7).wrapping_mul(0x1020_4080) >> 28
}

/// Bit `i` says whether half `i` is not zero.
#[inline(always)]
fn nonzero_halves(x: u32) -> u32 {
    let top = ((x & 0x7FFF_7FFF) + 0x7FFF_7FFF | x) & 0x8000_8000;
    (top >> 15 | top >> 30) & 3
}

/// Selectors for [`byte_permute`], by the flags of a register's words: 16 for four bytes, 4 for two halves.
///
/// Bytes 4 and up of a permutation are those of its second register.
pub struct Tables {
    selector: SharedArray<u32, { 3 * Self::ROWS }>,
}

/// What a selector does.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Select {
    /// Moves the flagged words together, zeros behind.
    Pick = 0,
    /// Puts words that stand together to the flagged places, zeros between.
    Place = 1,
    /// The same, but the places between repeat the word before, the first ones that of the second register (its upper end).
    Fill = 2,
}

impl Tables {
    const ROWS: usize = 20;

    /// The first `3 * 20` threads of a block write the tables; a barrier publishes them.
    #[inline(always)]
    pub fn write(&self, thread: u32) {
        if thread < 3 * Self::ROWS as u32 {
            let (select, row) = (thread / Self::ROWS as u32, thread % Self::ROWS as u32);
            let selector = if row < 16 { Self::bytes(select, row) } else { Self::halves(select, row - 16) };
            self.selector.write(thread as usize, selector);
        }
    }

    /// Makes the selector for the flags of four bytes.
    fn bytes(select: u32, flags: u32) -> u32 {
        let (mut selector, mut flagged) = (0, 0);
        let mut i = 0;
        while i < 4 {
            let set = flags >> i & 1;
            if select == Select::Pick as u32 {
                // Byte `i` goes to the next free place.
                selector |= set * i << (4 * flagged);
            } else {
                let from = if set != 0 {
                    flagged
                } else if select == Select::Fill as u32 && flagged > 0 {
                    flagged - 1
                } else if select == Select::Fill as u32 {
                    7
                } else {
                    4
                };
                selector |= from << (4 * i);
            }
            flagged += set;
            i += 1;
        }
        if select == Select::Pick as u32 {
            selector |= shl_clamp(0x4444, 4 * flagged) & 0xFFFF;
        }
        selector
    }

    /// Makes the selector for the flags of two halves.
    fn halves(select: u32, flags: u32) -> u32 {
        let last = if select == Select::Fill as u32 { 0x76 } else { 0x44 };
        match (flags, select) {
            (0, _) => last << 8 | last,
            (3, _) => 0x3210,
            (1, 2) => 0x1010,
            (1, _) => 0x4410,
            (_, 0) => 0x4432,
            (_, _) => 0x1000 | last,
        }
    }

    /// The selector for the flags of four bytes.
    #[inline(always)]
    pub fn byte_selector(&self, select: Select, flags: u32) -> u32 {
        self.get::<1>(select, flags)
    }

    /// The selector for register flags `flags` of words of `W` bytes, 1 or 2.
    #[inline(always)]
    fn get<const W: u32>(&self, select: Select, flags: u32) -> u32 {
        let row = if W == 1 { 0 } else { 16 };
        self.selector.read((select as u32 * Self::ROWS as u32 + row + flags) as usize)
    }
}

/// The low `keep` bits of the flagged words of `v`, one after another, and how many bits they are. `keep` is at most the
/// word's bits.
#[inline(always)]
pub fn pick<const W: u32>(tables: &Tables, v: Piece, flags: u32, keep: u32) -> (Piece, u32) {
    match W {
        1 | 2 => {
            let words = 4 / W;
            let mask = if W == 1 { low(keep) * 0x0101_0101 } else { low(keep) * 0x0001_0001 };
            let one = |i: u32| {
                let own = flags >> (i * words) & ((1 << words) - 1);
                let together = byte_permute(v[i as usize], 0, tables.get::<W>(Select::Pick, own));
                let bits = own.count_ones() * keep;
                let joined = if keep == 8 * W { together } else { quarter::<W>(together & mask, keep) };
                (joined, bits)
            };
            let (a, b, c, d) = (one(0), one(1), one(2), one(3));
            join4([a.0, b.0, c.0, d.0], [a.1, b.1, c.1, d.1])
        }
        4 => {
            let one = |i: usize| {
                let set = flags >> i & 1 != 0;
                (if set { v[i] & low(keep) } else { 0 }, if set { keep } else { 0 })
            };
            let (a, b, c, d) = (one(0), one(1), one(2), one(3));
            join4([a.0, b.0, c.0, d.0], [a.1, b.1, c.1, d.1])
        }
        _ => {
            let (lower, upper) = (low(keep.min(32)), low(keep.saturating_sub(32)));
            let one = |i: usize| {
                let set = flags >> i & 1 != 0;
                let word = if set { [v[2 * i] & lower, v[2 * i + 1] & upper] } else { [0, 0] };
                (word, if set { keep } else { 0 })
            };
            let (a, b) = (one(0), one(1));
            (join(a.0, b.0, a.1), a.1 + b.1)
        }
    }
}

/// Puts the words of `keep` bits that stand together in `v` to the flagged places, zeros between; what lies behind them in
/// `v` does not matter.
#[inline(always)]
pub fn place<const W: u32>(tables: &Tables, mut v: Piece, flags: u32, keep: u32) -> Piece {
    let mut out = [0; 4];
    if W <= 2 {
        let words = 4 / W;
        let mut i = 0;
        while i < 4 {
            let own = flags >> (i as u32 * words) & ((1 << words) - 1);
            let together = if keep == 8 * W { v[0] } else { spread::<W>(v[0], keep) };
            out[i] = byte_permute(together, 0, tables.get::<W>(Select::Place, own));
            v = drop_low(v, own.count_ones() * keep);
            i += 1;
        }
    } else if W == 4 {
        let mut i = 0;
        while i < 4 {
            let set = flags >> i & 1 != 0;
            out[i] = if set { v[0] & low(keep) } else { 0 };
            v = drop_low(v, if set { keep } else { 0 });
            i += 1;
        }
    } else {
        let (lower, upper) = (low(keep.min(32)), low(keep.saturating_sub(32)));
        if flags & 1 != 0 {
            (out[0], out[1]) = (v[0] & lower, v[1] & upper);
            v = drop_low(drop_low(v, keep.min(32)), keep.saturating_sub(32));
        }
        if flags & 2 != 0 {
            (out[2], out[3]) = (v[0] & lower, v[1] & upper);
        }
    }
    out
}

/// Puts the whole words that stand together in `v` to the flagged places; the places between repeat the flagged word before,
/// the first ones the word `carry` (its upper end in the upper register).
#[inline(always)]
pub fn fill<const W: u32>(tables: &Tables, mut v: Piece, flags: u32, carry: [u32; 2]) -> Piece {
    let mut out = [0; 4];
    if W <= 2 {
        let words = 4 / W;
        let mut last = carry[1];
        let mut i = 0;
        while i < 4 {
            let own = flags >> (i as u32 * words) & ((1 << words) - 1);
            out[i] = byte_permute(v[0], last, tables.get::<W>(Select::Fill, own));
            last = out[i];
            v = drop_low(v, own.count_ones() * 8 * W);
            i += 1;
        }
    } else if W == 4 {
        let mut last = carry[1];
        let mut i = 0;
        while i < 4 {
            if flags >> i & 1 != 0 {
                last = v[0];
                v = [v[1], v[2], v[3], 0];
            }
            out[i] = last;
            i += 1;
        }
    } else {
        let mut last = carry;
        if flags & 1 != 0 {
            last = [v[0], v[1]];
            v = [v[2], v[3], 0, 0];
        }
        (out[0], out[1]) = (last[0], last[1]);
        if flags & 2 != 0 {
            last = [v[0], v[1]];
        }
        (out[2], out[3]) = (last[0], last[1]);
    }
    out
}

/// The bits of a piece in which the result of [`fill`] counts: the words that are flagged, and of the others the bits above
/// `keep`.
#[inline(always)]
pub fn filled_bits<const W: u32>(flags: u32, keep: u32) -> Piece {
    let above = !low(keep);
    let mut out = [0; 4];
    let mut i = 0;
    while i < 4 {
        out[i] = match W {
            1 => {
                let own = flags >> (4 * i) & 0xF;
                // Flag `i` to the whole byte `i`.
                let bytes = (own * 0x0020_4081 & 0x0101_0101) * 0xFF;
                bytes | (above & 0xFF) * 0x0101_0101
            }
            2 => {
                let own = flags >> (2 * i) & 3;
                let halves = (own | own << 15) & 0x0001_0001;
                halves * 0xFFFF | (above & 0xFFFF) * 0x0001_0001
            }
            4 => {
                if flags >> i & 1 != 0 {
                    u32::MAX
                } else {
                    above
                }
            }
            _ => {
                let own = if i % 2 == 0 {
                    above
                } else if keep <= 32 {
                    u32::MAX
                } else {
                    !low(keep - 32)
                };
                if flags >> (i / 2) & 1 != 0 { u32::MAX } else { own }
            }
        };
        i += 1;
    }
    out
}
