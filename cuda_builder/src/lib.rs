//! Compiles a kernel crate to PTX from a build script.
