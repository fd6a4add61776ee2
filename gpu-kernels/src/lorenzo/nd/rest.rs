//! Inverse, wide rows: the elements of the array's last unit, if it is not whole. They are the last of the last row, so nothing else
//! depends on them, and each is its residual plus what the format's forward formula takes off, from elements that are done.

use super::inverse_entry_points;
use super::sheet::Memory;
use super::units::{get, put};
use cuda_std::thread;
use shared_types::lorenzo_nd::InverseParams;

/// One thread, one element after the other.
///
/// # Safety
/// As the entry points say.
#[inline(always)]
unsafe fn rest<const W: u32>(memory: Memory, params: &InverseParams) {
    if thread::block_idx_x() != 0 || thread::thread_idx_x() != 0 {
        return;
    }
    let (row, plane) = (params.nx.value(), params.nx.value() * params.ny.value());
    let elements = params.bytes / u64::from(W);
    let mut at = params.bytes / 16 * u64::from(16 / W);
    while at < elements {
        // Rows are wide: the element has neighbours in its row. It is in the last row of the last plane.
        let (has_y, has_z) = (elements > row, elements > plane);
        // SAFETY: the caller's promise; the neighbours are in the array.
        unsafe {
            let plain = memory.at(params.target).cast::<u8>();
            let q = |back: u64| get::<W>(plain.add(((at - back) * u64::from(W)) as usize));
            let residual = get::<W>(memory.at(params.source).cast::<u8>().add((at * u64::from(W)) as usize));
            let mut sum = residual.wrapping_add(q(1));
            if has_y {
                sum = sum.wrapping_add(q(row)).wrapping_sub(q(row + 1));
            }
            if has_z {
                sum = sum.wrapping_add(q(plane)).wrapping_sub(q(plane + 1));
            }
            if has_y && has_z {
                sum = sum.wrapping_sub(q(plane + row)).wrapping_add(q(plane + row + 1));
            }
            put::<W>(plain.add((at * u64::from(W)) as usize), sum);
        }
        at += 1;
    }
}

inverse_entry_points!(
    "The last unit of an array.",
    INVERSE_SMALL,
    rest,
    lorenzo_nd_rest_w1,
    lorenzo_nd_rest_w2,
    lorenzo_nd_rest_w4,
    lorenzo_nd_rest_w8
);
