//! LC components on a device: what to launch, in what order, over which memory.
//!
//! | direction | launches |
//! |---|---|
//! | encode | clear the look-back words and the report; all full chunks into their place; the short last chunk, if there is one |
//! | decode | clear the look-back words, the report and the statuses; check the container and sum up its entries; the full chunks; the short last chunk |
//!
//! Nothing waits for the host and nothing is allocated, so either direction can be recorded into a CUDA graph.

use super::kernels::KernelNames;
use super::{Settings, container};
use crate::backend::{Arg, CudaDevice, DeviceBuffer, DeviceSlice, DeviceSliceMut, Kernel, Stream, check_buffer};
use crate::stage::{Coder, Entry};
use crate::{Error, Result};
use shared_types::lc::{ChunkStatus, Container, NO_FAULT, SCAN, SCAN_ENTRIES, StreamReport, StreamStatus};

/// A component on one device, for data that is there already: buffers in, buffers out, in the caller's stream.
///
/// ```no_run
/// use warpack::backend::{CudaDevice, DeviceBuffer, Stream};
/// use warpack::stage::clog::{self, DeviceCodec, Settings};
/// let device = CudaDevice::open(0)?;
/// let stream = Stream::new(&device)?;
/// let codec = DeviceCodec::new(&clog::ENTRY, Settings::default(), &device)?;
/// let plain = DeviceBuffer::new(&device, 1 << 20)?; // your data
/// let mut coded = DeviceBuffer::new(&device, codec.max_stream_bytes(1 << 20)?)?;
/// let mut scratch = DeviceBuffer::new(&device, codec.encode_scratch_bytes(1 << 20))?;
/// let mut report = DeviceBuffer::new(&device, clog::REPORT_BYTES)?;
/// // SAFETY: nothing else uses these buffers, and they live until `read_encoded` has waited for the stream.
/// unsafe { codec.encode(plain.as_slice(), coded.as_mut_slice(), scratch.as_mut_slice(), report.as_mut_slice(), &stream)? };
/// let stream_bytes = codec.read_encoded(report.as_slice(), &stream)?;
/// # Ok::<(), warpack::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct DeviceCodec {
    device: CudaDevice,
    settings: Settings,
    encode: Kernel,
    scan: Kernel,
    decode: Kernel,
    /// Encode and decode the short last chunk.
    tails: Option<[Kernel; 2]>,
    tile_bytes: u32,
    /// What the kernels take beside the usual: length and order of fused differences.
    extra: Option<[u32; 2]>,
}

/// Bytes of a [`StreamReport`].
pub const REPORT_BYTES: usize = size_of::<StreamReport>();

impl DeviceCodec {
    /// The component of `entry`, a row of the table of stages, on `device`.
    ///
    /// # Errors
    /// [`Error::Cuda`] where the kernels can't be loaded, or where the stage is no LC component.
    pub fn new(entry: &Entry, settings: Settings, device: &CudaDevice) -> Result<Self> {
        let names = KernelNames::of(entry.name, settings)
            .ok_or_else(|| Error::Cuda { call: "DeviceCodec::new", message: format!("{} has no kernels", entry.name) })?;
        Self::of(names, settings, None, device)
    }

    /// CLOG of the zigzags of the differences that `lorenzo` takes, in one: the very bytes of the three stages one after another,
    /// about three times as fast.
    ///
    /// # Errors
    /// [`Error::NotFused`] where there are no such kernels: there are for elements of 2 and 4 bytes, as large as CLOG's words, in segments of a
    /// power of two of elements, 16 to 4096 bytes, without centering. [`Error::Cuda`] where the kernels can't be loaded.
    pub fn fused(lorenzo: &crate::lorenzo::Lorenzo, settings: Settings, device: &CudaDevice) -> Result<Self> {
        use crate::lorenzo::Predictor;
        let word = lorenzo.element().bytes();
        let segments = lorenzo.segments().filter(|segments| {
            let length = segments.block_size();
            let bytes = u64::from(length) * word;
            !segments.centering() && length.is_power_of_two() && (16..=4096).contains(&bytes)
        });
        let names = KernelNames::fused(settings).filter(|_| word == u64::from(settings.word.bytes()));
        let (Some(segments), Some(names)) = (segments, names) else {
            return Err(Error::NotFused { first: lorenzo.describe(), then: format!("clog with {settings:?}") });
        };
        Self::of(names, settings, Some([segments.block_size(), segments.order().number().into()]), device)
    }

    fn of(names: KernelNames, settings: Settings, extra: Option<[u32; 2]>, device: &CudaDevice) -> Result<Self> {
        Ok(Self {
            device: device.clone(),
            settings,
            encode: device.kernel(names.encode, names.encode_launch)?,
            scan: device.kernel("lc_scan_entries", SCAN)?,
            decode: device.kernel(names.decode, names.decode_launch)?,
            tails: match names.tails {
                Some([encode, decode]) => {
                    Some([device.kernel(encode, names.tail_launch)?, device.kernel(decode, names.tail_launch)?])
                }
                None => None,
            },
            tile_bytes: names.tile_bytes,
            extra,
        })
    }

    /// The device that the codec works on.
    pub fn device(&self) -> &CudaDevice {
        &self.device
    }

    /// The longest stream of `plain_bytes` bytes, in bytes: what [`Self::encode`] needs room for.
    ///
    /// # Errors
    /// [`Error::TooLong`] above the 32 bits of the stream's own fields.
    pub fn max_stream_bytes(&self, plain_bytes: u64) -> Result<usize> {
        Ok(self.container(plain_bytes)?.max_stream_bytes() as usize)
    }

    fn container(&self, plain_bytes: u64) -> Result<Container> {
        let max = u64::from(u32::MAX);
        let plain = u32::try_from(plain_bytes).map_err(|_| Error::TooLong { bytes: plain_bytes, max })?;
        Ok(Container { plain, chunk: self.settings.chunk })
    }

    /// Bytes of scratch that [`Self::encode`] needs for `plain_bytes` bytes.
    pub fn encode_scratch_bytes(&self, plain_bytes: u64) -> usize {
        8 * plain_bytes.div_ceil(self.tile_bytes.into()) as usize
    }

    /// Bytes of scratch that [`Self::decode`] needs for `plain_capacity` bytes.
    pub fn decode_scratch_bytes(&self, plain_capacity: u64) -> usize {
        let chunks = self.chunk_capacity(plain_capacity);
        8 * self.scan_blocks(plain_capacity) as usize + 4 * chunks as usize
    }

    /// Bytes of the chunk statuses that [`Self::decode`] leaves for `plain_capacity` bytes: a [`ChunkStatus`] in 4 bytes each.
    pub fn status_bytes(&self, plain_capacity: u64) -> usize {
        4 * self.chunk_capacity(plain_capacity) as usize
    }

    /// Chunks of the longest stream that decodes to `plain_capacity` bytes; longer ones than 32 bits can say don't exist.
    fn chunk_capacity(&self, plain_capacity: u64) -> u32 {
        let plain = plain_capacity.min(u32::MAX.into()) as u32;
        Container { plain, chunk: self.settings.chunk }.chunks()
    }

    /// Blocks of the entry scan; at least one looks at the header.
    fn scan_blocks(&self, plain_capacity: u64) -> u32 {
        self.chunk_capacity(plain_capacity).div_ceil(SCAN_ENTRIES).max(1)
    }

    /// Puts the encoding of `plain` to `coded` into `stream`, and what came of it into `report`. Returns at once.
    ///
    /// The stream's length is [`StreamReport::bytes`]; [`Self::read_encoded`] waits for it, or let a later
    /// [`Self::decode`] read it on the device.
    ///
    /// # Safety
    /// All four buffers are of the codec's device and stay allocated, and nothing else writes `plain` or touches the others,
    /// until the work is done (for a capturing stream: as long as the graph is launched).
    ///
    /// # Errors
    /// [`Error::TooLong`], [`Error::BufferTooSmall`], [`Error::Alignment`], or [`Error::Cuda`] from the driver.
    pub unsafe fn encode(
        &self,
        plain: DeviceSlice<'_>,
        coded: DeviceSliceMut<'_>,
        mut scratch: DeviceSliceMut<'_>,
        mut report: DeviceSliceMut<'_>,
        stream: &Stream,
    ) -> Result<()> {
        let plain_bytes = plain.len() as u64;
        let container = self.container(plain_bytes)?;
        let need = self.encode_scratch_bytes(plain_bytes);
        check_buffer("plain", plain.address(), plain.len(), 0)?;
        check_buffer("coded", coded.address(), coded.len(), container.max_stream_bytes())?;
        check_buffer("scratch", scratch.address(), scratch.len(), need as u64)?;
        check_buffer("report", report.address(), report.len(), REPORT_BYTES as u64)?;
        stream.fill(report.reborrow().slice(..REPORT_BYTES), 0xFF)?;
        if container.plain == 0 {
            return stream.fill(report.slice(..8), 0);
        }
        let (chunk_bytes, chunk_log2) = (self.settings.chunk.bytes(), self.settings.chunk.log2());
        // Where the short last chunk has a kernel of its own, the other takes the full ones alone.
        let rest = container.plain % chunk_bytes;
        let of_tiles = container.plain - if self.tails.is_some() { rest } else { 0 };
        stream.fill(scratch.reborrow().slice(..need), 0)?;
        let (plain_bytes, chunk_log2) = (Arg::of(&container.plain), Arg::of(&chunk_log2));
        // SAFETY: the sizes were checked above, the tiles cover the chunks, and the caller keeps the buffers.
        unsafe {
            let mut arguments = vec![plain.arg(), plain_bytes, chunk_log2, coded.arg(), scratch.arg(), report.arg()];
            arguments.extend(self.extra.iter().flatten().map(Arg::of));
            self.encode.launch(stream, of_tiles.div_ceil(self.tile_bytes), &arguments)?;
            if let Some([tail, _]) = self.tails.as_ref().filter(|_| rest > 0) {
                tail.launch(stream, 1, &arguments)?;
            }
        }
        Ok(())
    }

    /// Waits for `stream` and reads what an [`Self::encode`] in it reported: the stream's length in bytes.
    ///
    /// # Errors
    /// [`Error::TooLong`] where the stream does not fit into 32 bits, or [`Error::Cuda`] from the driver.
    pub fn read_encoded(&self, report: DeviceSlice<'_>, stream: &Stream) -> Result<u64> {
        let report = read_report(report, stream)?;
        if report.stream_fault != NO_FAULT {
            return Err(Error::TooLong { bytes: report.bytes, max: u32::MAX.into() });
        }
        Ok(report.bytes)
    }

    /// Puts the decoding of `coded` to `plain` into `stream`, a status per chunk into `statuses`, and what came of it into
    /// `report`. Returns at once.
    ///
    /// `coded` is the stream, or, where `length` is given, the memory that holds one of as many bytes as `length` (8 bytes in
    /// device memory, such as the front of an encoder's report) says. Header, entries and chunks are checked on the device; a
    /// damaged chunk becomes zeros and leaves its [`ChunkStatus`], the others are decoded; a damaged container leaves all
    /// chunks [`ChunkStatus::NotDecoded`] and `plain` untouched. [`Self::read_decoded`] waits for it.
    ///
    /// # Safety
    /// All buffers are of the codec's device and stay allocated, and nothing else writes `coded` and `length` or touches the
    /// others, until the work is done (for a capturing stream: as long as the graph is launched).
    ///
    /// # Errors
    /// [`Error::BufferTooSmall`], [`Error::Alignment`], or [`Error::Cuda`] from the driver.
    #[allow(clippy::too_many_arguments, reason = "each is a buffer of the caller's")]
    pub unsafe fn decode(
        &self,
        coded: DeviceSlice<'_>,
        length: Option<DeviceSlice<'_>>,
        plain: DeviceSliceMut<'_>,
        mut statuses: DeviceSliceMut<'_>,
        mut scratch: DeviceSliceMut<'_>,
        mut report: DeviceSliceMut<'_>,
        stream: &Stream,
    ) -> Result<()> {
        let plain_capacity = plain.len() as u64;
        let (need, status_bytes) = (self.decode_scratch_bytes(plain_capacity), self.status_bytes(plain_capacity));
        check_buffer("coded", coded.address(), coded.len(), 0)?;
        if let Some(length) = length {
            check_buffer("length", length.address(), length.len(), 8)?;
        }
        check_buffer("plain", plain.address(), plain.len(), 0)?;
        check_buffer("statuses", statuses.address(), statuses.len(), status_bytes as u64)?;
        check_buffer("scratch", scratch.address(), scratch.len(), need as u64)?;
        check_buffer("report", report.address(), report.len(), REPORT_BYTES as u64)?;
        stream.fill(report.reborrow().slice(..REPORT_BYTES), 0xFF)?;
        let scan_blocks = self.scan_blocks(plain_capacity);
        let (mut look_back, offsets) = scratch.reborrow().slice(..need).split_at(8 * scan_blocks as usize);
        stream.fill(look_back.reborrow(), 0)?;
        if status_bytes > 0 {
            // All ones is `ChunkStatus::NotDecoded`.
            stream.fill(statuses.reborrow().slice(..status_bytes), 0xFF)?;
        }
        let chunk_log2 = self.settings.chunk.log2();
        let capacity = coded.len() as u64;
        let no_length = 0u64;
        let length = length.as_ref().map_or(Arg::of(&no_length), |length| length.arg());
        let (capacity, plain_capacity) = (Arg::of(&capacity), Arg::of(&plain_capacity));
        let tiles = (plain.len() as u64).min(u32::MAX.into()).div_ceil(self.tile_bytes.into()) as u32;
        let chunk_log2 = Arg::of(&chunk_log2);
        // SAFETY: the sizes were checked above, the blocks cover what `plain` can hold, and the caller keeps the buffers.
        unsafe {
            let (coded, plain, offsets, report) = (coded.arg(), plain.arg(), offsets.arg(), report.arg());
            let arguments = [coded, length, capacity, chunk_log2, plain_capacity, offsets, look_back.arg(), report];
            self.scan.launch(stream, scan_blocks, &arguments)?;
            let mut arguments =
                vec![coded, length, capacity, chunk_log2, plain, plain_capacity, offsets, statuses.arg(), report];
            arguments.extend(self.extra.iter().flatten().map(Arg::of));
            self.decode.launch(stream, tiles, &arguments)?;
            match &self.tails {
                Some([_, tail]) => tail.launch(stream, 1, &arguments),
                None => Ok(()),
            }
        }
    }

    /// Waits for `stream` and reads what a [`Self::decode`] in it reported.
    ///
    /// # Errors
    /// [`Error::Cuda`] from the driver. What is wrong with the data is in the answer.
    pub fn read_decoded(&self, report: DeviceSlice<'_>, stream: &Stream) -> Result<Decoded> {
        let report = read_report(report, stream)?;
        Ok(if report.stream_fault != NO_FAULT {
            Decoded::BadStream { status: stream_status((report.stream_fault >> 32) as u32), chunk: report.stream_fault as u32 }
        } else if report.chunk_fault != NO_FAULT {
            let (chunk, status) = ((report.chunk_fault >> 32) as u32, chunk_status(report.chunk_fault as u32));
            Decoded::BadChunk { plain_bytes: report.bytes, chunk, status }
        } else {
            Decoded::Whole { plain_bytes: report.bytes }
        })
    }
}

/// What a device found while decoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decoded {
    /// Everything was decoded.
    Whole {
        /// Plain bytes of the stream.
        plain_bytes: u64,
    },
    /// Some chunks were damaged and are zeros now.
    BadChunk {
        /// Plain bytes of the stream.
        plain_bytes: u64,
        /// The lowest damaged chunk.
        chunk: u32,
        /// What is wrong with it.
        status: ChunkStatus,
    },
    /// The container was damaged; nothing was decoded.
    BadStream {
        /// What is wrong with it.
        status: StreamStatus,
        /// The chunk whose entry is wrong, or 0.
        chunk: u32,
    },
}

/// The status that a kernel wrote as `number`; every number that no kernel writes counts as not decoded.
pub fn chunk_status(number: u32) -> ChunkStatus {
    use ChunkStatus::*;
    [Ok, Truncated, LengthTag, Width, Keep, Bitmap, CodedLength, Padding]
        .into_iter()
        .find(|s| *s as u32 == number)
        .unwrap_or(NotDecoded)
}

/// As [`chunk_status`], for the container.
pub fn stream_status(number: u32) -> StreamStatus {
    use StreamStatus::*;
    let all = [Ok, Truncated, ChunkCount, PlainLength, Entries, Entry, StreamLength, Padding];
    all.into_iter().find(|s| *s as u32 == number).unwrap_or(TooLong)
}

fn read_report(report: DeviceSlice<'_>, stream: &Stream) -> Result<StreamReport> {
    check_buffer("report", report.address(), report.len(), REPORT_BYTES as u64)?;
    let mut bytes = [0; REPORT_BYTES];
    stream.copy_to_host(&mut bytes, report.slice(..REPORT_BYTES))?;
    Ok(bytemuck::pod_read_unaligned(&bytes))
}

/// The stage at work on a device, for data on the host.
pub(crate) struct CudaCoder {
    codec: DeviceCodec,
    /// Says what is wrong with a stream that the device refused, with all numbers.
    check: fn(Settings, &[u8]) -> Result<u32>,
    stream: Stream,
    plain: DeviceBuffer,
    coded: DeviceBuffer,
    scratch: DeviceBuffer,
    statuses: DeviceBuffer,
    report: DeviceBuffer,
}

impl CudaCoder {
    pub fn new(codec: DeviceCodec, check: fn(Settings, &[u8]) -> Result<u32>) -> Result<Self> {
        let device = codec.device.clone();
        let empty = || DeviceBuffer::new(&device, 0);
        Ok(Self {
            check,
            stream: Stream::new(&device)?,
            plain: empty()?,
            coded: empty()?,
            scratch: empty()?,
            statuses: empty()?,
            report: DeviceBuffer::new(&device, REPORT_BYTES)?,
            codec,
        })
    }
}

impl Coder for CudaCoder {
    fn encode(&mut self, plain: &[u8], coded: &mut Vec<u8>) -> Result<()> {
        let plain_bytes = plain.len() as u64;
        self.coded.resize(self.codec.max_stream_bytes(plain_bytes)?)?;
        self.plain.resize(plain.len())?;
        self.scratch.resize(self.codec.encode_scratch_bytes(plain_bytes))?;
        self.stream.copy_to_device(self.plain.as_mut_slice(), plain)?;
        // SAFETY: the buffers are this coder's own, and the next line waits for the work.
        unsafe {
            self.codec.encode(
                self.plain.as_slice(),
                self.coded.as_mut_slice(),
                self.scratch.as_mut_slice(),
                self.report.as_mut_slice(),
                &self.stream,
            )?;
        }
        let bytes = self.codec.read_encoded(self.report.as_slice(), &self.stream)? as usize;
        coded.resize(bytes, 0);
        self.stream.copy_to_host(coded, self.coded.as_slice().slice(..bytes))
    }

    fn decode(&mut self, coded: &[u8], plain: &mut [u8]) -> Result<()> {
        // The container is short and on the host already: what is wrong with it is found before anything is copied.
        let chunk = self.codec.settings.chunk;
        container::check_container(chunk, coded, plain.len())?;
        let plain_bytes = plain.len() as u64;
        self.coded.resize(coded.len())?;
        self.plain.resize(plain.len())?;
        self.scratch.resize(self.codec.decode_scratch_bytes(plain_bytes))?;
        self.statuses.resize(self.codec.status_bytes(plain_bytes))?;
        self.stream.copy_to_device(self.coded.as_mut_slice(), coded)?;
        // SAFETY: the buffers are this coder's own, and the next line waits for the work.
        unsafe {
            self.codec.decode(
                self.coded.as_slice(),
                None,
                self.plain.as_mut_slice(),
                self.statuses.as_mut_slice(),
                self.scratch.as_mut_slice(),
                self.report.as_mut_slice(),
                &self.stream,
            )?;
        }
        match self.codec.read_decoded(self.report.as_slice(), &self.stream)? {
            Decoded::Whole { .. } => self.stream.copy_to_host(plain, self.plain.as_slice()),
            fault => {
                (self.check)(self.codec.settings, coded)?;
                Err(Error::Cuda { call: "decode", message: format!("the device refused what the CPU accepts: {fault:?}") })
            }
        }
    }
}
