//! Coded chunk to plain chunk.

#![forbid(unsafe_code)]

use super::cpu::{self, Payload};
use super::format::{Coded, Form, Layout};
use crate::Result;
use crate::stage::lc::Scratch;

/// Decodes `coded` into `plain`, which is `layout.len` bytes long.
pub fn decode<const REPEAT: bool>(layout: Layout, coded: &[u8], plain: &mut [u8], scratch: &mut Scratch) -> Result<()> {
    let mut bitmap = layout.bitmap();
    let Coded { form, whole, low, leftover } = Coded::read(layout, coded, &mut bitmap)?;
    let (words, place) = plain.split_at_mut(plain.len() - leftover.len());
    match form {
        Form::Zeros => words.fill(0),
        Form::Whole => words.copy_from_slice(whole),
        Form::Reduced { keep } => {
            let payload = Payload { whole, low, keep };
            cpu::place::<REPEAT>(layout.settings.word, bitmap.flags(), payload, scratch, words);
        }
    }
    place.copy_from_slice(leftover);
    Ok(())
}

/// Finds what [`decode`] would find wrong.
pub fn check(layout: Layout, coded: &[u8]) -> Result<()> {
    Coded::read(layout, coded, &mut layout.bitmap()).map(|_| ())
}
