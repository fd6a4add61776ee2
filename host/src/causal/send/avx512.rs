//! Sixteen chunks in the lanes of one register, twice, with AVX-512.
//!
//! A lane's words are turned into registers in blocks of 32, rows are gathered, and emitted words gather in a register until two
//! steps may have filled it: then the last two are scattered to where the lane's words begin by now. That writes the one before again where there was
//! only one new word, and both where there was none.

use super::payload::{Coding, Group, Record, STRIDE};
use crate::causal::model::SYMBOLS;
use crate::causal::rans::{LOWER, SCALE};
use crate::causal::{Form, Grain, Representation};
use crate::transpose::transpose;
use std::arch::x86_64::*;

/// Lanes of a register.
const LANES: usize = 16;
/// Registers that are at work together, two for split chunks and four for classic ones: it takes four chains of dependent steps to fill the
/// processor.
const fn vectors(form: Form) -> usize {
    4 / form.streams()
}

/// Chunks that are coded together.
pub(super) const fn chunks(form: Form) -> usize {
    LANES * vectors(form)
}
/// Words of a block, and pairs of words.
const BLOCK_WORDS: usize = 32;
const PAIRS: usize = BLOCK_WORDS / 2;

/// Words from one stream's room to the next one's: one for every symbol of a chunk and two behind the end, where the first steps may write. The
/// rest keeps rooms from lying a power of two apart.
const fn room_words(is_split: bool) -> usize {
    (if is_split { 1 } else { 2 }) * Grain::B8192.words() + 96
}

/// Whether this processor runs it.
pub(super) fn is_available() -> bool {
    is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512vl")
        && is_x86_feature_detected!("avx512vbmi2")
}

/// Codes up to [`chunks`] whole chunks of `chunk_bytes` bytes. `scratch` may hold anything.
///
/// # Safety
/// The processor runs it ([`is_available`]).
pub(super) unsafe fn encode(coding: &Coding, plain: &[u8], chunk_bytes: usize, scratch: &mut Vec<u16>, group: &mut Group) {
    const TWICE: usize = 2 * LANES;
    macro_rules! lanes {
        ($split:literal, $high_first:literal, $residual:literal) => {
            match plain.len() / chunk_bytes {
                // SAFETY: the caller's.
                ..=LANES => unsafe { lanes::<$split, $high_first, $residual, 1>(coding, plain, chunk_bytes, scratch, group) },
                // SAFETY: as above.
                ..=TWICE => unsafe { lanes::<$split, $high_first, $residual, 2>(coding, plain, chunk_bytes, scratch, group) },
                // SAFETY: as above.
                _ => unsafe {
                    lanes::<$split, $high_first, $residual, { if $split { 2 } else { 4 } }>(
                        coding,
                        plain,
                        chunk_bytes,
                        scratch,
                        group,
                    )
                },
            }
        };
    }
    match (coding.form, coding.representation) {
        (Form::Classic, Representation::SameLane) => lanes!(false, false, false),
        (Form::Classic, Representation::HighFirst) => lanes!(false, true, false),
        (Form::Classic, Representation::Residual) => lanes!(false, false, true),
        (Form::Split, Representation::SameLane) => lanes!(true, false, false),
        (Form::Split, Representation::HighFirst) => lanes!(true, true, false),
        (Form::Split, Representation::Residual) => lanes!(true, false, true),
    }
}

/// One stream of 16 chunks.
#[derive(Clone, Copy)]
struct Streams {
    x: __m512i,
    /// Where in the scratch the words so far begin.
    at: __m512i,
    /// The last two words, the later one in the low half.
    words: __m512i,
}

/// Puts `symbol` in row `row`, both below 256.
///
/// # Safety
/// `cumulative` has 256 rows of [`STRIDE`] and one entry more. AVX-512 F, BW, VBMI2.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi2")]
unsafe fn put(streams: &mut Streams, cumulative: &[u16], row: __m512i, symbol: __m512i) {
    const { assert!(STRIDE == 257) };
    let at = _mm512_add_epi32(_mm512_add_epi32(_mm512_slli_epi32::<8>(row), row), symbol);
    // SAFETY: two entries from 255 * STRIDE + 255 at most.
    let pair = unsafe { _mm512_i32gather_epi32::<2>(at, cumulative.as_ptr().cast()) };
    let c = _mm512_and_si512(pair, _mm512_set1_epi32(0xFFFF));
    let f = _mm512_sub_epi32(_mm512_srli_epi32::<16>(pair), c);

    let full = _mm512_cmpge_epu32_mask(streams.x, _mm512_slli_epi32::<{ 32 - SCALE }>(f));
    let word = _mm512_slli_epi32::<16>(streams.x);
    streams.words = _mm512_mask_shldi_epi32::<16>(streams.words, full, streams.words, word);
    streams.at = _mm512_mask_sub_epi32(streams.at, full, streams.at, _mm512_set1_epi32(1));
    let x = _mm512_mask_srli_epi32::<16>(streams.x, full, streams.x);

    // All rounded down, so that the quotient is not too large; three roundings by less than 2^-23 each of a quotient below 2^20 make it too small by one at most.
    const DOWN: i32 = _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC;
    let quotient = _mm512_div_round_ps::<DOWN>(_mm512_cvt_roundepu32_ps::<DOWN>(x), _mm512_cvt_roundepu32_ps::<DOWN>(f));
    let quotient = _mm512_cvttps_epu32(quotient);
    let rest = _mm512_sub_epi32(x, _mm512_mullo_epi32(quotient, f));
    let one_more = _mm512_cmpge_epu32_mask(rest, f);
    let quotient = _mm512_mask_add_epi32(quotient, one_more, quotient, _mm512_set1_epi32(1));
    let rest = _mm512_mask_sub_epi32(rest, one_more, rest, f);
    streams.x = _mm512_add_epi32(_mm512_add_epi32(_mm512_slli_epi32::<SCALE>(quotient), rest), c);
}

/// The zigzag numbers of the differences between the words of `pair` and the words before them; `before` is the pair before.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi2")]
fn residuals(pair: __m512i, before: __m512i) -> __m512i {
    let difference = _mm512_sub_epi16(pair, _mm512_shldi_epi32::<16>(pair, before));
    _mm512_xor_si512(_mm512_slli_epi16::<1>(difference), _mm512_srai_epi16::<15>(difference))
}

/// The words of one block, sixteen lanes: a register for each pair of words, the earlier one in the low half.
#[inline]
#[target_feature(enable = "avx512f")]
fn block(plain: &[u8], chunk_bytes: usize, vector: usize, number: usize) -> [__m512i; PAIRS] {
    let chunks = plain.len() / chunk_bytes;
    let mut rows = [_mm512_setzero_si512(); LANES];
    for (lane, row) in rows.iter_mut().enumerate() {
        // Lanes without a chunk repeat the last one.
        let chunk = (vector * LANES + lane).min(chunks - 1);
        let bytes = &plain[chunk * chunk_bytes + 2 * BLOCK_WORDS * number..][..2 * BLOCK_WORDS];
        *row = bytemuck::pod_read_unaligned(bytes);
    }
    transpose(&rows)
}

/// Codes `plain`, whole chunks and no more than `V` vectors have lanes.
///
/// # Safety
/// AVX-512 F, BW, VBMI2.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi2")]
unsafe fn lanes<const SPLIT: bool, const HIGH_FIRST: bool, const RESIDUAL: bool, const V: usize>(
    coding: &Coding,
    plain: &[u8],
    chunk_bytes: usize,
    scratch: &mut Vec<u16>,
    group: &mut Group,
) {
    let blocks = chunk_bytes / (2 * BLOCK_WORDS);
    assert!(chunk_bytes == 2 * BLOCK_WORDS * blocks && chunk_bytes <= Grain::B8192.bytes());
    let (low, high) = (&coding.low.0[..], &coding.high.0[..]);
    assert!(low.len() == SYMBOLS * STRIDE + 1 && high.len() == low.len());

    let zero = _mm512_setzero_si512();
    let byte = _mm512_set1_epi32(0xFF);
    let half = _mm512_set1_epi32(0xFFFF);
    let room_words = room_words(SPLIT);
    let streams_of_chunk = if SPLIT { 2 } else { 1 };
    let needed = streams_of_chunk * V * LANES * room_words;
    if scratch.len() < needed {
        scratch.resize(needed, 0);
    }
    // Where a stream's words end: two words in front of the end of its room.
    let end = |v: usize, stream: usize, lane: usize| ((streams_of_chunk * v + stream) * LANES + lane + 1) * room_words - 2;
    let mut streams = [[Streams { x: _mm512_set1_epi32(LOWER as i32), at: zero, words: zero }; 2]; V];
    for (v, streams) in streams.iter_mut().enumerate() {
        for (stream, streams) in streams.iter_mut().enumerate() {
            let ends: [u32; LANES] = std::array::from_fn(|lane| end(v, stream, lane) as u32);
            streams.at = bytemuck::cast(ends);
        }
    }
    let room = scratch.as_mut_ptr();
    macro_rules! scatter {
        ($streams:expr) => {
            // SAFETY: `at` goes down by one a symbol at most and a room has a word for each, so the two words are within the stream's room.
            unsafe { _mm512_i32scatter_epi32::<2>(room.cast(), $streams.at, $streams.words) }
        };
    }

    let mut raw: [[__m512i; PAIRS]; V] = std::array::from_fn(|v| block(plain, chunk_bytes, v, blocks - 1));
    for number in (0..blocks).rev() {
        let earlier: [[__m512i; PAIRS]; V] = match number.checked_sub(1) {
            Some(earlier) => std::array::from_fn(|v| block(plain, chunk_bytes, v, earlier)),
            None => [[zero; PAIRS]; V],
        };
        // What is coded, after the pair before it.
        let mut codes = [[zero; PAIRS + 1]; V];
        for v in 0..V {
            let [.., before_last, last] = earlier[v];
            if RESIDUAL {
                codes[v][0] = residuals(last, before_last);
                for pair in 0..PAIRS {
                    let before = if pair == 0 { last } else { raw[v][pair - 1] };
                    codes[v][pair + 1] = residuals(raw[v][pair], before);
                }
                if number == 0 {
                    // The chunk's first word has no difference.
                    codes[v][1] = _mm512_maskz_mov_epi16(0xAAAA_AAAA, codes[v][1]);
                }
            } else {
                codes[v][0] = last;
                codes[v][1..].copy_from_slice(&raw[v]);
            }
        }
        for pair in (0..PAIRS).rev() {
            for is_odd in [true, false] {
                if !is_odd && number == 0 && pair == 0 {
                    break; // the chunk's first word is not coded
                }
                for v in 0..V {
                    let (word, before) = if is_odd {
                        (_mm512_srli_epi32::<16>(codes[v][pair + 1]), _mm512_and_si512(codes[v][pair + 1], half))
                    } else {
                        (_mm512_and_si512(codes[v][pair + 1], half), _mm512_srli_epi32::<16>(codes[v][pair]))
                    };
                    let (low_symbol, high_symbol) = (_mm512_and_si512(word, byte), _mm512_srli_epi32::<8>(word));
                    let high_row = _mm512_srli_epi32::<8>(before);
                    let low_row = if HIGH_FIRST { high_symbol } else { _mm512_and_si512(before, byte) };
                    let [first, second] = &mut streams[v];
                    // SAFETY: the tables' length was asserted, rows and symbols are bytes.
                    unsafe {
                        if SPLIT {
                            put(first, low, low_row, low_symbol);
                            put(second, high, high_row, high_symbol);
                        } else if HIGH_FIRST {
                            put(first, low, low_row, low_symbol);
                            put(first, high, high_row, high_symbol);
                        } else {
                            put(first, high, high_row, high_symbol);
                            put(first, low, low_row, low_symbol);
                        }
                    }
                    if !SPLIT {
                        scatter!(first);
                    }
                }
            }
            if SPLIT {
                for streams in &streams {
                    scatter!(streams[0]);
                    scatter!(streams[1]);
                }
            }
        }
        raw = earlier;
    }

    for (index, plain) in plain.chunks_exact(chunk_bytes).enumerate() {
        let (v, lane) = (index / LANES, index % LANES);
        let prefix = [plain[0], plain[1]];
        let mut record = Record { prefix: if HIGH_FIRST { [prefix[1], prefix[0]] } else { prefix }, ..Record::default() };
        for stream in 0..streams_of_chunk {
            let [x, at] =
                [streams[v][stream].x, streams[v][stream].at].map(|lanes| bytemuck::cast::<_, [u32; LANES]>(lanes)[lane]);
            let words = &scratch[at as usize..end(v, stream, lane)];
            record.states[stream] = x;
            record.words[stream] = words.len() as u32;
            group.words.extend_from_slice(bytemuck::cast_slice(words)); // this processor is little-endian
        }
        group.records.push(record);
    }
}
