//! HCLOG: CLOG, with the sign moved to the lowest bit in the subchunks that gain from it.
//!
//! Small negative numbers have all their upper bits set, so a width alone saves nothing. HCLOG looks at each of CLOG's
//! subchunks twice: as it is, and with every word `v`, as two's complement, mapped to `v << 1 ^ v >> (B - 1)`, which makes
//! 0, 1, 2, 3, .. of 0, -1, 1, -2, ..; it packs the one whose largest word is smaller.
//!
//! | bits | field |
//! |---|---|
//! | 32 | bit `s` is set where subchunk `s` is mapped |
//! | .. | CLOG's encoding of the chunk with these subchunks mapped: see [`super::clog`] |
//!
//! A subchunk is mapped exactly where the largest mapped word is smaller than the largest word as it is, also where both
//! take the same number of bits.
//!
//! ```
//! use warpack::{ChunkSize, WordSize, stage::{hclog::Hclog, lc::{self, Settings}}};
//! let settings = Settings { word: WordSize::W1, chunk: ChunkSize::C4096 };
//! let mut coded = [0; 4096];
//! let used = lc::encode_chunk::<Hclog>(settings, &[0xFF; 4096], &mut coded).expect("-1 takes one bit");
//! assert_eq!(used, 22 + 4096 / 8); // flags, length, widths; a bit a word
//! let mut plain = [0; 4096];
//! lc::decode_chunk::<Hclog>(settings, &coded[..used], &mut plain)?;
//! assert_eq!(plain, [0xFF; 4096]);
//! # Ok::<(), warpack::Error>(())
//! ```
//!
//! HCLOG is a component of the LC framework (Texas State University); see THIRD_PARTY.md.

mod cpu;
#[cfg(test)]
mod tests;

use super::Entry;
use super::lc::{Component, Family, Scratch, Settings};
use crate::Result;
use shared_types::clog::Layout;

/// HCLOG's row in the table of stages.
pub static ENTRY: Entry = Entry {
    name: "hclog",
    id: 2,
    about: "clog, with the sign moved to the lowest bit where that makes words shorter",
    settings: Settings::NAMES,
    alone: true,
    from_options: |options| Ok(Box::new(Family::<Hclog>::new(Settings::from_options(options)))),
    from_record: |record| Ok(Box::new(Family::<Hclog>::new(Settings::read(&ENTRY, record)?))),
};

/// The component: [`super::lc`] makes a stage of it.
#[derive(Clone, Copy, Debug)]
pub struct Hclog;

impl Component for Hclog {
    fn entry() -> &'static Entry {
        &ENTRY
    }

    fn measure(settings: Settings, plain: &[u8], limit: usize) -> Option<usize> {
        cpu::measure(layout(settings, plain.len()), plain, limit)
    }

    fn encode(settings: Settings, plain: &[u8], limit: usize, scratch: &mut Scratch) -> Option<usize> {
        cpu::encode(layout(settings, plain.len()), plain, limit, scratch)
    }

    fn decode(settings: Settings, coded: &[u8], plain: &mut [u8], _: &mut Scratch) -> Result<()> {
        cpu::decode(layout(settings, plain.len()), coded, plain)
    }

    fn check(settings: Settings, coded: &[u8], plain_bytes: usize) -> Result<()> {
        cpu::check(layout(settings, plain_bytes), coded)
    }
}

fn layout(settings: Settings, plain_bytes: usize) -> Layout {
    Layout { len: plain_bytes as u32, word: settings.word }
}
