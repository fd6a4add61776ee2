//! Has cargo compile the kernel crate, and finds the bitcode that it leaves.

use crate::{Error, Toolchain};
use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const TARGET: &str = "nvptx64-nvidia-cuda";

/// One crate compiled for the device.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct DeviceCrate {
    pub name: String,
    pub bitcode: PathBuf,
    /// `NAME.ll` beside its manifest, if there is one: what the crate can't say in Rust.
    pub ir: Option<PathBuf>,
}

impl DeviceCrate {
    /// Whether it is part of Rust itself.
    pub fn is_of_rust(&self) -> bool {
        ["core", "compiler_builtins"].contains(&&*self.name)
    }
}

/// Compiles the crate in `path` and all that it needs, and returns them in cargo's order.
pub(crate) fn compile(toolchain: &Toolchain, path: &Path, target_dir: &Path, arch: &str) -> Result<Vec<DeviceCrate>, Error> {
    let mut command = Command::new(&toolchain.cargo);
    for (name, _) in env::vars_os() {
        if name.to_str().is_some_and(is_of_another_build) {
            command.env_remove(name);
        }
    }
    let flags = [
        &format!("-Ctarget-cpu={arch}"),
        "--emit=llvm-bc",
        // Only the part of the optimiser that is meant to go before linking; `opt` does the rest over the whole.
        "-Clto=fat",
        "-Cembed-bitcode=yes",
        "-Ccodegen-units=1",
        "-Cdebuginfo=0",
        // A panic is a trap, with no message and so no path of a source file.
        "-Zunstable-options",
        "-Cpanic=immediate-abort",
        "-Cdebug-assertions=off",
        "-Coverflow-checks=off",
    ];
    command
        .current_dir(path)
        // Cargo falls back to rustup's compiler where this is not set, and that one has no library source.
        .env("RUSTC", &toolchain.rustc)
        // The target and the way `core` is built are unstable; this lets a stable compiler do them.
        .env("RUSTC_BOOTSTRAP", "1")
        .env("RUSTC_WRAPPER", "")
        .env("RUSTC_WORKSPACE_WRAPPER", "")
        .env("CARGO_ENCODED_RUSTFLAGS", flags.join("\x1f"))
        .args(["build", "--lib", "--release", "--message-format=json", "-Zbuild-std=core"])
        .args(["--target", TARGET, "--target-dir"])
        .arg(target_dir);
    // What the workspace's release profile says is for the host.
    for setting in ["opt-level=3", "debug=0", "incremental=false", "codegen-units=1", "strip=false", "lto=false"] {
        command.args(["--config", &format!("profile.release.{setting}")]);
    }
    let output = command.stdin(Stdio::null()).output().map_err(|source| Error::io(&toolchain.cargo, source))?;
    let messages = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() {
        let mut said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        for rendered in messages.lines().filter_map(|message| field(message, "rendered")) {
            said.push('\n');
            said.push_str(rendered.trim_end());
        }
        return Err(Error::Failed { program: toolchain.cargo.clone(), said });
    }
    artifacts(&messages)
}

/// Whether a variable speaks to the cargo or rustc that runs this program, and would mislead those that it starts.
/// What says how to reach registries stays.
fn is_of_another_build(name: &str) -> bool {
    const KEPT: [&str; 6] =
        ["CARGO_HOME", "CARGO_HTTP_", "CARGO_NET_", "CARGO_REGISTRIES_", "CARGO_REGISTRY_", "CARGO_SOURCE_"];
    let starts_with = |prefixes: &[&str]| prefixes.iter().any(|prefix| name.starts_with(prefix));
    let of_cargo = starts_with(&["CARGO", "RUSTC", "RUSTFLAGS", "RUSTDOC", "RUSTUP_TOOLCHAIN", "DEP_", "CLIPPY_"])
        || ["OUT_DIR", "TARGET", "HOST", "PROFILE", "OPT_LEVEL", "DEBUG", "NUM_JOBS", "MAKEFLAGS", "MFLAGS"].contains(&name);
    of_cargo && !starts_with(&KEPT)
}

/// The device crates among cargo's messages, one JSON object a line.
fn artifacts(messages: &str) -> Result<Vec<DeviceCrate>, Error> {
    let mut crates = Vec::new();
    for message in messages.lines() {
        if field(message, "reason").as_deref() != Some("compiler-artifact") {
            continue;
        }
        // The `.rmeta` carries the hash that the `.bc` beside it has; the `.rlib` may have been moved.
        let files = message.split_once("\"filenames\":[").map_or("", |(_, files)| files);
        let files = files.split_once(']').map_or("", |(files, _)| files);
        let mut files = strings(files);
        let is_device_metadata = |file: &PathBuf| {
            file.extension().is_some_and(|extension| extension == "rmeta")
                && file.components().any(|part| part.as_os_str() == TARGET)
        };
        let Some(metadata) = files.find_map(|file| Some(PathBuf::from(file)).filter(is_device_metadata)) else { continue };
        let target = message.split_once("\"target\":{").map_or("", |(_, target)| target);
        let name = field(target, "name").unwrap_or_default().replace('-', "_");
        let stem = metadata.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        let bitcode = metadata.with_file_name(format!("{}.bc", stem.trim_start_matches("lib")));
        if !bitcode.is_file() {
            return Err(Error::NoBitcode { name });
        }
        let manifest = PathBuf::from(field(message, "manifest_path").unwrap_or_default());
        let ir = Some(manifest.with_file_name(format!("{name}.ll"))).filter(|ir| ir.is_file());
        crates.push(DeviceCrate { name, bitcode, ir });
    }
    Ok(crates)
}

/// The first string called `name` in a line of JSON.
fn field(json: &str, name: &str) -> Option<String> {
    let (_, rest) = json.split_once(&format!("\"{name}\":"))?;
    rest.starts_with('"').then(|| strings(rest).next())?
}

/// The strings in a piece of JSON that begins outside of one.
fn strings(json: &str) -> impl Iterator<Item = String> {
    let mut rest = json;
    std::iter::from_fn(move || {
        let (_, mut inside) = rest.split_once('"')?;
        let mut text = String::new();
        loop {
            let end = inside.find(['"', '\\'])?;
            text.push_str(&inside[..end]);
            if inside[end..].starts_with('"') {
                rest = &inside[end + 1..];
                return Some(text);
            }
            let escaped = inside[end + 1..].chars().next()?;
            inside = &inside[end + 1 + escaped.len_utf8()..];
            match escaped {
                'n' => text.push('\n'),
                't' => text.push('\t'),
                'r' => text.push('\r'),
                'b' => text.push('\u{8}'),
                'f' => text.push('\u{c}'),
                'u' => {
                    let code = u32::from_str_radix(inside.get(..4)?, 16).ok()?;
                    // Halves of a pair don't occur in paths and names; in messages a mark in their place does.
                    text.push(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
                    inside = &inside[4..];
                }
                other => text.push(other),
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_strings_are_read() {
        let json = r#"["a b","c\\d\"e\n","caf\u00e9",""]"#;
        assert_eq!(strings(json).collect::<Vec<_>>(), ["a b", "c\\d\"e\n", "café", ""]);
        assert_eq!(strings(r#""unfinished"#).next(), None);
        assert_eq!(strings(r#""unfinished\"#).next(), None);
        assert_eq!(field(r#"{"reason":"x","name":null,"other":"y"}"#, "name"), None);
        assert_eq!(field(r#"{"reason":"x","name":null,"other":"y"}"#, "other").as_deref(), Some("y"));
    }

    #[test]
    fn device_crates_are_told_from_host_crates() {
        let folder = std::env::temp_dir().join(format!("cuda_builder-{}", std::process::id()));
        let deps = folder.join(TARGET).join("release/deps");
        std::fs::create_dir_all(&deps).expect("a temporary folder");
        std::fs::write(deps.join("gpu_kernels-0123.bc"), "").expect("a file");
        std::fs::write(folder.join("gpu_kernels.ll"), "").expect("a file");
        let at = folder.display();
        let messages = format!(
            r#"{{"reason":"compiler-artifact","manifest_path":"{at}/p/Cargo.toml","target":{{"kind":["proc-macro"],"name":"p"}},"filenames":["{at}/release/deps/libp-1.so"]}}
{{"reason":"build-script-executed","package_id":"x"}}
{{"reason":"compiler-artifact","manifest_path":"{at}/Cargo.toml","target":{{"kind":["lib"],"name":"gpu-kernels"}},"filenames":["{at}/{TARGET}/release/libgpu_kernels.rlib","{at}/{TARGET}/release/deps/libgpu_kernels-0123.rmeta"],"executable":null}}
"#
        );
        let expected = DeviceCrate {
            name: "gpu_kernels".into(),
            bitcode: deps.join("gpu_kernels-0123.bc"),
            ir: Some(folder.join("gpu_kernels.ll")),
        };
        assert_eq!(artifacts(&messages).expect("sound messages"), [expected]);

        let gone = messages.replace("0123", "4567");
        assert!(matches!(artifacts(&gone), Err(Error::NoBitcode { name }) if name == "gpu_kernels"));
        std::fs::remove_dir_all(&folder).expect("our own folder");
    }

    #[test]
    fn an_outer_build_does_not_leak_in() {
        for name in [
            "CARGO",
            "CARGO_TARGET_DIR",
            "CARGO_ENCODED_RUSTFLAGS",
            "CARGO_BUILD_TARGET",
            "CARGO_FEATURE_CUDA",
            "CARGO_MAKEFLAGS",
            "CARGO_PROFILE_RELEASE_DEBUG",
            "RUSTFLAGS",
            "RUSTC",
            "RUSTC_WRAPPER",
            "RUSTUP_TOOLCHAIN",
            "OUT_DIR",
            "TARGET",
            "DEBUG",
        ] {
            assert!(is_of_another_build(name), "{name}");
        }
        for name in [
            "PATH",
            "HOME",
            "CARGO_HOME",
            "CARGO_NET_OFFLINE",
            "CARGO_HTTP_PROXY",
            "CARGO_SOURCE_MIRROR_REGISTRY",
            "RUSTUP_HOME",
        ] {
            assert!(!is_of_another_build(name), "{name}");
        }
    }
}
