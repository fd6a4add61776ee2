//! CLOG on a CPU.

#[cfg(target_arch = "x86_64")]
mod bmi2;
mod decode;
mod dispatch;
mod encode;
mod even;
#[cfg(target_arch = "x86_64")]
mod vbmi;
mod words;

pub use decode::{check, decode};
pub use encode::{encode, measure};
