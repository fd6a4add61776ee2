//! Warpack: lossless compression of structured arrays, on CPUs and NVIDIA GPUs, with the same bytes from both.

#[cfg(any(feature = "encode", not(feature = "decode-only")))]
pub mod archive;
#[cfg(any(feature = "encode", not(feature = "decode-only")))]
pub mod backend;
pub mod causal;
#[cfg(feature = "cli")]
pub mod cli;
pub mod digest;
mod error;
#[cfg(any(feature = "encode", not(feature = "decode-only")))]
pub mod lorenzo;
#[cfg(any(feature = "encode", not(feature = "decode-only")))]
pub mod stage;
#[cfg(target_arch = "x86_64")]
mod transpose;

#[cfg(any(feature = "encode", not(feature = "decode-only")))]
pub use archive::{CompressOptions, DecompressOptions, ElementType, Shape, compress, decompress};
#[cfg(any(feature = "encode", not(feature = "decode-only")))]
pub use backend::Backend;
pub use error::Error;
pub use shared_types::lc::{ChunkSize, WordSize};

/// What a Warpack call returns.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The examples of the README, compiled and run with those of the documentation.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;
