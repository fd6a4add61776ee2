//! What a user may choose of an LC component, checked once.

#![forbid(unsafe_code)]

use crate::stage::{Entry, Options, Record};
use crate::{Error, Result};
use shared_types::lc::{ChunkSize, WordSize};

/// The settings of every LC component. All combinations are valid.
///
/// ```
/// use warpack::{ChunkSize, WordSize, stage::lc::Settings};
/// let settings = Settings { word: WordSize::W4, ..Settings::default() };
/// assert_eq!(settings.chunk, ChunkSize::C16384);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Settings {
    /// Bytes of a word: the unit whose leading zeros are removed. The element size of the data is the right one most often.
    pub word: WordSize,
    /// Plain bytes of a full chunk. Larger ones cost less header, smaller ones give more parallelism on small inputs.
    pub chunk: ChunkSize,
}

impl Default for Settings {
    /// 16-bit words in chunks of 16384 bytes.
    fn default() -> Self {
        Self { word: WordSize::W2, chunk: ChunkSize::C16384 }
    }
}

impl Settings {
    /// Every combination, for tests and benches.
    pub fn all() -> impl Iterator<Item = Self> {
        ChunkSize::ALL.into_iter().flat_map(|chunk| WordSize::ALL.into_iter().map(move |word| Self { word, chunk }))
    }

    /// What of [`Options`] there is a use for.
    pub const NAMES: &[&str] = &["word_size", "chunk_size"];

    /// The version of the record's layout.
    const VERSION: u8 = 0;

    /// Bytes of the record.
    const RECORD_BYTES: usize = 2;

    /// What `options` ask for, and the default for the rest.
    pub fn from_options(options: &Options) -> Self {
        let default = Self::default();
        Self { word: options.word_size.unwrap_or(default.word), chunk: options.chunk_size.unwrap_or(default.chunk) }
    }

    /// The settings as an archive stores them with the stage of `entry`.
    pub fn write(self, entry: &Entry) -> Record {
        let chunk_log2 = self.chunk.bytes().ilog2();
        Record { id: entry.id, version: Self::VERSION, settings: vec![self.word.bytes() as u8, chunk_log2 as u8] }
    }

    /// Takes back what [`Self::write`] made for the stage of `entry`.
    ///
    /// # Errors
    /// [`Error::RecordStage`], [`Error::RecordVersion`], [`Error::RecordLength`] or [`Error::Setting`], whichever comes first.
    pub fn read(entry: &Entry, record: &Record) -> Result<Self> {
        let stage = entry.name;
        if record.id != entry.id {
            return Err(Error::RecordStage { stage, found: record.id, expected: entry.id });
        }
        if record.version != Self::VERSION {
            return Err(Error::RecordVersion { stage, found: record.version, max: Self::VERSION });
        }
        let &[word, chunk_log2] = record.settings.as_slice() else {
            let (found, expected) = (record.settings.len() as u64, Self::RECORD_BYTES as u64);
            return Err(Error::RecordLength { stage, found, expected });
        };
        let refused = |setting, found: u8, allowed| Error::Setting { stage, setting, found: found.into(), allowed };
        let word = WordSize::from_bytes(word.into()).ok_or_else(|| refused("word size", word, "1, 2, 4 and 8"))?;
        let chunk = 1u64
            .checked_shl(chunk_log2.into())
            .and_then(ChunkSize::from_bytes)
            .ok_or_else(|| refused("log2 of the chunk size", chunk_log2, "12, 13 and 14"))?;
        Ok(Self { word, chunk })
    }
}
