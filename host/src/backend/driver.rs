//! The driver's entry points, under the names that `cust` links against, found at run time.
//!
//! `cust_raw` declares the driver's functions as if `libcuda` were linked; a program linked that way would not even start
//! where there is no driver. So the linker finds them here: each is two instructions that jump through a slot. All slots
//! start at [`resolve_and_jump`], which opens `libcuda.so.1` on the first call of a function, puts the driver's address into
//! the slot and goes on there as if nothing had been in between. Where there is no driver, the slot gets a function that answers
//! [`NO_DEVICE`]; where the driver is too old to know the function, one that answers [`NOT_FOUND`].
//!
//! A jump rather than a call: the forwarders then need to know neither the number nor the types of the arguments.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, Ordering};

#[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
compile_error!(
    "the feature `cuda` forwards driver calls on 64-bit Linux only (x86_64, aarch64): build with --no-default-features"
);

/// `CUDA_ERROR_NO_DEVICE`: the answer to every call where no driver is installed.
pub(super) const NO_DEVICE: u32 = 100;
/// `CUDA_ERROR_NOT_FOUND`: the answer to a call that the installed driver does not know.
pub(super) const NOT_FOUND: u32 = 500;

/// The driver's library, as every Linux driver installs it.
pub(super) const LIBRARY: &CStr = c"libcuda.so.1";

/// An address inside the driver, or one of the stand-ins below.
type Slot = AtomicPtr<c_void>;

/// Makes of each name a forwarder, a slot number and an entry of `NAMES`.
macro_rules! forward {
    ($($name:ident)*) => {
        /// The number of each function's slot.
        #[allow(non_camel_case_types, clippy::upper_case_acronyms)]
        #[repr(usize)]
        #[derive(Clone, Copy)]
        enum Number { $($name),* }

        /// The functions' names, in the order of their slots.
        const NAMES: &[&str] = &[$(concat!(stringify!($name), "\0")),*];

        $(
            // SAFETY of the symbol: no other object defines it (the `libcuda` on the linker's path is an empty archive), and
            // what it does is what the driver's function of this name does, or to return an error code.
            #[unsafe(naked)]
            #[unsafe(no_mangle)]
            extern "C" fn $name() -> u32 {
                #[cfg(target_arch = "x86_64")]
                core::arch::naked_asm!(
                    "lea r11, [rip + {slots} + {offset}]",
                    "jmp qword ptr [r11]",
                    slots = sym SLOTS,
                    offset = const Number::$name as usize * size_of::<Slot>(),
                );
                #[cfg(target_arch = "aarch64")]
                core::arch::naked_asm!(
                    "adrp x16, {slots} + {offset}",
                    "add x16, x16, :lo12:{slots} + {offset}",
                    "ldr x17, [x16]",
                    "br x17",
                    slots = sym SLOTS,
                    offset = const Number::$name as usize * size_of::<Slot>(),
                );
            }
        )*
    };
}

/// Where each forwarder jumps.
static SLOTS: [Slot; NAMES.len()] =
    [const { AtomicPtr::new(resolve_and_jump as extern "C" fn() -> u32 as *mut c_void) }; NAMES.len()];

/// Keeps the arguments, asks [`resolve`] where this call goes, and goes there. A forwarder left its slot's address in `r11`
/// (`x16` on ARM), a register that no argument travels in.
#[unsafe(naked)]
extern "C" fn resolve_and_jump() -> u32 {
    // The six integer and eight vector registers of arguments; 6 * 8 + 136 and the return address make a multiple of 16.
    #[cfg(target_arch = "x86_64")]
    core::arch::naked_asm!(
        "push rdi",
        "push rsi",
        "push rdx",
        "push rcx",
        "push r8",
        "push r9",
        "sub rsp, 136",
        "movaps [rsp], xmm0",
        "movaps [rsp + 16], xmm1",
        "movaps [rsp + 32], xmm2",
        "movaps [rsp + 48], xmm3",
        "movaps [rsp + 64], xmm4",
        "movaps [rsp + 80], xmm5",
        "movaps [rsp + 96], xmm6",
        "movaps [rsp + 112], xmm7",
        "mov rdi, r11",
        "call {resolve}",
        "movaps xmm0, [rsp]",
        "movaps xmm1, [rsp + 16]",
        "movaps xmm2, [rsp + 32]",
        "movaps xmm3, [rsp + 48]",
        "movaps xmm4, [rsp + 64]",
        "movaps xmm5, [rsp + 80]",
        "movaps xmm6, [rsp + 96]",
        "movaps xmm7, [rsp + 112]",
        "add rsp, 136",
        "pop r9",
        "pop r8",
        "pop rcx",
        "pop rdx",
        "pop rsi",
        "pop rdi",
        "jmp rax",
        resolve = sym resolve,
    );
    #[cfg(target_arch = "aarch64")]
    core::arch::naked_asm!(
        "stp x29, x30, [sp, #-224]!",
        "mov x29, sp",
        "stp x0, x1, [sp, #16]",
        "stp x2, x3, [sp, #32]",
        "stp x4, x5, [sp, #48]",
        "stp x6, x7, [sp, #64]",
        "str x8, [sp, #80]",
        "stp q0, q1, [sp, #96]",
        "stp q2, q3, [sp, #128]",
        "stp q4, q5, [sp, #160]",
        "stp q6, q7, [sp, #192]",
        "mov x0, x16",
        "bl {resolve}",
        "mov x17, x0",
        "ldp q6, q7, [sp, #192]",
        "ldp q4, q5, [sp, #160]",
        "ldp q2, q3, [sp, #128]",
        "ldp q0, q1, [sp, #96]",
        "ldr x8, [sp, #80]",
        "ldp x6, x7, [sp, #64]",
        "ldp x4, x5, [sp, #48]",
        "ldp x2, x3, [sp, #32]",
        "ldp x0, x1, [sp, #16]",
        "ldp x29, x30, [sp], #224",
        "br x17",
        resolve = sym resolve,
    );
}

/// The address for the call that came through `slot`; from now on the slot itself leads there. Threads that come at once
/// find the same address.
extern "C" fn resolve(slot: &Slot) -> *mut c_void {
    let number = (slot as *const Slot as usize - SLOTS.as_ptr() as usize) / size_of::<Slot>();
    let name = CStr::from_bytes_with_nul(NAMES[number].as_bytes()).unwrap_or_default();
    let address = match library() {
        Ok(library) => library.find(name).unwrap_or(not_found as extern "C" fn() -> u32 as *mut c_void),
        // `cust` shows its errors through these two and relies on the text being there.
        Err(_) if name == c"cuGetErrorString" || name == c"cuGetErrorName" => {
            error_text as unsafe extern "C" fn(u32, *mut *const c_char) -> u32 as *mut c_void
        }
        Err(_) => no_driver as extern "C" fn() -> u32 as *mut c_void,
    };
    slot.store(address, Ordering::Release);
    address
}

/// Stands in for every function where there is no driver. (Arguments that a C function does not look at are harmless.)
extern "C" fn no_driver() -> u32 {
    NO_DEVICE
}

/// Stands in for a function that the driver does not know.
extern "C" fn not_found() -> u32 {
    NOT_FOUND
}

/// Stands in for `cuGetErrorString` and `cuGetErrorName` where there is no driver.
unsafe extern "C" fn error_text(_code: u32, text: *mut *const c_char) -> u32 {
    if !text.is_null() {
        // SAFETY: the caller passes the address of a pointer, as the driver's function asks.
        unsafe { *text = c"no NVIDIA driver".as_ptr() };
    }
    0
}

/// The opened driver. It stays open for good: addresses inside it are in the slots.
#[derive(Debug)]
struct Library(*mut c_void);

// SAFETY: a handle of `dlopen` may be used from any thread.
unsafe impl Send for Library {}
// SAFETY: as above; `dlsym` does its own locking.
unsafe impl Sync for Library {}

impl Library {
    fn find(&self, name: &CStr) -> Option<*mut c_void> {
        // SAFETY: the handle is open and the name ends with a 0.
        let address = unsafe { dlsym(self.0, name.as_ptr()) };
        (!address.is_null()).then_some(address)
    }
}

/// The driver, or what the dynamic linker said when it could not be opened. Tried once per process.
fn library() -> &'static Result<Library, String> {
    static DRIVER: OnceLock<Result<Library, String>> = OnceLock::new();
    DRIVER.get_or_init(|| {
        // SAFETY: opening the driver runs its constructors, which is what every CUDA program does at its start.
        let handle = unsafe { dlopen(LIBRARY.as_ptr(), RTLD_NOW) };
        if !handle.is_null() {
            return Ok(Library(handle));
        }
        // SAFETY: `dlerror` returns null or a text of this thread that lives until its next call of the family.
        let text = unsafe {
            let text = dlerror();
            if text.is_null() { c"cannot be opened" } else { CStr::from_ptr(text) }
        };
        Err(text.to_string_lossy().into_owned())
    })
}

/// Whether there is a driver; the reason as the dynamic linker gives it where there is none.
pub(super) fn available() -> Result<(), &'static str> {
    library().as_ref().map(|_| ()).map_err(String::as_str)
}

const RTLD_NOW: c_int = 2;

unsafe extern "C" {
    fn dlopen(name: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
    fn dlerror() -> *const c_char;
}

// Every function that cust_raw 0.11.3 declares.
#[rustfmt::skip]
forward! {
    cuArray3DCreate_v2 cuArray3DGetDescriptor_v2 cuArrayCreate_v2 cuArrayDestroy cuArrayGetDescriptor_v2 cuArrayGetPlane
    cuArrayGetSparseProperties cuCtxAttach cuCtxCreate_v2 cuCtxCreate_v3 cuCtxDestroy_v2 cuCtxDetach cuCtxDisablePeerAccess
    cuCtxEnablePeerAccess cuCtxGetApiVersion cuCtxGetCacheConfig cuCtxGetCurrent cuCtxGetDevice cuCtxGetExecAffinity
    cuCtxGetFlags cuCtxGetLimit cuCtxGetSharedMemConfig cuCtxGetStreamPriorityRange cuCtxPopCurrent_v2 cuCtxPushCurrent_v2
    cuCtxResetPersistingL2Cache cuCtxSetCacheConfig cuCtxSetCurrent cuCtxSetLimit cuCtxSetSharedMemConfig cuCtxSynchronize
    cuDestroyExternalMemory cuDestroyExternalSemaphore cuDeviceCanAccessPeer cuDeviceComputeCapability cuDeviceGet
    cuDeviceGetAttribute cuDeviceGetByPCIBusId cuDeviceGetCount cuDeviceGetDefaultMemPool cuDeviceGetExecAffinitySupport
    cuDeviceGetGraphMemAttribute cuDeviceGetLuid cuDeviceGetMemPool cuDeviceGetName cuDeviceGetNvSciSyncAttributes
    cuDeviceGetP2PAttribute cuDeviceGetPCIBusId cuDeviceGetProperties cuDeviceGetTexture1DLinearMaxWidth cuDeviceGetUuid
    cuDeviceGetUuid_v2 cuDeviceGraphMemTrim cuDevicePrimaryCtxGetState cuDevicePrimaryCtxRelease_v2 cuDevicePrimaryCtxReset_v2
    cuDevicePrimaryCtxRetain cuDevicePrimaryCtxSetFlags_v2 cuDeviceSetGraphMemAttribute cuDeviceSetMemPool
    cuDeviceTotalMem_v2 cuDriverGetVersion cuEventCreate cuEventDestroy_v2 cuEventElapsedTime cuEventQuery cuEventRecord
    cuEventRecordWithFlags cuEventSynchronize cuExternalMemoryGetMappedBuffer cuExternalMemoryGetMappedMipmappedArray
    cuFlushGPUDirectRDMAWrites cuFuncGetAttribute cuFuncGetModule cuFuncSetAttribute cuFuncSetBlockShape
    cuFuncSetCacheConfig cuFuncSetSharedMemConfig cuFuncSetSharedSize cuGetErrorName cuGetErrorString cuGetExportTable
    cuGetProcAddress cuGraphAddChildGraphNode cuGraphAddDependencies cuGraphAddEmptyNode cuGraphAddEventRecordNode
    cuGraphAddEventWaitNode cuGraphAddExternalSemaphoresSignalNode cuGraphAddExternalSemaphoresWaitNode cuGraphAddHostNode
    cuGraphAddKernelNode cuGraphAddMemAllocNode cuGraphAddMemFreeNode cuGraphAddMemcpyNode cuGraphAddMemsetNode
    cuGraphChildGraphNodeGetGraph cuGraphClone cuGraphCreate cuGraphDebugDotPrint cuGraphDestroy cuGraphDestroyNode
    cuGraphEventRecordNodeGetEvent cuGraphEventRecordNodeSetEvent cuGraphEventWaitNodeGetEvent cuGraphEventWaitNodeSetEvent
    cuGraphExecChildGraphNodeSetParams cuGraphExecDestroy cuGraphExecEventRecordNodeSetEvent cuGraphExecEventWaitNodeSetEvent
    cuGraphExecExternalSemaphoresSignalNodeSetParams cuGraphExecExternalSemaphoresWaitNodeSetParams
    cuGraphExecHostNodeSetParams cuGraphExecKernelNodeSetParams cuGraphExecMemcpyNodeSetParams cuGraphExecMemsetNodeSetParams
    cuGraphExecUpdate cuGraphExternalSemaphoresSignalNodeGetParams cuGraphExternalSemaphoresSignalNodeSetParams
    cuGraphExternalSemaphoresWaitNodeGetParams cuGraphExternalSemaphoresWaitNodeSetParams cuGraphGetEdges cuGraphGetNodes
    cuGraphGetRootNodes cuGraphHostNodeGetParams cuGraphHostNodeSetParams cuGraphInstantiateWithFlags cuGraphInstantiate_v2
    cuGraphKernelNodeCopyAttributes cuGraphKernelNodeGetAttribute cuGraphKernelNodeGetParams cuGraphKernelNodeSetAttribute
    cuGraphKernelNodeSetParams cuGraphLaunch cuGraphMemAllocNodeGetParams cuGraphMemFreeNodeGetParams
    cuGraphMemcpyNodeGetParams cuGraphMemcpyNodeSetParams cuGraphMemsetNodeGetParams cuGraphMemsetNodeSetParams
    cuGraphNodeFindInClone cuGraphNodeGetDependencies cuGraphNodeGetDependentNodes cuGraphNodeGetType
    cuGraphReleaseUserObject cuGraphRemoveDependencies cuGraphRetainUserObject cuGraphUpload cuGraphicsMapResources
    cuGraphicsResourceGetMappedMipmappedArray cuGraphicsResourceGetMappedPointer_v2 cuGraphicsResourceSetMapFlags_v2
    cuGraphicsSubResourceGetMappedArray cuGraphicsUnmapResources cuGraphicsUnregisterResource cuImportExternalMemory
    cuImportExternalSemaphore cuInit cuIpcCloseMemHandle cuIpcGetEventHandle cuIpcGetMemHandle cuIpcOpenEventHandle
    cuIpcOpenMemHandle_v2 cuLaunch cuLaunchCooperativeKernel cuLaunchCooperativeKernelMultiDevice cuLaunchGrid
    cuLaunchGridAsync cuLaunchHostFunc cuLaunchKernel cuLinkAddData_v2 cuLinkAddFile_v2 cuLinkComplete cuLinkCreate_v2
    cuLinkDestroy cuMemAddressFree cuMemAddressReserve cuMemAdvise cuMemAllocAsync cuMemAllocFromPoolAsync cuMemAllocHost_v2
    cuMemAllocManaged cuMemAllocPitch_v2 cuMemAlloc_v2 cuMemCreate cuMemExportToShareableHandle cuMemFreeAsync cuMemFreeHost
    cuMemFree_v2 cuMemGetAccess cuMemGetAddressRange_v2 cuMemGetAllocationGranularity cuMemGetAllocationPropertiesFromHandle
    cuMemGetInfo_v2 cuMemHostAlloc cuMemHostGetDevicePointer_v2 cuMemHostGetFlags cuMemHostRegister_v2 cuMemHostUnregister
    cuMemImportFromShareableHandle cuMemMap cuMemMapArrayAsync cuMemPoolCreate cuMemPoolDestroy cuMemPoolExportPointer
    cuMemPoolExportToShareableHandle cuMemPoolGetAccess cuMemPoolGetAttribute cuMemPoolImportFromShareableHandle
    cuMemPoolImportPointer cuMemPoolSetAccess cuMemPoolSetAttribute cuMemPoolTrimTo cuMemPrefetchAsync cuMemRangeGetAttribute
    cuMemRangeGetAttributes cuMemRelease cuMemRetainAllocationHandle cuMemSetAccess cuMemUnmap cuMemcpy cuMemcpy2DAsync_v2
    cuMemcpy2DUnaligned_v2 cuMemcpy2D_v2 cuMemcpy3DAsync_v2 cuMemcpy3DPeer cuMemcpy3DPeerAsync cuMemcpy3D_v2 cuMemcpyAsync
    cuMemcpyAtoA_v2 cuMemcpyAtoD_v2 cuMemcpyAtoHAsync_v2 cuMemcpyAtoH_v2 cuMemcpyDtoA_v2 cuMemcpyDtoDAsync_v2 cuMemcpyDtoD_v2
    cuMemcpyDtoHAsync_v2 cuMemcpyDtoH_v2 cuMemcpyHtoAAsync_v2 cuMemcpyHtoA_v2 cuMemcpyHtoDAsync_v2 cuMemcpyHtoD_v2
    cuMemcpyPeer cuMemcpyPeerAsync cuMemsetD16Async cuMemsetD16_v2 cuMemsetD2D16Async cuMemsetD2D16_v2 cuMemsetD2D32Async
    cuMemsetD2D32_v2 cuMemsetD2D8Async cuMemsetD2D8_v2 cuMemsetD32Async cuMemsetD32_v2 cuMemsetD8Async cuMemsetD8_v2
    cuMipmappedArrayCreate cuMipmappedArrayDestroy cuMipmappedArrayGetLevel cuMipmappedArrayGetSparseProperties
    cuModuleGetFunction cuModuleGetGlobal_v2 cuModuleGetSurfRef cuModuleGetTexRef cuModuleLoad cuModuleLoadData
    cuModuleLoadDataEx cuModuleLoadFatBinary cuModuleUnload cuOccupancyAvailableDynamicSMemPerBlock
    cuOccupancyMaxActiveBlocksPerMultiprocessor cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags
    cuOccupancyMaxPotentialBlockSize cuOccupancyMaxPotentialBlockSizeWithFlags cuParamSetSize cuParamSetTexRef cuParamSetf
    cuParamSeti cuParamSetv cuPointerGetAttribute cuPointerGetAttributes cuPointerSetAttribute cuProfilerInitialize
    cuProfilerStart cuProfilerStop cuSignalExternalSemaphoresAsync cuStreamAddCallback cuStreamAttachMemAsync
    cuStreamBatchMemOp cuStreamBeginCapture_v2 cuStreamCopyAttributes cuStreamCreate cuStreamCreateWithPriority
    cuStreamDestroy_v2 cuStreamEndCapture cuStreamGetAttribute cuStreamGetCaptureInfo cuStreamGetCaptureInfo_v2 cuStreamGetCtx
    cuStreamGetFlags cuStreamGetPriority cuStreamIsCapturing cuStreamQuery cuStreamSetAttribute cuStreamSynchronize
    cuStreamUpdateCaptureDependencies cuStreamWaitEvent cuStreamWaitValue32 cuStreamWaitValue64 cuStreamWriteValue32
    cuStreamWriteValue64 cuSurfObjectCreate cuSurfObjectDestroy cuSurfObjectGetResourceDesc cuSurfRefGetArray cuSurfRefSetArray
    cuTexObjectCreate cuTexObjectDestroy cuTexObjectGetResourceDesc cuTexObjectGetResourceViewDesc cuTexObjectGetTextureDesc
    cuTexRefCreate cuTexRefDestroy cuTexRefGetAddressMode cuTexRefGetAddress_v2 cuTexRefGetArray cuTexRefGetBorderColor
    cuTexRefGetFilterMode cuTexRefGetFlags cuTexRefGetFormat cuTexRefGetMaxAnisotropy cuTexRefGetMipmapFilterMode
    cuTexRefGetMipmapLevelBias cuTexRefGetMipmapLevelClamp cuTexRefGetMipmappedArray cuTexRefSetAddress2D_v3
    cuTexRefSetAddressMode cuTexRefSetAddress_v2 cuTexRefSetArray cuTexRefSetBorderColor cuTexRefSetFilterMode
    cuTexRefSetFlags cuTexRefSetFormat cuTexRefSetMaxAnisotropy cuTexRefSetMipmapFilterMode cuTexRefSetMipmapLevelBias
    cuTexRefSetMipmapLevelClamp cuTexRefSetMipmappedArray cuThreadExchangeStreamCaptureMode cuUserObjectCreate
    cuUserObjectRelease cuUserObjectRetain cuWaitExternalSemaphoresAsync
}
