//! What a user may choose, checked once: whoever has a predictor has one that can be computed.

mod adaptive;
mod segmented;
mod tiled;

pub use adaptive::{AdaptiveBuilder, AdaptiveLorenzo, Policy};
pub use segmented::{Builder, DEFAULT_BLOCK_SIZE, Lorenzo, MAX_BLOCK_SIZE, Mode, Order, Segments};
pub use tiled::{TiledBuilder, TiledLorenzo};

use crate::stage::Record;
use crate::{ElementType, Error, Result};

/// The version of all three records' layouts.
const VERSION: u8 = 0;

/// Whether the elements are numbers in two's complement.
fn is_signed(element: ElementType) -> bool {
    element.code() >> 4 == 2
}

/// Whether the elements are whole numbers.
fn is_integer(element: ElementType) -> bool {
    matches!(element.code() >> 4, 1 | 2)
}

/// The settings of a record of this stage, `N` bytes.
fn settings<'a, const N: usize>(stage: &'static str, id: u16, record: &'a Record) -> Result<&'a [u8; N]> {
    if record.id != id {
        return Err(Error::RecordStage { stage, found: record.id, expected: id });
    }
    if record.version != VERSION {
        return Err(Error::RecordVersion { stage, found: record.version, max: VERSION });
    }
    let found = record.settings.len() as u64;
    record.settings.as_slice().try_into().map_err(|_| Error::RecordLength { stage, found, expected: N as u64 })
}

fn element(code: u8) -> Result<ElementType> {
    ElementType::from_code(code).ok_or(Error::ElementType { found: code })
}

/// A byte that is 0 or 1.
fn switch(stage: &'static str, setting: &'static str, found: u8) -> Result<bool> {
    match found {
        0 | 1 => Ok(found == 1),
        _ => Err(Error::Setting { stage, setting, found: found.into(), allowed: "0 and 1" }),
    }
}

fn read_extents(bytes: &[u8]) -> [u64; 3] {
    let mut extents = [0; 3];
    for (extent, bytes) in extents.iter_mut().zip(bytes.as_chunks().0) {
        *extent = u64::from_le_bytes(*bytes);
    }
    extents
}

fn write_extents(extents: [u64; 3]) -> impl Iterator<Item = u8> {
    extents.into_iter().flat_map(u64::to_le_bytes)
}

/// Whether the extents multiply to `elements`, which they can't where they multiply to more than 64 bits.
fn make(extents: [u64; 3], elements: u64) -> bool {
    let product = extents.iter().try_fold(1u64, |product, extent| product.checked_mul(*extent));
    product == Some(elements) || elements == 0 && extents.contains(&0)
}

/// The extents of a block of `elements` elements that is a part of an array: whole planes, rows of a plane, or a piece of a row.
fn block_extents([nx, ny, nz]: [u64; 3], elements: u64) -> Option<[u64; 3]> {
    let whole = |cell: u64, most: u64| {
        let cells = elements.checked_div(cell)?;
        (elements % cell == 0 && cells <= most).then_some(cells)
    };
    match nx.checked_mul(ny) {
        Some(plane) if elements >= plane => whole(plane, nz).map(|planes| [nx, ny, planes]),
        _ if elements >= nx => whole(nx, ny).map(|rows| [nx, rows, 1]),
        _ => Some([elements, 1, 1]),
    }
}
