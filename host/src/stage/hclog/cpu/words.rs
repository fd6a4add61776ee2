//! The loops over a chunk's words.

#![forbid(unsafe_code)]

use crate::stage::clog::format::Widths;
use crate::stage::lc::{Word, change_words, words};
use shared_types::clog::{Layout, SUBCHUNKS};
use std::ops::Range;

/// What becomes of the subchunks.
pub struct Choice {
    /// A bit for each that is mapped.
    pub mapped: u32,
    /// What its words take then.
    pub widths: Widths,
}

/// The bytes of subchunk `s`.
fn bytes_of(layout: Layout, s: u32) -> Range<usize> {
    let (words, word) = (layout.subchunk(s), layout.word.bytes());
    (words.start * word) as usize..(words.end * word) as usize
}

/// Looks at every subchunk both ways.
#[inline(always)]
pub fn choose<T: Word>(layout: Layout, plain: &[u8]) -> Choice {
    let mut choice = Choice { mapped: 0, widths: Widths([0; SUBCHUNKS as usize]) };
    for (s, width) in (0..).zip(&mut choice.widths.0) {
        let (mut as_is, mut mapped) = (T::default(), T::default());
        for word in words::<T>(&plain[bytes_of(layout, s)]) {
            as_is = as_is.max(word);
            mapped = mapped.max(word.to_sign_magnitude());
        }
        choice.mapped |= u32::from(mapped < as_is) << s;
        *width = mapped.min(as_is).length() as u8;
    }
    choice
}

/// Changes the words of all `mapped` subchunks.
#[inline(always)]
fn change<T: Word>(layout: Layout, mapped: u32, plain: &mut [u8], change: impl Fn(T) -> T) {
    for s in (0..SUBCHUNKS).filter(|s| mapped >> s & 1 != 0) {
        change_words(&mut plain[bytes_of(layout, s)], &change);
    }
}

/// Maps the words of all `mapped` subchunks.
#[inline(always)]
pub fn map<T: Word>(layout: Layout, mapped: u32, plain: &mut [u8]) {
    change(layout, mapped, plain, T::to_sign_magnitude);
}

/// Takes back what [`map`] did.
#[inline(always)]
pub fn map_back<T: Word>(layout: Layout, mapped: u32, plain: &mut [u8]) {
    change(layout, mapped, plain, T::to_twos_complement);
}
