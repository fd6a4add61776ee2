//! An array as aligned units of 16 bytes, the last of which may be shorter.

use super::super::packed::{Lane, lane_of, shift_in, vector_of, wide};
use crate::collectives::ALL_LANES;
use cuda_std::{
    bits::{byte_permute, funnel_shift_right_wrap},
    global,
    vector::U32x4,
    warp,
};

/// How much of an array there is.
#[derive(Clone, Copy)]
pub struct Units {
    /// Whole units.
    pub whole: u64,
    /// Bytes behind them.
    pub rest: u32,
}

impl Units {
    /// Of an array of `bytes`.
    #[inline(always)]
    pub fn of(bytes: u64) -> Self {
        Self { whole: bytes / 16, rest: bytes as u32 % 16 }
    }

    /// Unit `unit` of an array of elements of `W` bytes, zeros where there is nothing; a number below 0, wrapped around, is beyond
    /// the end. `READ_AGAIN`: others will want the unit from this multiprocessor, too.
    ///
    /// # Safety
    /// `array` is 16-aligned and holds the array; nobody writes it while the kernel runs.
    #[inline(always)]
    pub unsafe fn load<const W: u32, const READ_AGAIN: bool>(self, array: *const U32x4, unit: u64) -> Lane {
        // SAFETY: the whole units are there, and the rest's bytes.
        unsafe {
            if unit < self.whole {
                let from = array.add(unit as usize);
                lane_of(if READ_AGAIN { global::load_v4(from) } else { global::load_streaming_v4(from) })
            } else if unit == self.whole {
                let from = array.add(unit as usize).cast::<u8>();
                let mut left = self.rest;
                let mut v = [0; 4];
                while left > 0 {
                    left -= W;
                    v = shift_in::<W>(v, get::<W>(from.add(left as usize)));
                }
                v
            } else {
                [0; 4]
            }
        }
    }

    /// Writes unit `unit`, as much of it as there is.
    ///
    /// # Safety
    /// `array` is 16-aligned, holds the array, and nobody else writes the unit.
    #[inline(always)]
    pub unsafe fn store<const W: u32>(self, array: *mut U32x4, unit: u64, v: Lane) {
        // SAFETY: as in `load`.
        unsafe {
            if unit < self.whole {
                global::store_streaming_v4(array.add(unit as usize), vector_of(v));
            } else if unit == self.whole {
                let to = array.add(unit as usize).cast::<u8>();
                let (mut v, mut done) = (v, 0);
                while done < self.rest {
                    put::<W>(to.add(done as usize), first::<W>(v));
                    v = shift_out::<W>(v);
                    done += W;
                }
            }
        }
    }
}

/// An element of `W` bytes.
///
/// # Safety
/// `from` is aligned and readable.
#[inline(always)]
pub unsafe fn get<const W: u32>(from: *const u8) -> u64 {
    // SAFETY: the caller's word.
    unsafe {
        match W {
            1 => (*from).into(),
            2 => (*from.cast::<u16>()).into(),
            4 => (*from.cast::<u32>()).into(),
            _ => *from.cast::<u64>(),
        }
    }
}

/// Writes an element of `W` bytes.
///
/// # Safety
/// `to` is aligned and writable.
#[inline(always)]
pub unsafe fn put<const W: u32>(to: *mut u8, value: u64) {
    // SAFETY: the caller's word.
    unsafe {
        match W {
            1 => *to = value as u8,
            2 => *to.cast::<u16>() = value as u16,
            4 => *to.cast::<u32>() = value as u32,
            _ => *to.cast::<u64>() = value,
        }
    }
}

/// A lane's first element; what stands above it has no meaning.
#[inline(always)]
pub fn first<const W: u32>(v: Lane) -> u64 {
    if W == 8 { wide(v[0], v[1]) } else { v[0].into() }
}

/// The lane's elements moved down by one.
#[inline(always)]
pub fn shift_out<const W: u32>(v: Lane) -> Lane {
    match W {
        8 => [v[2], v[3], 0, 0],
        4 => [v[1], v[2], v[3], 0],
        _ => {
            let join = |own: u32, above: u32| funnel_shift_right_wrap(own, above, 8 * W);
            [join(v[0], v[1]), join(v[1], v[2]), join(v[2], v[3]), v[3] >> (8 * W % 32)]
        }
    }
}

/// The 16 bytes from byte `at` (0 to 16) of `lower` and then `upper`; `at` is a multiple of `W`.
#[inline(always)]
pub fn join<const W: u32>(lower: Lane, upper: Lane, at: u32) -> Lane {
    if at == 16 {
        return upper;
    }
    let by_two = at & 8 != 0;
    let either = |a: u32, b: u32| if by_two { b } else { a };
    let x = [
        either(lower[0], lower[2]),
        either(lower[1], lower[3]),
        either(lower[2], upper[0]),
        either(lower[3], upper[1]),
        either(upper[0], upper[2]),
        either(upper[1], upper[3]),
    ];
    if W == 8 {
        return [x[0], x[1], x[2], x[3]];
    }
    let by_one = at & 4 != 0;
    let either = |i: usize| if by_one { x[i + 1] } else { x[i] };
    let x = [either(0), either(1), either(2), either(3), either(4)];
    if W == 4 {
        return [x[0], x[1], x[2], x[3]];
    }
    // One byte permutation takes any four bytes in a row out of eight.
    let selector = 0x3210 + (at & 3) * 0x1111;
    let bytes = |i: usize| byte_permute(x[i], x[i + 1], selector);
    [bytes(0), bytes(1), bytes(2), bytes(3)]
}

/// The units of the lane below. All lanes of a warp call this; lane 0 gets its own.
#[inline(always)]
pub fn from_below(v: Lane) -> Lane {
    [0, 1, 2, 3].map(|i| warp::warp_shuffle_up(ALL_LANES, v[i], 1, 32).0)
}

/// The warp's bytes moved up by `shift` (below 16, a multiple of `W`). All lanes of a warp call this; what moves into lane 0 has no
/// meaning.
#[inline(always)]
pub fn shift_up<const W: u32>(v: Lane, shift: u32) -> Lane {
    join::<W>(from_below(v), v, 16 - shift)
}

/// The `W` lowest bytes of the value of the lane below. All lanes of a warp call this; lane 0 gets its own.
#[inline(always)]
pub fn element_from_below<const W: u32>(value: u64) -> u64 {
    if W == 8 {
        warp::warp_shuffle_up(ALL_LANES, value, 1, 32).0
    } else {
        warp::warp_shuffle_up(ALL_LANES, value as u32, 1, 32).0.into()
    }
}

/// The `W` lowest bytes of the value of lane `lane`. All lanes of a warp call this.
#[inline(always)]
pub fn element_from<const W: u32>(value: u64, lane: u32) -> u64 {
    if W == 8 {
        warp::warp_shuffle_idx(ALL_LANES, value, lane, 32).0
    } else {
        warp::warp_shuffle_idx(ALL_LANES, value as u32, lane, 32).0.into()
    }
}
