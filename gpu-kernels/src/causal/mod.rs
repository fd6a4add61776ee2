//! The causal codec: batches of frames, of which the host has read all but the payload.
//!
//! | module | kernels | who |
//! |---|---|---|
//! | [`tables`] | `causal_build_far` | a warp a row of a model, where shared memory does not take the tables |
//! | [`decode`] | `causal_decode_*` | a thread a chunk, both banks together; the tables in shared memory, or (`far`) in global |
//! | [`verdict`] | `causal_verdict` | a thread a chunk that was refused: why, as the CPU says it |
//! | [`digest`] | `causal_leaves`, `causal_tree`, `causal_wipe` | a thread a leaf, a warp a tile: compare; zeros for refused tiles |
//!
//! Whatever the payload says, a chunk takes its own number of steps, and each reads within the tables and within the payload: states index
//! rows that exist, every search ends at its row's last word, and copies are clamped to the payload.

pub mod decode;
pub mod digest;
pub mod tables;
pub mod verdict;
