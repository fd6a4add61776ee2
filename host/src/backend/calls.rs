//! The driver calls that the backend makes, each with its error made ours.
//!
//! `cust_raw` types a result as an enum of the codes that CUDA 11.4 knew. A newer driver answers with newer codes, which such
//! an enum must never hold; here a result is a plain number, and only the arguments' types come from `cust_raw`.

#![allow(non_snake_case, clippy::too_many_arguments)] // both are the driver's

use super::driver::{self, NO_DEVICE};
use crate::{Error, Result};
use cust::sys;
use std::ffi::{CStr, c_char, c_int, c_uchar, c_uint, c_ulonglong, c_void};
use sys::{
    CUcontext, CUdevice, CUdeviceptr, CUevent, CUfunction, CUfunction_attribute, CUgraph, CUgraphExec, CUjit_option, CUmodule,
    CUresult, CUstream, CUstreamCaptureMode,
};

/// The code of success.
const SUCCESS: u32 = 0;
/// `CUDA_ERROR_NOT_READY`: asked before the work was done.
const NOT_READY: u32 = 600;

/// Makes the checked twin of each function.
macro_rules! calls {
    ($(fn $name:ident($($argument:ident: $type:ty),*);)*) => {$(
        /// # Safety
        /// As the driver's function of this name asks.
        pub(super) unsafe fn $name($($argument: $type),*) -> Result<()> {
            let typed: unsafe extern "C" fn($($type),*) -> CUresult = sys::$name;
            // SAFETY: the two types differ in the result alone: an enum of 32 bits read as those 32 bits.
            let plain: unsafe extern "C" fn($($type),*) -> u32 = unsafe { std::mem::transmute(typed) };
            // SAFETY: the caller keeps the function's own promises.
            check(stringify!($name), unsafe { plain($($argument),*) })
        }
    )*};
}

calls! {
    fn cuDevicePrimaryCtxRetain(context: *mut CUcontext, device: CUdevice);
    fn cuDevicePrimaryCtxRelease_v2(device: CUdevice);
    fn cuCtxGetCurrent(context: *mut CUcontext);
    fn cuCtxPushCurrent_v2(context: CUcontext);
    fn cuCtxPopCurrent_v2(context: *mut CUcontext);
    fn cuModuleLoadDataEx(module: *mut CUmodule, image: *const c_void, options: c_uint, names: *mut CUjit_option, values: *mut *mut c_void);
    fn cuModuleUnload(module: CUmodule);
    fn cuModuleGetFunction(function: *mut CUfunction, module: CUmodule, name: *const c_char);
    fn cuFuncSetAttribute(function: CUfunction, attribute: CUfunction_attribute, value: c_int);
    fn cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks: *mut c_int, function: CUfunction, threads: c_int, shared_bytes: usize);
    fn cuLaunchKernel(function: CUfunction, grid_x: c_uint, grid_y: c_uint, grid_z: c_uint, block_x: c_uint, block_y: c_uint, block_z: c_uint, shared_bytes: c_uint, stream: CUstream, arguments: *mut *mut c_void, extra: *mut *mut c_void);
    fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize);
    fn cuMemAlloc_v2(address: *mut CUdeviceptr, bytes: usize);
    fn cuMemFree_v2(address: CUdeviceptr);
    fn cuMemHostAlloc(address: *mut *mut c_void, bytes: usize, flags: c_uint);
    fn cuMemFreeHost(address: *mut c_void);
    fn cuMemcpyHtoDAsync_v2(to: CUdeviceptr, from: *const c_void, bytes: usize, stream: CUstream);
    fn cuMemcpyDtoHAsync_v2(to: *mut c_void, from: CUdeviceptr, bytes: usize, stream: CUstream);
    fn cuMemcpyDtoDAsync_v2(to: CUdeviceptr, from: CUdeviceptr, bytes: usize, stream: CUstream);
    fn cuMemsetD8Async(to: CUdeviceptr, value: c_uchar, bytes: usize, stream: CUstream);
    fn cuStreamCreate(stream: *mut CUstream, flags: c_uint);
    fn cuStreamDestroy_v2(stream: CUstream);
    fn cuStreamSynchronize(stream: CUstream);
    fn cuStreamWaitEvent(stream: CUstream, event: CUevent, flags: c_uint);
    fn cuStreamBeginCapture_v2(stream: CUstream, mode: CUstreamCaptureMode);
    fn cuStreamEndCapture(stream: CUstream, graph: *mut CUgraph);
    fn cuEventCreate(event: *mut CUevent, flags: c_uint);
    fn cuEventDestroy_v2(event: CUevent);
    fn cuEventRecord(event: CUevent, stream: CUstream);
    fn cuEventSynchronize(event: CUevent);
    fn cuEventElapsedTime(milliseconds: *mut f32, start: CUevent, end: CUevent);
    fn cuGraphInstantiateWithFlags(exec: *mut CUgraphExec, graph: CUgraph, flags: c_ulonglong);
    fn cuGraphLaunch(exec: CUgraphExec, stream: CUstream);
    fn cuGraphExecDestroy(exec: CUgraphExec);
    fn cuGraphDestroy(graph: CUgraph);
}

/// Whether the work in `stream` so far is done.
///
/// # Safety
/// `stream` is alive and its context current.
pub(super) unsafe fn stream_is_idle(stream: CUstream) -> Result<bool> {
    let typed: unsafe extern "C" fn(CUstream) -> CUresult = sys::cuStreamQuery;
    // SAFETY: as in `calls`: the same 32 bits, as a number.
    let plain: unsafe extern "C" fn(CUstream) -> u32 = unsafe { std::mem::transmute(typed) };
    // SAFETY: the caller keeps the function's own promises.
    match unsafe { plain(stream) } {
        NOT_READY => Ok(false),
        code => check("cuStreamQuery", code).map(|()| true),
    }
}

/// [`Error::Cuda`] unless `code` is success.
pub(super) fn check(call: &'static str, code: u32) -> Result<()> {
    if code == SUCCESS { Ok(()) } else { Err(Error::Cuda { call, message: message(code) }) }
}

/// What the driver says of `code`: name, number, sentence.
pub(super) fn message(code: u32) -> String {
    if let (NO_DEVICE, Err(reason)) = (code, driver::available()) {
        return format!("no NVIDIA driver: {reason}");
    }
    // SAFETY: the two types differ in the code alone, which the driver takes as a plain number; it may be one that the enum lacks.
    let (name, sentence): (TextOfCode, TextOfCode) = unsafe {
        (
            std::mem::transmute::<TextOfResult, TextOfCode>(sys::cuGetErrorName),
            std::mem::transmute::<TextOfResult, TextOfCode>(sys::cuGetErrorString),
        )
    };
    let text = |of: TextOfCode| {
        let mut text = std::ptr::null();
        // SAFETY: `text` is a place for one pointer; the driver's texts are static and end with a 0.
        unsafe {
            let known = of(code, &mut text) == SUCCESS && !text.is_null();
            known.then(|| CStr::from_ptr(text).to_string_lossy())
        }
    };
    match (text(name), text(sentence)) {
        (Some(name), Some(sentence)) => format!("{name} ({code}): {sentence}"),
        _ => format!("unknown error {code}"),
    }
}

type TextOfResult = unsafe extern "C" fn(CUresult, *mut *const c_char) -> CUresult;
type TextOfCode = unsafe extern "C" fn(u32, *mut *const c_char) -> u32;
