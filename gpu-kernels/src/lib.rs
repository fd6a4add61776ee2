//! Warpack's kernels: one source, compiled to PTX for devices and run by the emulator of `cuda_std` on the host.
//!
//! | module | kernels |
//! |---|---|
//! | [`clog`] | CLOG's full chunks and its short last chunk, both directions, per word size and chunk size |
//! | [`lc`] | the container around the LC components: checks and offsets of its entries |
//! | [`collectives`] | what kernels share: look-back, copying out |
#![cfg_attr(target_arch = "nvptx64", no_std, feature(abi_ptx))]

pub mod clog;
pub mod collectives;
pub mod lc;

/// A kernel has nowhere to panic to: the PTX gate refuses kernels that could get here.
#[cfg(target_arch = "nvptx64")]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}
