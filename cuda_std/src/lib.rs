//! Device standard library for kernels in Rust.
