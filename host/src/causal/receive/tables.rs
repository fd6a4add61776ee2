//! The model as a decoder wants it: for every row the cumulative frequencies, and a coarse index into them.
//!
//! | table | a row takes | what |
//! |---|---|---|
//! | `buckets` | 4 bytes a bucket | the symbol that holds the bucket's first slot: `symbol << 24 \| c << 12 \| f - 1` |
//! | `cumulative` | 2 bytes a symbol | `c` of every symbol, then the total |
//!
//! One load finds most symbols; where the slot lies behind the bucket's first symbol, a walk along the row finds the rest. Tables of slots
//! would answer with one load always, but take 4 KiB or more a row; these take 1.5 KiB of a row in use, most models have 250 to 300 of those, and stay in the second-level cache.

use super::super::model::SYMBOLS;
use super::super::rans::SCALE;

/// The number of buckets, as a power of two. Half as many save a third of the memory and cost up to 27 % of the speed; twice as many take two thirds more and
/// bring up to 16 %, where the second-level cache is large. `benches/RESULTS.md` has the figures, also of a search along the row without buckets.
pub(super) const BUCKETS_LOG2: u32 = 8;
/// Slots of a bucket, as a power of two.
pub(super) const BUCKET_SLOTS_LOG2: u32 = SCALE - BUCKETS_LOG2;
/// Entries of a row of cumulative frequencies. The ones behind the total repeat it, so that four can be read from any symbol.
pub(super) const STRIDE: usize = SYMBOLS + 4;
/// The entry of a row that is empty: symbol 0 with all slots, which no real row has. The state stays as it is.
pub(super) const DEAD: u32 = (1 << SCALE) - 1;

/// One bank's rows.
#[derive(Debug)]
pub(super) struct Rows {
    pub(super) buckets: Vec<u32>,
    pub(super) cumulative: Vec<u16>,
}

/// What a slot stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slot {
    pub(super) symbol: u8,
    pub(super) c: u32,
    /// `2^SCALE` where the row is empty.
    pub(super) f: u32,
}

impl Rows {
    fn new(frequencies: &[u16]) -> Self {
        let total = 1u16 << SCALE;
        let mut buckets = vec![DEAD; SYMBOLS << BUCKETS_LOG2];
        let mut cumulative = vec![total; SYMBOLS * STRIDE];
        let rows = frequencies.chunks_exact(SYMBOLS).zip(buckets.chunks_exact_mut(1 << BUCKETS_LOG2));
        for ((row, buckets), cumulative) in rows.zip(cumulative.chunks_exact_mut(STRIDE)) {
            let mut c = 0u32;
            let mut bucket = 0;
            for (symbol, (&f, place)) in row.iter().zip(&mut *cumulative).enumerate() {
                *place = c as u16;
                if f != 0 {
                    let f = u32::from(f);
                    let end = (c + f).div_ceil(1 << BUCKET_SLOTS_LOG2) as usize;
                    buckets[bucket..end].fill((symbol as u32) << 24 | c << 12 | (f - 1));
                    bucket = end;
                    c += f;
                }
            }
            if c == 0 {
                cumulative.fill(total); // an empty row is never walked along
            }
        }
        Self { buckets, cumulative }
    }

    /// The symbol of `slot` in row `row`.
    #[inline]
    pub(super) fn find(&self, row: u8, slot: u32) -> Slot {
        let row = usize::from(row);
        let entry = self.buckets[(row << BUCKETS_LOG2) | (slot >> BUCKET_SLOTS_LOG2) as usize];
        let (mut symbol, mut c, mut f) = (entry >> 24, (entry >> SCALE) & DEAD, (entry & DEAD) + 1);
        if slot - c >= f {
            let row = &self.cumulative[row * STRIDE..(row + 1) * STRIDE];
            let mut end = c + f;
            loop {
                symbol += 1;
                (c, end) = (end, row[symbol as usize + 1].into());
                if slot < end {
                    break;
                }
            }
            f = end - c;
        }
        Slot { symbol: symbol as u8, c, f }
    }
}

/// Both banks.
#[derive(Debug)]
pub(super) struct Tables {
    pub(super) low: Rows,
    pub(super) high: Rows,
}

impl Tables {
    /// Of frequencies that [`super::model::check_rows`] let through.
    pub(super) fn new(frequencies: &[u16]) -> Self {
        let (low, high) = frequencies.split_at(frequencies.len() / 2);
        Self { low: Rows::new(low), high: Rows::new(high) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_slot_of_every_kind_of_row_is_found() {
        let mut frequencies = vec![0u16; SYMBOLS * SYMBOLS];
        let rows: [&dyn Fn(usize) -> u16; 5] = [
            &|_| 16,                                              // flat
            &|s| if s == 255 { 4095 } else { u16::from(s == 0) }, // nothing between the ends
            &|s| {
                if s < 200 {
                    1
                } else if s == 255 {
                    4096 - 200
                } else {
                    0
                }
            }, // many symbols a bucket
            &|s| if s % 51 == 0 { 4096 / 6 + u16::from(s < 204) } else { 0 }, // gaps
            &|_| 0,
        ];
        for (row, f) in rows.iter().enumerate() {
            (0..SYMBOLS).for_each(|s| frequencies[row * SYMBOLS + s] = f(s));
        }
        let tables = Rows::new(&frequencies);
        for row in 0..4 {
            let mut slot = 0;
            for s in 0..SYMBOLS {
                let f = u32::from(frequencies[row * SYMBOLS + s]);
                let c = slot;
                while slot < c + f {
                    assert_eq!(tables.find(row as u8, slot), Slot { symbol: s as u8, c, f }, "row {row}, slot {slot}");
                    slot += 1;
                }
            }
            assert_eq!(slot, 1 << SCALE, "row {row}");
        }
        for slot in 0..1 << SCALE {
            assert_eq!(tables.find(4, slot), Slot { symbol: 0, c: 0, f: 1 << SCALE });
        }
    }
}
