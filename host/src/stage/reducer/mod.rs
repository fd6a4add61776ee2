//! RRE, RZE, RARE and RAZE, which are one component with two switches:
//!
//! | | drops words that repeat the one before | drops words that are zero |
//! |---|---|---|
//! | drops whole words | [`rre`] | [`rze`] |
//! | drops upper bits, the same number in all words | [`rare`] | [`raze`] |
//!
//! A word that must be stored is *flagged*. The flags, one for each word of a full chunk even where the chunk is short, make a
//! bitmap, which is compressed by itself. Its level 0 is the flags; each further level has an eighth of the bytes, a bit for
//! each byte of the one below: set where that byte differs from the byte before it (the first: from 0). Of every level those
//! bytes alone are stored, level 0 first; the last level, the first of less than 8 bytes, is stored whole.
//!
//! | bytes | field |
//! |---|---|
//! | 1 for each bit of level 1 that is set | bytes of level 0 |
//! | 1 for each bit of level 2 that is set | bytes of level 1 |
//! | .. | and so on |
//! | 1, 2 or 4 | the last level |

// | file | idea |
// |---|---|
// | `bitmap` | the flags, and the levels above them |
// | `format` | bytes to checked values: what a decoder has to know before it moves a word |
// | `encode`, `decode` | one text in two directions |
// | `cpu` | the loops over words, for any processor and for AVX-512 |

mod bitmap;
mod cpu;
mod decode;
mod encode;
mod format;
#[cfg(test)]
mod tests;

use super::lc::{Component, Scratch, Settings};
use super::{Entry, rare, raze, rre, rze};
use crate::Result;
use format::Layout;

/// The component that drops words which repeat the one before (`REPEAT`) or which are zero, whole or their upper bits (`UPPER`).
#[derive(Clone, Copy, Debug)]
pub struct Reducer<const REPEAT: bool, const UPPER: bool>;

impl<const REPEAT: bool, const UPPER: bool> Component for Reducer<REPEAT, UPPER> {
    fn entry() -> &'static Entry {
        match (REPEAT, UPPER) {
            (true, false) => &rre::ENTRY,
            (false, false) => &rze::ENTRY,
            (true, true) => &rare::ENTRY,
            (false, true) => &raze::ENTRY,
        }
    }

    fn measure(settings: Settings, plain: &[u8], limit: usize) -> Option<usize> {
        encode::measure::<REPEAT>(Layout { settings, upper: UPPER, len: plain.len() }, plain, limit)
    }

    fn encode(settings: Settings, plain: &[u8], limit: usize, scratch: &mut Scratch) -> Option<usize> {
        encode::encode::<REPEAT>(Layout { settings, upper: UPPER, len: plain.len() }, plain, limit, scratch)
    }

    fn decode(settings: Settings, coded: &[u8], plain: &mut [u8], scratch: &mut Scratch) -> Result<()> {
        decode::decode::<REPEAT>(Layout { settings, upper: UPPER, len: plain.len() }, coded, plain, scratch)
    }

    fn check(settings: Settings, coded: &[u8], plain_bytes: usize) -> Result<()> {
        decode::check(Layout { settings, upper: UPPER, len: plain_bytes }, coded)
    }
}
