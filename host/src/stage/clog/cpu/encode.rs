//! Plain chunk to coded chunk.

#![forbid(unsafe_code)]

use super::super::format::Widths;
use super::{dispatch, even};
use crate::stage::lc::Scratch;
use shared_types::clog::Layout;

const _: () = assert!(even::SLACK_BYTES <= Scratch::SLACK_BYTES);

/// Bytes of the encoding of `plain`, or `None` if that is not below `limit`.
pub fn measure(layout: Layout, plain: &[u8], limit: usize) -> Option<usize> {
    below(limit, coded_bytes(layout, &dispatch::widths(layout, plain)))
}

/// Codes `plain` to the front of `coded`, which has room for `limit` bytes and the slack: the bytes used, or `None` if
/// they were not below `limit`.
pub fn encode(layout: Layout, plain: &[u8], limit: usize, coded: &mut [u8]) -> Option<usize> {
    let widths = dispatch::widths(layout, plain);
    let size = below(limit, coded_bytes(layout, &widths))?;
    write(layout, &widths, plain, &mut coded[..size + even::SLACK_BYTES]);
    Some(size)
}

/// Bytes of the encoding with these widths.
pub fn coded_bytes(layout: Layout, widths: &Widths) -> usize {
    layout.coded_bytes(widths.payload_bits(layout)) as usize
}

/// Codes `plain`, no word of which is wider than its subchunk's width, to `coded`, which is as long as the encoding and the
/// slack.
pub fn write(layout: Layout, widths: &Widths, plain: &[u8], coded: &mut [u8]) {
    widths.write(layout, coded);
    let (words, leftover) = plain.split_at(plain.len() - layout.leftover() as usize);
    dispatch::pack(layout, widths, words, &mut coded[layout.header_bytes() as usize..]);
    let end = coded.len() - even::SLACK_BYTES;
    coded[end - leftover.len()..end].copy_from_slice(leftover);
}

fn below(limit: usize, size: usize) -> Option<usize> {
    (size < limit).then_some(size)
}
