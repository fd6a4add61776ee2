//! Memory of a device, and host memory that it can reach by itself.

use super::{Arg, CudaDevice, calls};
use crate::{Error, Result};
use std::ffi::c_void;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Bound, Deref, DerefMut, RangeBounds};
use std::ptr;

/// Allocations are whole multiples of this many bytes, and start at such a multiple.
const GRANULE_BYTES: usize = 256;

/// Bytes behind every allocation that kernels may read, but not rely on: loads come in whole units of 16 bytes.
const SLACK_BYTES: usize = 16;

/// Bytes in a device's memory; what they hold is unspecified until they are written.
///
/// Freed when dropped, after the device has finished what it was given. Don't drop one between the begin and the end of a
/// capture in the same thread: the driver refuses to free it then, and it is lost.
pub struct DeviceBuffer {
    device: CudaDevice,
    address: u64,
    len: usize,
    capacity: usize,
}

impl DeviceBuffer {
    /// Allocates `len` bytes, 256-aligned, with at least 16 more behind them that kernels may read.
    ///
    /// # Errors
    /// [`Error::Cuda`](crate::Error::Cuda) from the driver, which names what it lacks.
    pub fn new(device: &CudaDevice, len: usize) -> Result<Self> {
        let capacity = len.saturating_add(SLACK_BYTES).checked_next_multiple_of(GRANULE_BYTES).unwrap_or(usize::MAX);
        let _current = device.bind()?;
        let mut address = 0;
        // SAFETY: `address` is a place for one address.
        unsafe { calls::cuMemAlloc_v2(&mut address, capacity)? };
        Ok(Self { device: device.clone(), address, len, capacity: capacity - SLACK_BYTES })
    }

    /// Makes the buffer `len` bytes long, whose contents are then unspecified. Allocates only to grow.
    ///
    /// # Errors
    /// As [`Self::new`]; the buffer is as it was then.
    pub fn resize(&mut self, len: usize) -> Result<()> {
        if len > self.capacity {
            *self = Self::new(&self.device, len)?;
        }
        self.len = len;
        Ok(())
    }

    /// The length in bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether the length is 0.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The device that the memory is of.
    pub fn device(&self) -> &CudaDevice {
        &self.device
    }

    /// All bytes, to read.
    pub fn as_slice(&self) -> DeviceSlice<'_> {
        DeviceSlice { address: self.address, len: self.len, memory: PhantomData }
    }

    /// All bytes, to write.
    pub fn as_mut_slice(&mut self) -> DeviceSliceMut<'_> {
        DeviceSliceMut { address: self.address, len: self.len, memory: PhantomData }
    }
}

impl fmt::Debug for DeviceBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DeviceBuffer({:#x}, {} bytes, cuda:{})", self.address, self.len, self.device.index())
    }
}

impl Drop for DeviceBuffer {
    fn drop(&mut self) {
        if let Ok(_current) = self.device.bind() {
            // SAFETY: allocated in `new` and borrowed by nobody any more; the driver waits for the work that uses it.
            let _ = unsafe { calls::cuMemFree_v2(self.address) };
        }
    }
}

/// Bytes in a device's memory, to read: of a [`DeviceBuffer`], or of anybody's allocation.
#[derive(Clone, Copy, Debug)]
pub struct DeviceSlice<'a> {
    address: u64,
    len: usize,
    memory: PhantomData<&'a [u8]>,
}

impl<'a> DeviceSlice<'a> {
    /// The `len` bytes at the device address `address` (a `CUdeviceptr`, or a pointer of the CUDA runtime).
    ///
    /// # Safety
    /// For `'a`, and until the work is done that was put into streams with it: the bytes are allocated, in the context that
    /// they are used with, and so are those up to the end of the last 16-byte unit (every CUDA allocation is so rounded); nothing writes them
    /// meanwhile, unless ordered by streams or events.
    pub unsafe fn from_raw_parts(address: u64, len: usize) -> Self {
        Self { address, len, memory: PhantomData }
    }

    /// The address in the device's memory.
    pub fn address(self) -> u64 {
        self.address
    }

    /// The length in bytes.
    pub fn len(self) -> usize {
        self.len
    }

    /// Whether the length is 0.
    pub fn is_empty(self) -> bool {
        self.len == 0
    }

    /// A part of the bytes.
    ///
    /// # Panics
    /// Where `range` reaches beyond the end.
    pub fn slice(self, range: impl RangeBounds<usize>) -> Self {
        let (start, len) = part(range, self.len);
        Self { address: self.address + start as u64, len, memory: PhantomData }
    }

    /// The address as an argument of a launch, for a kernel's pointer parameter.
    pub fn arg(&self) -> Arg<'_> {
        Arg::of(&self.address)
    }
}

/// Bytes in a device's memory, to write: of a [`DeviceBuffer`], or of anybody's allocation.
#[derive(Debug)]
pub struct DeviceSliceMut<'a> {
    address: u64,
    len: usize,
    memory: PhantomData<&'a mut [u8]>,
}

impl<'a> DeviceSliceMut<'a> {
    /// The `len` bytes at the device address `address` (a `CUdeviceptr`, or a pointer of the CUDA runtime).
    ///
    /// # Safety
    /// As [`DeviceSlice::from_raw_parts`], and nothing reads the bytes meanwhile either.
    pub unsafe fn from_raw_parts(address: u64, len: usize) -> Self {
        Self { address, len, memory: PhantomData }
    }

    /// The address in the device's memory.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// The length in bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether the length is 0.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The same bytes, to read.
    pub fn as_slice(&self) -> DeviceSlice<'_> {
        DeviceSlice { address: self.address, len: self.len, memory: PhantomData }
    }

    /// The same bytes, for a shorter time.
    pub fn reborrow(&mut self) -> DeviceSliceMut<'_> {
        DeviceSliceMut { address: self.address, len: self.len, memory: PhantomData }
    }

    /// A part of the bytes.
    ///
    /// # Panics
    /// Where `range` reaches beyond the end.
    pub fn slice(self, range: impl RangeBounds<usize>) -> Self {
        let (start, len) = part(range, self.len);
        Self { address: self.address + start as u64, len, memory: PhantomData }
    }

    /// The bytes in front of `middle` and those from there on.
    ///
    /// # Panics
    /// Where `middle` is beyond the end.
    pub fn split_at(self, middle: usize) -> (Self, Self) {
        let (_, len) = part(middle.., self.len);
        let back = Self { address: self.address + middle as u64, len, memory: PhantomData };
        (Self { address: self.address, len: middle, memory: PhantomData }, back)
    }

    /// The address as an argument of a launch, for a kernel's pointer parameter.
    pub fn arg(&self) -> Arg<'_> {
        Arg::of(&self.address)
    }
}

/// Every buffer that a kernel touches begins at such a multiple.
const ALIGN: u64 = 16;

/// Whether `buffer` begins where kernels want it and has `need` bytes of the `have` that it should.
pub(crate) fn check_buffer(buffer: &'static str, address: u64, have: usize, need: u64) -> Result<()> {
    let have = have as u64;
    if have < need {
        Err(Error::BufferTooSmall { buffer, need, have })
    } else if !address.is_multiple_of(ALIGN) {
        Err(Error::Alignment { buffer, address, align: ALIGN })
    } else {
        Ok(())
    }
}

/// Start and length of `range` within `len` bytes.
fn part(range: impl RangeBounds<usize>, len: usize) -> (usize, usize) {
    let start = match range.start_bound() {
        Bound::Included(start) => *start,
        Bound::Excluded(before) => before.saturating_add(1),
        Bound::Unbounded => 0,
    };
    let end = match range.end_bound() {
        Bound::Included(last) => last.saturating_add(1),
        Bound::Excluded(end) => *end,
        Bound::Unbounded => len,
    };
    assert!(start <= end && end <= len, "range {start}..{end} of {len} bytes of device memory");
    (start, end - start)
}

/// Host memory that devices read and write by themselves, so that copies run beside other work; zeros at first.
pub struct PinnedBuffer {
    device: CudaDevice,
    address: *mut u8,
    len: usize,
}

// SAFETY: plain memory with one owner.
unsafe impl Send for PinnedBuffer {}
// SAFETY: as above; shared access only reads.
unsafe impl Sync for PinnedBuffer {}

impl PinnedBuffer {
    /// Allocates `len` bytes, which all devices may reach.
    ///
    /// # Errors
    /// [`Error::Cuda`](crate::Error::Cuda) from the driver.
    pub fn new(device: &CudaDevice, len: usize) -> Result<Self> {
        const PORTABLE: u32 = 1;
        let _current = device.bind()?;
        let mut address = ptr::null_mut::<c_void>();
        // SAFETY: `address` is a place for one address.
        unsafe { calls::cuMemHostAlloc(&mut address, len.max(1), PORTABLE)? };
        let address = address.cast::<u8>();
        // SAFETY: the driver just gave us `len` bytes there.
        unsafe { address.write_bytes(0, len) };
        Ok(Self { device: device.clone(), address, len })
    }
}

impl Deref for PinnedBuffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: `len` bytes, written in `new`, ours until `drop`.
        unsafe { std::slice::from_raw_parts(self.address, self.len) }
    }
}

impl DerefMut for PinnedBuffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `deref`, and borrowed mutably.
        unsafe { std::slice::from_raw_parts_mut(self.address, self.len) }
    }
}

impl fmt::Debug for PinnedBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PinnedBuffer({} bytes)", self.len)
    }
}

impl Drop for PinnedBuffer {
    fn drop(&mut self) {
        if let Ok(_current) = self.device.bind() {
            // SAFETY: allocated in `new`; asynchronous copies from and to it are unsafe and promise to be over.
            let _ = unsafe { calls::cuMemFreeHost(self.address.cast()) };
        }
    }
}
