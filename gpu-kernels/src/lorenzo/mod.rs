//! The Lorenzo predictors' kernels.
//!
//! | file | idea |
//! |---|---|
//! | `packed` | sums, differences and masks of elements as they stand in 16 bytes |

pub(crate) mod packed;
