//! The causal codec: batches of frames, of which the host has read all but the payload; and batches of tiles that become frames.
//!
//! | module | kernels | who |
//! |---|---|---|
//! | [`tables`] | `causal_build_far` | a warp a row of a model, where shared memory does not take the tables |
//! | [`decode`] | `causal_decode_*` | a thread a chunk, both banks together; the tables in shared memory, or (`far`) in global |
//! | [`verdict`] | `causal_verdict` | a thread a chunk that was refused: why, as the CPU says it |
//! | [`digest`] | `causal_leaves`, `causal_tree`, `causal_root`, `causal_wipe` | a thread a leaf, a warp a tile: compare, or leave; zeros for refused tiles |
//! | [`count`] | `causal_count` | a block a part of a tile and a bank: how often each symbol follows each context |
//! | [`fit`] | `causal_fit` | a warp a row: frequencies, and what they cost |
//! | [`encode`] | `causal_build_encode_far`, `causal_encode_*` | as for decoding: a thread a chunk, backwards |
//! | [`frame`] | `causal_place`, `causal_pack` | a block a tile: places, header, records; a warp a chunk: the payload |
//!
//! Whatever the payload says, a chunk takes its own number of steps, and each reads within the tables and within the payload: states index
//! rows that exist, every search ends at its row's last word, and copies are clamped to the payload.

pub mod count;
pub mod decode;
pub mod digest;
pub mod encode;
pub mod fit;
pub mod frame;
pub mod tables;
pub mod verdict;
mod words;
