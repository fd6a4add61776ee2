//! CLOG: where everything lies in a coded chunk.

use crate::{
    launch::Launch,
    lc::{ChunkSize, WordSize},
};
use core::ops::Range;

/// Every chunk is cut into this many subchunks, each with its own width.
pub const SUBCHUNKS: u32 = 32;

/// Bytes of the chunk's length in front of the width fields.
pub const TAG_BYTES: u32 = 2;

/// Where everything lies in a coded chunk of `len` bytes, cut into words of `word` bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Plain bytes of the chunk, 1 to 16384.
    pub len: u32,
    /// Bytes of a word.
    pub word: WordSize,
}

impl Layout {
    /// Whole words of the chunk.
    pub const fn words(self) -> u32 {
        self.len / self.word.bytes()
    }

    /// Bytes behind the last whole word, stored verbatim.
    pub const fn leftover(self) -> u32 {
        self.len % self.word.bytes()
    }

    /// Words of subchunk `s`; the sizes differ by at most one.
    pub const fn subchunk(self, s: u32) -> Range<u32> {
        s * self.words() / SUBCHUNKS..(s + 1) * self.words() / SUBCHUNKS
    }

    /// Bits of a width field: 4, 5, 6 or 7, so that it can hold the width of a word.
    pub const fn field_bits(self) -> u32 {
        self.word.bits().ilog2() + 1
    }

    /// Bytes of the length and the width fields, in front of the payload.
    pub const fn header_bytes(self) -> u32 {
        TAG_BYTES + SUBCHUNKS * self.field_bits() / 8
    }

    /// Bytes of the encoding whose words take `payload_bits` bits.
    pub const fn coded_bytes(self, payload_bits: u32) -> u32 {
        self.header_bytes() + payload_bits.div_ceil(8) + self.leftover()
    }
}

/// Bytes that a packed chunk's slot in shared memory has in front of its payload: the header ends where they end.
pub const SLOT_LEAD: u32 = 48;

/// Bytes behind a full chunk in its slot, so that 16-byte reads may pass the end.
pub const SLOT_SLACK: u32 = 32;

/// Words of shared memory for the slots of one tile: enough for eight chunks of 4096 bytes, the widest case.
pub const SLOT_WORDS: usize = 8 * (4096 + SLOT_LEAD + SLOT_SLACK) as usize / 4;

/// Encoding of full chunks: one block a tile of 32 KiB, eight warps of 4096 bytes each.
///
/// More blocks in flight hide the look-back, but hold the registers down: 48 (five blocks) are enough only where a row is
/// one subchunk, and not for the `zigzag` of HCLOG's words of 8 bytes.
pub const fn encode_launch(word_bytes: u32, chunk: ChunkSize, zigzag: bool) -> Launch {
    let min_blocks = if matches!(chunk, ChunkSize::C16384) && !(zigzag && word_bytes == 8) { 5 } else { 4 };
    Launch { threads: 256, shared_bytes: SLOT_WORDS as u32 * 4 + 352, min_blocks }
}

/// Encoding of full chunks with differences in front: these take registers, too.
pub const FUSED_ENCODE: Launch = encode_launch(8, ChunkSize::C16384, true);

/// Decoding of full chunks: the same tiles and warps, no shared memory.
pub const DECODE: Launch = Launch { threads: 256, shared_bytes: 0, min_blocks: 4 };

/// Both directions of the short last chunk: one block.
pub const TAIL: Launch = Launch { threads: 256, shared_bytes: 16_448 + 256, min_blocks: 2 };
