//! Plain chunk to coded chunk.

#![forbid(unsafe_code)]

use super::super::format::Widths;
use super::{dispatch, even};
use crate::stage::lc::Scratch;
use shared_types::clog::Layout;

const _: () = assert!(even::SLACK_BYTES <= Scratch::SLACK_BYTES);

/// Bytes of the encoding of `plain`, or `None` if that is not below `limit`.
pub fn measure(layout: Layout, plain: &[u8], limit: usize) -> Option<usize> {
    measured(layout, plain, limit).map(|(_, size)| size)
}

/// Codes `plain` to the front of `coded`, which has room for `limit` bytes and the slack: the bytes used, or `None` if
/// they were not below `limit`.
pub fn encode(layout: Layout, plain: &[u8], limit: usize, coded: &mut [u8]) -> Option<usize> {
    let (widths, size) = measured(layout, plain, limit)?;
    widths.write(layout, coded);
    let (words, leftover) = plain.split_at(plain.len() - layout.leftover() as usize);
    dispatch::pack(layout, &widths, words, &mut coded[layout.header_bytes() as usize..]);
    coded[size - leftover.len()..size].copy_from_slice(leftover);
    Some(size)
}

fn measured(layout: Layout, plain: &[u8], limit: usize) -> Option<(Widths, usize)> {
    let widths = dispatch::widths(layout, plain);
    let size = layout.coded_bytes(widths.payload_bits(layout)) as usize;
    (size < limit).then_some((widths, size))
}
