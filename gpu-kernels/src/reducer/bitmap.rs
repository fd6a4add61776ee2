//! The levels of a chunk's compressed bitmap, held by the lanes of a warp.
//!
//! Level 0 are the flags; a bit of each next level says whether a byte of the one before differs from its predecessor. Only
//! the bytes that differ are stored, and the last level whole.
//!
//! A lane holds one word of level 1 (two where there are 64); the lanes of a *group*, whose words of level 1 belong to one
//! word of level 2, all hold that word; and all lanes hold level 3.

use super::Shape;
use super::words::{gather, nonzero_bytes};
use crate::bits128::low;
use crate::collectives::{ALL_LANES, warp_inclusive_sum};
use cuda_std::{
    bits::{shl_clamp, shr_clamp},
    shared::{SharedArray, Split},
    warp,
};
use shared_types::lc::ChunkStatus;

/// Words of level 1, and the set bits before each.
pub type Levels = [SharedArray<u32, 64>; 2];

/// The flags of a chunk in shared memory, and the level above.
#[derive(Clone, Copy)]
pub struct Flags<'a, const N: usize> {
    pub words: &'a SharedArray<u32, N>,
    /// The chunk's first word.
    pub from: u32,
    pub levels: &'a Levels,
    /// The chunk's first word in `levels`.
    pub levels_from: u32,
}

/// Levels 1 and up.
#[derive(Clone, Copy)]
pub struct Bitmap<const W: u32> {
    shape: Shape<W>,
    /// This lane's words of level 1; the second is 0 where a lane has one.
    level1: [u32; 2],
    /// Set bits of level 1 in the lanes before.
    before1: u32,
    /// This group's word of level 2.
    level2: u32,
    /// Set bits of level 2 before this group.
    before2: u32,
    /// Level 3, or 0.
    level3: u32,
    /// Stored bytes of levels 0, 1 and 2 (0 where level 2 is the last).
    stored: [u32; 3],
}

impl<const W: u32> Bitmap<W> {
    /// Words of level 1: 2 to 64.
    #[inline(always)]
    pub fn words1(shape: Shape<W>) -> u32 {
        shape.flag_bytes() / 32
    }

    /// Words of level 1 in a lane, 1 or 2, as a power of two.
    #[inline(always)]
    fn lane_log2(shape: Shape<W>) -> u32 {
        // Only the smallest words in the largest chunks have 64.
        if W == 1 { u32::from(Self::words1(shape) > 32) } else { 0 }
    }

    /// Whether this lane holds a part of level 1.
    #[inline(always)]
    fn has_level1(shape: Shape<W>) -> bool {
        warp::lane_id() << Self::lane_log2(shape) < Self::words1(shape)
    }

    /// This lane's group, and its place there.
    #[inline(always)]
    fn group(shape: Shape<W>) -> (u32, u32) {
        let log2 = 3 - Self::lane_log2(shape);
        (warp::lane_id() >> log2, warp::lane_id() & ((1 << log2) - 1))
    }

    /// Groups: words of level 2, the last one perhaps in part.
    #[inline(always)]
    fn groups(shape: Shape<W>) -> u32 {
        Self::words1(shape).div_ceil(8)
    }

    /// Whether there is a level 3.
    #[inline(always)]
    fn has_level3(shape: Shape<W>) -> bool {
        Self::words1(shape) >= 16
    }

    /// Bytes of the last level, which is stored whole: 1, 2 or 4.
    #[inline(always)]
    fn last_bytes(shape: Shape<W>) -> u32 {
        shape.flag_bytes() >> if Self::has_level3(shape) { 9 } else { 6 }
    }

    /// The bitmap of the flags that begin at word `from` of `flags`. All lanes of a warp call this, behind the barrier that
    /// publishes the flags.
    #[inline(always)]
    pub fn of<const N: usize>(shape: Shape<W>, flags: &SharedArray<u32, N>, from: u32) -> Self {
        let lane = warp::lane_id();
        let mut level1 = [0; 2];
        let lane_log2 = Self::lane_log2(shape);
        if Self::has_level1(shape) {
            level1[0] = changed_in_32_bytes(flags, from, lane << lane_log2 << 3);
            if lane_log2 == 1 {
                level1[1] = changed_in_32_bytes(flags, from, lane * 16 + 8);
            }
        }
        let own = level1[0].count_ones() + level1[1].count_ones();
        let up_to = warp_inclusive_sum(own);
        let stored0 = warp::warp_shuffle_idx(ALL_LANES, up_to, 31, 32).0;

        let changed = Self::changed_in_level1(shape, level1);
        let (group, place) = Self::group(shape);
        let mut level2 = changed << (place << lane_log2 << 2);
        level2 |= warp::warp_shuffle_xor(ALL_LANES, level2, 1, 32).0;
        level2 |= warp::warp_shuffle_xor(ALL_LANES, level2, 2, 32).0;
        if lane_log2 == 0 {
            level2 |= warp::warp_shuffle_xor(ALL_LANES, level2, 4, 32).0;
        }
        let mut bitmap = Self { shape, level1, before1: up_to - own, level2, before2: 0, level3: 0, stored: [stored0, 0, 0] };
        if Self::has_level3(shape) {
            let changed = bitmap.changed_in_level2();
            let shifted = if place == 0 { shl_clamp(changed, 4 * group) } else { 0 };
            bitmap.level3 = warp::warp_reduce_or(ALL_LANES, shifted);
            bitmap.stored[2] = bitmap.level3.count_ones();
        }
        bitmap.sum_level2();
        bitmap
    }

    /// Fills in what follows from level 2.
    #[inline(always)]
    fn sum_level2(&mut self) {
        let own = self.level2.count_ones();
        let up_to = warp_inclusive_sum(if Self::group(self.shape).1 == 0 { own } else { 0 });
        self.before2 = up_to - own;
        self.stored[1] = warp::warp_shuffle_idx(ALL_LANES, up_to, 31, 32).0;
    }

    /// Which of this lane's bytes of level 1 differ from the one before: four bits, or eight.
    #[inline(always)]
    fn changed_in_level1(shape: Shape<W>, level1: [u32; 2]) -> u32 {
        let lane = warp::lane_id();
        let (before, _) =
            warp::warp_shuffle_up(ALL_LANES, if Self::lane_log2(shape) == 1 { level1[1] } else { level1[0] }, 1, 32);
        let before = if lane == 0 { 0 } else { before >> 24 };
        let mut changed = nonzero_bytes(level1[0] ^ (level1[0] << 8 | before));
        if Self::lane_log2(shape) == 1 {
            changed |= nonzero_bytes(level1[1] ^ (level1[1] << 8 | level1[0] >> 24)) << 4;
        }
        if Self::has_level1(shape) { changed } else { 0 }
    }

    /// Which of this group's bytes of level 2 differ from the one before.
    #[inline(always)]
    fn changed_in_level2(&self) -> u32 {
        let (lane, (group, _)) = (warp::lane_id(), Self::group(self.shape));
        let lanes = 8 >> Self::lane_log2(self.shape);
        let (before, _) = warp::warp_shuffle_idx(ALL_LANES, self.level2, lane.wrapping_sub(lanes) % 32, 32);
        let before = if group == 0 { 0 } else { before >> 24 };
        let changed = nonzero_bytes(self.level2 ^ (self.level2 << 8 | before));
        if group < Self::groups(self.shape) { changed } else { 0 }
    }

    /// Bytes of the whole encoding.
    #[inline(always)]
    pub fn bytes(&self) -> u32 {
        self.stored[0] + self.stored[1] + self.stored[2] + Self::last_bytes(self.shape)
    }

    /// Leaves level 1 to the other warps, from word `from` of `levels` on.
    #[inline(always)]
    pub fn share(&self, levels: &Levels, from: u32) {
        let lane_log2 = Self::lane_log2(self.shape);
        if Self::has_level1(self.shape) {
            let at = (from + (warp::lane_id() << lane_log2)) as usize;
            levels[0].write(at, self.level1[0]);
            levels[1].write(at, self.before1);
            if lane_log2 == 1 {
                levels[0].write(at + 1, self.level1[1]);
                levels[1].write(at + 1, self.before1 + self.level1[0].count_ones());
            }
        }
    }

    /// Writes what is stored of level 0, the flags, from byte `at` of `stream` on. The warps of the chunk call this, each with
    /// its `part`, behind the barrier that publishes what one of them shared.
    #[inline(always)]
    pub fn write_flags<const N: usize, const M: usize>(
        &self,
        flags: Flags<'_, N>,
        stream: &SharedArray<u32, M>,
        at: u32,
        part: u32,
    ) {
        // As many bytes a thread as a piece has words.
        let first = (part * 32 + warp::lane_id()) * Shape::<W>::PIECE_WORDS;
        let word = (flags.levels_from + first / 32) as usize;
        let (changed, before) = (flags.levels[0].read(word), flags.levels[1].read(word));
        let mut to = Split::new(stream, at + before + (changed & low(first % 32)).count_ones(), 0);
        let changed = changed >> (first % 32);
        let source = (flags.from + first / 4) as usize;
        match W {
            1 => {
                let v = flags.words.read_vec4(source);
                store_flagged(&mut to, v.x, changed & 0xF);
                store_flagged(&mut to, v.y, changed >> 4 & 0xF);
                store_flagged(&mut to, v.z, changed >> 8 & 0xF);
                store_flagged(&mut to, v.w, changed >> 12 & 0xF);
            }
            2 => {
                let v = flags.words.read_vec2(source);
                store_flagged(&mut to, v.x, changed & 0xF);
                store_flagged(&mut to, v.y, changed >> 4 & 0xF);
            }
            4 => store_flagged(&mut to, flags.words.read(source), changed & 0xF),
            _ => store_flagged(&mut to, flags.words.read(source) >> (first % 4 * 8), changed & 3),
        }
    }

    /// Writes the levels above, where `at` is where level 0 begins. All lanes of the warp that made the bitmap call this.
    #[inline(always)]
    pub fn write_levels<const M: usize>(&self, stream: &SharedArray<u32, M>, at: u32) {
        let at = at + self.stored[0];
        let (group, place) = Self::group(self.shape);
        let lane_log2 = Self::lane_log2(self.shape);
        let place_in_group = place << lane_log2 << 2;
        if Self::has_level1(self.shape) {
            let rank = self.before2 + (self.level2 & low(place_in_group)).count_ones();
            let changed = self.level2 >> place_in_group;
            let mut to = Split::new(stream, at + rank, 0);
            store_flagged(&mut to, self.level1[0], changed & 0xF);
            if lane_log2 == 1 {
                store_flagged(&mut to, self.level1[1], changed >> 4 & 0xF);
            }
        }

        let at = at + self.stored[1];
        let last = if Self::has_level3(self.shape) {
            if place == 0 && group < Self::groups(self.shape) {
                let rank = (self.level3 & low((4 * group).min(32))).count_ones();
                store_flagged(&mut Split::new(stream, at + rank, 0), self.level2, shr_clamp(self.level3, 4 * group) & 0xF);
            }
            self.level3
        } else {
            self.level2
        };
        if warp::lane_id() == 0 {
            let bytes = (1 << Self::last_bytes(self.shape)) - 1;
            store_flagged(&mut Split::new(stream, at + self.stored[2], 0), last, bytes);
        }
    }

    /// Word `index` of level 1 and the set bits before it. All lanes of a warp call this.
    #[inline(always)]
    fn level1_at(&self, index: u32) -> (u32, u32) {
        let lane_log2 = Self::lane_log2(self.shape);
        let from = |value: u32| warp::warp_shuffle_idx(ALL_LANES, value, (index >> lane_log2) % 32, 32).0;
        let (first, before) = (from(self.level1[0]), from(self.before1));
        if lane_log2 == 0 {
            return (first, before);
        }
        let second = from(self.level1[1]);
        if index % 2 == 0 { (first, before) } else { (second, before + first.count_ones()) }
    }

    /// Reads the bitmap that ends in front of byte `end` of the chunk at `coded`: the bitmap, and where it begins. All lanes
    /// of a warp call this with the same arguments, and get the same answer.
    ///
    /// # Safety
    /// `end` bytes can be read from `coded` on.
    #[inline(always)]
    pub unsafe fn read(shape: Shape<W>, coded: *const u8, end: u32) -> Result<(Self, u32), ChunkStatus> {
        // SAFETY: each caller below has made sure that the byte is in front of `end`.
        let byte = |at: u32| u32::from(unsafe { *coded.add(at as usize) });
        // The `bits` bytes of a word whose flags are the low bits of `flags`; `rank` flags were set before, and the level's
        // stored bytes begin at `start`.
        let word = |flags: u32, mut rank: u32, start: u32| {
            let mut word = 0;
            let mut i = 0;
            while i < 4 {
                rank += flags >> i & 1;
                // A byte repeats the one before it; those before the first are 0.
                let value = if rank == 0 { 0 } else { byte(start + rank - 1) };
                word |= value << (8 * i);
                i += 1;
            }
            word
        };
        let step = |at: u32, bytes: u32| if bytes <= at { Ok(at - bytes) } else { Err(ChunkStatus::Bitmap) };

        let last_bytes = Self::last_bytes(shape);
        let mut at = step(end, last_bytes)?;
        let mut last = 0;
        let mut i = 0;
        while i < last_bytes {
            last |= byte(at + i) << (8 * i);
            i += 1;
        }
        let (group, place) = Self::group(shape);
        let mut bitmap = Self { shape, level1: [0; 2], before1: 0, level2: last, before2: 0, level3: 0, stored: [0; 3] };
        if Self::has_level3(shape) {
            bitmap.level3 = last;
            bitmap.stored[2] = last.count_ones();
            at = step(at, bitmap.stored[2])?;
            bitmap.level2 = 0;
            if group < Self::groups(shape) {
                bitmap.level2 = word(last >> (4 * group), (last & low(4 * group)).count_ones(), at);
            }
        } else if group > 0 {
            bitmap.level2 = 0;
        }
        bitmap.sum_level2();
        at = step(at, bitmap.stored[1])?;
        let lane_log2 = Self::lane_log2(shape);
        if Self::has_level1(shape) {
            let place = place << lane_log2 << 2;
            let rank = bitmap.before2 + (bitmap.level2 & low(place)).count_ones();
            let flags = bitmap.level2 >> place;
            bitmap.level1[0] = word(flags, rank, at);
            if lane_log2 == 1 {
                bitmap.level1[1] = word(flags >> 4, rank + (flags & 0xF).count_ones(), at);
            }
        }
        let own = bitmap.level1[0].count_ones() + bitmap.level1[1].count_ones();
        let up_to = warp_inclusive_sum(own);
        bitmap.before1 = up_to - own;
        bitmap.stored[0] = warp::warp_shuffle_idx(ALL_LANES, up_to, 31, 32).0;
        at = step(at, bitmap.stored[0])?;
        Ok((bitmap, at))
    }

    /// A bitmap without a set flag.
    #[inline(always)]
    pub fn empty(shape: Shape<W>) -> Self {
        Self { shape, level1: [0; 2], before1: 0, level2: 0, before2: 0, level3: 0, stored: [0; 3] }
    }

    /// The flags of this lane's piece, number `piece` of the chunk, of the bitmap that begins at byte `start`. All lanes of a
    /// warp call this.
    ///
    /// # Safety
    /// The bitmap is what [`Self::read`] gave for `coded`, and `start` with it; or it is [`Self::empty`].
    #[inline(always)]
    pub unsafe fn piece_flags(&self, coded: *const u8, start: u32, piece: u32) -> u32 {
        let bit = piece * Shape::<W>::PIECE_WORDS;
        let first = bit / 8;
        let (changed, before) = self.level1_at(first / 32);
        let rank = before + (changed & low(first % 32 + 1)).count_ones();
        // SAFETY: the rank counts stored bytes up to this one.
        let byte = |rank: u32| if rank == 0 { 0 } else { u32::from(unsafe { *coded.add((start + rank - 1) as usize) }) };
        let flags = byte(rank);
        if W == 1 {
            // Two bytes; both in one word of level 1.
            let second = rank + (changed >> (first % 32 + 1) & 1);
            return flags | byte(second) << 8;
        }
        flags >> (bit % 8) & low(Shape::<W>::PIECE_WORDS)
    }
}

/// Which of the 32 bytes from word `index` of the flags on differ from the byte before them.
#[inline(always)]
fn changed_in_32_bytes<const N: usize>(flags: &SharedArray<u32, N>, from: u32, index: u32) -> u32 {
    let at = (from + index) as usize;
    let (a, b) = (flags.read_vec4(at), flags.read_vec4(at + 4));
    let before = if index == 0 { 0 } else { flags.read(at - 1) };
    // The top bit of a byte: it differs.
    let top = |own: u32, before: u32| {
        let x = own ^ (own << 8 | before >> 24);
        ((x & 0x7F7F_7F7F) + 0x7F7F_7F7F) | x
    };
    let two = |first: u32, second: u32, before: u32| {
        gather((top(first, before) >> 4 & 0x0F0F_0F0F) | (top(second, first) & 0xF0F0_F0F0))
    };
    two(a.x, a.y, before) | two(a.z, a.w, a.y) << 8 | two(b.x, b.y, a.w) << 16 | two(b.z, b.w, b.y) << 24
}

/// Stores the flagged bytes of `bytes`.
#[inline(always)]
fn store_flagged<const N: usize>(to: &mut Split<'_, N>, bytes: u32, flags: u32) {
    to.store::<1, false>(flags, [bytes, bytes >> 8, bytes >> 16, bytes >> 24]);
}
