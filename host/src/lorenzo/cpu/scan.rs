//! Running sums.

#![forbid(unsafe_code)]

use super::Word;

/// The running sums of a segment, or the running sums of those, each plus `head`.
#[inline(always)]
pub(super) fn scan<T: Word, const SECOND: bool>(output: &[T::Cell], head: T, plain: &mut [T::Cell]) {
    let (mut slope, mut value) = (T::default(), head);
    let whole = if SECOND { 0 } else { scan_bytes::<T>(output, plain, &mut value) };
    for (output, plain) in output[whole..].iter().zip(&mut plain[whole..]) {
        if SECOND {
            slope = slope.plus(T::load(*output));
            value = value.plus(slope);
        } else {
            value = value.plus(T::load(*output));
        }
        *plain = value.store();
    }
}

const LANES: u64 = 0x0001_0001_0001_0001;
const LOW: u64 = 0xFF * LANES;

/// Eight bytes at a time, where words are bytes and there are enough: how many are done. A sum a cycle is faster than memory for all other words, and slower for these.
///
/// Four bytes in lanes of 16 bits, multiplied by a one in every lane, are their running sums; a sum of eight does not leave its lane.
#[inline(always)]
fn scan_bytes<T: Word>(output: &[T::Cell], plain: &mut [T::Cell], value: &mut T) -> usize {
    if size_of::<T>() > 1 || output.len() < 64 {
        return 0;
    }
    let (whole, _) = T::bytes(output).as_chunks();
    let (whole_plain, _) = T::bytes_mut(plain).as_chunks_mut();
    let mut before = u64::from(T::bytes(&[value.store()])[0]);
    for (output, plain) in whole.iter().zip(whole_plain) {
        let bytes = u64::from_le_bytes(*output);
        let (even, odd) = ((bytes & LOW).wrapping_mul(LANES), (bytes >> 8 & LOW).wrapping_mul(LANES));
        let carry = (before & 0xFF) * LANES;
        // An even byte has one odd byte fewer in front of it.
        let (with_even, with_odd) = (even + (odd << 16), even + odd);
        *plain = ((with_even + carry) & LOW | ((with_odd + carry) & LOW) << 8).to_le_bytes();
        before += with_odd >> 48;
    }
    *value = T::truncate(before as i64);
    8 * whole.len()
}
