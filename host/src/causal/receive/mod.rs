//! Frame -> tile. Nothing here encodes, and nothing knows a GPU: a reader can be built of this alone (feature `decode-only`).
//!
//! The steps, in the order of the format's page; none reads or allocates by a number that an earlier one has not checked:
//!
//! | step | where |
//! |---|---|
//! | header | [`Header::read`] |
//! | filling | [`Receiver::open`] |
//! | model | [`model::read`], then `tables` |
//! | records | `records` |
//! | payload | [`Receiver::decode_into`]: groups of chunks side by side, on all threads |
//! | digest | the same; what was decoded is wiped if it does not match |

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod chunk;
mod group;
mod plain;
mod records;
mod tables;

pub use group::Level;

use super::frame::Header;
use super::model;
use super::{Fault, Form, Representation};
use crate::{Result, digest};
use rayon::prelude::*;
use records::Record;
use std::ops::Range;
use tables::Tables;

/// A frame whose header, filling, model and records are sound, ready to decode any of its chunks.
#[derive(Debug)]
pub struct Receiver<'a> {
    header: Header,
    /// The tile, if it is stored; else what is needed to decode it.
    body: Body<'a>,
}

#[derive(Debug)]
enum Body<'a> {
    Stored(&'a [u8]),
    Coded(Coded<'a>),
}

/// All that is needed to decode chunks.
#[derive(Debug)]
struct Coded<'a> {
    representation: Representation,
    form: Form,
    chunk_words: usize,
    tables: Tables,
    records: Vec<Record>,
    /// The frame up to its end; the payload is what is left behind `payload`.
    frame: &'a [u8],
    payload: usize,
}

impl Coded<'_> {
    /// Word `at` of the payload.
    #[inline]
    fn word(&self, at: usize) -> Option<u16> {
        let at = self.payload + 2 * at;
        let bytes = self.frame.get(at..at + 2)?;
        Some(u16::from_le_bytes([bytes[0], bytes[1]]))
    }
}

/// `range` of `frame`. The header's numbers were compared with the frame's length.
fn part(frame: &[u8], range: Range<u64>) -> &[u8] {
    &frame[range.start as usize..range.end as usize]
}

/// Refuses a byte other than 0 from `start` up to `end`.
fn expect_filling(frame: &[u8], section: &'static str, start: u64, end: u64) -> Result<(), Fault> {
    match (start..).zip(part(frame, start..end)).find(|(_, byte)| **byte != 0) {
        Some((offset, &found)) => Err(Fault::Filling { section, offset, found }),
        None => Ok(()),
    }
}

/// What lies in front of a payload, sound.
#[derive(Debug)]
pub(super) struct Front {
    pub(super) header: Header,
    /// Frequencies and records, unless the tile is stored.
    pub(super) coded: Option<(Vec<u16>, Vec<records::Record>)>,
}

impl Front {
    /// Checks everything in front of the payload of a frame that has `frame_bytes` bytes; those of the payload need not be in `frame`.
    pub(super) fn try_open(frame: &[u8], frame_bytes: u64) -> Result<Self, Fault> {
        let header = Header::read_first(frame)?;
        let expected = header.frame_bytes();
        if frame_bytes != expected || header.payload().start > frame.len() as u64 {
            return Err(Fault::FrameLength { found: frame_bytes.min(frame.len() as u64), expected });
        }
        header.expect_smaller()?;
        if header.representation.is_none() {
            return Ok(Self { header, coded: None });
        }
        expect_filling(frame, "model", header.model().end, header.records().start)?;
        expect_filling(frame, "records", header.records().end, header.payload().start)?;
        let frequencies = model::read(part(frame, header.model()), header.model().start)?;
        let records = records::read(&header, part(frame, header.records()))?;
        Ok(Self { header, coded: Some((frequencies, records)) })
    }
}

impl<'a> Receiver<'a> {
    /// Checks everything in front of the payload.
    ///
    /// # Errors
    /// The first fault, as [`crate::Error::Frame`].
    pub fn open(frame: &'a [u8]) -> Result<Self> {
        Ok(Self::try_open(frame)?)
    }

    fn try_open(frame: &'a [u8]) -> Result<Self, Fault> {
        let Front { header, coded } = Front::try_open(frame, frame.len() as u64)?;
        let (Some(representation), Some((frequencies, records))) = (header.representation, coded) else {
            return Ok(Self { body: Body::Stored(part(frame, header.payload())), header });
        };
        let coded = Coded {
            representation,
            form: header.form,
            chunk_words: header.grain.words(),
            tables: Tables::new(&frequencies),
            records,
            frame,
            payload: header.payload().start as usize,
        };
        Ok(Self { header, body: Body::Coded(coded) })
    }

    /// The header.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Decodes the whole tile to `plain` and compares its digest.
    ///
    /// # Errors
    /// The first fault; `plain` then holds zeros. [`Fault::PlainLength`] where `plain` is not as long as the tile.
    pub fn decode_into(&self, plain: &mut [u8]) -> Result<()> {
        self.decode_with(Level::best(), plain)
    }

    /// As [`Receiver::decode_into`], with the code that is compiled for `level`; plain code, where the processor does not run that.
    ///
    /// # Errors
    /// As [`Receiver::decode_into`].
    pub fn decode_with(&self, level: Level, plain: &mut [u8]) -> Result<()> {
        let (found, expected) = (u64::from(self.header.tile_bytes), plain.len() as u64);
        if found != expected {
            return Err(Fault::PlainLength { found, expected }.into());
        }
        let mut outcome = self.decode_chunks(level.or_plain(), 0, plain);
        if outcome.is_ok() && digest::tree(plain) != self.header.digest {
            outcome = Err(Fault::Digest);
        }
        if outcome.is_err() {
            plain.fill(0);
        }
        Ok(outcome?)
    }

    /// Decodes the chunks from chunk `first` on that `plain` has room for; `plain` ends with a chunk or with the tile.
    fn decode_chunks(&self, level: Level, first: usize, plain: &mut [u8]) -> Result<(), Fault> {
        match &self.body {
            Body::Stored(tile) => {
                let start = first * self.header.grain.bytes();
                plain.copy_from_slice(&tile[start..start + plain.len()]);
                Ok(())
            }
            Body::Coded(coded) => {
                let group = level.chunks();
                let groups = plain.par_chunks_mut(group * coded.chunk_words * 2).enumerate();
                let work = |(index, plain): (usize, &mut [u8])| group::decode(level, coded, first + index * group, plain);
                // The first fault in the order of the chunks, whichever thread is quicker.
                let fault = groups.map(work).find_first(Result::is_err);
                fault.unwrap_or(Ok(()))
            }
        }
    }

    /// The tile's bytes in `range`, by decoding only the chunks that hold them.
    ///
    /// Each of these chunks must end as a sound one does, but the digest is that of the whole tile and is **not** compared: damage that leaves a
    /// chunk decodable goes unnoticed.
    ///
    /// # Errors
    /// [`crate::Error::Range`] where the range is not within the tile, or the first fault.
    pub fn decode_range(&self, range: Range<u64>) -> Result<Vec<u8>> {
        let Range { start, end } = range;
        let tile = u64::from(self.header.tile_bytes);
        if start > end || end > tile {
            return Err(crate::Error::Range { start, end, plain: tile });
        }
        if start == end {
            return Ok(Vec::new());
        }
        let chunk = self.header.grain.bytes() as u64;
        let first = start / chunk;
        let from = first * chunk;
        let mut plain = vec![0; (end.next_multiple_of(chunk).min(tile) - from) as usize];
        self.decode_chunks(Level::best(), first as usize, &mut plain)?;
        plain.truncate((end - from) as usize);
        plain.drain(..(start - from) as usize);
        Ok(plain)
    }
}

/// The tile in `frame`, checked against its digest.
///
/// # Errors
/// The first fault, as [`crate::Error::Frame`].
pub fn decode(frame: &[u8]) -> Result<Vec<u8>> {
    let receiver = Receiver::open(frame)?;
    let mut plain = vec![0; receiver.header.tile_bytes as usize];
    receiver.decode_into(&mut plain)?;
    Ok(plain)
}
