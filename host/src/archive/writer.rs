//! Writing an archive in one pass.

use super::block::{ALIGN_BYTES, Place};
use super::input::io_error;
use super::pack::{Packed, Packer, Plain};
use super::pool::Pool;
use super::{CompressOptions, Cut, DEFAULT_MAX_BLOCK_BYTES, Header, index, max_stage_bytes};
use crate::{Error, Result};
use std::io::{self, Read, Write};
use std::sync::Arc;

/// What became of an input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Bytes of the input.
    pub plain_bytes: u64,
    /// Bytes of the archive.
    pub archive_bytes: u64,
    /// Number of blocks.
    pub blocks: u64,
    /// How many of them no stage could shrink.
    pub stored_blocks: u64,
}

/// Writes an archive to `W` while the plain bytes arrive. Blocks are coded by workers and written in order; what is in memory is
/// bounded by [`CompressOptions::workers`] times the block size, and 8 bytes per block.
///
/// An archive that is not [finished](Writer::finish) is incomplete, and readers refuse it.
///
/// ```
/// use warpack::archive::{CompressOptions, Writer, decompress};
/// let mut writer = Writer::new(Vec::new(), &CompressOptions::default())?;
/// writer.write(b"some ")?;
/// writer.write(b"bytes")?;
/// let (archive, summary) = writer.finish()?;
/// assert_eq!(summary.archive_bytes, archive.len() as u64);
/// assert_eq!(decompress(&archive, &Default::default())?, b"some bytes");
/// # Ok::<(), warpack::Error>(())
/// ```
pub struct Writer<W> {
    output: W,
    header: Header,
    /// The checksum of the header, once that is written.
    archive: Option<u32>,
    pool: Pool<Plain, Result<Packed>>,
    filling: Plain,
    /// Plain bytes that block `started` will take.
    full_bytes: u64,
    started: u64,
    spares: Vec<(Vec<u8>, Vec<u8>)>,
    offsets: Vec<u64>,
    summary: Summary,
    failed: Option<Error>,
}

impl<W: Write> Writer<W> {
    /// A writer that has written nothing yet.
    ///
    /// # Errors
    /// [`Error::StageCount`], [`Error::Shape`], and [`Error::TooLong`] where a stage can't take blocks that large,
    /// [`Error::StageLimit`] where it makes more of them than readers allow.
    pub fn new(output: W, options: &CompressOptions) -> Result<Self> {
        let CompressOptions { stages, element, shape, block_bytes, backend, .. } = options;
        let cut = Cut::choose(*block_bytes, *element, shape.as_ref())?;
        let records = stages.iter().map(|stage| stage.record()).collect();
        let header = Header { element: *element, shape: shape.clone(), cut, records };
        header.write()?;
        let mut bytes = header.cut.block_bytes();
        if header.cut.total_bytes() != Some(0) {
            // What every reader takes that takes the blocks.
            let limit = max_stage_bytes(DEFAULT_MAX_BLOCK_BYTES.max(bytes));
            for (index, stage) in stages.iter().enumerate() {
                if bytes > stage.max_plain_bytes() {
                    return Err(Error::TooLong { bytes, max: stage.max_plain_bytes() });
                }
                bytes = stage.max_coded_bytes(bytes);
                if bytes > limit {
                    return Err(Error::StageLimit { stage: index as u64, found: bytes, max: limit });
                }
            }
        }
        let (stages, backend): (Arc<_>, _) = (stages.clone(), backend.clone());
        let pool = Pool::new(options.worker_count(), move || {
            let mut packer = Packer::new(stages.clone(), backend.clone());
            Box::new(move |plain| packer.pack(plain))
        });
        let mut writer = Self {
            output,
            header,
            archive: None,
            pool,
            filling: Plain::default(),
            full_bytes: 0,
            started: 0,
            spares: Vec::new(),
            offsets: Vec::new(),
            summary: Summary::default(),
            failed: None,
        };
        writer.full_bytes = writer.full_bytes();
        Ok(writer)
    }

    /// Plain bytes of the block after those that were started; 0 where the shape has no more.
    fn full_bytes(&self) -> u64 {
        self.header.cut.block(self.started).map_or(0, |block| block.end - block.start)
    }

    /// What went through so far. Blocks that are still being coded do not count.
    pub fn summary(&self) -> Summary {
        self.summary
    }

    /// Takes more plain bytes.
    ///
    /// # Errors
    /// [`Error::Io`] from the output, [`Error::ShapeLength`] beyond what the shape holds, and what a stage says. The archive is then lost:
    /// every later call says the same.
    pub fn write(&mut self, plain: &[u8]) -> Result<()> {
        let mut plain = plain;
        self.copy(&mut plain).map(|_| ())
    }

    /// Takes all bytes of `input`: how many there were.
    ///
    /// # Errors
    /// As [`Writer::write`], and [`Error::Io`] from the input.
    pub fn copy(&mut self, input: &mut impl Read) -> Result<u64> {
        let result = self.try_copy(input);
        self.keep(result)
    }

    fn keep<T>(&mut self, result: Result<T>) -> Result<T> {
        if let Err(error) = &result {
            self.failed.get_or_insert(error.clone());
        }
        result
    }

    fn try_copy(&mut self, input: &mut impl Read) -> Result<u64> {
        let before = self.summary.plain_bytes;
        loop {
            if let Some(error) = &self.failed {
                return Err(error.clone());
            }
            let room = self.full_bytes - self.filling.plain.len() as u64;
            if room == 0 && self.full_bytes == 0 {
                // The shape is full. One byte more is one too many.
                return match first_byte(input)? {
                    false => Ok(self.summary.plain_bytes - before),
                    true => Err(Error::ShapeLength { shape: self.summary.plain_bytes, input: self.summary.plain_bytes + 1 }),
                };
            }
            let read = input.by_ref().take(room).read_to_end(&mut self.filling.plain);
            let read = read.map_err(io_error("read the plain bytes"))? as u64;
            self.summary.plain_bytes += read;
            if read < room {
                return Ok(self.summary.plain_bytes - before);
            }
            self.start_block()?;
        }
    }

    /// Hands the block that is being filled to the workers.
    fn start_block(&mut self) -> Result<()> {
        while self.pool.is_full() {
            self.write_block()?;
        }
        let (plain, spare) = self.spares.pop().unwrap_or_default();
        let next = Plain { plain, spare, short: false };
        self.pool.start(std::mem::replace(&mut self.filling, next));
        self.started += 1;
        self.full_bytes = self.full_bytes();
        Ok(())
    }

    /// Writes the oldest block under way; `false` where there is none.
    fn write_block(&mut self) -> Result<bool> {
        let Some(packed) = self.pool.next() else { return Ok(false) };
        let number = self.offsets.len() as u64;
        let in_block = |source| Error::InBlock { index: number, source: Box::new(source) };
        let Packed { header, payload, spare } = packed.map_err(in_block)?;
        let archive = self.write_header()?;
        let fill = self.summary.archive_bytes.next_multiple_of(ALIGN_BYTES) - self.summary.archive_bytes;
        self.put(&[0; ALIGN_BYTES as usize][..fill as usize])?;
        self.offsets.push(self.summary.archive_bytes);
        self.put(&header.write(Place { archive, number }))?;
        self.put(&payload)?;
        self.summary.blocks += 1;
        self.summary.stored_blocks += u64::from(header.stored);
        let (mut plain, spare) = if header.stored { (payload, spare) } else { (spare, payload) };
        plain.clear();
        self.spares.push((plain, spare));
        Ok(true)
    }

    /// Writes the header where that has not been done; its checksum.
    fn write_header(&mut self) -> Result<u32> {
        if let Some(archive) = self.archive {
            return Ok(archive);
        }
        let (bytes, archive) = self.header.write_with_checksum()?;
        self.put(&bytes)?;
        self.archive = Some(archive);
        Ok(archive)
    }

    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.output.write_all(bytes).map_err(io_error("write the archive"))?;
        self.summary.archive_bytes += bytes.len() as u64;
        Ok(())
    }

    /// Writes what is under way and the end: the output, flushed, and what became of the input.
    ///
    /// # Errors
    /// As [`Writer::write`]; [`Error::ShapeLength`] also where the shape asks for more bytes than came.
    pub fn finish(mut self) -> Result<(W, Summary)> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        if let Some(shape) = self.header.cut.total_bytes()
            && shape != self.summary.plain_bytes
        {
            return Err(Error::ShapeLength { shape, input: self.summary.plain_bytes });
        }
        if !self.filling.plain.is_empty() {
            if self.started == 0 {
                // The whole input is one block: then that is the block size, and the block needs no length of its own.
                self.header.cut = Cut::plain(self.filling.plain.len() as u64)?;
            } else {
                self.filling.short = true;
            }
            self.start_block()?;
        }
        while self.write_block()? {}
        let archive = self.write_header()?;
        self.put(&index::write(archive, &self.offsets))?;
        self.output.flush().map_err(io_error("write the archive"))?;
        Ok((self.output, self.summary))
    }
}

/// Whether `input` has another byte.
fn first_byte(input: &mut impl Read) -> Result<bool> {
    loop {
        match input.read(&mut [0]) {
            Ok(read) => return Ok(read > 0),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(io_error("read the plain bytes")(error)),
        }
    }
}
