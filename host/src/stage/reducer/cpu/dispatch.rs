//! Picks the fastest code that the processor runs. All of it gives the same bytes.
//!
//! The only unsafe code of the reducers: calls of functions that were compiled for instructions beyond the target's own.

#[cfg(target_arch = "x86_64")]
use super::vbmi2;
use super::{Counts, Payload, plain};
use crate::stage::lc::Scratch;
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

/// How many words have at most `k` bits new, for every `k` up to all: those that differ from the word before, or just those of
/// the word.
pub fn count<const REPEAT: bool>(word: WordSize, words: &[u8]) -> Counts {
    dispatch!(word, words.len(), vbmi2::BLOCK_BYTES, count::<_, REPEAT>(words))
}

/// Flags the words that have more than `keep` bits new: how many. No flag is set before.
pub fn flag<const REPEAT: bool>(word: WordSize, words: &[u8], keep: usize, flags: &mut [u8]) -> usize {
    dispatch!(word, words.len(), vbmi2::BLOCK_BYTES, flag::<_, REPEAT>(words, keep, flags))
}

/// How many bits are set.
pub fn ones(bytes: &[u8]) -> usize {
    dispatch!(@ bytes.len(), 8, ones, bytes)
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
pub fn pick(word: WordSize, words: &[u8], flags: &[u8], flagged: usize, keep: usize, scratch: &mut Scratch) {
    dispatch!(word, words.len(), vbmi2::BLOCK_BYTES, pick::<_>(words, flags, flagged, keep, scratch));
}

/// Takes back what [`pick`] did.
pub fn place<const REPEAT: bool>(word: WordSize, flags: &[u8], payload: Payload<'_>, scratch: &mut Scratch, words: &mut [u8]) {
    dispatch!(word, words.len(), vbmi2::BLOCK_BYTES, place::<_, REPEAT>(flags, payload, scratch, words));
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::super::super::bitmap::PAD_BYTES;
    use super::*;
    use crate::stage::lc::{Word, by_word};

    /// Words of up to `bits` bits, which repeat the one before or are 0 as often as `rare` says.
    fn chunk(word: WordSize, bytes: usize, bits: u32, rare: u64) -> Vec<u8> {
        let (mut plain, mut state, mut number) = (Vec::new(), u64::from(bits) + rare, 0);
        while plain.len() < bytes {
            let mut next = || {
                state = state.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(0x1405_7B7E_F767_814F);
                state ^ state >> 29
            };
            number = match next() % (rare + 2) {
                0 => 0,
                1 => next() & u64::MAX.checked_shr(64 - bits).unwrap_or(0),
                _ => number,
            };
            plain.extend_from_slice(&number.to_le_bytes()[..word.bytes() as usize]);
        }
        plain
    }

    fn assert_alike<T: Word>(chunk: &[u8]) {
        for at in [0, 1] {
            // SAFETY: the test asked for the features.
            let counts = unsafe { [vbmi2::count::<T, true>(chunk), vbmi2::count::<T, false>(chunk)][at] };
            assert_eq!(counts, [plain::count::<T, true>(chunk), plain::count::<T, false>(chunk)][at]);
        }
        for keep in 0..8 * T::BYTES {
            let flag_bytes = (chunk.len() / T::BYTES / 8).max(64);
            let [mut flags, mut repeats, mut zeros] = [0; 3].map(|zero| vec![zero; flag_bytes]);
            let flagged = plain::flag::<T, true>(chunk, keep, &mut flags);
            assert_eq!(plain::ones(&flags), flagged);
            // SAFETY: as above.
            let found = unsafe { vbmi2::flag::<T, true>(chunk, keep, &mut repeats) };
            assert_eq!((found, &repeats), (flagged, &flags));
            let mut expected = vec![0; flag_bytes];
            let flagged_zero = plain::flag::<T, false>(chunk, keep, &mut expected);
            // SAFETY: as above.
            let found = unsafe { vbmi2::flag::<T, false>(chunk, keep, &mut zeros) };
            assert_eq!((found, &zeros), (flagged_zero, &expected));

            let (mut scratch, mut expected) = (Scratch::new(), Scratch::new());
            plain::pick::<T>(chunk, &flags, flagged, keep, &mut expected);
            // SAFETY: as above.
            unsafe { vbmi2::pick::<T>(chunk, &flags, flagged, keep, &mut scratch) };
            let low_bytes = (keep * (chunk.len() / T::BYTES - flagged)).div_ceil(8);
            let payload = expected.coded(flagged * T::BYTES + low_bytes);
            assert!(scratch.coded(payload.len()) == payload, "{flagged} words and {low_bytes} bytes of {keep} bits");
            let (whole, low) = payload.split_at(flagged * T::BYTES);
            let payload = Payload { whole, low, keep };
            let mut again = vec![0xA5; chunk.len()];
            plain::place::<T, true>(&flags, payload, &mut scratch, &mut again);
            assert!(again == chunk, "{flagged} words and {low_bytes} bytes of {keep} bits");
            again.fill(0xA5);
            // SAFETY: as above.
            unsafe { vbmi2::place::<T, true>(&flags, payload, &mut scratch, &mut again) };
            assert!(again == chunk, "{flagged} words and {low_bytes} bytes of {keep} bits");
            let mut others = vec![0xA5; chunk.len()];
            plain::place::<T, false>(&flags, payload, &mut scratch, &mut again);
            // SAFETY: as above.
            unsafe { vbmi2::place::<T, false>(&flags, payload, &mut scratch, &mut others) };
            assert!(again == others, "{flagged} words and {low_bytes} bytes of {keep} bits");

            assert_levels_alike(&flags);
        }
    }

    fn assert_levels_alike(level: &[u8]) {
        let padded = [&[0; PAD_BYTES], level].concat();
        let [mut bits, mut expected_bits] = [0; 2].map(|zero| vec![zero; level.len() / 8]);
        plain::changes(&padded, &mut expected_bits);
        // SAFETY: the test asked for the features.
        unsafe { vbmi2::changes(&padded, &mut bits) };
        assert_eq!(bits, expected_bits);
        let [mut stored, mut expected] = [0xA5; 2].map(|fill| vec![fill; level.len() + 64]);
        let bytes = plain::gather(level, &bits, &mut expected);
        // SAFETY: as above.
        assert_eq!(unsafe { vbmi2::gather(level, &bits, &mut stored) }, bytes);
        assert_eq!(stored[..bytes], expected[..bytes]);
        assert_eq!([plain::ones(&bits), ones(&bits)], [bytes; 2]);
        for again in [plain::repeat, |bits: &[u8], stored: &[u8], level: &mut [u8]| unsafe {
            // SAFETY: as above.
            vbmi2::repeat(bits, stored, level);
        }] {
            let mut level_again = vec![0xA5; level.len()];
            again(&bits, &stored[..bytes], &mut level_again);
            assert_eq!(level_again, level);
        }
    }

    #[test]
    fn both_give_the_same_bytes() {
        if !has_vbmi2() {
            return;
        }
        for word in WordSize::ALL {
            for (bytes, bits) in [(16_384, 3), (16_384, 64), (8192, 9), (4096, 8), (1024, 40)] {
                for rare in [0, 3, 200] {
                    let chunk = chunk(word, bytes, bits, rare);
                    by_word!(word, assert_alike(&chunk));
                }
            }
        }
    }
}
