//! The Lorenzo predictors' kernels. Arithmetic is modulo two to the bits of an element, so signed and unsigned share it.
//!
//! | file | idea |
//! |---|---|
//! | `packed` | sums, differences and masks of elements as they stand in 16 bytes |
//! | `block` | block mode: differences and sums of first and second order inside segments of 1 to 1024 elements |

pub mod block;
pub(crate) mod packed;
