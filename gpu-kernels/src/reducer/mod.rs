//! RRE, RZE, RARE and RAZE, told apart by two constants: `REPEAT` (a word is dropped where it repeats the one before, else
//! where it is zero) and `UPPER` (the upper bits are dropped, else whole words).
//!
//! As for CLOG, a *row* is 512 plain bytes, a *piece* the 16 of one lane, a warp takes eight rows of one chunk. The short
//! last chunk goes the same way: pieces know how many of their words exist.
//!
//! | file | idea |
//! |---|---|
//! | `words` | a piece as words: differences, bit lengths, flags, and putting words to their places by flags |
//! | `histogram` | how many words are longer than `k` bits, for every `k` |
//! | `bitmap` | the levels of the compressed bitmap, from its first and from its last |
//! | `encode` | plain bytes to their place in the container |
//! | `decode` | straight from global memory |

mod bitmap;
pub mod decode;
pub mod encode;
mod histogram;
mod words;

/// Warps of a block.
const BLOCK_WARPS: u32 = shared_types::reducer::ENCODE.warps();

/// What word size `W` and the chunk size imply. The chunk size is a variable, not a constant: three times fewer kernels.
#[derive(Clone, Copy)]
struct Shape<const W: u32> {
    /// 12 to 14.
    chunk_log2: u32,
}

impl<const W: u32> Shape<W> {
    /// Bits of a word.
    const BITS: u32 = 8 * W;
    /// Words of a piece, which is also the bytes of the flags that a thread packs.
    const PIECE_WORDS: u32 = 16 / W;
    /// Words of a warp's rows.
    const WARP_WORDS: u32 = 4096 / W;
    /// Words of a lane that are scattered in one step, and how many steps a warp's rows take.
    const STEP_WORDS: u32 = if Self::PIECE_WORDS < 4 { Self::PIECE_WORDS } else { 4 };
    const STEPS: u32 = Self::WARP_WORDS / 32 / Self::STEP_WORDS;
    /// Words of shared memory that hold the flags of a warp's rows.
    const WARP_FLAG_WORDS: u32 = Self::WARP_WORDS / 32;

    /// Plain bytes of a full chunk.
    #[inline(always)]
    fn chunk_bytes(self) -> u32 {
        1 << self.chunk_log2
    }

    /// Warps that share a chunk: 4, 2 or 1.
    #[inline(always)]
    fn warps(self) -> u32 {
        1 << (self.chunk_log2 - 12)
    }

    /// Chunks of a block.
    #[inline(always)]
    fn chunks(self) -> u32 {
        BLOCK_WARPS >> (self.chunk_log2 - 12)
    }

    /// The chunk of the block that a warp works on, and which of its parts.
    #[inline(always)]
    fn place_of(self, warp_index: u32) -> (u32, u32) {
        (warp_index >> (self.chunk_log2 - 12), warp_index & (self.warps() - 1))
    }

    /// Bytes of a chunk's flags.
    #[inline(always)]
    fn flag_bytes(self) -> u32 {
        self.chunk_bytes() / Self::BITS
    }
}
