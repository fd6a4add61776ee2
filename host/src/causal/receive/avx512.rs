//! Sixteen chunks in the lanes of one register, or twice sixteen, with AVX-512.
//!
//! Tables and words are gathered. What a lane of a damaged frame reads is always within the tables and the frame, and whatever ends wrong is
//! decoded again by [`chunk`], which finds out what is wrong. Words come out one a lane and step; they are turned round in blocks
//! of 16 lanes by 32 words, since chunks lie a power of two apart and single stores would fight for the same few cache lines.

use super::super::Fault;
use super::super::rans::{LOWER, SCALE};
use super::super::{Form, Representation};
use super::tables::{BUCKET_SLOTS_LOG2, BUCKETS_LOG2, DEAD, Rows, STRIDE};
use super::{Coded, chunk};
use crate::causal::model::SYMBOLS;
use crate::transpose::transpose;
use std::arch::x86_64::*;

/// Lanes of a register.
const LANES: usize = 16;
/// Registers that are at work together: the steps of one are too few to fill the processor.
const VECTORS: usize = 2;
/// Chunks that are decoded together.
pub(super) const CHUNKS: usize = LANES * VECTORS;
/// Steps of two words between two turns.
const TURN: usize = 16;

const SAME_LANE: u8 = Representation::SameLane as u8;
const HIGH_FIRST: u8 = Representation::HighFirst as u8;
const RESIDUAL: u8 = Representation::Residual as u8;

/// Whether this processor runs it.
pub(super) fn is_available() -> bool {
    is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512vl")
        && is_x86_feature_detected!("avx512vbmi2")
}

/// Decodes up to [`CHUNKS`] chunks from `first` on to `plain`.
///
/// # Safety
/// The processor runs it ([`is_available`]).
pub(super) unsafe fn decode(coded: &Coded, first: usize, plain: &mut [u8]) -> Result<(), Fault> {
    let chunk_bytes = 2 * coded.chunk_words;
    let full = plain.len() / chunk_bytes;
    let (vector, rest) = plain.split_at_mut(full * chunk_bytes);
    // Fewer than half the lanes are not worth it; and the gathers need two words to look at.
    let ok = full >= LANES / 2 && coded.frame.len() >= coded.payload + 4 && {
        macro_rules! lanes {
            ($representation:ident, $split:literal) => {
                match full {
                    // SAFETY: the caller's, and the payload has two words.
                    ..=LANES => unsafe { lanes::<$representation, $split, 1>(coded, first, vector) },
                    // SAFETY: as above.
                    _ => unsafe { lanes::<$representation, $split, VECTORS>(coded, first, vector) },
                }
            };
        }
        match (coded.representation, coded.form) {
            (Representation::SameLane, Form::Classic) => lanes!(SAME_LANE, false),
            (Representation::SameLane, Form::Split) => lanes!(SAME_LANE, true),
            (Representation::HighFirst, Form::Classic) => lanes!(HIGH_FIRST, false),
            (Representation::HighFirst, Form::Split) => lanes!(HIGH_FIRST, true),
            (Representation::Residual, Form::Classic) => lanes!(RESIDUAL, false),
            (Representation::Residual, Form::Split) => lanes!(RESIDUAL, true),
        }
    };
    if !ok {
        let mut chunks = vector.chunks_exact_mut(chunk_bytes).enumerate();
        chunks.try_for_each(|(index, plain)| chunk::decode(coded, first + index, plain))?;
    }
    if rest.is_empty() { Ok(()) } else { chunk::decode(coded, first + full, rest) }
}

/// One stream of 16 chunks.
#[derive(Clone, Copy)]
struct Streams {
    x: __m512i,
    /// The next word.
    at: __m512i,
    /// That word in the high half, the one after it in the low half; what [`Streams::fill`] does lasts for two symbols.
    words: __m512i,
}

/// Where words come from.
#[derive(Clone, Copy)]
struct Source {
    /// The payload.
    words: *const u8,
    /// The last word but one of it.
    last_pair: __m512i,
}

impl Streams {
    /// Looks up two words: one gather for two symbols, and none that a state has to wait for.
    ///
    /// # Safety
    /// `source` is that of a payload with two words or more. AVX-512 F.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi2")]
    unsafe fn fill(&mut self, source: Source) {
        let is_pair = _mm512_cmple_epu32_mask(self.at, source.last_pair);
        let at = _mm512_min_epu32(self.at, source.last_pair);
        // SAFETY: `at` is a word that has another one behind it.
        let words = unsafe { _mm512_i32gather_epi32::<2>(at, source.words.cast()) };
        // The last word alone is in the high half already.
        self.words = _mm512_mask_rol_epi32::<16>(words, is_pair, words);
    }
}

/// `row` in every lane is below 256.
///
/// # Safety
/// Rows of `rows` are whole and sound. AVX-512 F, BW, VL, VBMI2.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi2")]
unsafe fn symbol(streams: &mut Streams, rows: &Rows, row: __m512i, largest: &mut __m512i) -> __m512i {
    let low_bits = _mm512_set1_epi32(DEAD as i32);
    let one = _mm512_set1_epi32(1);
    let slot = _mm512_and_si512(streams.x, low_bits);
    let bucket = _mm512_add_epi32(_mm512_slli_epi32::<BUCKETS_LOG2>(row), _mm512_srli_epi32::<BUCKET_SLOTS_LOG2>(slot));
    // SAFETY: there are 256 << BUCKETS_LOG2 buckets, `row` is below 256 and `slot` below 2^SCALE.
    let entry = unsafe { _mm512_i32gather_epi32::<4>(bucket, rows.buckets.as_ptr().cast()) };
    let mut c = _mm512_and_si512(_mm512_srli_epi32::<SCALE>(entry), low_bits);
    let less = _mm512_and_si512(entry, low_bits);
    let mut symbol = _mm512_srli_epi32::<24>(entry);
    let mut offset = _mm512_sub_epi32(slot, c);
    let mut f = _mm512_add_epi32(less, one);
    *largest = _mm512_max_epu32(*largest, less);
    let mut behind = _mm512_cmpgt_epu32_mask(offset, less);
    if behind != 0 {
        let row_start = _mm512_add_epi32(_mm512_slli_epi32::<8>(row), _mm512_slli_epi32::<2>(row));
        const { assert!(STRIDE == (1 << 8) + (1 << 2)) };
        let mut end = _mm512_add_epi32(c, f);
        loop {
            let at = _mm512_add_epi32(_mm512_add_epi32(row_start, symbol), _mm512_set1_epi32(2));
            // SAFETY: `behind` lanes have `slot >= end`, the `c` of the symbol behind `symbol`. The last symbol's end is the total, which no slot
            // reaches, so `symbol` is 254 at most and the pair ends at most with entry 257 of a row of STRIDE.
            let pair = unsafe { _mm512_mask_i32gather_epi32::<2>(low_bits, behind, at, rows.cumulative.as_ptr().cast()) };
            let (first, second) = (_mm512_and_si512(pair, _mm512_set1_epi32(0xFFFF)), _mm512_srli_epi32::<16>(pair));
            let after_first = _mm512_mask_cmpge_epu32_mask(behind, slot, first);
            let after_second = _mm512_mask_cmpge_epu32_mask(behind, slot, second);
            symbol = _mm512_mask_add_epi32(symbol, behind, symbol, one);
            symbol = _mm512_mask_add_epi32(symbol, after_first, symbol, one);
            c = _mm512_mask_mov_epi32(_mm512_mask_mov_epi32(c, behind, end), after_first, first);
            end = _mm512_mask_mov_epi32(_mm512_mask_mov_epi32(end, behind, first), after_first, second);
            behind = after_second;
            if behind == 0 {
                break;
            }
        }
        f = _mm512_sub_epi32(end, c);
        offset = _mm512_sub_epi32(slot, c);
    }
    let x = _mm512_add_epi32(_mm512_mullo_epi32(f, _mm512_srli_epi32::<SCALE>(streams.x)), offset);
    let short = _mm512_cmplt_epu32_mask(x, _mm512_set1_epi32(LOWER as i32));
    streams.x = _mm512_mask_shldi_epi32::<16>(x, short, x, streams.words);
    streams.words = _mm512_mask_slli_epi32::<16>(streams.words, short, streams.words);
    streams.at = _mm512_mask_add_epi32(streams.at, short, streams.at, one);
    symbol
}

/// Decodes `plain`, whole chunks from `first` on and no more than `V` vectors have lanes; `false` if a chunk did not end right.
///
/// # Safety
/// AVX-512 F, BW, VL, VBMI2, and the payload is not empty.
#[allow(clippy::needless_range_loop)] // several arrays of vectors run along
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi2")]
unsafe fn lanes<const REPRESENTATION: u8, const SPLIT: bool, const V: usize>(
    coded: &Coded,
    first: usize,
    plain: &mut [u8],
) -> bool {
    let chunk_bytes = 2 * coded.chunk_words;
    let chunks = plain.len() / chunk_bytes;
    let payload = &coded.frame[coded.payload..];
    assert!(payload.len() >= 4);
    let source = Source { words: payload.as_ptr(), last_pair: _mm512_set1_epi32((payload.len() / 2 - 2) as i32) };
    let (low_rows, high_rows) = (&coded.tables.low, &coded.tables.high);
    assert!(low_rows.buckets.len() == SYMBOLS << BUCKETS_LOG2 && high_rows.buckets.len() == SYMBOLS << BUCKETS_LOG2);
    assert!(low_rows.cumulative.len() == SYMBOLS * STRIDE && high_rows.cumulative.len() == SYMBOLS * STRIDE);

    // Lanes without a chunk repeat the last one; only what they would write is left out.
    let zero = _mm512_setzero_si512();
    let byte = _mm512_set1_epi32(0xFF);
    let mut streams = [[Streams { x: zero, at: zero, words: zero }; 2]; V];
    let mut ends = [[zero; 2]; V];
    let (mut low, mut high, mut word) = ([zero; V], [zero; V], [zero; V]);
    for v in 0..V {
        let record = |lane: usize| &coded.records[first + (v * LANES + lane).min(chunks - 1)];
        let gather = |value: &dyn Fn(usize) -> u32| {
            let values: [u32; LANES] = std::array::from_fn(value);
            bytemuck::cast::<[u32; LANES], __m512i>(values)
        };
        for stream in 0..2 {
            streams[v][stream].x = gather(&|lane| record(lane).states[stream]);
            streams[v][stream].at = gather(&|lane| record(lane).words[stream].start);
            ends[v][stream] = gather(&|lane| record(lane).words[stream].end);
        }
        word[v] = gather(&|lane| match record(lane).prefix {
            prefix if REPRESENTATION == HIGH_FIRST => u16::from_be_bytes(prefix).into(),
            prefix => u16::from_le_bytes(prefix).into(),
        });
        if REPRESENTATION != RESIDUAL {
            low[v] = _mm512_and_si512(word[v], byte);
            high[v] = _mm512_srli_epi32::<8>(word[v]);
        }
    }

    let mut largest = zero;
    let mut block = [[zero; TURN]; V];
    let steps = coded.chunk_words / 2;
    for start in (0..steps).step_by(TURN) {
        for step in 0..TURN {
            let mut pair = word;
            for half in 0..2 {
                if start + step + half == 0 {
                    continue; // the chunk's first word is known
                }
                let first_half = half == 0 || start + step == 0;
                for v in 0..V {
                    let [low_streams, high_streams] = &mut streams[v];
                    // SAFETY: the tables are whole (asserted above, and made of checked rows), symbols are bytes, and the source is this payload's.
                    unsafe {
                        if !SPLIT {
                            low_streams.fill(source);
                        } else if first_half {
                            low_streams.fill(source);
                            high_streams.fill(source);
                        }
                        if SPLIT {
                            if REPRESENTATION == HIGH_FIRST {
                                high[v] = symbol(high_streams, high_rows, high[v], &mut largest);
                                low[v] = symbol(low_streams, low_rows, high[v], &mut largest);
                            } else {
                                low[v] = symbol(low_streams, low_rows, low[v], &mut largest);
                                high[v] = symbol(high_streams, high_rows, high[v], &mut largest);
                            }
                        } else if REPRESENTATION == HIGH_FIRST {
                            high[v] = symbol(low_streams, high_rows, high[v], &mut largest);
                            low[v] = symbol(low_streams, low_rows, high[v], &mut largest);
                        } else {
                            low[v] = symbol(low_streams, low_rows, low[v], &mut largest);
                            high[v] = symbol(low_streams, high_rows, high[v], &mut largest);
                        }
                    }
                    let coded = _mm512_or_si512(low[v], _mm512_slli_epi32::<8>(high[v]));
                    word[v] = if REPRESENTATION == RESIDUAL {
                        let negative = _mm512_sub_epi32(zero, _mm512_and_si512(coded, _mm512_set1_epi32(1)));
                        let difference = _mm512_xor_si512(_mm512_srli_epi32::<1>(coded), negative);
                        _mm512_add_epi32(word[v], difference)
                    } else {
                        coded
                    };
                }
                if half == 0 {
                    pair = word;
                }
            }
            for v in 0..V {
                // The even word in the low half of the dword, the odd one above.
                let odd = _mm512_slli_epi32::<16>(word[v]);
                block[v][step] = _mm512_mask_mov_epi16(odd, 0x5555_5555, pair[v]);
            }
        }
        for (v, block) in block.iter().enumerate() {
            let columns = transpose(block);
            for (column, plain) in columns.iter().zip(plain.chunks_exact_mut(chunk_bytes).skip(v * LANES)) {
                let bytes: &mut [u8; 64] = match plain[64 * (start / TURN)..].first_chunk_mut() {
                    Some(bytes) => bytes,
                    None => return false,
                };
                *bytes = bytemuck::cast(*column);
            }
        }
    }

    let mut ok = _mm512_cmpge_epu32_mask(largest, _mm512_set1_epi32(DEAD as i32)) == 0;
    for v in 0..V {
        for stream in 0..if SPLIT { 2 } else { 1 } {
            let Streams { x, at, .. } = streams[v][stream];
            ok &= _mm512_cmpneq_epi32_mask(x, _mm512_set1_epi32(LOWER as i32)) == 0;
            ok &= _mm512_cmpneq_epi32_mask(at, ends[v][stream]) == 0;
        }
    }
    ok
}
