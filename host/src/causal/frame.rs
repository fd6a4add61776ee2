//! A frame's header, and where the sections behind it lie.
//!
//! ```text
//! header (64)  model, filled up to 16  chunk records, filled up to 16  payload words
//! ```

#![forbid(unsafe_code)]

use super::model::MAX_COMPRESSED_BYTES;
use super::{Fault, Form, Grain, MAX_TILE_BYTES, Representation};
use crate::digest::{DIGEST_BYTES, Digest};
use std::ops::Range;

/// Bytes of the header.
pub const HEADER_BYTES: usize = 64;
/// Sections begin at multiples of this many bytes from the start of the frame.
pub const ALIGN_BYTES: u64 = 16;

const VERSION: u8 = 1;
const STORED: u8 = 255;
const DIGEST: Range<usize> = 24..24 + DIGEST_BYTES;
const RESERVED: Range<usize> = 56..HEADER_BYTES;

/// A frame's header. Every combination of fields that [`Header::read`] lets through can be relied upon.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// Classic or split.
    pub form: Form,
    /// `None`: the tile is stored verbatim.
    pub representation: Option<Representation>,
    /// Plain bytes of a chunk.
    pub grain: Grain,
    /// Bytes of the tile.
    pub tile_bytes: u32,
    /// Bytes of the compressed model, without filling.
    pub model_bytes: u32,
    /// Number of chunks.
    pub chunks: u32,
    /// Words of the payload.
    pub words: u32,
    /// [`crate::digest::tree`] of the tile.
    pub digest: Digest,
}

/// `bytes` up to the next multiple of [`ALIGN_BYTES`].
const fn filled(bytes: u64) -> u64 {
    bytes.next_multiple_of(ALIGN_BYTES)
}

impl Header {
    /// The header of a stored tile.
    pub fn stored(form: Form, grain: Grain, tile_bytes: u32, digest: Digest) -> Self {
        Self { form, representation: None, grain, tile_bytes, model_bytes: 0, chunks: 0, words: tile_bytes / 2, digest }
    }

    /// The header of a frame that is `frame`, whole and alone.
    ///
    /// # Errors
    /// The first fault of the header.
    pub fn read(frame: &[u8]) -> Result<Self, Fault> {
        let header = Self::read_first(frame)?;
        let (found, expected) = (frame.len() as u64, header.frame_bytes());
        if found != expected {
            return Err(Fault::FrameLength { found, expected });
        }
        header.expect_smaller()?;
        Ok(header)
    }

    /// The header at the start of `bytes`; what follows it is not looked at, [`Header::frame_bytes`] says how long it must be.
    ///
    /// # Errors
    /// The first fault of the header itself.
    pub fn read_first(bytes: &[u8]) -> Result<Self, Fault> {
        let Some(bytes) = bytes.first_chunk::<HEADER_BYTES>() else {
            return Err(Fault::HeaderTruncated { have: bytes.len() as u64 });
        };
        let number = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let form = match &bytes[..4] {
            b"GPXC" => Form::Classic,
            b"GPXS" => Form::Split,
            _ => return Err(Fault::Magic { found: [bytes[0], bytes[1], bytes[2], bytes[3]] }),
        };
        if bytes[4] != VERSION {
            return Err(Fault::Version { found: bytes[4] });
        }
        let representation = match bytes[5] {
            STORED => None,
            id => Some(Representation::by_id(id).ok_or(Fault::Representation { found: id })?),
        };
        let grain = Grain::by_log2(bytes[6]).ok_or(Fault::Grain { found: bytes[6] })?;
        if bytes[7] != 0 {
            return Err(Fault::Flags { found: bytes[7] });
        }
        if let Some(at) = RESERVED.into_iter().find(|&at| bytes[at] != 0) {
            return Err(Fault::Reserved { offset: at as u64, found: bytes[at] });
        }
        let (tile_bytes, model_bytes, chunks, words) = (number(8), number(12), number(16), number(20));
        if tile_bytes == 0 || !tile_bytes.is_multiple_of(2) || tile_bytes as usize > MAX_TILE_BYTES {
            return Err(Fault::TileLength { found: tile_bytes });
        }
        let mut digest = [0; DIGEST_BYTES];
        digest.copy_from_slice(&bytes[DIGEST]);
        let header = Self { form, representation, grain, tile_bytes, model_bytes, chunks, words, digest };
        if representation.is_none() {
            if model_bytes != 0 {
                return Err(Fault::StoredModel { found: model_bytes });
            }
            if chunks != 0 {
                return Err(Fault::StoredChunks { found: chunks });
            }
            if words != tile_bytes / 2 {
                return Err(Fault::StoredWords { found: words, expected: tile_bytes / 2 });
            }
            return Ok(header);
        }
        let expected = header.tile_chunks() as u32;
        if chunks != expected {
            return Err(Fault::ChunkCount { found: chunks, expected });
        }
        if model_bytes == 0 || model_bytes as usize > MAX_COMPRESSED_BYTES {
            return Err(Fault::ModelLength { found: model_bytes, max: MAX_COMPRESSED_BYTES as u32 });
        }
        Ok(header)
    }

    /// Refuses a coded frame that is not smaller than the stored one.
    ///
    /// # Errors
    /// [`Fault::NotSmaller`].
    pub fn expect_smaller(&self) -> Result<(), Fault> {
        let (found, stored) = (self.frame_bytes(), HEADER_BYTES as u64 + u64::from(self.tile_bytes));
        match self.representation {
            Some(_) if found >= stored => Err(Fault::NotSmaller { found, stored }),
            _ => Ok(()),
        }
    }

    /// The header's bytes.
    pub fn write(&self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[..4].copy_from_slice(match self.form {
            Form::Classic => b"GPXC",
            Form::Split => b"GPXS",
        });
        bytes[4] = VERSION;
        bytes[5] = self.representation.map_or(STORED, |representation| representation as u8);
        bytes[6] = self.grain.log2();
        for (at, number) in [(8, self.tile_bytes), (12, self.model_bytes), (16, self.chunks), (20, self.words)] {
            bytes[at..at + 4].copy_from_slice(&number.to_le_bytes());
        }
        bytes[DIGEST].copy_from_slice(&self.digest);
        bytes
    }

    /// Chunks that the tile makes (a stored frame says 0).
    pub fn tile_chunks(&self) -> usize {
        (self.tile_bytes as usize).div_ceil(self.grain.bytes())
    }

    /// Words of chunk `chunk` of the tile.
    pub fn chunk_words(&self, chunk: usize) -> usize {
        self.grain.words().min(self.tile_bytes as usize / 2 - chunk * self.grain.words())
    }

    /// Bytes of all chunk records, without filling.
    pub fn record_bytes(&self) -> u64 {
        u64::from(self.chunks) * self.form.record_bytes() as u64
    }

    /// The bytes of the compressed model.
    pub fn model(&self) -> Range<u64> {
        let start = HEADER_BYTES as u64;
        start..start + u64::from(self.model_bytes)
    }

    /// The bytes of the chunk records.
    pub fn records(&self) -> Range<u64> {
        let start = filled(self.model().end);
        start..start + self.record_bytes()
    }

    /// The bytes of the payload (of a stored frame: the tile).
    pub fn payload(&self) -> Range<u64> {
        let start = filled(self.records().end);
        start..start + 2 * u64::from(self.words)
    }

    /// Bytes of the whole frame.
    pub fn frame_bytes(&self) -> u64 {
        self.payload().end
    }
}
