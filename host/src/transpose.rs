//! Sixteen lanes of sixteen dwords <-> sixteen rows of 64 bytes; and eight lanes of eight dwords <-> eight rows of 32 bytes.

#![forbid(unsafe_code)]

use std::arch::x86_64::*;

/// Element `i` of vector `j` becomes element `j` of vector `i`.
#[inline]
#[target_feature(enable = "avx512f")]
pub(crate) fn transpose(rows: &[__m512i; 16]) -> [__m512i; 16] {
    let zero = _mm512_setzero_si512();
    let [mut pairs, mut quads, mut columns] = [[zero; 16]; 3];
    for i in 0..8 {
        pairs[2 * i] = _mm512_unpacklo_epi32(rows[2 * i], rows[2 * i + 1]);
        pairs[2 * i + 1] = _mm512_unpackhi_epi32(rows[2 * i], rows[2 * i + 1]);
    }
    for i in (0..16).step_by(4) {
        quads[i] = _mm512_unpacklo_epi64(pairs[i], pairs[i + 2]);
        quads[i + 1] = _mm512_unpackhi_epi64(pairs[i], pairs[i + 2]);
        quads[i + 2] = _mm512_unpacklo_epi64(pairs[i + 1], pairs[i + 3]);
        quads[i + 3] = _mm512_unpackhi_epi64(pairs[i + 1], pairs[i + 3]);
    }
    // 128-bit lane `k` of quads[4 * i + j] is rows 4 * i .. 4 * i + 4 of column 4 * k + j.
    for j in 0..4 {
        let even = |a: usize, b: usize| _mm512_shuffle_i32x4::<0x88>(quads[a], quads[b]);
        let odd = |a: usize, b: usize| _mm512_shuffle_i32x4::<0xDD>(quads[a], quads[b]);
        let (even, odd) = ([even(j, 4 + j), even(8 + j, 12 + j)], [odd(j, 4 + j), odd(8 + j, 12 + j)]);
        columns[j] = _mm512_shuffle_i32x4::<0x88>(even[0], even[1]);
        columns[8 + j] = _mm512_shuffle_i32x4::<0xDD>(even[0], even[1]);
        columns[4 + j] = _mm512_shuffle_i32x4::<0x88>(odd[0], odd[1]);
        columns[12 + j] = _mm512_shuffle_i32x4::<0xDD>(odd[0], odd[1]);
    }
    columns
}

/// [`transpose`] with AVX2, of eight vectors.
#[inline]
#[target_feature(enable = "avx2")]
pub(crate) fn transpose8(rows: &[__m256i; 8]) -> [__m256i; 8] {
    let zero = _mm256_setzero_si256();
    let [mut pairs, mut quads, mut columns] = [[zero; 8]; 3];
    for i in 0..4 {
        pairs[2 * i] = _mm256_unpacklo_epi32(rows[2 * i], rows[2 * i + 1]);
        pairs[2 * i + 1] = _mm256_unpackhi_epi32(rows[2 * i], rows[2 * i + 1]);
    }
    for i in [0, 4] {
        quads[i] = _mm256_unpacklo_epi64(pairs[i], pairs[i + 2]);
        quads[i + 1] = _mm256_unpackhi_epi64(pairs[i], pairs[i + 2]);
        quads[i + 2] = _mm256_unpacklo_epi64(pairs[i + 1], pairs[i + 3]);
        quads[i + 3] = _mm256_unpackhi_epi64(pairs[i + 1], pairs[i + 3]);
    }
    // 128-bit lane `k` of quads[4 * i + j] is rows 4 * i .. 4 * i + 4 of column 4 * k + j.
    for j in 0..4 {
        columns[j] = _mm256_permute2x128_si256::<0x20>(quads[j], quads[4 + j]);
        columns[4 + j] = _mm256_permute2x128_si256::<0x31>(quads[j], quads[4 + j]);
    }
    columns
}
