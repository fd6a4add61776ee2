//! Frames -> tiles.
//!
//! | step | launches |
//! |---|---|
//! | tables | `causal_build_far`, where shared memory does not take a tile's |
//! | chunks | `causal_decode_*`, once for each representation and form of the batch; stored tiles are copied |
//! | faults | `causal_verdict` |
//! | digests | `causal_leaves`, `causal_tree` |
//! | refused tiles | `causal_wipe` |
//!
//! The host reads what is in front of the payloads ([`DeviceReceiver::prepare`]) and puts it on the device. From there on nothing waits for the host and nothing
//! is allocated, so that [`DeviceBatch::decode`] can be recorded into a CUDA graph.

use super::Arrays;
use crate::backend::{CudaDevice, DeviceSlice, DeviceSliceMut, Kernel, Stream, check_buffer};
use crate::causal::batch::{Item, Kind, Plan};
use crate::causal::frame::ALIGN_BYTES;
use crate::causal::{Fault, Form, Representation};
use crate::{Error, Result};
use shared_types::causal::{
    BUILD_FAR, BUILD_FAR_BLOCKS, BlockTask, DECODE, DECODE_FAR, FAR_BYTES, LEAVES, TREE, VERDICT, WIPE, WIPE_BLOCKS,
};

/// Decodes batches of frames on one device.
///
/// ```no_run
/// use warpack::backend::{CudaDevice, DeviceBuffer, Stream};
/// use warpack::causal::batch::Item;
/// use warpack::causal::cuda::DeviceReceiver;
/// # let (frame, tile_bytes): (Vec<u8>, u32) = (Vec::new(), 2); // a frame, and the length of its tile
/// let device = CudaDevice::open(0)?;
/// let stream = Stream::new(&device)?;
/// let mut coded = DeviceBuffer::new(&device, frame.len())?;
/// stream.copy_to_device(coded.as_mut_slice(), &frame)?;
/// let item = Item { front: &frame, frame_bytes: frame.len() as u64, coded_at: 0, plain_at: 0, plain_bytes: tile_bytes };
/// let batch = DeviceReceiver::new(&device)?.prepare(&[item], &stream)?;
/// let buffer = |bytes: usize| DeviceBuffer::new(&device, bytes);
/// let (mut plain, mut scratch) = (buffer(tile_bytes as usize)?, buffer(batch.scratch_bytes())?);
/// let mut statuses = buffer(batch.status_bytes())?;
/// // SAFETY: nothing else uses these buffers, and they live until `read_outcomes` has waited for the stream.
/// unsafe { batch.decode(coded.as_slice(), plain.as_mut_slice(), scratch.as_mut_slice(), statuses.as_mut_slice(), &stream)? };
/// for outcome in batch.read_outcomes(statuses.as_slice(), &stream)? {
///     outcome?;
/// }
/// # Ok::<(), warpack::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct DeviceReceiver {
    device: CudaDevice,
    build_far: Kernel,
    verdict: Kernel,
    leaves: Kernel,
    tree: Kernel,
    wipe: Kernel,
    /// Whether blocks can have as much shared memory as tables take.
    near: bool,
}

impl DeviceReceiver {
    /// On `device`. Kernels that a batch needs besides are loaded when it is prepared.
    ///
    /// # Errors
    /// [`Error::Cuda`] where the kernels can't be loaded.
    pub fn new(device: &CudaDevice) -> Result<Self> {
        let first = Kind { representation: Representation::SameLane, form: Form::Split, far: false };
        Ok(Self {
            device: device.clone(),
            build_far: device.kernel("causal_build_far", BUILD_FAR)?,
            verdict: device.kernel("causal_verdict", VERDICT)?,
            leaves: device.kernel("causal_leaves", LEAVES)?,
            tree: device.kernel("causal_tree", TREE)?,
            wipe: device.kernel("causal_wipe", WIPE)?,
            near: device.kernel(first.kernel(), DECODE).is_ok(),
        })
    }

    /// The same, but with all tables in global memory, wherever they would fit: for tests and measurements.
    #[must_use]
    pub fn with_far_tables(self) -> Self {
        Self { near: false, ..self }
    }

    /// The device that the frames are decoded on.
    pub fn device(&self) -> &CudaDevice {
        &self.device
    }

    /// Reads the fronts of `items` on all cores and puts what the kernels need of them on the device. Waits for `stream`.
    ///
    /// What is wrong with an item does not hinder the others: [`DeviceBatch::read_outcomes`] says it.
    ///
    /// # Errors
    /// [`Error::Alignment`] for a frame or a tile that does not begin at a multiple of 16, or [`Error::Cuda`] from the driver.
    pub fn prepare(&self, items: &[Item], stream: &Stream) -> Result<DeviceBatch> {
        for (buffer, address) in items.iter().flat_map(|item| [("coded", item.coded_at), ("plain", item.plain_at)]) {
            if !address.is_multiple_of(ALIGN_BYTES) {
                return Err(Error::Alignment { buffer, address, align: ALIGN_BYTES });
            }
        }
        let multiprocessors = self.device.info().multiprocessors;
        let plan = if self.near { Plan::new(items, multiprocessors) } else { Plan::with_far_tables(items, multiprocessors) };
        let decode = plan.kinds.iter().map(|&(kind, _)| {
            let launch = if kind.far { DECODE_FAR } else { DECODE };
            self.device.kernel(kind.kernel(), launch)
        });
        let decode = decode.collect::<Result<Vec<_>>>()?;
        let arrays: [&[u8]; ARRAYS] = [
            bytemuck::cast_slice(&plan.models),
            bytemuck::cast_slice(&plan.tiles),
            bytemuck::cast_slice(&plan.chunks),
            bytemuck::cast_slice(&plan.blocks),
            bytemuck::cast_slice(&plan.leaf_blocks),
            bytemuck::cast_slice(&plan.far),
            bytemuck::cast_slice(&plan.statuses),
        ];
        let tasks = Arrays::new(&self.device, arrays, stream)?;
        let end_of = |ends: &mut dyn Iterator<Item = u64>| ends.max().unwrap_or(0);
        let coded_bytes = end_of(&mut items.iter().map(|item| item.coded_at.saturating_add(item.frame_bytes)));
        let plain_bytes = end_of(&mut items.iter().map(|item| item.plain_at.saturating_add(item.plain_bytes.into())));
        Ok(DeviceBatch { receiver: self.clone(), plan, decode, tasks, coded_bytes, plain_bytes })
    }
}

/// Arrays of a plan: models, tiles, chunks, blocks, leaf blocks, far tiles, first statuses.
const ARRAYS: usize = 7;

/// A batch whose fronts are read: everything that decoding needs besides the payloads is on the device.
#[derive(Debug)]
pub struct DeviceBatch {
    receiver: DeviceReceiver,
    plan: Plan,
    /// A kernel for each kind of the plan.
    decode: Vec<Kernel>,
    tasks: Arrays<ARRAYS>,
    coded_bytes: u64,
    plain_bytes: u64,
}

impl DeviceBatch {
    /// Bytes of scratch that [`Self::decode`] needs.
    pub fn scratch_bytes(&self) -> usize {
        self.far_bytes() + 32 * self.plan.leaves as usize
    }

    fn far_bytes(&self) -> usize {
        self.plan.far.len() * FAR_BYTES as usize
    }

    /// Bytes of the statuses that [`Self::decode`] leaves.
    pub fn status_bytes(&self) -> usize {
        self.tile_status_bytes() + 2 * self.chunk_status_bytes()
    }

    fn tile_status_bytes(&self) -> usize {
        4 * self.plan.tiles.len().next_multiple_of(4)
    }

    /// Of the statuses of all chunks, or of their details.
    fn chunk_status_bytes(&self) -> usize {
        4 * self.plan.chunks.len().next_multiple_of(4)
    }

    /// Puts the decoding of the batch into `stream`: payloads from `coded`, tiles to `plain`, both as the items say. Returns at once.
    ///
    /// Everything is checked: a tile with a fault, be it that its digest differs, becomes zeros; the others do not notice.
    ///
    /// # Safety
    /// All buffers are of the device and stay allocated, and nothing else writes `coded` or touches the others, until the work is done (for a
    /// capturing stream: as long as the graph is launched). The 16 bytes from the last multiple of 16 in `coded` on can be read, as with every
    /// [`DeviceBuffer`](crate::backend::DeviceBuffer).
    ///
    /// # Errors
    /// [`Error::BufferTooSmall`], [`Error::Alignment`], or [`Error::Cuda`] from the driver.
    pub unsafe fn decode(
        &self,
        coded: DeviceSlice<'_>,
        mut plain: DeviceSliceMut<'_>,
        mut scratch: DeviceSliceMut<'_>,
        mut statuses: DeviceSliceMut<'_>,
        stream: &Stream,
    ) -> Result<()> {
        // SAFETY: the caller's promises.
        unsafe {
            self.decode_chunks(coded, plain.reborrow(), scratch.reborrow(), statuses.reborrow(), stream)?;
            self.check_digests(plain, scratch, statuses, stream)
        }
    }

    fn check(&self, plain: &DeviceSliceMut<'_>, scratch: &DeviceSliceMut<'_>, statuses: &DeviceSliceMut<'_>) -> Result<()> {
        check_buffer("plain", plain.address(), plain.len(), self.plain_bytes)?;
        check_buffer("scratch", scratch.address(), scratch.len(), self.scratch_bytes() as u64)?;
        check_buffer("statuses", statuses.address(), statuses.len(), self.status_bytes() as u64)
    }

    /// The first part of [`Self::decode`]: everything but the digests and the zeros. What `plain` holds then must not be released.
    ///
    /// # Safety
    /// As for [`Self::decode`].
    ///
    /// # Errors
    /// As for [`Self::decode`].
    pub unsafe fn decode_chunks(
        &self,
        coded: DeviceSlice<'_>,
        mut plain: DeviceSliceMut<'_>,
        scratch: DeviceSliceMut<'_>,
        statuses: DeviceSliceMut<'_>,
        stream: &Stream,
    ) -> Result<()> {
        check_buffer("coded", coded.address(), coded.len(), self.coded_bytes)?;
        self.check(&plain, &scratch, &statuses)?;
        let [models, tiles, chunks, blocks, far, first] = [0, 1, 2, 3, 5, 6].map(|number| self.tasks.get(number));
        let (mut tile_statuses, rest) = statuses.split_at(self.tile_status_bytes());
        let (chunk_statuses, details) = rest.split_at(self.chunk_status_bytes());
        let (tables, _) = scratch.split_at(self.far_bytes());
        stream.copy(tile_statuses.reborrow().slice(..first.len()), first)?;
        for stored in &self.plan.stored {
            let (from, to, bytes) = (stored.coded_at as usize, stored.plain_at as usize, stored.bytes as usize);
            stream.copy(plain.reborrow().slice(to..to + bytes), coded.slice(from..from + bytes))?;
        }
        let far_blocks = self.plan.far.len() as u32 * BUILD_FAR_BLOCKS;
        let all_blocks = self.plan.blocks.len() as u32;
        // SAFETY: the sizes were checked above, the plan's tasks are within the items, whose ends the sizes were compared with, and the caller keeps
        // the buffers.
        unsafe {
            let (models, tiles, chunks) = (models.arg(), tiles.arg(), chunks.arg());
            let (coded, plain, chunk_statuses) = (coded.arg(), plain.arg(), chunk_statuses.arg());
            self.receiver.build_far.launch(stream, far_blocks, &[tiles, far.arg(), models, tables.arg()])?;
            let mut first = 0;
            for (&(kind, count), kernel) in self.plan.kinds.iter().zip(&self.decode) {
                let blocks = blocks.slice(first * size_of::<BlockTask>()..);
                let of_tables = if kind.far { tables.arg() } else { models };
                let arguments = [coded, tiles, chunks, blocks.arg(), of_tables, plain, chunk_statuses];
                kernel.launch(stream, count, &arguments)?;
                first += count as usize;
            }
            let arguments = [coded, tiles, chunks, blocks.arg(), models, chunk_statuses, details.arg(), tile_statuses.arg()];
            self.receiver.verdict.launch(stream, all_blocks, &arguments)
        }
    }

    /// The second part of [`Self::decode`]: compares the digests of what the first one left in `plain`, and wipes refused tiles.
    ///
    /// # Safety
    /// As for [`Self::decode`].
    ///
    /// # Errors
    /// As for [`Self::decode`].
    pub unsafe fn check_digests(
        &self,
        plain: DeviceSliceMut<'_>,
        scratch: DeviceSliceMut<'_>,
        statuses: DeviceSliceMut<'_>,
        stream: &Stream,
    ) -> Result<()> {
        self.check(&plain, &scratch, &statuses)?;
        let [tiles, leaf_blocks] = [1, 4].map(|number| self.tasks.get(number));
        let (_, leaves) = scratch.split_at(self.far_bytes());
        let count = self.plan.tiles.len() as u32;
        // SAFETY: as above.
        unsafe {
            let (tiles, plain, leaves, statuses) = (tiles.arg(), plain.arg(), leaves.arg(), statuses.arg());
            let arguments = [tiles, leaf_blocks.arg(), plain, leaves];
            self.receiver.leaves.launch(stream, self.plan.leaf_blocks.len() as u32, &arguments)?;
            self.receiver.tree.launch(stream, count, &[tiles, leaves, statuses])?;
            self.receiver.wipe.launch(stream, count * WIPE_BLOCKS, &[tiles, statuses, plain])
        }
    }

    /// Waits for `stream` and reads what became of each item in a [`Self::decode`] there: nothing, or the fault that the CPU finds.
    ///
    /// # Errors
    /// [`Error::BufferTooSmall`], [`Error::Alignment`], or [`Error::Cuda`] from the driver.
    pub fn read_outcomes(&self, statuses: DeviceSlice<'_>, stream: &Stream) -> Result<Vec<Result<(), Fault>>> {
        check_buffer("statuses", statuses.address(), statuses.len(), self.status_bytes() as u64)?;
        let number = |bytes: &[u8], at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let tile_bytes = self.tile_status_bytes();
        let mut tiles = vec![0; tile_bytes];
        stream.copy_to_host(&mut tiles, statuses.slice(..tile_bytes))?;
        let outcomes = (0..self.plan.tiles.len()).map(|item| {
            let mut of_chunk = Ok(());
            let outcome = self.plan.outcome(item, number(&tiles, 4 * item), |chunk| {
                let mut read = |at: usize| {
                    let mut word = [0; 4];
                    let result = stream.copy_to_host(&mut word, statuses.slice(at..at + 4));
                    of_chunk = std::mem::replace(&mut of_chunk, Ok(())).and(result);
                    u32::from_le_bytes(word)
                };
                let at = tile_bytes + 4 * chunk;
                (read(at), read(at + self.chunk_status_bytes()))
            });
            of_chunk.map(|()| outcome)
        });
        outcomes.collect()
    }
}
