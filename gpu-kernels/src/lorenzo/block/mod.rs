//! Block mode. A *tile* is as many whole segments as fit into 16 KiB; a block takes one, each of its eight warps four rows of 512
//! bytes. Rows begin at multiples of 16 bytes whatever the length of a segment, so all accesses but those at a tile's ends are of
//! 16 bytes, and no block needs to know of another.
//!
//! | file | idea |
//! |---|---|
//! | `tile` | which elements a lane has, where segments begin among them, loads and stores |
//! | `difference` | differences along a warp's rows |
//! | `forward` | differences without centering |
//! | `sums` | the segments' sums and means in shared memory |
//! | `center` | means of the segments, then differences |
//! | `scan` | sums along a warp's rows |
//! | `inverse` | sums; means added |
//!
//! Kernels come in five kinds, see `BlockKind`. (Sums over whole tiles, less what stands before a segment, take fewer instructions where
//! segments are of any length, but two barriers a pass and more registers, and up to 1.5 times as long.)

pub mod center;
pub(super) mod difference;
pub mod forward;
pub mod inverse;
pub(super) mod scan;
pub(super) mod sums;
pub(super) mod tile;

/// Repeats `$body` for the rows 0 to 3, each time with `$i` as a constant, so that rows stay in registers.
#[cfg(target_arch = "nvptx64")]
macro_rules! for_lines {
    ($i:ident => $body:expr) => {{
        for_lines!($i, $body, 0, 1, 2, 3);
    }};
    ($i:ident, $body:expr, $($row:literal),*) => {$({
        const $i: usize = $row;
        $body
    })*};
}
/// The same as a loop: on the host, time to compile counts.
#[cfg(not(target_arch = "nvptx64"))]
macro_rules! for_lines {
    ($i:ident => $body:expr) => {
        #[allow(non_snake_case, clippy::needless_range_loop, reason = "a constant on a device")]
        for $i in 0..shared_types::lorenzo::ROWS as usize {
            $body
        }
    };
}
pub(crate) use for_lines;

/// Rows of a warp.
pub(crate) const LINES: usize = shared_types::lorenzo::ROWS as usize;
