//! CLOG on a CPU.

#![forbid(unsafe_code)]

mod decode;
mod encode;

pub use decode::{check, decode};
pub use encode::{encode, measure};
