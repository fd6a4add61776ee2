//! Compiles the kernels and refreshes the committed PTX and its stamp, or compares with it (`--check`).
#![forbid(unsafe_code)]

use cuda_builder::{Toolchain, committed::Committed};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{env, fs};

const USAGE: &str = "usage: build-ptx [--check | --toolchain]

Compiles the kernels and writes gpu-kernels/ptx/kernels.ptx and kernels.stamp.
  --check      writes nothing: fails unless the committed PTX is, byte for byte, what the sources compile to
  --toolchain  compiles nothing: says which compiler would be used, or what is missing";

fn main() -> ExitCode {
    let arguments: Vec<_> = env::args().skip(1).collect();
    let result = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => refresh(),
        ["--check"] => check(),
        ["--toolchain"] => toolchain().map(|found| format!("{} at {}", found.version, found.rustc.display())),
        ["--help" | "-h"] => Ok(USAGE.into()),
        _ => Err(USAGE.into()),
    };
    match result {
        Ok(message) => {
            println!("{message}");
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

fn toolchain() -> Result<Toolchain, String> {
    Toolchain::find().map_err(|error| error.to_string())
}

fn refresh() -> Result<String, String> {
    let (committed, target_dir) = places();
    let toolchain = toolchain()?;
    let ptx = committed.compile(&toolchain, &target_dir).map_err(|error| error.to_string())?;
    committed.write(&ptx, &toolchain).map_err(|error| error.to_string())?;
    Ok(format!(
        "{}: {} kernels, {} lines",
        committed.ptx().display(),
        cuda_builder::ptx::kernels(&ptx).len(),
        ptx.lines().count()
    ))
}

fn check() -> Result<String, String> {
    let (committed, target_dir) = places();
    let expected = committed.current().map_err(|stale| format!("{stale}: run scripts/build-ptx"))?;
    let toolchain = toolchain()?;
    if let Some(version) = committed.toolchain_version().filter(|version| *version != toolchain.version) {
        return Err(format!(
            "the committed PTX was made by {version}, here is {}: their bytes can't be compared",
            toolchain.version
        ));
    }
    let ptx = committed.compile(&toolchain, &target_dir).map_err(|error| error.to_string())?;
    if ptx == expected {
        return Ok(format!("the sources compile to the committed PTX ({} bytes, {})", ptx.len(), toolchain.version));
    }
    // Kept, so that the two can be compared.
    let other = target_dir.join("different.ptx");
    fs::write(&other, &ptx).map_err(|error| format!("{}: {error}", other.display()))?;
    let line = expected.lines().zip(ptx.lines()).position(|(expected, line)| expected != line);
    let line = line.unwrap_or_else(|| expected.lines().count().min(ptx.lines().count())) + 1;
    Err(format!("the sources compile to other PTX than the committed: see {} from line {line} on", other.display()))
}

/// The checkout that this program was built in, and where to work.
fn places() -> (Committed, PathBuf) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the crate is a folder of the workspace");
    let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    (Committed::in_checkout(root), target.join("cuda_builder"))
}
