//! Bytes from any place in shared memory to any place in global memory, by aligned 16-byte stores.

use cuda_std::{bits::funnel_shift_right_wrap, global, shared::SharedArray, vector::U32x4};

/// Copies `bytes` bytes from byte `from` of `source` to byte `to` of `target`.
///
/// `members` threads call this, numbered by `member`; at least 32 of them. The bytes were written and a barrier
/// passed; the whole aligned 16-byte units around them must have been written, too, since they are read whole. The
/// source is free again after the next barrier. The first and last up to 15 bytes go out one by one: others own the
/// rest of those units.
///
/// # Safety
/// `target` is 16-aligned; its bytes `to..to + bytes` are writable and nobody else's.
#[inline(always)]
pub unsafe fn copy_out<const N: usize>(
    source: &SharedArray<u32, N>,
    from: u32,
    bytes: u32,
    target: *mut u8,
    to: u64,
    member: u32,
    members: u32,
) {
    let lead = (to.wrapping_neg() as u32 & 15).min(bytes);
    let units = (bytes - lead) / 16;
    let rest = bytes - lead - units * 16;
    // SAFETY: within `to..to + bytes`, by the caller's word.
    unsafe {
        if member < 16 {
            if member < lead {
                *target.add(to as usize + member as usize) = byte(source, from + member);
            }
        } else if member < 32 && member - 16 < rest {
            let at = lead + units * 16 + member - 16;
            *target.add(to as usize + at as usize) = byte(source, from + at);
        }
        let from = from + lead;
        let target = target.add(to as usize + lead as usize).cast::<U32x4>();
        // The rotation by words is the same for all threads: one of four loops, chosen once.
        match from / 4 % 4 {
            0 => copy_units::<0, N>(source, from, units, target, member, members),
            1 => copy_units::<1, N>(source, from, units, target, member, members),
            2 => copy_units::<2, N>(source, from, units, target, member, members),
            _ => copy_units::<3, N>(source, from, units, target, member, members),
        }
    }
}

/// The byte at `at`.
#[inline(always)]
fn byte<const N: usize>(source: &SharedArray<u32, N>, at: u32) -> u8 {
    (source.read(at as usize / 4) >> (at % 4 * 8)) as u8
}

/// Copies 16-byte units whose source starts `ROTATION` words and `from % 4` bytes behind an aligned unit.
///
/// # Safety
/// `target` is 16-aligned and has room for `units`.
#[inline(always)]
unsafe fn copy_units<const ROTATION: u32, const N: usize>(
    source: &SharedArray<u32, N>,
    from: u32,
    units: u32,
    target: *mut U32x4,
    member: u32,
    members: u32,
) {
    let first = (from / 16 * 4) as usize;
    let shift = from % 4 * 8;
    let mut unit = member;
    while unit < units {
        let at = first + unit as usize * 4;
        let a = source.read_vec4(at);
        // An aligned source ends with its last unit.
        let b = if ROTATION == 0 && shift == 0 { a } else { source.read_vec4(at + 4) };
        let w = match ROTATION {
            0 => [a.x, a.y, a.z, a.w, b.x],
            1 => [a.y, a.z, a.w, b.x, b.y],
            2 => [a.z, a.w, b.x, b.y, b.z],
            _ => [a.w, b.x, b.y, b.z, b.w],
        };
        let moved = U32x4 {
            x: funnel_shift_right_wrap(w[0], w[1], shift),
            y: funnel_shift_right_wrap(w[1], w[2], shift),
            z: funnel_shift_right_wrap(w[2], w[3], shift),
            w: funnel_shift_right_wrap(w[3], w[4], shift),
        };
        // SAFETY: `unit` is below `units`.
        unsafe { global::store_streaming_v4(target.add(unit as usize), moved) };
        unit += members;
    }
}
