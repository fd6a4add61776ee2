//! Launch shapes: what a kernel is compiled for is what the host launches.

/// Lanes of a warp, on every NVIDIA GPU so far.
pub const WARP_LANES: u32 = 32;

/// The block shape a kernel is written for. One constant per kernel, read by both sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Launch {
    /// Threads of a block (one-dimensional).
    pub threads: u32,
    /// Dynamic shared memory of a block, in bytes.
    pub shared_bytes: u32,
    /// Blocks that shall fit on a multiprocessor at once (bounds the registers); 0 for no wish.
    pub min_blocks: u32,
}

impl Launch {
    /// Whole warps of a block.
    pub const fn warps(self) -> u32 {
        self.threads / WARP_LANES
    }
}
