//! Chunks of whole blocks with AVX-512: words are picked and put back by the instructions that compress and expand
//! a register by a mask, and the flags are such masks.
//!
//! | direction | trick |
//! |---|---|
//! | encode | lengths are counted as bits by position, sixteen registers at a time |
//! | decode | a word's place among the flagged ones of its register is the number of flags up to it: counted for all words at once, it is the index that a permutation takes |
//!
//! Low bits go through a buffer of words without gaps, which CLOG's code packs and unpacks as it does a subchunk.

#![forbid(unsafe_code)]

use super::super::bitmap::PAD_BYTES;
use super::{Counts, Payload};
use crate::stage::clog::cpu::vbmi as clog;
use crate::stage::lc::{Scratch, Word};
use std::arch::x86_64::*;

/// Bytes of a register.
pub const GROUP_BYTES: usize = 64;

/// Chunks are whole multiples of so many bytes.
pub const BLOCK_BYTES: usize = 16 * GROUP_BYTES;

/// Bytes of a register as a table holds them.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Bytes([u8; GROUP_BYTES]);

#[inline]
#[target_feature(enable = "avx512f")]
fn load(bytes: &[u8], at: usize) -> __m512i {
    bytemuck::pod_read_unaligned(&bytes[at..at + GROUP_BYTES])
}

#[inline]
#[target_feature(enable = "avx512f")]
fn store(bytes: &mut [u8], at: usize, register: __m512i) {
    bytes[at..at + GROUP_BYTES].copy_from_slice(bytemuck::bytes_of(&register));
}

/// Words of a register.
const fn lanes<T: Word>() -> usize {
    GROUP_BYTES / size_of::<T>()
}

/// What is left of each word of the group at byte `at`: its difference to the one before, or all of it.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
fn news<T: Word, const REPEAT: bool>(plain: &[u8], at: usize) -> __m512i {
    let words = load(plain, at);
    if !REPEAT {
        return words;
    }
    let before = if at == 0 {
        let mut first = [0; GROUP_BYTES];
        first[T::BYTES..].copy_from_slice(&plain[..GROUP_BYTES - T::BYTES]);
        load(&first, 0)
    } else {
        load(plain, at - T::BYTES)
    };
    _mm512_xor_si512(words, before)
}

/// The bits of every word up to its highest one.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512cd")]
fn fill_down<T: Word>(words: __m512i) -> __m512i {
    let or3 = |a, b, c| _mm512_ternarylogic_epi64::<0xFE>(a, b, c);
    match T::BYTES {
        1 => {
            // The instructions shift 16 bits: what comes in from the byte above is masked.
            let shifted = |words, by: __m128i, mask| _mm512_and_si512(_mm512_srl_epi16(words, by), _mm512_set1_epi8(mask));
            let one = _mm512_or_si512(words, shifted(words, _mm_cvtsi64_si128(1), 0x7F));
            let two = _mm512_or_si512(one, shifted(one, _mm_cvtsi64_si128(2), 0x3F));
            _mm512_or_si512(two, shifted(two, _mm_cvtsi64_si128(4), 0x0F))
        }
        2 => {
            let three = or3(words, _mm512_srli_epi16::<1>(words), _mm512_srli_epi16::<2>(words));
            let nine = or3(three, _mm512_srli_epi16::<3>(three), _mm512_srli_epi16::<6>(three));
            _mm512_or_si512(nine, _mm512_srli_epi16::<9>(nine))
        }
        4 => _mm512_srlv_epi32(_mm512_set1_epi32(-1), _mm512_lzcnt_epi32(words)),
        _ => _mm512_srlv_epi64(_mm512_set1_epi64(-1), _mm512_lzcnt_epi64(words)),
    }
}

/// For words of `W` bytes: where their lowest bytes are, then the next ones, ..
const fn planes<const W: usize>() -> Bytes {
    let mut planes = [0; GROUP_BYTES];
    let mut i = 0;
    while i < GROUP_BYTES {
        let lanes = GROUP_BYTES / W;
        planes[i] = (i % lanes * W + i / lanes) as u8;
        i += 1;
    }
    Bytes(planes)
}

static PLANES: [Bytes; 4] = [planes::<1>(), planes::<2>(), planes::<4>(), planes::<8>()];

/// For every bit position, how many words have that bit set: those of bit `8 * j + b` in lane `W * b + j`, where there are as
/// many lanes as bits.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512bitalg,avx512vpopcntdq")]
fn bits_by_position<T: Word>(words: __m512i) -> __m512i {
    // Bytes of a kind lie side by side; then the bits of a kind do.
    let planes = _mm512_permutexvar_epi8(load(&PLANES[T::BYTES.ilog2() as usize].0, 0), words);
    let mut bits = [0u64; 8];
    for (b, bits) in bits.iter_mut().enumerate() {
        *bits = _mm512_test_epi8_mask(planes, _mm512_set1_epi8(1 << b));
    }
    let bits = bytemuck::cast(bits);
    match T::BYTES {
        1 => _mm512_popcnt_epi64(bits),
        2 => _mm512_popcnt_epi32(bits),
        4 => _mm512_popcnt_epi16(bits),
        _ => _mm512_popcnt_epi8(bits),
    }
}

/// Adds lane by lane what [`bits_by_position`] made. No lane overflows in a chunk.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn add_lanes<T: Word>(a: __m512i, b: __m512i) -> __m512i {
    match T::BYTES {
        1 => _mm512_add_epi64(a, b),
        2 => _mm512_add_epi32(a, b),
        4 => _mm512_add_epi16(a, b),
        _ => _mm512_add_epi8(a, b),
    }
}

/// Adds the lanes, `weight` times, to the counts of their bits.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn add_to_counts<T: Word>(lanes: __m512i, weight: u32, counts: &mut Counts) {
    let bytes: [u8; GROUP_BYTES] = bytemuck::cast(lanes);
    for (lane, bytes) in bytes.chunks_exact(8 / T::BYTES).enumerate() {
        // Two bytes are enough: there are 16384 words at most, of which one in sixteen counts.
        let count = bytes.iter().take(2).rev().fold(0, |count, &byte| count << 8 | u32::from(byte));
        counts[8 * (lane % T::BYTES) + lane / T::BYTES] += weight * count;
    }
}

/// Adds the bits of three registers, bit by bit: the sum, and the carry.
#[inline]
#[target_feature(enable = "avx512f")]
fn add3(a: __m512i, b: __m512i, c: __m512i) -> (__m512i, __m512i) {
    (_mm512_ternarylogic_epi64::<0x96>(a, b, c), _mm512_ternarylogic_epi64::<0xE8>(a, b, c))
}

/// How many words have at most `k` bits new, for every `k` up to all.
///
/// A word has more than `k` bits exactly if bit `k` is set after its ones were filled down. So bits are counted, by position:
/// the registers are summed up as bits of binary numbers, and only every sixteenth has to be looked at.
#[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512vbmi,avx512vbmi2,avx512bitalg,avx512vpopcntdq,bmi2,lzcnt,popcnt")]
pub fn count<T: Word, const REPEAT: bool>(plain: &[u8]) -> Counts {
    let mut longer = [0; 65];
    let zero = _mm512_setzero_si512();
    let (mut ones, mut twos, mut fours, mut eights, mut in_sixteens) = (zero, zero, zero, zero, zero);
    for block in (0..plain.len()).step_by(BLOCK_BYTES) {
        let filled = |i: usize| fill_down::<T>(news::<T, REPEAT>(plain, block + i * GROUP_BYTES));
        let mut of_eights = [zero; 2];
        for (half, carry) in of_eights.iter_mut().enumerate() {
            let mut of_fours = [zero; 2];
            for (quarter, carry) in of_fours.iter_mut().enumerate() {
                let at = 8 * half + 4 * quarter;
                let (sum, first) = add3(ones, filled(at), filled(at + 1));
                let (sum, second) = add3(sum, filled(at + 2), filled(at + 3));
                ones = sum;
                (twos, *carry) = add3(twos, first, second);
            }
            (fours, *carry) = add3(fours, of_fours[0], of_fours[1]);
        }
        let (sum, sixteens) = add3(eights, of_eights[0], of_eights[1]);
        eights = sum;
        in_sixteens = add_lanes::<T>(in_sixteens, bits_by_position::<T>(sixteens));
    }
    add_to_counts::<T>(in_sixteens, 16, &mut longer);
    for (rest, weight) in [(ones, 1), (twos, 2), (fours, 4), (eights, 8)] {
        add_to_counts::<T>(bits_by_position::<T>(rest), weight, &mut longer);
    }
    let words = (plain.len() / T::BYTES) as u32;
    longer.map(|longer| words - longer)
}

/// Flags the words that have more than `keep` bits new: how many.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vbmi2,bmi2,lzcnt,popcnt")]
pub fn flag<T: Word, const REPEAT: bool>(plain: &[u8], keep: usize, flags: &mut [u8]) -> usize {
    let (mut flagged, most) = (0, low_mask::<T>(keep));
    let blocks = plain.len() / (64 * T::BYTES);
    for (block, flags) in flags.as_chunks_mut::<8>().0[..blocks].iter_mut().enumerate() {
        let mut all = 0;
        for group in 0..T::BYTES {
            let news = news::<T, REPEAT>(plain, (block * T::BYTES + group) * GROUP_BYTES);
            let bits = match T::BYTES {
                1 => _mm512_cmpgt_epu8_mask(news, most),
                2 => _mm512_cmpgt_epu16_mask(news, most).into(),
                4 => _mm512_cmpgt_epu32_mask(news, most).into(),
                _ => _mm512_cmpgt_epu64_mask(news, most).into(),
            };
            all |= bits << (group * lanes::<T>());
        }
        flagged += all.count_ones() as usize;
        *flags = all.to_le_bytes();
    }
    flagged
}

/// How many bits are set.
#[target_feature(enable = "popcnt")]
pub fn ones(bytes: &[u8]) -> usize {
    bytes.as_chunks().0.iter().map(|qword| u64::from_ne_bytes(*qword).count_ones() as usize).sum()
}

/// A bit for each byte of `below`, whole groups behind the padding, which differs from the byte before.
#[target_feature(enable = "avx512f,avx512bw,popcnt")]
pub fn changes(below: &[u8], above: &mut [u8]) {
    for (bits, at) in above.as_chunks_mut::<8>().0.iter_mut().zip((PAD_BYTES..).step_by(GROUP_BYTES)) {
        *bits = _mm512_cmpneq_epu8_mask(load(below, at), load(below, at - 1)).to_le_bytes();
    }
}

/// Moves the bytes of `level`, whole groups, whose bit in `bits` is set to the front of `coded`: how many.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi2,popcnt")]
pub fn gather(level: &[u8], bits: &[u8], coded: &mut [u8]) -> usize {
    let mut at = 0;
    for (bytes, bits) in level.as_chunks::<GROUP_BYTES>().0.iter().zip(bits.as_chunks().0) {
        let bits = u64::from_le_bytes(*bits);
        store(coded, at, _mm512_maskz_compress_epi8(bits, load(bytes, 0)));
        at += bits.count_ones() as usize;
    }
    at
}

/// Most bytes of a level.
const MAX_LEVEL_BYTES: usize = 2048;

/// Takes back what [`gather`] did.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vbmi2,avx512bitalg,avx512vpopcntdq,avx512vl,popcnt")]
pub fn repeat(bits: &[u8], stored: &[u8], level: &mut [u8]) {
    let mut padded = [0; PAD_BYTES + MAX_LEVEL_BYTES + GROUP_BYTES];
    padded[PAD_BYTES..PAD_BYTES + stored.len()].copy_from_slice(stored);
    let mut at = PAD_BYTES;
    for (bytes, bits) in level.as_chunks_mut::<GROUP_BYTES>().0.iter_mut().zip(bits.as_chunks().0) {
        let bits = u64::from_le_bytes(*bits);
        let repeated = _mm512_permutexvar_epi8(rank::<u8>(bits), load(&padded, at - 1));
        *bytes = bytemuck::cast(_mm512_mask_expand_epi8(repeated, bits, load(&padded, at)));
        at += bits.count_ones() as usize;
    }
}

/// For lanes of bytes, of 2, 4 and 8 bytes: bits up to and including the lane's own, among those that it shares a number with.
const fn up_to<const W: usize>() -> Bytes {
    let shared = if W < 4 { 8 * W } else { GROUP_BYTES / W };
    let mut table = [0; GROUP_BYTES];
    let mut i = 0;
    while i < GROUP_BYTES / W {
        let bits = ((2u64 << (i % shared)) - 1).to_le_bytes();
        let mut byte = 0;
        while byte < W {
            table[i * W + byte] = bits[byte];
            byte += 1;
        }
        i += 1;
    }
    Bytes(table)
}

static UP_TO: [Bytes; 4] = [up_to::<1>(), up_to::<2>(), up_to::<4>(), up_to::<8>()];

/// The number of its qword, in every byte.
static QWORD: Bytes = {
    let mut table = [0; GROUP_BYTES];
    let mut i = 0;
    while i < GROUP_BYTES {
        table[i] = (i / 8) as u8;
        i += 1;
    }
    Bytes(table)
};

/// For every lane: how many of the flags up to and including its own are set. All of them make 0 of the last one's, as a
/// permutation takes it.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512bitalg,avx512vpopcntdq,avx512vl,popcnt")]
fn rank<T: Word>(flags: u64) -> __m512i {
    let up_to = load(&UP_TO[T::BYTES.ilog2() as usize].0, 0);
    match T::BYTES {
        1 => {
            // Within eight lanes, and of all lanes before those.
            let qword = load(&QWORD.0, 0);
            let own = _mm512_shuffle_epi8(_mm512_set1_epi64(flags as i64), qword);
            let counts = _mm_cvtsi128_si64(_mm_popcnt_epi8(_mm_cvtsi64_si128(flags as i64))) as u64;
            let before = counts.wrapping_mul(0x0101_0101_0101_0101) << 8;
            let before = _mm512_shuffle_epi8(_mm512_set1_epi64(before as i64), qword);
            _mm512_add_epi8(_mm512_popcnt_epi8(_mm512_and_si512(own, up_to)), before)
        }
        2 => {
            const UPPER: u32 = 0xFFFF_0000;
            let (low, high) = (flags as u16, (flags >> 16) as u16);
            let own = _mm512_mask_set1_epi16(_mm512_set1_epi16(low as i16), UPPER, high as i16);
            let own = _mm512_popcnt_epi16(_mm512_and_si512(own, up_to));
            _mm512_mask_add_epi16(own, UPPER, own, _mm512_set1_epi16(low.count_ones() as i16))
        }
        4 => _mm512_popcnt_epi32(_mm512_and_si512(_mm512_set1_epi32(flags as i32), up_to)),
        _ => _mm512_popcnt_epi64(_mm512_and_si512(_mm512_set1_epi64(flags as i64), up_to)),
    }
}

/// The flagged words together.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi2")]
fn compress<T: Word>(flags: u64, words: __m512i) -> __m512i {
    match T::BYTES {
        1 => _mm512_maskz_compress_epi8(flags, words),
        2 => _mm512_maskz_compress_epi16(flags as u32, words),
        4 => _mm512_maskz_compress_epi32(flags as u16, words),
        _ => _mm512_maskz_compress_epi64(flags as u8, words),
    }
}

/// The first words of `words` where the flags are, `others` elsewhere.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi2")]
fn expand<T: Word>(others: __m512i, flags: u64, words: __m512i) -> __m512i {
    match T::BYTES {
        1 => _mm512_mask_expand_epi8(others, flags, words),
        2 => _mm512_mask_expand_epi16(others, flags as u32, words),
        4 => _mm512_mask_expand_epi32(others, flags as u16, words),
        _ => _mm512_mask_expand_epi64(others, flags as u8, words),
    }
}

/// The words with these indices.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
fn permute<T: Word>(indices: __m512i, words: __m512i) -> __m512i {
    match T::BYTES {
        1 => _mm512_permutexvar_epi8(indices, words),
        2 => _mm512_permutexvar_epi16(indices, words),
        4 => _mm512_permutexvar_epi32(indices, words),
        _ => _mm512_permutexvar_epi64(indices, words),
    }
}

/// `low_bits` low bits of every word.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn low_mask<T: Word>(low_bits: usize) -> __m512i {
    let mask = u64::MAX.checked_shr(64 - low_bits as u32).unwrap_or(0);
    match T::BYTES {
        1 => _mm512_set1_epi8(mask as i8),
        2 => _mm512_set1_epi16(mask as i16),
        4 => _mm512_set1_epi32(mask as i32),
        _ => _mm512_set1_epi64(mask as i64),
    }
}

/// The flags of the words from `word` on, which begins a byte, a register of them; above them, zeros.
#[inline]
fn flags_of<T: Word>(flags: &[u8], group: usize) -> u64 {
    let bytes = 8 / T::BYTES;
    let mut eight = [0; 8];
    eight[..bytes].copy_from_slice(&flags[group * bytes..][..bytes]);
    u64::from_le_bytes(eight)
}

/// Moves the flagged words to the front of `scratch`, and behind them `keep` bits of each of the others.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vbmi2,bmi2,lzcnt,popcnt")]
pub fn pick<T: Word>(plain: &[u8], flags: &[u8], flagged: usize, keep: usize, scratch: &mut Scratch) {
    let (coded, low) = scratch.both_mut();
    if keep == 0 {
        let mut at = 0;
        for group in 0..plain.len() / GROUP_BYTES {
            let (words, flags) = (load(plain, group * GROUP_BYTES), flags_of::<T>(flags, group));
            store(coded, at, compress::<T>(flags, words));
            at += flags.count_ones() as usize * T::BYTES;
        }
        return;
    }
    let (mut at, mut low_at, mask) = (0, 0, low_mask::<T>(keep));
    for group in 0..plain.len() / GROUP_BYTES {
        let (words, flags) = (load(plain, group * GROUP_BYTES), flags_of::<T>(flags, group));
        store(coded, at, compress::<T>(flags, words));
        store(low, low_at, compress::<T>(!flags, _mm512_and_si512(words, mask)));
        let flagged = flags.count_ones() as usize;
        at += flagged * T::BYTES;
        low_at += (lanes::<T>() - flagged) * T::BYTES;
    }
    store(low, low_at, _mm512_setzero_si512());
    let (low, coded) = (&low[..low_at.next_multiple_of(GROUP_BYTES)], &mut coded[flagged * T::BYTES..]);
    match T::BYTES {
        1 => clog::pack_groups::<1>(keep as u8, low, coded),
        2 => clog::pack_groups::<2>(keep as u8, low, coded),
        4 => clog::pack_groups::<4>(keep as u8, low, coded),
        _ => clog::pack_groups::<8>(keep as u8, low, coded),
    };
}

/// The words that `keep` bits each in `low`, with the slack behind them, are, to the front of `words`, whole groups.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,bmi2,lzcnt")]
fn unpack_groups<T: Word>(keep: usize, low: &[u8], words: &mut [u8]) {
    match T::BYTES {
        1 => clog::unpack_groups::<1>(keep as u8, low, words),
        2 => clog::unpack_groups::<2>(keep as u8, low, words),
        4 => clog::unpack_groups::<4>(keep as u8, low, words),
        _ => clog::unpack_groups::<8>(keep as u8, low, words),
    }
}

/// The words that `keep` bits each in `low`, at least one, are, to the front of `words`.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,bmi2,lzcnt")]
fn unpack<T: Word>(keep: usize, low: &[u8], words: &mut [u8]) {
    // A group of eight qwords takes as many bytes as a qword bits; all are read as if they were full.
    let coded_bytes = keep * 8 / T::BYTES;
    let groups = low.len().div_ceil(coded_bytes);
    let away_from_the_end = (low.len() + coded_bytes).saturating_sub(GROUP_BYTES) / coded_bytes;
    let (first, last) = words[..groups * GROUP_BYTES].split_at_mut(away_from_the_end * GROUP_BYTES);
    unpack_groups::<T>(keep, low, first);
    let mut tail = [0; 3 * GROUP_BYTES];
    let rest = &low[away_from_the_end * coded_bytes..];
    tail[..rest.len()].copy_from_slice(rest);
    unpack_groups::<T>(keep, &tail, last);
}

/// Takes back what [`pick`] did.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vbmi2,avx512bitalg,avx512vpopcntdq,avx512vl,bmi2,lzcnt,popcnt")]
pub fn place<T: Word, const REPEAT: bool>(flags: &[u8], payload: Payload<'_>, scratch: &mut Scratch, plain: &mut [u8]) {
    let Payload { whole, low, keep } = payload;
    let (padded, low_words) = scratch.both_mut();
    padded[..PAD_BYTES].fill(0);
    padded[PAD_BYTES..PAD_BYTES + whole.len()].copy_from_slice(whole);
    if !low.is_empty() {
        unpack::<T>(keep, low, low_words);
    }
    let (mut at, mut low_at, mask) = (PAD_BYTES, 0, low_mask::<T>(keep));
    for (group, place) in plain.as_chunks_mut::<GROUP_BYTES>().0.iter_mut().enumerate() {
        let flags = flags_of::<T>(flags, group);
        let mut others = _mm512_setzero_si512();
        if REPEAT {
            // Index 0 is the last flagged word of all the groups before.
            let last = permute::<T>(rank::<T>(flags), load(padded, at - T::BYTES));
            others = _mm512_andnot_si512(mask, last);
        }
        if keep != 0 {
            let low = expand::<T>(_mm512_setzero_si512(), !flags, load(low_words, low_at));
            others = _mm512_or_si512(others, low);
        }
        *place = bytemuck::cast(expand::<T>(others, flags, load(padded, at)));
        let flagged = flags.count_ones() as usize;
        at += flagged * T::BYTES;
        low_at += (lanes::<T>() - flagged) * T::BYTES;
    }
}
