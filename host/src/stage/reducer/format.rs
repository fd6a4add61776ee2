//! A coded chunk as bytes and as checked values.

#![forbid(unsafe_code)]

use super::bitmap::Bitmap;
use crate::stage::lc::Settings;
use crate::{Error, Result};
use shared_types::reducer::{Levels, tag_bytes};

/// What is known of a chunk before its encoding is looked at.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// Word and chunk size.
    pub settings: Settings,
    /// Whether upper bits are dropped, not whole words.
    pub upper: bool,
    /// Plain bytes, 1 to a full chunk.
    pub len: usize,
}

impl Layout {
    /// Bytes of a word.
    pub const fn word_bytes(self) -> usize {
        self.settings.word.bytes() as usize
    }

    /// Bits of a word.
    pub const fn word_bits(self) -> usize {
        self.settings.word.bits() as usize
    }

    /// Whole words of the chunk.
    pub const fn words(self) -> usize {
        self.len / self.word_bytes()
    }

    /// Bytes behind the last whole word, stored verbatim.
    pub const fn leftover(self) -> usize {
        self.len % self.word_bytes()
    }

    /// A bitmap for the chunk's flags, none set.
    pub const fn bitmap(self) -> Bitmap {
        Bitmap::new(Levels::of(self.settings.word, self.settings.chunk))
    }

    /// Bytes at the end of every encoding.
    pub const fn tag_bytes(self) -> usize {
        tag_bytes(self.upper) as usize
    }

    /// Bits of the words where `flagged` ones are whole and of the others `keep` bits are left.
    pub const fn word_payload_bits(self, flagged: usize, keep: usize) -> usize {
        self.word_bits() * flagged + keep * (self.words() - flagged)
    }
}

/// The ways to code a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// All words are zero.
    Zeros,
    /// All words are whole: dropping upper bits would save nothing.
    Whole,
    /// Flagged words are whole, the others have `keep` bits, 0 where whole words are dropped.
    Reduced { keep: usize },
}

impl Form {
    /// Writes the tag, which fills `place`.
    pub fn write(self, layout: Layout, place: &mut [u8]) {
        let (keep, len) = place.split_at_mut(layout.tag_bytes() - 2);
        if let [keep] = keep {
            *keep = match self {
                Self::Zeros => layout.word_bits() + 1,
                Self::Whole => layout.word_bits(),
                Self::Reduced { keep } => keep,
            } as u8;
        }
        len.copy_from_slice(&(layout.len as u16).to_le_bytes());
    }
}

/// A coded chunk that was checked whole: nothing behind it can go wrong.
#[derive(Clone, Copy, Debug)]
pub struct Coded<'a> {
    /// How it is coded. Of [`Form::Reduced`] the bitmap has the flags.
    pub form: Form,
    /// The flagged words; with [`Form::Whole`] all of them.
    pub whole: &'a [u8],
    /// The low bits of the others.
    pub low: &'a [u8],
    /// The bytes behind the last whole word.
    pub leftover: &'a [u8],
}

impl<'a> Coded<'a> {
    /// Checks `coded` in the order of [`shared_types::lc::ChunkStatus`], and leaves the flags in `bitmap`.
    pub fn read(layout: Layout, coded: &'a [u8], bitmap: &mut Bitmap) -> Result<Self> {
        let (tag_bytes, leftover_bytes) = (layout.tag_bytes(), layout.leftover());
        let wrong_length = |expected: usize| Error::CodedLength { found: coded.len() as u64, expected: expected as u64 };
        let truncated = |field, need: usize, have: usize| {
            let (need, have) = (need as u64, have as u64);
            Error::Truncated { field, offset: 0, need, have }
        };
        let (front, tag) = coded
            .split_at_checked(coded.len().wrapping_sub(tag_bytes))
            .ok_or_else(|| truncated("tag", tag_bytes, coded.len()))?;
        let (front, leftover) = front
            .split_at_checked(front.len().wrapping_sub(leftover_bytes))
            .ok_or_else(|| truncated("leftover bytes", leftover_bytes, front.len()))?;
        let (found, expected) = (u32::from(u16::from_le_bytes([tag[tag_bytes - 2], tag[tag_bytes - 1]])), layout.len as u32);
        if found != expected {
            return Err(Error::LengthTag { found, expected });
        }
        let (bits, zeros) = (layout.word_bits(), Self { form: Form::Zeros, whole: &[], low: &[], leftover });
        let mut keep = 0;
        if layout.upper {
            keep = usize::from(tag[0]);
            if keep > bits + 1 {
                return Err(Error::Keep { found: keep as u32, max: bits as u32 + 1 });
            }
            if keep == bits + 1 {
                return if front.is_empty() { Ok(zeros) } else { Err(wrong_length(leftover_bytes + tag_bytes)) };
            }
            if keep == bits {
                let whole = front;
                let is_whole = whole.len() == layout.words() * layout.word_bytes();
                let read = Self { form: Form::Whole, whole, low: &[], leftover };
                return if is_whole { Ok(read) } else { Err(wrong_length(layout.len + tag_bytes)) };
            }
        } else if front.is_empty() {
            return Ok(zeros);
        }

        let start = bitmap.read(front)?;
        if let Some(word) = bitmap.flag_from(layout.words()) {
            return Err(Error::BitmapFlag { word: word as u32, words: layout.words() as u32 });
        }
        let flagged = bitmap.flagged();
        let payload_bits = layout.word_payload_bits(flagged, keep);
        let payload_bytes = payload_bits.div_ceil(8);
        if start != payload_bytes {
            return Err(wrong_length(payload_bytes + (coded.len() - start)));
        }
        let (whole, low) = front[..payload_bytes].split_at(layout.word_bytes() * flagged);
        let used_bits = payload_bits % 8;
        if let Some(&last) = low.last()
            && used_bits != 0
            && last >> used_bits != 0
        {
            return Err(Error::Padding { offset: payload_bytes as u64 - 1 });
        }
        Ok(Self { form: Form::Reduced { keep }, whole, low, leftover })
    }
}
