//! Streams: queues of work on a device, the events between them, and graphs recorded from them.

use super::{CudaDevice, DeviceSlice, DeviceSliceMut, calls};
use crate::Result;
use cust::sys::{CUevent, CUgraphExec, CUstream, CUstreamCaptureMode};
use std::ffi::c_void;
use std::ptr;

/// A queue of work that a device does in order.
///
/// Copies and fills between device memory return at once. What touches host memory either waits, or is unsafe and says what
/// it asks. Work in different streams is ordered by events ([`Self::record`], [`Self::wait`]) only.
#[derive(Debug)]
pub struct Stream {
    device: CudaDevice,
    handle: CUstream,
    owned: bool,
}

// SAFETY: a stream may be used from any thread, and from several at once.
unsafe impl Send for Stream {}
// SAFETY: as above.
unsafe impl Sync for Stream {}

impl Stream {
    /// A new stream of `device`, which does not wait for the default stream.
    ///
    /// # Errors
    /// [`Error::Cuda`](crate::Error::Cuda) from the driver.
    pub fn new(device: &CudaDevice) -> Result<Self> {
        const NON_BLOCKING: u32 = 1;
        let _current = device.bind()?;
        let mut handle = ptr::null_mut();
        // SAFETY: `handle` is a place for one handle.
        unsafe { calls::cuStreamCreate(&mut handle, NON_BLOCKING)? };
        Ok(Self { device: device.clone(), handle, owned: true })
    }

    /// Somebody else's stream (a `CUstream`, or a `cudaStream_t` of the CUDA runtime; null is the default stream), which
    /// stays theirs: it is not destroyed with this value.
    ///
    /// # Safety
    /// `handle` is a stream of `device`'s primary context and outlives this value.
    pub unsafe fn from_raw(device: &CudaDevice, handle: *mut c_void) -> Self {
        Self { device: device.clone(), handle: handle.cast(), owned: false }
    }

    /// The stream's `CUstream`, for other libraries; valid as long as this value.
    pub fn as_raw(&self) -> *mut c_void {
        self.handle.cast()
    }

    pub(super) fn handle(&self) -> CUstream {
        self.handle
    }

    /// The device that does the work.
    pub fn device(&self) -> &CudaDevice {
        &self.device
    }

    /// Waits until all work so far is done.
    ///
    /// # Errors
    /// [`Error::Cuda`](crate::Error::Cuda) where some of that work failed.
    pub fn synchronize(&self) -> Result<()> {
        let _current = self.device.bind()?;
        // SAFETY: the stream is alive.
        unsafe { calls::cuStreamSynchronize(self.handle) }
    }

    /// Whether all work so far is done.
    ///
    /// # Errors
    /// As [`Self::synchronize`].
    pub fn is_idle(&self) -> Result<bool> {
        let _current = self.device.bind()?;
        // SAFETY: the stream is alive and its context current.
        unsafe { calls::stream_is_idle(self.handle) }
    }

    /// Sets every byte to `value`. Returns at once.
    ///
    /// # Errors
    /// [`Error::Cuda`](crate::Error::Cuda) from the driver.
    pub fn fill(&self, to: DeviceSliceMut<'_>, value: u8) -> Result<()> {
        if to.is_empty() {
            return Ok(());
        }
        let _current = self.device.bind()?;
        // SAFETY: the slice is allocated, and freeing it waits for the work here.
        unsafe { calls::cuMemsetD8Async(to.address(), value, to.len(), self.handle) }
    }

    /// Copies within device memory. Returns at once.
    ///
    /// # Panics
    /// Where the lengths differ.
    ///
    /// # Errors
    /// [`Error::Cuda`](crate::Error::Cuda) from the driver.
    pub fn copy(&self, to: DeviceSliceMut<'_>, from: DeviceSlice<'_>) -> Result<()> {
        same_length(to.len(), from.len());
        if to.is_empty() {
            return Ok(());
        }
        let _current = self.device.bind()?;
        // SAFETY: both slices are allocated and equally long, and freeing either waits for the work here.
        unsafe { calls::cuMemcpyDtoDAsync_v2(to.address(), from.address(), to.len(), self.handle) }
    }

    /// Copies to the device, and waits until that and all work before it is done.
    ///
    /// # Panics
    /// Where the lengths differ.
    ///
    /// # Errors
    /// As [`Self::synchronize`].
    pub fn copy_to_device(&self, to: DeviceSliceMut<'_>, from: &[u8]) -> Result<()> {
        // SAFETY: `from` is borrowed until the wait is over. Where the wait fails the copy is over too, or was never to start.
        unsafe { self.copy_to_device_async(to, from)? };
        self.synchronize()
    }

    /// Copies to the host, and waits until that and all work before it is done.
    ///
    /// # Panics
    /// Where the lengths differ.
    ///
    /// # Errors
    /// As [`Self::synchronize`].
    pub fn copy_to_host(&self, to: &mut [u8], from: DeviceSlice<'_>) -> Result<()> {
        // SAFETY: `to` is borrowed until the wait is over. Where the wait fails the copy is over too, or was never to start.
        unsafe { self.copy_to_host_async(to, from)? };
        self.synchronize()
    }

    /// Copies to the device. Returns at once where `from` is in a [`PinnedBuffer`](super::PinnedBuffer).
    ///
    /// # Safety
    /// `from` stays allocated and unchanged until the copy is done (in a captured stream: as long as the graph is launched).
    ///
    /// # Panics
    /// Where the lengths differ.
    ///
    /// # Errors
    /// [`Error::Cuda`](crate::Error::Cuda) from the driver.
    pub unsafe fn copy_to_device_async(&self, to: DeviceSliceMut<'_>, from: &[u8]) -> Result<()> {
        same_length(to.len(), from.len());
        if from.is_empty() {
            return Ok(());
        }
        let _current = self.device.bind()?;
        // SAFETY: both are allocated and equally long; the caller keeps `from`, and freeing `to` waits for the work here.
        unsafe { calls::cuMemcpyHtoDAsync_v2(to.address(), from.as_ptr().cast(), from.len(), self.handle) }
    }

    /// Copies to the host. Returns at once where `to` is in a [`PinnedBuffer`](super::PinnedBuffer).
    ///
    /// # Safety
    /// `to` stays allocated, and nobody looks at it, until the copy is done (in a captured stream: as long as the graph is launched).
    ///
    /// # Panics
    /// Where the lengths differ.
    ///
    /// # Errors
    /// [`Error::Cuda`](crate::Error::Cuda) from the driver.
    pub unsafe fn copy_to_host_async(&self, to: &mut [u8], from: DeviceSlice<'_>) -> Result<()> {
        same_length(to.len(), from.len());
        if to.is_empty() {
            return Ok(());
        }
        let _current = self.device.bind()?;
        // SAFETY: both are allocated and equally long; the caller keeps `to`, and freeing `from` waits for the work here.
        unsafe { calls::cuMemcpyDtoHAsync_v2(to.as_mut_ptr().cast(), from.address(), to.len(), self.handle) }
    }

    /// Marks the end of the work so far.
    ///
    /// # Errors
    /// [`Error::Cuda`](crate::Error::Cuda) from the driver.
    pub fn record(&self, event: &Event) -> Result<()> {
        let _current = self.device.bind()?;
        // SAFETY: both are alive.
        unsafe { calls::cuEventRecord(event.handle, self.handle) }
    }

    /// Lets the work that follows here wait for `event`. Returns at once.
    ///
    /// # Errors
    /// [`Error::Cuda`](crate::Error::Cuda) from the driver.
    pub fn wait(&self, event: &Event) -> Result<()> {
        let _current = self.device.bind()?;
        // SAFETY: both are alive.
        unsafe { calls::cuStreamWaitEvent(self.handle, event.handle, 0) }
    }

    /// Records the work that `work` puts into this stream (and into streams that wait for it) instead of doing it.
    ///
    /// `work` must not wait for the stream, nor allocate or free device memory.
    ///
    /// # Errors
    /// What `work` returns, or [`Error::Cuda`](crate::Error::Cuda) from the driver, which also refuses what can't be recorded.
    pub fn capture(&self, work: impl FnOnce() -> Result<()>) -> Result<Graph> {
        let device = self.device.clone();
        let _current = device.bind()?;
        let mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
        // SAFETY: the stream is alive.
        unsafe { calls::cuStreamBeginCapture_v2(self.handle, mode)? };
        let capture = Capture(self);
        work()?;
        let recorded = capture.end()?;
        let mut exec = ptr::null_mut();
        // SAFETY: `exec` is a place for one handle; the recorded graph is ours and is no longer needed after.
        unsafe {
            let made = calls::cuGraphInstantiateWithFlags(&mut exec, recorded, 0);
            let gone = calls::cuGraphDestroy(recorded);
            made?;
            gone?;
        }
        Ok(Graph { device: device.clone(), exec })
    }
}

impl Drop for Stream {
    /// Work still in the stream is finished by the driver.
    fn drop(&mut self) {
        if !self.owned {
            return;
        }
        if let Ok(_current) = self.device.bind() {
            // SAFETY: created in `new`, destroyed once.
            let _ = unsafe { calls::cuStreamDestroy_v2(self.handle) };
        }
    }
}

fn same_length(to: usize, from: usize) {
    assert!(to == from, "a copy of {from} bytes to {to} bytes");
}

/// A capture under way, which ends also when `work` fails or panics.
struct Capture<'a>(&'a Stream);

impl Capture<'_> {
    fn end(self) -> Result<cust::sys::CUgraph> {
        let stream = self.0.handle;
        std::mem::forget(self);
        let mut recorded = ptr::null_mut();
        // SAFETY: the stream is alive and capturing, and `recorded` is a place for one handle.
        unsafe { calls::cuStreamEndCapture(stream, &mut recorded)? };
        Ok(recorded)
    }
}

impl Drop for Capture<'_> {
    fn drop(&mut self) {
        let mut recorded = ptr::null_mut();
        // SAFETY: as in `end`; what was recorded is ours and nobody wants it.
        unsafe {
            let ended = calls::cuStreamEndCapture(self.0.handle, &mut recorded);
            if ended.is_ok() && !recorded.is_null() {
                let _ = calls::cuGraphDestroy(recorded);
            }
        }
    }
}

/// Work recorded by [`Stream::capture`], launched as a whole.
#[derive(Debug)]
pub struct Graph {
    device: CudaDevice,
    exec: CUgraphExec,
}

// SAFETY: the driver lets any thread launch a graph; several at once it does not, so there is no `Sync`.
unsafe impl Send for Graph {}

impl Graph {
    /// Puts all the recorded work into `stream`. Returns at once.
    ///
    /// # Safety
    /// All memory that was used while recording is still allocated and, until the work is done, used as the recorded
    /// calls ask.
    ///
    /// # Errors
    /// [`Error::Cuda`](crate::Error::Cuda) from the driver.
    pub unsafe fn launch(&self, stream: &Stream) -> Result<()> {
        let _current = self.device.bind()?;
        // SAFETY: both are alive; the caller answers for the memory.
        unsafe { calls::cuGraphLaunch(self.exec, stream.handle) }
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        if let Ok(_current) = self.device.bind() {
            // SAFETY: instantiated in `capture`, destroyed once; the driver keeps it until launches under way are done.
            let _ = unsafe { calls::cuGraphExecDestroy(self.exec) };
        }
    }
}

/// A point in a stream's work, with its time.
#[derive(Debug)]
pub struct Event {
    device: CudaDevice,
    handle: CUevent,
}

// SAFETY: an event may be used from any thread, and from several at once.
unsafe impl Send for Event {}
// SAFETY: as above.
unsafe impl Sync for Event {}

impl Event {
    /// A new event of `device`, not yet recorded.
    ///
    /// # Errors
    /// [`Error::Cuda`](crate::Error::Cuda) from the driver.
    pub fn new(device: &CudaDevice) -> Result<Self> {
        let _current = device.bind()?;
        let mut handle = ptr::null_mut();
        // SAFETY: `handle` is a place for one handle.
        unsafe { calls::cuEventCreate(&mut handle, 0)? };
        Ok(Self { device: device.clone(), handle })
    }

    /// Waits until the recorded point is reached; at once where none was recorded.
    ///
    /// # Errors
    /// [`Error::Cuda`](crate::Error::Cuda) where the work before it failed.
    pub fn synchronize(&self) -> Result<()> {
        let _current = self.device.bind()?;
        // SAFETY: the event is alive.
        unsafe { calls::cuEventSynchronize(self.handle) }
    }

    /// Milliseconds from `start` to this event, by the device's clock; both recorded and reached.
    ///
    /// # Errors
    /// [`Error::Cuda`](crate::Error::Cuda) where one was not recorded or not yet reached.
    pub fn milliseconds_since(&self, start: &Self) -> Result<f32> {
        let _current = self.device.bind()?;
        let mut milliseconds = 0.0;
        // SAFETY: both are alive and `milliseconds` is a place for one number.
        unsafe { calls::cuEventElapsedTime(&mut milliseconds, start.handle, self.handle)? };
        Ok(milliseconds)
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        if let Ok(_current) = self.device.bind() {
            // SAFETY: created in `new`, destroyed once.
            let _ = unsafe { calls::cuEventDestroy_v2(self.handle) };
        }
    }
}
