//! The header of an archive: bytes <-> checked values.

use super::crc::Crc;
use super::input::Input;
use super::{Cut, ElementType, Shape};
use crate::stage::{self, Record, Stage};
use crate::{Error, Result};
use std::io::Read;

/// The first bytes of every archive. A transfer as text changes at least one of them.
pub(super) const MAGIC: [u8; 7] = *b"\x89WP\r\n\x1a\n";
/// The version that is written and the only one that is read.
pub const VERSION: u8 = 1;

const FIXED_BYTES: usize = 24;
const UNIT_BYTES: usize = 16;
const MAX_BYTES: usize = 255 * UNIT_BYTES;
const MAX_STAGES: usize = 255;
const CHECKSUM: std::ops::Range<usize> = 12..16;
const SHAPED: u8 = 1;

/// What holds for the whole archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// The type of the elements.
    pub element: ElementType,
    /// The shape, if one was given.
    pub shape: Option<Shape>,
    /// Where the blocks lie.
    pub cut: Cut,
    /// The stages in the order in which an encoder applies them.
    pub records: Vec<Record>,
}

impl Header {
    /// The header's bytes.
    pub(super) fn write(&self) -> Result<Vec<u8>> {
        if self.records.is_empty() || self.records.len() > MAX_STAGES {
            return Err(Error::StageCount { found: self.records.len() as u64, max: MAX_STAGES as u64 });
        }
        let mut bytes = vec![0; FIXED_BYTES];
        bytes[..7].copy_from_slice(&MAGIC);
        bytes[7] = VERSION;
        bytes[10] = self.element.code();
        bytes[11] = self.records.len() as u8;
        bytes[16..24].copy_from_slice(&self.cut.block_bytes().to_le_bytes());
        for record in &self.records {
            let Ok(length) = u8::try_from(record.settings.len()) else {
                let (found, expected) = (record.settings.len() as u64, u8::MAX.into());
                let stage = stage::by_id(record.id).map_or("a stage", |entry| entry.name);
                return Err(Error::RecordLength { stage, found, expected });
            };
            bytes.extend_from_slice(&record.id.to_le_bytes());
            bytes.extend_from_slice(&[record.version, length]);
            bytes.extend_from_slice(&record.settings);
        }
        if let (Some(shape), Some(axis)) = (&self.shape, self.cut.axis()) {
            bytes[9] |= SHAPED;
            bytes.extend_from_slice(&[shape.extents().len() as u8, axis]);
            bytes.extend(shape.extents().iter().flat_map(|extent| extent.to_le_bytes()));
        }
        bytes.resize(bytes.len().next_multiple_of(UNIT_BYTES), 0);
        if bytes.len() > MAX_BYTES {
            return Err(Error::HeaderLength { found: bytes.len() as u64, expected: MAX_BYTES as u64 });
        }
        bytes[8] = (bytes.len() / UNIT_BYTES) as u8;
        let checksum = Crc::after(&bytes).finish();
        bytes[CHECKSUM].copy_from_slice(&checksum.to_le_bytes());
        Ok(bytes)
    }

    /// The header's bytes, and the checksum that ties blocks to it.
    pub(super) fn write_with_checksum(&self) -> Result<(Vec<u8>, u32)> {
        let bytes = self.write()?;
        let checksum = u32::from_le_bytes(bytes[CHECKSUM].try_into().expect("four bytes"));
        Ok((bytes, checksum))
    }

    /// Takes what [`Header::write`] makes, and nothing else; and its checksum.
    pub(super) fn read(input: &mut Input<impl Read>) -> Result<(Self, u32)> {
        let mut start = [0; 9];
        input.exact("signature", &mut start[..7])?;
        let found = [start[0], start[1], start[2], start[3], start[4], start[5], start[6]];
        if found != MAGIC {
            return Err(if looks_like_text_mode(found) { Error::TextMode } else { Error::Magic { found } });
        }
        input.exact("version", &mut start[7..8])?;
        if start[7] != VERSION {
            return Err(Error::Version { found: start[7], max: VERSION });
        }
        input.exact("header length", &mut start[8..])?;
        let length = start[8] as usize * UNIT_BYTES;
        if length <= FIXED_BYTES {
            return Err(Error::HeaderLength { found: length as u64, expected: 32 });
        }
        let mut bytes = vec![0; length];
        bytes[..9].copy_from_slice(&start);
        input.exact("header", &mut bytes[9..])?;

        let expected = u32::from_le_bytes(bytes[CHECKSUM].try_into().expect("four bytes"));
        bytes[CHECKSUM].fill(0);
        let found = Crc::after(&bytes).finish();
        if found != expected {
            return Err(Error::Checksum { field: "header", offset: 0, found, expected });
        }

        let mut fields = Fields { bytes: &bytes, at: 9 };
        let flags = fields.u8("header flags")?;
        if flags & !SHAPED != 0 {
            return Err(Error::Reserved { field: "header flags", offset: 9, found: flags.into() });
        }
        let code = fields.u8("element type")?;
        let element = ElementType::from_code(code).ok_or(Error::ElementType { found: code })?;
        let stages = fields.u8("number of stages")?;
        if stages == 0 {
            return Err(Error::StageCount { found: 0, max: MAX_STAGES as u64 });
        }
        fields.at = CHECKSUM.end;
        let block_bytes = fields.u64("block size")?;
        let mut records = Vec::new();
        for _ in 0..stages {
            let id = u16::from_le_bytes([fields.u8("stage number")?, fields.u8("stage number")?]);
            let version = fields.u8("settings version")?;
            let settings = fields.u8("settings length")?;
            records.push(Record { id, version, settings: fields.take("settings", settings.into())?.to_vec() });
        }
        let (shape, cut) = if flags & SHAPED == 0 {
            (None, Cut::plain(block_bytes)?)
        } else {
            let (rank, axis) = (fields.u8("rank")?, fields.u8("cut axis")?);
            let extents: Result<Vec<u64>> = (0..rank).map(|_| fields.u64("extent")).collect();
            let shape = Shape::new(extents?)?;
            let cut = Cut::array(block_bytes, element, &shape, axis)?;
            (Some(shape), cut)
        };
        if let Some(at) = (fields.at..length).find(|at| bytes[*at] != 0) {
            return Err(Error::Padding { offset: at as u64 });
        }
        if length != fields.at.next_multiple_of(UNIT_BYTES) {
            return Err(Error::HeaderLength { found: length as u64, expected: fields.at.next_multiple_of(UNIT_BYTES) as u64 });
        }
        Ok((Self { element, shape, cut, records }, expected))
    }

    /// The stages of the records.
    pub(super) fn stages(&self) -> Result<Vec<Box<dyn Stage>>> {
        let stage = |record: &Record| match stage::by_id(record.id) {
            Some(entry) => (entry.from_record)(record),
            None => Err(Error::UnknownStage { id: record.id }),
        };
        self.records.iter().map(stage).collect()
    }
}

/// What the signature becomes when line ends are translated or the high bit is cleared.
fn looks_like_text_mode(found: [u8; 7]) -> bool {
    const SIGNS: [&[u8]; 6] = [
        b"\x89WP\n",         // CR LF became LF
        b"\x89WP\r\x1a",     // CR LF became CR
        b"\x89WP\r\r",       // each LF became CR LF, or CR
        b"\x89WP\r\n\x1a\r", // the LF without a CR did
        b"\x89WP\r\n\n",     // control-Z was dropped
        b"\x09WP\r\n",       // the high bit is gone
    ];
    SIGNS.iter().any(|sign| found.starts_with(sign))
}

/// The checked header's bytes, taken from the front.
struct Fields<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Fields<'a> {
    fn take(&mut self, field: &'static str, length: usize) -> Result<&'a [u8]> {
        let rest = &self.bytes[self.at..];
        if rest.len() < length {
            let (offset, need, have) = (self.at as u64, length as u64, rest.len() as u64);
            return Err(Error::Truncated { field, offset, need, have });
        }
        self.at += length;
        Ok(&rest[..length])
    }

    fn u8(&mut self, field: &'static str) -> Result<u8> {
        Ok(self.take(field, 1)?[0])
    }

    fn u64(&mut self, field: &'static str) -> Result<u64> {
        Ok(u64::from_le_bytes(self.take(field, 8)?.try_into().expect("eight bytes")))
    }
}
