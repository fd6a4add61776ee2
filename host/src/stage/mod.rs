//! The stages: codecs with settings, one folder each, all listed in [`ALL`].

pub mod causal;
pub mod clog;
pub mod hclog;
pub mod lc;
pub mod rare;
pub mod raze;
pub mod reducer;
pub mod rre;
pub mod rze;
pub mod stored;

use crate::{Backend, Result};
use shared_types::lc::{ChunkSize, WordSize};
use std::fmt::Debug;

/// One codec with checked settings.
pub trait Stage: Debug + Send + Sync {
    /// The row of [`ALL`] that this stage belongs to.
    fn entry(&self) -> &'static Entry;

    /// The settings as an archive stores them; [`Entry::from_record`] takes them back.
    fn record(&self) -> Record;

    /// The stage and its settings in words, for people.
    fn describe(&self) -> String {
        self.entry().name.into()
    }

    /// The most plain bytes that one call of [`Coder::encode`] takes.
    fn max_plain_bytes(&self) -> u64;

    /// No encoding of `plain` bytes is longer.
    fn max_coded_bytes(&self, plain: u64) -> u64;

    /// Whether the stage's own format carries the digest of [`crate::digest::tree`] and its decoder checks it, so that an archive
    /// need not store it again.
    fn carries_digest(&self) -> bool {
        false
    }

    /// The stage for data that is in a device's memory already, where it has kernels.
    ///
    /// # Errors
    /// [`crate::Error::Cuda`] where the kernels can't be loaded.
    #[cfg(feature = "cuda")]
    fn on_device(&self, device: &crate::backend::CudaDevice) -> Result<Option<lc::DeviceCodec>> {
        let _ = device;
        Ok(None)
    }

    /// The stage as an LC component, if it is one.
    fn chunked(&self) -> Option<&(dyn lc::Chunked + 'static)> {
        None
    }

    /// A coder on `backend`, with whatever it keeps between calls (streams, device buffers).
    ///
    /// # Errors
    /// [`crate::Error::Cuda`] where the device can't be used.
    fn coder(&self, backend: &Backend) -> Result<Box<dyn Coder>>;
}

/// A stage at work on one backend. Reuse it: device buffers stay with it.
pub trait Coder: Send {
    /// Replaces the contents of `coded` with the encoding of `plain`.
    ///
    /// # Errors
    /// [`crate::Error::TooLong`] above [`Stage::max_plain_bytes`].
    fn encode(&mut self, plain: &[u8], coded: &mut Vec<u8>) -> Result<()>;

    /// Decodes `coded`, which must hold exactly `plain.len()` plain bytes, into `plain`.
    ///
    /// # Errors
    /// Whatever is wrong with `coded`; what `plain` holds then is unspecified.
    fn decode(&mut self, coded: &[u8], plain: &mut [u8]) -> Result<()>;
}

/// A stage's settings as stored: never more than 255 bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// [`Entry::id`].
    pub id: u16,
    /// Version of the settings' layout.
    pub version: u8,
    /// The settings, laid out as the stage's page says.
    pub settings: Vec<u8>,
}

/// What a user may ask of a stage by name; a stage refuses what it has no use for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Bytes of a word.
    pub word_size: Option<WordSize>,
    /// Plain bytes of a chunk.
    pub chunk_size: Option<ChunkSize>,
}

/// One row of the table of stages.
#[derive(Debug)]
pub struct Entry {
    /// The name in commands and descriptions, lower case.
    pub name: &'static str,
    /// The number in archives; never reused.
    pub id: u16,
    /// One sentence for `warpack --help` and tables.
    pub about: &'static str,
    /// Builds the stage from what the user asked for.
    pub from_options: fn(&Options) -> Result<Box<dyn Stage>>,
    /// Builds the stage from an archive's record; refuses unknown versions and settings.
    pub from_record: fn(&Record) -> Result<Box<dyn Stage>>,
}

/// Every stage there is. Vectors, benches and the command iterate it.
pub static ALL: &[&Entry] =
    &[&stored::ENTRY, &causal::ENTRY, &clog::ENTRY, &hclog::ENTRY, &rre::ENTRY, &rze::ENTRY, &rare::ENTRY, &raze::ENTRY];

/// The stage called `name`, if there is one.
pub fn by_name(name: &str) -> Option<&'static Entry> {
    ALL.iter().copied().find(|entry| entry.name == name)
}

/// The stage numbered `id`, if there is one.
pub fn by_id(id: u16) -> Option<&'static Entry> {
    ALL.iter().copied().find(|entry| entry.id == id)
}
