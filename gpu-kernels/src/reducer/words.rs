//! A piece as words: differences, bit lengths, flags, and putting words to their places by flags.
//!
//! Flags are bits: bit `i` for word `i` of the piece. Words are put to their places a register at a time, by byte permutations
//! whose selectors depend on the flags of that register's words and stand in tables.

use crate::bits128::{drop_low, low};
use crate::clog::pack::spread;
use crate::collectives::ALL_LANES;
use cuda_std::{
    bits::{byte_permute, funnel_shift_left_wrap, funnel_shift_right_clamp, shr_clamp},
    global,
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

/// The words bit-reversed and in some other order, each with all bits above its lowest set bit set, too: bit `B - 1 - k`
/// of a word of `B` bits says whether it was longer than `k` bits. Of 64-bit words, lower and upper half stay together.
#[inline(always)]
pub fn thermometer<const W: u32>(d: Piece) -> Piece {
    if W == 8 {
        let pair = |lower: u32, upper: u32| {
            let (first, second) = (upper.reverse_bits(), lower.reverse_bits());
            (first | first.wrapping_neg(), if first != 0 { u32::MAX } else { second | second.wrapping_neg() })
        };
        let ((a, b), (c, e)) = (pair(d[0], d[1]), pair(d[2], d[3]));
        return [a, b, c, e];
    }
    let one = |x: u32| {
        let x = x.reverse_bits();
        // The negative of a number keeps its lowest set bit and inverts all bits above; of narrow words without their top bits,
        // so that none borrows from its neighbour, and these set right behind.
        match W {
            1 => x | ((!x & 0x7F7F_7F7F) + 0x0101_0101 ^ 0x8080_8080),
            2 => x | ((!x & 0x7FFF_7FFF) + 0x0001_0001 ^ 0x8000_8000),
            _ => x | x.wrapping_neg(),
        }
    };
    [one(d[0]), one(d[1]), one(d[2]), one(d[3])]
}

/// Which words of `d` are longer than `keep` bits (fewer than a word's).
#[inline(always)]
pub fn longer_than<const W: u32>(d: Piece, keep: u32) -> u32 {
    let above = !low(keep);
    match W {
        1 => {
            let mask = (above & 0x7F) * 0x0101_0101;
            // The top bit of a byte: it is longer.
            let top = |x: u32| ((x & mask) + 0x7F7F_7F7F) | x;
            let pair = |a: u32, b: u32| gather((top(a) >> 4 & 0x0F0F_0F0F) | (top(b) & 0xF0F0_F0F0));
            pair(d[0], d[1]) | pair(d[2], d[3]) << 8
        }
        2 => {
            let mask = (above & 0x7FFF) * 0x0001_0001;
            let top = |x: u32| ((x & mask) + 0x7FFF_7FFF) | x;
            // A byte of ones for each word that is longer: selectors with their top bit set repeat the sign of a byte.
            let first = byte_permute(top(d[0]), top(d[1]), 0xFDB9);
            let second = byte_permute(top(d[2]), top(d[3]), 0xFDB9);
            gather((first & 0x0F0F_0F0F) | (second & 0xF0F0_F0F0))
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
    let top = (((x & 0x7F7F_7F7F) + 0x7F7F_7F7F) | x) & 0x8080_8080;
    // Bits 7, 15, 23, 31 to bits 28 to 31: no two products meet.
    (top >> 7).wrapping_mul(0x1020_4080) >> 28
}

/// The bits 3, 11, 19, 27 of `x`, then the bits 7, 15, 23, 31, together.
#[inline(always)]
pub fn gather(x: u32) -> u32 {
    // No two products meet, and those that matter are at the top.
    (x & 0x8888_8888).wrapping_mul(1 << 21 | 1 << 14 | 1 << 7 | 1) >> 24
}

/// Selectors for [`byte_permute`], by the flags of a register's words: 16 for four bytes, 4 for two halves.
///
/// Bytes 4 and up of a permutation are those of its second register. An entry holds two selectors: in its lower half one
/// for the flagged words, in its upper half one for the words that are not flagged.
pub struct Tables {
    selectors: SharedArray<u32, { Self::ROWS }>,
}

/// What a selector does with words that stand together.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Select {
    /// Puts them to the flagged places, zeros between.
    Place,
    /// The same with all but the first; the places between repeat the word before.
    Fill,
}

/// Selectors by the flags of a whole piece, in constant memory.
#[repr(align(16))]
struct PieceTable([[u32; 4]; 256]);

static FILL: PieceTable = Tables::of_pieces(Select::Fill, Select::Place);
static PLACE: PieceTable = Tables::of_pieces(Select::Place, Select::Place);

impl Tables {
    const ROWS: usize = 20;

    /// The first 20 threads of a block write the tables, with these selectors for the flagged and the other words; a barrier
    /// publishes them.
    #[inline(always)]
    pub fn write(&self, thread: u32, flagged: Select, others: Select) {
        if thread < Self::ROWS as u32 {
            let entry = if thread < 16 {
                Self::bytes(flagged, thread) | Self::bytes(others, thread ^ 0xF) << 16
            } else {
                Self::halves(flagged, thread - 16) | Self::halves(others, (thread - 16) ^ 3) << 16
            };
            self.selectors.write(thread as usize, entry);
        }
    }

    /// Makes the selector for the flags of four bytes.
    const fn bytes(select: Select, flags: u32) -> u32 {
        let (mut selector, mut flagged) = (0, 0);
        let mut i = 0;
        while i < 4 {
            let set = flags >> i & 1;
            let from = match select {
                Select::Fill => flagged + set,
                Select::Place if set != 0 => flagged,
                Select::Place => 4,
            };
            selector |= from << (4 * i);
            flagged += set;
            i += 1;
        }
        selector
    }

    /// Makes the selector for the flags of two halves.
    const fn halves(select: Select, flags: u32) -> u32 {
        match (select, flags) {
            (Select::Fill, 0) => 0x1010,
            (Select::Fill, 1) => 0x3232,
            (Select::Fill, 2) => 0x3210,
            (Select::Fill, _) => 0x5432,
            (Select::Place, 0) => 0x4444,
            (Select::Place, 1) => 0x4410,
            (Select::Place, 2) => 0x1044,
            (Select::Place, _) => 0x3210,
        }
    }

    /// The selectors for all flags of a piece of halves, a register's each: as [`Self::write`] makes them.
    const fn of_pieces(flagged: Select, others: Select) -> PieceTable {
        let mut table = [[0; 4]; 256];
        let mut flags = 0;
        while flags < 256 {
            let mut i = 0;
            while i < 4 {
                let own = flags >> (2 * i) & 3;
                table[flags as usize][i] = Self::halves(flagged, own) | Self::halves(others, own ^ 3) << 16;
                i += 1;
            }
            flags += 1;
        }
        PieceTable(table)
    }

    /// The selectors for the registers of a piece of words of 1 or 2 bytes; the tables were written for `Fill` (`REPEAT`) or
    /// `Place`, and `Place`.
    #[inline(always)]
    pub fn of_piece<const W: u32, const REPEAT: bool>(&self, flags: u32) -> [u32; 4] {
        if W == 1 {
            let entry = |i: u32| self.get::<W>(flags >> (4 * i) & 0xF);
            return [entry(0), entry(1), entry(2), entry(3)];
        }
        let table = if REPEAT { &FILL } else { &PLACE };
        // SAFETY: the table has an entry for all eight bits.
        registers(unsafe { global::load_v4(table.0.as_ptr().add(flags as usize & 0xFF).cast()) })
    }

    /// The selectors for register flags `flags` of words of `W` bytes, 1 or 2. A permutation looks at the lower half alone.
    #[inline(always)]
    fn get<const W: u32>(&self, flags: u32) -> u32 {
        self.selectors.read((if W == 1 { 0 } else { 16 } + flags) as usize)
    }
}

/// A piece from its whole words, which stand together in `whole`, and (`UPPER`) the low `keep` bits of the others, which stand
/// together in `lower`; what lies behind them in either does not matter. What neither gives is taken from the word before
/// (`REPEAT`; before the first it is `carry`, with the word's upper end in the upper register), or is zero. `tables` were
/// written for `Fill` (`REPEAT`) or `Place`, and `Place`.
#[inline(always)]
pub fn expand<const W: u32, const REPEAT: bool, const UPPER: bool>(
    tables: &Tables,
    mut whole: Piece,
    mut lower: Piece,
    flags: u32,
    carry: [u32; 2],
    keep: u32,
) -> Piece {
    let mut out = [0; 4];
    if W <= 2 {
        let words = 4 / W;
        // Where only the low bits of a word are its own.
        let mask = if W == 1 { low(keep) * 0x0101_0101 } else { low(keep) * 0x0001_0001 };
        let mut last = carry[1];
        let mut one = |i: u32| {
            let own = flags >> (i * words) & ((1 << words) - 1);
            let (entry, count) = (tables.get::<W>(own), own.count_ones());
            let filled = if REPEAT {
                let behind = |below: u32, own: u32| funnel_shift_left_wrap(below, own, 8 * W);
                byte_permute(behind(last, whole[0]), behind(whole[0], whole[1]), entry)
            } else {
                byte_permute(whole[0], 0, entry)
            };
            whole = drop_low(whole, count * 8 * W);
            if !UPPER {
                last = filled;
                return filled;
            }
            let others = byte_permute(spread::<W>(lower[0], keep), 0, entry >> 16);
            lower = drop_low(lower, (words - count) * keep);
            let joined = if REPEAT { filled & !byte_permute(mask, 0, entry >> 16) | others } else { filled | others };
            last = joined;
            joined
        };
        out = [one(0), one(1), one(2), one(3)];
    } else if W == 4 {
        let mut last = carry[1];
        let mut one = |i: u32| {
            let set = flags >> i & 1 != 0;
            let word = if set {
                whole[0]
            } else {
                let upper = if REPEAT { last & !low(keep) } else { 0 };
                if UPPER { upper | lower[0] & low(keep) } else { upper }
            };
            whole = if set { [whole[1], whole[2], whole[3], 0] } else { whole };
            lower = drop_low(lower, if set || !UPPER { 0 } else { keep });
            last = word;
            word
        };
        out = [one(0), one(1), one(2), one(3)];
    } else {
        let (below, above) = (low(keep.min(32)), low(keep.saturating_sub(32)));
        let mut last = carry;
        let mut one = |i: u32| {
            let word = if flags >> i & 1 != 0 {
                let word = [whole[0], whole[1]];
                whole = [whole[2], whole[3], 0, 0];
                word
            } else {
                let kept = if REPEAT { [last[0] & !below, last[1] & !above] } else { [0, 0] };
                let word = if UPPER { [kept[0] | lower[0] & below, kept[1] | lower[1] & above] } else { kept };
                if UPPER {
                    lower = drop_low(drop_low(lower, keep.min(32)), keep.saturating_sub(32));
                }
                word
            };
            last = word;
            word
        };
        let (a, b) = (one(0), one(1));
        (out[0], out[1], out[2], out[3]) = (a[0], a[1], b[0], b[1]);
    }
    out
}

/// [`expand`] for words of 1 or 2 bytes, without branches. `whole` are the whole words, behind the last one before them (or zero)
/// where `REPEAT`; `LOWER` is how many registers the low bits of a piece may take; `entries` come from [`Tables::of_piece`].
#[inline(always)]
pub fn expand_narrow<const W: u32, const REPEAT: bool, const LOWER: usize>(
    entries: [u32; 4],
    mut whole: [u32; 5],
    mut lower: Piece,
    flags: u32,
    keep: u32,
) -> Piece {
    let words = 4 / W;
    let mask = if W == 1 { low(keep) * 0x0101_0101 } else { low(keep) * 0x0001_0001 };
    let mut one = |i: u32| {
        let (entry, count) = (entries[i as usize], (flags >> (i * words) & ((1 << words) - 1)).count_ones());
        let filled = byte_permute(whole[0], if REPEAT { whole[1] } else { 0 }, entry);
        let bits = count * 8 * W;
        whole = [
            funnel_shift_right_clamp(whole[0], whole[1], bits),
            funnel_shift_right_clamp(whole[1], whole[2], bits),
            funnel_shift_right_clamp(whole[2], whole[3], bits),
            funnel_shift_right_clamp(whole[3], whole[4], bits),
            0,
        ];
        if LOWER == 0 {
            return filled;
        }
        let others = byte_permute(spread::<W>(lower[0], keep), 0, entry >> 16);
        let bits = (words - count) * keep;
        lower = if LOWER == 1 { [shr_clamp(lower[0], bits), 0, 0, 0] } else { drop_low(lower, bits) };
        if REPEAT { filled & !byte_permute(mask, 0, entry >> 16) | others } else { filled | others }
    };
    [one(0), one(1), one(2), one(3)]
}
