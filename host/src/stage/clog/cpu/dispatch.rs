//! Picks the fastest code that the processor runs. All of it gives the same bytes.
//!
//! The only unsafe code of the CPU side: calls of functions that were compiled for instructions beyond the target's own.

use super::super::format::Widths;
#[cfg(target_arch = "x86_64")]
use super::{bmi2, vbmi};
use super::{even, words};
use shared_types::clog::Layout;
use shared_types::lc::WordSize;

/// What the code of even chunks is compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Nothing beyond the target.
    Plain,
    /// The plain source with bit extract and deposit: Intel since Alder Lake, AMD since Zen 3.
    #[cfg(target_arch = "x86_64")]
    Bmi2,
    /// 64-byte vectors with byte permutes: Intel since Ice Lake, AMD since Zen 4.
    #[cfg(target_arch = "x86_64")]
    Vbmi,
}

impl Level {
    /// All that this processor runs, slowest first.
    pub fn available() -> &'static [Self] {
        #[cfg(target_arch = "x86_64")]
        {
            const ALL: [Level; 3] = [Level::Plain, Level::Bmi2, Level::Vbmi];
            // The standard library asks the processor once and remembers.
            let bmi2 = is_x86_feature_detected!("avx2")
                && is_x86_feature_detected!("bmi1")
                && is_x86_feature_detected!("bmi2")
                && is_x86_feature_detected!("lzcnt");
            // Zen 1 and 2 extract and deposit bit by bit, slower than the plain source. All that came later have this.
            let quick = bmi2 && is_x86_feature_detected!("vpclmulqdq");
            let vbmi = quick
                && is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512vbmi");
            &ALL[..1 + usize::from(quick) + usize::from(vbmi)]
        }
        #[cfg(not(target_arch = "x86_64"))]
        &[Self::Plain]
    }

    fn best() -> Self {
        *Self::available().last().unwrap_or(&Self::Plain)
    }
}

/// Calls `$function` of the module for `$level`, compiled for words of `$word`.
macro_rules! dispatch {
    ($word:expr, $level:expr, $function:ident($($argument:expr),*)) => {
        match $word {
            WordSize::W1 => dispatch!(@ $level, $function::<1>($($argument),*)),
            WordSize::W2 => dispatch!(@ $level, $function::<2>($($argument),*)),
            WordSize::W4 => dispatch!(@ $level, $function::<4>($($argument),*)),
            WordSize::W8 => dispatch!(@ $level, $function::<8>($($argument),*)),
        }
    };
    (@ $level:expr, $function:ident::<$w:literal>($($argument:expr),*)) => {
        match $level {
            Level::Plain => even::$function::<$w>($($argument),*),
            // SAFETY: a level is only ever taken from `Level::available`, which asked the processor for all the features
            // that this function is compiled for; it asks nothing else of its caller.
            #[cfg(target_arch = "x86_64")]
            Level::Bmi2 => unsafe { bmi2::$function::<$w>($($argument),*) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Level::Vbmi => unsafe { vbmi::$function::<$w>($($argument),*) },
        }
    };
}

/// Calls `$function` of [`words`], compiled for the layout's words.
macro_rules! by_word {
    ($layout:expr, $function:ident($($argument:expr),*)) => {
        match $layout.word {
            WordSize::W1 => words::$function::<1>($layout, $($argument),*),
            WordSize::W2 => words::$function::<2>($layout, $($argument),*),
            WordSize::W4 => words::$function::<4>($layout, $($argument),*),
            WordSize::W8 => words::$function::<8>($layout, $($argument),*),
        }
    };
}

/// The width of every subchunk.
pub fn widths(layout: Layout, words: &[u8]) -> Widths {
    if even::is_even(layout) { dispatch!(layout.word, Level::best(), widths(words)) } else { by_word!(layout, widths(words)) }
}

/// Packs `words` to the front of `payload`, which has room for [`even::SLACK_BYTES`] behind them.
pub fn pack(layout: Layout, widths: &Widths, words: &[u8], payload: &mut [u8]) {
    if even::is_even(layout) {
        dispatch!(layout.word, Level::best(), pack(widths, words, payload));
    } else {
        by_word!(layout, pack(widths, words, payload));
    }
}

/// Takes back what [`pack`] packed.
pub fn unpack(layout: Layout, widths: &Widths, payload: &[u8], words: &mut [u8]) {
    if even::is_even(layout) {
        dispatch!(layout.word, Level::best(), unpack(widths, payload, words));
    } else {
        by_word!(layout, unpack(widths, payload, words));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shared_types::clog::SUBCHUNKS;

    /// Subchunks of every width that words of `word` have, from `first` on.
    fn chunk(word: WordSize, len: u32, first: u32) -> Vec<u8> {
        let (bytes, mut state) = (word.bytes() as usize, 1u64);
        let mut plain = vec![0; len as usize];
        for (s, subchunk) in (first..).zip(plain.chunks_mut((len / SUBCHUNKS) as usize)) {
            let mask = u64::MAX.checked_shr(64 - s % (word.bits() + 1)).unwrap_or(0);
            for place in subchunk.chunks_mut(bytes) {
                state = state.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(0x1405_7B7E_F767_814F);
                let value = (state ^ state >> 29) & mask;
                place.copy_from_slice(&value.to_le_bytes()[..bytes]);
            }
            // The width's own bit, in the last word.
            let top = mask ^ mask >> 1;
            for (place, top) in subchunk[(len / SUBCHUNKS) as usize - bytes..].iter_mut().zip(top.to_le_bytes()) {
                *place |= top;
            }
        }
        plain
    }

    #[test]
    fn all_levels_give_the_bytes_of_one_word_at_a_time() {
        for word in WordSize::ALL {
            for (len, first) in [2048, 4096, 8192, 16_384].into_iter().flat_map(|len| [0, 20, 33, 40].map(|first| (len, first)))
            {
                let layout = Layout { len, word };
                assert!(even::is_even(layout));
                let plain = chunk(word, len, first);
                let widths = by_word!(layout, widths(&plain));
                assert_eq!(u32::from(widths.0[1]), (first + 1) % (word.bits() + 1));
                let payload_bytes = widths.payload_bits(layout) as usize / 8;
                let mut expected = vec![0; payload_bytes];
                by_word!(layout, pack(&widths, &plain, &mut expected));
                let mut again = vec![0xA5; plain.len()];
                by_word!(layout, unpack(&widths, &expected, &mut again));
                assert!(again == plain, "{layout:?} from {first}");
                for &level in Level::available() {
                    let at = format!("{layout:?} from {first}, {level:?}");
                    assert_eq!(dispatch!(word, level, widths(&plain)), widths, "{at}");
                    let mut payload = vec![0xA5; payload_bytes + even::SLACK_BYTES];
                    dispatch!(word, level, pack(&widths, &plain, &mut payload));
                    assert!(payload[..payload_bytes] == expected, "{at}");
                    let mut again = vec![0xA5; plain.len()];
                    dispatch!(word, level, unpack(&widths, &expected, &mut again));
                    assert!(again == plain, "{at}");
                }
            }
        }
    }
}
