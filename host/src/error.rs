//! The one error of the library.

#![forbid(unsafe_code)]

use shared_types::lc::{ChunkStatus, StreamStatus};
use std::fmt;

/// Why an input was refused or a device did not answer: one variant per reason, with the place, what was found and what
/// was expected.
///
/// The chain of [`std::error::Error::source`] leads from the place to the reason: "in chunk 7", then "a padding bit is set
/// in byte 41".
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[allow(missing_docs)] // each variant explains its numbers
pub enum Error {
    /// The bytes end inside a field.
    Truncated {
        /// What the bytes end in.
        field: &'static str,
        /// Where the field starts, in bytes from the start of the stream (within a chunk: of its encoding).
        offset: u64,
        /// Bytes of the whole field.
        need: u64,
        /// Bytes of it that are there.
        have: u64,
    },
    /// The length that a chunk carries is not the length of its place in the container.
    LengthTag {
        /// The chunk's own word, in bytes.
        found: u32,
        /// The container's, in bytes.
        expected: u32,
    },
    /// A subchunk is wider than its words.
    Width {
        /// Which of the chunk's 32 subchunks.
        subchunk: u32,
        /// The width it states, in bits.
        found: u32,
        /// The word, in bits.
        max: u32,
    },
    /// A number of kept bits that says nothing.
    Keep {
        /// The number that the chunk states.
        found: u32,
        /// The largest that has a meaning: one more than the bits of a word.
        max: u32,
    },
    /// A bitmap has more bytes than there are in front of its end.
    BitmapLength {
        /// The level whose bytes are missing, counted from 0, the flags themselves.
        level: u32,
        /// Bytes of the level that must be stored.
        need: u64,
        /// Bytes that are left for them.
        have: u64,
    },
    /// A bitmap flags a word that the chunk does not have.
    BitmapFlag {
        /// The first such word, counted from 0.
        word: u32,
        /// Words of the chunk.
        words: u32,
    },
    /// An encoding is longer or shorter than its own fields say.
    CodedLength {
        /// Bytes that are there.
        found: u64,
        /// Bytes that the fields ask for.
        expected: u64,
    },
    /// An encoding is not shorter than a full chunk; no encoder goes that far.
    NotSmaller {
        /// Bytes of the encoding.
        coded: u64,
        /// Bytes of a full chunk.
        chunk: u32,
    },
    /// A bit that must be 0 is not.
    Padding {
        /// The byte it is in, from the start of the stream (within a chunk: of its encoding).
        offset: u64,
    },
    /// The chunk count does not follow from the plain length.
    ChunkCount {
        /// The count in the stream.
        found: u32,
        /// The count that the stream's plain length makes.
        expected: u32,
    },
    /// The plain length in a stream is not the one expected.
    PlainLength {
        /// The length in the stream, in bytes.
        found: u64,
        /// The length that the caller gave, in bytes.
        expected: u64,
    },
    /// A chunk entry that no encoder writes.
    Entry {
        /// Whether the chunk is stored as it is.
        raw: bool,
        /// Stored bytes, as the entry states them.
        stored: u32,
        /// Plain bytes of the chunk.
        plain: u32,
    },
    /// The stream's length is not the sum of its parts.
    StreamLength {
        /// Bytes that are there.
        found: u64,
        /// Bytes that the entries ask for.
        expected: u64,
    },
    /// More plain bytes than one stream can hold, or a stream whose length would not fit into 32 bits.
    TooLong {
        /// Bytes that were asked for.
        bytes: u64,
        /// Bytes that are possible.
        max: u64,
    },
    /// A buffer of the caller is smaller than the call needs.
    BufferTooSmall {
        /// Which buffer.
        buffer: &'static str,
        /// Bytes needed.
        need: u64,
        /// Bytes given.
        have: u64,
    },
    /// Two stages that no kernel does in one.
    NotFused {
        /// The first one, in words.
        first: String,
        /// The one behind it.
        then: String,
    },
    /// A buffer in device memory that begins at the wrong place.
    Alignment {
        /// Which buffer.
        buffer: &'static str,
        /// Its address.
        address: u64,
        /// What the address must be a multiple of.
        align: u64,
    },
    /// A setting that its stage does not know.
    Setting {
        /// The stage's name.
        stage: &'static str,
        /// The setting's name.
        setting: &'static str,
        /// What was asked for.
        found: u64,
        /// What there is.
        allowed: &'static str,
    },
    /// A setting that a stage has no use for.
    NoSetting {
        /// The stage's name.
        stage: &'static str,
        /// The setting's name.
        setting: &'static str,
    },
    /// A setting without which a stage can't do.
    MissingSetting {
        /// The stage's name.
        stage: &'static str,
        /// The setting's name.
        setting: &'static str,
    },
    /// Elements of a type that a stage does not take.
    StageElement {
        /// The stage's name.
        stage: &'static str,
        /// The type's name.
        found: &'static str,
        /// What there is.
        allowed: &'static str,
    },
    /// A setting that asks for another one.
    SettingNeeds {
        /// The stage's name.
        stage: &'static str,
        /// The setting that was asked for.
        setting: &'static str,
        /// What it needs.
        needs: &'static str,
    },
    /// A length that ends within an element.
    PartialElement {
        /// The length in bytes.
        bytes: u64,
        /// Bytes of an element.
        element_bytes: u64,
    },
    /// Extents that are not those of the array at hand.
    Extents {
        /// Along x (the fast axis), y and z.
        extents: [u64; 3],
        /// Elements of the array.
        found: u64,
    },
    /// A port that no array of that length has.
    PortLength {
        /// Which port.
        port: &'static str,
        /// Bytes that are there.
        found: u64,
        /// Bytes that the settings and the other ports ask for.
        expected: u64,
    },
    /// A record of settings whose layout is newer than this library.
    RecordVersion {
        /// The stage's name.
        stage: &'static str,
        /// The record's version.
        found: u8,
        /// The latest version known.
        max: u8,
    },
    /// A record of settings of the wrong length.
    RecordLength {
        /// The stage's name.
        stage: &'static str,
        /// Bytes that are there.
        found: u64,
        /// Bytes of a record of this version.
        expected: u64,
    },
    /// A record that belongs to another stage.
    RecordStage {
        /// The stage that was asked.
        stage: &'static str,
        /// The record's stage number.
        found: u16,
        /// The number of the stage that was asked.
        expected: u16,
    },
    /// Something happened in a chunk.
    InChunk {
        /// Which chunk, counted from 0.
        index: u64,
        /// What happened there.
        source: Box<Error>,
    },
    /// Something happened in a tile of a block.
    InTile {
        /// Which tile, counted from 0.
        index: u64,
        /// What happened there.
        source: Box<Error>,
    },
    /// Something happened in a block of an archive.
    InBlock {
        /// Which block, counted from 0.
        index: u64,
        /// What happened there.
        source: Box<Error>,
    },
    /// Not a Warpack archive.
    Magic { found: [u8; 7] },
    /// An archive whose line ends or high bits were changed in transfer as if it were text.
    TextMode,
    /// An archive of a version that this build does not read.
    Version { found: u8, max: u8 },
    /// `field`, which starts at `offset`, is not what its checksum says.
    Checksum { field: &'static str, offset: u64, found: u32, expected: u32 },
    /// Bits that this version reserves are set in `field` at `offset`.
    Reserved { field: &'static str, offset: u64, found: u64 },
    /// No element type has this number.
    ElementType { found: u8 },
    /// A header is longer than its parts, or has none.
    HeaderLength { found: u64, expected: u64 },
    /// No stage has this number.
    UnknownStage { id: u16 },
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
    /// A block that is marked as short and has not 1 to `max` bytes; none has where `max` is 0, in an archive with a shape or with blocks of one byte.
    ShortBlock { found: u64, max: u64 },
    /// A block that is marked as short, of `found` bytes, and is not the last one.
    ShortBlockInside { found: u64 },
    /// A payload longer than its block's plain bytes, or, stored, of another length.
    PayloadLength { found: u64, plain: u64 },
    /// Stage number `stage` of the list cannot have made that many bytes.
    StageLength { stage: u64, found: u64, max: u64 },
    /// Stage number `stage` of the list makes more of a block than the reader's or writer's limit allows.
    StageLimit { stage: u64, found: u64, max: u64 },
    /// The system has no memory for `bytes` more bytes.
    Memory { bytes: u64 },
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
    Io { what: &'static str, kind: std::io::ErrorKind, message: String },
    /// A causal frame was refused.
    Frame(crate::causal::Fault),
    /// The driver is missing, too old, or refused a call.
    Cuda {
        /// The driver's function.
        call: &'static str,
        /// What the driver says.
        message: String,
    },
    /// The device asked for is not there.
    NoDevice {
        /// Which device was asked for, counted from 0.
        index: u32,
        /// How many there are.
        devices: u32,
    },
}

impl Error {
    /// Says that `self` happened in chunk `index`.
    #[cfg(any(feature = "encode", not(feature = "decode-only")))]
    pub(crate) fn in_chunk(self, index: u32) -> Self {
        Self::InChunk { index: index.into(), source: Box::new(self) }
    }

    /// The status that a kernel leaves for a fault inside one chunk's encoding; `None` for what no kernel reports there.
    pub fn chunk_status(&self) -> Option<ChunkStatus> {
        match self {
            Self::InChunk { source, .. } => source.chunk_status(),
            Self::Truncated { .. } => Some(ChunkStatus::Truncated),
            Self::LengthTag { .. } => Some(ChunkStatus::LengthTag),
            Self::Width { .. } => Some(ChunkStatus::Width),
            Self::Keep { .. } => Some(ChunkStatus::Keep),
            Self::BitmapLength { .. } | Self::BitmapFlag { .. } => Some(ChunkStatus::Bitmap),
            Self::CodedLength { .. } => Some(ChunkStatus::CodedLength),
            Self::Padding { .. } => Some(ChunkStatus::Padding),
            _ => None,
        }
    }

    /// The status that a kernel leaves for a fault in the container; `None` for a fault inside a chunk's encoding and for
    /// what no kernel reports.
    pub fn stream_status(&self) -> Option<StreamStatus> {
        match self {
            Self::InChunk { source, .. } => match **source {
                Self::Entry { .. } => Some(StreamStatus::Entry),
                _ => None,
            },
            Self::Truncated { offset, .. } if *offset < shared_types::lc::HEADER_BYTES.into() => Some(StreamStatus::Truncated),
            Self::Truncated { .. } => Some(StreamStatus::Entries),
            Self::ChunkCount { .. } => Some(StreamStatus::ChunkCount),
            Self::PlainLength { .. } => Some(StreamStatus::PlainLength),
            Self::StreamLength { .. } => Some(StreamStatus::StreamLength),
            Self::Padding { .. } => Some(StreamStatus::Padding),
            Self::TooLong { .. } => Some(StreamStatus::TooLong),
            _ => None,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Truncated { field, offset, need, have } => {
                write!(f, "the bytes end inside the {field} at offset {offset}: {have} of {need} bytes are there")
            }
            Self::LengthTag { found, expected } => {
                write!(f, "the chunk says that it holds {found} bytes, its place in the container {expected}")
            }
            Self::Width { subchunk, found, max } => {
                write!(f, "subchunk {subchunk} has width {found}, at most {max} fits")
            }
            Self::Keep { found, max } => write!(f, "{found} bits a word are kept, at most {max} says something"),
            Self::BitmapLength { level, need, have } => {
                write!(f, "level {level} of the bitmap takes {need} bytes, {have} are there")
            }
            Self::BitmapFlag { word, words } => write!(f, "the bitmap flags word {word} of {words}, counted from 0"),
            Self::CodedLength { found, expected } => {
                write!(f, "the encoding has {found} bytes, its fields ask for {expected}")
            }
            Self::NotSmaller { coded, chunk } => {
                write!(f, "the encoding has {coded} bytes, not fewer than the {chunk} of a chunk")
            }
            Self::Padding { offset } => write!(f, "a padding bit is set in byte {offset}"),
            Self::ChunkCount { found, expected } => {
                write!(f, "the stream counts {found} chunks, its plain length makes {expected}")
            }
            Self::PlainLength { found, expected } => {
                write!(f, "the stream holds {found} plain bytes, not {expected}")
            }
            Self::Entry { raw: true, stored, plain } => {
                write!(f, "the entry says {stored} bytes, stored raw, for a chunk of {plain}")
            }
            Self::Entry { raw: false, stored, plain } => {
                write!(f, "the entry says {stored} coded bytes for a chunk of {plain}")
            }
            Self::StreamLength { found, expected } => {
                write!(f, "the stream has {found} bytes, its entries ask for {expected}")
            }
            Self::TooLong { bytes, max } => write!(f, "{bytes} bytes are too many for one stream, at most {max} fit"),
            Self::BufferTooSmall { buffer, need, have } => {
                write!(f, "the buffer for the {buffer} has {have} bytes, {need} are needed")
            }
            Self::NotFused { first, then } => write!(f, "no kernel does {first} and {then} in one"),
            Self::Alignment { buffer, address, align } => {
                write!(f, "the buffer for the {buffer} begins at {address:#x}, no multiple of {align}")
            }
            Self::Setting { stage, setting, found, allowed } => {
                write!(f, "{stage} has no {setting} {found}, only {allowed}")
            }
            Self::NoSetting { stage, setting } => write!(f, "{stage} has no use for {setting}"),
            Self::MissingSetting { stage, setting } => write!(f, "{stage} has to know the {setting}"),
            Self::StageElement { stage, found, allowed } => write!(f, "{stage} does not take {found}, only {allowed}"),
            Self::SettingNeeds { stage, setting, needs } => write!(f, "{stage} has {setting} only with {needs}"),
            Self::PartialElement { bytes, element_bytes } => {
                write!(f, "{bytes} bytes are no whole number of elements of {element_bytes}")
            }
            Self::Extents { extents: [x, y, z], found } => {
                write!(f, "the extents {x}, {y} and {z} along x, y and z do not make the {found} elements that there are")
            }
            Self::PortLength { port, found, expected } => write!(f, "{port}: {found} bytes instead of {expected}"),
            Self::RecordVersion { stage, found, max } => {
                write!(f, "the settings of {stage} have version {found}, this library knows up to {max}")
            }
            Self::RecordLength { stage, found, expected } => {
                write!(f, "the settings of {stage} take {expected} bytes, not {found}")
            }
            Self::RecordStage { stage, found, expected } => {
                write!(f, "the settings belong to stage {found}, {stage} is stage {expected}")
            }
            Self::InChunk { index, .. } => write!(f, "in chunk {index}"),
            Self::InTile { index, .. } => write!(f, "in tile {index}"),
            Self::InBlock { index, .. } => write!(f, "in block {index}"),
            Self::Magic { found } => {
                write!(f, "not a warpack archive: it starts with {found:02x?}")
            }
            Self::TextMode => f.write_str("the archive was changed in transfer as if it were text"),
            Self::Version { found, max } => {
                write!(f, "the archive has version {found}, this build reads up to {max}")
            }
            Self::Checksum { field, offset, found, expected } => {
                write!(f, "the {field} at offset {offset} has checksum {expected:08x}, its bytes make {found:08x}")
            }
            Self::Reserved { field, offset, found } => {
                write!(f, "reserved bits {found:#x} are set in the {field} at offset {offset}")
            }
            Self::ElementType { found } => write!(f, "no element type has number {found}"),
            Self::HeaderLength { found, expected } => {
                write!(f, "the header says {found} bytes, its parts take {expected}")
            }
            Self::UnknownStage { id } => write!(f, "no stage has number {id}"),
            Self::StageCount { found, max } => {
                write!(f, "a list of {found} stages, 1 to {max} are possible")
            }
            Self::Shape { reason } => write!(f, "no archive holds this shape: {reason}"),
            Self::ShapeLength { shape, input } => {
                write!(f, "the shape takes {shape} bytes, the input has {input}")
            }
            Self::BlockSize { found, reason } => write!(f, "blocks of {found} bytes: {reason}"),
            Self::BlockLimit { found, max } => {
                write!(f, "blocks of {found} bytes are above the limit of {max}")
            }
            Self::Kind { found, offset } => {
                write!(f, "neither a block nor the end starts at offset {offset}: kind {found:#04x}")
            }
            Self::ShortBlock { found, max: 0 } => {
                write!(f, "a block is marked as short, with {found} bytes, where none can be")
            }
            Self::ShortBlock { found, max } => {
                write!(f, "a block is marked as short, with {found} bytes, not 1 to {max}")
            }
            Self::ShortBlockInside { found } => {
                write!(f, "a short block, of {found} bytes, is not the last one")
            }
            Self::PayloadLength { found, plain } => {
                write!(f, "a payload of {found} bytes for a block of {plain}")
            }
            Self::StageLength { stage, found, max } => {
                write!(f, "stage {stage} of the list cannot have made {found} bytes, at most {max}")
            }
            Self::StageLimit { stage, found, max } => {
                write!(f, "stage {stage} of the list makes {found} bytes of a block, above the limit of {max}")
            }
            Self::Digest => f.write_str("the plain bytes do not match their digest"),
            Self::Memory { bytes } => write!(f, "there is no memory for {bytes} more bytes"),
            Self::BlockCount { found, expected } => {
                write!(f, "the archive has {found} blocks, not {expected}")
            }
            Self::Index { index, found } => {
                write!(f, "entry {index} of the index leads to offset {found}, where no block starts")
            }
            Self::Trailing { offset } => {
                write!(f, "there are bytes behind the archive's end at offset {offset}")
            }
            Self::Range { start, end, plain } => {
                write!(f, "the range {start}..{end} is not within the {plain} plain bytes")
            }
            Self::Io { what, message, .. } => write!(f, "cannot {what}: {message}"),
            Self::Frame(_) => f.write_str("in a causal frame"),
            // The driver was not even found: the message says so.
            Self::Cuda { call: "dlopen", message } => f.write_str(message),
            Self::Cuda { call, message } => write!(f, "the driver refused {call}: {message}"),
            Self::NoDevice { index, devices } => {
                write!(f, "there is no device {index}, only {devices} in all")
            }
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::InChunk { source, .. } | Self::InTile { source, .. } | Self::InBlock { source, .. } => Some(source),
            Self::Frame(fault) => Some(fault),
            _ => None,
        }
    }
}

impl From<crate::causal::Fault> for Error {
    fn from(fault: crate::causal::Fault) -> Self {
        Self::Frame(fault)
    }
}
