//! Counts -> frequencies: fixed capacity, every symbol that occurs keeps a share, and what that costs.

use super::group::Level;
use super::histogram::{self, Counts};
use crate::causal::model::SYMBOLS;
use crate::causal::rans::SCALE;
use crate::causal::{Grain, Representation};
use rayon::prelude::*;
use std::sync::LazyLock;

/// Makes frequencies of one row's counts: they sum to `2^SCALE`, or to 0 where nothing was counted. Symbols that do not occur get 0, but
/// for the one that joins a lone symbol.
///
/// Every active symbol gets 1; what is left is shared out by largest remainder, ties to the lower symbol.
///
/// # Panics
/// If there are more active symbols than `2^SCALE`, or the row's total is 2^32 or more.
pub fn normalise<const SCALE: u32>(counts: &[u32], frequencies: &mut [u16]) {
    frequencies.fill(0);
    let sum: u64 = counts.iter().map(|&n| u64::from(n)).sum();
    let active = counts.iter().filter(|&&n| n > 0).count() as u64;
    let total = 1u64 << SCALE;
    assert!(active <= total && sum < 1 << 32, "{active} symbols with a sum of {sum} in a row of {total}");
    match active {
        0 => return,
        1 => {
            let lone = counts.iter().position(|&n| n > 0).unwrap_or(0);
            frequencies[lone] = (total - 1) as u16;
            frequencies[usize::from(lone == 0)] = 1;
            return;
        }
        _ => {}
    }
    let spare = total - active;
    // `n * spare` is below 2^44 and exact in an f64; the quotient is off by one at most.
    let inverse = 1.0 / sum as f64;
    let mut left = spare;
    // Largest remainder first, then the lower symbol: as one number.
    let mut order = [0u64; SYMBOLS];
    let order: &mut [u64] = if counts.len() <= SYMBOLS { &mut order } else { &mut vec![0; counts.len()] };
    let mut ordered = 0;
    for (symbol, (&n, f)) in counts.iter().zip(&mut *frequencies).enumerate() {
        if n == 0 {
            continue;
        }
        let product = u64::from(n) * spare;
        let mut quotient = (product as f64 * inverse) as u64;
        let mut rest = product.wrapping_sub(quotient * sum) as i64;
        if rest < 0 {
            (quotient, rest) = (quotient - 1, rest + sum as i64);
        } else if rest as u64 >= sum {
            (quotient, rest) = (quotient + 1, rest - sum as i64);
        }
        *f = 1 + quotient as u16;
        left -= quotient;
        order[ordered] = (rest as u64) << 16 | (0xFFFF - symbol as u64);
        ordered += 1;
    }
    let order = &mut order[..ordered];
    // Fewer than `active` are left: the remainders sum to `left * sum`, and each is below `sum`.
    let left = left as usize;
    if left > 0 {
        order.select_nth_unstable_by(left - 1, |a, b| b.cmp(a));
        order[..left].iter().for_each(|key| frequencies[0xFFFF - (key & 0xFFFF) as usize] += 1);
    }
}

/// `round(2^20 * log2(2^SCALE / f))` for `f` from 1 to `2^SCALE`; entry 0 is 0.
pub fn log2_table<const SCALE: u32>() -> Vec<u32> {
    let total = f64::from(1u32 << SCALE);
    let entry = |f: u32| if f == 0 { 0 } else { (f64::from(1 << 20) * (total / f64::from(f)).log2()).round() as u32 };
    (0..=1 << SCALE).map(entry).collect()
}

static LOG2: LazyLock<Vec<u32>> = LazyLock::new(log2_table::<SCALE>);

/// One bank's frequencies.
#[derive(Debug)]
pub struct Bank {
    /// 256 rows of 256.
    pub frequencies: Vec<u16>,
    /// What its symbols take, in units of 2^-20 bit.
    pub score: u64,
}

impl Bank {
    fn fit(counts: &[u32]) -> Self {
        const ROWS: usize = 16;
        let mut frequencies = vec![0; counts.len()];
        let log2: &[u32] = &LOG2;
        let rows =
            counts.par_chunks(ROWS * SYMBOLS).zip(frequencies.par_chunks_mut(ROWS * SYMBOLS)).map(|(counts, frequencies)| {
                let rows = counts.chunks(SYMBOLS).zip(frequencies.chunks_mut(SYMBOLS));
                rows.map(|(counts, frequencies)| {
                    normalise::<SCALE>(counts, frequencies);
                    let costs = counts.iter().zip(frequencies).map(|(&n, f)| u64::from(n) * u64::from(log2[usize::from(*f)]));
                    costs.sum::<u64>()
                })
                .sum::<u64>()
            });
        let score = rows.sum();
        Self { frequencies, score }
    }
}

/// A candidate's two banks.
#[derive(Clone, Copy, Debug)]
pub struct Fit<'a> {
    /// The low bank.
    pub low: &'a Bank,
    /// The high bank.
    pub high: &'a Bank,
}

impl Fit<'_> {
    /// All rows, the low bank's first.
    pub fn frequencies(&self) -> Vec<u16> {
        [&self.low.frequencies[..], &self.high.frequencies[..]].concat()
    }
}

/// The candidates of a tile. The high banks of same-lane and high-first are one.
#[derive(Debug)]
pub struct Fits {
    forced: Option<Representation>,
    low: Option<Bank>,
    low_by_high: Option<Bank>,
    high: Option<Bank>,
    residual_low: Option<Bank>,
    residual_high: Option<Bank>,
}

impl Fits {
    /// All candidates of `tile`, or the one that is `forced`.
    pub fn new(tile: &[u8], grain: Grain, forced: Option<Representation>) -> Self {
        Self::with(Level::best(), tile, grain, forced)
    }

    pub(super) fn with(level: Level, tile: &[u8], grain: Grain, forced: Option<Representation>) -> Self {
        let counts = histogram::count(level, tile, grain);
        let Counts { low, low_by_high, high, residual_low, residual_high } = &counts;
        let wanted = |of: &[Representation]| forced.is_none_or(|forced| of.contains(&forced));
        use Representation::*;
        let bank = |counts: &Vec<u32>, of: &[Representation]| wanted(of).then(|| Bank::fit(counts));
        Self {
            forced,
            low: bank(low, &[SameLane]),
            low_by_high: bank(low_by_high, &[HighFirst]),
            high: bank(high, &[SameLane, HighFirst]),
            residual_low: bank(residual_low, &[Residual]),
            residual_high: bank(residual_high, &[Residual]),
        }
    }

    /// Those that were fitted.
    pub fn candidates(&self) -> impl Iterator<Item = Representation> + use<> {
        let forced = self.forced;
        Representation::ALL.into_iter().filter(move |&candidate| forced.is_none_or(|forced| forced == candidate))
    }

    /// The banks of a candidate.
    ///
    /// # Panics
    /// If another representation was forced.
    pub fn of(&self, candidate: Representation) -> Fit<'_> {
        let (low, high) = match candidate {
            Representation::SameLane => (&self.low, &self.high),
            Representation::HighFirst => (&self.low_by_high, &self.high),
            Representation::Residual => (&self.residual_low, &self.residual_high),
        };
        match (low, high) {
            (Some(low), Some(high)) => Fit { low, high },
            _ => panic!("{} was not fitted: {:?} was forced", candidate.name(), self.forced),
        }
    }

    /// What a candidate's payload takes, in units of 2^-20 bit.
    ///
    /// # Panics
    /// As [`Fits::of`].
    pub fn score(&self, candidate: Representation) -> u64 {
        let Fit { low, high } = self.of(candidate);
        low.score + high.score
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sha2::{Digest, Sha256};

    #[test]
    fn logarithms_are_those_of_the_format() {
        let bytes: Vec<u8> = log2_table::<SCALE>()[1..].iter().flat_map(|entry| entry.to_le_bytes()).collect();
        let hash: String = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hash, "e6405aff74e1098fedd6b7478286e282ce64caf3725ca706c706faf63d24a56c");
    }

    /// The format's own words, in plain integers.
    fn by_the_book(counts: &[u32], total: u64) -> Vec<u16> {
        let sum: u64 = counts.iter().map(|&n| u64::from(n)).sum();
        let mut active: Vec<usize> = (0..counts.len()).filter(|&s| counts[s] > 0).collect();
        let mut frequencies = vec![0u64; counts.len()];
        if active.len() > 1 {
            let spare = total - active.len() as u64;
            active.iter().for_each(|&s| frequencies[s] = 1 + u64::from(counts[s]) * spare / sum);
            let left = total - frequencies.iter().sum::<u64>();
            active.sort_by_key(|&s| (std::cmp::Reverse(u64::from(counts[s]) * spare % sum), s));
            active[..left as usize].iter().for_each(|&s| frequencies[s] += 1);
        }
        frequencies.into_iter().map(|f| f as u16).collect()
    }

    #[test]
    fn shares_are_those_of_the_format() {
        let mut state = 7u64;
        let mut next = move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state >> 33
        };
        for round in 0..2000 {
            let (mut counts, symbols) = (vec![0u32; SYMBOLS], 2 + next() as usize % 255);
            for _ in 0..symbols {
                // From equal counts (all remainders tie) to counts whose products pass 2^32.
                let n = [1, 1 + next() % 3, 1 + next() % 1000, 1 + next() % 30_000][round % 4];
                counts[next() as usize % SYMBOLS] = n as u32;
            }
            if round % 5 == 0 {
                counts[next() as usize % SYMBOLS] = 1 << 22;
            }
            if counts.iter().filter(|&&n| n > 0).count() < 2 {
                continue;
            }
            let mut frequencies = vec![9; SYMBOLS];
            normalise::<12>(&counts, &mut frequencies);
            assert_eq!(frequencies, by_the_book(&counts, 4096), "{counts:?}");
            normalise::<11>(&counts, &mut frequencies);
            assert_eq!(frequencies, by_the_book(&counts, 2048), "{counts:?}");
        }
    }

    #[test]
    fn rows_with_one_symbol_or_none() {
        let mut frequencies = [7; 6];
        normalise::<12>(&[0; 6], &mut frequencies);
        assert_eq!(frequencies, [0; 6]);
        normalise::<12>(&[5, 0, 0, 0, 0, 0], &mut frequencies);
        assert_eq!(frequencies, [4095, 1, 0, 0, 0, 0]);
        normalise::<12>(&[0, 0, 0, 1, 0, 0], &mut frequencies);
        assert_eq!(frequencies, [1, 0, 0, 4095, 0, 0]);
    }
}
