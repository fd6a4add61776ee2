//! Picks the loops compiled for the widest registers that the processor has.
//!
//! The only unsafe code of HCLOG: calls of functions that were compiled for instructions beyond the target's own.

#[cfg(target_arch = "x86_64")]
use super::wide;
use super::words::{self, Choice};
use crate::stage::lc::by_word;
use shared_types::clog::Layout;

/// Calls the function of [`wide`] where the processor has what that needs, else that of [`words`].
macro_rules! dispatch {
    ($word:expr, $function:ident($($argument:expr),*)) => {{
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bw") {
            // SAFETY: the processor has all the features that the function is compiled for; it asks nothing else.
            return unsafe { by_word!($word, wide::$function($($argument),*)) };
        }
        by_word!($word, words::$function($($argument),*))
    }};
}

/// Looks at every subchunk both ways.
pub fn choose(layout: Layout, plain: &[u8]) -> Choice {
    dispatch!(layout.word, choose(layout, plain))
}

/// Maps the words of all `mapped` subchunks.
pub fn map(layout: Layout, mapped: u32, plain: &mut [u8]) {
    dispatch!(layout.word, map(layout, mapped, plain));
}

/// Takes back what [`map`] did.
pub fn map_back(layout: Layout, mapped: u32, plain: &mut [u8]) {
    dispatch!(layout.word, map_back(layout, mapped, plain));
}
