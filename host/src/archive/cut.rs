//! How plain bytes are cut into blocks: docs/format.md, "How the plain bytes are cut".

use super::{ElementType, Shape};
use crate::{Error, Result};
use std::ops::Range;

/// Where each block's plain bytes lie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cut {
    block_bytes: u64,
    array: Option<Array>,
}

/// With a shape, the runs of the cut axis are cut one by one.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Array {
    axis: u8,
    run_bytes: u64,
    total_bytes: u64,
}

impl Cut {
    /// Blocks of about `target_bytes`, at element, row or slice borders.
    pub(super) fn choose(target_bytes: u64, element: ElementType, shape: Option<&Shape>) -> Result<Self> {
        let Some(shape) = shape else {
            let block_bytes = target_bytes - target_bytes % element.bytes();
            return Self::plain(block_bytes.max(element.bytes()));
        };
        if shape.total_bytes(element)? == 0 {
            return Self::array(target_bytes.max(1), element, shape, 0);
        }
        let extents = shape.extents();
        let mut axis = 0;
        let mut cell = shape.cell_bytes(Some(0), element)?;
        while cell > target_bytes && axis + 1 < extents.len() {
            axis += 1;
            cell = shape.cell_bytes(Some(axis), element)?;
        }
        let mut cells = (target_bytes / cell).clamp(1, extents[axis]);
        if axis > 0 {
            // About equal blocks: a run must not end with a sliver.
            cells = extents[axis].div_ceil(extents[axis].div_ceil(cells));
        }
        Self::array(cells * cell, element, shape, axis as u8)
    }

    /// Blocks of `block_bytes`, the last one shorter.
    pub(super) fn plain(block_bytes: u64) -> Result<Self> {
        if block_bytes == 0 {
            return Err(Error::BlockSize { found: 0, reason: "blocks are not empty" });
        }
        Ok(Self { block_bytes, array: None })
    }

    /// Blocks of `block_bytes` along `axis`.
    pub(super) fn array(block_bytes: u64, element: ElementType, shape: &Shape, axis: u8) -> Result<Self> {
        let refused = |reason| Err(Error::BlockSize { found: block_bytes, reason });
        let Some(extent) = shape.extents().get(axis as usize) else {
            return Err(Error::Shape { reason: "the cut axis is not one of the shape" });
        };
        if block_bytes == 0 {
            return refused("blocks are not empty");
        }
        let total_bytes = shape.total_bytes(element)?;
        let mut run_bytes = 0;
        if total_bytes == 0 {
            if axis > 0 {
                return Err(Error::Shape { reason: "an empty array is cut along its first axis" });
            }
        } else {
            let cell = shape.cell_bytes(Some(axis as usize), element)?;
            run_bytes = cell * extent; // a part of the total, which fits
            if !block_bytes.is_multiple_of(cell) {
                return refused("blocks of an array are whole rows or slices");
            }
            if block_bytes > run_bytes {
                return refused("blocks of an array are within one run of the cut axis");
            }
        }
        Ok(Self { block_bytes, array: Some(Array { axis, run_bytes, total_bytes }) })
    }

    /// Plain bytes of a full block.
    pub fn block_bytes(&self) -> u64 {
        self.block_bytes
    }

    /// The axis along which a shaped array is cut.
    pub fn axis(&self) -> Option<u8> {
        self.array.as_ref().map(|array| array.axis)
    }

    /// Plain bytes of the whole archive, where a shape says it.
    pub fn total_bytes(&self) -> Option<u64> {
        self.array.as_ref().map(|array| array.total_bytes)
    }

    /// Number of blocks, where a shape says it.
    pub fn blocks(&self) -> Option<u64> {
        self.array.as_ref().map(|array| match array.total_bytes {
            0 => 0,
            total => total / array.run_bytes * array.run_bytes.div_ceil(self.block_bytes),
        })
    }

    /// The plain bytes of block `number`, were it full; `None` behind the last one.
    pub fn block(&self, number: u64) -> Option<Range<u64>> {
        let Some(array) = &self.array else {
            let start = number.checked_mul(self.block_bytes)?;
            return Some(start..start.checked_add(self.block_bytes)?);
        };
        if number >= self.blocks()? {
            return None;
        }
        let per_run = array.run_bytes.div_ceil(self.block_bytes);
        let run = number / per_run * array.run_bytes;
        let within = number % per_run * self.block_bytes;
        Some(run + within..run + within + self.block_bytes.min(array.run_bytes - within))
    }

    /// The number of the block that holds plain byte `byte`, which must be within the total.
    pub(super) fn block_of(&self, byte: u64) -> u64 {
        match &self.array {
            None => byte / self.block_bytes,
            Some(array) => {
                let per_run = array.run_bytes.div_ceil(self.block_bytes);
                byte / array.run_bytes * per_run + byte % array.run_bytes / self.block_bytes
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every byte belongs to the block that is found for it, and the blocks are as large as `lengths` says.
    fn check(cut: &Cut, lengths: &[u64]) {
        assert_eq!(cut.blocks(), Some(lengths.len() as u64));
        let mut start = 0;
        for (number, length) in lengths.iter().enumerate() {
            let block = cut.block(number as u64).unwrap();
            assert_eq!(block, start..start + length, "block {number}");
            for byte in block {
                assert_eq!(cut.block_of(byte), number as u64);
            }
            start += length;
        }
        assert_eq!(cut.total_bytes(), Some(start));
        assert_eq!(cut.block(lengths.len() as u64), None);
    }

    #[test]
    fn arrays_are_cut_at_slices_rows_and_elements() {
        let shape = Shape::new(vec![5, 4, 3]).unwrap();
        let cut = |target| Cut::choose(target, ElementType::U16, Some(&shape)).unwrap();
        check(&cut(1 << 20), &[120]);
        check(&cut(119), &[96, 24]); // slices of 24 bytes
        check(&cut(24), &[24; 5]);
        check(&cut(23), &[12; 10]); // 4 rows of 6 bytes: three would fit, two and two are even
        check(&cut(12), &[12; 10]);
        check(&cut(6), &[6; 20]);
        check(&cut(5), &[4, 2].repeat(20)); // elements: 2 and 1 of a row of 3
        check(&cut(1), &[2; 60]); // never less than an element
        assert_eq!(cut(1 << 20).axis(), Some(0));
        assert_eq!(cut(23).axis(), Some(1));
        assert_eq!(cut(5).axis(), Some(2));
    }

    #[test]
    fn empty_arrays_have_no_blocks() {
        for extents in [vec![0], vec![3, 0, 2], vec![1 << 40, 1 << 40, 0]] {
            let shape = Shape::new(extents).unwrap();
            let cut = Cut::choose(100, ElementType::F64, Some(&shape)).unwrap();
            check(&cut, &[]);
        }
    }

    #[test]
    fn bad_cuts_are_refused() {
        let shape = Shape::new(vec![5, 4, 3]).unwrap();
        let cut = |bytes, axis| Cut::array(bytes, ElementType::U16, &shape, axis);
        assert!(cut(24, 0).is_ok() && cut(120, 0).is_ok() && cut(6, 1).is_ok() && cut(24, 1).is_ok());
        for (bytes, axis) in [(0, 0), (12, 0), (144, 0), (30, 1), (7, 1), (8, 2), (u64::MAX, 0)] {
            assert!(matches!(cut(bytes, axis), Err(Error::BlockSize { .. })), "{bytes} {axis}");
        }
        assert!(matches!(cut(6, 3), Err(Error::Shape { .. })));
        assert!(matches!(Cut::plain(0), Err(Error::BlockSize { .. })));
    }

    #[test]
    fn numbers_near_64_bits_do_not_overflow() {
        let cut = Cut::plain(1 << 40).unwrap();
        assert_eq!(cut.block(u64::MAX), None);
        let shape = Shape::new(vec![u64::MAX]).unwrap();
        let cut = Cut::array(u64::MAX, ElementType::U8, &shape, 0).unwrap();
        assert_eq!((cut.blocks(), cut.block(0), cut.block(1)), (Some(1), Some(0..u64::MAX), None));
        let cut = Cut::array(u64::MAX - 1, ElementType::U8, &shape, 0).unwrap();
        assert_eq!(cut.block(1), Some(u64::MAX - 1..u64::MAX));
    }
}
