//! What can go wrong between a kernel crate and its PTX.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Why there is no PTX.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// No compiler that can make PTX: each that was looked at, and why it was rejected.
    NoToolchain {
        /// Where it was looked for, and what was wrong there.
        tried: Vec<(String, Rejected)>,
    },
    /// A program of the toolchain refused.
    Failed {
        /// Its path.
        program: PathBuf,
        /// What it said.
        said: String,
    },
    /// A file or program that can't be used.
    Io {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Cargo named no bitcode for a crate that it compiled.
    NoBitcode {
        /// The crate.
        name: String,
    },
    /// The crate has no kernel.
    NoKernels {
        /// Its folder.
        path: PathBuf,
    },
    /// A `__launch_NAME` whose `NAME` is no kernel.
    LaunchOfNoKernel {
        /// `NAME`.
        name: String,
    },
    /// A kernel whose block size no device has.
    BlockSize {
        /// The kernel.
        kernel: String,
        /// Its threads.
        threads: u32,
    },
    /// A `__launch_NAME` that is not two 32-bit numbers.
    LaunchValue {
        /// The line of PTX.
        line: String,
    },
    /// Kernels in which a panic is left, so that they can stop the whole context.
    Panics {
        /// Their names.
        kernels: Vec<String>,
    },
}

impl Error {
    pub(crate) fn io(path: &Path, source: io::Error) -> Self {
        Self::Io { path: path.to_path_buf(), source }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoToolchain { tried } => {
                write!(f, "no toolchain for kernels")?;
                for (place, why) in tried {
                    write!(f, "; {place}: {why}")?;
                }
                write!(
                    f,
                    "; install one with scripts/setup-kernel-toolchain.sh: on Debian 12 `apt-get install rustc-web rust-web-src cargo-web \
                     llvm-22`, elsewhere `rustup toolchain install nightly --component rust-src --component llvm-tools`"
                )
            }
            Self::Failed { program, said } => write!(f, "{} failed: {said}", program.display()),
            Self::Io { path, source } => write!(f, "{}: {source}", path.display()),
            Self::NoBitcode { name } => write!(f, "cargo left no bitcode of crate {name}"),
            Self::NoKernels { path } => write!(f, "no function with #[kernel] in {}", path.display()),
            Self::LaunchOfNoKernel { name } => write!(f, "a block size is given for {name}, which is no kernel"),
            Self::BlockSize { kernel, threads } => {
                write!(f, "kernel {kernel} has blocks of {threads} threads, 1 to 1024 are possible")
            }
            Self::LaunchValue { line } => write!(f, "not two 32-bit numbers: {line}"),
            Self::Panics { kernels } => {
                write!(f, "a panic is left in {}: give the compiler a proof or use an unchecked access", kernels.join(", "))
            }
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}

/// What a compiler lacks.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Rejected {
    /// It is not there.
    Missing,
    /// It does not start, or does not say what it is.
    Silent {
        /// What happened instead.
        what: String,
    },
    /// Its LLVM is too old.
    OldLlvm {
        /// Major version found.
        found: u32,
        /// Lowest that will do.
        need: u32,
    },
    /// The source of `core` is not beside it.
    NoLibrarySource {
        /// Where it should be.
        path: PathBuf,
    },
    /// No `llvm-link`, `opt` and `llc` of its LLVM version.
    NoLlvmTools {
        /// That major version.
        version: u32,
        /// Folders that were looked into.
        places: Vec<PathBuf>,
    },
    /// No cargo beside it.
    NoCargo {
        /// Where it should be.
        path: PathBuf,
    },
}

impl fmt::Display for Rejected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => write!(f, "not there"),
            Self::Silent { what } => write!(f, "does not answer ({what})"),
            Self::OldLlvm { found, need } => write!(f, "has LLVM {found}, at least {need} is needed"),
            Self::NoLibrarySource { path } => {
                write!(
                    f,
                    "has no library source at {} (Debian package rust-web-src, rustup component rust-src)",
                    path.display()
                )
            }
            Self::NoLlvmTools { version, places } => {
                let places: Vec<_> = places.iter().map(|place| place.display().to_string()).collect();
                write!(
                    f,
                    "no llvm-link, opt and llc of LLVM {version} in {} (Debian package llvm-{version}, rustup component llvm-tools)",
                    places.join(" or ")
                )
            }
            Self::NoCargo { path } => write!(f, "no cargo at {} (Debian package cargo-web)", path.display()),
        }
    }
}
