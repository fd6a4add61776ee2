//! Single-instruction bit and byte operations, with the exact semantics of their PTX instructions.
//!
//! These are pure functions: they work on the host outside of the emulator, too.

#[cfg(target_arch = "nvptx64")]
use crate::ptx as imp;

/// The high word of `hi:lo` shifted left by `shift` modulo 32 (`shf.l.wrap.b32`).
///
/// ```
/// # use cuda_std::bits::funnel_shift_left_wrap;
/// assert_eq!(funnel_shift_left_wrap(0xAABB_CCDD, 0x1122_3344, 8), 0x2233_44AA);
/// assert_eq!(funnel_shift_left_wrap(0xAABB_CCDD, 0x1122_3344, 32), 0x1122_3344); // as a shift by 0
/// ```
#[inline(always)]
pub fn funnel_shift_left_wrap(lo: u32, hi: u32, shift: u32) -> u32 {
    #[cfg(target_arch = "nvptx64")]
    return imp::funnel_shift_left_wrap(lo, hi, shift);
    #[cfg(not(target_arch = "nvptx64"))]
    return ((join(lo, hi) << (shift & 31)) >> 32) as u32;
}

/// The high word of `hi:lo` shifted left by the smaller of `shift` and 32 (`shf.l.clamp.b32`).
///
/// ```
/// # use cuda_std::bits::funnel_shift_left_clamp;
/// assert_eq!(funnel_shift_left_clamp(0xAABB_CCDD, 0x1122_3344, 32), 0xAABB_CCDD);
/// assert_eq!(funnel_shift_left_clamp(0xAABB_CCDD, 0x1122_3344, 99), 0xAABB_CCDD);
/// ```
#[inline(always)]
pub fn funnel_shift_left_clamp(lo: u32, hi: u32, shift: u32) -> u32 {
    #[cfg(target_arch = "nvptx64")]
    return imp::funnel_shift_left_clamp(lo, hi, shift);
    #[cfg(not(target_arch = "nvptx64"))]
    return ((join(lo, hi) << shift.min(32)) >> 32) as u32;
}

/// The low word of `hi:lo` shifted right by `shift` modulo 32 (`shf.r.wrap.b32`).
///
/// ```
/// # use cuda_std::bits::funnel_shift_right_wrap;
/// assert_eq!(funnel_shift_right_wrap(0xAABB_CCDD, 0x1122_3344, 8), 0x44AA_BBCC);
/// assert_eq!(funnel_shift_right_wrap(0xAABB_CCDD, 0x1122_3344, 32), 0xAABB_CCDD); // as a shift by 0
/// ```
#[inline(always)]
pub fn funnel_shift_right_wrap(lo: u32, hi: u32, shift: u32) -> u32 {
    #[cfg(target_arch = "nvptx64")]
    return imp::funnel_shift_right_wrap(lo, hi, shift);
    #[cfg(not(target_arch = "nvptx64"))]
    return (join(lo, hi) >> (shift & 31)) as u32;
}

/// The low word of `hi:lo` shifted right by the smaller of `shift` and 32 (`shf.r.clamp.b32`).
///
/// ```
/// # use cuda_std::bits::funnel_shift_right_clamp;
/// assert_eq!(funnel_shift_right_clamp(0xAABB_CCDD, 0x1122_3344, 32), 0x1122_3344);
/// assert_eq!(funnel_shift_right_clamp(0xAABB_CCDD, 0x1122_3344, 99), 0x1122_3344);
/// ```
#[inline(always)]
pub fn funnel_shift_right_clamp(lo: u32, hi: u32, shift: u32) -> u32 {
    #[cfg(target_arch = "nvptx64")]
    return imp::funnel_shift_right_clamp(lo, hi, shift);
    #[cfg(not(target_arch = "nvptx64"))]
    return (join(lo, hi) >> shift.min(32)) as u32;
}

/// `value << shift`, and 0 for shifts from 32 on (`shl.b32`).
///
/// ```
/// # use cuda_std::bits::shl_clamp;
/// assert_eq!((shl_clamp(3, 31), shl_clamp(3, 32), shl_clamp(3, 64)), (0x8000_0000, 0, 0));
/// ```
#[inline(always)]
pub fn shl_clamp(value: u32, shift: u32) -> u32 {
    #[cfg(target_arch = "nvptx64")]
    return imp::shl_clamp(value, shift);
    #[cfg(not(target_arch = "nvptx64"))]
    return value.checked_shl(shift).unwrap_or(0);
}

/// `value >> shift`, and 0 for shifts from 32 on (`shr.u32`).
///
/// ```
/// # use cuda_std::bits::shr_clamp;
/// assert_eq!((shr_clamp(u32::MAX, 31), shr_clamp(u32::MAX, 32)), (1, 0));
/// ```
#[inline(always)]
pub fn shr_clamp(value: u32, shift: u32) -> u32 {
    #[cfg(target_arch = "nvptx64")]
    return imp::shr_clamp(value, shift);
    #[cfg(not(target_arch = "nvptx64"))]
    return value.checked_shr(shift).unwrap_or(0);
}

/// `c` plus the dot product of the four unsigned bytes of `a` with those of `b`, modulo 2^32 (`dp4a.u32.u32`).
///
/// ```
/// # use cuda_std::bits::dp4a;
/// assert_eq!(dp4a(0x0403_0201, 0x0101_0101, 100), 110); // the sum of four bytes
/// ```
#[inline(always)]
pub fn dp4a(a: u32, b: u32, c: u32) -> u32 {
    #[cfg(target_arch = "nvptx64")]
    return imp::dp4a(a, b, c);
    #[cfg(not(target_arch = "nvptx64"))]
    return core::iter::zip(a.to_le_bytes(), b.to_le_bytes())
        .fold(c, |sum, (a, b)| sum.wrapping_add(u32::from(a) * u32::from(b)));
}

/// `value`, which the compiler knows nothing about: it computes again what it could otherwise keep in a register from an
/// earlier use, where registers are dearer than instructions.
///
/// ```
/// assert_eq!(cuda_std::bits::opaque(7), 7);
/// ```
#[inline(always)]
pub fn opaque(value: u32) -> u32 {
    #[cfg(target_arch = "nvptx64")]
    return imp::opaque(value);
    #[cfg(not(target_arch = "nvptx64"))]
    return value;
}

/// Four bytes picked from the eight of `b:a` (`prmt.b32`).
///
/// Byte `i` of the result is chosen by nibble `i` of `sel`: its low three bits are the number of the byte, 0 to 3
/// in `a` and 4 to 7 in `b`; its high bit asks for the sign of that byte, spread over all eight bits, instead.
/// The upper 16 bits of `sel` mean nothing.
///
/// ```
/// # use cuda_std::bits::byte_permute;
/// assert_eq!(byte_permute(0x0302_0100, 0x0706_0504, 0x0123), 0x0001_0203); // swaps the bytes of `a`
/// assert_eq!(byte_permute(0x0000_0080, 0, 0x8888), 0xFFFF_FFFF); // the sign of byte 0
/// ```
#[inline(always)]
pub fn byte_permute(a: u32, b: u32, sel: u32) -> u32 {
    #[cfg(target_arch = "nvptx64")]
    return imp::byte_permute(a, b, sel);
    #[cfg(not(target_arch = "nvptx64"))]
    return {
        let bytes = join(a, b).to_le_bytes();
        u32::from_le_bytes(core::array::from_fn(|i| {
            let nibble = sel >> (4 * i);
            let byte = bytes[(nibble & 7) as usize];
            if nibble & 8 == 0 { byte } else { ((byte as i8) >> 7) as u8 }
        }))
    };
}

/// `hi:lo`.
#[cfg(not(target_arch = "nvptx64"))]
const fn join(lo: u32, hi: u32) -> u64 {
    (hi as u64) << 32 | lo as u64
}
