//! Compiles a kernel crate to PTX, from a build script or by hand.
//!
//! ```no_run
//! use cuda_builder::CudaBuilder;
//!
//! let ptx = CudaBuilder::new("../gpu-kernels").arch("sm_80").copy_to("kernels.ptx").build()?;
//! println!("{} kernels", ptx.kernels.len());
//! # Ok::<(), cuda_builder::Error>(())
//! ```
//!
//! The way from Rust to PTX:
//!
//! | step | program | does |
//! |---|---|---|
//! | compile | cargo and rustc | every crate, `core` included, to bitcode for `nvptx64-nvidia-cuda` |
//! | link | llvm-link | one module of all of it and of the crates' own IR files (`cuda_std/cuda_std.ll`) |
//! | optimise | opt | drops what no kernel uses, then `-O3` over the whole, then drops all names but the kernels' |
//! | assemble | llc | PTX |
//! | finish | this crate | block sizes from `__launch_NAME` to the entries; refuses kernels that can panic ([`ptx`]) |
//!
//! The same sources give the same bytes with the same compiler, wherever the checkout lies: nothing of paths, debug
//! information or mangled names gets into the PTX.
//!
//! The compiler is not the one that builds the host: it must come with the source of `core` and with LLVM's tools
//! ([`toolchain`] finds it, and says what to install where there is none).
#![forbid(unsafe_code)]

mod cargo;
pub mod committed;
mod error;
pub mod ptx;
pub mod toolchain;

pub use error::{Error, Rejected};
pub use toolchain::Toolchain;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// Changes whenever the way from Rust to PTX changes, so that PTX made the old way is made anew.
pub const RECIPE: &str = "1";

/// How to compile one kernel crate.
#[derive(Clone, Debug)]
pub struct CudaBuilder {
    path: PathBuf,
    arch: String,
    ptx_version: (u32, u32),
    copy_to: Option<PathBuf>,
    target_dir: Option<PathBuf>,
    toolchain: Option<Toolchain>,
    traps: bool,
}

impl CudaBuilder {
    /// Compiles the crate in the folder `path`, for `sm_80` and PTX 7.4 if nothing else is said.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            arch: "sm_80".into(),
            ptx_version: (7, 4),
            copy_to: None,
            target_dir: None,
            toolchain: None,
            traps: false,
        }
    }

    /// The oldest architecture that shall run the kernels; the driver compiles for newer ones.
    pub fn arch(mut self, arch: impl Into<String>) -> Self {
        self.arch = arch.into();
        self
    }

    /// The PTX version: the driver of CUDA 11.x reads 7.x, that of 12.x reads 8.x as well.
    pub fn ptx_version(mut self, major: u32, minor: u32) -> Self {
        self.ptx_version = (major, minor);
        self
    }

    /// Also writes the PTX to this file.
    pub fn copy_to(mut self, path: impl Into<PathBuf>) -> Self {
        self.copy_to = Some(path.into());
        self
    }

    /// Where cargo and LLVM work. Otherwise a folder in the build script's `OUT_DIR`, or `target` in the crate's folder.
    pub fn target_dir(mut self, path: impl Into<PathBuf>) -> Self {
        self.target_dir = Some(path.into());
        self
    }

    /// The compiler to use. Otherwise the first that [`Toolchain::find`] finds.
    pub fn toolchain(mut self, toolchain: Toolchain) -> Self {
        self.toolchain = Some(toolchain);
        self
    }

    /// Takes kernels that can panic, too (`trap` in PTX); otherwise they are refused with [`Error::Panics`].
    pub fn allow_panics(mut self, allow: bool) -> Self {
        self.traps = allow;
        self
    }

    /// Compiles.
    ///
    /// # Errors
    /// What is missing, what a program of the toolchain said, or what is wrong with the kernels.
    pub fn build(&self) -> Result<Ptx, Error> {
        let found;
        let toolchain = match &self.toolchain {
            Some(toolchain) => toolchain,
            None => {
                found = Toolchain::find()?;
                &found
            }
        };
        let target_dir = match (&self.target_dir, env::var_os("OUT_DIR")) {
            (Some(target_dir), _) => target_dir.clone(),
            (None, Some(out)) => Path::new(&out).join("cuda_builder"),
            (None, None) => self.path.join("target").join("cuda_builder"),
        };
        fs::create_dir_all(&target_dir).map_err(|source| Error::io(&target_dir, source))?;
        // Absolute, since cargo runs in the crate's folder.
        let target_dir = fs::canonicalize(&target_dir).map_err(|source| Error::io(&target_dir, source))?;

        let crates = cargo::compile(toolchain, &self.path, &target_dir, &self.arch)?;
        let file = |name: &str| target_dir.join(name);
        let (linked, optimised, assembled) = (file("linked.bc"), file("optimised.bc"), file("kernels.ptx"));

        let mut link = Command::new(&toolchain.llvm_link);
        for device_crate in &crates {
            link.arg(&device_crate.bitcode).args(&device_crate.ir);
        }
        run(link.arg("-o").arg(&linked))?;

        let mut kept = Vec::new();
        for device_crate in crates.iter().filter(|device_crate| !device_crate.is_of_rust()) {
            let ir = run(Command::new(&toolchain.opt).args(["-S", "-o", "-"]).arg(&device_crate.bitcode))?;
            kept.extend(ptx::kernels_and_launches(&ir));
        }
        if !kept.iter().any(|name| !name.starts_with(ptx::LAUNCH)) {
            return Err(Error::NoKernels { path: self.path.clone() });
        }
        run(Command::new(&toolchain.opt)
            // Without what nobody calls first: functions used once are then inlined. Without names last: they hold hashes.
            .arg("-passes=internalize,globaldce,default<O3>,globaldce,strip")
            .arg(format!("--internalize-public-api-list={}", kept.join(",")))
            .arg(&linked)
            .arg("-o")
            .arg(&optimised))?;
        run(Command::new(&toolchain.llc)
            .arg("-O3")
            .arg(format!("-mcpu={}", self.arch))
            .arg(format!("-mattr=+ptx{}{}", self.ptx_version.0, self.ptx_version.1))
            .arg(&optimised)
            .arg("-o")
            .arg(&assembled))?;

        let text = fs::read_to_string(&assembled).map_err(|source| Error::io(&assembled, source))?;
        let text = ptx::with_launch_bounds(&text)?;
        let traps = ptx::kernels_that_trap(&text);
        if !traps.is_empty() && !self.traps {
            return Err(Error::Panics { kernels: traps });
        }
        if let Some(path) = &self.copy_to {
            fs::write(path, &text).map_err(|source| Error::io(path, source))?;
        }
        Ok(Ptx { kernels: ptx::kernels(&text), text })
    }
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ptx {
    /// The PTX.
    pub text: String,
    /// The entries' names, in the order of the text.
    pub kernels: Vec<String>,
}

/// Runs a program to its end and returns what it printed.
fn run(command: &mut Command) -> Result<String, Error> {
    let program = PathBuf::from(command.get_program());
    let output = command.output().map_err(|source| Error::io(&program, source))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(Error::Failed { program, said })
}
