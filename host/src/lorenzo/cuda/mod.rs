//! The predictors on a device: buffers in, buffers out, in the caller's stream.
//!
//! Nothing waits for the host and nothing is allocated, so either direction can be recorded into a CUDA graph.

mod names;

use super::{AdaptiveLorenzo, Lorenzo, Mode, Policy, PortBytes, Predictor, Segments, TiledLorenzo};
use crate::backend::{Arg, CudaDevice, DeviceSlice, DeviceSliceMut, Kernel, Stream, check_buffer};
use crate::{Error, Result};
use shared_types::lorenzo::{ADAPTIVE_FORWARD, ADAPTIVE_INVERSE, ADAPTIVE_MEANS, AdaptiveParams, BlockParams, MODES_PADDING};
use shared_types::lorenzo_nd::{Extents, Forward, Inverse};
use shared_types::lorenzo_tiled::{TILED, Tiled};

/// Bytes of the number of means that [`DevicePredictor`]'s directions leave: a `u64`.
pub const MEANS_COUNT_BYTES: usize = 8;

/// Bytes of scratch in front of what else stands there: the number of means, and what keeps the rest 16-aligned.
const COUNT_BYTES: usize = 16;

/// A predictor on one device.
///
/// ```no_run
/// use warpack::ElementType;
/// use warpack::backend::{CudaDevice, DeviceBuffer, Stream};
/// use warpack::lorenzo::{DevicePortsMut, DevicePredictor, Lorenzo};
/// let device = CudaDevice::open(0)?;
/// let stream = Stream::new(&device)?;
/// let lorenzo = Lorenzo::builder(ElementType::I32).block_size(256).build()?;
/// let predictor = DevicePredictor::lorenzo(lorenzo, &device)?;
/// let plain = DeviceBuffer::new(&device, 1 << 20)?; // your data
/// let mut output = DeviceBuffer::new(&device, 1 << 20)?;
/// let (mut none, mut scratch) = (DeviceBuffer::new(&device, 0)?, DeviceBuffer::new(&device, predictor.scratch_bytes(1 << 20)?)?);
/// let mut modes = DeviceBuffer::new(&device, 0)?;
/// let ports = DevicePortsMut { output: output.as_mut_slice(), means: none.as_mut_slice(), modes: modes.as_mut_slice() };
/// // SAFETY: nothing else uses these buffers, and they live until the stream was waited for.
/// unsafe { predictor.forward(plain.as_slice(), ports, scratch.as_mut_slice(), &stream)? };
/// stream.synchronize()?;
/// # Ok::<(), warpack::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct DevicePredictor {
    device: CudaDevice,
    plan: Plan,
}

#[derive(Clone, Debug)]
enum Plan {
    /// Segments.
    Block { lorenzo: Lorenzo, segments: Segments, forward: Kernel, inverse: Kernel },
    /// Extents: one launch, and several.
    Grid { lorenzo: Lorenzo, forward: (Kernel, Box<Forward>), inverse: (Vec<Kernel>, Box<Inverse>) },
    /// Tiles that choose: the elements, and the means.
    Adaptive { lorenzo: AdaptiveLorenzo, forward: [Kernel; 2], inverse: [Kernel; 2] },
    /// Tiles.
    Tiled { lorenzo: TiledLorenzo, forward: Kernel, inverse: Kernel },
}

/// Ports in a device's memory, to read; those that the predictor does not have are empty.
#[derive(Clone, Copy, Debug)]
pub struct DevicePorts<'a> {
    /// Residuals.
    pub output: DeviceSlice<'a>,
    /// Means.
    pub means: DeviceSlice<'a>,
    /// Choices.
    pub modes: DeviceSlice<'a>,
}

/// Room for ports in a device's memory; what the predictor does not need is not looked at.
#[derive(Debug)]
pub struct DevicePortsMut<'a> {
    /// Residuals.
    pub output: DeviceSliceMut<'a>,
    /// Means.
    pub means: DeviceSliceMut<'a>,
    /// Choices.
    pub modes: DeviceSliceMut<'a>,
}

fn block_params(lorenzo: &Lorenzo, segments: Segments, elements: u64) -> BlockParams {
    let order = segments.order().number().into();
    BlockParams::new(elements, lorenzo.element().bytes() as u32, segments.block_size(), order)
}

fn adaptive_params(lorenzo: &AdaptiveLorenzo, elements: u64) -> AdaptiveParams {
    AdaptiveParams::new(
        elements,
        lorenzo.element().bytes() as u32,
        lorenzo.blocks_per_tile(),
        lorenzo.enable_order2(),
        lorenzo.enable_centering(),
        lorenzo.policy() == Policy::Outlier,
    )
}

fn tiled_plan(lorenzo: &TiledLorenzo, elements: u64) -> Tiled {
    let extents = lorenzo.extents().unwrap_or([elements, 1, 1]);
    Tiled::plan(extents.map(|extent| extent.max(1)), lorenzo.tile().map(u32::from))
}

/// Blocks of a grid.
fn grid(blocks: u64) -> Result<u32> {
    let max = i32::MAX as u32;
    u32::try_from(blocks).ok().filter(|blocks| *blocks <= max).ok_or(Error::TooLong { bytes: blocks, max: max.into() })
}

impl DevicePredictor {
    /// `lorenzo` on `device`.
    ///
    /// # Errors
    /// [`Error::Cuda`] where the kernels can't be loaded.
    pub fn lorenzo(lorenzo: Lorenzo, device: &CudaDevice) -> Result<Self> {
        let word = lorenzo.element().bytes() as u32;
        let plan = match (lorenzo.mode(), lorenzo.segments()) {
            (Mode::Grid { extents }, _) => {
                // No product of the plans overflows below this.
                let (max, bytes) = (1 << 56, lorenzo.element().bytes());
                let bytes = extents.iter().try_fold(bytes, |bytes, extent| bytes.checked_mul((*extent).max(1)));
                if bytes.is_none_or(|bytes| bytes > max) {
                    return Err(Error::TooLong { bytes: bytes.unwrap_or(u64::MAX), max });
                }
                // Of an array of no elements nothing is launched.
                let extents = Extents::new(extents.map(|extent| extent.max(1)));
                let (forward, inverse) = (Forward::plan(extents, word), Inverse::plan(extents, word));
                let kernel = |kernel| device.kernel(names::inverse(kernel, word), kernel.launch());
                Plan::Grid {
                    lorenzo,
                    forward: (device.kernel(names::forward(forward.kernel, word), forward.kernel.launch())?, Box::new(forward)),
                    inverse: (
                        inverse.steps().iter().map(|step| kernel(step.kernel)).collect::<Result<_>>()?,
                        Box::new(inverse),
                    ),
                }
            }
            (_, segments) => {
                let segments = segments.unwrap_or(Segments::DEFAULT);
                let [forward, inverse] = names::block(word, &block_params(&lorenzo, segments, 1), segments.centering());
                Plan::Block {
                    lorenzo,
                    segments,
                    forward: device.kernel(forward.0, forward.1)?,
                    inverse: device.kernel(inverse.0, inverse.1)?,
                }
            }
        };
        Ok(Self { device: device.clone(), plan })
    }

    /// `adaptive_lorenzo` on `device`.
    ///
    /// # Errors
    /// [`Error::Cuda`] where the kernels can't be loaded.
    pub fn adaptive(lorenzo: AdaptiveLorenzo, device: &CudaDevice) -> Result<Self> {
        let [forward, pack, spread, inverse] = match lorenzo.element().bytes() {
            2 => [
                "adaptive_lorenzo_forward_w2",
                "adaptive_lorenzo_pack_w2",
                "adaptive_lorenzo_spread_w2",
                "adaptive_lorenzo_inverse_w2",
            ],
            _ => [
                "adaptive_lorenzo_forward_w4",
                "adaptive_lorenzo_pack_w4",
                "adaptive_lorenzo_spread_w4",
                "adaptive_lorenzo_inverse_w4",
            ],
        };
        let plan = Plan::Adaptive {
            lorenzo,
            forward: [device.kernel(forward, ADAPTIVE_FORWARD)?, device.kernel(pack, ADAPTIVE_MEANS)?],
            inverse: [device.kernel(spread, ADAPTIVE_MEANS)?, device.kernel(inverse, ADAPTIVE_INVERSE)?],
        };
        Ok(Self { device: device.clone(), plan })
    }

    /// `tiled_lorenzo` on `device`.
    ///
    /// # Errors
    /// [`Error::Cuda`] where the kernels can't be loaded.
    pub fn tiled(lorenzo: TiledLorenzo, device: &CudaDevice) -> Result<Self> {
        let (forward, inverse) = match lorenzo.element().bytes() {
            2 => ("lorenzo_tiled_w2", "lorenzo_untiled_w2"),
            _ => ("lorenzo_tiled_w4", "lorenzo_untiled_w4"),
        };
        let plan = Plan::Tiled { lorenzo, forward: device.kernel(forward, TILED)?, inverse: device.kernel(inverse, TILED)? };
        Ok(Self { device: device.clone(), plan })
    }

    /// The device that the predictor works on.
    pub fn device(&self) -> &CudaDevice {
        &self.device
    }

    fn predictor(&self) -> &dyn Predictor {
        match &self.plan {
            Plan::Block { lorenzo, .. } | Plan::Grid { lorenzo, .. } => lorenzo,
            Plan::Adaptive { lorenzo, .. } => lorenzo,
            Plan::Tiled { lorenzo, .. } => lorenzo,
        }
    }

    /// The ports' lengths, as [`Predictor::port_bytes`].
    ///
    /// # Errors
    /// As [`Predictor::port_bytes`].
    pub fn port_bytes(&self, plain_bytes: u64) -> Result<PortBytes> {
        self.predictor().port_bytes(plain_bytes)
    }

    /// Bytes of scratch that either direction needs for `plain_bytes` bytes. After either direction of `adaptive_lorenzo` the first
    /// [`MEANS_COUNT_BYTES`] hold the number of means.
    ///
    /// # Errors
    /// As [`Predictor::port_bytes`].
    pub fn scratch_bytes(&self, plain_bytes: u64) -> Result<usize> {
        let _ = self.port_bytes(plain_bytes)?;
        Ok(match &self.plan {
            Plan::Block { .. } | Plan::Tiled { .. } => 0,
            Plan::Grid { inverse, .. } => {
                let bytes = inverse.1.scratch_bytes;
                usize::try_from(bytes).map_err(|_| Error::TooLong { bytes, max: isize::MAX as u64 })?
            }
            Plan::Adaptive { lorenzo, .. } => {
                let elements = plain_bytes / lorenzo.element().bytes();
                let word = lorenzo.element().bytes() as u32;
                let bytes = if elements == 0 { 0 } else { adaptive_params(lorenzo, elements).scratch_bytes(word).1 };
                usize::try_from(COUNT_BYTES as u64 + bytes).map_err(|_| Error::TooLong { bytes, max: isize::MAX as u64 })?
            }
        })
    }

    /// Puts the ports of `plain` to `ports` into `stream`. Returns at once.
    ///
    /// # Safety
    /// All buffers are of the predictor's device and stay allocated, and nothing else writes `plain` or touches the others, until
    /// the work is done (for a capturing stream: as long as the graph is launched).
    ///
    /// # Errors
    /// As [`Predictor::port_bytes`]; [`Error::BufferTooSmall`], [`Error::Alignment`], or [`Error::Cuda`] from the driver.
    pub unsafe fn forward(
        &self,
        plain: DeviceSlice<'_>,
        ports: DevicePortsMut<'_>,
        mut scratch: DeviceSliceMut<'_>,
        stream: &Stream,
    ) -> Result<()> {
        let plain_bytes = plain.len() as u64;
        let (sizes, need) = (self.port_bytes(plain_bytes)?, self.scratch_bytes(plain_bytes)?);
        check_buffer("plain", plain.address(), plain.len(), 0)?;
        check_buffer("output", ports.output.address(), ports.output.len(), sizes.output)?;
        check_buffer("means", ports.means.address(), ports.means.len(), sizes.means)?;
        check_buffer("modes", ports.modes.address(), ports.modes.len(), sizes.modes)?;
        check_buffer("scratch", scratch.address(), scratch.len(), need as u64)?;
        self.clear_scratch(plain_bytes, scratch.reborrow(), stream)?;
        let elements = plain_bytes / self.predictor().element().bytes();
        if elements == 0 {
            return Ok(());
        }
        let (plain, output) = (plain.arg(), ports.output.arg());
        // SAFETY: the sizes were checked above, the grids cover the elements, and the caller keeps the buffers.
        unsafe {
            match &self.plan {
                Plan::Block { lorenzo, segments, forward, .. } => {
                    let params = block_params(lorenzo, *segments, elements);
                    let blocks = grid(params.tiles())?;
                    if sizes.means > 0 {
                        forward.launch(stream, blocks, &[plain, output, ports.means.arg(), Arg::of(&params)])
                    } else {
                        forward.launch(stream, blocks, &[plain, output, Arg::of(&params)])
                    }
                }
                Plan::Tiled { lorenzo, forward, .. } => {
                    let plan = tiled_plan(lorenzo, elements);
                    forward.launch(stream, grid(plan.blocks)?, &[plain, output, Arg::of(&plan.params)])
                }
                Plan::Grid { forward: (kernel, step), .. } => {
                    kernel.launch(stream, grid(step.blocks)?, &[plain, output, Arg::of(&step.params)])
                }
                Plan::Adaptive { lorenzo, forward, .. } => {
                    let params = adaptive_params(lorenzo, elements);
                    let (modes, tiles) = (ports.modes.arg(), Arg::of(&params.block.segments));
                    let (count, rest) = scratch.split_at(COUNT_BYTES);
                    let (look_back, tile_means) =
                        rest.split_at(params.scratch_bytes(lorenzo.element().bytes() as u32).0 as usize);
                    let [forward, pack] = forward;
                    let arguments = [plain, output, modes, tile_means.arg(), Arg::of(&params)];
                    forward.launch(stream, grid(params.block.tiles())?, &arguments)?;
                    let arguments = [modes, tile_means.arg(), ports.means.arg(), look_back.arg(), count.arg(), tiles];
                    pack.launch(stream, grid(params.means_blocks())?, &arguments)
                }
            }
        }
    }

    /// Puts what `ports` were made from to `plain` into `stream`. Returns at once.
    ///
    /// The lengths of `ports` are checked here, but for the number of `adaptive_lorenzo`'s means, which the modes in the device's
    /// memory say: the kernel counts them (see [`Self::scratch_bytes`]) and takes 0 for those that are not there;
    /// [`Self::check_inverse`] compares.
    ///
    /// # Safety
    /// As [`Self::forward`].
    ///
    /// # Errors
    /// As [`Self::forward`]; [`Error::PortLength`].
    pub unsafe fn inverse(
        &self,
        ports: DevicePorts<'_>,
        plain: DeviceSliceMut<'_>,
        mut scratch: DeviceSliceMut<'_>,
        stream: &Stream,
    ) -> Result<()> {
        let plain_bytes = plain.len() as u64;
        let (sizes, need) = (self.port_bytes(plain_bytes)?, self.scratch_bytes(plain_bytes)?);
        let adaptive = matches!(self.plan, Plan::Adaptive { .. });
        for (port, found, expected) in [
            ("output", ports.output.len(), sizes.output),
            ("means", if adaptive { 0 } else { ports.means.len() }, if adaptive { 0 } else { sizes.means }),
            ("modes", ports.modes.len(), sizes.modes),
        ] {
            let found = found as u64;
            if found != expected {
                return Err(Error::PortLength { port, found, expected });
            }
        }
        check_buffer("plain", plain.address(), plain.len(), 0)?;
        check_buffer("output", ports.output.address(), ports.output.len(), 0)?;
        check_buffer("means", ports.means.address(), ports.means.len(), 0)?;
        check_buffer("scratch", scratch.address(), scratch.len(), need as u64)?;
        self.clear_scratch(plain_bytes, scratch.reborrow(), stream)?;
        let word = self.predictor().element().bytes();
        let elements = plain_bytes / word;
        if elements == 0 {
            return Ok(());
        }
        let (output, plain) = (ports.output.arg(), plain.arg());
        // SAFETY: the sizes were checked above, the grids cover the elements, and the caller keeps the buffers.
        unsafe {
            match &self.plan {
                Plan::Block { lorenzo, segments, inverse, .. } => {
                    let params = block_params(lorenzo, *segments, elements);
                    let none = 0u64;
                    let means = if sizes.means > 0 { ports.means.arg() } else { Arg::of(&none) };
                    inverse.launch(stream, grid(params.tiles())?, &[output, means, plain, Arg::of(&params)])
                }
                Plan::Tiled { lorenzo, inverse, .. } => {
                    let plan = tiled_plan(lorenzo, elements);
                    inverse.launch(stream, grid(plan.blocks)?, &[output, plain, Arg::of(&plan.params)])
                }
                Plan::Grid { inverse: (kernels, plan), .. } => {
                    for (kernel, step) in kernels.iter().zip(plan.steps()) {
                        let arguments = [output, plain, scratch.arg(), Arg::of(&step.params)];
                        kernel.launch(stream, grid(step.blocks)?, &arguments)?;
                    }
                    Ok(())
                }
                Plan::Adaptive { lorenzo, inverse, .. } => {
                    let params = adaptive_params(lorenzo, elements);
                    let held = ports.means.len() as u64 / word;
                    let (modes, tiles) = (ports.modes.arg(), Arg::of(&params.block.segments));
                    let (count, rest) = scratch.split_at(COUNT_BYTES);
                    let (look_back, tile_means) = rest.split_at(params.scratch_bytes(word as u32).0 as usize);
                    let [spread, inverse] = inverse;
                    let (means, held) = (ports.means.arg(), Arg::of(&held));
                    let arguments = [modes, means, held, tile_means.arg(), look_back.arg(), count.arg(), tiles];
                    spread.launch(stream, grid(params.means_blocks())?, &arguments)?;
                    let arguments = [output, modes, tile_means.arg(), plain, Arg::of(&params)];
                    inverse.launch(stream, grid(params.block.tiles())?, &arguments)
                }
            }
        }
    }

    /// Sets to 0 what must be before a launch.
    fn clear_scratch(&self, plain_bytes: u64, scratch: DeviceSliceMut<'_>, stream: &Stream) -> Result<()> {
        let Plan::Adaptive { lorenzo, .. } = &self.plan else { return Ok(()) };
        let word = lorenzo.element().bytes();
        let elements = plain_bytes / word;
        let bytes = if elements == 0 { 0 } else { adaptive_params(lorenzo, elements).scratch_bytes(word as u32).0 };
        stream.fill(scratch.slice(..COUNT_BYTES + bytes as usize), 0)
    }

    /// Waits for `stream` and reads how many means the forward direction of `adaptive_lorenzo` left; `scratch` is what it was given.
    ///
    /// # Errors
    /// [`Error::Cuda`] from the driver, [`Error::BufferTooSmall`].
    pub fn read_means_count(&self, scratch: DeviceSlice<'_>, stream: &Stream) -> Result<u64> {
        check_buffer("scratch", scratch.address(), scratch.len(), MEANS_COUNT_BYTES as u64)?;
        let mut bytes = [0; MEANS_COUNT_BYTES];
        stream.copy_to_host(&mut bytes, scratch.slice(..MEANS_COUNT_BYTES))?;
        Ok(u64::from_le_bytes(bytes))
    }

    /// Waits for `stream` and says whether the ports of an [`Self::inverse`] in it were sound: what its modes said. Of other predictors'
    /// ports there is nothing left to say.
    ///
    /// # Errors
    /// [`Error::Padding`] and [`Error::PortLength`] as [`Predictor::inverse_into`]; [`Error::Cuda`] from the driver.
    pub fn check_inverse(&self, ports: DevicePorts<'_>, scratch: DeviceSlice<'_>, stream: &Stream) -> Result<()> {
        let Plan::Adaptive { lorenzo, .. } = &self.plan else { return stream.synchronize() };
        let counted = self.read_means_count(scratch, stream)?;
        if counted & MODES_PADDING != 0 {
            return Err(Error::Padding { offset: ports.modes.len() as u64 - 1 });
        }
        let (found, expected) = (ports.means.len() as u64, counted * lorenzo.element().bytes());
        if found == expected { Ok(()) } else { Err(Error::PortLength { port: "means", found, expected }) }
    }
}
