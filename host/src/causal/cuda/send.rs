//! Tiles -> frames.
//!
//! | step | who | does |
//! |---|---|---|
//! | count, fit | `causal_count`, `causal_fit` | frequencies of all banks, and what they cost |
//! | fetch | host | the scores; then the frequencies of each tile's cheapest candidate by payload |
//! | digest | `causal_leaves`, `causal_root` | while the host is at work |
//! | code | `causal_encode_*`, once for each representation of the batch | the streams of those candidates, which are nearly always the ones that win |
//! | choose | host, all threads | compresses models until the choice is made, with the pruning of the CPU's encoder; where another candidate wins, all is coded once more |
//! | assemble | `causal_place`, `causal_pack` | headers, records, payloads; stored frames where the coded ones are no smaller |
//!
//! Zstandard is the host's part, so that this waits for the host twice and can't be recorded into a CUDA graph.

use super::{ALIGN, Arrays, places};
use crate::backend::{
    Arg, CudaDevice, DeviceBuffer, DeviceSlice, DeviceSliceMut, Event, Kernel, PinnedBuffer, Stream, check_buffer,
};
use crate::causal::batch::Kind;
use crate::causal::batch::send::{Coding, Plan, Tile};
use crate::causal::model::{MAX_COMPRESSED_BYTES, MODEL_BYTES};
use crate::causal::rans::SCALE;
use crate::causal::send::select::{self, Choice, Selection};
use crate::causal::send::{Settings, fit::log2_table};
use crate::causal::{Form, Representation};
use crate::{Error, Result};
use rayon::prelude::*;
use shared_types::causal::{BUILD_FAR, BUILD_FAR_BLOCKS, BlockTask, ChunkTask, DIGEST_WORDS, LEAVES, Layout, TileTask};
use shared_types::causal_send::{
    BANKS, COUNT, ENCODE, ENCODE_FAR, ENCODE_FAR_BYTES, FIT, FIT_BLOCKS, FrameTask, KEYS, PACK, PLACE, ROOT,
};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

/// Encodes batches of tiles on one device.
///
/// ```no_run
/// use warpack::backend::{CudaDevice, DeviceBuffer, Stream};
/// use warpack::causal::batch::send::Tile;
/// use warpack::causal::cuda::DeviceSender;
/// use warpack::causal::send::{Settings, max_frame_bytes};
/// let device = CudaDevice::open(0)?;
/// let stream = Stream::new(&device)?;
/// let plain = DeviceBuffer::new(&device, 1 << 20)?; // your data
/// let tile = Tile { plain_at: 0, plain_bytes: 1 << 20, coded_at: 0 };
/// let mut batch = DeviceSender::new(&device)?.prepare(&[tile], &Settings::default(), &stream)?;
/// let mut coded = DeviceBuffer::new(&device, max_frame_bytes(1 << 20) as usize)?;
/// let mut scratch = DeviceBuffer::new(&device, batch.scratch_bytes())?;
/// // SAFETY: nothing else uses these buffers.
/// let frame_bytes = unsafe { batch.encode(plain.as_slice(), coded.as_mut_slice(), scratch.as_mut_slice(), &stream)? };
/// # Ok::<(), warpack::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct DeviceSender {
    device: CudaDevice,
    count: Kernel,
    fit: Kernel,
    leaves: Kernel,
    root: Kernel,
    build_far: Kernel,
    place: Kernel,
    pack: Kernel,
    /// What each frequency costs.
    log2: Arc<DeviceBuffer>,
    /// Whether blocks can have as much shared memory as tables take.
    near: bool,
    /// Host memory that no batch uses any more: to get some takes longer than to encode.
    spare: Arc<Mutex<Vec<HostMemory>>>,
}

impl DeviceSender {
    /// On `device`. Kernels that a batch needs besides are loaded when they are first launched.
    ///
    /// # Errors
    /// [`Error::Cuda`] where the kernels can't be loaded, or where blocks can't have the 129 KiB of shared memory that counting takes.
    pub fn new(device: &CudaDevice) -> Result<Self> {
        let first = Kind { representation: Representation::SameLane, form: Form::Split, far: false };
        let table = log2_table::<SCALE>();
        let mut log2 = DeviceBuffer::new(device, size_of_val(table.as_slice()))?;
        Stream::new(device)?.copy_to_device(log2.as_mut_slice(), bytemuck::cast_slice(&table))?;
        Ok(Self {
            device: device.clone(),
            count: device.kernel("causal_count", COUNT)?,
            fit: device.kernel("causal_fit", FIT)?,
            leaves: device.kernel("causal_leaves", LEAVES)?,
            root: device.kernel("causal_root", ROOT)?,
            build_far: device.kernel("causal_build_encode_far", BUILD_FAR)?,
            place: device.kernel("causal_place", PLACE)?,
            pack: device.kernel("causal_pack", PACK)?,
            log2: Arc::new(log2),
            near: device.kernel(first.encode_kernel(), ENCODE).is_ok(),
            spare: Arc::default(),
        })
    }

    /// The same, but with all tables in global memory, wherever they would fit: for tests and measurements.
    #[must_use]
    pub fn with_far_tables(self) -> Self {
        Self { near: false, ..self }
    }

    /// The device that the tiles are encoded on.
    pub fn device(&self) -> &CudaDevice {
        &self.device
    }

    /// Shares the work on `tiles` out and puts what the kernels need of it on the device. Waits for `stream`.
    ///
    /// # Errors
    /// [`Fault::TileLength`](crate::causal::Fault::TileLength) for what is no tile, [`Error::Alignment`] for a tile or a frame that does not begin at
    /// a multiple of 16, or [`Error::Cuda`] from the driver.
    pub fn prepare(&self, tiles: &[Tile], settings: &Settings, stream: &Stream) -> Result<DeviceTiles> {
        let plan = Plan::new(tiles, settings, self.device.info().multiprocessors)?;
        let plan = if self.near { plan } else { plan.with_far_tables() };
        let arrays = [
            bytemuck::cast_slice(&plan.tiles),
            bytemuck::cast_slice(&plan.counts),
            bytemuck::cast_slice(&plan.leaf_blocks),
            bytemuck::cast_slice(&plan.pack_blocks),
        ];
        let tasks = Arrays::new(&self.device, arrays, stream)?;
        let host = {
            let mut spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner);
            let found = spare.iter().position(|memory| memory.tiles >= plan.len()).map(|found| spare.swap_remove(found));
            if found.is_none() {
                drop(spare.pop()); // too small: the new one takes its place
            }
            found
        };
        let host = match host {
            Some(host) => host,
            None => HostMemory::new(&self.device, plan.len())?,
        };
        let (count, banks) = (plan.len(), plan.len() * BANKS as usize);
        let (scratch, scratch_bytes) = places([
            4 * banks * KEYS as usize,
            8 * banks,
            2 * banks * KEYS as usize,
            32 * plan.leaves as usize,
            4 * DIGEST_WORDS as usize * count,
            size_of::<ChunkTask>() * plan.chunks as usize,
            4 * count,
            count * ENCODE_FAR_BYTES as usize,
            plan.stream_bytes() as usize,
        ]);
        Ok(DeviceTiles {
            sender: self.clone(),
            coding: Staged::new(&self.device)?,
            frames: Staged::new(&self.device)?,
            fetched: Event::new(&self.device)?,
            plan,
            tasks,
            host: Some(host),
            scratch,
            scratch_bytes,
            kinds: Vec::new(),
        })
    }
}

/// What comes from the device, and what goes to it, of some tiles.
#[derive(Debug)]
struct HostMemory {
    tiles: usize,
    scores: PinnedBuffer,
    /// Both banks of a tile's candidate.
    frequencies: PinnedBuffer,
    /// Compressed models, [`MODEL_STRIDE`] each.
    models: PinnedBuffer,
    lengths: PinnedBuffer,
}

/// Bytes from one compressed model to the next.
const MODEL_STRIDE: usize = MAX_COMPRESSED_BYTES.next_multiple_of(ALIGN);

impl HostMemory {
    fn new(device: &CudaDevice, tiles: usize) -> Result<Self> {
        let memory = |bytes: usize| PinnedBuffer::new(device, tiles * bytes);
        let scores = memory(8 * BANKS as usize)?;
        Ok(Self { tiles, scores, frequencies: memory(MODEL_BYTES)?, models: memory(MODEL_STRIDE)?, lengths: memory(4)? })
    }
}

/// Arrays that go to the device while it is at work.
#[derive(Debug)]
struct Staged<const N: usize> {
    host: PinnedBuffer,
    memory: DeviceBuffer,
    places: [Range<usize>; N],
}

impl<const N: usize> Staged<N> {
    fn new(device: &CudaDevice) -> Result<Self> {
        Ok(Self { host: PinnedBuffer::new(device, 0)?, memory: DeviceBuffer::new(device, 0)?, places: places([0; N]).0 })
    }

    /// Puts a copy of `arrays` into `stream`.
    ///
    /// # Safety
    /// What was put before is done, and until this is, nothing is put again and `self` lives.
    unsafe fn put(&mut self, arrays: [&[u8]; N], stream: &Stream) -> Result<()> {
        let (places, end) = places(arrays.map(<[u8]>::len));
        if self.host.len() < end {
            self.host = PinnedBuffer::new(self.memory.device(), end.next_multiple_of(1 << 16))?;
        }
        self.memory.resize(end)?;
        for (place, array) in places.iter().zip(arrays) {
            self.host[place.clone()].copy_from_slice(array);
        }
        self.places = places;
        // SAFETY: the caller keeps what is pinned until the copy is done.
        unsafe { stream.copy_to_device_async(self.memory.as_mut_slice(), &self.host[..end]) }
    }

    fn get(&self, number: usize) -> DeviceSlice<'_> {
        self.memory.as_slice().slice(self.places[number].clone())
    }
}

// Scratch, in this order.
const COUNTS: usize = 0;
const SCORES: usize = 1;
const FREQUENCIES: usize = 2;
const LEAF_DIGESTS: usize = 3;
const DIGESTS: usize = 4;
const CHUNKS: usize = 5;
const LENGTHS: usize = 6;
const FAR: usize = 7;
const STREAMS: usize = 8;
const SCRATCH: usize = 9;

/// A batch of tiles made ready.
///
/// [`Self::encode`] does everything. The parts of it that are launches only can be put into a stream by themselves after that, to measure them.
#[derive(Debug)]
pub struct DeviceTiles {
    sender: DeviceSender,
    plan: Plan,
    /// Tiles, blocks that count, blocks that hash leaves, blocks that copy.
    tasks: Arrays<4>,
    /// Tiles with their representation, blocks that encode, far tiles.
    coding: Staged<3>,
    /// The kernels of the coding, and how many blocks each has.
    kinds: Vec<(Kernel, bool, u32)>,
    frames: Staged<1>,
    fetched: Event,
    /// Given back to the sender at the end.
    host: Option<HostMemory>,
    scratch: [Range<usize>; SCRATCH],
    scratch_bytes: usize,
}

impl Drop for DeviceTiles {
    fn drop(&mut self) {
        if let Some(host) = self.host.take() {
            self.sender.spare.lock().unwrap_or_else(PoisonError::into_inner).push(host);
        }
    }
}

/// A tile's choice in the making.
#[derive(Debug)]
struct Chooser {
    selection: Selection,
    /// Where the tables of each candidate go that was fetched.
    layouts: [Option<Layout>; 3],
}

impl DeviceTiles {
    /// Bytes of scratch that [`Self::encode`] needs.
    pub fn scratch_bytes(&self) -> usize {
        self.scratch_bytes
    }

    /// Bytes of coded memory that [`Self::encode`] needs: up to the end of the last frame, if it is as long as a frame can be.
    pub fn coded_bytes(&self) -> u64 {
        self.plan.coded_bytes()
    }

    fn check(&self, plain: DeviceSlice<'_>, scratch: &DeviceSliceMut<'_>) -> Result<()> {
        check_buffer("plain", plain.address(), plain.len(), self.plan.plain_bytes())?;
        check_buffer("scratch", scratch.address(), scratch.len(), self.scratch_bytes as u64)
    }

    /// A part of the scratch.
    fn part<'a>(&self, scratch: &'a mut DeviceSliceMut<'_>, number: usize) -> DeviceSliceMut<'a> {
        scratch.reborrow().slice(self.scratch[number].clone())
    }

    /// Encodes the tiles of `plain` to frames in `coded`, both as the batch says: the length of each frame in bytes. Waits for `stream`.
    ///
    /// # Safety
    /// All buffers are of the device, and nothing else writes `plain` or touches the others until this returns. The 16 bytes from the last multiple of 16 in `plain` on
    /// can be read, as with every [`DeviceBuffer`].
    ///
    /// # Errors
    /// [`Error::BufferTooSmall`], [`Error::Alignment`], or [`Error::Cuda`] from the driver.
    pub unsafe fn encode(
        &mut self,
        plain: DeviceSlice<'_>,
        coded: DeviceSliceMut<'_>,
        mut scratch: DeviceSliceMut<'_>,
        stream: &Stream,
    ) -> Result<Vec<u32>> {
        self.check(plain, &scratch)?;
        check_buffer("coded", coded.address(), coded.len(), self.coded_bytes())?;
        let Some(mut host) = self.host.take() else {
            return Err(Error::Cuda { call: "encode", message: "an earlier encode of the batch was interrupted".into() });
        };
        // SAFETY: the caller's promises.
        let outcome = unsafe { self.encode_with(&mut host, plain, coded, &mut scratch, stream) };
        // Also where it failed: nothing may be on its way to memory that is given back.
        let done = stream.synchronize();
        let lengths = host.lengths[..4 * self.plan.len()].as_chunks::<4>().0.iter().map(|length| u32::from_le_bytes(*length));
        let lengths = lengths.collect();
        self.host = Some(host);
        outcome.and(done).map(|()| lengths)
    }

    /// # Safety
    /// As for [`Self::encode`]; the stream is waited for before `host` is used again, and the sizes are checked.
    unsafe fn encode_with(
        &mut self,
        host: &mut HostMemory,
        plain: DeviceSlice<'_>,
        mut coded: DeviceSliceMut<'_>,
        scratch: &mut DeviceSliceMut<'_>,
        stream: &Stream,
    ) -> Result<()> {
        let count = self.plan.len();
        // SAFETY: the caller's promises.
        unsafe {
            self.count(plain, scratch.reborrow(), stream)?;
            self.fit(scratch.reborrow(), stream)?;
        }
        let score_bytes = 8 * BANKS as usize * count;
        stream.copy_to_host(&mut host.scores[..score_bytes], self.part(scratch, SCORES).as_slice())?;
        let scores = host.scores[..score_bytes].as_chunks::<8>().0.iter().map(|score| u64::from_le_bytes(*score));
        let scores: Vec<u64> = scores.collect();
        let chooser = |scores: &[u64]| Chooser { selection: self.plan.selection(scores), layouts: [None; 3] };
        let mut choosers: Vec<Chooser> = scores.chunks(BANKS as usize).map(chooser).collect();
        let mut wanted = wanted_of(&choosers);
        self.fetch(&wanted, host, scratch, stream)?;
        stream.record(&self.fetched)?;
        // SAFETY: the caller's promises.
        unsafe { self.digest(plain, scratch.reborrow(), stream)? };
        self.fetched.synchronize()?;
        self.lay_out(&wanted, host, &mut choosers);
        let first = wanted.clone();
        let choices: Vec<_> = wanted.iter().map(|&(tile, one)| (tile, one, layout_of(&choosers[tile], one))).collect();
        // SAFETY: nothing was put before in this call, and earlier ones have waited.
        unsafe {
            self.put_coding(&choices, stream)?;
            self.code(plain, scratch.reborrow(), stream)?;
        }
        loop {
            let models = compress(&wanted, host, self.plan.settings());
            for (&(tile, _), model) in wanted.iter().zip(models) {
                choosers[tile].selection.offer(model);
            }
            wanted = wanted_of(&choosers);
            if wanted.is_empty() {
                break;
            }
            self.fetch(&wanted, host, scratch, stream)?;
            stream.synchronize()?;
            self.lay_out(&wanted, host, &mut choosers);
        }
        let layouts: Vec<_> = choosers.iter().map(|chooser| chooser.layouts).collect();
        let chosen: Option<Vec<Choice>> = choosers.into_iter().map(|chooser| chooser.selection.best()).collect();
        let chosen = chosen.ok_or_else(|| Error::Cuda { call: "encode", message: "a tile without a candidate".into() })?;
        if chosen.iter().zip(&first).any(|(choice, &(_, first))| choice.representation != first) {
            let layout = |tile: usize, one: Representation| layouts[tile][one as usize].unwrap_or_else(Layout::encode_far);
            let choice = |(tile, choice): (usize, &Choice)| (tile, choice.representation, layout(tile, choice.representation));
            let choices: Vec<_> = chosen.iter().enumerate().map(choice).collect();
            stream.synchronize()?;
            // SAFETY: the stream was waited for.
            unsafe {
                self.put_coding(&choices, stream)?;
                self.code(plain, scratch.reborrow(), stream)?;
            }
        }
        let mut frames = Vec::with_capacity(count);
        for (tile, (choice, place)) in chosen.iter().zip(host.models.chunks_mut(MODEL_STRIDE)).enumerate() {
            let (frame, model_at) = self.plan.frame(tile, choice.representation, choice.model.len());
            frames.push(frame);
            let Some(at) = model_at else { continue };
            let (model, at) = (&mut place[..(frame.records - shared_types::causal_send::HEADER_BYTES) as usize], at as usize);
            model[..choice.model.len()].copy_from_slice(&choice.model);
            model[choice.model.len()..].fill(0);
            let to = coded.reborrow().slice(at..at + model.len());
            // SAFETY: the memory is kept until the stream was waited for.
            unsafe { stream.copy_to_device_async(to, model)? };
        }
        // SAFETY: nothing was put before in this call, and earlier ones have waited; else the caller's promises.
        unsafe {
            self.frames.put([bytemuck::cast_slice(&frames)], stream)?;
            self.assemble(plain, coded, scratch.reborrow(), stream)?;
            let lengths = self.part(scratch, LENGTHS);
            stream.copy_to_host_async(&mut host.lengths[..4 * count], lengths.as_slice())
        }
    }

    /// Puts the copy of the frequencies of each tile's candidate into `stream`.
    fn fetch(
        &self,
        wanted: &[(usize, Representation)],
        host: &mut HostMemory,
        scratch: &mut DeviceSliceMut<'_>,
        stream: &Stream,
    ) -> Result<()> {
        let frequencies = self.part(scratch, FREQUENCIES);
        let frequencies = frequencies.as_slice();
        for &(tile, candidate) in wanted {
            let place = &mut host.frequencies[tile * MODEL_BYTES..][..MODEL_BYTES];
            for (bank, place) in self.plan.banks_of(candidate).into_iter().zip(place.chunks_mut(MODEL_BYTES / 2)) {
                let at = (tile * BANKS as usize + bank as usize) * place.len();
                // SAFETY: the memory is pinned, and kept until the stream was waited for.
                unsafe { stream.copy_to_host_async(place, frequencies.slice(at..at + place.len()))? };
            }
        }
        Ok(())
    }

    /// Finds out where the tables of the candidates go that were fetched.
    fn lay_out(&self, wanted: &[(usize, Representation)], host: &HostMemory, choosers: &mut [Chooser]) {
        let layouts: Vec<Layout> =
            wanted.par_iter().map(|&(tile, candidate)| self.plan.layout(candidate, frequencies_of(host, tile))).collect();
        for (&(tile, candidate), layout) in wanted.iter().zip(layouts) {
            choosers[tile].layouts[candidate as usize] = Some(layout);
        }
    }

    /// Puts what codes tiles so on the device.
    ///
    /// # Safety
    /// As for [`Staged::put`].
    unsafe fn put_coding(&mut self, choices: &[(usize, Representation, Layout)], stream: &Stream) -> Result<()> {
        let Coding { blocks, kinds, far } = self.plan.code(choices);
        let kernel = |(kind, count): (Kind, u32)| {
            let launch = if kind.far { ENCODE_FAR } else { ENCODE };
            Ok((self.sender.device.kernel(kind.encode_kernel(), launch)?, kind.far, count))
        };
        self.kinds = kinds.into_iter().map(kernel).collect::<Result<_>>()?;
        let tiles: &[TileTask] = &self.plan.tiles;
        let arrays = [bytemuck::cast_slice(tiles), bytemuck::cast_slice(&blocks), bytemuck::cast_slice(&far)];
        // SAFETY: handed on.
        unsafe { self.coding.put(arrays, stream) }
    }

    /// Puts the counting of all banks into `stream`. Returns at once.
    ///
    /// # Safety
    /// As for [`Self::encode`], until the work is done.
    ///
    /// # Errors
    /// As for [`Self::encode`].
    pub unsafe fn count(&self, plain: DeviceSlice<'_>, mut scratch: DeviceSliceMut<'_>, stream: &Stream) -> Result<()> {
        self.check(plain, &scratch)?;
        let cleared = self.scratch[COUNTS].start..self.scratch[SCORES].end;
        stream.fill(scratch.reborrow().slice(cleared), 0)?;
        let counts = self.part(&mut scratch, COUNTS);
        let (tiles, blocks) = (self.tasks.get(0), self.tasks.get(1));
        // SAFETY: the sizes were checked, the plan's tasks are within the tiles, whose ends the sizes were compared with, and the caller keeps the buffers.
        unsafe {
            let arguments = [tiles.arg(), blocks.arg(), plain.arg(), counts.arg()];
            self.sender.count.launch(stream, self.plan.counts.len() as u32, &arguments)
        }
    }

    /// Puts the fitting of what [`Self::count`] counted into `stream`; it adds to the scores, which only counting clears. Returns at once.
    ///
    /// # Safety
    /// As for [`Self::count`].
    ///
    /// # Errors
    /// As for [`Self::encode`].
    pub unsafe fn fit(&self, scratch: DeviceSliceMut<'_>, stream: &Stream) -> Result<()> {
        check_buffer("scratch", scratch.address(), scratch.len(), self.scratch_bytes as u64)?;
        let scratch = scratch.as_slice();
        let [counts, scores, frequencies] = [COUNTS, SCORES, FREQUENCIES].map(|part| scratch.slice(self.scratch[part].clone()));
        let log2 = self.sender.log2.as_slice();
        // SAFETY: as above.
        unsafe {
            let banks = Arg::of(&self.plan.banks);
            let arguments = [counts.arg(), log2.arg(), banks, frequencies.arg(), scores.arg()];
            self.sender.fit.launch(stream, self.plan.len() as u32 * FIT_BLOCKS, &arguments)
        }
    }

    /// Puts the digests of the tiles into `stream`. Returns at once.
    ///
    /// # Safety
    /// As for [`Self::count`].
    ///
    /// # Errors
    /// As for [`Self::encode`].
    pub unsafe fn digest(&self, plain: DeviceSlice<'_>, scratch: DeviceSliceMut<'_>, stream: &Stream) -> Result<()> {
        self.check(plain, &scratch)?;
        let scratch = scratch.as_slice();
        let [leaves, digests] = [LEAF_DIGESTS, DIGESTS].map(|part| scratch.slice(self.scratch[part].clone()));
        let (tiles, blocks) = (self.tasks.get(0), self.tasks.get(2));
        // SAFETY: as above.
        unsafe {
            let arguments = [tiles.arg(), blocks.arg(), plain.arg(), leaves.arg()];
            self.sender.leaves.launch(stream, self.plan.leaf_blocks.len() as u32, &arguments)?;
            self.sender.root.launch(stream, self.plan.len() as u32, &[tiles.arg(), leaves.arg(), digests.arg()])
        }
    }

    /// Puts the coding of all chunks into `stream`, by the frequencies and choices of the last [`Self::encode`]. Returns at once.
    ///
    /// # Safety
    /// As for [`Self::count`]; plain bytes and scratch are those of that call.
    ///
    /// # Errors
    /// As for [`Self::encode`].
    pub unsafe fn code(&self, plain: DeviceSlice<'_>, scratch: DeviceSliceMut<'_>, stream: &Stream) -> Result<()> {
        self.check(plain, &scratch)?;
        let scratch = scratch.as_slice();
        let parts = [FREQUENCIES, CHUNKS, FAR, STREAMS].map(|part| scratch.slice(self.scratch[part].clone()));
        let [frequencies, chunks, tables, streams] = parts;
        let [tiles, blocks, far] = [0, 1, 2].map(|number| self.coding.get(number));
        let far_tiles = (far.len() / size_of::<u32>()) as u32;
        // SAFETY: as above.
        unsafe {
            let arguments = [tiles.arg(), far.arg(), frequencies.arg(), tables.arg()];
            self.sender.build_far.launch(stream, far_tiles * BUILD_FAR_BLOCKS, &arguments)?;
            let mut first = 0;
            for (kernel, far, count) in &self.kinds {
                let blocks = blocks.slice(first * size_of::<BlockTask>()..);
                let of_tables = if *far { tables.arg() } else { frequencies.arg() };
                let arguments = [plain.arg(), tiles.arg(), blocks.arg(), of_tables, streams.arg(), chunks.arg()];
                kernel.launch(stream, *count, &arguments)?;
                first += *count as usize;
            }
        }
        Ok(())
    }

    /// Puts the making of frames from streams into `stream`, of the last [`Self::encode`]; the models stand in their places already. Returns at once.
    ///
    /// # Safety
    /// As for [`Self::code`].
    ///
    /// # Errors
    /// As for [`Self::encode`].
    pub unsafe fn assemble(
        &self,
        plain: DeviceSlice<'_>,
        coded: DeviceSliceMut<'_>,
        scratch: DeviceSliceMut<'_>,
        stream: &Stream,
    ) -> Result<()> {
        self.check(plain, &scratch)?;
        check_buffer("coded", coded.address(), coded.len(), self.coded_bytes())?;
        let scratch = scratch.as_slice();
        let parts = [DIGESTS, CHUNKS, LENGTHS, STREAMS].map(|part| scratch.slice(self.scratch[part].clone()));
        let [digests, chunks, lengths, streams] = parts;
        let (tiles, frames, blocks) = (self.coding.get(0), self.frames.get(0), self.tasks.get(3));
        let made = frames.len() / size_of::<FrameTask>();
        // SAFETY: as above. Nothing is launched before there are frames.
        unsafe {
            let arguments = [tiles.arg(), frames.arg(), digests.arg(), chunks.arg(), coded.arg(), lengths.arg()];
            self.sender.place.launch(stream, made as u32, &arguments)?;
            let (tiles, frames, chunks) = (tiles.arg(), frames.arg(), chunks.arg());
            let arguments = [plain.arg(), tiles, frames, blocks.arg(), streams.arg(), chunks, lengths.arg(), coded.arg()];
            let blocks = if made == 0 { 0 } else { self.plan.pack_blocks.len() as u32 };
            self.sender.pack.launch(stream, blocks, &arguments)
        }
    }
}

/// The candidates whose models are wanted next, a tile each.
fn wanted_of(choosers: &[Chooser]) -> Vec<(usize, Representation)> {
    let wanted = choosers.iter().enumerate().map(|(tile, chooser)| chooser.selection.wanted().map(|one| (tile, one)));
    wanted.flatten().collect()
}

fn layout_of(chooser: &Chooser, candidate: Representation) -> Layout {
    chooser.layouts[candidate as usize].unwrap_or_else(Layout::encode_far)
}

/// The frequencies of a tile's candidate that were fetched last.
fn frequencies_of(host: &HostMemory, tile: usize) -> &[u16] {
    bytemuck::cast_slice(&host.frequencies[tile * MODEL_BYTES..][..MODEL_BYTES])
}

/// The compressed models of what was fetched, on all threads.
fn compress(wanted: &[(usize, Representation)], host: &HostMemory, settings: &Settings) -> Vec<Vec<u8>> {
    let model = |&(tile, _): &(usize, Representation)| select::compress(frequencies_of(host, tile), settings.density);
    wanted.par_iter().map(model).collect()
}
