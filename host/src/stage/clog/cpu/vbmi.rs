//! Even chunks with AVX-512: 64 plain bytes, eight qwords, in one register.
//!
//! Packing moves the words of each qword together with one shift and one merge a doubling, then puts the eight qwords side by
//! side: each is shifted to its place in a byte, and two byte permutes, one of the even qwords and one of the odd ones, drop
//! all bytes where they belong. Unpacking permutes to every qword the bytes that hold its bits and lets the multishift
//! instruction pick each byte's bits from there. Where the shift drives a qword's bits into a ninth byte, a third step adds that.

#![forbid(unsafe_code)]

use super::super::format::Widths;
use super::even::{self, GROUP_BYTES, low_mask, qword_bits};
use shared_types::clog::SUBCHUNKS;
use std::arch::x86_64::*;

/// Bytes of a register as a table holds them.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Bytes([u8; GROUP_BYTES]);

impl Bytes {
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn load(&self) -> __m512i {
        bytemuck::pod_read_unaligned(&self.0)
    }
}

/// The bit of its first byte at which qword `q` of `bits` bits starts.
const fn first_bit(q: usize, bits: usize) -> u64 {
    (q * bits % 8) as u64
}

/// Whether some qword of `bits` bits reaches into a ninth byte.
const fn is_wide(bits: usize) -> bool {
    let mut q = 0;
    while q < 8 {
        if first_bit(q, bits) as usize + bits > 64 {
            return true;
        }
        q += 1;
    }
    false
}

/// Below that, three qwords can meet in a byte.
const NARROW_BITS: usize = 8;

/// How eight qwords of so many bits each come together.
#[derive(Clone, Copy)]
struct Join {
    /// [`first_bit`] of every qword.
    shifts: Bytes,
    /// Where the bytes of the even qwords come from, of the odd ones, and those that a shift drove out of their qword; which
    /// bytes there are of each.
    sources: [(Bytes, u64); 3],
}

static JOIN: [Join; 65] = {
    let mut joins = [Join { shifts: Bytes([0; 64]), sources: [(Bytes([0; 64]), 0); 3] }; 65];
    let mut bits = 1;
    while bits <= 64 {
        let mut q = 0;
        while q < 8 {
            let shift = first_bit(q, bits);
            joins[bits].shifts.0[8 * q] = shift as u8;
            let bytes = (shift as usize + bits).div_ceil(8);
            let mut i = 0;
            while i < bytes {
                let (way, source) = if i < 8 { (q % 2, 8 * q + i) } else { (2, 8 * q) };
                let (ref mut sources, ref mut present) = joins[bits].sources[way];
                let at = q * bits / 8 + i;
                sources.0[at] = source as u8;
                *present |= 1 << at;
                i += 1;
            }
            q += 1;
        }
        bits += 1;
    }
    joins
};

/// For qwords of so many bits: where every byte of eight qwords is in the packed bytes. The one behind is 8 further on.
static QWORD_BYTE: [Bytes; 65] = {
    let mut table = [Bytes([0; 64]); 65];
    let mut bits = 0;
    while bits <= 64 {
        let mut at = 0;
        while at < 64 {
            table[bits].0[at] = (at / 8 * bits / 8 + at % 8) as u8;
            at += 1;
        }
        bits += 1;
    }
    table
};

/// For words of `W` bytes and so many bits: the bit of its qword where every plain byte starts.
const fn byte_bits<const W: usize>() -> [Bytes; 65] {
    let mut table = [Bytes([0; 64]); 65];
    let mut width = 0;
    while width <= 8 * W {
        let bits = qword_bits::<W>(width as u8);
        let mut at = 0;
        while at < 64 {
            let (q, byte) = (at / 8, at % 8);
            // In a wide qword the first bit was shifted away before.
            let first = if is_wide(bits) { 0 } else { first_bit(q, bits) as usize };
            table[width].0[at] = ((first + byte / W * width + byte % W * 8) % 64) as u8;
            at += 1;
        }
        width += 1;
    }
    table
}

static BYTE_BITS: [[Bytes; 65]; 4] = [byte_bits::<1>(), byte_bits::<2>(), byte_bits::<4>(), byte_bits::<8>()];

#[inline]
#[target_feature(enable = "avx512f")]
fn load(group: &[u8; GROUP_BYTES]) -> __m512i {
    bytemuck::pod_read_unaligned(group)
}

/// The low `width` bits of every word.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn word_mask<const W: usize>(width: u8) -> __m512i {
    let mask = low_mask(width.into());
    match W {
        1 => _mm512_set1_epi8(mask as i8),
        2 => _mm512_set1_epi16(mask as i16),
        4 => _mm512_set1_epi32(mask as i32),
        _ => _mm512_set1_epi64(mask as i64),
    }
}

/// The width of every subchunk.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,bmi2,lzcnt")]
pub fn widths<const W: usize>(words: &[u8]) -> Widths {
    let mut widths = [0; SUBCHUNKS as usize];
    for (width, subchunk) in widths.iter_mut().zip(words.chunks_exact(words.len() / SUBCHUNKS as usize)) {
        let groups = subchunk.as_chunks().0;
        let any = groups.iter().fold(_mm512_setzero_si512(), |any, group| _mm512_or_si512(any, load(group)));
        *width = even::width_of::<W>(_mm512_reduce_or_epi64(any) as u64);
    }
    Widths(widths)
}

/// Moves the words of every qword together: from `8 * W` bits each to `width`.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn squeeze<const W: usize>(mut group: __m512i, width: u8) -> __m512i {
    /// Bits of the third operand's ones from the first operand, the others from the second.
    const SELECT: i32 = 0b1110_0100;
    let bits = i64::from(width);
    // Two neighbours become one lane of twice the size. The lower one stays, and the shift that moves the upper one to it
    // drives what is left of the lower one below it.
    if W == 1 {
        let near = _mm512_srl_epi16(group, _mm_cvtsi64_si128(8 - bits));
        group = _mm512_ternarylogic_epi64::<SELECT>(group, near, _mm512_set1_epi16(low_mask(width.into()) as i16));
    }
    if W <= 2 {
        let bits = bits * 2 / W as i64;
        let near = _mm512_srl_epi32(group, _mm_cvtsi64_si128(16 - bits));
        group = _mm512_ternarylogic_epi64::<SELECT>(group, near, _mm512_set1_epi32(low_mask(bits as usize) as i32));
    }
    if W <= 4 {
        let bits = bits * 4 / W as i64;
        let near = _mm512_srl_epi64(group, _mm_cvtsi64_si128(32 - bits));
        group = _mm512_ternarylogic_epi64::<SELECT>(group, near, _mm512_set1_epi64(low_mask(bits as usize) as i64));
    }
    group
}

/// Packs `words` to the front of `payload`, which has room for the slack behind them.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,bmi2,lzcnt")]
pub fn pack<const W: usize>(widths: &Widths, words: &[u8], payload: &mut [u8]) {
    let mut at = 0;
    for (&width, subchunk) in widths.0.iter().zip(words.chunks_exact(words.len() / SUBCHUNKS as usize)) {
        at += pack_groups::<W>(width, subchunk, &mut payload[at..]);
    }
}

/// Packs `words`, whole groups, with `width` bits each to the front of `payload`, which has room for the slack behind them: the
/// bytes used.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,bmi2,lzcnt")]
pub fn pack_groups<const W: usize>(width: u8, words: &[u8], payload: &mut [u8]) -> usize {
    let bits = qword_bits::<W>(width);
    if bits == 0 {
        return 0;
    }
    let groups = words.as_chunks::<GROUP_BYTES>().0;
    let places = (0..).step_by(bits);
    if bits < NARROW_BITS {
        let mask = u64::from_ne_bytes([low_mask(bits) as u8; 8]);
        for (group, at) in groups.iter().zip(places) {
            // At most a byte a qword.
            let bytes = _mm512_cvtepi64_epi8(squeeze::<W>(load(group), width));
            let packed = _pext_u64(_mm_cvtsi128_si64(bytes) as u64, mask);
            payload[at..at + 8].copy_from_slice(&packed.to_le_bytes());
        }
        return groups.len() * bits;
    }
    let Join { shifts, sources: [(even, is_even), (odd, is_odd), (ninth, is_ninth)] } = &JOIN[bits];
    let (shifts, even, odd, ninth) = (shifts.load(), even.load(), odd.load(), ninth.load());
    let join = |qwords| {
        let shifted = _mm512_sllv_epi64(qwords, shifts);
        _mm512_or_si512(
            _mm512_maskz_permutexvar_epi8(*is_even, even, shifted),
            _mm512_maskz_permutexvar_epi8(*is_odd, odd, shifted),
        )
    };
    if *is_ninth == 0 {
        for (group, at) in groups.iter().zip(places) {
            let packed = join(squeeze::<W>(load(group), width));
            payload[at..at + GROUP_BYTES].copy_from_slice(bytemuck::bytes_of(&packed));
        }
    } else {
        let back = _mm512_sub_epi64(_mm512_set1_epi64(64), shifts);
        for (group, at) in groups.iter().zip(places) {
            let qwords = squeeze::<W>(load(group), width);
            let lost = _mm512_srlv_epi64(qwords, back);
            let packed = _mm512_or_si512(join(qwords), _mm512_maskz_permutexvar_epi8(*is_ninth, ninth, lost));
            payload[at..at + GROUP_BYTES].copy_from_slice(bytemuck::bytes_of(&packed));
        }
    }
    groups.len() * bits
}

/// Takes back what [`pack`] packed.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,bmi2,lzcnt")]
pub fn unpack<const W: usize>(widths: &Widths, payload: &[u8], words: &mut [u8]) {
    even::for_each_subchunk::<W>(widths, payload, words, |width, coded, subchunk| unpack_groups::<W>(width, coded, subchunk));
}

/// Takes back what [`pack_groups`] packed to the front of `coded`, which has the slack behind it.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,bmi2,lzcnt")]
pub fn unpack_groups<const W: usize>(width: u8, coded: &[u8], words: &mut [u8]) {
    let bits = qword_bits::<W>(width);
    let groups = words.as_chunks_mut::<GROUP_BYTES>().0;
    let (bytes, starts) = (QWORD_BYTE[bits].load(), BYTE_BITS[W.ilog2() as usize][width as usize].load());
    let mask = word_mask::<W>(width);
    if !is_wide(bits) {
        for (i, group) in groups.iter_mut().enumerate() {
            let packed = bytemuck::pod_read_unaligned(&coded[i * bits..][..GROUP_BYTES]);
            let qwords = _mm512_permutexvar_epi8(bytes, packed);
            let plain = _mm512_and_si512(_mm512_multishift_epi64_epi8(starts, qwords), mask);
            group.copy_from_slice(bytemuck::bytes_of(&plain));
        }
    } else {
        let shifts = JOIN[bits].shifts.load();
        let (back, behind) = (_mm512_sub_epi64(_mm512_set1_epi64(64), shifts), _mm512_add_epi8(bytes, _mm512_set1_epi8(8)));
        for (i, group) in groups.iter_mut().enumerate() {
            let packed = bytemuck::pod_read_unaligned(&coded[i * bits..][..GROUP_BYTES]);
            let low = _mm512_srlv_epi64(_mm512_permutexvar_epi8(bytes, packed), shifts);
            let high = _mm512_sllv_epi64(_mm512_permutexvar_epi8(behind, packed), back);
            let qwords = _mm512_or_si512(low, high);
            let plain = _mm512_and_si512(_mm512_multishift_epi64_epi8(starts, qwords), mask);
            group.copy_from_slice(bytemuck::bytes_of(&plain));
        }
    }
}
