//! Devices: what there is, what is open, and the kernels loaded there.

use super::calls;
use super::{DeviceInfo, Stream, driver};
use crate::{Error, Result};
use bytemuck::NoUninit;
use cust::CudaFlags;
use cust::device::{Device, DeviceAttribute};
use cust::error::CudaError;
use cust::sys::{self, CUcontext, CUdevice, CUfunction, CUmodule};
use shared_types::launch::Launch;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ffi::{CString, c_void};
use std::fmt;
use std::marker::PhantomData;
use std::ptr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// All kernels, as the build script found or made them.
pub(super) static PTX: &str = include_str!(concat!(env!("OUT_DIR"), "/kernels.ptx"));

/// Dynamic shared memory that a kernel gets without asking for more, in bytes.
const SHARED_BYTES_UNASKED: u32 = 48 * 1024;

/// An open NVIDIA device: its primary context, which other CUDA libraries of the process share, and Warpack's kernels in it.
///
/// Clones are handles of the same device; it is left when the last one, and the last thing made from it, is gone.
/// Whatever needs the context to be current makes it so for the time of the call: the caller's thread keeps the one it had.
#[derive(Clone)]
pub struct CudaDevice(Arc<Inner>);

struct Inner {
    info: DeviceInfo,
    device: CUdevice,
    context: CUcontext,
    kernels: Mutex<Kernels>,
}

// SAFETY: the driver's handles may be used from any thread; what Rust sees change is behind the mutex.
unsafe impl Send for Inner {}
// SAFETY: as above.
unsafe impl Sync for Inner {}

/// The kernels loaded so far, each as a module of its own: the driver compiles PTX when it is loaded, and most programs use few.
type Kernels = HashMap<&'static str, Loaded>;

#[derive(Clone, Copy)]
struct Loaded {
    module: CUmodule,
    function: CUfunction,
    /// The most dynamic shared memory that it was allowed so far, in bytes.
    shared_bytes: u32,
}

impl CudaDevice {
    /// Opens the device numbered `index`, or returns another handle of it where it is open.
    ///
    /// # Errors
    /// [`Error::Cuda`] where there is no driver, or where it or the device is too old for the kernels; [`Error::NoDevice`]
    /// where there is no such device.
    pub fn open(index: u32) -> Result<Self> {
        static OPEN: Mutex<Vec<Weak<Inner>>> = Mutex::new(Vec::new());
        let mut open = lock(&OPEN);
        open.retain(|device| device.strong_count() > 0);
        if let Some(device) = open.iter().filter_map(Weak::upgrade).find(|device| device.info.index == index) {
            return Ok(Self(device));
        }
        let driver_version = init()?;
        let devices = count()?;
        if index >= devices {
            return Err(Error::NoDevice { index, devices });
        }
        let device = Device::get_device(index).map_err(|error| refused("cuDeviceGet", error))?;
        let info = describe(index, device, driver_version)?;
        if let Some(reason) = &info.unusable {
            return Err(Error::Cuda { call: "open", message: format!("{} (cuda:{index}): {reason}", info.name) });
        }
        let (device, mut context) = (device.as_raw(), ptr::null_mut());
        // SAFETY: `device` comes from the driver and `context` is a place for one handle.
        unsafe { calls::cuDevicePrimaryCtxRetain(&mut context, device)? };
        let inner = Arc::new(Inner { info, device, context, kernels: Mutex::default() });
        open.push(Arc::downgrade(&inner));
        Ok(Self(inner))
    }

    /// The number that [`super::devices`] and `cuda:N` use.
    pub fn index(&self) -> u32 {
        self.0.info.index
    }

    /// Name, memory and kind.
    pub fn info(&self) -> &DeviceInfo {
        &self.0.info
    }

    /// Free and all memory of the device, in bytes.
    ///
    /// # Errors
    /// [`Error::Cuda`] from the driver.
    pub fn memory_bytes(&self) -> Result<(u64, u64)> {
        let _current = self.bind()?;
        let (mut free, mut total) = (0, 0);
        // SAFETY: two places for one number each.
        unsafe { calls::cuMemGetInfo_v2(&mut free, &mut total)? };
        Ok((free as u64, total as u64))
    }

    /// Makes the device's context current in this thread until the guard is dropped, then the one that was before.
    ///
    /// Warpack's own calls do this by themselves; it is for calls of the driver or of other libraries in between.
    ///
    /// # Errors
    /// [`Error::Cuda`] from the driver.
    pub fn bind(&self) -> Result<Current<'_>> {
        self.0.bind()
    }

    /// The kernel `name`, for launches of the shape `launch`. The driver compiles it when it is asked for the first time, which
    /// takes a moment (and keeps the result on disk).
    ///
    /// # Errors
    /// [`Error::Cuda`] where there is no such kernel, where the device can't give a block that much shared memory, and with
    /// the driver's compiler messages where it does not take the PTX.
    pub fn kernel(&self, name: &'static str, launch: Launch) -> Result<Kernel> {
        let _current = self.bind()?;
        let mut kernels = lock(&self.0.kernels);
        let loaded = match kernels.entry(name) {
            Entry::Occupied(loaded) => loaded.into_mut(),
            Entry::Vacant(place) => place.insert(Loaded::load(name)?),
        };
        if launch.shared_bytes > loaded.shared_bytes {
            let attribute = sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
            let bytes = i32::try_from(launch.shared_bytes).unwrap_or(i32::MAX);
            // SAFETY: the function belongs to a module of the current context.
            unsafe { calls::cuFuncSetAttribute(loaded.function, attribute, bytes)? };
            loaded.shared_bytes = launch.shared_bytes;
        }
        Ok(Kernel { device: self.clone(), function: loaded.function, launch, name })
    }
}

impl fmt::Debug for CudaDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CudaDevice").field(&self.0.info).finish()
    }
}

/// The same open device.
impl PartialEq for CudaDevice {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for CudaDevice {}

impl Inner {
    fn bind(&self) -> Result<Current<'_>> {
        let mut before = ptr::null_mut();
        // SAFETY: `before` is a place for one handle, and our context is retained.
        let pushed = unsafe {
            calls::cuCtxGetCurrent(&mut before)?;
            let push = before != self.context;
            if push {
                calls::cuCtxPushCurrent_v2(self.context)?;
            }
            push
        };
        Ok(Current { pushed, context: PhantomData })
    }
}

impl Drop for Inner {
    /// A driver that refuses here is one that is shutting down: nothing is left to free.
    fn drop(&mut self) {
        if let Ok(_current) = self.bind() {
            for kernel in lock(&self.kernels).values() {
                // SAFETY: every `Kernel` holds the device, so none is left.
                let _ = unsafe { calls::cuModuleUnload(kernel.module) };
            }
        }
        // SAFETY: retained once, in `open`; everything made in the context holds the device, so nothing is left.
        let _ = unsafe { calls::cuDevicePrimaryCtxRelease_v2(self.device) };
    }
}

/// While it lives, a device's context is current in this thread.
#[must_use = "the context is current only as long as the guard lives"]
#[derive(Debug)]
pub struct Current<'a> {
    pushed: bool,
    /// Borrows the device, and stays in its thread, as what is current is a matter of the thread.
    context: PhantomData<(&'a Inner, *mut c_void)>,
}

impl Drop for Current<'_> {
    fn drop(&mut self) {
        if self.pushed {
            // SAFETY: takes off what `bind` put on, in the same thread.
            let _ = unsafe { calls::cuCtxPopCurrent_v2(&mut ptr::null_mut()) };
        }
    }
}

/// A kernel of an open device, with the block shape that it is launched with.
#[derive(Clone, Debug)]
pub struct Kernel {
    device: CudaDevice,
    function: CUfunction,
    launch: Launch,
    name: &'static str,
}

// SAFETY: a function handle may be used from any thread.
unsafe impl Send for Kernel {}
// SAFETY: as above.
unsafe impl Sync for Kernel {}

impl Kernel {
    /// The kernel's name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Blocks of this shape that fit on a multiprocessor at once; at least 1.
    ///
    /// # Errors
    /// [`Error::Cuda`] from the driver, or where not even one block fits.
    pub fn blocks_per_multiprocessor(&self) -> Result<u32> {
        let _current = self.device.bind()?;
        let mut blocks = 0;
        let (threads, shared_bytes) = (self.launch.threads as i32, self.launch.shared_bytes as usize);
        // SAFETY: `blocks` is a place for one number and the function is loaded.
        unsafe { calls::cuOccupancyMaxActiveBlocksPerMultiprocessor(&mut blocks, self.function, threads, shared_bytes)? };
        u32::try_from(blocks).ok().filter(|blocks| *blocks > 0).ok_or_else(|| Error::Cuda {
            call: "cuOccupancyMaxActiveBlocksPerMultiprocessor",
            message: format!("no block of {} fits: {threads} threads, {shared_bytes} bytes of shared memory", self.name),
        })
    }

    /// Launches `blocks` blocks in `stream`, which may be capturing; returns at once. No blocks, no launch.
    ///
    /// ```no_run
    /// # use warpack::backend::{Arg, CudaDevice, DeviceBuffer, Stream};
    /// # use shared_types::launch::Launch;
    /// # const LAUNCH: Launch = Launch { threads: 256, shared_bytes: 0, min_blocks: 0 };
    /// let device = CudaDevice::open(0)?;
    /// let stream = Stream::new(&device)?;
    /// let mut words = DeviceBuffer::new(&device, 4096)?;
    /// let count = 1024u32;
    /// let kernel = device.kernel("double_words", LAUNCH)?; // fn(words: *mut u32, count: u32)
    /// // SAFETY: the arguments are the kernel's, `words` holds `count` words, and the stream is waited for below.
    /// unsafe { kernel.launch(&stream, count.div_ceil(256), &[words.as_mut_slice().arg(), Arg::of(&count)])? };
    /// let mut host = vec![0; 4096];
    /// stream.copy_to_host(&mut host, words.as_slice())?;
    /// # Ok::<(), warpack::Error>(())
    /// ```
    ///
    /// # Safety
    /// `arguments` are the kernel's parameters in number, order and size, and what the kernel asks of them holds. Memory
    /// that the arguments point to stays allocated, and nothing else touches what the kernel writes, until the work is done (for a
    /// capturing stream: as long as the graph is launched).
    ///
    /// # Errors
    /// [`Error::Cuda`] from the driver: for this launch, or for work before it that failed meanwhile.
    pub unsafe fn launch(&self, stream: &Stream, blocks: u32, arguments: &[Arg<'_>]) -> Result<()> {
        if blocks == 0 {
            return Ok(());
        }
        let Launch { threads, shared_bytes, .. } = self.launch;
        let _current = self.device.bind()?;
        // `Arg` is transparent, and the driver only reads the array.
        let arguments = arguments.as_ptr().cast::<*mut c_void>().cast_mut();
        // SAFETY: function and stream are alive; the caller answers for the arguments, which the driver copies before it returns.
        unsafe {
            calls::cuLaunchKernel(
                self.function,
                blocks,
                1,
                1,
                threads,
                1,
                1,
                shared_bytes,
                stream.handle(),
                arguments,
                ptr::null_mut(),
            )
        }
    }
}

/// One argument of a launch: the address of its value.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct Arg<'a>(*mut c_void, PhantomData<&'a ()>);

impl<'a> Arg<'a> {
    /// A number, or a `#[repr(C)]` struct of numbers. (For memory see [`DeviceSlice::arg`](super::DeviceSlice::arg).)
    pub fn of<T: NoUninit>(value: &'a T) -> Self {
        Self(ptr::from_ref(value).cast_mut().cast(), PhantomData)
    }
}

/// The devices of this machine.
pub(super) fn list() -> Result<Vec<DeviceInfo>> {
    let driver_version = init()?;
    let devices = count()?;
    if devices == 0 {
        return Err(Error::NoDevice { index: 0, devices });
    }
    let device = |index| Device::get_device(index).map_err(|error| refused("cuDeviceGet", error));
    (0..devices).map(|index| describe(index, device(index)?, driver_version)).collect()
}

/// Starts the driver (again is harmless) and returns the CUDA version that it supports.
fn init() -> Result<(u32, u32)> {
    if let Err(reason) = driver::available() {
        return Err(Error::Cuda { call: "dlopen", message: format!("no NVIDIA driver: {reason}") });
    }
    cust::init(CudaFlags::empty()).map_err(|error| refused("cuInit", error))?;
    let version = cust::CudaApiVersion::get().map_err(|error| refused("cuDriverGetVersion", error))?;
    Ok((version.major().unsigned_abs(), version.minor().unsigned_abs()))
}

fn count() -> Result<u32> {
    Device::num_devices().map_err(|error| refused("cuDeviceGetCount", error))
}

fn describe(index: u32, device: Device, driver_version: (u32, u32)) -> Result<DeviceInfo> {
    let attribute = |attribute| -> Result<u32> {
        let value = device.get_attribute(attribute).map_err(|error| refused("cuDeviceGetAttribute", error))?;
        Ok::<_, Error>(value.unsigned_abs())
    };
    let compute_capability =
        (attribute(DeviceAttribute::ComputeCapabilityMajor)?, attribute(DeviceAttribute::ComputeCapabilityMinor)?);
    Ok(DeviceInfo {
        index,
        name: device.name().map_err(|error| refused("cuDeviceGetName", error))?,
        memory_bytes: device.total_memory().map_err(|error| refused("cuDeviceTotalMem_v2", error))? as u64,
        compute_capability,
        multiprocessors: attribute(DeviceAttribute::MultiprocessorCount)?,
        driver_version,
        unusable: Needs::of(PTX).unmet(compute_capability, driver_version),
    })
}

/// `cust`'s error as ours. Its numbers are the driver's.
fn refused(call: &'static str, error: CudaError) -> Error {
    Error::Cuda { call, message: calls::message(error as u32) }
}

/// What PTX asks of a device and its driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Needs {
    /// The lowest compute capability.
    pub compute_capability: (u32, u32),
    /// The PTX version.
    pub ptx: (u32, u32),
}

impl Needs {
    /// From the `.version` and `.target` lines.
    pub fn of(ptx: &str) -> Self {
        let directive = |name: &str| ptx.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default().trim();
        let target = directive(".target sm_").bytes().take_while(u8::is_ascii_digit);
        let target = target.fold(0, |number, digit| number * 10 + u32::from(digit - b'0'));
        let version = directive(".version").split_once('.').unwrap_or_default();
        let number = |text: &str| text.parse().unwrap_or(0);
        Self { compute_capability: (target / 10, target % 10), ptx: (number(version.0), number(version.1)) }
    }

    /// The oldest CUDA version whose drivers read this PTX: PTX 7.0 to 7.8 came with CUDA 11.0 to 11.8, 8.x with 12.x, 9.x with 13.x.
    pub fn driver(self) -> (u32, u32) {
        (self.ptx.0 + 4, self.ptx.1)
    }

    /// What is missing, if anything.
    pub fn unmet(self, compute_capability: (u32, u32), driver: (u32, u32)) -> Option<String> {
        let (need, have) = (self.compute_capability, compute_capability);
        if have < need {
            return Some(format!("has compute capability {}.{}, the kernels need {}.{}", have.0, have.1, need.0, need.1));
        }
        let (need, have) = (self.driver(), driver);
        (have < need).then(|| {
            format!(
                "its driver supports CUDA {}.{}, the kernels need {}.{}: install a newer driver",
                have.0, have.1, need.0, need.1
            )
        })
    }
}

impl Loaded {
    /// Loads the kernel `name` into the current context.
    fn load(name: &'static str) -> Result<Self> {
        use sys::CUjit_option::{CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
        let refused = |call, what: &dyn fmt::Display| Error::Cuda { call, message: format!("kernel {name}: {what}") };
        let ptx = with_only(PTX, name).ok_or_else(|| refused("kernel", &"not in the embedded PTX"))?;
        let [ptx, c_name] = [ptx, name.into()].map(CString::new);
        let (Ok(ptx), Ok(c_name)) = (ptx, c_name) else { return Err(refused("kernel", &"a 0 byte in name or PTX")) };

        let mut log = [0u8; 4096];
        let mut names = [CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES];
        // The driver takes each option's value in a pointer's place, numbers too.
        let mut values = [log.as_mut_ptr().cast::<c_void>(), ptr::without_provenance_mut(log.len())];
        let (mut module, mut function) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: the PTX ends with a 0; `names` and `values` have 2 entries each, and the buffer in them is as long as they say.
        let loaded =
            unsafe { calls::cuModuleLoadDataEx(&mut module, ptx.as_ptr().cast(), 2, names.as_mut_ptr(), values.as_mut_ptr()) };
        loaded.map_err(|error| {
            let log = String::from_utf8_lossy(log.split(|byte| *byte == 0).next().unwrap_or_default());
            refused("cuModuleLoadDataEx", &format_args!("{error} {}", log.trim()))
        })?;
        // SAFETY: the module is loaded, the name ends with a 0, and `function` is a place for one handle.
        let found = unsafe { calls::cuModuleGetFunction(&mut function, module, c_name.as_ptr()) };
        if let Err(error) = found {
            // SAFETY: loaded above, and nothing is known of it outside.
            let _ = unsafe { calls::cuModuleUnload(module) };
            return Err(error);
        }
        Ok(Self { module, function, shared_bytes: SHARED_BYTES_UNASKED })
    }
}

/// The PTX without the entries of other kernels than `kernel`, if that one is there.
pub(super) fn with_only(ptx: &str, kernel: &str) -> Option<String> {
    let mut only = String::new();
    let (mut found, mut other, mut depth) = (false, false, 0);
    for line in ptx.lines() {
        let code = line.split("//").next().unwrap_or_default();
        if let Some(rest) = code.strip_prefix(".visible .entry ") {
            let name = rest.split(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '$').next();
            (found, other) = (found || name == Some(kernel), name != Some(kernel));
        }
        if !other {
            only.push_str(line);
            only.push('\n');
        }
        // The body is over with the brace that began it.
        depth += code.matches('{').count();
        let closing = code.matches('}').count();
        if closing > 0 && depth <= closing {
            other = false;
        }
        depth = depth.saturating_sub(closing);
    }
    found.then_some(only)
}

/// What a panicking thread left behind a mutex of ours is whole: each is changed in one step.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
