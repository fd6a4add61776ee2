//! Where work runs: the CPU, or an NVIDIA GPU.
//!
//! The driver is looked for when a device is first asked for, so the same program runs with and without one. Everything that
//! touches CUDA is here; the rest of the crate sees [`CudaDevice`], [`Stream`], [`DeviceBuffer`] and their kin.
//!
//! ```
//! use warpack::backend::{Backend, BackendChoice, devices};
//!
//! match devices() {
//!     Ok(list) => list.iter().for_each(|device| println!("{device}")),
//!     Err(reason) => println!("CPU only: {reason}"),
//! }
//! let backend = "auto".parse::<BackendChoice>().expect("a known name").open()?;
//! println!("using {backend}");
//! assert_eq!("cpu".parse::<BackendChoice>().expect("a known name").open()?.to_string(), "cpu");
//! # Ok::<(), warpack::Error>(())
//! ```

#[cfg(feature = "cuda")]
mod calls;
#[cfg(feature = "cuda")]
mod device;
#[cfg(feature = "cuda")]
mod driver;
#[cfg(feature = "cuda")]
mod memory;
#[cfg(feature = "cuda")]
mod stream;

#[cfg(feature = "cuda")]
pub use device::{Arg, CudaDevice, Current, Kernel};
#[cfg(feature = "cuda")]
pub(crate) use memory::check_buffer;
#[cfg(feature = "cuda")]
pub use memory::{DeviceBuffer, DeviceSlice, DeviceSliceMut, PinnedBuffer};
#[cfg(feature = "cuda")]
pub use stream::{Event, Graph, Stream};

#[cfg(not(feature = "cuda"))]
use crate::Error;
use crate::Result;
use std::fmt;
use std::str::FromStr;

/// Where work runs. Cheap to clone; any thread may use it.
#[derive(Clone, Debug)]
pub enum Backend {
    /// All cores of this machine.
    Cpu,
    /// An NVIDIA GPU.
    #[cfg(feature = "cuda")]
    Cuda(CudaDevice),
}

impl Backend {
    /// The first device that can run the kernels; the CPU where there is none, or where it does not answer.
    pub fn auto() -> Self {
        #[cfg(feature = "cuda")]
        if let Ok(list) = devices() {
            let usable = list.iter().filter(|device| device.unusable.is_none());
            if let Some(device) = usable.map(|device| CudaDevice::open(device.index)).find_map(Result::ok) {
                return Self::Cuda(device);
            }
        }
        Self::Cpu
    }

    /// The device numbered `index`, as [`devices`] lists them.
    ///
    /// # Errors
    /// [`Error::Cuda`](crate::Error::Cuda) where there is no driver, or where it or the device is too old; [`Error::NoDevice`](crate::Error::NoDevice) where there is no such device.
    pub fn cuda(index: u32) -> Result<Self> {
        #[cfg(feature = "cuda")]
        return CudaDevice::open(index).map(Self::Cuda);
        #[cfg(not(feature = "cuda"))]
        return Err(Error::Cuda { call: "cuda", message: format!("{WITHOUT_CUDA}, so no device {index}") });
    }
}

/// The name that [`BackendChoice`] takes back: `cpu`, `cuda:0`.
impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cpu => f.write_str("cpu"),
            #[cfg(feature = "cuda")]
            Self::Cuda(device) => write!(f, "cuda:{}", device.index()),
        }
    }
}

/// What a user may ask for: `auto`, `cpu`, `cuda` (the first usable device, or an error) or `cuda:N`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BackendChoice {
    /// [`Backend::auto`].
    #[default]
    Auto,
    /// [`Backend::Cpu`].
    Cpu,
    /// [`Backend::cuda`], of the first usable device where no number is given.
    Cuda(Option<u32>),
}

impl BackendChoice {
    /// Opens what was chosen.
    ///
    /// # Errors
    /// As [`Backend::cuda`]; `auto` and `cpu` never fail.
    pub fn open(self) -> Result<Backend> {
        match self {
            Self::Auto => Ok(Backend::auto()),
            Self::Cpu => Ok(Backend::Cpu),
            Self::Cuda(Some(index)) => Backend::cuda(index),
            Self::Cuda(None) => {
                let list = devices()?;
                let usable = list.iter().find(|device| device.unusable.is_none());
                Backend::cuda(usable.or(list.first()).map_or(0, |device| device.index))
            }
        }
    }
}

impl FromStr for BackendChoice {
    type Err = UnknownBackend;

    fn from_str(text: &str) -> Result<Self, UnknownBackend> {
        match text.split_once(':') {
            None if text == "auto" => Ok(Self::Auto),
            None if text == "cpu" => Ok(Self::Cpu),
            None if text == "cuda" => Ok(Self::Cuda(None)),
            // Digits alone: `parse` would take a sign as well.
            Some(("cuda", index)) if index.bytes().all(|byte| byte.is_ascii_digit()) => {
                index.parse().map(|index| Self::Cuda(Some(index))).map_err(|_| UnknownBackend { found: text.into() })
            }
            _ => Err(UnknownBackend { found: text.into() }),
        }
    }
}

impl fmt::Display for BackendChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Cpu => f.write_str("cpu"),
            Self::Cuda(None) => f.write_str("cuda"),
            Self::Cuda(Some(index)) => write!(f, "cuda:{index}"),
        }
    }
}

/// A name that is no backend's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownBackend {
    /// What stood there.
    pub found: String,
}

impl fmt::Display for UnknownBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown backend {:?}, expected auto, cpu, cuda or cuda:N", self.found)
    }
}

impl std::error::Error for UnknownBackend {}

/// A device as [`devices`] lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceInfo {
    /// The number that the driver gives it.
    pub index: u32,
    /// The product's name.
    pub name: String,
    /// All memory of the device, in bytes.
    pub memory_bytes: u64,
    /// Compute capability, major and minor.
    pub compute_capability: (u32, u32),
    /// Streaming multiprocessors.
    pub multiprocessors: u32,
    /// The newest CUDA version that the driver supports, major and minor.
    pub driver_version: (u32, u32),
    /// Why the kernels can't run here, if they can't.
    pub unusable: Option<String>,
}

impl fmt::Display for DeviceInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { index, name, memory_bytes, compute_capability: (cc_major, cc_minor), .. } = self;
        let (cuda_major, cuda_minor) = self.driver_version;
        write!(
            f,
            "cuda:{index} {name}, {:.1} GiB, {} multiprocessors, compute capability {cc_major}.{cc_minor}, driver for CUDA {cuda_major}.{cuda_minor}",
            *memory_bytes as f64 / (1u64 << 30) as f64,
            self.multiprocessors,
        )?;
        self.unusable.as_ref().map_or(Ok(()), |reason| write!(f, " (unusable: {reason})"))
    }
}

/// The NVIDIA devices of this machine, in the driver's order; never an empty list.
///
/// # Errors
/// [`Error::Cuda`](crate::Error::Cuda) with the reason why there is none: no driver, no device, or a driver that does not answer.
pub fn devices() -> Result<Vec<DeviceInfo>> {
    #[cfg(feature = "cuda")]
    return device::list();
    #[cfg(not(feature = "cuda"))]
    return Err(Error::Cuda { call: "devices", message: WITHOUT_CUDA.into() });
}

#[cfg(not(feature = "cuda"))]
const WITHOUT_CUDA: &str = "this build has no CUDA backend (feature `cuda`)";

#[cfg(test)]
mod tests;
