//! The driver is found at run time: with a driver of our own making, with a broken one, and with one that lacks functions.
//!
//! Each case is a process of its own, since a process looks for the driver once: the tests start themselves again.
#![cfg(feature = "cuda")]

use std::ffi::{CStr, c_char};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};
use warpack::Error;
use warpack::backend::{Backend, BackendChoice, DeviceInfo, devices};

/// Set in the processes that the tests start.
const INSIDE: &str = "WARPACK_TEST_DRIVER";

// As the driver declares them; the library defines these names.
unsafe extern "C" {
    fn cuInit(flags: u32) -> u32;
    fn cuGetErrorString(code: u32, text: *mut *const c_char) -> u32;
    fn cuLaunchKernel(
        function: usize,
        grid_x: u32,
        grid_y: u32,
        grid_z: u32,
        block_x: u32,
        block_y: u32,
        block_z: u32,
        shared_bytes: u32,
        stream: usize,
        arguments: usize,
        extra: usize,
    ) -> u32;
    fn cuTexRefSetMipmapLevelClamp(texture: usize, min: f32, max: f32) -> u32;
    fn cuStreamSynchronize(stream: usize) -> u32;
}

/// A driver with two devices, of which one is too old, and with few functions.
const FAKE: &str = r#"
use std::ffi::{c_char, c_int, c_void};
#[unsafe(no_mangle)] pub extern "C" fn cuInit(_: u32) -> u32 { 0 }
#[unsafe(no_mangle)] pub unsafe extern "C" fn cuDriverGetVersion(v: *mut c_int) -> u32 { unsafe { *v = 12040 }; 0 }
#[unsafe(no_mangle)] pub unsafe extern "C" fn cuDeviceGetCount(n: *mut c_int) -> u32 { unsafe { *n = 2 }; 0 }
#[unsafe(no_mangle)] pub unsafe extern "C" fn cuDeviceGet(d: *mut c_int, n: c_int) -> u32 { unsafe { *d = 40 + n }; 0 }
#[unsafe(no_mangle)] pub unsafe extern "C" fn cuDeviceGetName(s: *mut c_char, _: c_int, d: c_int) -> u32 {
    let name: &[u8] = if d == 40 { b"Old\0" } else { b"New\0" };
    unsafe { s.copy_from(name.as_ptr().cast(), name.len()) }; 0
}
#[unsafe(no_mangle)] pub unsafe extern "C" fn cuDeviceTotalMem_v2(n: *mut usize, _: c_int) -> u32 { unsafe { *n = 3 << 30 }; 0 }
#[unsafe(no_mangle)] pub unsafe extern "C" fn cuDeviceGetAttribute(v: *mut c_int, a: c_int, d: c_int) -> u32 {
    // 75 and 76: compute capability; 16: multiprocessors.
    unsafe { *v = match a { 75 => d - 33, 76 => 0, 16 => 132, _ => -1 } }; 0
}
// More arguments than registers: the answer tells whether each came through.
#[unsafe(no_mangle)] pub extern "C" fn cuLaunchKernel(
    f: usize, gx: u32, gy: u32, gz: u32, bx: u32, by: u32, bz: u32, s: u32, st: usize, a: *const c_void, e: *const c_void,
) -> u32 {
    let all = [f, gx as usize, gy as usize, gz as usize, bx as usize, by as usize, bz as usize, s as usize, st, a as usize, e as usize];
    if all.iter().enumerate().all(|(i, v)| *v == 1001 * (i + 1)) { 4321 } else { 1 }
}
#[unsafe(no_mangle)] pub extern "C" fn cuTexRefSetMipmapLevelClamp(t: usize, min: f32, max: f32) -> u32 {
    if (t, min, max) == (5, 0.25, -8.5) { 1234 } else { 1 }
}
"#;

/// Runs the test `name` of this file again, with `library` as the machine's driver.
fn again(name: &str, library: &Path) {
    let folder = library.parent().expect("a file in a folder");
    let mut path = folder.as_os_str().to_owned();
    if let Some(rest) = env::var_os("LD_LIBRARY_PATH") {
        path.push(":");
        path.push(rest);
    }
    let program = env::current_exe().expect("this program");
    let output = Command::new(program).args(["--exact", name]).env(INSIDE, name).env("LD_LIBRARY_PATH", path).output();
    let output = output.expect("this program runs again");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{said}{}", String::from_utf8_lossy(&output.stderr));
}

fn folder(name: &str) -> PathBuf {
    let folder = env::temp_dir().join(format!("warpack-driver-{name}-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a temporary folder");
    folder
}

#[test]
fn a_driver_is_found_and_called() {
    if env::var_os(INSIDE).is_none() {
        let folder = folder("fake");
        let (source, library) = (folder.join("fake.rs"), folder.join("libcuda.so.1"));
        fs::write(&source, FAKE).expect("a file");
        let rustc = env::var_os("RUSTC").unwrap_or("rustc".into());
        let mut compile = Command::new(rustc);
        compile.args(["--edition=2024", "--crate-type=cdylib", "-Cpanic=abort", "-o"]).arg(&library).arg(&source);
        match compile.output() {
            Err(error) => println!("SKIPPED: no rustc to make a driver with: {error}"),
            Ok(output) => {
                assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
                again("a_driver_is_found_and_called", &library);
            }
        }
        fs::remove_dir_all(&folder).expect("our own folder");
        return;
    }
    // In threads, so that several resolve the same function at once.
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                // SAFETY: our own driver looks at plain numbers only.
                let launched = unsafe { cuLaunchKernel(1001, 2002, 3003, 4004, 5005, 6006, 7007, 8008, 9009, 10010, 11011) };
                assert_eq!(launched, 4321);
                // SAFETY: as above.
                assert_eq!(unsafe { cuTexRefSetMipmapLevelClamp(5, 0.25, -8.5) }, 1234);
            });
        }
    });
    // SAFETY: our driver lacks it, so nothing is done.
    assert_eq!(unsafe { cuStreamSynchronize(0) }, 500);

    let list = devices().expect("two devices");
    let new = DeviceInfo {
        index: 1,
        name: "New".into(),
        memory_bytes: 3 << 30,
        compute_capability: (8, 0),
        multiprocessors: 132,
        driver_version: (12, 4),
        unusable: None,
    };
    assert_eq!(list[1], new);
    assert_eq!(list[1].to_string(), "cuda:1 New, 3.0 GiB, 132 multiprocessors, compute capability 8.0, driver for CUDA 12.4");
    assert_eq!(list[0].unusable.as_deref(), Some("has compute capability 7.0, the kernels need 8.0"));
    let old = Backend::cuda(0).expect_err("too old");
    assert_eq!(
        old,
        Error::Cuda { call: "open", message: "Old (cuda:0): has compute capability 7.0, the kernels need 8.0".into() }
    );
    assert_eq!(Backend::cuda(2).expect_err("two devices"), Error::NoDevice { index: 2, devices: 2 });
    // The usable one is tried, and needs a function that this driver lacks.
    let lacking = Error::Cuda { call: "cuDevicePrimaryCtxRetain", message: "unknown error 500".into() };
    assert_eq!(BackendChoice::Cuda(None).open().expect_err("no contexts"), lacking);
    assert_eq!(Backend::auto().to_string(), "cpu");
}

#[test]
fn a_broken_driver_is_an_error() {
    if env::var_os(INSIDE).is_none() {
        let folder = folder("broken");
        let library = folder.join("libcuda.so.1");
        fs::write(&library, "no library").expect("a file");
        again("a_broken_driver_is_an_error", &library);
        fs::remove_dir_all(&folder).expect("our own folder");
        return;
    }
    // SAFETY: whatever the driver, this may be called.
    assert_eq!(unsafe { cuInit(0) }, 100);
    let mut text = std::ptr::null();
    // SAFETY: `text` is a place for one pointer.
    assert_eq!(unsafe { cuGetErrorString(100, &mut text) }, 0);
    // SAFETY: set by the call above, to a text that ends with a 0.
    assert_eq!(unsafe { CStr::from_ptr(text) }, c"no NVIDIA driver");
    match devices() {
        Err(Error::Cuda { call: "dlopen", message }) => {
            assert!(message.starts_with("no NVIDIA driver: ") && message.contains("libcuda.so.1"), "{message}");
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(Backend::auto().to_string(), "cpu");
}
