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

/// Codes `plain` to the front of `coded`, which has room for `limit` bytes and the slack: the bytes used, or `None` if
/// they were not below `limit`.
pub fn encode<const REPEAT: bool>(layout: Layout, plain: &[u8], limit: usize, coded: &mut [u8]) -> Option<usize> {
    let mut bitmap = layout.bitmap();
    let Plan { form, flagged, size } = plan::<REPEAT>(layout, plain, &mut bitmap);
    if size >= limit {
        return None;
    }
    let (words, leftover) = plain.split_at(plain.len() - layout.leftover());
    match form {
        Form::Zeros => {}
        Form::Whole => coded[..words.len()].copy_from_slice(words),
        Form::Reduced { keep } => {
            cpu::pick(layout.settings.word, words, bitmap.flags(), flagged, keep, coded);
            let payload_bytes = layout.word_payload_bits(flagged, keep).div_ceil(8);
            bitmap.write(&mut coded[payload_bytes..]);
        }
    }
    let (front, tag) = coded[..size].split_at_mut(size - layout.tag_bytes());
    let at = front.len() - leftover.len();
    front[at..].copy_from_slice(leftover);
    form.write(layout, tag);
    Some(size)
}

/// Flags the words of `plain` in the empty `bitmap`, and measures.
fn plan<const REPEAT: bool>(layout: Layout, plain: &[u8], bitmap: &mut Bitmap) -> Plan {
    let words = &plain[..plain.len() - layout.leftover()];
    let form = if layout.upper {
        flag_upper::<REPEAT>(layout, words, bitmap)
    } else {
        cpu::flag_whole::<REPEAT>(layout.settings.word, words, bitmap.flags_mut());
        if bitmap.flagged() == 0 { Form::Zeros } else { Form::Reduced { keep: 0 } }
    };
    let around = layout.leftover() + layout.tag_bytes();
    match form {
        Form::Zeros => Plan { form, flagged: 0, size: around },
        Form::Whole => Plan { form, flagged: 0, size: words.len() + around },
        Form::Reduced { keep } => {
            let flagged = bitmap.flagged();
            let payload_bytes = layout.word_payload_bits(flagged, keep).div_ceil(8);
            Plan { form, flagged, size: payload_bytes + bitmap.raise() + around }
        }
    }
}

/// Decides how many bits to keep of a word that is not whole, and flags those that need more.
fn flag_upper<const REPEAT: bool>(layout: Layout, words: &[u8], bitmap: &mut Bitmap) -> Form {
    let mut lengths = [0; Scratch::CODED_BYTES];
    let lengths = &mut lengths[..layout.words()];
    cpu::lengths::<REPEAT>(layout.settings.word, words, lengths);
    let counts = cpu::count(lengths, layout.word_bits());
    if counts[0] as usize == lengths.len() {
        return Form::Zeros;
    }
    match best_keep(&counts, layout.word_bits()) {
        None => Form::Whole,
        Some(keep) => {
            cpu::flag_longer(lengths, keep as u8, bitmap.flags_mut());
            Form::Reduced { keep }
        }
    }
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
