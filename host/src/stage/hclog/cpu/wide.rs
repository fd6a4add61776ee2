//! The same loops for processors whose registers have 64 bytes.

#![forbid(unsafe_code)]

use super::words::{self, Choice};
use crate::stage::lc::Word;
use shared_types::clog::Layout;

/// [`words::choose`].
#[target_feature(enable = "avx512f,avx512bw")]
pub fn choose<T: Word>(layout: Layout, plain: &[u8]) -> Choice {
    words::choose::<T>(layout, plain)
}

/// [`words::map`].
#[target_feature(enable = "avx512f,avx512bw")]
pub fn map<T: Word>(layout: Layout, mapped: u32, plain: &mut [u8]) {
    words::map::<T>(layout, mapped, plain);
}

/// [`words::map_back`].
#[target_feature(enable = "avx512f,avx512bw")]
pub fn map_back<T: Word>(layout: Layout, mapped: u32, plain: &mut [u8]) {
    words::map_back::<T>(layout, mapped, plain);
}
