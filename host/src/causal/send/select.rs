//! The choice of a representation, before any payload is coded.
//!
//! A candidate's score is what its payload would take by its frequencies, and the bytes of its compressed model. Scores are integers, so that every
//! backend chooses alike.

use super::fit::Fits;
use crate::causal::Representation;
use crate::causal::model::MAX_COMPRESSED_BYTES;

/// How hard the model is compressed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Density {
    /// Zstandard level 1.
    #[default]
    Fast,
    /// Zstandard level 9: a few percent off the model, at a tenth of the speed.
    Dense,
}

impl Density {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Fast, Self::Dense];

    /// Zstandard's level.
    pub const fn level(self) -> i32 {
        match self {
            Self::Fast => 1,
            Self::Dense => 9,
        }
    }

    /// The one of that level.
    pub fn by_level(level: u64) -> Option<Self> {
        Self::ALL.into_iter().find(|density| density.level() as u64 == level)
    }
}

/// A byte of the model in units of the score, 2^-20 bit.
const BYTE: u32 = 23;

/// What was chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The representation.
    pub representation: Representation,
    /// Its compressed model.
    pub model: Vec<u8>,
    /// Its score, in units of 2^-23 byte.
    pub score: u64,
    /// How many models were compressed.
    pub compressed: usize,
}

/// Compresses a model.
pub fn compress(frequencies: &[u16], density: Density) -> Vec<u8> {
    let bytes: Vec<u8> = frequencies.iter().flat_map(|f| f.to_le_bytes()).collect();
    let mut model = vec![0; MAX_COMPRESSED_BYTES];
    let written = zstd_safe::compress(&mut model[..], &bytes, density.level());
    let written = written.unwrap_or_else(|_| panic!("a model of {} bytes has a bound of {} bytes", bytes.len(), model.len()));
    model.truncate(written);
    model
}

/// A choice in the making: who makes the models is told which one is wanted next.
///
/// Candidates are tried in the order of their payloads' scores. A model has at least one byte, so a candidate whose payload alone reaches the
/// best total cannot win, and its model is not compressed; nor are those behind it.
#[derive(Clone, Debug)]
pub struct Selection {
    /// Those not yet tried, the best one last.
    rest: Vec<(u64, Representation)>,
    best: Option<Choice>,
    compressed: usize,
}

impl Selection {
    /// Among `candidates`, each with what its payload takes, in units of 2^-20 bit.
    pub fn new(candidates: impl IntoIterator<Item = (Representation, u64)>) -> Self {
        let mut rest: Vec<_> = candidates.into_iter().map(|(candidate, score)| (score, candidate)).collect();
        rest.sort_by(|a, b| b.cmp(a));
        Self { rest, best: None, compressed: 0 }
    }

    /// The candidate whose compressed model is to be [offered](Self::offer) next; `None` where the choice is made.
    pub fn wanted(&self) -> Option<Representation> {
        let &(score, candidate) = self.rest.last()?;
        self.best.as_ref().is_none_or(|best| score < best.score).then_some(candidate)
    }

    /// Takes the compressed model of the candidate that is wanted.
    pub fn offer(&mut self, model: Vec<u8>) {
        let Some((score, representation)) = self.rest.pop() else { return };
        self.compressed += 1;
        let score = score + ((model.len() as u64) << BYTE);
        if self.best.as_ref().is_none_or(|best| (score, representation) < (best.score, best.representation)) {
            self.best = Some(Choice { representation, model, score, compressed: 0 });
        }
    }

    /// The best candidate of those that were offered, if any was.
    pub fn best(self) -> Option<Choice> {
        let compressed = self.compressed;
        self.best.map(|best| Choice { compressed, ..best })
    }
}

/// The candidate with the smallest score; on a tie the one with the smaller number.
pub fn choose(fits: &Fits, density: Density) -> Choice {
    let mut selection = Selection::new(fits.candidates().map(|candidate| (candidate, fits.score(candidate))));
    while let Some(candidate) = selection.wanted() {
        selection.offer(compress(&fits.of(candidate).frequencies(), density));
    }
    selection.best().unwrap_or_else(|| unreachable!("there is always a candidate"))
}

/// The choice by compressing every model, for comparison.
pub fn choose_without_pruning(fits: &Fits, density: Density) -> Choice {
    let all = fits.candidates().map(|representation| {
        let model = compress(&fits.of(representation).frequencies(), density);
        let score = fits.score(representation) + ((model.len() as u64) << BYTE);
        Choice { representation, model, score, compressed: 3 }
    });
    all.min_by_key(|choice| (choice.score, choice.representation))
        .unwrap_or_else(|| unreachable!("there is always a candidate"))
}
