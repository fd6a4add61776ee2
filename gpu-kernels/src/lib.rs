//! Warpack's kernels: one source, compiled to PTX for devices and run by the emulator of `cuda_std` on the host.
//!
//! | module | kernels |
//! |---|---|
//! | [`causal`] | the causal codec's frames: decode, verdicts, digests |
//! | [`clog`] | CLOG's full chunks and its short last chunk, both directions, per word size and chunk size |
//! | [`reducer`] | RRE, RZE, RARE and RAZE |
//! | [`lorenzo`] | the Lorenzo predictors: block mode and N-D, both directions
//! | [`lc`] | the container around the LC components: checks and offsets of its entries |
//! | [`collectives`] | what kernels share: look-back, copying out |
#![cfg_attr(target_arch = "nvptx64", no_std, feature(abi_ptx))]
#![allow(clippy::precedence, reason = "shifts and masks stand beside each other in every line")]
#![allow(clippy::too_many_arguments, reason = "pointers inside a struct become generic accesses")]

mod bits128;
pub mod causal;
pub mod clog;
pub mod collectives;
pub mod lc;
pub mod lorenzo;
pub mod reducer;

/// Plain bytes of a row: 16 a lane of a warp.
const ROW_BYTES: u32 = 512;

/// Rows of a warp.
const ROWS: usize = 8;

/// Repeats `$body` for the rows 0 to 7, each time with `$i` as a constant. The compiler gives up on unrolling bodies of this
/// size, and registers can't be indexed by a variable: a loop would put the rows into local memory.
#[cfg(target_arch = "nvptx64")]
macro_rules! for_rows {
    ($i:ident => $body:expr) => {{
        for_rows!($i, $body, 0, 1, 2, 3, 4, 5, 6, 7);
    }};
    ($i:ident, $body:expr, $($row:literal),*) => {$({
        const $i: usize = $row;
        $body
    })*};
}
/// The same as a loop: on the host, time to compile counts.
#[cfg(not(target_arch = "nvptx64"))]
macro_rules! for_rows {
    ($i:ident => $body:expr) => {
        #[allow(non_snake_case, clippy::needless_range_loop, reason = "a constant on a device")]
        for $i in 0..$crate::ROWS {
            $body
        }
    };
}
use for_rows;

/// A kernel has nowhere to panic to: the PTX gate refuses kernels that could get here.
#[cfg(target_arch = "nvptx64")]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}
