//! The kernels of CLOG, and of HCLOG (`H`), which packs the zigzag of a subchunk's words where that is shorter. A *row* is 512 plain bytes, 16 a lane: one subchunk of a 16384-byte chunk, two of an 8192-byte
//! chunk, four of a 4096-byte chunk. A warp takes eight rows, 4096 bytes; a block a tile of 32 KiB.
//!
//! | file | idea |
//! |---|---|
//! | `zigzag` | words by their distance from zero and back, and whether that makes a subchunk's largest smaller |
//! | `pack` | 16 bytes of words to their low bits and back, in registers |
//! | `encode` | full chunks: one pass from plain bytes to their place in the container |
//! | `decode` | full chunks, straight from global memory |
//! | `tail` | the short last chunk, both directions, any length |

pub mod decode;
pub mod encode;
pub(crate) mod pack;
pub mod tail;
pub(crate) mod zigzag;

use crate::{ROW_BYTES, ROWS, collectives::warp_inclusive_sum, for_rows};

/// What the constants of a kernel, word size `W`, chunk size `C` and HCLOG or not, imply for full chunks.
struct Shape<const W: u32, const C: u32, const H: bool>;

impl<const W: u32, const C: u32, const H: bool> Shape<W, C, H> {
    /// Warps that share a chunk.
    const WARPS: u32 = C / (ROWS as u32 * ROW_BYTES);
    /// Lanes that share a subchunk.
    const LANES: u32 = C / 32 / 16;
    /// Subchunks of a row.
    const PARTS: u32 = 32 / Self::LANES;
    /// Words of a subchunk.
    const WORDS: u32 = C / 32 / W;
    /// Words of a lane in one row.
    const LANE_WORDS: u32 = 16 / W;
    /// Bits of a width field.
    const FIELD: u32 = (8 * W).ilog2() + 1;
    /// Bytes of tag and width fields, and of HCLOG's flags in front of them.
    const HEADER: u32 = 2 + 4 * Self::FIELD + if H { 4 } else { 0 };
    /// Whether subchunks begin at whole 32-bit words of the payload, whatever the widths.
    const ALIGNED: bool = Self::WORDS.is_multiple_of(32);
}

/// Beside a width: the subchunk is packed as zigzag. No width reaches this bit.
const ZIGZAG: u32 = 0x80;

/// The widths of a chunk and the sums of those before each: lane `s` holds subchunk `s`.
#[derive(Clone, Copy)]
struct Widths {
    /// The width, perhaps with [`ZIGZAG`], in the lowest byte; above it the sum of the widths before. One register and one shuffle.
    entry: u32,
    /// Sum of all widths, the same in every lane.
    total: u32,
}

impl Widths {
    /// All lanes of a warp call this with their subchunk's width, perhaps with [`ZIGZAG`].
    #[inline(always)]
    fn of(own: u32) -> Self {
        let width = own & !ZIGZAG;
        let sum = warp_inclusive_sum(width);
        Self { entry: (sum - width) << 8 | own, total: cuda_std::warp::warp_shuffle_idx(u32::MAX, sum, 31, 32).0 }
    }

    /// Every subchunk at the full width of `bits`: how a raw chunk is coded.
    #[inline(always)]
    fn full(bits: u32) -> Self {
        Self { entry: (cuda_std::warp::lane_id() * bits) << 8 | bits, total: 32 * bits }
    }

    /// Width of subchunk `s`, the sum of those before it, and whether it is packed as zigzag; `s` may differ from lane to
    /// lane. All lanes call this.
    #[inline(always)]
    fn at(self, s: u32) -> (u32, u32, bool) {
        let (entry, _) = cuda_std::warp::warp_shuffle_idx(u32::MAX, self.entry, s, 32);
        (entry & 0x7F, entry >> 8, entry & ZIGZAG != 0)
    }

    /// Bit `s`: subchunk `s` is packed as zigzag. All lanes call this.
    #[inline(always)]
    fn flags(self) -> u32 {
        cuda_std::warp::warp_vote_ballot(u32::MAX, self.entry & ZIGZAG != 0)
    }
}
