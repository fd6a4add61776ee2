//! Several chunks side by side, so that their dependent steps overlap; in the code that is best for the processor.

use super::{Coded, plain};
#[cfg(target_arch = "x86_64")]
use super::{avx2, avx512};
use crate::causal::Fault;

/// What the code is compiled for. All of it gives the same bytes and the same faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Nothing beyond the target.
    Plain,
    /// Vectors of 8 lanes: Intel since Haswell, AMD since Zen.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// Vectors of 16 lanes: Intel since Ice Lake, AMD since Zen 4.
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl Level {
    /// All that this processor runs, slowest first.
    pub fn available() -> &'static [Self] {
        #[cfg(target_arch = "x86_64")]
        {
            const ALL: [Level; 3] = [Level::Plain, Level::Avx2, Level::Avx512];
            // The standard library asks the processor once and remembers. (No processor has the third without the second.)
            &ALL[..1 + usize::from(avx2::is_available()) + usize::from(avx2::is_available() && avx512::is_available())]
        }
        #[cfg(not(target_arch = "x86_64"))]
        &[Self::Plain]
    }

    /// Itself, or the plain code where the processor does not run it: anyone can name a level.
    pub(super) fn or_plain(self) -> Self {
        if Self::available().contains(&self) { self } else { Self::Plain }
    }

    /// The quickest.
    pub fn best() -> Self {
        *Self::available().last().unwrap_or(&Self::Plain)
    }

    /// Chunks that one thread decodes together.
    pub(super) fn chunks(self) -> usize {
        match self {
            Self::Plain => plain::CHUNKS,
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => avx2::CHUNKS,
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => avx512::CHUNKS,
        }
    }
}

/// Decodes the chunks from `first` on to `tile`, which ends with a chunk; at most [`Level::chunks`].
pub(super) fn decode(level: Level, coded: &Coded, first: usize, tile: &mut [u8]) -> Result<(), Fault> {
    match level {
        Level::Plain => plain::decode(coded, first, tile),
        // SAFETY: as below.
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => unsafe { avx2::decode(coded, first, tile) },
        // SAFETY: `level` went through `Level::or_plain`, which asked the processor.
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => unsafe { avx512::decode(coded, first, tile) },
    }
}
