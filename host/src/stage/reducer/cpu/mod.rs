//! The loops over a chunk's words.

mod dispatch;
mod plain;
#[cfg(target_arch = "x86_64")]
mod vbmi2;

pub use dispatch::{changes, count, flag_longer, flag_whole, gather, lengths, pick, place, repeat};

/// What may be written behind an encoding.
pub const SLACK_BYTES: usize = 64;

/// How many words have at most `k` bits, for every `k`.
pub type Counts = [u32; 65];
