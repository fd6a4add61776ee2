//! Tile -> frame.
//!
//! | step | where |
//! |---|---|
//! | count what follows what, for all candidates in one pass | `histogram` |
//! | frequencies and score of every row | [`fit`] |
//! | the cheapest candidate, its model compressed | [`select`] |
//! | rANS, groups of chunks side by side, on all threads | `payload` |
//! | header, filling, and stored where that is no larger | here |

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
pub mod fit;
mod group;
mod histogram;
mod payload;
pub mod select;

pub use group::Level;

use super::frame::{ALIGN_BYTES, HEADER_BYTES, Header};
use super::{Fault, Form, Grain, MAX_TILE_BYTES, Representation};
use crate::{Result, digest};
use fit::Fits;
use payload::Payload;
use select::{Choice, Density};

/// What an encoder may choose; no choice but the frame itself is needed to decode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Settings {
    /// Forces a representation; `None`: the cheapest by score.
    pub representation: Option<Representation>,
    /// Classic or split.
    pub form: Form,
    /// Bytes of a chunk.
    pub grain: Grain,
    /// How hard the model is compressed.
    pub density: Density,
}

/// The frame of `tile`.
///
/// # Errors
/// [`Fault::TileLength`] where `tile` is no tile: 2 bytes to 16 MiB, an even number.
pub fn encode(tile: &[u8], settings: &Settings) -> Result<Vec<u8>> {
    let mut frame = Vec::new();
    encode_to(tile, settings, &mut frame)?;
    Ok(frame)
}

/// Appends the frame of `tile` to `frames`.
///
/// # Errors
/// As [`encode`].
pub fn encode_to(tile: &[u8], settings: &Settings, frames: &mut Vec<u8>) -> Result<()> {
    encode_with(Level::best(), tile, settings, frames)
}

/// As [`encode_to`], with the code that is compiled for `level`; plain code, where the processor does not run that.
///
/// # Errors
/// As [`encode`].
pub fn encode_with(level: Level, tile: &[u8], settings: &Settings, frames: &mut Vec<u8>) -> Result<()> {
    if tile.is_empty() || !tile.len().is_multiple_of(2) || tile.len() > MAX_TILE_BYTES {
        return Err(Fault::TileLength { found: u32::try_from(tile.len()).unwrap_or(u32::MAX) }.into());
    }
    let level = level.or_plain();
    let (digest, (choice, payload)) = rayon::join(
        || digest::tree(tile),
        || {
            let fits = Fits::with(level, tile, settings.grain, settings.representation);
            let choice = select::choose(&fits, settings.density);
            let payload = Payload::encode(level, tile, settings, choice.representation, fits.of(choice.representation));
            (choice, payload)
        },
    );
    let header = Header {
        form: settings.form,
        representation: Some(choice.representation),
        grain: settings.grain,
        tile_bytes: tile.len() as u32,
        model_bytes: choice.model.len() as u32,
        chunks: payload.chunks() as u32,
        words: payload.words() as u32,
        digest,
    };
    if header.expect_smaller().is_err() {
        let stored = Header::stored(settings.form, settings.grain, tile.len() as u32, digest);
        frames.extend_from_slice(&stored.write());
        frames.extend_from_slice(tile);
    } else {
        write(&header, &choice, &payload, frames);
    }
    Ok(())
}

/// Appends a coded frame.
fn write(header: &Header, choice: &Choice, payload: &Payload, frames: &mut Vec<u8>) {
    let start = frames.len();
    frames.reserve(header.frame_bytes() as usize);
    let fill = |frames: &mut Vec<u8>| {
        let end = start + (frames.len() - start).next_multiple_of(ALIGN_BYTES as usize);
        frames.resize(end, 0);
    };
    frames.extend_from_slice(&header.write());
    frames.extend_from_slice(&choice.model);
    fill(frames);
    payload.write_records(frames);
    fill(frames);
    payload.write_words(frames);
    debug_assert_eq!((frames.len() - start) as u64, header.frame_bytes());
}

/// No frame of a tile of so many bytes is longer.
pub const fn max_frame_bytes(tile_bytes: u64) -> u64 {
    tile_bytes + HEADER_BYTES as u64
}
