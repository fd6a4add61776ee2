//! HCLOG on a CPU.

mod chunk;
mod dispatch;
#[cfg(target_arch = "x86_64")]
mod wide;
mod words;

pub use chunk::{check, decode, encode, measure};
