//! The causal codec as a stage: a block is cut into tiles, each of which becomes a frame of [`crate::causal`].
//!
//! | part | when |
//! |---|---|
//! | the tiles' frames; each but the first begins at the next multiple of 16 bytes, after zeros | always |
//! | the last byte of the block, verbatim | the block's length is odd |
//! | the digest of the whole block | unless the block is one tile, whose frame carries the very same |
//!
//! ```
//! use warpack::stage::{Stage, causal::Causal};
//! let plain: Vec<u8> = (0..50_001u32).map(|i| (i / 500) as u8).collect();
//! let mut coder = Causal::default().coder(&warpack::Backend::Cpu)?;
//! let (mut coded, mut again) = (Vec::new(), vec![0; plain.len()]);
//! coder.encode(&plain, &mut coded)?;
//! coder.decode(&coded, &mut again)?;
//! assert_eq!(again, plain);
//! # Ok::<(), warpack::Error>(())
//! ```

#![forbid(unsafe_code)]

use super::{Coder, Entry, Record, Stage};
use crate::causal::frame::{ALIGN_BYTES, HEADER_BYTES, Header};
use crate::causal::receive::Receiver;
use crate::causal::{Fault, MAX_TILE_BYTES, send};
use crate::digest::{self, DIGEST_BYTES};
use crate::{Backend, Error, Result};
use rayon::prelude::*;

/// The row of `causal` in the table of stages.
pub static ENTRY: Entry = Entry {
    name: "causal",
    id: 16,
    about: "16-bit words by the bytes before them: adaptive choice of three models, rANS",
    settings: &[],
    alone: true,
    from_options: |_| Ok(Box::new(Causal::default())), // it knows words of 2 bytes only, and has chunks of its own
    from_record: |record| Causal::from_record(record).map(|stage| Box::new(stage) as Box<dyn Stage>),
};

const VERSION: u8 = 0;
const RECORD_BYTES: usize = 4;

/// Headers, and the frames that they begin.
pub type Frames<'a> = Vec<(Header, &'a [u8])>;

/// The stage: what an encoder may choose, and how blocks are cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Causal {
    settings: send::Settings,
    tile_bytes: usize,
}

impl Default for Causal {
    /// Tiles of 16 MiB, split frames in chunks of 8192 bytes, the representation by score.
    fn default() -> Self {
        Self { settings: send::Settings::default(), tile_bytes: MAX_TILE_BYTES }
    }
}

impl Causal {
    /// The stage with these settings and tiles of `tile_bytes` bytes. The settings are the encoder's own affair, an archive records the size only.
    ///
    /// # Errors
    /// [`Error::Setting`] where tiles can't have that size.
    pub fn new(settings: send::Settings, tile_bytes: u64) -> Result<Self> {
        if tile_bytes < 2 || tile_bytes % 2 == 1 || tile_bytes > MAX_TILE_BYTES as u64 {
            let allowed = "even numbers from 2 to 16777216";
            return Err(Error::Setting { stage: ENTRY.name, setting: "tile size", found: tile_bytes, allowed });
        }
        Ok(Self { settings, tile_bytes: tile_bytes as usize })
    }

    /// The stage that a record describes; it decodes whatever the encoder chose.
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
        let Ok(tile) = <[u8; RECORD_BYTES]>::try_from(record.settings.as_slice()) else {
            let (found, expected) = (record.settings.len() as u64, RECORD_BYTES as u64);
            return Err(Error::RecordLength { stage, found, expected });
        };
        Self::new(send::Settings::default(), u32::from_le_bytes(tile).into())
    }

    /// What an encoder may choose.
    #[cfg(feature = "cuda")]
    pub(crate) fn settings(&self) -> &send::Settings {
        &self.settings
    }

    /// The most bytes of a tile.
    #[cfg(feature = "cuda")]
    pub(crate) fn tile_bytes(&self) -> usize {
        self.tile_bytes
    }

    /// Lengths of the tiles of a block.
    fn tiles(&self, plain_bytes: usize) -> impl Iterator<Item = usize> + use<> {
        let (tile, even) = (self.tile_bytes, plain_bytes & !1);
        (0..even).step_by(tile).map(move |start| tile.min(even - start))
    }

    /// Whether a block is one tile and nothing else, so that the tile's digest is the block's.
    pub(crate) fn is_one_tile(&self, plain_bytes: usize) -> bool {
        plain_bytes.is_multiple_of(2) && (1..=self.tile_bytes).contains(&plain_bytes)
    }

    /// The frames of a block of `plain_bytes` bytes: each header with its frame, and the trailer.
    ///
    /// # Errors
    /// The first fault of a header, of a tile's length, or of what lies between the frames.
    pub fn frames<'a>(&self, coded: &'a [u8], plain_bytes: usize) -> Result<(Frames<'a>, &'a [u8])> {
        let mut frames = Vec::new();
        let mut at = 0usize;
        for (index, tile_bytes) in self.tiles(plain_bytes).enumerate() {
            let in_tile = |source: Error| Error::InTile { index: index as u64, source: Box::new(source) };
            let start = coded.len().min(at.next_multiple_of(ALIGN_BYTES as usize));
            if let Some(offset) = (at..start).find(|&offset| coded[offset] != 0) {
                return Err(Error::Padding { offset: offset as u64 });
            }
            let header = Header::read_first(&coded[start..]).map_err(|fault| in_tile(fault.into()))?;
            let (found, expected) = (u64::from(header.tile_bytes), tile_bytes as u64);
            if found != expected {
                return Err(in_tile(Fault::PlainLength { found, expected }.into()));
            }
            let (need, have) = (header.frame_bytes(), (coded.len() - start) as u64);
            if need > have {
                return Err(in_tile(Error::Truncated { field: "frame", offset: start as u64, need, have }));
            }
            at = start + need as usize;
            frames.push((header, &coded[start..at]));
        }
        Ok((frames, &coded[at..]))
    }
}

impl Stage for Causal {
    fn entry(&self) -> &'static Entry {
        &ENTRY
    }

    fn record(&self) -> Record {
        Record { id: ENTRY.id, version: VERSION, settings: (self.tile_bytes as u32).to_le_bytes().to_vec() }
    }

    fn describe(&self) -> String {
        format!("causal, tiles of {} bytes", self.tile_bytes)
    }

    fn max_plain_bytes(&self) -> u64 {
        u64::MAX
    }

    fn max_coded_bytes(&self, plain: u64) -> u64 {
        let tiles = plain.div_ceil(self.tile_bytes as u64);
        let frames = tiles.saturating_mul(HEADER_BYTES as u64 + ALIGN_BYTES - 1);
        plain.saturating_add(frames).saturating_add(DIGEST_BYTES as u64)
    }

    fn carries_digest(&self) -> bool {
        true
    }

    fn coder(&self, backend: &Backend) -> Result<Box<dyn Coder>> {
        match backend {
            Backend::Cpu => Ok(Box::new(*self)),
            #[cfg(feature = "cuda")]
            Backend::Cuda(device) => Ok(Box::new(crate::causal::cuda::CudaCoder::new(*self, device)?)),
        }
    }
}

impl Coder for Causal {
    fn encode(&mut self, plain: &[u8], coded: &mut Vec<u8>) -> Result<()> {
        coded.clear();
        let (even, odd) = plain.split_at(plain.len() & !1);
        if self.is_one_tile(plain.len()) {
            return send::encode_to(even, &self.settings, coded);
        }
        // As many tiles at a time as there are threads: the rest of the memory stays free.
        for tiles in even.chunks(self.tile_bytes * rayon::current_num_threads()) {
            let frames = tiles.par_chunks(self.tile_bytes).map(|tile| send::encode(tile, &self.settings));
            for frame in frames.collect::<Result<Vec<_>>>()? {
                coded.resize(coded.len().next_multiple_of(ALIGN_BYTES as usize), 0);
                coded.extend_from_slice(&frame);
            }
        }
        coded.extend_from_slice(odd);
        coded.extend_from_slice(&digest::tree(plain));
        Ok(())
    }

    fn decode(&mut self, coded: &[u8], plain: &mut [u8]) -> Result<()> {
        let (frames, trailer) = self.frames(coded, plain.len())?;
        let trailer = Trailer::read(self, trailer, coded.len(), plain.len())?;
        let even = plain.len() & !1;
        let tiles = plain[..even].par_chunks_mut(self.tile_bytes).zip(frames).enumerate();
        let outcome = tiles.map(|(index, (plain, (_, frame)))| {
            let outcome = Receiver::open(frame).and_then(|receiver| receiver.decode_into(plain));
            outcome.map_err(|source| trailer.in_tile(index, source))
        });
        outcome.find_first(Result::is_err).unwrap_or(Ok(()))?;
        trailer.finish(plain)
    }
}

/// What lies behind a block's frames.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Trailer<'a> {
    odd: &'a [u8],
    /// None where the block is one tile.
    digest: Option<&'a [u8]>,
}

impl<'a> Trailer<'a> {
    /// The `trailer` of a block of `coded_bytes` bytes.
    pub(crate) fn read(stage: &Causal, trailer: &'a [u8], coded_bytes: usize, plain_bytes: usize) -> Result<Self> {
        let one = stage.is_one_tile(plain_bytes);
        let expected = if one { 0 } else { plain_bytes % 2 + DIGEST_BYTES };
        if trailer.len() != expected {
            let found = coded_bytes as u64;
            return Err(Error::StreamLength { found, expected: found - trailer.len() as u64 + expected as u64 });
        }
        let (odd, digest) = trailer.split_at(if one { 0 } else { plain_bytes % 2 });
        Ok(Self { odd, digest: (!one).then_some(digest) })
    }

    /// What is wrong with tile `index`, as an error of the block.
    pub(crate) fn in_tile(&self, index: usize, source: Error) -> Error {
        match self.digest {
            None => source,
            Some(_) => Error::InTile { index: index as u64, source: Box::new(source) },
        }
    }

    /// Puts the odd byte behind the tiles, and compares the digest of all; `plain` becomes zeros if it differs.
    pub(crate) fn finish(self, plain: &mut [u8]) -> Result<()> {
        let even = plain.len() & !1;
        if let Some(expected) = self.digest {
            plain[even..].copy_from_slice(self.odd);
            if digest::tree(plain) != expected {
                plain.fill(0);
                return Err(Error::Digest);
            }
        }
        Ok(())
    }
}
