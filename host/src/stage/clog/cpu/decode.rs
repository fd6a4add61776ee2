//! Coded chunk to plain chunk.

#![forbid(unsafe_code)]

use super::super::format::Coded;
use super::dispatch;
use crate::Result;
use shared_types::clog::Layout;

/// Decodes `coded` into `plain`, which is `layout.len` bytes long.
pub fn decode(layout: Layout, coded: &[u8], plain: &mut [u8]) -> Result<()> {
    let coded = Coded::read(layout, coded)?;
    let (words, leftover) = plain.split_at_mut(plain.len() - layout.leftover() as usize);
    dispatch::unpack(layout, &coded.widths, coded.payload, words);
    leftover.copy_from_slice(coded.leftover);
    Ok(())
}

/// Finds what [`decode`] would find wrong.
pub fn check(layout: Layout, coded: &[u8]) -> Result<()> {
    Coded::read(layout, coded).map(|_| ())
}
