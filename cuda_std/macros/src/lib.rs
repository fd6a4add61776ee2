//! The attribute of cuda_std that makes a function a kernel.
