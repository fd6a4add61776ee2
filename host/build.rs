//! Puts the kernels' PTX where the library embeds it.

use std::path::Path;
use std::{env, fs};

fn main() {
    let ptx = Path::new("../gpu-kernels/ptx/kernels.ptx");
    println!("cargo::rerun-if-changed={}", ptx.display());
    let out = env::var("OUT_DIR").expect("cargo sets it");
    fs::copy(ptx, Path::new(&out).join("kernels.ptx")).expect("the PTX is there");
}
