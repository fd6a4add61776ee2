//! The header of a block: bytes <-> checked values.

use super::Header;
use super::crc::Crc;
use super::input::Input;
use crate::digest::{DIGEST_BYTES, Digest};
use crate::stage::Stage;
use crate::{Error, Result};
use std::io::Read;

/// The first byte of a block's header.
pub(super) const KIND: u8 = b'B';
/// Blocks and payloads start at multiples of this many bytes.
pub(super) const ALIGN_BYTES: u64 = 16;

const FIXED_BYTES: usize = 16;
const STORED: u8 = 1;
const INNER_DIGEST: u8 = 2;
const SHORT: u8 = 4;

/// What a block's checksum covers besides its header, so that it holds in one place of one archive only.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    /// Checksum of the archive's header.
    pub(super) archive: u32,
    /// The block's number.
    pub(super) number: u64,
}

impl Place {
    fn crc(self) -> Crc {
        let mut crc = Crc::after(&self.archive.to_le_bytes());
        crc.update(&self.number.to_le_bytes());
        crc
    }
}

/// What stands in front of a payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BlockHeader {
    /// Whether no stage was applied.
    pub(super) stored: bool,
    /// Bytes of the payload.
    pub(super) payload_bytes: u64,
    /// Bytes of the block.
    pub(super) plain_bytes: u64,
    /// Whether the block is shorter than the cut says.
    pub(super) short: bool,
    /// What each stage but the last made, in bytes.
    pub(super) lengths: Vec<u64>,
    /// The digest of the plain bytes, unless the payload carries it.
    pub(super) digest: Option<Digest>,
}

impl BlockHeader {
    /// The header's bytes at `place`.
    pub(super) fn write(&self, place: Place) -> Vec<u8> {
        let mut bytes = vec![0; FIXED_BYTES];
        bytes[0] = KIND;
        bytes[8..16].copy_from_slice(&self.payload_bytes.to_le_bytes());
        if self.stored {
            bytes[1] |= STORED;
        }
        if self.short {
            bytes[1] |= SHORT;
            bytes.extend_from_slice(&self.plain_bytes.to_le_bytes());
        }
        for length in &self.lengths {
            bytes.extend_from_slice(&length.to_le_bytes());
        }
        match &self.digest {
            Some(digest) => bytes.extend_from_slice(digest),
            None => bytes[1] |= INNER_DIGEST,
        }
        bytes.resize(bytes.len().next_multiple_of(ALIGN_BYTES as usize), 0);
        let mut crc = place.crc();
        crc.update(&bytes);
        bytes[4..8].copy_from_slice(&crc.finish().to_le_bytes());
        bytes
    }

    /// Takes what [`BlockHeader::write`] makes at this place, whose first byte, [`KIND`], was read already.
    pub(super) fn read(input: &mut Input<impl Read>, header: &Header, stages: &[Box<dyn Stage>], place: Place) -> Result<Self> {
        let start = input.offset() - 1;
        let mut fixed = [0; FIXED_BYTES];
        fixed[0] = KIND;
        input.exact("block header", &mut fixed[1..])?;
        let flags = fixed[1];
        if flags & !(STORED | INNER_DIGEST | SHORT) != 0 {
            return Err(Error::Reserved { field: "block flags", offset: start + 1, found: flags.into() });
        }
        let (stored, short) = (flags & STORED != 0, flags & SHORT != 0);
        let lengths = if stored { 0 } else { stages.len() - 1 };
        let digest_bytes = if flags & INNER_DIGEST == 0 { DIGEST_BYTES } else { 0 };
        let used = FIXED_BYTES + 8 * usize::from(short) + 8 * lengths + digest_bytes;
        let mut bytes = vec![0; used.next_multiple_of(ALIGN_BYTES as usize)];
        bytes[..FIXED_BYTES].copy_from_slice(&fixed);
        input.exact("block header", &mut bytes[FIXED_BYTES..])?;

        let expected = u32::from_le_bytes([bytes[4], bytes[5], bytes[6], bytes[7]]);
        bytes[4..8].fill(0);
        let mut crc = place.crc();
        crc.update(&bytes);
        let found = crc.finish();
        if found != expected {
            return Err(Error::Checksum { field: "block header", offset: start, found, expected });
        }
        let reserved = u16::from_le_bytes([bytes[2], bytes[3]]);
        if reserved != 0 {
            return Err(Error::Reserved { field: "block header", offset: start + 2, found: reserved.into() });
        }
        if let Some(at) = (used..bytes.len()).find(|at| bytes[*at] != 0) {
            return Err(Error::Padding { offset: start + at as u64 });
        }

        // Three cuts of what is left: the numbers, the digest, the fill.
        let (numbers, rest) = bytes[8..].split_at(used - digest_bytes - 8);
        let mut numbers = numbers.as_chunks::<8>().0.iter().map(|number| u64::from_le_bytes(*number));
        let payload_bytes = numbers.next().unwrap_or_default();
        let full = header.cut.block(place.number).map(|block| block.end - block.start);
        let full =
            full.ok_or(Error::BlockCount { found: place.number + 1, expected: header.cut.blocks().unwrap_or(place.number) })?;
        let mut plain_bytes = full;
        if short {
            plain_bytes = numbers.next().unwrap_or_default();
            let max = if header.shape.is_some() { 0 } else { full - 1 };
            if plain_bytes == 0 || plain_bytes > max {
                return Err(Error::ShortBlock { found: plain_bytes, max });
            }
        }
        if if stored { payload_bytes != plain_bytes } else { payload_bytes >= plain_bytes } {
            return Err(Error::PayloadLength { found: payload_bytes, plain: plain_bytes });
        }
        let lengths: Vec<u64> = numbers.collect();
        let mut before = plain_bytes;
        for (index, (stage, length)) in stages.iter().zip(&lengths).enumerate() {
            let max = stage.max_coded_bytes(before);
            if *length > max {
                return Err(Error::StageLength { stage: index as u64, found: *length, max });
            }
            before = *length;
        }
        let digest = Digest::try_from(&rest[..digest_bytes]).ok();
        if digest.is_none() != inner_digest(stages, stored) {
            return Err(Error::Reserved { field: "block flags", offset: start + 1, found: flags.into() });
        }
        Ok(Self { stored, payload_bytes, plain_bytes, short, lengths, digest })
    }

    /// The same header, if what lies between its stages is `max` bytes at most.
    pub(super) fn limit(self, max: u64) -> Result<Self> {
        match self.lengths.iter().position(|length| *length > max) {
            Some(stage) => Err(Error::StageLimit { stage: stage as u64, found: self.lengths[stage], max }),
            None => Ok(self),
        }
    }
}

/// Whether a block's payload carries the digest of its plain bytes.
pub(super) fn inner_digest(stages: &[Box<dyn Stage>], stored: bool) -> bool {
    !stored && matches!(stages, [stage] if stage.carries_digest())
}
