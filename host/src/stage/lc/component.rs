//! What the container asks of a component, and the stage that the two make together.

#![forbid(unsafe_code)]

#[cfg(feature = "cuda")]
use super::cuda::{CudaCoder, DeviceCodec};
use super::{Settings, chunk, container};
use crate::stage::{Coder, Entry, Record, Stage};
use crate::{Backend, Result};
use shared_types::lc::{ChunkSize, ChunkStatus};
use std::fmt::Debug;
use std::marker::PhantomData;

/// A chunk codec. All of it is arithmetic on the caller's bytes: no state, no allocation.
pub trait Component: Copy + Debug + Send + Sync + 'static {
    /// The component's row in the table of stages.
    fn entry() -> &'static Entry;

    /// Bytes of the encoding of `plain` (one chunk of at least one byte), or `None` if that is not below `limit`.
    fn measure(settings: Settings, plain: &[u8], limit: usize) -> Option<usize>;

    /// Encodes `plain` (one chunk of at least one byte) to the front of `scratch`: the bytes used, or `None` if the encoding
    /// would not be shorter than `limit`, which is at most a full chunk. What lies behind them is unspecified.
    fn encode(settings: Settings, plain: &[u8], limit: usize, scratch: &mut Scratch) -> Option<usize>;

    /// Decodes `coded`, which is shorter than a full chunk, into `plain` (one chunk of at least one byte). What `scratch` holds
    /// does not matter.
    ///
    /// # Errors
    /// The first fault in the order of [`ChunkStatus`]; what `plain` holds then is unspecified.
    fn decode(settings: Settings, coded: &[u8], plain: &mut [u8], scratch: &mut Scratch) -> Result<()>;

    /// Finds what [`Self::decode`] would find wrong with an encoding of `plain_bytes` bytes, without decoding more than it must.
    ///
    /// # Errors
    /// Those of [`Self::decode`].
    fn check(settings: Settings, coded: &[u8], plain_bytes: usize) -> Result<()>;
}

/// A component with its settings, for whoever picks it at run time: one chunk by itself, and whole streams.
///
/// With the type at hand, the functions of [`super`] do the same.
pub trait Chunked: Send + Sync {
    /// [`super::encode_chunk`].
    fn encode_chunk(&self, plain: &[u8], coded: &mut [u8]) -> Option<usize>;

    /// [`super::decode_chunk`].
    ///
    /// # Errors
    /// Those of [`super::decode_chunk`].
    fn decode_chunk(&self, coded: &[u8], plain: &mut [u8]) -> Result<()>;

    /// [`super::check_chunk`].
    ///
    /// # Errors
    /// Those of [`super::check_chunk`].
    fn check_chunk(&self, coded: &[u8], plain_bytes: usize) -> Result<()>;

    /// [`super::encode`].
    ///
    /// # Errors
    /// Those of [`super::encode`].
    fn encode(&self, plain: &[u8], coded: &mut Vec<u8>) -> Result<()>;

    /// [`super::decode`].
    ///
    /// # Errors
    /// Those of [`super::decode`].
    fn decode(&self, coded: &[u8], plain: &mut [u8]) -> Result<()>;

    /// [`super::decode_each`].
    ///
    /// # Errors
    /// Those of [`super::decode_each`].
    fn decode_each(&self, coded: &[u8], plain: &mut [u8]) -> Result<Vec<ChunkStatus>>;

    /// [`super::check`].
    ///
    /// # Errors
    /// Those of [`super::check`].
    fn check(&self, coded: &[u8]) -> Result<u32>;
}

impl<C: Component> Chunked for Family<C> {
    fn encode_chunk(&self, plain: &[u8], coded: &mut [u8]) -> Option<usize> {
        chunk::encode::<C>(self.settings, plain, coded)
    }

    fn decode_chunk(&self, coded: &[u8], plain: &mut [u8]) -> Result<()> {
        chunk::decode::<C>(self.settings, coded, plain)
    }

    fn check_chunk(&self, coded: &[u8], plain_bytes: usize) -> Result<()> {
        chunk::check::<C>(self.settings, coded, plain_bytes)
    }

    fn encode(&self, plain: &[u8], coded: &mut Vec<u8>) -> Result<()> {
        container::encode::<C>(self.settings, plain, coded)
    }

    fn decode(&self, coded: &[u8], plain: &mut [u8]) -> Result<()> {
        container::decode::<C>(self.settings, coded, plain)
    }

    fn decode_each(&self, coded: &[u8], plain: &mut [u8]) -> Result<Vec<ChunkStatus>> {
        container::decode_each::<C>(self.settings, coded, plain)
    }

    fn check(&self, coded: &[u8]) -> Result<u32> {
        container::check::<C>(self.settings, coded)
    }
}

/// Where a coder puts a chunk before its place is known, and what else it keeps while it works on it. Made once for many chunks,
/// so that nothing is allocated or cleared for each.
#[derive(Debug)]
pub struct Scratch {
    coded: [u8; Self::BYTES],
    words: [u8; Self::BYTES],
}

impl Scratch {
    /// No encoding is longer: the largest chunk.
    pub const CODED_BYTES: usize = ChunkSize::C16384.bytes() as usize;
    /// What may be written behind the encoding: vector code stores whole registers.
    pub const SLACK_BYTES: usize = 64;

    /// A chunk, and a register at either end.
    const BYTES: usize = Self::CODED_BYTES + 2 * Self::SLACK_BYTES;

    /// An empty one.
    pub const fn new() -> Self {
        Self { coded: [0; _], words: [0; _] }
    }

    /// Where the encoding goes: to the front.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.coded
    }

    /// The same, and as much again for a chunk's words.
    pub fn both_mut(&mut self) -> (&mut [u8], &mut [u8]) {
        (&mut self.coded, &mut self.words)
    }

    /// The encoding of `coded_bytes` bytes at the front.
    pub fn coded(&self, coded_bytes: usize) -> &[u8] {
        &self.coded[..coded_bytes]
    }
}

impl Default for Scratch {
    fn default() -> Self {
        Self::new()
    }
}

/// The stage of component `C`: its chunks in the container.
#[derive(Clone, Copy, Debug)]
pub struct Family<C> {
    settings: Settings,
    component: PhantomData<C>,
}

impl<C> Family<C> {
    /// The stage with `settings`.
    pub const fn new(settings: Settings) -> Self {
        Self { settings, component: PhantomData }
    }
}

impl<C: Component> Stage for Family<C> {
    fn entry(&self) -> &'static Entry {
        C::entry()
    }

    fn record(&self) -> Record {
        self.settings.write(C::entry())
    }

    fn describe(&self) -> String {
        let Settings { word, chunk } = self.settings;
        format!("{}, {}-byte words in chunks of {} bytes", C::entry().name, word.bytes(), chunk.bytes())
    }

    fn max_plain_bytes(&self) -> u64 {
        container::max_plain_bytes(self.settings.chunk)
    }

    fn max_coded_bytes(&self, plain: u64) -> u64 {
        container::max_coded_bytes(self.settings.chunk, plain)
    }

    #[cfg(feature = "cuda")]
    fn on_device(&self, device: &crate::backend::CudaDevice) -> Result<Option<super::DeviceCodec>> {
        super::DeviceCodec::new(C::entry(), self.settings, device).map(Some)
    }

    fn coder(&self, backend: &Backend) -> Result<Box<dyn Coder>> {
        match backend {
            Backend::Cpu => Ok(Box::new(CpuCoder { stage: *self })),
            #[cfg(feature = "cuda")]
            Backend::Cuda(device) => {
                let codec = DeviceCodec::new(C::entry(), self.settings, device)?;
                Ok(Box::new(CudaCoder::new(codec, container::check::<C>)?))
            }
        }
    }

    fn chunked(&self) -> Option<&(dyn Chunked + 'static)> {
        Some(self)
    }
}

/// The stage at work on the cores of this machine.
#[derive(Clone, Copy, Debug)]
struct CpuCoder<C> {
    stage: Family<C>,
}

impl<C: Component> Coder for CpuCoder<C> {
    fn encode(&mut self, plain: &[u8], coded: &mut Vec<u8>) -> Result<()> {
        container::encode::<C>(self.stage.settings, plain, coded)
    }

    fn decode(&mut self, coded: &[u8], plain: &mut [u8]) -> Result<()> {
        container::decode::<C>(self.stage.settings, coded, plain)
    }
}
