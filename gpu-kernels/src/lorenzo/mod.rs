//! The Lorenzo predictors' kernels. Arithmetic is modulo two to the bits of an element, so signed and unsigned share it.
//!
//! | file | idea |
//! |---|---|
//! | `nd` | differences and sums along two and three axes, whatever their extents |
//! | `tiled` | differences inside small tiles, whose elements stand together in the output |
//! | `element` | elements one by one, and where they stand in shared memory |
//! | `packed` | sums, differences and masks of elements as they stand in 16 bytes |
//! | `block` | block mode: differences and sums of first and second order inside segments of 1 to 1024 elements |
//! | `adaptive` | tiles that choose order and centering by what a coder of bit planes would take |
//! | `fused` | block mode of segments that divide 4096 bytes, zigzag and CLOG in one kernel |

pub mod adaptive;
pub mod block;
mod element;
pub mod fused;
pub mod nd;
pub(crate) mod packed;
pub mod tiled;
