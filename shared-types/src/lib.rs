//! What Warpack's kernels, CPU backend and readers must agree on: layouts, launch shapes, status
//! codes and the arithmetic that places bytes. `no_std`, so that device code can use all of it.
#![no_std]
#![forbid(unsafe_code)]

pub mod causal;
pub mod causal_send;
pub mod clog;
pub mod launch;
pub mod lc;
pub mod lorenzo;
pub mod lorenzo_nd;
pub mod lorenzo_tiled;
pub mod reducer;
