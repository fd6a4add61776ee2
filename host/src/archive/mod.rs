//! The file around the codecs: header, blocks that can be decoded alone, index. The bytes are in `docs/format.md`.
//!
//! ```
//! use warpack::archive::{self, CompressOptions, ElementType, Shape};
//! let plain: Vec<u8> = (0..6000u16).flat_map(|i| (i % 1000).to_le_bytes()).collect();
//! let options = CompressOptions { element: ElementType::U16, shape: Some(Shape::new(vec![60, 100])?), ..Default::default() };
//! let archive = archive::compress(&plain, &options)?;
//! assert!(archive.len() < plain.len());
//! assert_eq!(archive::decompress(&archive, &Default::default())?, plain);
//! # Ok::<(), warpack::Error>(())
//! ```
//!
//! [`Writer`] and [`Reader`] do the same in one pass through pipes, [`Archive`] restores a range by the index.

#![forbid(unsafe_code)]

mod array;
mod block;
mod crc;
mod cut;
mod header;
mod index;
mod input;
mod pack;
mod pool;
mod reader;
mod writer;

pub use array::{ElementType, Shape};
pub use cut::Cut;
pub use header::{Header, VERSION};
pub use reader::{Archive, Reader};
pub use writer::{Summary, Writer};

use crate::stage::{Stage, clog, lc};
use crate::{Backend, Result};
use std::io::Read;
use std::sync::Arc;

/// The block size where nothing else is asked for.
pub const DEFAULT_BLOCK_BYTES: u64 = 16 << 20;
/// The largest blocks that are read where nothing else is asked for.
pub const DEFAULT_MAX_BLOCK_BYTES: u64 = 256 << 20;

/// What a stage may make of a block, where blocks of `max_block_bytes` are allowed: a stage that pads can make much of little.
fn max_stage_bytes(max_block_bytes: u64) -> u64 {
    max_block_bytes.saturating_mul(2)
}

/// How to compress.
#[derive(Clone, Debug)]
pub struct CompressOptions {
    /// The stages in the order in which they are applied, at least one.
    pub stages: Arc<[Box<dyn Stage>]>,
    /// The type of the elements. It describes the data and keeps blocks from ending within an element.
    pub element: ElementType,
    /// The shape, whose bytes must be those of the input.
    pub shape: Option<Shape>,
    /// Plain bytes of a block, about: blocks end at elements, rows or slices.
    pub block_bytes: u64,
    /// Where the stages run.
    pub backend: Backend,
    /// How many blocks are in work at once, each with a coder of its own; 0 for what suits the backend. (On the CPU a coder
    /// itself uses all threads of rayon's pool.)
    pub workers: usize,
}

impl Default for CompressOptions {
    fn default() -> Self {
        Self::new(Box::new(lc::Family::<clog::Clog>::new(clog::Settings::default())))
    }
}

impl CompressOptions {
    /// One stage, untyped bytes, on the CPU.
    pub fn new(stage: Box<dyn Stage>) -> Self {
        Self {
            stages: Arc::new([stage]),
            element: ElementType::Bytes,
            shape: None,
            block_bytes: DEFAULT_BLOCK_BYTES,
            backend: Backend::Cpu,
            workers: 0,
        }
    }

    fn worker_count(&self) -> usize {
        workers(self.workers, &self.backend)
    }
}

/// How to decompress.
#[derive(Clone, Debug)]
pub struct DecompressOptions {
    /// Where the stages run.
    pub backend: Backend,
    /// How many blocks are in work at once; 0 for what suits the backend.
    pub workers: usize,
    /// The largest blocks that are taken. Memory is bounded by a small multiple of this per worker; what
    /// lies between two stages may be twice as much.
    pub max_block_bytes: u64,
}

impl Default for DecompressOptions {
    fn default() -> Self {
        Self { backend: Backend::Cpu, workers: 0, max_block_bytes: DEFAULT_MAX_BLOCK_BYTES }
    }
}

impl DecompressOptions {
    fn worker_count(&self) -> usize {
        workers(self.workers, &self.backend)
    }
}

/// On the CPU two: while one waits for its slowest thread the other keeps the cores busy. On a device three: one block goes up,
/// one is coded, one comes down.
fn workers(asked: usize, backend: &Backend) -> usize {
    match (asked, backend) {
        (0, Backend::Cpu) => 2,
        #[allow(unreachable_patterns)] // without the feature `cuda`
        (0, _) => 3,
        (asked, _) => asked,
    }
}

/// What an archive says about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Info {
    /// The header.
    pub header: Header,
    /// Number of blocks.
    pub blocks: u64,
    /// Plain bytes of all blocks.
    pub plain_bytes: u64,
    /// Bytes of the archive.
    pub archive_bytes: u64,
}

/// The archive of `plain`.
///
/// # Errors
/// As [`Writer::new`] and [`Writer::write`].
pub fn compress(plain: &[u8], options: &CompressOptions) -> Result<Vec<u8>> {
    let mut writer = Writer::new(Vec::new(), options)?;
    writer.write(plain)?;
    writer.finish().map(|(archive, _)| archive)
}

/// The plain bytes of `archive`.
///
/// # Errors
/// As [`Reader::new`] and [`Reader::next_block`].
pub fn decompress(archive: &[u8], options: &DecompressOptions) -> Result<Vec<u8>> {
    let mut reader = Reader::new(archive, options)?;
    let mut plain = Vec::new();
    reader.copy(&mut plain)?;
    Ok(plain)
}

/// Decodes and checks everything, keeps nothing.
///
/// # Errors
/// As [`Reader::new`] and [`Reader::next_block`].
pub fn verify(archive: impl Read, options: &DecompressOptions) -> Result<Info> {
    let mut reader = Reader::new(archive, options)?;
    reader.copy(&mut std::io::sink())?;
    Ok(reader.info())
}

/// What `archive` says about itself, in one pass and without decoding. ([`Archive::info`] reads header and index only.)
///
/// # Errors
/// Whatever is wrong with the archive outside its payloads.
pub fn info(archive: impl Read, options: &DecompressOptions) -> Result<Info> {
    reader::scan(archive, options)
}
