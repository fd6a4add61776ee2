//! Many frames at once, made ready for a device: everything in front of the payloads is checked here, and what the kernels need of it is put
//! into arrays. (The kernels are in `gpu-kernels/src/causal`, the arrays' types in `shared-types`.) The other direction is in [`send`].

#![forbid(unsafe_code)]

pub mod send;

use super::receive::Front;
use super::{Bank, Fault, Form, Representation};
use rayon::prelude::*;
use shared_types::causal::{
    BlockTask, ChunkStatus, ChunkTask, DECODE, FAR_BYTES, Fold, LEAF_BYTES, LEAVES, Layout, MODE_CLASSIC, MODE_HIGH_FIRST,
    MODE_RESIDUAL, MODEL_BYTES, SYMBOLS, TILE_DIGEST, TILE_FRONT, TILE_OK, TileTask,
};

/// One frame of a batch: its bytes up to the payload at least, and where the rest is.
#[derive(Clone, Copy, Debug)]
pub struct Item<'a> {
    /// The frame, or what of it lies in front of the payload.
    pub front: &'a [u8],
    /// Bytes of the whole frame.
    pub frame_bytes: u64,
    /// Where the frame begins in the batch's coded bytes; a multiple of 16.
    pub coded_at: u64,
    /// Where its tile is to begin in the batch's plain bytes; a multiple of 16.
    pub plain_at: u64,
    /// Bytes that the tile must have.
    pub plain_bytes: u32,
}

/// Which kernel decodes, or encodes, some of the blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    /// What the banks' symbols are.
    pub representation: Representation,
    /// States of a chunk.
    pub form: Form,
    /// Whether the tables lie in global memory, since shared memory does not take them.
    pub far: bool,
}

impl Kind {
    /// All of them.
    pub fn all() -> impl Iterator<Item = Self> {
        let kinds = |far| {
            let of = move |form| Representation::ALL.map(|representation| Self { representation, form, far });
            Form::ALL.into_iter().flat_map(of)
        };
        [false, true].into_iter().flat_map(kinds)
    }

    /// The kernel's name.
    pub const fn kernel(self) -> &'static str {
        use Representation::{HighFirst, Residual, SameLane};
        match (self.far, self.representation, self.form) {
            (false, SameLane, Form::Split) => "causal_decode_same_lane_split",
            (false, HighFirst, Form::Split) => "causal_decode_high_first_split",
            (false, Residual, Form::Split) => "causal_decode_residual_split",
            (false, SameLane, Form::Classic) => "causal_decode_same_lane_classic",
            (false, HighFirst, Form::Classic) => "causal_decode_high_first_classic",
            (false, Residual, Form::Classic) => "causal_decode_residual_classic",
            (true, SameLane, Form::Split) => "causal_decode_far_same_lane_split",
            (true, HighFirst, Form::Split) => "causal_decode_far_high_first_split",
            (true, Residual, Form::Split) => "causal_decode_far_residual_split",
            (true, SameLane, Form::Classic) => "causal_decode_far_same_lane_classic",
            (true, HighFirst, Form::Classic) => "causal_decode_far_high_first_classic",
            (true, Residual, Form::Classic) => "causal_decode_far_residual_classic",
        }
    }

    /// The name of the kernel that encodes.
    pub const fn encode_kernel(self) -> &'static str {
        use Representation::{HighFirst, Residual, SameLane};
        match (self.far, self.representation, self.form) {
            (false, SameLane, Form::Split) => "causal_encode_same_lane_split",
            (false, HighFirst, Form::Split) => "causal_encode_high_first_split",
            (false, Residual, Form::Split) => "causal_encode_residual_split",
            (false, SameLane, Form::Classic) => "causal_encode_same_lane_classic",
            (false, HighFirst, Form::Classic) => "causal_encode_high_first_classic",
            (false, Residual, Form::Classic) => "causal_encode_residual_classic",
            (true, SameLane, Form::Split) => "causal_encode_far_same_lane_split",
            (true, HighFirst, Form::Split) => "causal_encode_far_high_first_split",
            (true, Residual, Form::Split) => "causal_encode_far_residual_split",
            (true, SameLane, Form::Classic) => "causal_encode_far_same_lane_classic",
            (true, HighFirst, Form::Classic) => "causal_encode_far_high_first_classic",
            (true, Residual, Form::Classic) => "causal_encode_far_residual_classic",
        }
    }

    fn mode(self) -> u32 {
        let representation = match self.representation {
            Representation::SameLane => 0,
            Representation::HighFirst => MODE_HIGH_FIRST,
            Representation::Residual => MODE_RESIDUAL,
        };
        representation | if self.form == Form::Classic { MODE_CLASSIC } else { 0 }
    }
}

/// A tile that is to be copied as it is: places in coded and plain bytes, and its length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stored {
    /// Where it lies in the coded bytes.
    pub coded_at: u64,
    /// Where it goes in the plain bytes.
    pub plain_at: u64,
    /// Its bytes.
    pub bytes: u32,
}

/// A batch made ready.
#[derive(Debug, Default)]
pub struct Plan {
    /// A task for each item.
    pub tiles: Vec<TileTask>,
    /// What the items' statuses are before the kernels run.
    pub statuses: Vec<u32>,
    /// All coded chunks, tile after tile.
    pub chunks: Vec<ChunkTask>,
    /// The inflated models of all coded tiles, one after the other.
    pub models: Vec<u16>,
    /// The blocks that decode, kind after kind.
    pub blocks: Vec<BlockTask>,
    /// How many of them each kind has, in their order.
    pub kinds: Vec<(Kind, u32)>,
    /// The tiles whose tables are made in global memory.
    pub far: Vec<u32>,
    /// The blocks that hash leaves.
    pub leaf_blocks: Vec<BlockTask>,
    /// Leaves of all tiles.
    pub leaves: u32,
    /// Tiles that are stored.
    pub stored: Vec<Stored>,
    /// What is wrong with the items that were refused here.
    faults: Vec<Option<Fault>>,
}

/// The bytes that are symbols or contexts of the high bank somewhere.
fn high_bytes(frequencies: &[u16]) -> [bool; SYMBOLS as usize] {
    let high = &frequencies[frequencies.len() / 2..];
    let mut keep = [false; SYMBOLS as usize];
    for (row, frequencies) in high.chunks_exact(SYMBOLS as usize).enumerate() {
        if frequencies.iter().any(|&f| f != 0) {
            keep[row] = true;
            keep.iter_mut().zip(frequencies).for_each(|(keep, &f)| *keep |= f != 0);
        }
    }
    keep
}

/// What is in front of an item's payload, and where its tables are to lie.
fn open(item: &Item, far: bool) -> Result<(Front, Layout), Fault> {
    let front = Front::try_open(item.front, item.frame_bytes)?;
    let (found, expected) = (u64::from(front.header.tile_bytes), u64::from(item.plain_bytes));
    if found != expected {
        return Err(Fault::PlainLength { found, expected });
    }
    let layout = match (&front.coded, front.header.representation) {
        (Some((frequencies, _)), Some(representation)) => {
            let fold = Fold::of(&high_bytes(frequencies));
            let near = Layout::near(fold, representation == Representation::HighFirst).filter(|_| !far);
            near.unwrap_or_else(Layout::far)
        }
        _ => Layout::default(),
    };
    Ok((front, layout))
}

impl Plan {
    /// Checks the items' fronts and shares their chunks out to blocks of a device that runs `multiprocessors` of them at a time.
    ///
    /// An item that is refused here stays in the batch, for its tile to be wiped; [`Plan::outcome`] says why.
    pub fn new(items: &[Item], multiprocessors: u32) -> Self {
        Self::of(items, multiprocessors, false)
    }

    /// As [`Plan::new`], but with all tables in global memory, wherever they would fit: for tests and measurements.
    pub fn with_far_tables(items: &[Item], multiprocessors: u32) -> Self {
        Self::of(items, multiprocessors, true)
    }

    fn of(items: &[Item], multiprocessors: u32, far: bool) -> Self {
        let opened: Vec<_> = items.par_iter().map(|item| open(item, far)).collect();
        let mut plan = Self::default();
        let coded = opened.iter().flatten().filter(|(front, _)| front.coded.is_some());
        plan.models.reserve(coded.count() * MODEL_BYTES as usize / 2);
        let mut of_kind: Vec<(Kind, Vec<BlockTask>)> = Kind::all().map(|kind| (kind, Vec::new())).collect();
        for ((tile, item), opened) in (0u32..).zip(items).zip(opened) {
            let mut task = TileTask {
                plain: item.plain_at,
                plain_bytes: item.plain_bytes,
                first_chunk: plan.chunks.len() as u32,
                first_leaf: plan.leaves,
                ..TileTask::default()
            };
            let (front, layout) = match opened {
                Ok(opened) => opened,
                Err(fault) => {
                    plan.tiles.push(task);
                    plan.statuses.push(TILE_FRONT);
                    plan.faults.push(Some(fault));
                    continue;
                }
            };
            let header = &front.header;
            task.payload = item.coded_at.saturating_add(header.payload().start);
            task.payload_words = header.words;
            task.chunk_words = header.grain.words() as u32;
            task.digest = std::array::from_fn(|i| {
                let digest = &header.digest;
                u32::from_le_bytes([digest[4 * i], digest[4 * i + 1], digest[4 * i + 2], digest[4 * i + 3]])
            });
            if let (Some((frequencies, records)), Some(representation)) = (&front.coded, header.representation) {
                let far = layout == Layout::far();
                let kind = Kind { representation, form: header.form, far };
                task.model = (plan.models.len() * 2 / MODEL_BYTES as usize) as u32;
                task.mode = kind.mode();
                task.layout = layout;
                plan.models.extend_from_slice(frequencies);
                if far {
                    task.tables = plan.far.len() as u64 * u64::from(FAR_BYTES);
                    plan.far.push(tile);
                }
                plan.chunks.extend(records.iter().map(|record| {
                    let [first, second] = record.prefix.map(u32::from);
                    let words = record.words.each_ref().map(|words| words.len() as u32);
                    ChunkTask {
                        states: record.states,
                        first_word: record.words[0].start,
                        words: words[0] | words[1] << 16,
                        prefix: if representation == Representation::HighFirst {
                            second | first << 8
                        } else {
                            first | second << 8
                        },
                    }
                }));
                if let Some((_, blocks)) = of_kind.iter_mut().find(|(found, _)| *found == kind) {
                    blocks.push(BlockTask { tile, first: 0, count: records.len() as u32 });
                }
            } else {
                plan.stored.push(Stored { coded_at: task.payload, plain_at: item.plain_at, bytes: item.plain_bytes });
            }
            let leaves = item.plain_bytes.div_ceil(LEAF_BYTES);
            plan.leaves += leaves;
            plan.leaf_blocks.extend(parts(BlockTask { tile, first: 0, count: leaves }, LEAVES.threads));
            plan.tiles.push(task);
            plan.statuses.push(TILE_OK);
            plan.faults.push(None);
        }
        for (kind, tiles) in of_kind.into_iter().filter(|(_, tiles)| !tiles.is_empty()) {
            let size = block_chunks(&tiles, multiprocessors);
            let before = plan.blocks.len();
            plan.blocks.extend(tiles.into_iter().flat_map(|tile| parts(tile, size)));
            plan.kinds.push((kind, (plan.blocks.len() - before) as u32));
        }
        plan
    }

    /// What became of item `item`, whose status is `status`; the first fault's chunk has the status and the detail that `chunk` gives for its number in
    /// the batch.
    ///
    /// # Errors
    /// The fault, as the CPU's receiver finds it.
    pub fn outcome(&self, item: usize, status: u32, chunk: impl FnOnce(usize) -> (u32, u32)) -> Result<(), Fault> {
        match status {
            TILE_OK => Ok(()),
            TILE_DIGEST => Err(Fault::Digest),
            TILE_FRONT => Err(self.faults[item].clone().unwrap_or(Fault::Digest)),
            number => {
                let task = &self.tiles[item];
                let (packed, detail) = chunk(task.first_chunk as usize + number as usize);
                let (found, stream, word) = ChunkStatus::unpack(packed);
                let bank = match (task.mode & MODE_CLASSIC, stream) {
                    (0, 0) => Bank::Low,
                    (0, _) => Bank::High,
                    _ => Bank::Both,
                };
                let chunk = number;
                Err(match found {
                    ChunkStatus::DeadRow => Fault::DeadRow { chunk, word, row: detail },
                    ChunkStatus::OutOfWords => Fault::OutOfWords { chunk, bank, word },
                    ChunkStatus::Terminal => Fault::Terminal { chunk, bank, found: detail },
                    ChunkStatus::UnusedWords => Fault::UnusedWords { chunk, bank, unused: detail },
                    // Not seen: the decoder refused what the verdict accepts. The tile was wiped all the same.
                    ChunkStatus::Ok | ChunkStatus::Refused => Fault::Digest,
                })
            }
        }
    }
}

/// `all` in parts of `size`.
fn parts(all: BlockTask, size: u32) -> impl Iterator<Item = BlockTask> {
    let BlockTask { tile, first, count } = all;
    (0..count).step_by(size as usize).map(move |at| BlockTask { tile, first: first + at, count: size.min(count - at) })
}

/// Chunks of a block: so few that the device runs all blocks at once, but no more than two a thread.
fn block_chunks(tiles: &[BlockTask], multiprocessors: u32) -> u32 {
    let blocks = |size: u32| tiles.iter().map(|tile| u64::from(tile.count.div_ceil(size))).sum::<u64>();
    let (mut low, mut high) = (0, 2 * DECODE.threads); // too few, enough
    while high - low > 1 {
        let middle = low.midpoint(high);
        if blocks(middle) <= u64::from(multiprocessors) {
            high = middle;
        } else {
            low = middle;
        }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_fill_a_device_once() {
        for (tiles, chunks, expected) in
            [(64, 2048, 1024), (16, 2048, 256), (4, 2048, 63), (1, 2048, 16), (200, 2048, 1024), (1, 1, 1)]
        {
            let tiles = vec![BlockTask { tile: 0, first: 0, count: chunks }; tiles];
            let size = block_chunks(&tiles, 132);
            assert_eq!(size, expected, "{} tiles", tiles.len());
        }
        let split: Vec<_> =
            parts(BlockTask { tile: 3, first: 0, count: 10 }, 4).map(|block| (block.first, block.count)).collect();
        assert_eq!(split, [(0, 4), (4, 4), (8, 2)]);
    }
}
