//! Reading an archive in one pass, or by its index.

use super::block::{self, ALIGN_BYTES, BlockHeader, Place};
use super::index::{self, Index, Seen, seek};
use super::input::{Input, io_error};
use super::pack::{Packed, Packer, Plain};
use super::pool::Pool;
use super::{DecompressOptions, Header, Info, max_stage_bytes};
use crate::stage::Stage;
use crate::{Error, Result};
use std::io::{Read, Seek, Write};
use std::ops::Range;
use std::sync::Arc;

/// Goes through an archive block header by block header and checks all but the payloads.
struct Walk<R> {
    input: Input<R>,
    header: Header,
    stages: Arc<[Box<dyn Stage>]>,
    archive: u32,
    max_stage_bytes: u64,
    seen: Seen,
    plain_bytes: u64,
    /// A short block was the last one.
    short: bool,
}

impl<R: Read> Walk<R> {
    fn open(mut input: Input<R>, options: &DecompressOptions) -> Result<Self> {
        let (header, archive) = Header::read(&mut input)?;
        let block_bytes = header.cut.block_bytes();
        if block_bytes > options.max_block_bytes && header.cut.total_bytes() != Some(0) {
            return Err(Error::BlockLimit { found: block_bytes, max: options.max_block_bytes });
        }
        let stages = header.stages()?.into();
        let max_stage_bytes = max_stage_bytes(options.max_block_bytes);
        Ok(Self { input, header, stages, archive, max_stage_bytes, seen: Seen::default(), plain_bytes: 0, short: false })
    }

    /// The next block's header, if there is another block; the caller then reads its payload. At the end of the archive everything that
    /// can only be known there is checked.
    fn next(&mut self) -> Result<Option<BlockHeader>> {
        let number = self.seen.blocks();
        let fill = self.input.offset().next_multiple_of(ALIGN_BYTES) - self.input.offset();
        let mut kind = [0];
        self.input.exact("block or end", &mut kind)?;
        if kind == [index::KIND] {
            return self.end().map(|()| None);
        }
        if fill > 0 {
            let mut left = fill;
            loop {
                if kind != [0] {
                    return Err(Error::Padding { offset: self.input.offset() - 1 });
                }
                self.input.exact("block", &mut kind)?;
                left -= 1;
                if left == 0 {
                    break;
                }
            }
        }
        let offset = self.input.offset() - 1;
        if kind != [block::KIND] {
            return Err(Error::Kind { found: kind[0], offset });
        }
        if self.short {
            return Err(Error::ShortBlockInside { found: self.plain_bytes % self.header.cut.block_bytes() });
        }
        let place = Place { archive: self.archive, number };
        let header = BlockHeader::read(&mut self.input, &self.header, &self.stages, place);
        let header = header.and_then(|header| header.limit(self.max_stage_bytes)).map_err(in_block(number))?;
        self.seen.block(offset);
        self.plain_bytes += header.plain_bytes;
        self.short = header.short;
        Ok(Some(header))
    }

    fn end(&mut self) -> Result<()> {
        if let Some(expected) = self.header.cut.blocks()
            && expected != self.seen.blocks()
        {
            return Err(Error::BlockCount { found: self.seen.blocks(), expected });
        }
        self.seen.read_end(&mut self.input, self.archive)
    }

    fn info(&self) -> Info {
        Info {
            header: self.header.clone(),
            blocks: self.seen.blocks(),
            plain_bytes: self.plain_bytes,
            archive_bytes: self.input.offset(),
        }
    }
}

fn in_block(index: u64) -> impl Fn(Error) -> Error {
    move |source| Error::InBlock { index, source: Box::new(source) }
}

type Unpackers = Pool<Packed, Result<Plain>>;

fn unpackers(stages: &Arc<[Box<dyn Stage>]>, options: &DecompressOptions) -> Unpackers {
    let (stages, backend) = (stages.clone(), options.backend.clone());
    Pool::new(options.worker_count(), move || {
        let mut packer = Packer::new(stages.clone(), backend.clone());
        Box::new(move |packed| packer.unpack(packed))
    })
}

/// What an archive says about itself, found in one pass without decoding anything.
///
/// # Errors
/// Whatever is wrong with the archive outside its payloads.
pub(super) fn scan(input: impl Read, options: &DecompressOptions) -> Result<Info> {
    let mut walk = Walk::open(Input::at(input, 0), options)?;
    while let Some(header) = walk.next()? {
        walk.input.skip("payload", header.payload_bytes).map_err(in_block(walk.seen.blocks() - 1))?;
    }
    Ok(walk.info())
}

/// Reads an archive in one pass and hands out its blocks, decoded and checked, in order.
///
/// What is in memory is bounded by [`DecompressOptions::workers`] times [`DecompressOptions::max_block_bytes`]. Errors come where
/// they are: blocks before a damaged one are handed out. The last call, the one that returns `None`, has checked that the archive is whole.
///
/// ```
/// use warpack::archive::{Reader, compress};
/// let archive = compress(b"some bytes", &Default::default())?;
/// let mut reader = Reader::new(&archive[..], &Default::default())?;
/// let mut plain = Vec::new();
/// while let Some(block) = reader.next_block()? {
///     plain.extend_from_slice(block);
/// }
/// assert_eq!(plain, b"some bytes");
/// # Ok::<(), warpack::Error>(())
/// ```
pub struct Reader<R> {
    walk: Walk<R>,
    pool: Unpackers,
    given: u64,
    current: Vec<u8>,
    spares: Vec<(Vec<u8>, Vec<u8>)>,
    /// Why nothing more is read: the end, or an error.
    stopped: Option<Result<()>>,
}

impl<R: Read> Reader<R> {
    /// Reads the header.
    ///
    /// # Errors
    /// Whatever is wrong with the header; [`Error::UnknownStage`] and [`Error::Version`] where a newer version wrote it.
    pub fn new(input: R, options: &DecompressOptions) -> Result<Self> {
        let walk = Walk::open(Input::at(input, 0), options)?;
        let pool = unpackers(&walk.stages, options);
        Ok(Self { walk, pool, given: 0, current: Vec::new(), spares: Vec::new(), stopped: None })
    }

    /// The header.
    pub fn header(&self) -> &Header {
        &self.walk.header
    }

    /// What the archive says about itself; complete once [`Reader::next_block`] has returned `None`.
    pub fn info(&self) -> Info {
        self.walk.info()
    }

    /// The next block's plain bytes, `None` behind the last one.
    ///
    /// # Errors
    /// Whatever is wrong with the archive. Every later call says the same.
    pub fn next_block(&mut self) -> Result<Option<&[u8]>> {
        while self.stopped.is_none() && !self.pool.is_full() {
            match self.read_ahead() {
                Ok(true) => {}
                Ok(false) => self.stopped = Some(Ok(())),
                Err(error) => self.stopped = Some(Err(error)),
            }
        }
        match self.pool.next() {
            None => match &self.stopped {
                Some(Err(error)) => Err(error.clone()),
                _ => Ok(None),
            },
            Some(Ok(Plain { plain, spare, .. })) => {
                self.given += 1;
                self.spares.push((std::mem::replace(&mut self.current, plain), spare));
                Ok(Some(&self.current))
            }
            Some(Err(error)) => {
                let error = in_block(self.given)(error);
                // The blocks behind it were decoded in vain.
                while self.pool.next().is_some() {}
                self.stopped = Some(Err(error.clone()));
                Err(error)
            }
        }
    }

    /// Reads a block and gives it to the workers; `false` at the end.
    fn read_ahead(&mut self) -> Result<bool> {
        let Some(header) = self.walk.next()? else { return Ok(false) };
        let (spare, mut payload) = self.spares.pop().unwrap_or_default();
        let number = self.walk.seen.blocks() - 1;
        self.walk.input.replace("payload", header.payload_bytes, &mut payload).map_err(in_block(number))?;
        self.pool.start(Packed { header, payload, spare });
        Ok(true)
    }

    /// Writes all plain bytes that are left to `output`, and flushes it.
    ///
    /// # Errors
    /// As [`Reader::next_block`], and [`Error::Io`] from the output.
    pub fn copy(&mut self, output: &mut impl Write) -> Result<()> {
        while let Some(block) = self.next_block()? {
            output.write_all(block).map_err(io_error("write the plain bytes"))?;
        }
        output.flush().map_err(io_error("write the plain bytes"))
    }
}

/// An archive that can be sought in: its index leads to any block.
///
/// ```
/// use std::io::Cursor;
/// use warpack::archive::{Archive, compress};
/// let archive = compress(b"some bytes", &Default::default())?;
/// let mut archive = Archive::open(Cursor::new(archive), &Default::default())?;
/// let mut part = Vec::new();
/// archive.copy_range(5..10, &mut part)?;
/// assert_eq!(part, b"bytes");
/// # Ok::<(), warpack::Error>(())
/// ```
pub struct Archive<R> {
    input: R,
    header: Header,
    stages: Arc<[Box<dyn Stage>]>,
    archive: u32,
    index: Index,
    plain_bytes: u64,
    options: DecompressOptions,
}

impl<R: Read + Seek> Archive<R> {
    /// Reads and checks header and index. The archive starts where `input` starts.
    ///
    /// # Errors
    /// Whatever is wrong with them.
    pub fn open(mut input: R, options: &DecompressOptions) -> Result<Self> {
        let Walk { input: at, header, stages, archive, .. } = Walk::open(seek(&mut input, 0)?, options)?;
        let header_bytes = at.offset();
        let index = Index::open(&mut input, archive, header_bytes)?;
        let options = options.clone();
        let mut this = Self { input, header, stages, archive, index, plain_bytes: 0, options };
        this.plain_bytes = match (this.header.cut.blocks(), this.header.cut.total_bytes()) {
            (Some(expected), _) if expected != this.index.blocks => {
                return Err(Error::BlockCount { found: this.index.blocks, expected });
            }
            (_, Some(total)) => total,
            _ => match this.index.blocks.checked_sub(1) {
                None => 0,
                Some(last) => {
                    let (header, _) = this.block_header(last)?;
                    last * this.header.cut.block_bytes() + header.plain_bytes
                }
            },
        };
        Ok(this)
    }

    /// The header of block `number`, and the input at its payload.
    fn block_header(&mut self, number: u64) -> Result<(BlockHeader, Input<&mut R>)> {
        let offset = self.index.offset(&mut self.input, number)?;
        let last = number + 1 == self.index.blocks;
        let next = if last { self.index.start } else { self.index.offset(&mut self.input, number + 1)? };
        let place = Place { archive: self.archive, number };
        let mut input = seek(&mut self.input, offset)?;
        let mut kind = [0];
        input.exact("block", &mut kind)?;
        if kind != [block::KIND] {
            return Err(Error::Index { index: number, found: offset });
        }
        let header = BlockHeader::read(&mut input, &self.header, &self.stages, place);
        let max = max_stage_bytes(self.options.max_block_bytes);
        let header = header.and_then(|header| header.limit(max)).map_err(in_block(number))?;
        if header.short && !last {
            return Err(Error::ShortBlockInside { found: header.plain_bytes });
        }
        // No gaps and no overlaps, as in one pass; and the payload's bytes are there.
        let end = input.offset().saturating_add(header.payload_bytes);
        let next_start = if last { Some(end) } else { end.checked_next_multiple_of(ALIGN_BYTES) };
        if next_start != Some(next) {
            return Err(Error::Index { index: number + 1, found: next });
        }
        Ok((header, input))
    }

    /// The header.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// What the archive says about itself.
    pub fn info(&self) -> Info {
        Info {
            header: self.header.clone(),
            blocks: self.index.blocks,
            plain_bytes: self.plain_bytes,
            archive_bytes: self.index.archive_bytes,
        }
    }

    /// The payload of block `number`, not decoded and so not checked, with the block's plain length; `None` where the block is stored.
    ///
    /// # Errors
    /// Whatever is wrong with the block's header or with its place, and [`Error::Io`].
    pub fn coded_block(&mut self, number: u64) -> Result<Option<(Vec<u8>, u64)>> {
        let (header, mut input) = self.block_header(number)?;
        if header.stored {
            return Ok(None);
        }
        let mut payload = Vec::new();
        input.replace("payload", header.payload_bytes, &mut payload).map_err(in_block(number))?;
        Ok(Some((payload, header.plain_bytes)))
    }

    /// Writes the plain bytes of `range` to `output`, and flushes it. Only the blocks that hold them are read, and each is checked
    /// as a whole.
    ///
    /// # Errors
    /// [`Error::Range`] where the range is not within the plain bytes, whatever is wrong with the blocks, and [`Error::Io`].
    pub fn copy_range(&mut self, range: Range<u64>, output: &mut impl Write) -> Result<()> {
        let Range { start, end } = range;
        if start > end || end > self.plain_bytes {
            return Err(Error::Range { start, end, plain: self.plain_bytes });
        }
        let mut pool = unpackers(&self.stages, &self.options);
        let mut spares: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
        let blocks = match start < end {
            true => self.header.cut.block_of(start)..self.header.cut.block_of(end - 1) + 1,
            false => 0..0,
        };
        let (mut reading, mut writing) = (blocks.clone(), blocks);
        loop {
            while !pool.is_full()
                && let Some(number) = reading.next()
            {
                let (spare, mut payload) = spares.pop().unwrap_or_default();
                let (header, mut input) = self.block_header(number)?;
                input.replace("payload", header.payload_bytes, &mut payload).map_err(in_block(number))?;
                pool.start(Packed { header, payload, spare });
            }
            let Some(number) = writing.next() else { break };
            let Some(unpacked) = pool.next() else { break };
            let Plain { plain, spare, .. } = unpacked.map_err(in_block(number))?;
            let first = self.header.cut.block(number).map_or(0, |block| block.start);
            // Within the block, whose length is a `usize`.
            let from = start.saturating_sub(first) as usize;
            let to = (end - first).min(plain.len() as u64) as usize;
            output.write_all(&plain[from..to]).map_err(io_error("write the plain bytes"))?;
            spares.push((plain, spare));
        }
        output.flush().map_err(io_error("write the plain bytes"))
    }
}
