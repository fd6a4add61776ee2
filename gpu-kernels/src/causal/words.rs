//! Two 16-bit words a register: what encoders make of them before they count or code.

use cuda_std::bits::byte_permute;

/// A register with the upper word of `before` and the lower word of `now`: the words in front of those of `now`.
#[inline(always)]
pub fn words_before(before: u32, now: u32) -> u32 {
    byte_permute(before, now, 0x5432)
}

/// The zigzag numbers of the differences of two words each to those of `before`.
#[inline(always)]
pub fn residuals(now: u32, before: u32) -> u32 {
    const TOPS: u32 = 0x8000_8000;
    // The upper bit of each word takes no carry out and gets its own value after.
    let difference = ((now | TOPS).wrapping_sub(before & !TOPS)) ^ ((now ^ !before) & TOPS);
    let negative = (difference >> 15 & 0x0001_0001) * 0xFFFF;
    difference << 1 & 0xFFFE_FFFE ^ negative
}

/// The residuals of a unit of eight words behind the word that is `before`'s upper one.
#[inline(always)]
pub fn unit_residuals(v: [u32; 4], before: u32) -> [u32; 4] {
    [
        residuals(v[0], words_before(before, v[0])),
        residuals(v[1], words_before(v[0], v[1])),
        residuals(v[2], words_before(v[1], v[2])),
        residuals(v[3], words_before(v[2], v[3])),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn residuals_of_both_words() {
        let words = [0u16, 1, 2, 0x7FFF, 0x8000, 0x8001, 0xFFFE, 0xFFFF, 0x1234];
        for (now, before) in words.into_iter().flat_map(|now| words.map(|before| (now, before))) {
            let difference = now.wrapping_sub(before) as i16;
            let expected = (difference << 1 ^ difference >> 15) as u16;
            for (other_now, other_before) in [(0, 0), (0, 1), (0xFFFF, 0x8000), (0x8000, 0x7FFF)] {
                let pack = |low: u16, high: u16| u32::from(low) | u32::from(high) << 16;
                assert_eq!(residuals(pack(now, other_now), pack(before, other_before)) as u16, expected, "{now} - {before}");
                assert_eq!((residuals(pack(other_now, now), pack(other_before, before)) >> 16) as u16, expected);
            }
        }
    }
}
