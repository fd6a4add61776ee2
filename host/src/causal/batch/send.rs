//! Many tiles at once, made ready for a device that makes frames of them.
//!
//! | step | who | needs |
//! |---|---|---|
//! | count, fit, digests | device | [`Plan::new`] |
//! | choose, compress the models | host | the scores, and the frequencies of the candidates that may win |
//! | code | device | [`Plan::code`] |
//! | place, pack | device | [`Plan::frame`] |

use super::{Kind, block_chunks, high_bytes, parts};
use crate::causal::frame::{ALIGN_BYTES, Header};
use crate::causal::send::select::Selection;
use crate::causal::send::{Settings, max_frame_bytes};
use crate::causal::{Fault, MAX_TILE_BYTES, Representation};
use crate::{Error, Result};
use shared_types::causal::{BlockTask, Fold, LEAF_BYTES, LEAVES, Layout, TileTask};
use shared_types::causal_send::{
    BANK_HIGH, BANK_LOW, BANK_LOW_BY_HIGH, BANK_RESIDUAL_HIGH, BANK_RESIDUAL_LOW, BANKS, CountTask, ENCODE_FAR_BYTES,
    FrameTask, HEADER_BYTES, LANES, PACK_CHUNKS, banks_of,
};

/// One tile of a batch, and where its frame is to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tile {
    /// Where it begins in the batch's plain bytes; a multiple of 16.
    pub plain_at: u64,
    /// Its bytes: 2 to 16 MiB, an even number.
    pub plain_bytes: u32,
    /// Where its frame is to begin in the batch's coded bytes; a multiple of 16. Up to [`max_frame_bytes`] follow.
    pub coded_at: u64,
}

/// What a bank costs to count, the dearest first, so that the last blocks to begin are short.
const BY_COST: [u32; BANKS as usize] = [BANK_RESIDUAL_LOW, BANK_RESIDUAL_HIGH, BANK_HIGH, BANK_LOW, BANK_LOW_BY_HIGH];

/// A batch made ready.
#[derive(Clone, Debug)]
pub struct Plan {
    settings: Settings,
    multiprocessors: u32,
    far: bool,
    coded_at: Vec<u64>,
    /// A task for each tile. What depends on the representation is not set before [`Plan::code`].
    pub tiles: Vec<TileTask>,
    /// The banks that are counted and fitted, a bit each.
    pub banks: u32,
    /// The blocks that count.
    pub counts: Vec<CountTask>,
    /// The blocks that hash leaves.
    pub leaf_blocks: Vec<BlockTask>,
    /// Leaves of all tiles.
    pub leaves: u32,
    /// The blocks that copy streams.
    pub pack_blocks: Vec<BlockTask>,
    /// Places for chunks: those of a tile begin at a multiple of [`LANES`].
    pub chunks: u32,
}

/// What codes some tiles.
#[derive(Clone, Debug, Default)]
pub struct Coding {
    /// The blocks that encode, kind after kind.
    pub blocks: Vec<BlockTask>,
    /// How many of them each kind has, in their order.
    pub kinds: Vec<(Kind, u32)>,
    /// The tiles whose tables are made in global memory.
    pub far: Vec<u32>,
}

impl Plan {
    /// Shares the work on `tiles` out to a device that runs `multiprocessors` large blocks at a time.
    ///
    /// # Errors
    /// [`Fault::TileLength`] for what is no tile, [`Error::Alignment`] for a tile or a frame that does not begin at a multiple of 16.
    pub fn new(tiles: &[Tile], settings: &Settings, multiprocessors: u32) -> Result<Self> {
        let candidates = Representation::ALL.into_iter().filter(|&one| settings.representation.is_none_or(|only| only == one));
        let banks =
            candidates.flat_map(|one| banks_of(Kind::of(one, settings.form).mode())).fold(0, |banks, bank| banks | 1 << bank);
        let mut plan = Self {
            settings: *settings,
            multiprocessors,
            far: false,
            coded_at: Vec::with_capacity(tiles.len()),
            tiles: Vec::with_capacity(tiles.len()),
            banks,
            counts: Vec::new(),
            leaf_blocks: Vec::new(),
            leaves: 0,
            pack_blocks: Vec::new(),
            chunks: 0,
        };
        for (number, tile) in (0u32..).zip(tiles) {
            let &Tile { plain_at, plain_bytes, coded_at } = tile;
            if plain_bytes == 0 || plain_bytes % 2 == 1 || plain_bytes as usize > MAX_TILE_BYTES {
                return Err(Fault::TileLength { found: plain_bytes }.into());
            }
            for (buffer, address) in [("plain", plain_at), ("coded", coded_at)] {
                if !address.is_multiple_of(ALIGN_BYTES) {
                    return Err(Error::Alignment { buffer, address, align: ALIGN_BYTES });
                }
            }
            let chunk_words = settings.grain.words() as u32;
            let (chunks, leaves) = (plain_bytes.div_ceil(2 * chunk_words), plain_bytes.div_ceil(LEAF_BYTES));
            plan.tiles.push(TileTask {
                plain: plain_at,
                plain_bytes,
                chunk_words,
                first_chunk: plan.chunks,
                first_leaf: plan.leaves,
                model: number,
                ..TileTask::default()
            });
            plan.coded_at.push(coded_at);
            plan.chunks += chunks.next_multiple_of(LANES);
            plan.leaves += leaves;
            plan.leaf_blocks.extend(parts(BlockTask { tile: number, first: 0, count: leaves }, LEAVES.threads));
            plan.pack_blocks.extend(parts(BlockTask { tile: number, first: 0, count: chunks }, PACK_CHUNKS));
        }
        plan.counts = plan.share_counting();
        Ok(plan)
    }

    /// The same, but with all tables in global memory, wherever they would fit: for tests and measurements.
    #[must_use]
    pub fn with_far_tables(self) -> Self {
        Self { far: true, ..self }
    }

    /// The blocks that count: parts of tiles, whole chunks each, for every bank.
    fn share_counting(&self) -> Vec<CountTask> {
        let tables = self.tiles.len() as u32 * self.banks.count_ones();
        let longest = self.tiles.iter().map(|task| task.plain_bytes).max().unwrap_or(0);
        let shares = shares(tables, longest, self.multiprocessors);
        let banks = BY_COST.into_iter().filter(|bank| self.banks >> bank & 1 == 1);
        let of_bank = |bank: u32| {
            (0u32..).zip(&self.tiles).flat_map(move |(tile, task)| {
                let (units, chunk) = (task.plain_bytes.div_ceil(16), task.chunk_words / 8);
                let size = units.div_ceil(shares).next_multiple_of(chunk);
                let part = move |first: u32| CountTask { tile, bank, first, units: size.min(units - first) };
                (0..units).step_by(size as usize).map(part)
            })
        };
        banks.flat_map(of_bank).collect()
    }

    /// What the encoder may choose.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Tiles of the batch.
    pub fn len(&self) -> usize {
        self.tiles.len()
    }

    /// Whether there are no tiles.
    pub fn is_empty(&self) -> bool {
        self.tiles.is_empty()
    }

    /// Bytes of coded memory that the batch reaches to.
    pub fn coded_bytes(&self) -> u64 {
        let ends =
            self.coded_at.iter().zip(&self.tiles).map(|(at, task)| at.saturating_add(max_frame_bytes(task.plain_bytes.into())));
        ends.max().unwrap_or(0)
    }

    /// Bytes of plain memory that the batch reaches to.
    pub fn plain_bytes(&self) -> u64 {
        self.tiles.iter().map(|task| task.plain.saturating_add(task.plain_bytes.into())).max().unwrap_or(0)
    }

    /// Bytes of scratch for the streams of all chunks.
    pub fn stream_bytes(&self) -> u64 {
        2 * u64::from(self.chunks) * self.settings.grain.bytes() as u64
    }

    /// The choice for a tile whose banks have these scores.
    pub fn selection(&self, scores: &[u64]) -> Selection {
        let settings = &self.settings;
        let candidates = Representation::ALL.into_iter().filter(|&one| settings.representation.is_none_or(|only| only == one));
        Selection::new(candidates.map(|candidate| {
            let [low, high] = self.banks_of(candidate);
            (candidate, scores[low as usize] + scores[high as usize])
        }))
    }

    /// The low and the high bank of a representation.
    pub fn banks_of(&self, representation: Representation) -> [u32; 2] {
        banks_of(Kind::of(representation, self.settings.form).mode())
    }

    /// Where the tables of a tile with these frequencies (both banks of `representation`) go.
    pub fn layout(&self, representation: Representation, frequencies: &[u16]) -> Layout {
        let fold = Fold::of(&high_bytes(frequencies));
        let near = Layout::encode_near(fold, representation == Representation::HighFirst).filter(|_| !self.far);
        near.unwrap_or_else(Layout::encode_far)
    }

    /// Puts representation and layout of some tiles into their tasks, and shares out the coding of their chunks.
    pub fn code(&mut self, choices: &[(usize, Representation, Layout)]) -> Coding {
        let mut coding = Coding::default();
        let mut of_kind: Vec<(Kind, Vec<BlockTask>)> = Kind::all().map(|kind| (kind, Vec::new())).collect();
        for &(tile, representation, layout) in choices {
            let far = layout == Layout::encode_far();
            let kind = Kind { far, ..Kind::of(representation, self.settings.form) };
            let task = &mut self.tiles[tile];
            task.mode = kind.mode();
            task.layout = layout;
            task.tables = tile as u64 * u64::from(ENCODE_FAR_BYTES);
            let tile = tile as u32;
            if far {
                coding.far.push(tile);
            }
            let count = task.plain_bytes.div_ceil(2 * task.chunk_words);
            if let Some((_, blocks)) = of_kind.iter_mut().find(|(found, _)| *found == kind) {
                blocks.push(BlockTask { tile, first: 0, count });
            }
        }
        for (kind, tiles) in of_kind.into_iter().filter(|(_, tiles)| !tiles.is_empty()) {
            let size = block_chunks(&tiles, self.multiprocessors);
            let before = coding.blocks.len();
            coding.blocks.extend(tiles.into_iter().flat_map(|tile| parts(tile, size)));
            coding.kinds.push((kind, (coding.blocks.len() - before) as u32));
        }
        coding
    }

    /// What the frame of tile `tile` is to be, with a compressed model of `model_bytes` bytes. `None` in the second place where the frame is the
    /// stored one already by what is in front of the payload, so that there is no room for the model; else the byte of the coded bytes where it goes.
    pub fn frame(&self, tile: usize, representation: Representation, model_bytes: usize) -> (FrameTask, Option<u64>) {
        let (task, Settings { form, grain, .. }) = (&self.tiles[tile], self.settings);
        let digest = Default::default();
        let mut header = Header {
            form,
            representation: Some(representation),
            grain,
            tile_bytes: task.plain_bytes,
            model_bytes: model_bytes as u32,
            chunks: 0,
            words: 0,
            digest,
        };
        header.chunks = header.tile_chunks() as u32;
        let words = |header: &Header| {
            let bytes = header.write();
            std::array::from_fn(|i| u32::from_le_bytes([bytes[4 * i], bytes[4 * i + 1], bytes[4 * i + 2], bytes[4 * i + 3]]))
        };
        let payload = header.payload().start;
        let frame = FrameTask {
            coded: self.coded_at[tile],
            header: words(&header),
            stored: words(&Header::stored(form, grain, task.plain_bytes, digest)),
            chunks: header.chunks,
            records: header.records().start as u32,
            payload: payload as u32,
            filling: 0,
        };
        let fits = payload < u64::from(HEADER_BYTES + task.plain_bytes);
        (frame, fits.then(|| self.coded_at[tile] + header.model().start))
    }
}

/// Parts to count each bank of each tile in, `tables` in all, of `tile_bytes` bytes: so many that the device's multiprocessors have about as much to do each,
/// and no more, since a table of counters has to be cleared and added up for every part.
fn shares(tables: u32, tile_bytes: u32, multiprocessors: u32) -> u32 {
    /// Bytes that could be counted meanwhile: an estimate.
    const OVERHEAD: f64 = 160e3;
    let overhead = OVERHEAD / f64::from(tile_bytes.max(1));
    let time = |shares: u32| {
        let part = 1.0 / f64::from(shares) + overhead;
        // All at once; or one after another as a multiprocessor gets free, until the last one is done.
        let turns = f64::from(tables * shares) / f64::from(multiprocessors.max(1));
        part * if turns <= 1.0 { 1.0 } else { turns + 1.0 }
    };
    (1..=32).min_by(|&a, &b| time(a).total_cmp(&time(b))).unwrap_or(1)
}

impl Kind {
    fn of(representation: Representation, form: crate::causal::Form) -> Self {
        Self { representation, form, far: false }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counting_is_shared_out_evenly() {
        let of = |tiles: u32, tile_bytes: u32| shares(5 * tiles, tile_bytes, 132);
        assert_eq!([1, 4].map(|tiles| of(tiles, 16 << 20)), [26, 6]);
        assert!([16, 64, 200].map(|tiles| of(tiles, 16 << 20)).iter().all(|shares| (4..16).contains(shares)));
        assert_eq!(of(64, 8192), 1);
    }

    /// Every unit once for every bank.
    #[test]
    fn all_units_are_counted() {
        let tile = |plain_bytes| Tile { plain_at: 0, plain_bytes, coded_at: 0 };
        for multiprocessors in [1, 7, 132, 10_000] {
            let tiles = [2, 16, 18, 8192, 100_002, 16 << 20].map(tile);
            let plan = Plan::new(&tiles, &Settings::default(), multiprocessors).expect("tiles");
            for (number, task) in (0u32..).zip(&plan.tiles) {
                for bank in 0..BANKS {
                    let parts = plan.counts.iter().filter(|part| part.tile == number && part.bank == bank);
                    let end = parts.fold(0, |end, part| {
                        assert!(part.first == end && part.units > 0);
                        end + part.units
                    });
                    assert_eq!(end, task.plain_bytes.div_ceil(16));
                }
            }
        }
    }
}
