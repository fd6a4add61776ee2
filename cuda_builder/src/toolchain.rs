//! Finds a compiler that can make PTX.
//!
//! Looked for in this order; the first that has everything is taken:
//!
//! | place | |
//! |---|---|
//! | `CUDA_BUILDER_RUSTC` | a rustc; nothing else is looked at then |
//! | `/usr/bin/rustc` | Debian's rustc-web, with rust-web-src, cargo-web and llvm-22 |
//! | rustup's `nightly` | with the components rust-src and llvm-tools |
//!
//! The folder of LLVM's tools can be given as `CUDA_BUILDER_LLVM`.

use crate::{Error, Rejected};
use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The oldest LLVM whose intrinsics `cuda_std` knows by name.
const OLDEST_LLVM: u32 = 21;

/// A rustc, the cargo that goes with it, and LLVM's tools of its version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Toolchain {
    /// The compiler.
    pub rustc: PathBuf,
    /// Its cargo.
    pub cargo: PathBuf,
    /// Joins modules.
    pub llvm_link: PathBuf,
    /// Optimises a module.
    pub opt: PathBuf,
    /// Makes PTX of a module.
    pub llc: PathBuf,
    /// What decides over the bytes that come out: `rustc 1.96.0, LLVM 22.1.8`.
    pub version: String,
}

impl Toolchain {
    /// The first complete one.
    ///
    /// # Errors
    /// [`Error::NoToolchain`], with what each place lacks.
    pub fn find() -> Result<Self, Error> {
        let mut tried = Vec::new();
        if let Some(rustc) = env::var_os("CUDA_BUILDER_RUSTC") {
            let place = format!("CUDA_BUILDER_RUSTC={}", Path::new(&rustc).display());
            return Self::at(Path::new(&rustc)).map_err(|why| Error::NoToolchain { tried: vec![(place, why)] });
        }
        for (place, rustc) in [("/usr/bin/rustc", Some("/usr/bin/rustc".into())), ("rustup nightly", rustup_nightly())] {
            match rustc.ok_or(Rejected::Missing).and_then(|rustc: PathBuf| Self::at(&rustc)) {
                Ok(toolchain) => return Ok(toolchain),
                Err(why) => tried.push((place.to_owned(), why)),
            }
        }
        Err(Error::NoToolchain { tried })
    }

    /// The one around this rustc.
    ///
    /// # Errors
    /// What it lacks.
    pub fn at(rustc: &Path) -> Result<Self, Rejected> {
        if !rustc.is_file() {
            return Err(Rejected::Missing);
        }
        let about = About::read(&ask(rustc, &["-vV"])?)?;
        if about.llvm < OLDEST_LLVM {
            return Err(Rejected::OldLlvm { found: about.llvm, need: OLDEST_LLVM });
        }
        let sysroot = PathBuf::from(ask(rustc, &["--print", "sysroot"])?.trim());
        let rustlib = sysroot.join("lib").join("rustlib");
        let source = rustlib.join("src/rust/library");
        if !source.join("core/Cargo.toml").is_file() {
            return Err(Rejected::NoLibrarySource { path: source });
        }
        let cargo = rustc.with_file_name("cargo");
        if !cargo.is_file() {
            return Err(Rejected::NoCargo { path: cargo });
        }
        let places = match env::var_os("CUDA_BUILDER_LLVM") {
            Some(place) => vec![place.into()],
            None => vec![rustlib.join(&about.host).join("bin"), format!("/usr/lib/llvm-{}/bin", about.llvm).into()],
        };
        let tools = |place: &PathBuf| {
            let [llvm_link, opt, llc] = ["llvm-link", "opt", "llc"].map(|name| place.join(name));
            let complete = llvm_link.is_file() && opt.is_file() && is_llc_of(&llc, about.llvm);
            complete.then_some((llvm_link, opt, llc))
        };
        let Some((llvm_link, opt, llc)) = places.iter().find_map(tools) else {
            return Err(Rejected::NoLlvmTools { version: about.llvm, places });
        };
        Ok(Self { rustc: rustc.into(), cargo, llvm_link, opt, llc, version: about.version })
    }
}

/// Whether this is an `llc` of LLVM `major` that makes PTX. Another LLVM would misread the bitcode, or optimise it otherwise.
fn is_llc_of(llc: &Path, major: u32) -> bool {
    let Ok(about) = ask(llc, &["--version"]) else { return false };
    let version = about.split_once("LLVM version ").map_or("", |(_, rest)| rest);
    version.split('.').next() == Some(&major.to_string()) && about.contains("nvptx64")
}

/// What `rustc -vV` says.
#[derive(Debug, PartialEq, Eq)]
struct About {
    host: String,
    llvm: u32,
    version: String,
}

impl About {
    fn read(text: &str) -> Result<Self, Rejected> {
        let field = |name: &str| {
            let value = text.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
            value.ok_or_else(|| Rejected::Silent { what: format!("no `{name}` in what rustc -vV prints") })
        };
        let (host, release, llvm) = (field("host:")?, field("release:")?, field("LLVM version:")?);
        let major = llvm.split('.').next().and_then(|major| major.parse().ok());
        let major = major.ok_or_else(|| Rejected::Silent { what: format!("LLVM version {llvm}") })?;
        Ok(Self { host: host.into(), llvm: major, version: format!("rustc {release}, LLVM {llvm}") })
    }
}

/// Rustup's nightly compiler itself, not the proxy in front of it: what the proxy starts depends on the folder.
fn rustup_nightly() -> Option<PathBuf> {
    let output = Command::new("rustup").args(["which", "--toolchain", "nightly", "rustc"]).output().ok()?;
    let path = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| path.trim().into())
}

fn ask(program: &Path, arguments: &[&str]) -> Result<String, Rejected> {
    let silent = |what: String| Rejected::Silent { what };
    let output = Command::new(program).args(arguments).output().map_err(|error| silent(error.to_string()))?;
    if !output.status.success() {
        return Err(silent(output.status.to_string()));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const ABOUT: &str = "rustc 1.96.0 (ac68faa20 2026-05-25)\nbinary: rustc\nhost: x86_64-unknown-linux-gnu\nrelease: 1.96.0\nLLVM version: 22.1.8\n";

    #[test]
    fn a_compiler_says_what_it_is() {
        let about = About::read(ABOUT).expect("complete");
        assert_eq!(
            about,
            About { host: "x86_64-unknown-linux-gnu".into(), llvm: 22, version: "rustc 1.96.0, LLVM 22.1.8".into() }
        );
        let error = About::read("rustc 1.96.0").expect_err("incomplete");
        assert_eq!(error, Rejected::Silent { what: "no `host:` in what rustc -vV prints".into() });
    }

    #[test]
    fn a_missing_compiler_is_said_to_be_missing() {
        assert_eq!(Toolchain::at(Path::new("/nowhere/rustc")), Err(Rejected::Missing));
    }

    #[test]
    fn a_program_that_is_no_compiler_is_rejected() {
        let error = Toolchain::at(Path::new("/bin/true")).expect_err("no compiler");
        assert_eq!(error, Rejected::Silent { what: "no `host:` in what rustc -vV prints".into() });
        assert!(matches!(Toolchain::at(Path::new("/bin/false")), Err(Rejected::Silent { .. })));
    }

    #[test]
    fn the_message_names_every_package() {
        let error = Error::NoToolchain {
            tried: vec![
                ("/usr/bin/rustc".into(), Rejected::NoLibrarySource { path: "/usr/lib/rustlib/src/rust/library".into() }),
                ("rustup nightly".into(), Rejected::NoLlvmTools { version: 22, places: vec!["/a".into(), "/b".into()] }),
            ],
        };
        let text = error.to_string();
        for part in [
            "/usr/bin/rustc: has no library source at /usr/lib/rustlib/src/rust/library (Debian package rust-web-src",
            "rustup nightly: no llvm-link, opt and llc of LLVM 22 in /a or /b (Debian package llvm-22",
            "apt-get install rustc-web rust-web-src cargo-web llvm-22",
            "rustup toolchain install nightly --component rust-src --component llvm-tools",
        ] {
            assert!(text.contains(part), "{part:?} is not in {text:?}");
        }
        assert!(!text.contains('\n') && !text.ends_with('.'));
    }
}
