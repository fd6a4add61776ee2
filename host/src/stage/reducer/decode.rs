//! Coded chunk to plain chunk.

#![forbid(unsafe_code)]

use super::cpu;
use super::format::{Coded, Form, Layout};
use crate::Result;

/// Decodes `coded` into `plain`, which is `layout.len` bytes long.
pub fn decode<const REPEAT: bool>(layout: Layout, coded: &[u8], plain: &mut [u8]) -> Result<()> {
    let mut bitmap = layout.bitmap();
    let Coded { form, whole, low, leftover } = Coded::read(layout, coded, &mut bitmap)?;
    let (words, place) = plain.split_at_mut(plain.len() - leftover.len());
    match form {
        Form::Zeros => words.fill(0),
        Form::Whole => words.copy_from_slice(whole),
        Form::Reduced { keep } => cpu::place::<REPEAT>(layout.settings.word, bitmap.flags(), whole, low, keep, words),
    }
    place.copy_from_slice(leftover);
    Ok(())
}

/// Finds what [`decode`] would find wrong.
pub fn check(layout: Layout, coded: &[u8]) -> Result<()> {
    Coded::read(layout, coded, &mut layout.bitmap()).map(|_| ())
}
