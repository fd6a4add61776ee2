//! Puts the kernels' PTX where the library embeds it: the committed PTX where it is that of the sources, a fresh build otherwise.
//! Stale PTX is never used.

#[cfg(not(feature = "cuda"))]
fn main() {
    println!("cargo::rerun-if-changed=build.rs");
}

#[cfg(feature = "cuda")]
fn main() {
    use cuda_builder::{Toolchain, committed::Committed};
    use std::path::PathBuf;
    use std::{env, fs};

    let variable = |name| PathBuf::from(env::var_os(name).expect("cargo sets it"));
    let checkout = variable("CARGO_MANIFEST_DIR").join("..");
    let out = variable("OUT_DIR");
    let committed = Committed::in_checkout(checkout);
    for path in committed.watched() {
        println!("cargo::rerun-if-changed={}", path.display());
    }
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=CUDA_BUILDER_RUSTC");
    println!("cargo::rerun-if-env-changed=CUDA_BUILDER_LLVM");

    let ptx = committed.current().or_else(|stale| {
        let built = Toolchain::find().and_then(|toolchain| committed.compile(&toolchain, &out.join("cuda_builder")));
        built.map_err(|error| format!("{stale}, and the kernels can't be compiled here: {error}"))
    });
    match ptx {
        Ok(ptx) => fs::write(out.join("kernels.ptx"), ptx).expect("cargo's own folder can be written"),
        // One line of cargo's for each of ours.
        Err(message) => message.lines().for_each(|line| println!("cargo::error={line}")),
    }
}
