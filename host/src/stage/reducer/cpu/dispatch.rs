//! Picks the fastest code that the processor runs. All of it gives the same bytes.
//!
//! The only unsafe code of the reducers: calls of functions that were compiled for instructions beyond the target's own.

#[cfg(target_arch = "x86_64")]
use super::vbmi2;
use super::{Counts, plain};
use shared_types::lc::WordSize;

/// Whether the processor has all that the code for AVX-512 is compiled for.
#[cfg(target_arch = "x86_64")]
fn has_vbmi2() -> bool {
    use std::sync::LazyLock;
    static HAS: LazyLock<bool> = LazyLock::new(|| {
        is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512cd")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("avx512vbmi")
            && is_x86_feature_detected!("avx512vbmi2")
            && is_x86_feature_detected!("avx512bitalg")
            && is_x86_feature_detected!("avx512vpopcntdq")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("lzcnt")
            && is_x86_feature_detected!("popcnt")
    });
    *HAS
}

/// Calls the function for AVX-512 where the processor has it and `$bytes` are whole multiples of `$block`, else the plain one.
macro_rules! dispatch {
    ($word:expr, $bytes:expr, $block:expr, $function:ident::<_ $(, $repeat:ident)?>($($argument:expr),*)) => {
        match $word {
            WordSize::W1 => dispatch!(@ $bytes, $block, $function::<u8 $(, $repeat)?>, $($argument),*),
            WordSize::W2 => dispatch!(@ $bytes, $block, $function::<u16 $(, $repeat)?>, $($argument),*),
            WordSize::W4 => dispatch!(@ $bytes, $block, $function::<u32 $(, $repeat)?>, $($argument),*),
            WordSize::W8 => dispatch!(@ $bytes, $block, $function::<u64 $(, $repeat)?>, $($argument),*),
        }
    };
    (@ $bytes:expr, $block:expr, $function:ident $(::<$word:ident $(, $repeat:ident)?>)?, $($argument:expr),*) => {{
        #[cfg(target_arch = "x86_64")]
        if $bytes.is_multiple_of($block) && has_vbmi2() {
            // SAFETY: the processor has all the features that the function is compiled for; it asks nothing else.
            return unsafe { vbmi2::$function$(::<$word $(, $repeat)?>)?($($argument),*) };
        }
        plain::$function$(::<$word $(, $repeat)?>)?($($argument),*)
    }};
}

/// Flags the words that have anything new.
pub fn flag_whole<const REPEAT: bool>(word: WordSize, words: &[u8], flags: &mut [u8]) {
    dispatch!(word, words.len(), vbmi2::BLOCK_BYTES, flag_whole::<_, REPEAT>(words, flags));
}

/// The bits that each word has new.
pub fn lengths<const REPEAT: bool>(word: WordSize, words: &[u8], lengths: &mut [u8]) {
    dispatch!(word, words.len(), vbmi2::BLOCK_BYTES, lengths::<_, REPEAT>(words, lengths));
}

/// How many of the lengths are at most `k`, for `k` up to `bits`.
pub fn count(lengths: &[u8], bits: usize) -> Counts {
    dispatch!(@ lengths.len(), vbmi2::GROUP_BYTES, count, lengths, bits)
}

/// Flags the words whose length is above `keep`.
pub fn flag_longer(lengths: &[u8], keep: u8, flags: &mut [u8]) {
    dispatch!(@ lengths.len(), vbmi2::GROUP_BYTES, flag_longer, lengths, keep, flags);
}

/// A bit for each byte of `below`, behind its padding, which differs from the byte before.
pub fn changes(below: &[u8], above: &mut [u8]) {
    dispatch!(@ below.len(), vbmi2::GROUP_BYTES, changes, below, above);
}

/// Moves the bytes of `level` whose bit in `bits` is set to the front of `coded`, which has room for the slack: how many.
pub fn gather(level: &[u8], bits: &[u8], coded: &mut [u8]) -> usize {
    dispatch!(@ level.len(), vbmi2::GROUP_BYTES, gather, level, bits, coded)
}

/// Takes back what [`gather`] did. `stored` has as many bytes as there are bits.
pub fn repeat(bits: &[u8], stored: &[u8], level: &mut [u8]) {
    dispatch!(@ level.len(), vbmi2::GROUP_BYTES, repeat, bits, stored, level);
}

/// Moves the flagged words to the front of `coded`, which has room for the slack, and behind them `keep` bits of each of the
/// others.
pub fn pick(word: WordSize, words: &[u8], flags: &[u8], flagged: usize, keep: usize, coded: &mut [u8]) {
    dispatch!(word, words.len(), vbmi2::BLOCK_BYTES, pick::<_>(words, flags, flagged, keep, coded));
}

/// Takes back what [`pick`] did.
pub fn place<const REPEAT: bool>(word: WordSize, flags: &[u8], whole: &[u8], low: &[u8], keep: usize, words: &mut [u8]) {
    dispatch!(word, words.len(), vbmi2::BLOCK_BYTES, place::<_, REPEAT>(flags, whole, low, keep, words));
}
