//! Runs kernels on the host.

mod atomics;
pub(crate) mod device;
