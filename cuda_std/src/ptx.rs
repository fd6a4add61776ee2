//! The device side: each function is one PTX instruction, or a few.
//!
//! Whatever threads do together (barriers, shuffles, votes) goes through LLVM's NVVM intrinsics, because LLVM knows
//! them as convergent: it neither moves nor duplicates them across branches. It does not know that of inline
//! assembly, which therefore only does what a thread does alone.

use crate::vector::{U32x2, U32x4};
use crate::warp::ShuffleMode;
use core::arch::asm;
use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::Relaxed;

#[allow(improper_ctypes)]
unsafe extern "C" {
    #[link_name = "llvm.nvvm.barrier.cta.sync.aligned.all"]
    safe fn nvvm_barrier(id: u32);
    #[link_name = "llvm.nvvm.barrier.cta.red.popc.aligned.all"]
    safe fn nvvm_barrier_popc(id: u32, predicate: bool) -> u32;
    #[link_name = "llvm.nvvm.barrier.cta.red.and.aligned.all"]
    safe fn nvvm_barrier_and(id: u32, predicate: bool) -> bool;
    #[link_name = "llvm.nvvm.barrier.cta.red.or.aligned.all"]
    safe fn nvvm_barrier_or(id: u32, predicate: bool) -> bool;
    #[link_name = "llvm.nvvm.membar.gl"]
    safe fn nvvm_membar_gl();
    #[link_name = "llvm.nvvm.membar.cta"]
    safe fn nvvm_membar_cta();

    #[link_name = "llvm.nvvm.read.ptx.sreg.tid.x"]
    pub safe fn thread_idx_x() -> u32;
    #[link_name = "llvm.nvvm.read.ptx.sreg.tid.y"]
    pub safe fn thread_idx_y() -> u32;
    #[link_name = "llvm.nvvm.read.ptx.sreg.tid.z"]
    pub safe fn thread_idx_z() -> u32;
    #[link_name = "llvm.nvvm.read.ptx.sreg.ctaid.x"]
    pub safe fn block_idx_x() -> u32;
    #[link_name = "llvm.nvvm.read.ptx.sreg.ctaid.y"]
    pub safe fn block_idx_y() -> u32;
    #[link_name = "llvm.nvvm.read.ptx.sreg.ctaid.z"]
    pub safe fn block_idx_z() -> u32;
    #[link_name = "llvm.nvvm.read.ptx.sreg.ntid.x"]
    pub safe fn block_dim_x() -> u32;
    #[link_name = "llvm.nvvm.read.ptx.sreg.ntid.y"]
    pub safe fn block_dim_y() -> u32;
    #[link_name = "llvm.nvvm.read.ptx.sreg.ntid.z"]
    pub safe fn block_dim_z() -> u32;
    #[link_name = "llvm.nvvm.read.ptx.sreg.nctaid.x"]
    pub safe fn grid_dim_x() -> u32;
    #[link_name = "llvm.nvvm.read.ptx.sreg.nctaid.y"]
    pub safe fn grid_dim_y() -> u32;
    #[link_name = "llvm.nvvm.read.ptx.sreg.nctaid.z"]
    pub safe fn grid_dim_z() -> u32;
    #[link_name = "llvm.nvvm.read.ptx.sreg.laneid"]
    pub safe fn lane_id() -> u32;

    #[link_name = "llvm.nvvm.activemask"]
    pub safe fn activemask() -> u32;
    #[link_name = "llvm.nvvm.bar.warp.sync"]
    pub safe fn sync_warp(mask: u32);
    #[link_name = "llvm.nvvm.vote.ballot.sync"]
    pub safe fn vote_ballot(mask: u32, predicate: bool) -> u32;
    #[link_name = "llvm.nvvm.vote.any.sync"]
    pub safe fn vote_any(mask: u32, predicate: bool) -> bool;
    #[link_name = "llvm.nvvm.vote.all.sync"]
    pub safe fn vote_all(mask: u32, predicate: bool) -> bool;
    #[link_name = "llvm.nvvm.match.any.sync.i32"]
    pub safe fn match_any_32(mask: u32, value: u32) -> u32;
    #[link_name = "llvm.nvvm.match.any.sync.i64"]
    pub safe fn match_any_64(mask: u32, value: u64) -> u32;
    #[link_name = "llvm.nvvm.redux.sync.add"]
    safe fn nvvm_redux_add(value: u32, mask: u32) -> u32;
    #[link_name = "llvm.nvvm.redux.sync.umin"]
    safe fn nvvm_redux_min(value: u32, mask: u32) -> u32;
    #[link_name = "llvm.nvvm.redux.sync.umax"]
    safe fn nvvm_redux_max(value: u32, mask: u32) -> u32;
    #[link_name = "llvm.nvvm.redux.sync.and"]
    safe fn nvvm_redux_and(value: u32, mask: u32) -> u32;
    #[link_name = "llvm.nvvm.redux.sync.or"]
    safe fn nvvm_redux_or(value: u32, mask: u32) -> u32;
    #[link_name = "llvm.nvvm.redux.sync.xor"]
    safe fn nvvm_redux_xor(value: u32, mask: u32) -> u32;

    #[link_name = "llvm.fshl.i32"]
    safe fn llvm_fshl(hi: u32, lo: u32, shift: u32) -> u32;
    #[link_name = "llvm.fshr.i32"]
    safe fn llvm_fshr(hi: u32, lo: u32, shift: u32) -> u32;
    #[link_name = "llvm.nvvm.fshl.clamp.i32"]
    safe fn nvvm_fshl_clamp(hi: u32, lo: u32, shift: u32) -> u32;
    #[link_name = "llvm.nvvm.fshr.clamp.i32"]
    safe fn nvvm_fshr_clamp(hi: u32, lo: u32, shift: u32) -> u32;
    #[link_name = "llvm.nvvm.idp4a.u.u"]
    pub safe fn dp4a(a: u32, b: u32, c: u32) -> u32;
    #[link_name = "llvm.nvvm.prmt"]
    pub safe fn byte_permute(a: u32, b: u32, sel: u32) -> u32;

    // Defined in cuda_std.ll.
    safe fn cuda_std_shared_base() -> *mut u8;
    safe fn cuda_std_shared_address(generic: *mut u8) -> u32;
}

// "unadjusted" passes the pair as LLVM's `{ i32, i1 }`, which is what these intrinsics return.
#[allow(improper_ctypes)]
unsafe extern "unadjusted" {
    #[link_name = "llvm.nvvm.shfl.sync.up.i32p"]
    safe fn nvvm_shfl_up(mask: u32, value: u32, lanes: u32, clamp: u32) -> (u32, bool);
    #[link_name = "llvm.nvvm.shfl.sync.down.i32p"]
    safe fn nvvm_shfl_down(mask: u32, value: u32, lanes: u32, clamp: u32) -> (u32, bool);
    #[link_name = "llvm.nvvm.shfl.sync.bfly.i32p"]
    safe fn nvvm_shfl_xor(mask: u32, value: u32, lanes: u32, clamp: u32) -> (u32, bool);
    #[link_name = "llvm.nvvm.shfl.sync.idx.i32p"]
    safe fn nvvm_shfl_idx(mask: u32, value: u32, lanes: u32, clamp: u32) -> (u32, bool);
}

#[inline(always)]
pub fn sync_threads() {
    nvvm_barrier(0)
}

#[inline(always)]
pub fn sync_threads_count(predicate: bool) -> u32 {
    nvvm_barrier_popc(0, predicate)
}

#[inline(always)]
pub fn sync_threads_and(predicate: bool) -> bool {
    nvvm_barrier_and(0, predicate)
}

#[inline(always)]
pub fn sync_threads_or(predicate: bool) -> bool {
    nvvm_barrier_or(0, predicate)
}

#[inline(always)]
pub fn device_fence() {
    nvvm_membar_gl()
}

#[inline(always)]
pub fn block_fence() {
    nvvm_membar_cta()
}

#[inline(always)]
pub fn nanosleep(nanoseconds: u32) {
    // SAFETY: the instruction touches neither memory nor the stack.
    unsafe { asm!("nanosleep.u32 {};", in(reg32) nanoseconds, options(nomem, nostack, preserves_flags)) }
}

#[inline(always)]
pub fn opaque(value: u32) -> u32 {
    let result;
    // SAFETY: copies a register.
    unsafe { asm!("mov.b32 {}, {};", out(reg32) result, in(reg32) value, options(nomem, nostack, preserves_flags)) }
    result
}

#[inline(always)]
pub fn spin_wait() {
    // Polling again at once is what a device does best; the load that polls is what takes the time.
}

#[inline(always)]
pub fn shuffle(mode: ShuffleMode, mask: u32, value: u32, lanes: u32, clamp: u32) -> (u32, bool) {
    match mode {
        ShuffleMode::Up => nvvm_shfl_up(mask, value, lanes, clamp),
        ShuffleMode::Down => nvvm_shfl_down(mask, value, lanes, clamp),
        ShuffleMode::Xor => nvvm_shfl_xor(mask, value, lanes, clamp),
        ShuffleMode::Idx => nvvm_shfl_idx(mask, value, lanes, clamp),
    }
}

#[inline(always)]
pub fn shuffle_wide(mode: ShuffleMode, mask: u32, value: u64, lanes: u32, clamp: u32) -> (u64, bool) {
    let (lo, _) = shuffle(mode, mask, value as u32, lanes, clamp);
    let (hi, in_bounds) = shuffle(mode, mask, (value >> 32) as u32, lanes, clamp);
    (u64::from(hi) << 32 | u64::from(lo), in_bounds)
}

#[inline(always)]
pub fn reduce_add(mask: u32, value: u32) -> u32 {
    nvvm_redux_add(value, mask)
}

#[inline(always)]
pub fn reduce_min(mask: u32, value: u32) -> u32 {
    nvvm_redux_min(value, mask)
}

#[inline(always)]
pub fn reduce_max(mask: u32, value: u32) -> u32 {
    nvvm_redux_max(value, mask)
}

#[inline(always)]
pub fn reduce_and(mask: u32, value: u32) -> u32 {
    nvvm_redux_and(value, mask)
}

#[inline(always)]
pub fn reduce_or(mask: u32, value: u32) -> u32 {
    nvvm_redux_or(value, mask)
}

#[inline(always)]
pub fn reduce_xor(mask: u32, value: u32) -> u32 {
    nvvm_redux_xor(value, mask)
}

#[inline(always)]
pub fn funnel_shift_left_wrap(lo: u32, hi: u32, shift: u32) -> u32 {
    llvm_fshl(hi, lo, shift)
}

#[inline(always)]
pub fn funnel_shift_right_wrap(lo: u32, hi: u32, shift: u32) -> u32 {
    llvm_fshr(hi, lo, shift)
}

#[inline(always)]
pub fn funnel_shift_left_clamp(lo: u32, hi: u32, shift: u32) -> u32 {
    nvvm_fshl_clamp(hi, lo, shift)
}

#[inline(always)]
pub fn funnel_shift_right_clamp(lo: u32, hi: u32, shift: u32) -> u32 {
    nvvm_fshr_clamp(hi, lo, shift)
}

/// A pure instruction of two registers; LLVM's own shifts are undefined from 32 on.
macro_rules! pure_shift {
    ($name:ident, $instruction:literal) => {
        #[inline(always)]
        pub fn $name(value: u32, shift: u32) -> u32 {
            let result;
            // SAFETY: the instruction reads and writes its registers only.
            unsafe {
                asm!(
                    concat!($instruction, " {}, {}, {};"),
                    out(reg32) result,
                    in(reg32) value,
                    in(reg32) shift,
                    options(pure, nomem, nostack, preserves_flags)
                )
            };
            result
        }
    };
}
pure_shift!(shl_clamp, "shl.b32");
pure_shift!(shr_clamp, "shr.u32");

#[inline(always)]
pub fn shared_base(_bytes: usize) -> *mut u8 {
    cuda_std_shared_base()
}

/// A load of 16 bytes from global memory.
macro_rules! load_v4 {
    ($name:ident, $instruction:literal) => {
        /// # Safety
        /// As for the function of the same name in `global`.
        #[inline(always)]
        pub unsafe fn $name(from: *const U32x4) -> U32x4 {
            let (x, y, z, w);
            // SAFETY: the caller promises 16 readable, aligned bytes in global memory, where a generic address is
            // also the address in the global space.
            unsafe {
                asm!(
                    concat!($instruction, " {{{}, {}, {}, {}}}, [{}];"),
                    out(reg32) x,
                    out(reg32) y,
                    out(reg32) z,
                    out(reg32) w,
                    in(reg64) from,
                    options(pure, readonly, nostack, preserves_flags)
                )
            };
            U32x4 { x, y, z, w }
        }
    };
}
load_v4!(load_v4, "ld.global.v4.u32");
load_v4!(load_streaming_v4, "ld.global.nc.L1::no_allocate.v4.u32");

/// # Safety
/// As for the function of the same name in `global`.
#[inline(always)]
pub unsafe fn load_nc_u32(from: *const u32) -> u32 {
    let value;
    // SAFETY: the caller promises 4 readable, aligned bytes in global memory.
    unsafe {
        asm!(
            "ld.global.nc.u32 {}, [{}];",
            out(reg32) value,
            in(reg64) from,
            options(pure, readonly, nostack, preserves_flags)
        )
    };
    value
}

/// A store of 16 bytes to global memory.
macro_rules! store_v4 {
    ($name:ident, $instruction:literal) => {
        /// # Safety
        /// As for the function of the same name in `global`.
        #[inline(always)]
        pub unsafe fn $name(to: *mut U32x4, value: U32x4) {
            // SAFETY: the caller promises 16 writable, aligned bytes in global memory, where a generic address is
            // also the address in the global space.
            unsafe {
                asm!(
                    concat!($instruction, " [{}], {{{}, {}, {}, {}}};"),
                    in(reg64) to,
                    in(reg32) value.x,
                    in(reg32) value.y,
                    in(reg32) value.z,
                    in(reg32) value.w,
                    options(nostack, preserves_flags)
                )
            };
        }
    };
}
store_v4!(store_v4, "st.global.v4.u32");
store_v4!(store_streaming_v4, "st.global.cs.v4.u32");

/// A step of [`HalvesDown`](crate::global::HalvesDown), as straight predicated code: a branch for every half costs as much again, and the compiler makes one.
///
/// # Safety
/// As for what it is a step of.
#[inline(always)]
pub unsafe fn take_half<const STRIDE: i32>(
    mut x: u32,
    limit: u32,
    mut low: u32,
    mut high: u32,
    mut count: u32,
    end: *mut U32x2,
) -> (u32, u32, u32, u32) {
    // SAFETY: the caller vouches for the memory.
    unsafe {
        asm!(
            "{{",
            ".reg .pred full, four;",
            ".reg .b32 rest;",
            ".reg .b64 to;",
            "setp.ge.u32 full, {x}, {limit};",
            "@full prmt.b32 {high}, {low}, {high}, 0x5432;",
            "@full prmt.b32 {low}, {x}, {low}, 0x5410;",
            "@full shr.u32 {x}, {x}, 16;",
            "@full add.u32 {count}, {count}, 1;",
            "and.b32 rest, {count}, 3;",
            "setp.eq.and.u32 four, rest, 0, full;",
            // Where it matters, the count is a multiple of 4. (With a predicate, it would be four instructions more.)
            "mad.wide.s32 to, {count}, {step}, {end};",
            "@four st.global.v2.u32 [to], {{{low}, {high}}};",
            "}}",
            x = inout(reg32) x,
            limit = in(reg32) limit,
            low = inout(reg32) low,
            high = inout(reg32) high,
            count = inout(reg32) count,
            end = in(reg64) end,
            step = const -STRIDE / 4,
            options(nostack, preserves_flags)
        )
    };
    (x, low, high, count)
}

#[inline(always)]
pub fn check_shared_index(_index: usize, _count: usize, _len: usize) {}

/// # Safety
/// `from` points to a written `T` in shared memory.
#[inline(always)]
pub unsafe fn shared_read<T>(from: *const T) -> T {
    // SAFETY: as promised.
    unsafe { from.read() }
}

/// # Safety
/// `to` points to a `T` in shared memory.
#[inline(always)]
pub unsafe fn shared_write<T>(to: *mut T, value: T) {
    // SAFETY: as promised.
    unsafe { to.write(value) }
}

/// # Safety
/// `from` points to four written words in shared memory, 16-byte aligned.
#[inline(always)]
pub unsafe fn shared_read_vec4(from: *const U32x4) -> U32x4 {
    // Field by field: LLVM splits a copied vector into two 8-byte moves, but joins four words of known alignment.
    // SAFETY: as promised.
    unsafe { U32x4 { x: (*from).x, y: (*from).y, z: (*from).z, w: (*from).w } }
}

/// # Safety
/// `to` points to four words in shared memory, 16-byte aligned.
#[inline(always)]
pub unsafe fn shared_write_vec4(to: *mut U32x4, value: U32x4) {
    // Field by field, as above.
    // SAFETY: as promised.
    unsafe {
        (*to).x = value.x;
        (*to).y = value.y;
        (*to).z = value.z;
        (*to).w = value.w;
    }
}

/// # Safety
/// `from` points to two written words in shared memory, 8-byte aligned.
#[inline(always)]
pub unsafe fn shared_read_vec2(from: *const U32x2) -> U32x2 {
    // SAFETY: as promised.
    unsafe { U32x2 { x: (*from).x, y: (*from).y } }
}

/// # Safety
/// `to` points to two words in shared memory, 8-byte aligned.
#[inline(always)]
pub unsafe fn shared_write_vec2(to: *mut U32x2, value: U32x2) {
    // SAFETY: as promised.
    unsafe {
        (*to).x = value.x;
        (*to).y = value.y;
    }
}

/// A load from an address in shared memory.
macro_rules! shared_at {
    ($name:ident, $instruction:literal) => {
        /// # Safety
        /// `address` is one of a written value in shared memory, aligned.
        #[inline(always)]
        pub unsafe fn $name(_words: *const u8, address: u32) -> u32 {
            let value;
            // SAFETY: as promised.
            unsafe {
                asm!(
                    concat!($instruction, " {}, [{}];"),
                    out(reg32) value,
                    in(reg32) address,
                    options(pure, readonly, nostack, preserves_flags)
                )
            };
            value
        }
    };
}
shared_at!(shared_word_at, "ld.shared.u32");
shared_at!(shared_half_at, "ld.shared.u16");
shared_at!(shared_byte_at, "ld.shared.u8");

/// # Safety
/// `address` is one of 16 aligned bytes in shared memory, `from` points to as many in global memory.
#[inline(always)]
pub unsafe fn copy_async_v4(_words: *mut u8, address: u32, from: *const U32x4) {
    // SAFETY: as promised.
    unsafe {
        asm!(
            "cp.async.cg.shared.global.L2::128B [{}], [{}], 16;",
            in(reg32) address,
            in(reg64) from,
            options(nostack, preserves_flags)
        )
    }
}

#[inline(always)]
pub fn wait_for_copies() {
    // SAFETY: waits, and lets nothing that reads memory move in front of it.
    unsafe { asm!("cp.async.wait_all;", options(nostack, preserves_flags)) }
}

/// Where byte `at` of the array at `words` lies, in the space of shared addresses.
#[inline(always)]
pub fn shared_place(words: *mut u8, at: u32) -> u32 {
    cuda_std_shared_address(words) + at
}

/// Stores values one after another, the first bits of `flags` tell where: to `first` where they are set, else to `second` or
/// (`one`) nowhere, and moves on what it stored to. LLVM makes selections and sums of this; predicates take half the
/// instructions.
macro_rules! split_store {
    ($name:ident $one:ident, $instruction:literal, $bytes:literal, $($mask:literal $value:literal)+; $($field:ident)+) => {
        /// # Safety
        /// `first` and `second` are places that can take the values.
        #[inline(always)]
        pub unsafe fn $name(_words: *mut u8, flags: u32, v: [u32; 4], mut first: u32, mut second: u32) -> (u32, u32) {
            let [$($field,)+ ..] = v;
            // SAFETY: the caller vouches for the places.
            unsafe {
                asm!(
                    "{{",
                    ".reg .pred set;",
                    ".reg .b32 flag;",
                    $(
                        concat!("and.b32 flag, {flags}, ", $mask, ";"),
                        "setp.ne.u32 set, flag, 0;",
                        concat!("@set ", $instruction, " [{first}], ", $value, ";"),
                        concat!("@!set ", $instruction, " [{second}], ", $value, ";"),
                        concat!("@set add.u32 {first}, {first}, ", $bytes, ";"),
                        concat!("@!set add.u32 {second}, {second}, ", $bytes, ";"),
                    )+
                    "}}",
                    flags = in(reg32) flags,
                    $($field = in(reg32) $field,)+
                    first = inout(reg32) first,
                    second = inout(reg32) second,
                    options(nostack, preserves_flags)
                )
            };
            (first, second)
        }

        /// # Safety
        /// `first` is a place that can take the values.
        #[inline(always)]
        pub unsafe fn $one(_words: *mut u8, flags: u32, v: [u32; 4], mut first: u32) -> u32 {
            let [$($field,)+ ..] = v;
            // SAFETY: the caller vouches for the place.
            unsafe {
                asm!(
                    "{{",
                    ".reg .pred set;",
                    ".reg .b32 flag;",
                    $(
                        concat!("and.b32 flag, {flags}, ", $mask, ";"),
                        "setp.ne.u32 set, flag, 0;",
                        concat!("@set ", $instruction, " [{first}], ", $value, ";"),
                        concat!("@set add.u32 {first}, {first}, ", $bytes, ";"),
                    )+
                    "}}",
                    flags = in(reg32) flags,
                    $($field = in(reg32) $field,)+
                    first = inout(reg32) first,
                    options(nostack, preserves_flags)
                )
            };
            first
        }
    };
}
split_store!(split_store_1 store_if_1, "st.shared.u8", "1", "1" "{x}" "2" "{y}" "4" "{z}" "8" "{w}"; x y z w);
split_store!(split_store_2 store_if_2, "st.shared.u16", "2", "1" "{x}" "2" "{y}" "4" "{z}" "8" "{w}"; x y z w);
split_store!(split_store_4 store_if_4, "st.shared.u32", "4", "1" "{x}" "2" "{y}" "4" "{z}" "8" "{w}"; x y z w);
split_store!(split_store_8 store_if_8, "st.shared.v2.u32", "8", "1" "{{{x}, {y}}}" "2" "{{{z}, {w}}}"; x y z w);

macro_rules! shared_atomic {
    ($($name:ident => $method:ident;)+) => {$(
        /// # Safety
        /// `at` points to a written, aligned word in shared memory.
        #[inline(always)]
        pub unsafe fn $name(at: *mut u32, value: u32) -> u32 {
            // SAFETY: as promised.
            unsafe { AtomicU32::from_ptr(at) }.$method(value, Relaxed)
        }
    )+};
}
shared_atomic! {
    shared_fetch_add => fetch_add;
    shared_fetch_or => fetch_or;
    shared_fetch_and => fetch_and;
    shared_fetch_max => fetch_max;
    shared_fetch_min => fetch_min;
}

/// Scoped atomics on global memory; Rust's own are of system scope.
///
/// They clobber memory in the eyes of the compiler, which therefore moves no other access across them.
macro_rules! global_atomic {
    (load $name:ident $type:ty, $reg:ident, $instruction:literal) => {
        /// # Safety
        /// As for the function of the same name in `atomic`.
        #[inline(always)]
        pub unsafe fn $name(at: *const $type) -> $type {
            let value;
            // SAFETY: the caller promises an aligned word in global memory.
            unsafe {
                asm!(
                    concat!($instruction, " {}, [{}];"),
                    out($reg) value,
                    in(reg64) at,
                    options(nostack, preserves_flags)
                )
            };
            value
        }
    };
    (store $name:ident $type:ty, $reg:ident, $instruction:literal) => {
        /// # Safety
        /// As for the function of the same name in `atomic`.
        #[inline(always)]
        pub unsafe fn $name(at: *mut $type, value: $type) {
            // SAFETY: the caller promises an aligned word in global memory.
            unsafe {
                asm!(
                    concat!($instruction, " [{}], {};"),
                    in(reg64) at,
                    in($reg) value,
                    options(nostack, preserves_flags)
                )
            };
        }
    };
    (fetch $name:ident $type:ty, $reg:ident, $instruction:literal) => {
        /// # Safety
        /// As for the function of the same name in `atomic`.
        #[inline(always)]
        pub unsafe fn $name(at: *mut $type, value: $type) -> $type {
            let before;
            // SAFETY: the caller promises an aligned word in global memory.
            unsafe {
                asm!(
                    concat!($instruction, " {}, [{}], {};"),
                    out($reg) before,
                    in(reg64) at,
                    in($reg) value,
                    options(nostack, preserves_flags)
                )
            };
            before
        }
    };
    (cas $name:ident $type:ty, $reg:ident, $instruction:literal) => {
        /// # Safety
        /// As for the function of the same name in `atomic`.
        #[inline(always)]
        pub unsafe fn $name(at: *mut $type, current: $type, new: $type) -> $type {
            let before;
            // SAFETY: the caller promises an aligned word in global memory.
            unsafe {
                asm!(
                    concat!($instruction, " {}, [{}], {}, {};"),
                    out($reg) before,
                    in(reg64) at,
                    in($reg) current,
                    in($reg) new,
                    options(nostack, preserves_flags)
                )
            };
            before
        }
    };
}
global_atomic!(load atomic_load_relaxed_32_device u32, reg32, "ld.relaxed.gpu.global.b32");
global_atomic!(load atomic_load_relaxed_32_system u32, reg32, "ld.relaxed.sys.global.b32");
global_atomic!(load atomic_load_relaxed_64_device u64, reg64, "ld.relaxed.gpu.global.b64");
global_atomic!(load atomic_load_relaxed_64_system u64, reg64, "ld.relaxed.sys.global.b64");
global_atomic!(load atomic_load_acquire_32_device u32, reg32, "ld.acquire.gpu.global.b32");
global_atomic!(load atomic_load_acquire_32_system u32, reg32, "ld.acquire.sys.global.b32");
global_atomic!(load atomic_load_acquire_64_device u64, reg64, "ld.acquire.gpu.global.b64");
global_atomic!(load atomic_load_acquire_64_system u64, reg64, "ld.acquire.sys.global.b64");
global_atomic!(store atomic_store_relaxed_32_device u32, reg32, "st.relaxed.gpu.global.b32");
global_atomic!(store atomic_store_relaxed_32_system u32, reg32, "st.relaxed.sys.global.b32");
global_atomic!(store atomic_store_relaxed_64_device u64, reg64, "st.relaxed.gpu.global.b64");
global_atomic!(store atomic_store_relaxed_64_system u64, reg64, "st.relaxed.sys.global.b64");
global_atomic!(store atomic_store_release_32_device u32, reg32, "st.release.gpu.global.b32");
global_atomic!(store atomic_store_release_32_system u32, reg32, "st.release.sys.global.b32");
global_atomic!(store atomic_store_release_64_device u64, reg64, "st.release.gpu.global.b64");
global_atomic!(store atomic_store_release_64_system u64, reg64, "st.release.sys.global.b64");
global_atomic!(fetch atomic_fetch_add_relaxed_32_device u32, reg32, "atom.relaxed.gpu.global.add.u32");
global_atomic!(fetch atomic_fetch_add_relaxed_32_block u32, reg32, "atom.relaxed.cta.global.add.u32");
global_atomic!(fetch atomic_fetch_add_relaxed_64_device u64, reg64, "atom.relaxed.gpu.global.add.u64");
global_atomic!(fetch atomic_fetch_add_relaxed_64_block u64, reg64, "atom.relaxed.cta.global.add.u64");
global_atomic!(fetch atomic_fetch_min_relaxed_32_device u32, reg32, "atom.relaxed.gpu.global.min.u32");
global_atomic!(fetch atomic_fetch_min_relaxed_32_block u32, reg32, "atom.relaxed.cta.global.min.u32");
global_atomic!(fetch atomic_fetch_min_relaxed_64_device u64, reg64, "atom.relaxed.gpu.global.min.u64");
global_atomic!(fetch atomic_fetch_min_relaxed_64_block u64, reg64, "atom.relaxed.cta.global.min.u64");
global_atomic!(fetch atomic_fetch_max_relaxed_32_device u32, reg32, "atom.relaxed.gpu.global.max.u32");
global_atomic!(fetch atomic_fetch_max_relaxed_32_block u32, reg32, "atom.relaxed.cta.global.max.u32");
global_atomic!(fetch atomic_fetch_max_relaxed_64_device u64, reg64, "atom.relaxed.gpu.global.max.u64");
global_atomic!(fetch atomic_fetch_max_relaxed_64_block u64, reg64, "atom.relaxed.cta.global.max.u64");
global_atomic!(fetch atomic_fetch_or_relaxed_32_device u32, reg32, "atom.relaxed.gpu.global.or.b32");
global_atomic!(fetch atomic_fetch_or_relaxed_32_block u32, reg32, "atom.relaxed.cta.global.or.b32");
global_atomic!(fetch atomic_fetch_or_relaxed_64_device u64, reg64, "atom.relaxed.gpu.global.or.b64");
global_atomic!(fetch atomic_fetch_or_relaxed_64_block u64, reg64, "atom.relaxed.cta.global.or.b64");
global_atomic!(fetch atomic_fetch_and_relaxed_32_device u32, reg32, "atom.relaxed.gpu.global.and.b32");
global_atomic!(fetch atomic_fetch_and_relaxed_32_block u32, reg32, "atom.relaxed.cta.global.and.b32");
global_atomic!(fetch atomic_fetch_and_relaxed_64_device u64, reg64, "atom.relaxed.gpu.global.and.b64");
global_atomic!(fetch atomic_fetch_and_relaxed_64_block u64, reg64, "atom.relaxed.cta.global.and.b64");
global_atomic!(fetch atomic_exch_relaxed_32_device u32, reg32, "atom.relaxed.gpu.global.exch.b32");
global_atomic!(fetch atomic_exch_relaxed_32_block u32, reg32, "atom.relaxed.cta.global.exch.b32");
global_atomic!(fetch atomic_exch_relaxed_64_device u64, reg64, "atom.relaxed.gpu.global.exch.b64");
global_atomic!(fetch atomic_exch_relaxed_64_block u64, reg64, "atom.relaxed.cta.global.exch.b64");
global_atomic!(fetch atomic_exch_acqrel_32_device u32, reg32, "atom.acq_rel.gpu.global.exch.b32");
global_atomic!(fetch atomic_exch_acqrel_32_block u32, reg32, "atom.acq_rel.cta.global.exch.b32");
global_atomic!(fetch atomic_exch_acqrel_64_device u64, reg64, "atom.acq_rel.gpu.global.exch.b64");
global_atomic!(fetch atomic_exch_acqrel_64_block u64, reg64, "atom.acq_rel.cta.global.exch.b64");
global_atomic!(cas atomic_cas_relaxed_32_device u32, reg32, "atom.relaxed.gpu.global.cas.b32");
global_atomic!(cas atomic_cas_relaxed_32_block u32, reg32, "atom.relaxed.cta.global.cas.b32");
global_atomic!(cas atomic_cas_relaxed_64_device u64, reg64, "atom.relaxed.gpu.global.cas.b64");
global_atomic!(cas atomic_cas_relaxed_64_block u64, reg64, "atom.relaxed.cta.global.cas.b64");
global_atomic!(cas atomic_cas_acqrel_32_device u32, reg32, "atom.acq_rel.gpu.global.cas.b32");
global_atomic!(cas atomic_cas_acqrel_32_block u32, reg32, "atom.acq_rel.cta.global.cas.b32");
global_atomic!(cas atomic_cas_acqrel_64_device u64, reg64, "atom.acq_rel.gpu.global.cas.b64");
global_atomic!(cas atomic_cas_acqrel_64_block u64, reg64, "atom.acq_rel.cta.global.cas.b64");
