//! What the plain bytes are: element type and shape.

use crate::{Error, Result};
use std::fmt;

/// The type of an array's elements, little-endian. The number is the one in the archive: class and size in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum ElementType {
    /// No type: bytes.
    #[default]
    Bytes = 0x00,
    /// Unsigned, 8 bits.
    U8 = 0x11,
    /// Unsigned, 16 bits.
    U16 = 0x12,
    /// Unsigned, 32 bits.
    U32 = 0x14,
    /// Unsigned, 64 bits.
    U64 = 0x18,
    /// Two's complement, 8 bits.
    I8 = 0x21,
    /// Two's complement, 16 bits.
    I16 = 0x22,
    /// Two's complement, 32 bits.
    I32 = 0x24,
    /// Two's complement, 64 bits.
    I64 = 0x28,
    /// IEEE 754, 32 bits.
    F32 = 0x34,
    /// IEEE 754, 64 bits.
    F64 = 0x38,
}

impl ElementType {
    /// Every type, untyped bytes first.
    pub const ALL: [Self; 11] = [
        Self::Bytes,
        Self::U8,
        Self::U16,
        Self::U32,
        Self::U64,
        Self::I8,
        Self::I16,
        Self::I32,
        Self::I64,
        Self::F32,
        Self::F64,
    ];

    /// The number in archives.
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// The type numbered `code`, if there is one.
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|element| element.code() == code)
    }

    /// The size of an element in bytes; 1 for untyped bytes.
    pub const fn bytes(self) -> u64 {
        match self {
            Self::Bytes => 1,
            _ => (self as u8 & 0x0F) as u64,
        }
    }

    /// The name in commands: `bytes`, `u8`, `i16`, `f32`, ..
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bytes => "bytes",
            Self::U8 => "u8",
            Self::U16 => "u16",
            Self::U32 => "u32",
            Self::U64 => "u64",
            Self::I8 => "i8",
            Self::I16 => "i16",
            Self::I32 => "i32",
            Self::I64 => "i64",
            Self::F32 => "f32",
            Self::F64 => "f64",
        }
    }

    /// The type called `name`, if there is one.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|element| element.name() == name)
    }
}

impl fmt::Display for ElementType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The extents of an array, slowest first.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Shape(Vec<u64>);

impl Shape {
    /// The most axes of a shape.
    pub const MAX_RANK: usize = 255;

    /// The shape of these extents.
    ///
    /// # Errors
    /// [`Error::Shape`] where there are none or too many, or where they don't multiply within 64 bits.
    pub fn new(extents: Vec<u64>) -> Result<Self> {
        if extents.is_empty() || extents.len() > Self::MAX_RANK {
            return Err(Error::Shape { reason: "a shape has 1 to 255 axes" });
        }
        let shape = Self(extents);
        shape.cell_bytes(None, ElementType::Bytes)?;
        Ok(shape)
    }

    /// The extents, slowest first.
    pub fn extents(&self) -> &[u64] {
        &self.0
    }

    /// Bytes of all elements of type `element`.
    ///
    /// # Errors
    /// [`Error::Shape`] where they don't fit into 64 bits.
    pub fn total_bytes(&self, element: ElementType) -> Result<u64> {
        self.cell_bytes(None, element)
    }

    /// Bytes at one index of `axis`, that is, of the axes behind it; of all axes for `None`.
    pub(super) fn cell_bytes(&self, axis: Option<usize>, element: ElementType) -> Result<u64> {
        let inner = &self.0[axis.map_or(0, |axis| axis + 1)..];
        // A 0 anywhere makes the product 0, however large the other extents are.
        if inner.contains(&0) {
            return Ok(0);
        }
        inner
            .iter()
            .try_fold(element.bytes(), |product, extent| product.checked_mul(*extent))
            .ok_or(Error::Shape { reason: "the extents multiply to more than 64 bits" })
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (axis, extent) in self.0.iter().enumerate() {
            write!(f, "{}{extent}", if axis == 0 { "" } else { "x" })?;
        }
        Ok(())
    }
}

impl std::str::FromStr for Shape {
    type Err = Error;

    /// Takes `8x384x274` (or with `,` between the extents).
    fn from_str(text: &str) -> Result<Self> {
        let extents: Option<Vec<u64>> = text
            .split(['x', ','])
            .map(|extent| extent.bytes().all(|digit| digit.is_ascii_digit()).then(|| extent.parse().ok())?)
            .collect();
        Self::new(extents.ok_or(Error::Shape { reason: "extents are whole numbers with an `x` between them" })?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_lead_back() {
        for element in ElementType::ALL {
            assert_eq!(ElementType::by_name(element.name()), Some(element));
            assert_eq!(ElementType::from_code(element.code()), Some(element));
        }
        assert_eq!((0..=u8::MAX).filter_map(ElementType::from_code).count(), ElementType::ALL.len());
        assert_eq!((ElementType::Bytes.bytes(), ElementType::I16.bytes(), ElementType::F64.bytes()), (1, 2, 8));
    }

    #[test]
    fn shapes_are_read_as_they_are_shown() {
        let shape: Shape = "8x384x274".parse().unwrap();
        assert_eq!(shape.extents(), [8, 384, 274]);
        assert_eq!(shape.to_string(), "8x384x274");
        assert_eq!(shape.total_bytes(ElementType::I16), Ok(8 * 384 * 274 * 2));
        assert_eq!("8,3".parse::<Shape>().unwrap().extents(), [8, 3]);
        for bad in ["", "x", "8x", "-1", "+1", "8 x 3", "1.5", "18446744073709551616"] {
            assert!(matches!(bad.parse::<Shape>(), Err(Error::Shape { .. })), "{bad:?}");
        }
    }

    #[test]
    fn products_beyond_64_bits_are_refused() {
        let big = Shape::new(vec![1 << 62, 2]).unwrap();
        assert_eq!(big.total_bytes(ElementType::U8), Ok(1 << 63));
        assert!(matches!(big.total_bytes(ElementType::U16), Err(Error::Shape { .. })));
        assert!(matches!(Shape::new(vec![1 << 32, 1 << 32]), Err(Error::Shape { .. })));
        assert_eq!(Shape::new(vec![1 << 32, 1 << 32, 0]).unwrap().total_bytes(ElementType::F64), Ok(0));
        assert!(Shape::new(vec![1; 256]).is_err());
    }
}
