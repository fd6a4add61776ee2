//! Several chunks side by side, so that their dependent steps overlap; in the code that is best for the processor.

use super::{Coded, chunk};
use crate::causal::Fault;

/// What the code is compiled for. All of it gives the same bytes and the same faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Nothing beyond the target.
    Plain,
}

impl Level {
    /// All that this processor runs, slowest first.
    pub fn available() -> &'static [Self] {
        &[Self::Plain]
    }

    /// The quickest.
    pub fn best() -> Self {
        *Self::available().last().unwrap_or(&Self::Plain)
    }

    /// Chunks that one thread decodes together.
    pub(super) fn chunks(self) -> usize {
        8
    }
}

/// Decodes the chunks from `first` on to `plain`, which ends with a chunk; at most [`Level::chunks`].
pub(super) fn decode(_: Level, coded: &Coded, first: usize, plain: &mut [u8]) -> Result<(), Fault> {
    let chunks = plain.chunks_mut(2 * coded.chunk_words);
    chunks.enumerate().try_for_each(|(index, plain)| chunk::decode(coded, first + index, plain))
}
