//! Stored: the plain bytes, verbatim. For data that nothing shrinks, and as the neutral element of lists of stages.

#![forbid(unsafe_code)]

use super::{Coder, Entry, Options, Record, Stage};
use crate::{Backend, Error, Result};

/// The row of `stored` in the table of stages.
pub static ENTRY: Entry = Entry {
    name: "stored",
    id: 0,
    about: "the plain bytes, verbatim",
    settings: &[],
    alone: true,
    from_options: |_: &Options| Ok(Box::new(Stored)),
    from_record: |record| {
        let found = record.settings.len() as u64;
        match (record.id, record.version, found) {
            (0, 0, 0) => Ok(Box::new(Stored)),
            (0, 0, _) => Err(Error::RecordLength { stage: "stored", found, expected: 0 }),
            (0, ..) => Err(Error::RecordVersion { stage: "stored", found: record.version, max: 0 }),
            _ => Err(Error::RecordStage { stage: "stored", found: record.id, expected: 0 }),
        }
    },
};

/// The stage: no settings, any length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stored;

impl Stage for Stored {
    fn entry(&self) -> &'static Entry {
        &ENTRY
    }

    fn record(&self) -> Record {
        Record { id: 0, version: 0, settings: Vec::new() }
    }

    fn max_plain_bytes(&self) -> u64 {
        u64::MAX
    }

    fn max_coded_bytes(&self, plain: u64) -> u64 {
        plain
    }

    fn coder(&self, _: &Backend) -> Result<Box<dyn Coder>> {
        Ok(Box::new(Stored))
    }
}

impl Coder for Stored {
    fn encode(&mut self, plain: &[u8], coded: &mut Vec<u8>) -> Result<()> {
        coded.clear();
        coded.extend_from_slice(plain);
        Ok(())
    }

    fn decode(&mut self, coded: &[u8], plain: &mut [u8]) -> Result<()> {
        if coded.len() != plain.len() {
            return Err(Error::PlainLength { found: coded.len() as u64, expected: plain.len() as u64 });
        }
        plain.copy_from_slice(coded);
        Ok(())
    }
}
