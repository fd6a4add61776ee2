//! PTX that is committed with its sources, and the stamp that tells whether it is theirs.
//!
//! A user with stable Rust alone can't compile kernels, so their PTX is committed. Beside it lies a stamp:
//!
//! ```text
//! sources 3b0c..   SHA-256 of everything that the PTX is compiled from
//! ptx 9f41..       SHA-256 of the PTX
//! recipe 1 sm_80 ptx7.4
//! toolchain rustc 1.96.0, LLVM 22.1.8
//! ```
//!
//! Sources, PTX and recipe must all be as the stamp says; otherwise the PTX is stale and must not be used. The toolchain
//! is told so that a rebuild can be compared byte for byte.

use crate::{CudaBuilder, Error, RECIPE, Toolchain};
use sha2::{Digest, Sha256};
use std::fmt;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// A checkout with a kernel crate and its committed PTX.
#[derive(Clone, Debug)]
pub struct Committed {
    root: PathBuf,
    arch: &'static str,
    ptx_version: (u32, u32),
}

/// Folder of the kernel crate, from the checkout's root.
const CRATE: &str = "gpu-kernels";
/// The committed PTX.
const PTX: &str = "gpu-kernels/ptx/kernels.ptx";
/// Its stamp.
const STAMP: &str = "gpu-kernels/ptx/kernels.stamp";
/// Everything that PTX is compiled from: files, and folders with all that is in them.
const SOURCES: [&str; 9] = [
    "cuda_std/Cargo.toml",
    "cuda_std/cuda_std.ll",
    "cuda_std/macros/Cargo.toml",
    "cuda_std/macros/src",
    "cuda_std/src",
    "gpu-kernels/Cargo.toml",
    "gpu-kernels/src",
    "shared-types/Cargo.toml",
    "shared-types/src",
];
/// Parts of those that only the host compiles.
const HOST_ONLY: [&str; 2] = ["cuda_std/src/emulator", "cuda_std/src/emulator.rs"];

impl Committed {
    /// In the checkout at `root`.
    pub fn in_checkout(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into(), arch: "sm_80", ptx_version: (7, 4) }
    }

    /// The PTX file.
    pub fn ptx(&self) -> PathBuf {
        self.root.join(PTX)
    }

    /// The stamp file.
    pub fn stamp(&self) -> PathBuf {
        self.root.join(STAMP)
    }

    /// Every file and folder that decides whether the PTX is current, for `cargo::rerun-if-changed`.
    pub fn watched(&self) -> Vec<PathBuf> {
        SOURCES.iter().chain(&[PTX, STAMP]).map(|path| self.root.join(path)).collect()
    }

    /// The PTX, if it is what the sources in the checkout are compiled to.
    ///
    /// # Errors
    /// [`Stale`], with the part that does not match.
    pub fn current(&self) -> Result<String, Stale> {
        let read = |path: &Path| fs::read_to_string(path).map_err(|error| Stale::Unreadable(path.into(), error.to_string()));
        let text = read(&self.stamp())?;
        let ptx = read(&self.ptx())?;
        let stamp = Stamp::read(&text).ok_or_else(|| Stale::Unreadable(self.stamp(), "not a stamp".into()))?;
        let sources = self.sources().map_err(|error| Stale::Unreadable(self.root.clone(), error.to_string()))?;
        if stamp.sources != sources {
            return Err(Stale::Sources);
        }
        if stamp.recipe != self.recipe() {
            return Err(Stale::Recipe { found: stamp.recipe.into(), expected: self.recipe() });
        }
        if stamp.ptx != hex(Sha256::digest(&ptx)) {
            return Err(Stale::Ptx);
        }
        Ok(ptx)
    }

    /// The version of the toolchain that made the committed PTX.
    pub fn toolchain_version(&self) -> Option<String> {
        let text = fs::read_to_string(self.stamp()).ok()?;
        Stamp::read(&text).map(|stamp| stamp.toolchain.to_owned())
    }

    /// Compiles the sources, working in `target_dir`; changes nothing that is committed.
    ///
    /// # Errors
    /// As [`CudaBuilder::build`].
    pub fn compile(&self, toolchain: &Toolchain, target_dir: &Path) -> Result<String, Error> {
        let builder =
            CudaBuilder::new(self.root.join(CRATE)).arch(self.arch).ptx_version(self.ptx_version.0, self.ptx_version.1);
        Ok(builder.toolchain(toolchain.clone()).target_dir(target_dir).build()?.text)
    }

    /// Writes PTX that [`Self::compile`] made, and its stamp.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn write(&self, ptx: &str, toolchain: &Toolchain) -> Result<(), Error> {
        let sources = self.sources()?;
        let recipe = self.recipe();
        let digest = hex(Sha256::digest(ptx));
        let stamp = Stamp { sources: &sources, ptx: &digest, recipe: &recipe, toolchain: &toolchain.version };
        for (path, text) in [(self.ptx(), ptx), (self.stamp(), &stamp.to_string())] {
            if let Some(folder) = path.parent() {
                fs::create_dir_all(folder).map_err(|source| Error::io(folder, source))?;
            }
            fs::write(&path, text).map_err(|source| Error::io(&path, source))?;
        }
        Ok(())
    }

    /// What the builder does with the sources.
    fn recipe(&self) -> String {
        format!("{RECIPE} {} ptx{}.{}", self.arch, self.ptx_version.0, self.ptx_version.1)
    }

    /// SHA-256 over path and contents of every source, in the paths' order.
    fn sources(&self) -> Result<String, Error> {
        let mut files = Vec::new();
        for source in SOURCES {
            collect(&self.root, source.to_owned(), &mut files)?;
        }
        files.sort();
        let mut digest = Sha256::new();
        for file in files {
            let path = self.root.join(&file);
            let bytes = fs::read(&path).map_err(|source| Error::io(&path, source))?;
            // Lengths in front, so that no two sets of files run together to the same bytes.
            for part in [file.as_bytes(), &bytes] {
                digest.update((part.len() as u64).to_le_bytes());
                digest.update(part);
            }
        }
        Ok(hex(digest.finalize()))
    }
}

/// Adds `name`, a path from `root` with `/` in it, or all files below it.
fn collect(root: &Path, name: String, files: &mut Vec<String>) -> Result<(), Error> {
    if HOST_ONLY.contains(&&*name) {
        return Ok(());
    }
    let path = root.join(&name);
    if !path.is_dir() {
        files.push(name);
        return Ok(());
    }
    for entry in fs::read_dir(&path).map_err(|source| Error::io(&path, source))? {
        let entry = entry.map_err(|source| Error::io(&path, source))?;
        // Editors' and the system's own files are none of Rust's.
        if let Some(child) = entry.file_name().to_str().filter(|child| !child.starts_with('.')) {
            collect(root, format!("{name}/{child}"), files)?;
        }
    }
    Ok(())
}

fn hex(bytes: impl AsRef<[u8]>) -> String {
    bytes.as_ref().iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}"); // a String takes everything
        text
    })
}

/// The lines of a stamp.
#[derive(Debug, PartialEq, Eq)]
struct Stamp<'a> {
    sources: &'a str,
    ptx: &'a str,
    recipe: &'a str,
    toolchain: &'a str,
}

impl<'a> Stamp<'a> {
    fn read(text: &'a str) -> Option<Self> {
        let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        Some(Self { sources: field("sources")?, ptx: field("ptx")?, recipe: field("recipe")?, toolchain: field("toolchain")? })
    }
}

impl fmt::Display for Stamp<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { sources, ptx, recipe, toolchain } = self;
        write!(f, "sources {sources}\nptx {ptx}\nrecipe {recipe}\ntoolchain {toolchain}\n")
    }
}

/// Why committed PTX must not be used.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stale {
    /// A file that can't be read, and why.
    Unreadable(PathBuf, String),
    /// The sources are not those that it was compiled from.
    Sources,
    /// It is not the PTX that was stamped.
    Ptx,
    /// It was compiled another way.
    Recipe {
        /// The stamp's.
        found: String,
        /// This builder's.
        expected: String,
    },
}

impl fmt::Display for Stale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(path, why) => write!(f, "{}: {why}", path.display()),
            Self::Sources => write!(f, "{PTX} was compiled from other sources than those in this checkout"),
            Self::Ptx => write!(f, "{PTX} was changed after it was compiled"),
            Self::Recipe { found, expected } => write!(f, "{PTX} was compiled as `{found}`, now `{expected}` is right"),
        }
    }
}

impl std::error::Error for Stale {}

#[cfg(test)]
mod tests {
    use super::*;

    /// A checkout of nothing but the files that count, with a stamped PTX.
    struct Checkout(PathBuf);

    impl Checkout {
        fn new(name: &str) -> Self {
            let root = std::env::temp_dir().join(format!("committed-{name}-{}", std::process::id()));
            for source in SOURCES {
                let file = if source.ends_with("src") { format!("{source}/lib.rs") } else { source.to_owned() };
                write(&root.join(&file), &file);
            }
            Committed::in_checkout(&root).write(".version 7.4\n", &toolchain()).expect("a temporary folder");
            Self(root)
        }

        fn current(&self) -> Result<String, Stale> {
            Committed::in_checkout(&self.0).current()
        }
    }

    impl Drop for Checkout {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn write(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().expect("a file in a folder")).expect("a folder");
        fs::write(path, text).expect("a file");
    }

    fn toolchain() -> Toolchain {
        let [rustc, cargo, llvm_link, opt, llc] = ["rustc", "cargo", "llvm-link", "opt", "llc"].map(PathBuf::from);
        Toolchain { rustc, cargo, llvm_link, opt, llc, version: "rustc 1.96.0, LLVM 22.1.8".into() }
    }

    #[test]
    fn a_stamp_is_read_as_written() {
        let stamp = Stamp { sources: "a1", ptx: "b2", recipe: "1 sm_80 ptx7.4", toolchain: "rustc 1.96.0, LLVM 22.1.8" };
        assert_eq!(Stamp::read(&stamp.to_string()), Some(stamp));
        assert_eq!(Stamp::read("sources a1\nptx b2\n"), None);
    }

    #[test]
    fn stamped_ptx_is_current_wherever_the_checkout_lies() {
        let [here, there] = ["here", "there"].map(Checkout::new);
        assert_eq!(here.current().as_deref(), Ok(".version 7.4\n"));
        let stamp = |checkout: &Checkout| fs::read_to_string(checkout.0.join(STAMP)).expect("written");
        assert_eq!(stamp(&here), stamp(&there));
        assert_eq!(Committed::in_checkout(&here.0).toolchain_version().as_deref(), Some("rustc 1.96.0, LLVM 22.1.8"));
    }

    #[test]
    fn any_change_of_a_source_makes_it_stale() {
        for source in SOURCES {
            let checkout = Checkout::new("changed");
            let file = if source.ends_with("src") { format!("{source}/lib.rs") } else { source.to_owned() };
            write(&checkout.0.join(&file), "changed");
            assert_eq!(checkout.current(), Err(Stale::Sources), "{file}");
        }
        let checkout = Checkout::new("added");
        write(&checkout.0.join("gpu-kernels/src/clog/new.rs"), "");
        assert_eq!(checkout.current(), Err(Stale::Sources));
        fs::remove_file(checkout.0.join("gpu-kernels/src/clog/new.rs")).expect("just written");
        assert!(checkout.current().is_ok());
        fs::rename(checkout.0.join("gpu-kernels/src/lib.rs"), checkout.0.join("gpu-kernels/src/main.rs")).expect("moved");
        assert_eq!(checkout.current(), Err(Stale::Sources), "the same bytes under another name");
    }

    #[test]
    fn what_only_the_host_compiles_does_not_count() {
        let checkout = Checkout::new("host");
        write(&checkout.0.join("cuda_std/src/emulator/mod.rs"), "anything");
        assert!(checkout.current().is_ok());
    }

    #[test]
    fn changed_ptx_and_other_recipes_are_stale() {
        let checkout = Checkout::new("ptx");
        write(&checkout.0.join(PTX), ".version 7.5\n");
        assert_eq!(checkout.current(), Err(Stale::Ptx));

        let checkout = Checkout::new("recipe");
        let stamp = fs::read_to_string(checkout.0.join(STAMP)).expect("written");
        write(&checkout.0.join(STAMP), &stamp.replace("sm_80", "sm_90"));
        let error = checkout.current().expect_err("another recipe");
        let recipe = |arch: &str| format!("{RECIPE} {arch} ptx7.4");
        assert_eq!(error, Stale::Recipe { found: recipe("sm_90"), expected: recipe("sm_80") });

        fs::remove_file(checkout.0.join(STAMP)).expect("written");
        assert!(matches!(checkout.current(), Err(Stale::Unreadable(path, _)) if path == checkout.0.join(STAMP)));
    }
}
