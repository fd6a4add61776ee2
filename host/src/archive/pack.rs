//! The work on one block: plain bytes <-> payload.

use super::block::{BlockHeader, inner_digest};
use crate::digest;
use crate::stage::{Coder, Stage};
use crate::{Backend, Error, Result};
use std::sync::Arc;

/// What a worker keeps: the stages' coders, made on the worker's own thread when the first block comes, and what lies between
/// one stage and the next.
pub(super) struct Packer {
    stages: Arc<[Box<dyn Stage>]>,
    backend: Backend,
    coders: Vec<Box<dyn Coder>>,
    between: Vec<u8>,
}

/// A block to be coded. Both buffers come back with the result.
#[derive(Debug, Default)]
pub(super) struct Plain {
    /// The plain bytes.
    pub(super) plain: Vec<u8>,
    /// A buffer to use; its contents don't matter.
    pub(super) spare: Vec<u8>,
    /// Whether the block is shorter than the cut says.
    pub(super) short: bool,
}

/// A coded block.
#[derive(Debug)]
pub(super) struct Packed {
    pub(super) header: BlockHeader,
    pub(super) payload: Vec<u8>,
    /// A buffer to use again.
    pub(super) spare: Vec<u8>,
}

impl Packer {
    pub(super) fn new(stages: Arc<[Box<dyn Stage>]>, backend: Backend) -> Self {
        Self { stages, backend, coders: Vec::new(), between: Vec::new() }
    }

    fn coders(&mut self) -> Result<()> {
        if self.coders.is_empty() {
            self.coders = self.stages.iter().map(|stage| stage.coder(&self.backend)).collect::<Result<_>>()?;
        }
        Ok(())
    }

    /// Codes a block: every stage takes what the one before it made.
    pub(super) fn pack(&mut self, Plain { plain, mut spare, short }: Plain) -> Result<Packed> {
        self.coders()?;
        let plain_bytes = plain.len() as u64;
        let mut lengths = Vec::new();
        for (index, coder) in self.coders.iter_mut().enumerate() {
            if index == 0 {
                coder.encode(&plain, &mut spare)?;
            } else {
                lengths.push(spare.len() as u64);
                std::mem::swap(&mut self.between, &mut spare);
                coder.encode(&self.between, &mut spare)?;
            }
        }
        let stored = spare.len() >= plain.len();
        let digest = (!inner_digest(&self.stages, stored)).then(|| digest::tree(&plain));
        let (payload, spare) = if stored { (plain, spare) } else { (spare, plain) };
        if stored {
            lengths.clear();
        }
        let payload_bytes = payload.len() as u64;
        Ok(Packed { header: BlockHeader { stored, payload_bytes, plain_bytes, short, lengths, digest }, payload, spare })
    }

    /// Decodes a block into the buffer that comes with it, and checks the plain bytes. Mirrors [`Packer::pack`].
    pub(super) fn unpack(&mut self, Packed { header, mut payload, spare: mut plain }: Packed) -> Result<Plain> {
        self.coders()?;
        if header.stored {
            std::mem::swap(&mut payload, &mut plain);
        } else {
            for (index, coder) in self.coders.iter_mut().enumerate().rev() {
                let length = index.checked_sub(1).map_or(header.plain_bytes, |before| header.lengths[before]);
                let length = usize::try_from(length).map_err(|_| Error::TooLong { bytes: length, max: usize::MAX as u64 })?;
                // Keeps what is there: decoders write every byte, and zeroing again would cost a pass over memory.
                let more = length.saturating_sub(plain.len());
                plain.try_reserve(more).map_err(|_| Error::Memory { bytes: more as u64 })?;
                plain.resize(length, 0);
                coder.decode(&payload, &mut plain)?;
                if index > 0 {
                    std::mem::swap(&mut payload, &mut plain);
                }
            }
        }
        if header.digest.is_some_and(|digest| digest != digest::tree(&plain)) {
            return Err(Error::Digest);
        }
        Ok(Plain { plain, spare: payload, short: header.short })
    }
}
