//! Plain chunk to coded chunk.

#![forbid(unsafe_code)]

use super::bitmap::Bitmap;
use super::cpu::{self, Counts};
use super::format::{Form, Layout};
use crate::stage::lc::Scratch;

const _: () = assert!(cpu::SLACK_BYTES <= Scratch::SLACK_BYTES);

/// How a chunk is going to be coded.
struct Plan {
    form: Form,
    /// How many words are flagged.
    flagged: usize,
    /// Bytes of the encoding.
    size: usize,
}

/// Bytes of the encoding of `plain`, or `None` if that is not below `limit`.
pub fn measure<const REPEAT: bool>(layout: Layout, plain: &[u8], limit: usize) -> Option<usize> {
    let size = plan::<REPEAT>(layout, plain, &mut layout.bitmap()).size;
    (size < limit).then_some(size)
}

/// Codes `plain` to the front of `scratch`: the bytes used, or `None` if they were not below `limit`.
pub fn encode<const REPEAT: bool>(layout: Layout, plain: &[u8], limit: usize, scratch: &mut Scratch) -> Option<usize> {
    let mut bitmap = layout.bitmap();
    let Plan { form, flagged, size } = plan::<REPEAT>(layout, plain, &mut bitmap);
    if size >= limit {
        return None;
    }
    let (words, leftover) = plain.split_at(plain.len() - layout.leftover());
    match form {
        Form::Zeros => {}
        Form::Whole => scratch.bytes_mut()[..words.len()].copy_from_slice(words),
        Form::Reduced { keep } => {
            cpu::pick(layout.settings.word, words, bitmap.flags(), flagged, keep, scratch);
            let payload_bytes = layout.word_payload_bits(flagged, keep).div_ceil(8);
            bitmap.write(&mut scratch.bytes_mut()[payload_bytes..]);
        }
    }
    let (front, tag) = scratch.bytes_mut()[..size].split_at_mut(size - layout.tag_bytes());
    let at = front.len() - leftover.len();
    front[at..].copy_from_slice(leftover);
    form.write(layout, tag);
    Some(size)
}

/// Flags the words of `plain` in the empty `bitmap`, and measures.
fn plan<const REPEAT: bool>(layout: Layout, plain: &[u8], bitmap: &mut Bitmap) -> Plan {
    let words = &plain[..plain.len() - layout.leftover()];
    let around = layout.leftover() + layout.tag_bytes();
    let form = if layout.upper { choose::<REPEAT>(layout, words) } else { Form::Reduced { keep: 0 } };
    match form {
        Form::Zeros => Plan { form, flagged: 0, size: around },
        Form::Whole => Plan { form, flagged: 0, size: words.len() + around },
        Form::Reduced { keep } => {
            let flagged = cpu::flag::<REPEAT>(layout.settings.word, words, keep, bitmap.flags_mut());
            if flagged == 0 && !layout.upper {
                return Plan { form: Form::Zeros, flagged, size: around };
            }
            let payload_bytes = layout.word_payload_bits(flagged, keep).div_ceil(8);
            Plan { form, flagged, size: payload_bytes + bitmap.raise() + around }
        }
    }
}

/// How to drop upper bits: how many to keep of a word that is not whole.
fn choose<const REPEAT: bool>(layout: Layout, words: &[u8]) -> Form {
    let counts = cpu::count::<REPEAT>(layout.settings.word, words);
    if counts[0] as usize == layout.words() {
        return Form::Zeros;
    }
    best_keep(&counts, layout.word_bits()).map_or(Form::Whole, |keep| Form::Reduced { keep })
}

/// The number of kept bits that drops most, the smallest such; `None` where nothing can be dropped. `counts[k]` words have at
/// most `k` bits.
fn best_keep(counts: &Counts, word_bits: usize) -> Option<usize> {
    let (mut best, mut most) = (None, 0);
    for (keep, &count) in counts[..word_bits].iter().enumerate() {
        let dropped = (word_bits - keep) * count as usize;
        if dropped > most {
            (best, most) = (Some(keep), dropped);
        }
    }
    best
}
