//! Device standard library for kernels in Rust.
//!
//! One kernel source, two targets. For `nvptx64` each function here is one PTX instruction, or a few. On the host
//! the same functions run in an emulator, which checks what hardware does not.
//!
//! ```
//! use cuda_std::{kernel, thread};
//!
//! /// Doubles `len` words.
//! ///
//! /// # Safety
//! /// `words` points to `len` words that nothing else touches while the kernel runs.
//! #[kernel]
//! pub unsafe fn double(words: *mut u32, len: usize) {
//!     let i = (thread::block_idx_x() * thread::block_dim_x() + thread::thread_idx_x()) as usize;
//!     if i < len {
//!         // SAFETY: `i` is in bounds, and no other thread has the same `i`.
//!         unsafe { *words.add(i) *= 2 };
//!     }
//! }
//! ```
#![cfg_attr(
    target_arch = "nvptx64",
    no_std,
    allow(internal_features),
    feature(abi_unadjusted, asm_experimental_arch, link_llvm_intrinsics)
)]

pub use cuda_std_macros::kernel;

pub mod atomic;
pub mod bits;
pub mod global;
pub mod shared;
pub mod thread;
pub mod vector;
pub mod warp;

#[cfg(not(target_arch = "nvptx64"))]
pub mod emulator;
#[cfg(target_arch = "nvptx64")]
mod ptx;

// The same functions for either target.
#[cfg(not(target_arch = "nvptx64"))]
use emulator::device as imp;
#[cfg(target_arch = "nvptx64")]
use ptx as imp;
