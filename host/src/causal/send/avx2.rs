//! As `avx512`, with half the lanes: eight chunks in the lanes of one register, two or four times, with AVX2.
//!
//! There is no scatter. What eight steps emitted is turned round, so that a register has what one lane emitted, and a shuffle moves those
//! words together that count.

use super::payload::{Coding, Group, Record, STRIDE};
use crate::causal::model::SYMBOLS;
use crate::causal::rans::{LOWER, SCALE};
use crate::causal::{Form, Grain, Representation};
use crate::transpose::transpose8;
use std::arch::x86_64::*;

/// Lanes of a register.
const LANES: usize = 8;
/// Registers that are at work together: as many chains of dependent steps as with AVX-512.
const fn vectors(form: Form) -> usize {
    4 / form.streams()
}

/// Chunks that are coded together.
pub(super) const fn chunks(form: Form) -> usize {
    LANES * vectors(form)
}
/// Words of a block, and pairs of words.
const BLOCK_WORDS: usize = 16;
const PAIRS: usize = BLOCK_WORDS / 2;
/// Steps whose words are stored together.
const STEPS: usize = 8;

/// Words from one stream's room to the next one's: one for every symbol of a chunk, and as many in front as are stored in vain. The rest keeps
/// rooms from lying a power of two apart.
const fn room_words(is_split: bool) -> usize {
    (if is_split { 1 } else { 2 }) * Grain::B8192.words() + 96
}

/// For every set of steps that emitted a word: where a shuffle takes its bytes from, the first step's word last. What is left in front is of no
/// account.
static MOVES: [[u8; 16]; 1 << STEPS] = {
    let mut moves = [[0; 16]; 1 << STEPS];
    let mut set = 0;
    while set < moves.len() {
        let (mut step, mut place) = (0, STEPS);
        while step < STEPS {
            if set >> step & 1 == 1 {
                place -= 1;
                moves[set][2 * place] = 2 * step as u8;
                moves[set][2 * place + 1] = 2 * step as u8 + 1;
            }
            step += 1;
        }
        set += 1;
    }
    moves
};

/// Whether this processor runs it.
pub(super) fn is_available() -> bool {
    is_x86_feature_detected!("avx2") && is_x86_feature_detected!("popcnt")
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

/// One stream of 8 chunks.
#[derive(Clone, Copy)]
struct Streams {
    x: __m256i,
    /// What the last [`STEPS`] steps emitted: the word, and ones above it if it counts.
    emitted: [__m256i; STEPS],
    /// Where in the scratch the words so far begin.
    at: [usize; LANES],
}

impl Streams {
    /// Puts `symbol` in row `row`, both below 256, as step `step`.
    ///
    /// # Safety
    /// `cumulative` has 256 rows of [`STRIDE`] and one entry more. AVX2.
    #[inline]
    #[target_feature(enable = "avx2,popcnt")]
    unsafe fn put(&mut self, cumulative: &[u16], row: __m256i, symbol: __m256i, step: usize) {
        const { assert!(STRIDE == 257) };
        let at = _mm256_add_epi32(_mm256_add_epi32(_mm256_slli_epi32::<8>(row), row), symbol);
        // SAFETY: two entries from 255 * STRIDE + 255 at most.
        let pair = unsafe { _mm256_i32gather_epi32::<2>(cumulative.as_ptr().cast(), at) };
        let c = _mm256_and_si256(pair, _mm256_set1_epi32(0xFFFF));
        let f = _mm256_sub_epi32(_mm256_srli_epi32::<16>(pair), c);
        let less = _mm256_add_epi32(f, _mm256_set1_epi32(-1));

        let full = _mm256_cmpgt_epi32(_mm256_srli_epi32::<{ 32 - SCALE as i32 }>(self.x), less);
        self.emitted[step] = _mm256_blend_epi16::<0x55>(full, self.x);
        let x = _mm256_blendv_epi8(self.x, _mm256_srli_epi32::<16>(self.x), full);

        // A quotient below 2^20 of four roundings by at most 2^-24 each is wrong by less than 2^-21 of itself, or half of one; made smaller by 2^-21, it
        // is never too large, and too small by one at most.
        const DOWN: f32 = 1.0 - 1.0 / (1 << 21) as f32;
        let small = _mm256_cvtepi32_ps(_mm256_and_si256(x, _mm256_set1_epi32(i32::MAX)));
        let large = _mm256_and_ps(_mm256_castsi256_ps(_mm256_srai_epi32::<31>(x)), _mm256_set1_ps((1u32 << 31) as f32));
        let factor = _mm256_div_ps(_mm256_set1_ps(DOWN), _mm256_cvtepi32_ps(f));
        let quotient = _mm256_cvttps_epi32(_mm256_mul_ps(_mm256_add_ps(small, large), factor));
        let rest = _mm256_sub_epi32(x, _mm256_mullo_epi32(quotient, f));
        let one_more = _mm256_cmpgt_epi32(rest, less);
        let quotient = _mm256_sub_epi32(quotient, one_more);
        let rest = _mm256_sub_epi32(rest, _mm256_and_si256(one_more, f));
        self.x = _mm256_add_epi32(_mm256_add_epi32(_mm256_slli_epi32::<{ SCALE as i32 }>(quotient), rest), c);
    }

    /// Moves what the last steps emitted to where it belongs.
    #[inline]
    #[target_feature(enable = "avx2,popcnt")]
    fn store(&mut self, scratch: &mut [u16]) {
        let lanes = transpose8(&self.emitted);
        for (emitted, at) in lanes.iter().zip(&mut self.at) {
            let set = _mm256_movemask_ps(_mm256_castsi256_ps(*emitted)) as u8;
            let words = _mm256_and_si256(*emitted, _mm256_set1_epi32(0xFFFF));
            let words = _mm_packus_epi32(_mm256_castsi256_si128(words), _mm256_extracti128_si256::<1>(words));
            let moved = _mm_shuffle_epi8(words, bytemuck::cast(MOVES[usize::from(set)]));
            scratch[*at - STEPS..*at].copy_from_slice(&bytemuck::cast::<_, [u16; STEPS]>(moved));
            *at -= set.count_ones() as usize;
        }
    }
}

/// The zigzag numbers of the differences between the words of `pair` and the words before them; `before` is the pair before.
#[inline]
#[target_feature(enable = "avx2,popcnt")]
fn residuals(pair: __m256i, before: __m256i) -> __m256i {
    let earlier = _mm256_or_si256(_mm256_slli_epi32::<16>(pair), _mm256_srli_epi32::<16>(before));
    let difference = _mm256_sub_epi16(pair, earlier);
    _mm256_xor_si256(_mm256_slli_epi16::<1>(difference), _mm256_srai_epi16::<15>(difference))
}

/// The words of one block, eight lanes: a register for each pair of words, the earlier one in the low half.
#[inline]
#[target_feature(enable = "avx2,popcnt")]
fn block(plain: &[u8], chunk_bytes: usize, vector: usize, number: usize) -> [__m256i; PAIRS] {
    let chunks = plain.len() / chunk_bytes;
    let mut rows = [_mm256_setzero_si256(); LANES];
    for (lane, row) in rows.iter_mut().enumerate() {
        // Lanes without a chunk repeat the last one.
        let chunk = (vector * LANES + lane).min(chunks - 1);
        let bytes = &plain[chunk * chunk_bytes + 2 * BLOCK_WORDS * number..][..2 * BLOCK_WORDS];
        *row = bytemuck::pod_read_unaligned(bytes);
    }
    transpose8(&rows)
}

/// Codes `plain`, whole chunks and no more than `V` vectors have lanes.
///
/// # Safety
/// AVX2.
#[target_feature(enable = "avx2,popcnt")]
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

    let zero = _mm256_setzero_si256();
    let byte = _mm256_set1_epi32(0xFF);
    let half = _mm256_set1_epi32(0xFFFF);
    let room_words = room_words(SPLIT);
    let streams_of_chunk = if SPLIT { 2 } else { 1 };
    let needed = streams_of_chunk * V * LANES * room_words;
    if scratch.len() < needed {
        scratch.resize(needed, 0);
    }
    // Where a stream's words end.
    let end = |v: usize, stream: usize, lane: usize| ((streams_of_chunk * v + stream) * LANES + lane + 1) * room_words;
    let start = |v, stream| Streams {
        x: _mm256_set1_epi32(LOWER as i32),
        emitted: [zero; STEPS],
        at: std::array::from_fn(|lane| end(v, stream, lane)),
    };
    let mut streams: [[Streams; 2]; V] = std::array::from_fn(|v| [start(v, 0), start(v, 1)]);

    let mut raw: [[__m256i; PAIRS]; V] = std::array::from_fn(|v| block(plain, chunk_bytes, v, blocks - 1));
    for number in (0..blocks).rev() {
        let earlier: [[__m256i; PAIRS]; V] = match number.checked_sub(1) {
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
                    codes[v][1] = _mm256_blend_epi16::<0xAA>(zero, codes[v][1]);
                }
            } else {
                codes[v][0] = last;
                codes[v][1..].copy_from_slice(&raw[v]);
            }
        }
        for pair in (0..PAIRS).rev() {
            for is_odd in [true, false] {
                // Steps of a stream are one a word, or two.
                let index = BLOCK_WORDS - 1 - 2 * pair - usize::from(is_odd);
                let step = if SPLIT { index % STEPS } else { 2 * index % STEPS };
                let is_last = if SPLIT { step == STEPS - 1 } else { step == STEPS - 2 };
                let is_first_word = !is_odd && number == 0 && pair == 0;
                for v in 0..V {
                    let (word, before) = if is_odd {
                        (_mm256_srli_epi32::<16>(codes[v][pair + 1]), _mm256_and_si256(codes[v][pair + 1], half))
                    } else {
                        (_mm256_and_si256(codes[v][pair + 1], half), _mm256_srli_epi32::<16>(codes[v][pair]))
                    };
                    let (low_symbol, high_symbol) = (_mm256_and_si256(word, byte), _mm256_srli_epi32::<8>(word));
                    let high_row = _mm256_srli_epi32::<8>(before);
                    let low_row = if HIGH_FIRST { high_symbol } else { _mm256_and_si256(before, byte) };
                    let [first, second] = &mut streams[v];
                    if is_first_word {
                        // The chunk's first word is not coded.
                        (first.emitted[step], second.emitted[step]) = (zero, zero);
                        if !SPLIT {
                            first.emitted[step + 1] = zero;
                        }
                    } else {
                        // SAFETY: the tables' length was asserted, rows and symbols are bytes.
                        unsafe {
                            if SPLIT {
                                first.put(low, low_row, low_symbol, step);
                                second.put(high, high_row, high_symbol, step);
                            } else if HIGH_FIRST {
                                first.put(low, low_row, low_symbol, step);
                                first.put(high, high_row, high_symbol, step + 1);
                            } else {
                                first.put(high, high_row, high_symbol, step);
                                first.put(low, low_row, low_symbol, step + 1);
                            }
                        }
                    }
                    if is_last {
                        first.store(scratch);
                        if SPLIT {
                            second.store(scratch);
                        }
                    }
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
            let Streams { x, at, .. } = streams[v][stream];
            let (x, at) = (bytemuck::cast::<_, [u32; LANES]>(x)[lane], at[lane]);
            let words = &scratch[at..end(v, stream, lane)];
            record.states[stream] = x;
            record.words[stream] = words.len() as u32;
            group.words.extend_from_slice(bytemuck::cast_slice(words)); // this processor is little-endian
        }
        group.records.push(record);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::causal::rans;

    /// At the edges of every frequency's quotients, against the plain code.
    #[test]
    fn symbols_are_put_as_the_plain_code_puts_them() {
        if !is_available() {
            return;
        }
        let mut cumulative = vec![0u16; SYMBOLS * STRIDE + 1];
        for f in 1..1u32 << SCALE {
            let c = 4096 - f;
            (cumulative[0], cumulative[1]) = (c as u16, 4096);
            // States that emit a word, and those that do not: whole quotients from small to the largest, and what lies beside them.
            let largest = (1u32 << (32 - SCALE)) - 1;
            for quotient in [16, 17, 255, 4097, 65_535, 1 << 18, largest - 1, largest] {
                let whole = quotient * f;
                let xs = [whole - 1, whole, whole + 1, whole + f - 1, whole + f / 2, u32::MAX, u32::MAX - f, u32::MAX / 2 + 1];
                let xs = xs.map(|x| x.max(LOWER));
                let mut streams =
                    Streams { x: bytemuck::cast(xs), emitted: [bytemuck::Zeroable::zeroed(); STEPS], at: [0; LANES] };
                // SAFETY: the table has its full length, the row and the symbol are 0, and the processor was asked.
                unsafe { streams.put(&cumulative, bytemuck::Zeroable::zeroed(), bytemuck::Zeroable::zeroed(), 0) };
                let (after, emitted): ([u32; LANES], [u32; LANES]) =
                    (bytemuck::cast(streams.x), bytemuck::cast(streams.emitted[0]));
                for (lane, x) in xs.into_iter().enumerate() {
                    let is_full = rans::is_full::<SCALE>(x, f);
                    let rest = if is_full { x >> 16 } else { x };
                    let expected = rans::put::<SCALE>(rest, f, c, rans::reciprocal::<SCALE>(f));
                    assert_eq!(after[lane], expected, "{x} at {f}");
                    assert_eq!(emitted[lane], if is_full { 0xFFFF_0000 } else { 0 } | (x & 0xFFFF), "{x} at {f}");
                }
            }
        }
    }
}
