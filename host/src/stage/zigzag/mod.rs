//! Zigzag as a stage: signed words become unsigned ones, small ones of either sign small ones. See [`crate::lorenzo::zigzag`].
//!
//! Behind a predictor, and before a coder that drops leading zeros. What is no whole word at the end stays as it is.

#![forbid(unsafe_code)]

use super::{Coder, Entry, Record, Stage};
use crate::lorenzo::zigzag;
use crate::{Backend, Error, Result, WordSize};

/// The row of `zigzag` in the table of stages.
pub static ENTRY: Entry = Entry {
    name: "zigzag",
    id: 35,
    about: "signed words as unsigned ones: 0, -1, 1, -2 become 0, 1, 2, 3",
    settings: &["word_size"],
    alone: false,
    from_options: |options| Ok(Box::new(Zigzag::new(options.word_size.unwrap_or(WordSize::W2)))),
    from_record: |record| Zigzag::from_record(record).map(|stage| Box::new(stage) as Box<dyn Stage>),
};

const VERSION: u8 = 0;

/// The stage: a word size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Zigzag {
    word: WordSize,
}

impl Zigzag {
    /// The stage for words of that size.
    pub fn new(word: WordSize) -> Self {
        Self { word }
    }

    /// The size of a word.
    pub fn word(self) -> WordSize {
        self.word
    }

    /// The stage that a record describes.
    ///
    /// # Errors
    /// [`Error::RecordStage`], [`Error::RecordVersion`], [`Error::RecordLength`] or [`Error::Setting`], whichever comes first.
    pub fn from_record(record: &Record) -> Result<Self> {
        let stage = ENTRY.name;
        if record.id != ENTRY.id {
            return Err(Error::RecordStage { stage, found: record.id, expected: ENTRY.id });
        }
        if record.version != VERSION {
            return Err(Error::RecordVersion { stage, found: record.version, max: VERSION });
        }
        let &[word] = record.settings.as_slice() else {
            return Err(Error::RecordLength { stage, found: record.settings.len() as u64, expected: 1 });
        };
        let found = u64::from(word);
        let refused = Error::Setting { stage, setting: "word size", found, allowed: "1, 2, 4 and 8" };
        WordSize::from_bytes(found).map(Self::new).ok_or(refused)
    }
}

impl Stage for Zigzag {
    fn entry(&self) -> &'static Entry {
        &ENTRY
    }

    fn record(&self) -> Record {
        Record { id: ENTRY.id, version: VERSION, settings: vec![self.word.bytes() as u8] }
    }

    fn describe(&self) -> String {
        format!("zigzag, {}-byte words", self.word.bytes())
    }

    fn max_plain_bytes(&self) -> u64 {
        u64::MAX
    }

    fn max_coded_bytes(&self, plain: u64) -> u64 {
        plain
    }

    /// For data in host memory the processor is as fast as the way to a device and back.
    fn coder(&self, _: &Backend) -> Result<Box<dyn Coder>> {
        Ok(Box::new(*self))
    }
}

impl Coder for Zigzag {
    fn encode(&mut self, plain: &[u8], coded: &mut Vec<u8>) -> Result<()> {
        // Keeps what is there: every byte is written.
        coded.resize(plain.len(), 0);
        zigzag::map(self.word, plain, coded)
    }

    fn decode(&mut self, coded: &[u8], plain: &mut [u8]) -> Result<()> {
        if coded.len() != plain.len() {
            return Err(Error::PlainLength { found: coded.len() as u64, expected: plain.len() as u64 });
        }
        zigzag::unmap(self.word, coded, plain)
    }
}
