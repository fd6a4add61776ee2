//! CLOG on a CPU.

#[cfg(target_arch = "x86_64")]
mod bmi2;
mod decode;
mod dispatch;
mod encode;
mod even;
#[cfg(target_arch = "x86_64")]
pub(in crate::stage) mod vbmi;
mod words;

pub use decode::{check, decode};
pub use encode::{coded_bytes, encode, measure, write};
pub use even::SLACK_BYTES;
