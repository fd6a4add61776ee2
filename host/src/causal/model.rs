//! Rows of frequencies, and the Zstandard frame in which a model travels.

#![forbid(unsafe_code)]

use super::Fault;
use super::rans::SCALE;

/// Symbols of a row, and contexts of a bank.
pub const SYMBOLS: usize = 256;
/// Rows of a model: the low bank's, then the high bank's.
pub const ROWS: usize = 2 * SYMBOLS;
/// Bytes of a model before compression.
pub const MODEL_BYTES: usize = ROWS * SYMBOLS * 2;
/// The most bytes of a compressed model: Zstandard's bound for [`MODEL_BYTES`].
pub const MAX_COMPRESSED_BYTES: usize = 263_168;

/// A Zstandard frame of one segment, [`MODEL_BYTES`] long, without checksum and dictionary.
const START: [u8; 9] = {
    let size = (MODEL_BYTES as u32).to_le_bytes();
    [0x28, 0xB5, 0x2F, 0xFD, 0xA0, size[0], size[1], size[2], size[3]]
};
/// The most plain bytes of a Zstandard block.
const MAX_BLOCK_BYTES: usize = 128 << 10;

/// Finds out whether `model` is exactly one Zstandard frame that begins with `start`, by its blocks' headers alone. `offset` is the model's place in the frame.
fn expect_one_frame(model: &[u8], start: &[u8], offset: u64) -> Result<(), Fault> {
    if !model.starts_with(start) {
        return Err(Fault::ModelStart { offset });
    }
    let mut at = start.len();
    loop {
        let fault = Fault::ModelBlock { offset: offset + at as u64 };
        let Some([a, b, c]) = model.get(at..at + 3).and_then(|bytes| <[u8; 3]>::try_from(bytes).ok()) else {
            return Err(fault);
        };
        let header = u32::from_le_bytes([a, b, c, 0]);
        let size = (header >> 3) as usize;
        let stored = match (header >> 1) & 3 {
            0 | 2 => size,
            1 => 1,
            _ => return Err(fault),
        };
        if size > MAX_BLOCK_BYTES || model.len() - at - 3 < stored {
            return Err(fault);
        }
        at += 3 + stored;
        if header & 1 == 1 {
            break;
        }
    }
    if at != model.len() {
        return Err(Fault::ModelEnd { offset: offset + at as u64, expected: offset + model.len() as u64 });
    }
    Ok(())
}

/// The frequencies of a compressed model, every row checked. `offset` is its place in the frame, for messages.
///
/// # Errors
/// The first fault of the model.
pub fn read(model: &[u8], offset: u64) -> Result<Vec<u16>, Fault> {
    expect_one_frame(model, &START, offset)?;
    let mut bytes = vec![0u8; MODEL_BYTES];
    let found = zstd_safe::decompress(&mut bytes[..], model).map_err(|_| Fault::ModelData)?;
    if found != MODEL_BYTES {
        return Err(Fault::ModelOutput { found: found as u64, expected: MODEL_BYTES as u64 });
    }
    let frequencies: Vec<u16> = bytes.as_chunks::<2>().0.iter().map(|bytes| u16::from_le_bytes(*bytes)).collect();
    check_rows(&frequencies, SYMBOLS, 1 << SCALE)?;
    Ok(frequencies)
}

/// Finds out whether every row of `symbols` frequencies has the sum `total` or 0, and no frequency of `total` or more.
///
/// # Errors
/// [`Fault::RowSum`], [`Fault::Frequency`].
pub fn check_rows(frequencies: &[u16], symbols: usize, total: u32) -> Result<(), Fault> {
    for (index, row) in frequencies.chunks(symbols).enumerate() {
        let sum: u32 = row.iter().map(|&f| u32::from(f)).sum();
        if sum != total && sum != 0 {
            return Err(Fault::RowSum { row: index as u32, found: sum });
        }
        if let Some(symbol) = row.iter().position(|&f| u32::from(f) >= total) {
            return Err(Fault::Frequency { row: index as u32, symbol: symbol as u32, found: row[symbol].into() });
        }
    }
    Ok(())
}
