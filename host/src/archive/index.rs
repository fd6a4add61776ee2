//! The end of an archive: where each block begins, and how many there are.

use super::crc::Crc;
use super::input::{Input, io_error};
use crate::{Error, Result};
use sha2::{Digest as _, Sha256};
use std::io::{Read, Seek, SeekFrom};

/// The first byte of the end.
pub(super) const KIND: u8 = b'E';

const FIXED_BYTES: u64 = 8;
const ENTRY_BYTES: u64 = 8;
/// What is read of the index at once.
const PIECE_BYTES: usize = 8192;

/// The bytes of the end of an archive whose blocks begin at `offsets`.
pub(super) fn write(archive: u32, offsets: &[u64]) -> Vec<u8> {
    let mut bytes = vec![KIND, 0, 0, 0, 0, 0, 0, 0];
    bytes.extend(offsets.iter().skip(1).flat_map(|offset| offset.to_le_bytes()));
    bytes.extend_from_slice(&(offsets.len() as u64).to_le_bytes());
    let mut crc = Crc::after(&archive.to_le_bytes());
    crc.update(&bytes);
    bytes[4..8].copy_from_slice(&crc.finish().to_le_bytes());
    bytes
}

/// Bytes of the end of an archive of `blocks` blocks; `None` where there can be no such archive.
fn end_bytes(blocks: u64) -> Option<u64> {
    blocks.saturating_sub(1).checked_mul(ENTRY_BYTES)?.checked_add(FIXED_BYTES + 8)
}

/// The start of the end, whose first byte was read already: its checksum, and the sum so far.
fn read_start(input: &mut Input<impl Read>, archive: u32) -> Result<(u32, Crc)> {
    let start = input.offset() - 1;
    let mut fixed = [KIND, 0, 0, 0, 0, 0, 0, 0];
    input.exact("end", &mut fixed[1..])?;
    if fixed[1..4] != [0; 3] {
        let found = u32::from_le_bytes([fixed[1], fixed[2], fixed[3], 0]).into();
        return Err(Error::Reserved { field: "end", offset: start + 1, found });
    }
    let checksum = u32::from_le_bytes([fixed[4], fixed[5], fixed[6], fixed[7]]);
    fixed[4..].fill(0);
    let mut crc = Crc::after(&archive.to_le_bytes());
    crc.update(&fixed);
    Ok((checksum, crc))
}

/// Reads `entries` entries of the index, in pieces, and hands each piece on.
fn read_entries(input: &mut Input<impl Read>, entries: u64, mut piece: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
    let mut bytes = [0; PIECE_BYTES];
    let mut left = entries;
    while left > 0 {
        let now = left.min(PIECE_BYTES as u64 / ENTRY_BYTES);
        let bytes = &mut bytes[..(now * ENTRY_BYTES) as usize];
        input.exact("index", bytes)?;
        piece(bytes)?;
        left -= now;
    }
    Ok(())
}

/// The number of blocks behind the entries.
fn read_count(input: &mut Input<impl Read>, checksum: u32, mut crc: Crc, start: u64) -> Result<u64> {
    let mut count = [0; 8];
    input.exact("number of blocks", &mut count)?;
    crc.update(&count);
    let found = crc.finish();
    if found != checksum {
        return Err(Error::Checksum { field: "end", offset: start, found, expected: checksum });
    }
    Ok(u64::from_le_bytes(count))
}

/// The index as it should be, collected in one pass. A hash of the offsets instead of the offsets: memory stays the same however
/// many blocks go by.
#[derive(Clone, Debug, Default)]
pub(super) struct Seen {
    offsets: Sha256,
    blocks: u64,
}

impl Seen {
    /// A block begins at `offset`.
    pub(super) fn block(&mut self, offset: u64) {
        if self.blocks > 0 {
            self.offsets.update(offset.to_le_bytes());
        }
        self.blocks += 1;
    }

    /// How many blocks began.
    pub(super) fn blocks(&self) -> u64 {
        self.blocks
    }

    /// Takes the end that belongs to these blocks, whose first byte was read already, and the end of the input.
    pub(super) fn read_end(&self, input: &mut Input<impl Read>, archive: u32) -> Result<()> {
        let start = input.offset() - 1;
        let (checksum, mut crc) = read_start(input, archive)?;
        let mut offsets = Sha256::new();
        read_entries(input, self.blocks.saturating_sub(1), |piece| {
            crc.update(piece);
            offsets.update(piece);
            Ok(())
        })?;
        let count = read_count(input, checksum, crc, start)?;
        if count != self.blocks {
            return Err(Error::BlockCount { found: self.blocks, expected: count });
        }
        if offsets.finalize() != self.offsets.clone().finalize() {
            return Err(Error::Index { index: 0, found: start });
        }
        input.expect_end()
    }
}

/// The end of an archive that can be sought in: checked, but not kept. Entries are read when they are asked for.
#[derive(Clone, Debug)]
pub(super) struct Index {
    /// Where the end starts.
    pub(super) start: u64,
    /// How many blocks there are.
    pub(super) blocks: u64,
    /// Bytes of the whole archive.
    pub(super) archive_bytes: u64,
    header_bytes: u64,
}

impl Index {
    /// Finds and checks the end of an archive whose header takes `header_bytes`.
    pub(super) fn open(mut input: impl Read + Seek, archive: u32, header_bytes: u64) -> Result<Self> {
        let archive_bytes = input.seek(SeekFrom::End(0)).map_err(io_error("seek in the archive"))?;
        let room = archive_bytes.saturating_sub(header_bytes);
        if room < FIXED_BYTES + 8 {
            return Err(Error::Truncated { field: "end", offset: header_bytes, need: FIXED_BYTES + 8, have: room });
        }
        let mut count = [0; 8];
        let mut at = seek(&mut input, archive_bytes - 8)?;
        at.exact("number of blocks", &mut count)?;
        let blocks = u64::from_le_bytes(count);
        let need = end_bytes(blocks).unwrap_or(u64::MAX);
        if need > room {
            return Err(Error::Truncated { field: "end", offset: header_bytes, need, have: room });
        }
        let start = archive_bytes - need;

        if blocks == 0 && start != header_bytes {
            return Err(Error::Index { index: 0, found: start });
        }
        let mut at = seek(&mut input, start)?;
        let mut kind = [0];
        at.exact("end", &mut kind)?;
        if kind != [KIND] {
            return Err(Error::Kind { found: kind[0], offset: start });
        }
        let (checksum, mut crc) = read_start(&mut at, archive)?;
        let (mut before, mut index) = (header_bytes, 1);
        read_entries(&mut at, blocks.saturating_sub(1), |piece| {
            crc.update(piece);
            for entry in piece.as_chunks::<8>().0 {
                let offset = u64::from_le_bytes(*entry);
                if offset <= before || offset >= start || !offset.is_multiple_of(super::block::ALIGN_BYTES) {
                    return Err(Error::Index { index, found: offset });
                }
                (before, index) = (offset, index + 1);
            }
            Ok(())
        })?;
        read_count(&mut at, checksum, crc, start)?;
        Ok(Self { start, blocks, archive_bytes, header_bytes })
    }

    /// Where block `number` begins.
    pub(super) fn offset(&self, input: impl Read + Seek, number: u64) -> Result<u64> {
        if number == 0 {
            return Ok(self.header_bytes);
        }
        let mut entry = [0; 8];
        seek(input, self.start + FIXED_BYTES + (number - 1) * ENTRY_BYTES)?.exact("index", &mut entry)?;
        Ok(u64::from_le_bytes(entry))
    }
}

/// `input` at `offset` of the archive.
pub(super) fn seek<R: Read + Seek>(mut input: R, offset: u64) -> Result<Input<R>> {
    input.seek(SeekFrom::Start(offset)).map_err(io_error("seek in the archive"))?;
    Ok(Input::at(input, offset))
}
