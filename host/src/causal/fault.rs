//! Why a frame was refused.

#![forbid(unsafe_code)]

use std::fmt;

/// One of the two halves of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bank {
    /// Low bytes.
    Low,
    /// High bytes.
    High,
    /// Both, where one state serves them.
    Both,
}

impl fmt::Display for Bank {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Low => "low bank",
            Self::High => "high bank",
            Self::Both => "only state",
        })
    }
}

/// The steps of a receiver, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum Step {
    Header,
    Filling,
    Model,
    Records,
    Payload,
    Digest,
}

/// Why a frame was refused: one variant per reason, in the order in which a receiver looks. Offsets are bytes from the start of the frame.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[allow(missing_docs)] // the messages explain the numbers
pub enum Fault {
    HeaderTruncated {
        have: u64,
    },
    Magic {
        found: [u8; 4],
    },
    Version {
        found: u8,
    },
    Representation {
        found: u8,
    },
    Grain {
        found: u8,
    },
    Flags {
        found: u8,
    },
    Reserved {
        offset: u64,
        found: u8,
    },
    TileLength {
        found: u32,
    },
    StoredModel {
        found: u32,
    },
    StoredChunks {
        found: u32,
    },
    StoredWords {
        found: u32,
        expected: u32,
    },
    ChunkCount {
        found: u32,
        expected: u32,
    },
    ModelLength {
        found: u32,
        max: u32,
    },
    FrameLength {
        found: u64,
        expected: u64,
    },
    NotSmaller {
        found: u64,
        stored: u64,
    },
    Filling {
        section: &'static str,
        offset: u64,
        found: u8,
    },
    ModelStart {
        offset: u64,
    },
    ModelBlock {
        offset: u64,
    },
    ModelEnd {
        offset: u64,
        expected: u64,
    },
    ModelData,
    ModelOutput {
        found: u64,
        expected: u64,
    },
    RowSum {
        row: u32,
        found: u32,
    },
    Frequency {
        row: u32,
        symbol: u32,
        found: u32,
    },
    State {
        chunk: u32,
        bank: Bank,
        found: u32,
    },
    WordCount {
        chunk: u32,
        bank: Bank,
        found: u32,
        max: u32,
    },
    WordsBehindPayload {
        chunk: u32,
        need: u64,
        have: u64,
    },
    WordSum {
        found: u64,
        expected: u64,
    },
    DeadRow {
        chunk: u32,
        word: u32,
        row: u32,
    },
    OutOfWords {
        chunk: u32,
        bank: Bank,
        word: u32,
    },
    Terminal {
        chunk: u32,
        bank: Bank,
        found: u32,
    },
    UnusedWords {
        chunk: u32,
        bank: Bank,
        unused: u32,
    },
    Digest,
    /// Not the frame's fault: the caller expected another tile.
    PlainLength {
        found: u64,
        expected: u64,
    },
}

impl Fault {
    /// The step that finds it.
    pub fn step(&self) -> Step {
        use Fault::*;
        match self {
            HeaderTruncated { .. } | Magic { .. } | Version { .. } | Representation { .. } | Grain { .. } | Flags { .. } => {
                Step::Header
            }
            Reserved { .. } | TileLength { .. } | StoredModel { .. } | StoredChunks { .. } | StoredWords { .. } => Step::Header,
            ChunkCount { .. } | ModelLength { .. } | FrameLength { .. } | NotSmaller { .. } | PlainLength { .. } => {
                Step::Header
            }
            Filling { .. } => Step::Filling,
            ModelStart { .. } | ModelBlock { .. } | ModelEnd { .. } | ModelData | ModelOutput { .. } => Step::Model,
            RowSum { .. } | Frequency { .. } => Step::Model,
            State { .. } | WordCount { .. } | WordsBehindPayload { .. } | WordSum { .. } => Step::Records,
            DeadRow { .. } | OutOfWords { .. } | Terminal { .. } | UnusedWords { .. } => Step::Payload,
            Digest => Step::Digest,
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::HeaderTruncated { have } => write!(f, "the frame ends inside its header: {have} of 64 bytes are there"),
            Self::Magic { found } => write!(f, "not a causal frame: it starts with {found:02x?}"),
            Self::Version { found } => write!(f, "the frame has version {found}, not 1"),
            Self::Representation { found } => write!(f, "there is no representation {found}"),
            Self::Grain { found } => write!(f, "there are no chunks of 2^{found} bytes, only of 2^13 and 2^11"),
            Self::Flags { found } => write!(f, "reserved flags {found:#04x} are set"),
            Self::Reserved { offset, found } => write!(f, "the reserved byte at offset {offset} is {found:#04x}"),
            Self::TileLength { found } => write!(f, "a tile has 2 to 16777216 bytes, an even number, not {found}"),
            Self::StoredModel { found } => write!(f, "a stored frame has no model, this one says {found} bytes"),
            Self::StoredChunks { found } => write!(f, "a stored frame has no chunks, this one says {found}"),
            Self::StoredWords { found, expected } => write!(f, "a stored frame of {expected} words says {found}"),
            Self::ChunkCount { found, expected } => write!(f, "the frame counts {found} chunks, its tile makes {expected}"),
            Self::ModelLength { found, max } => write!(f, "a compressed model has 1 to {max} bytes, not {found}"),
            Self::FrameLength { found, expected } => write!(f, "the frame has {found} bytes, its fields ask for {expected}"),
            Self::NotSmaller { found, stored } => write!(f, "the coded frame has {found} bytes, stored it would have {stored}"),
            Self::Filling { section, offset, found } => {
                write!(f, "the filling behind the {section} has {found:#04x} at offset {offset}")
            }
            Self::ModelStart { offset } => {
                write!(f, "the model is not the Zstandard frame it should be, from offset {offset} on")
            }
            Self::ModelBlock { offset } => write!(f, "the model has no Zstandard block at offset {offset}"),
            Self::ModelEnd { offset, expected } => {
                write!(f, "the model's Zstandard frame ends at offset {offset}, the model at {expected}")
            }
            Self::ModelData => f.write_str("the model's Zstandard frame is damaged"),
            Self::ModelOutput { found, expected } => write!(f, "the model has {found} bytes, not {expected}"),
            Self::RowSum { row, found } => write!(f, "the frequencies of row {row} have the sum {found}"),
            Self::Frequency { row, symbol, found } => write!(f, "the frequency of symbol {symbol} in row {row} is {found}"),
            Self::State { chunk, bank, found } => write!(f, "chunk {chunk}, {bank}: the state {found:#x} is below 2^16"),
            Self::WordCount { chunk, bank, found, max } => {
                write!(f, "chunk {chunk}, {bank}: {found} words for at most {max} symbols")
            }
            Self::WordsBehindPayload { chunk, need, have } => {
                write!(f, "the words up to chunk {chunk} are {need}, the payload has {have}")
            }
            Self::WordSum { found, expected } => write!(f, "the chunks have {found} words, the payload {expected}"),
            Self::DeadRow { chunk, word, row } => write!(f, "chunk {chunk}: word {word} needs row {row}, which is empty"),
            Self::OutOfWords { chunk, bank, word } => write!(f, "chunk {chunk}, {bank}: the payload ends before word {word}"),
            Self::Terminal { chunk, bank, found } => write!(f, "chunk {chunk}, {bank}: the last state is {found:#x}, not 2^16"),
            Self::UnusedWords { chunk, bank, unused } => write!(f, "chunk {chunk}, {bank}: {unused} words are left over"),
            Self::Digest => f.write_str("the plain bytes do not match their digest"),
            Self::PlainLength { found, expected } => write!(f, "the frame holds {found} plain bytes, not {expected}"),
        }
    }
}

impl std::error::Error for Fault {}
