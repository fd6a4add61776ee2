//! Even chunks with the plain source, where the processor gathers and scatters bits of a qword in one instruction each.

#![forbid(unsafe_code)]

use super::super::format::Widths;
use super::even::{self, low_mask};
use std::arch::x86_64::{_pdep_u64, _pext_u64};

/// The bits of a qword that its words use.
#[inline(always)]
fn used_bits<const W: usize>(width: u8) -> u64 {
    low_mask(width.into()) * (u64::MAX / low_mask(8 * W))
}

/// The width of every subchunk.
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt")]
pub fn widths<const W: usize>(words: &[u8]) -> Widths {
    even::widths::<W>(words)
}

/// Packs `words` to the front of `payload`, which has room for the slack behind them.
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt")]
pub fn pack<const W: usize>(widths: &Widths, words: &[u8], payload: &mut [u8]) {
    even::pack_by::<W>(widths, words, payload, |qword, width| _pext_u64(qword, used_bits::<W>(width)));
}

/// Takes back what [`pack`] packed.
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt")]
pub fn unpack<const W: usize>(widths: &Widths, payload: &[u8], words: &mut [u8]) {
    even::unpack_by::<W>(widths, payload, words, |qword, width| _pdep_u64(qword, used_bits::<W>(width)));
}
