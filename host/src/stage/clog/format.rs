//! A coded chunk as bytes and as checked values.

#![forbid(unsafe_code)]

use crate::{Error, Result};
use shared_types::clog::{Layout, SUBCHUNKS, TAG_BYTES};

/// Bits a word of every subchunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(align(32))]
pub struct Widths(pub [u8; SUBCHUNKS as usize]);

impl Widths {
    /// Bits of all words.
    pub fn payload_bits(&self, layout: Layout) -> u32 {
        if layout.words().is_multiple_of(SUBCHUNKS) {
            let sum: u32 = self.0.iter().map(|&width| u32::from(width)).sum();
            return sum * (layout.words() / SUBCHUNKS);
        }
        (0..SUBCHUNKS).zip(self.0).map(|(s, width)| u32::from(width) * layout.subchunk(s).len() as u32).sum()
    }

    /// Writes the chunk's length and the widths to the front of `coded`.
    pub fn write(&self, layout: Layout, coded: &mut [u8]) {
        coded[..TAG_BYTES as usize].copy_from_slice(&(layout.len as u16).to_le_bytes());
        // Eight fields of `F` bits are `F` bytes, at most 7.
        let field_bits = layout.field_bits();
        let fields = coded[TAG_BYTES as usize..].chunks_exact_mut(field_bits as usize);
        for (widths, place) in self.0.chunks_exact(8).zip(fields) {
            let eight = widths.iter().rev().fold(0, |eight, &width| eight << field_bits | u64::from(width));
            place.copy_from_slice(&eight.to_le_bytes()[..field_bits as usize]);
        }
    }

    /// Takes back what [`Self::write`] wrote, without a look at its values.
    fn read_unchecked(layout: Layout, fields: &[u8]) -> Self {
        let field_bits = layout.field_bits();
        let mut widths = [0; SUBCHUNKS as usize];
        for (widths, place) in widths.chunks_exact_mut(8).zip(fields.chunks_exact(field_bits as usize)) {
            let mut eight = [0; 8];
            eight[..field_bits as usize].copy_from_slice(place);
            let eight = u64::from_le_bytes(eight);
            for (i, width) in (0..).zip(widths) {
                *width = (eight >> (i * field_bits)) as u8 & ((1 << field_bits) - 1);
            }
        }
        Self(widths)
    }
}

/// A coded chunk that was checked whole: nothing behind it can go wrong.
#[derive(Clone, Copy, Debug)]
pub struct Coded<'a> {
    /// Bits a word of every subchunk, none above the word's.
    pub widths: Widths,
    /// The packed words, as many bytes as the widths ask for.
    pub payload: &'a [u8],
    /// The bytes behind the last whole word.
    pub leftover: &'a [u8],
}

impl<'a> Coded<'a> {
    /// Checks `coded` in the order of [`shared_types::lc::ChunkStatus`].
    pub fn read(layout: Layout, coded: &'a [u8]) -> Result<Self> {
        let (header_bytes, tag_bytes) = (layout.header_bytes() as usize, TAG_BYTES as usize);
        let Some((header, body)) = coded.split_at_checked(header_bytes) else {
            let (field, offset, end) =
                if coded.len() < tag_bytes { ("chunk length", 0, tag_bytes) } else { ("widths", tag_bytes, header_bytes) };
            let (need, have) = ((end - offset) as u64, (coded.len() - offset) as u64);
            return Err(Error::Truncated { field, offset: offset as u64, need, have });
        };
        let found = u32::from(u16::from_le_bytes([header[0], header[1]]));
        if found != layout.len {
            return Err(Error::LengthTag { found, expected: layout.len });
        }
        let widths = Widths::read_unchecked(layout, &header[tag_bytes..]);
        let max = layout.word.bits();
        if let Some((subchunk, &width)) = (0..).zip(&widths.0).find(|&(_, &width)| u32::from(width) > max) {
            return Err(Error::Width { subchunk, found: width.into(), max });
        }
        let payload_bits = widths.payload_bits(layout);
        let expected = layout.coded_bytes(payload_bits);
        if coded.len() != expected as usize {
            return Err(Error::CodedLength { found: coded.len() as u64, expected: expected.into() });
        }
        let (payload, leftover) = body.split_at(payload_bits.div_ceil(8) as usize);
        let used_bits = payload_bits % 8;
        if let Some(&last) = payload.last()
            && used_bits != 0
            && last >> used_bits != 0
        {
            return Err(Error::Padding { offset: (header_bytes + payload.len() - 1) as u64 });
        }
        Ok(Self { widths, payload, leftover })
    }
}
