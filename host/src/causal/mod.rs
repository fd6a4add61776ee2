//! The causal codec: every byte of a 16-bit word coded by the byte before it, or by its own word's other byte.
//!
//! A tile of up to 16 MiB gets one model: two banks (low bytes, high bytes) of 256 contexts with the frequencies of 256 symbols each. It is
//! fitted in three [`Representation`]s, and the cheapest is coded with rANS, chunk by chunk, so that chunks are coded and
//! decoded side by side. The bytes are in `docs/format.md`, section "Causal".
//!
//! | module | idea |
//! |---|---|
//! | [`frame`] | the header: bytes <-> checked values, and where the sections lie |
//! | [`model`] | rows of frequencies, and the Zstandard frame around them |
//! | [`rans`] | the arithmetic of one symbol |
//! | [`receive`] | frame -> tile; depends on nothing that encodes |
//! | [`batch`] | many frames, or many tiles, made ready for a device (not in a `decode-only` build) |
//! | `cuda` | batches on a device (feature `cuda`) |
//! | [`send`] | tile -> frame (not in a `decode-only` build) |
//!
//! ```
//! use warpack::causal::{receive, send};
//! let tile: Vec<u8> = (0..20_000u32).flat_map(|i| ((i % 1000 * 3) as u16).to_le_bytes()).collect();
//! let frame = send::encode(&tile, &send::Settings::default())?;
//! assert!(frame.len() < tile.len() / 2);
//! assert_eq!(receive::decode(&frame)?, tile);
//! # Ok::<(), warpack::Error>(())
//! ```

#[cfg(any(feature = "encode", not(feature = "decode-only")))]
pub mod batch;
#[cfg(feature = "cuda")]
pub mod cuda;
mod fault;
pub mod frame;
pub mod model;
pub mod rans;
pub mod receive;
#[cfg(any(feature = "encode", not(feature = "decode-only")))]
pub mod send;

pub use fault::{Bank, Fault, Step};

/// The most bytes of a tile.
pub const MAX_TILE_BYTES: usize = 16 << 20;

/// What the banks' symbols are, and what their contexts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Representation {
    /// Each byte by the same byte of the word before.
    SameLane = 0,
    /// The high byte by the high byte before; the low byte by its own word's high byte.
    HighFirst = 1,
    /// As [`Representation::SameLane`], of the zigzag differences to the word before.
    Residual = 2,
}

impl Representation {
    /// All of them, in the order in which ties are decided.
    pub const ALL: [Self; 3] = [Self::SameLane, Self::HighFirst, Self::Residual];

    /// The name in commands.
    pub const fn name(self) -> &'static str {
        match self {
            Self::SameLane => "same-lane",
            Self::HighFirst => "high-first",
            Self::Residual => "residual",
        }
    }

    /// The one called `name`.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|representation| representation.name() == name)
    }

    /// The one with number `id` in a frame.
    pub const fn by_id(id: u8) -> Option<Self> {
        match id {
            0 => Some(Self::SameLane),
            1 => Some(Self::HighFirst),
            2 => Some(Self::Residual),
            _ => None,
        }
    }
}

/// How many rANS states a chunk has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Form {
    /// One for both banks: 8 bytes a chunk less.
    Classic,
    /// One a bank: two independent chains.
    #[default]
    Split,
}

impl Form {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Classic, Self::Split];

    /// The name in commands.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Classic => "classic",
            Self::Split => "split",
        }
    }

    /// The one called `name`.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|form| form.name() == name)
    }

    /// States of a chunk.
    pub const fn streams(self) -> usize {
        match self {
            Self::Classic => 1,
            Self::Split => 2,
        }
    }

    /// Bytes of a chunk's record.
    pub const fn record_bytes(self) -> usize {
        8 * self.streams() + 2
    }
}

/// Plain bytes of a chunk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Grain {
    /// 8192 bytes.
    #[default]
    B8192,
    /// 2048 bytes: four times the parallelism, about half a percent more bytes.
    B2048,
}

impl Grain {
    /// Both.
    pub const ALL: [Self; 2] = [Self::B8192, Self::B2048];

    /// Bytes of a chunk.
    pub const fn bytes(self) -> usize {
        1 << self.log2()
    }

    /// Words of a chunk.
    pub const fn words(self) -> usize {
        self.bytes() / 2
    }

    /// The number in a frame.
    pub const fn log2(self) -> u8 {
        match self {
            Self::B8192 => 13,
            Self::B2048 => 11,
        }
    }

    /// The grain with that number.
    pub const fn by_log2(log2: u8) -> Option<Self> {
        match log2 {
            13 => Some(Self::B8192),
            11 => Some(Self::B2048),
            _ => None,
        }
    }

    /// The grain of so many bytes.
    pub fn by_bytes(bytes: u64) -> Option<Self> {
        Self::ALL.into_iter().find(|grain| grain.bytes() as u64 == bytes)
    }
}

/// The zigzag number of a difference: 0, -1, 1, -2, .. become 0, 1, 2, 3, ...
pub const fn zigzag(difference: u16) -> u16 {
    (difference << 1) ^ ((difference as i16) >> 15) as u16
}

/// The difference whose [`zigzag`] number this is.
pub const fn unzigzag(z: u16) -> u16 {
    (z >> 1) ^ (z & 1).wrapping_neg()
}
