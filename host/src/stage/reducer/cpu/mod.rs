//! The loops over a chunk's words.

mod dispatch;
mod plain;
#[cfg(target_arch = "x86_64")]
mod vbmi2;

pub use dispatch::{changes, count, flag, gather, ones, pick, place, repeat};

/// What may be written behind an encoding.
pub const SLACK_BYTES: usize = 64;

/// How many words have at most `k` bits, for every `k`.
pub type Counts = [u32; 65];

/// Where the words of a chunk are.
#[derive(Clone, Copy, Debug)]
pub struct Payload<'a> {
    /// The flagged words.
    pub whole: &'a [u8],
    /// `keep` bits of each of the others.
    pub low: &'a [u8],
    /// How many bits of those there are, 0 where whole words are dropped.
    pub keep: usize,
}
