//! The one error of the library.

use shared_types::lc::{ChunkSize, WordSize};
use std::fmt;

/// Why an input was refused or a device did not answer: one variant per reason, with the place, what was found and what was expected.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[allow(missing_docs)] // each variant explains its numbers
pub enum Error {
    /// The bytes end inside `field`, which starts at `offset`.
    Truncated {
        field: &'static str,
        offset: u64,
        need: u64,
        have: u64,
    },
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
    BufferTooSmall {
        buffer: &'static str,
        need: u64,
        have: u64,
    },
    /// `source` happened in chunk `index`.
    InChunk { index: u64, source: Box<Error> },
    /// `source` happened in block `index` of an archive.
    InBlock { index: u64, source: Box<Error> },
    /// Not a Warpack archive.
    Magic { found: [u8; 7] },
    /// An archive whose line ends or high bits were changed in transfer as if it were text.
    TextMode,
    /// An archive of a version that this build does not read.
    Version { found: u8, max: u8 },
    /// `field`, which starts at `offset`, is not what its checksum says.
    Checksum {
        field: &'static str,
        offset: u64,
        found: u32,
        expected: u32,
    },
    /// Bits that this version reserves are set in `field` at `offset`.
    Reserved {
        field: &'static str,
        offset: u64,
        found: u64,
    },
    /// No element type has this number.
    ElementType { found: u8 },
    /// A header is longer than its parts, or has none.
    HeaderLength { found: u64, expected: u64 },
    /// No stage has this number.
    UnknownStage { id: u16 },
    /// The settings of stage `id` are of a version or content that this build does not know.
    StageRecord { id: u16, version: u8 },
    /// A list of stages that is empty or longer than a header holds.
    StageCount { found: u64, max: u64 },
    /// A shape whose rank or size no archive holds.
    Shape { reason: &'static str },
    /// The shape takes `shape` bytes, the input has `input` (or more, if it was not read to its end).
    ShapeLength { shape: u64, input: u64 },
    /// Blocks of a size that the cut rules out.
    BlockSize { found: u64, reason: &'static str },
    /// Blocks larger than the limit that the reader was given.
    BlockLimit { found: u64, max: u64 },
    /// Neither a block nor the end of an archive starts at `offset`.
    Kind { found: u8, offset: u64 },
    /// A short block that is not last, is not shorter than the others, or stands in an archive with a shape.
    ShortBlock { found: u64, max: u64 },
    /// A payload longer than its block's plain bytes, or, stored, of another length.
    PayloadLength { found: u64, plain: u64 },
    /// Stage number `stage` of the list cannot have made that many bytes.
    StageLength { stage: u64, found: u64, max: u64 },
    /// The plain bytes are not those that the digest was made of.
    Digest,
    /// An archive with more or fewer blocks than its end says or its shape asks for.
    BlockCount { found: u64, expected: u64 },
    /// Entry `index` of the index does not lead to a block.
    Index { index: u64, found: u64 },
    /// Bytes behind the end of an archive.
    Trailing { offset: u64 },
    /// A range that is not within the plain bytes.
    Range { start: u64, end: u64, plain: u64 },
    /// The operating system refused to read or write.
    Io {
        what: &'static str,
        kind: std::io::ErrorKind,
        message: String,
    },
    /// The driver is missing, too old, or refused a call.
    Cuda { call: &'static str, message: String },
    /// The device asked for is not there.
    NoDevice { index: u32, devices: u32 },
}
