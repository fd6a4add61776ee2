//! The stages: codecs with settings, one folder each, all listed in [`ALL`].

pub mod adaptive_lorenzo;
pub mod causal;
pub mod clog;
pub mod hclog;
pub mod lc;
pub mod lorenzo;
pub mod predictor;
pub mod rare;
pub mod raze;
pub mod reducer;
pub mod rre;
pub mod rze;
pub mod stored;
pub mod tiled_lorenzo;
pub mod zigzag;

use crate::lorenzo::Policy;
use crate::{Backend, ElementType, Error, Result};
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

/// What a user may ask of a stage by name. [`Entry::stage`] refuses what a stage has no use for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Bytes of a word.
    pub word_size: Option<WordSize>,
    /// Plain bytes of a chunk.
    pub chunk_size: Option<ChunkSize>,
    /// The type of the elements.
    pub element: Option<ElementType>,
    /// Elements of a segment.
    pub block_size: Option<u64>,
    /// How many times differences are taken.
    pub order: Option<u64>,
    /// Whether differences may be taken twice.
    pub order2: Option<bool>,
    /// Whether means are taken off, or may be.
    pub centering: Option<bool>,
    /// Elements of the array along x (the fast axis), y and z.
    pub extents: Option<[u64; 3]>,
    /// Elements of a tile along x, y and z.
    pub tile: Option<[u64; 3]>,
    /// Coder blocks of a tile.
    pub blocks_per_tile: Option<u64>,
    /// What a choice is taken to cost.
    pub policy: Option<Policy>,
}

impl Options {
    /// The names of what is asked for.
    fn given(&self) -> impl Iterator<Item = &'static str> {
        let Self {
            word_size,
            chunk_size,
            element,
            block_size,
            order,
            order2,
            centering,
            extents,
            tile,
            blocks_per_tile,
            policy,
        } = self;
        let all = [
            ("word_size", word_size.is_some()),
            ("chunk_size", chunk_size.is_some()),
            ("element", element.is_some()),
            ("block_size", block_size.is_some()),
            ("order", order.is_some()),
            ("order2", order2.is_some()),
            ("centering", centering.is_some()),
            ("extents", extents.is_some()),
            ("tile", tile.is_some()),
            ("blocks_per_tile", blocks_per_tile.is_some()),
            ("policy", policy.is_some()),
        ];
        all.into_iter().filter_map(|(name, given)| given.then_some(name))
    }

    /// The type of the elements, without which `stage` can't do.
    fn element(&self, stage: &'static str) -> Result<ElementType> {
        self.element.ok_or(Error::MissingSetting { stage, setting: "element" })
    }
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
    /// What of [`Options`] the stage has a use for.
    pub settings: &'static [&'static str],
    /// Whether the stage is of use without others, so that a command offers it as a codec.
    pub alone: bool,
    /// Builds the stage from what of the options it has a use for. [`Entry::stage`] is stricter.
    pub from_options: fn(&Options) -> Result<Box<dyn Stage>>,
    /// Builds the stage from an archive's record; refuses unknown versions and settings.
    pub from_record: fn(&Record) -> Result<Box<dyn Stage>>,
}

impl Entry {
    /// The stage that the user asked for.
    ///
    /// # Errors
    /// [`Error::NoSetting`] where the stage has no use for what was asked; else what is wrong with it.
    pub fn stage(&self, options: &Options) -> Result<Box<dyn Stage>> {
        match options.given().find(|name| !self.settings.contains(name)) {
            Some(setting) => Err(Error::NoSetting { stage: self.name, setting }),
            None => (self.from_options)(options),
        }
    }
}

/// Every stage there is. Vectors, benches and the command iterate it.
pub static ALL: &[&Entry] = &[
    &stored::ENTRY,
    &causal::ENTRY,
    &clog::ENTRY,
    &hclog::ENTRY,
    &rre::ENTRY,
    &rze::ENTRY,
    &rare::ENTRY,
    &raze::ENTRY,
    &lorenzo::ENTRY,
    &adaptive_lorenzo::ENTRY,
    &tiled_lorenzo::ENTRY,
    &zigzag::ENTRY,
];

/// The stages that are of use alone: codecs, and [`stored`] to compare with.
pub fn codecs() -> impl Iterator<Item = &'static Entry> {
    ALL.iter().copied().filter(|entry| entry.alone)
}

/// The stage called `name`, if there is one.
pub fn by_name(name: &str) -> Option<&'static Entry> {
    ALL.iter().copied().find(|entry| entry.name == name)
}

/// The stage numbered `id`, if there is one.
pub fn by_id(id: u16) -> Option<&'static Entry> {
    ALL.iter().copied().find(|entry| entry.id == id)
}
