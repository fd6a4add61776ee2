//! The bit operations against the words of the PTX manual, bit by bit.

use cuda_std::bits::*;
use quickcheck::quickcheck;

/// Bit `i` of the 64 bits `hi:lo`.
fn bit(lo: u32, hi: u32, i: u32) -> u32 {
    if i < 32 { lo >> i & 1 } else { hi >> (i - 32) & 1 }
}

/// The 32 bits of `hi:lo` from bit `from` on.
fn window(lo: u32, hi: u32, from: u32) -> u32 {
    (0..32).map(|i| bit(lo, hi, from + i) << i).sum()
}

#[test]
fn funnel_shifts_at_the_edges() {
    let (lo, hi) = (0x8000_0001, 0x1234_5678);
    for (shift, left_wrap, left_clamp, right_wrap, right_clamp) in [
        (0, hi, hi, lo, lo),
        (1, 0x2468_ACF1, 0x2468_ACF1, 0x4000_0000, 0x4000_0000),
        (31, 0x4000_0000, 0x4000_0000, 0x2468_ACF1, 0x2468_ACF1),
        (32, hi, lo, lo, hi),
        (33, 0x2468_ACF1, lo, 0x4000_0000, hi),
        (63, 0x4000_0000, lo, 0x2468_ACF1, hi),
        (64, hi, lo, lo, hi),
        (u32::MAX, 0x4000_0000, lo, 0x2468_ACF1, hi),
    ] {
        assert_eq!(funnel_shift_left_wrap(lo, hi, shift), left_wrap, "left wrap {shift}");
        assert_eq!(funnel_shift_left_clamp(lo, hi, shift), left_clamp, "left clamp {shift}");
        assert_eq!(funnel_shift_right_wrap(lo, hi, shift), right_wrap, "right wrap {shift}");
        assert_eq!(funnel_shift_right_clamp(lo, hi, shift), right_clamp, "right clamp {shift}");
    }
}

#[test]
fn clamped_shifts_at_the_edges() {
    for (shift, left, right) in [
        (0, 0x8000_0001, 0x8000_0001),
        (1, 2, 0x4000_0000),
        (31, 0x8000_0000, 1),
        (32, 0, 0),
        (33, 0, 0),
        (63, 0, 0),
        (64, 0, 0),
        (u32::MAX, 0, 0),
    ] {
        assert_eq!(shl_clamp(0x8000_0001, shift), left, "left {shift}");
        assert_eq!(shr_clamp(0x8000_0001, shift), right, "right {shift}");
    }
}

#[test]
fn dot_products_at_the_edges() {
    assert_eq!(dp4a(u32::MAX, u32::MAX, 0), 4 * 255 * 255);
    assert_eq!(dp4a(0x0000_00FF, 0x0000_00FF, u32::MAX), 255 * 255 - 1); // wraps around
    assert_eq!(dp4a(0x0102_0408, 0x1000_0001, 0), 8 + 16);
}

#[test]
fn byte_permutations_by_hand() {
    let (a, b) = (0x0302_0180, 0xF706_0504);
    assert_eq!(byte_permute(a, b, 0x3210), a);
    assert_eq!(byte_permute(a, b, 0x7654), b);
    assert_eq!(byte_permute(a, b, 0x5432), 0x0504_0302);
    assert_eq!(byte_permute(a, b, 0xF8_9A), 0xFFFF_0000); // signs of bytes 7, 0, 1, 2
    assert_eq!(byte_permute(a, b, 0xABCD_3210), a); // the upper half means nothing
}

quickcheck! {
    fn funnel_shifts(lo: u32, hi: u32, shift: u32) -> bool {
        let shifts = [shift, shift % 70];
        shifts.into_iter().all(|shift| {
            funnel_shift_left_wrap(lo, hi, shift) == window(lo, hi, 32 - shift % 32)
                && funnel_shift_left_clamp(lo, hi, shift) == window(lo, hi, 32 - shift.min(32))
                && funnel_shift_right_wrap(lo, hi, shift) == window(lo, hi, shift % 32)
                && funnel_shift_right_clamp(lo, hi, shift) == window(lo, hi, shift.min(32))
        })
    }

    fn dot_products(a: [u8; 4], b: [u8; 4], c: u32) -> bool {
        let products = (0..4).map(|i| u64::from(a[i]) * u64::from(b[i])).sum::<u64>();
        dp4a(u32::from_le_bytes(a), u32::from_le_bytes(b), c) == (u64::from(c) + products) as u32
    }

    fn byte_permutations(a: [u8; 4], b: [u8; 4], sel: u16) -> bool {
        let expected = [0, 1, 2, 3].map(|i| {
            let (nibble, bytes) = (sel >> (4 * i) & 15, [a, b].concat());
            let byte = bytes[usize::from(nibble % 8)];
            if nibble < 8 { byte } else if byte >= 128 { 255 } else { 0 }
        });
        byte_permute(u32::from_le_bytes(a), u32::from_le_bytes(b), u32::from(sel)) == u32::from_le_bytes(expected)
    }
}
