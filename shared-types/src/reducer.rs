//! RRE, RZE, RARE and RAZE: chunks without the words that say nothing new.
//!
//! A word is *flagged* where it must be stored; a compressed bitmap tells which. Two questions tell the four apart:
//!
//! | | drops words that repeat the one before | drops words that are zero |
//! |---|---|---|
//! | drops whole words | RRE | RZE |
//! | drops the upper bits alone, the same number in all words | RARE | RAZE |

use crate::{
    launch::Launch,
    lc::{ChunkSize, WordSize},
};

/// Most levels of a bitmap.
pub const MAX_LEVELS: usize = 4;

/// The levels of the compressed bitmap of a chunk: sized by the capacity, also where the chunk is short.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Levels {
    /// Bytes of each level, the flags themselves first; 0 behind the last.
    pub bytes: [u32; MAX_LEVELS],
    /// How many there are: 3 or 4.
    pub count: usize,
}

impl Levels {
    /// The levels for words of `word` in chunks of `chunk`.
    pub const fn of(word: WordSize, chunk: ChunkSize) -> Self {
        let mut bytes = [0; MAX_LEVELS];
        let mut next = chunk.bytes() / word.bits();
        let mut count = 0;
        loop {
            bytes[count] = next;
            count += 1;
            if next < 8 {
                return Self { bytes, count };
            }
            next /= 8;
        }
    }

    /// Bytes of the last level, which is stored as it is: 1, 2 or 4.
    pub const fn last_bytes(self) -> u32 {
        self.bytes[self.count - 1]
    }

    /// Bytes of all levels: no bitmap takes more.
    pub const fn max_bytes(self) -> u32 {
        self.bytes[0] + self.bytes[1] + self.bytes[2] + self.bytes[3]
    }
}

/// Bytes of the tag at a chunk's end: the length, and in front of it `keep` where upper bits are dropped.
pub const fn tag_bytes(upper: bool) -> u32 {
    if upper { 3 } else { 2 }
}

/// Plain bytes that one block of the kernels takes: 4, 2 or 1 chunks.
pub const TILE_BYTES: u32 = 16_384;

/// Both directions of full chunks: four warps of 4096 plain bytes each.
pub const ENCODE: Launch = Launch { threads: 128, shared_bytes: 37_376, min_blocks: 6 };

/// Decoding of full chunks.
pub const DECODE: Launch = Launch { threads: 128, shared_bytes: 256, min_blocks: 8 };

const _: () = {
    let four = Levels::of(WordSize::W1, ChunkSize::C16384);
    assert!(four.count == 4 && four.last_bytes() == 4 && four.bytes[0] == 2048);
    let three = Levels::of(WordSize::W4, ChunkSize::C4096);
    assert!(three.count == 3 && three.last_bytes() == 2);
};
