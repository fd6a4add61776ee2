//! The one error of the library.

use shared_types::lc::{ChunkSize, WordSize};
use std::fmt;

/// Why an input was refused or a device did not answer: one variant per reason, with the place, what was found and what was expected.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The bytes end inside `field`, which starts at `offset`.
    Truncated { field: &'static str, offset: u64, need: u64, have: u64 },
    /// The length that a chunk carries is not the length of its place in the container.
    LengthTag { found: u32, expected: u32 },
    /// A subchunk is wider than its words.
    Width { subchunk: u32, found: u32, max: u32 },
    /// An encoding is longer or shorter than its own fields say.
    CodedLength { found: u64, expected: u64 },
    /// A bit that must be 0 is not, in the byte at `offset`.
    Padding { offset: u64 },
    /// The chunk count does not follow from the plain length.
    ChunkCount { found: u32, expected: u32 },
    /// The plain length in a stream is not the one expected.
    PlainLength { found: u64, expected: u64 },
    /// A chunk entry that no encoder writes: `stored` bytes for a chunk of `plain` bytes.
    Entry { raw: bool, stored: u32, plain: u32 },
    /// The stream's length is not the sum of its parts.
    StreamLength { found: u64, expected: u64 },
    /// More plain bytes than one stream can hold, or a stream that would not fit into 32 bits.
    TooLong { bytes: u64, max: u64 },
    /// A buffer of the caller is smaller than the call needs.
    BufferTooSmall { buffer: &'static str, need: u64, have: u64 },
    /// `source` happened in chunk `index`.
    InChunk { index: u64, source: Box<Error> },
    /// `source` happened in block `index` of an archive.
    InBlock { index: u64, source: Box<Error> },
    /// The driver is missing, too old, or refused a call.
    Cuda { call: &'static str, message: String },
    /// The device asked for is not there.
    NoDevice { index: u32, devices: u32 },
}
