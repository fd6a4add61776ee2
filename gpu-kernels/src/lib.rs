//! Warpack's kernels: one source, compiled to PTX for devices and run by the emulator of `cuda_std` on the host.
#![cfg_attr(target_arch = "nvptx64", no_std)]
