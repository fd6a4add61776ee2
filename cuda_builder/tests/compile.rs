//! Small kernel crates through the whole way to PTX. Skipped aloud where no toolchain for kernels is installed.

use cuda_builder::{CudaBuilder, Error, Ptx, Toolchain, ptx};
use std::fs;
use std::path::{Path, PathBuf};

/// A kernel crate of this source, called `name`, in `folder`.
fn kernel_crate(name: &str, folder: &str, source: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join(folder);
    fs::create_dir_all(root.join("src")).expect("a temporary folder");
    let manifest = format!(
        "[package]
name = \"{name}\"
edition = \"2024\"
[workspace]
[profile.release]
debug = true
lto = \"fat\"
"
    );
    fs::write(root.join("Cargo.toml"), manifest).expect("a file");
    fs::write(root.join(format!("{name}.ll")), IR).expect("a file");
    fs::write(root.join("src/lib.rs"), format!("{HEAD}{source}")).expect("a file");
    root
}

/// Compiles it. All share a target folder, since `core` takes longest; so only one test runs at a time.
fn build(root: &Path) -> Option<Result<Ptx, Error>> {
    static ONE: std::sync::Mutex<()> = std::sync::Mutex::new(());
    let _one = ONE.lock();
    match Toolchain::find() {
        Ok(toolchain) => {
            let target_dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("target");
            Some(CudaBuilder::new(root).toolchain(toolchain).target_dir(target_dir).copy_to(root.join("kernels.ptx")).build())
        }
        Err(error) => {
            println!("SKIPPED: {error}");
            None
        }
    }
}

const HEAD: &str = "#![no_std]\n#![feature(abi_ptx, asm_experimental_arch)]\n";

/// Dynamic shared memory, as `cuda_std` has it.
const IR: &str = "\
target datalayout = \"e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64\"
target triple = \"nvptx64-nvidia-cuda\"
@dynamic = external addrspace(3) global [0 x i8], align 16
define ptr @small_shared() alwaysinline nounwind willreturn memory(none) {
  ret ptr addrspacecast (ptr addrspace(3) @dynamic to ptr)
}
";

const TWO_KERNELS: &str = r#"
unsafe extern "C" { safe fn small_shared() -> *mut u32; }
#[unsafe(no_mangle)] #[used] pub static __launch_stage: [u32; 2] = [512, 2];
#[inline(never)]
fn scramble(x: u32) -> u32 { x.wrapping_mul(77) ^ (x >> 3) }
fn lane() -> u32 { let x; unsafe { core::arch::asm!("mov.u32 {}, %tid.x;", out(reg32) x) }; x }
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn stage(words: *mut u32, len: u32) {
    let i = lane();
    if i < len { unsafe {
        small_shared().add(i as usize).write_volatile(scramble(i));
        *words.add(i as usize) = small_shared().add((i ^ 1) as usize).read_volatile();
    } }
}
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn clear(words: *mut u32) { unsafe { *words.add(lane() as usize) = 0 } }
pub fn for_the_host_only() -> u32 { scramble(7) }
"#;

#[test]
fn the_same_bytes_from_any_folder() {
    let (here, there) =
        (kernel_crate("small", "here", TWO_KERNELS), kernel_crate("small", "elsewhere/and/deeper", TWO_KERNELS));
    let Some(built) = build(&here) else { return };
    let built = built.expect("sound kernels");
    let again = build(&there).expect("as before").expect("sound kernels");
    assert_eq!(built.text, again.text);
    assert_eq!(fs::read_to_string(here.join("kernels.ptx")).expect("copied"), built.text);

    assert_eq!(built.kernels.len(), 2);
    assert!(built.kernels.iter().all(|kernel| ["stage", "clear"].contains(&kernel.as_str())));
    let text = &built.text;
    assert!(text.contains(".version 7.4\n.target sm_80\n"));
    assert!(text.contains("\n.reqntid 512\n.minnctapersm 2\n{") && !text.contains("__launch_"), "{text}");
    assert!(
        text.contains("st.volatile.shared") && text.contains("ld.volatile.shared"),
        "shared memory is known as such: {text}"
    );
    for trace in ["lib.rs", "_R", "_ZN", ".file", ".loc", "elsewhere", "scramble"] {
        assert!(!text.contains(trace), "{trace:?} is in this: {text}");
    }
}

#[test]
fn a_panic_is_refused_by_the_kernels_name() {
    let source = r#"
        #[inline(never)]
        fn seventh(words: &[u32], i: u32) -> u32 { words[i as usize] }
        #[unsafe(no_mangle)]
        pub unsafe extern "ptx-kernel" fn careless(words: *mut u32, len: u32, i: u32) {
            unsafe { *words = seventh(core::slice::from_raw_parts(words, len as usize), i) }
        }
        #[unsafe(no_mangle)]
        pub unsafe extern "ptx-kernel" fn careful(words: *mut u32) { unsafe { *words = 1 } }
    "#;
    match build(&kernel_crate("panics", "panics", source)) {
        None => {}
        Some(Err(Error::Panics { kernels })) => assert_eq!(kernels, ["careless"]),
        Some(other) => panic!("{other:?}"),
    }
}

#[test]
fn compile_errors_are_passed_on() {
    match build(&kernel_crate("broken", "broken", "pub fn f() -> u32 { nonsense }")) {
        None => {}
        Some(Err(Error::Failed { program, said })) => {
            assert!(program.ends_with("cargo"), "{program:?}");
            assert!(said.contains("cannot find value `nonsense`"), "{said}");
        }
        Some(other) => panic!("{other:?}"),
    }
}

#[test]
fn a_crate_without_kernels_is_an_error() {
    let root = kernel_crate("none", "none", "pub fn f() {}");
    match build(&root) {
        None => {}
        Some(Err(Error::NoKernels { path })) => assert_eq!(path, root),
        Some(other) => panic!("{other:?}"),
    }
    assert!(ptx::kernels("").is_empty());
}
