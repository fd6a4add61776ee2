//! The causal kernels under the emulator, launched as the library launches them on a device.

use cuda_std::emulator::{Config, Order, launch};
use cuda_std::vector::U32x4;
use gpu_kernels::causal::{count, decode, digest, encode, fit, frame, tables, verdict};
use shared_types::causal::{
    BUILD_FAR, BUILD_FAR_BLOCKS, BlockTask, ChunkTask, DECODE, DECODE_FAR, FAR_BYTES, LEAVES, TREE, TileTask, VERDICT, WIPE,
    WIPE_BLOCKS,
};
use shared_types::causal_send::{BANKS, COUNT, ENCODE, ENCODE_FAR, ENCODE_FAR_BYTES, FIT, FIT_BLOCKS, KEYS, PACK, PLACE, ROOT};
use shared_types::launch::Launch;
use warpack::causal::batch::{Item, Kind, Plan, send};
use warpack::causal::frame::Header;
use warpack::causal::send::{Settings, fit::log2_table, max_frame_bytes, select};
use warpack::causal::{Fault, Form, Representation};

type Decode = unsafe fn(*const u8, *const TileTask, *const ChunkTask, *const BlockTask, *const u8, *mut u8, *mut u32);
type DecodeFar = unsafe fn(*const u8, *const TileTask, *const ChunkTask, *const BlockTask, *mut u8, *mut u8, *mut u32);

fn near(kind: Kind) -> Decode {
    use Representation::{HighFirst, Residual, SameLane};
    match (kind.representation, kind.form) {
        (SameLane, Form::Split) => decode::causal_decode_same_lane_split,
        (HighFirst, Form::Split) => decode::causal_decode_high_first_split,
        (Residual, Form::Split) => decode::causal_decode_residual_split,
        (SameLane, Form::Classic) => decode::causal_decode_same_lane_classic,
        (HighFirst, Form::Classic) => decode::causal_decode_high_first_classic,
        (Residual, Form::Classic) => decode::causal_decode_residual_classic,
    }
}

fn far(kind: Kind) -> DecodeFar {
    use Representation::{HighFirst, Residual, SameLane};
    match (kind.representation, kind.form) {
        (SameLane, Form::Split) => decode::causal_decode_far_same_lane_split,
        (HighFirst, Form::Split) => decode::causal_decode_far_high_first_split,
        (Residual, Form::Split) => decode::causal_decode_far_residual_split,
        (SameLane, Form::Classic) => decode::causal_decode_far_same_lane_classic,
        (HighFirst, Form::Classic) => decode::causal_decode_far_high_first_classic,
        (Residual, Form::Classic) => decode::causal_decode_far_residual_classic,
    }
}

type Encode = unsafe fn(*const u8, *const TileTask, *const BlockTask, *const u16, *mut u64, *mut ChunkTask);
type EncodeFar = unsafe fn(*const u8, *const TileTask, *const BlockTask, *mut u8, *mut u64, *mut ChunkTask);

fn encode_near(kind: Kind) -> Encode {
    use Representation::{HighFirst, Residual, SameLane};
    match (kind.representation, kind.form) {
        (SameLane, Form::Split) => encode::causal_encode_same_lane_split,
        (HighFirst, Form::Split) => encode::causal_encode_high_first_split,
        (Residual, Form::Split) => encode::causal_encode_residual_split,
        (SameLane, Form::Classic) => encode::causal_encode_same_lane_classic,
        (HighFirst, Form::Classic) => encode::causal_encode_high_first_classic,
        (Residual, Form::Classic) => encode::causal_encode_residual_classic,
    }
}

fn encode_far(kind: Kind) -> EncodeFar {
    use Representation::{HighFirst, Residual, SameLane};
    match (kind.representation, kind.form) {
        (SameLane, Form::Split) => encode::causal_encode_far_same_lane_split,
        (HighFirst, Form::Split) => encode::causal_encode_far_high_first_split,
        (Residual, Form::Split) => encode::causal_encode_far_residual_split,
        (SameLane, Form::Classic) => encode::causal_encode_far_same_lane_classic,
        (HighFirst, Form::Classic) => encode::causal_encode_far_high_first_classic,
        (Residual, Form::Classic) => encode::causal_encode_far_residual_classic,
    }
}

/// Memory in units of 16 bytes with guards around it.
struct Memory {
    units: Vec<U32x4>,
    bytes: usize,
}

const GUARD: usize = 4;
const POISON: u32 = 0xA5A5_A5A5;

impl Memory {
    fn new(bytes: usize) -> Self {
        Self { units: vec![U32x4::new(POISON, POISON, POISON, POISON); bytes.div_ceil(16) + 2 * GUARD], bytes }
    }

    fn of(data: &[u8]) -> Self {
        let mut memory = Self::new(data.len());
        memory.bytes_mut()[..data.len()].copy_from_slice(data);
        memory
    }

    fn pointer<T>(&mut self) -> *mut T {
        self.units[GUARD..].as_mut_ptr().cast()
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: a unit is sixteen plain bytes.
        let all = unsafe { std::slice::from_raw_parts_mut(self.units.as_mut_ptr().cast::<u8>(), 16 * self.units.len()) };
        &mut all[16 * GUARD..]
    }

    /// The bytes, once nothing is found to have been written around them.
    fn checked(&mut self, name: &str) -> Vec<u8> {
        let bytes = self.bytes;
        let front: Vec<U32x4> = self.units[..GUARD].to_vec();
        let behind = self.bytes_mut()[bytes..].to_vec();
        let poisoned =
            front.iter().all(|unit| unit.to_array() == [POISON; 4]) && behind.iter().all(|&byte| byte == POISON as u8);
        assert!(poisoned, "written outside of {name}");
        self.bytes_mut()[..bytes].to_vec()
    }
}

fn run(shape: Launch, blocks: usize, order: Order, kernel: impl Fn()) {
    if blocks > 0 {
        let config = Config::new(blocks as u32, shape.threads, shape.shared_bytes).order(order);
        launch(config, kernel).unwrap_or_else(|fault| panic!("{fault}"));
    }
}

fn words(bytes: &[u8]) -> Vec<u32> {
    bytes.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().expect("four bytes"))).collect()
}

/// Frames in one piece of memory, each at a multiple of 16, with an item for each; and the bytes of all tiles.
pub fn items<'a>(frames: &[&'a [u8]]) -> (Vec<u8>, Vec<Item<'a>>, usize) {
    let (mut coded, mut items, mut plain_bytes) = (vec![0x5A; 16], Vec::new(), 0u64);
    for &frame in frames {
        let coded_at = coded.len() as u64;
        coded.extend_from_slice(frame);
        coded.resize(coded.len().next_multiple_of(16), 0x5A);
        let tile = Header::read_first(frame).map_or(2, |header| header.tile_bytes);
        items.push(Item { front: frame, frame_bytes: frame.len() as u64, coded_at, plain_at: plain_bytes, plain_bytes: tile });
        plain_bytes += u64::from(tile).next_multiple_of(16);
    }
    (coded, items, plain_bytes as usize)
}

/// What the kernels make of frames as one batch: for each its tile, or its fault. `multiprocessors` shapes the launches; with `far` all tables lie in global
/// memory.
pub fn decode(frames: &[&[u8]], multiprocessors: u32, far_only: bool, order: Order) -> Vec<Result<Vec<u8>, Fault>> {
    let (coded, items, plain_bytes) = items(frames);
    let plan = if far_only { Plan::with_far_tables(&items, multiprocessors) } else { Plan::new(&items, multiprocessors) };

    let mut coded = Memory::of(&coded);
    let mut models = Memory::of(&plan.models.iter().flat_map(|f| f.to_le_bytes()).collect::<Vec<_>>());
    let mut plain = Memory::new(plain_bytes);
    let mut statuses = Memory::new(4 * plan.chunks.len());
    let mut details = Memory::new(4 * plan.chunks.len());
    let mut tile_statuses = Memory::of(&plan.statuses.iter().flat_map(|s| s.to_le_bytes()).collect::<Vec<_>>());
    let mut far_tables = Memory::new(plan.far.len() * FAR_BYTES as usize);
    let mut leaves = Memory::new(32 * plan.leaves as usize);
    for stored in &plan.stored {
        let from = coded.bytes_mut()[stored.coded_at as usize..][..stored.bytes as usize].to_vec();
        plain.bytes_mut()[stored.plain_at as usize..][..from.len()].copy_from_slice(&from);
    }
    let (tiles, chunks) = (plan.tiles.as_ptr(), plan.chunks.as_ptr());
    let (c, m, p, s) = (coded.pointer::<u8>(), models.pointer::<u8>(), plain.pointer::<u8>(), statuses.pointer::<u32>());
    let (d, t, f, l) =
        (details.pointer::<u32>(), tile_statuses.pointer::<u32>(), far_tables.pointer::<u8>(), leaves.pointer::<U32x4>());
    // SAFETY: the plan's arrays are what the kernels ask for, the memory is as large, and each kernel follows those whose work it needs.
    unsafe {
        run(BUILD_FAR, plan.far.len() * BUILD_FAR_BLOCKS as usize, order, || {
            tables::causal_build_far(tiles, plan.far.as_ptr(), m, f);
        });
        let mut first = 0;
        for &(kind, count) in &plan.kinds {
            let blocks = plan.blocks[first..].as_ptr();
            if kind.far {
                run(DECODE_FAR, count as usize, order, || far(kind)(c, tiles, chunks, blocks, f, p, s));
            } else {
                run(DECODE, count as usize, order, || near(kind)(c, tiles, chunks, blocks, m, p, s));
            }
            first += count as usize;
        }
        let blocks = plan.blocks.as_ptr();
        run(VERDICT, plan.blocks.len(), order, || verdict::causal_verdict(c, tiles, chunks, blocks, m, s, d, t));
        let blocks = plan.leaf_blocks.as_ptr();
        run(LEAVES, plan.leaf_blocks.len(), order, || digest::causal_leaves(tiles, blocks, p, l));
        run(TREE, plan.tiles.len(), order, || digest::causal_tree(tiles, l, t));
        run(WIPE, plan.tiles.len() * WIPE_BLOCKS as usize, order, || digest::causal_wipe(tiles, t, p));
    }
    for (memory, name) in [(&mut coded, "coded"), (&mut models, "models"), (&mut far_tables, "tables"), (&mut leaves, "leaves")]
    {
        memory.checked(name);
    }
    let plain = plain.checked("plain");
    let (statuses, details) = (words(&statuses.checked("statuses")), words(&details.checked("details")));
    let tile_statuses = words(&tile_statuses.checked("tile statuses"));
    let outcome = |(index, item): (usize, &Item)| {
        let end = item.plain_at as usize + item.plain_bytes as usize;
        let tile = &plain[item.plain_at as usize..end];
        let behind = &plain[end..end.next_multiple_of(16)];
        assert!(behind.iter().all(|&byte| byte == POISON as u8), "written behind tile {index}");
        let outcome = plan.outcome(index, tile_statuses[index], |chunk| (statuses[chunk], details[chunk]));
        assert!(outcome.is_ok() || tile.iter().all(|&byte| byte == 0), "bytes of refused tile {index} were released");
        outcome.map(|()| tile.to_vec())
    };
    items.iter().enumerate().map(outcome).collect()
}

/// The frames that the kernels make of tiles as one batch. `multiprocessors` shapes the launches; with `far_only` all tables lie in global memory.
pub fn encode(tiles: &[&[u8]], settings: &Settings, multiprocessors: u32, far_only: bool, order: Order) -> Vec<Vec<u8>> {
    let (mut plain_bytes, mut coded_bytes, mut places) = (16u64, 32u64, Vec::new());
    for tile in tiles {
        places.push(send::Tile { plain_at: plain_bytes, plain_bytes: tile.len() as u32, coded_at: coded_bytes });
        plain_bytes = (plain_bytes + tile.len() as u64).next_multiple_of(16);
        coded_bytes = (coded_bytes + max_frame_bytes(tile.len() as u64)).next_multiple_of(16);
    }
    let plan = send::Plan::new(&places, settings, multiprocessors).expect("tiles");
    let mut plan = if far_only { plan.with_far_tables() } else { plan };
    let banks = tiles.len() * BANKS as usize;

    let mut plain = Memory::new(plain_bytes as usize);
    for (tile, place) in tiles.iter().zip(&places) {
        plain.bytes_mut()[place.plain_at as usize..][..tile.len()].copy_from_slice(tile);
    }
    let mut counts = Memory::of(&vec![0; 4 * KEYS as usize * banks]);
    let mut frequencies = Memory::new(2 * KEYS as usize * banks);
    let mut scores = Memory::of(&vec![0; 8 * banks]);
    let (mut leaves, mut digests) = (Memory::new(32 * plan.leaves as usize), Memory::new(32 * tiles.len()));
    let mut streams = Memory::new(plan.stream_bytes() as usize);
    let mut chunks = Memory::new(size_of::<ChunkTask>() * plan.chunks as usize);
    let mut far_tables = Memory::new(tiles.len() * ENCODE_FAR_BYTES as usize);
    let mut lengths = Memory::new(4 * tiles.len());
    let mut coded = Memory::new(coded_bytes as usize);
    let log2 = log2_table::<12>();
    let (p, n, f, l) =
        (plain.pointer::<u8>(), counts.pointer::<u32>(), frequencies.pointer::<u16>(), leaves.pointer::<U32x4>());
    let d = digests.pointer::<U32x4>();
    // SAFETY: the plan's arrays are what the kernels ask for, the memory is as large, and each kernel follows those whose work it needs.
    unsafe {
        let (tasks, blocks) = (plan.tiles.as_ptr(), plan.counts.as_ptr());
        run(COUNT, plan.counts.len(), order, || count::causal_count(tasks, blocks, p, n));
        let s = scores.pointer::<u64>();
        let blocks = tiles.len() * FIT_BLOCKS as usize;
        run(FIT, blocks, order, || fit::causal_fit(n, log2.as_ptr(), plan.banks, f, s));
        let blocks = plan.leaf_blocks.as_ptr();
        run(LEAVES, plan.leaf_blocks.len(), order, || digest::causal_leaves(tasks, blocks, p, l));
        run(ROOT, tiles.len(), order, || digest::causal_root(tasks, l, d));
    }
    let fitted: Vec<u16> = {
        let bytes = frequencies.checked("frequencies");
        bytes.chunks_exact(2).map(|half| u16::from_le_bytes([half[0], half[1]])).collect()
    };
    let scores: Vec<u64> = {
        let bytes = scores.checked("scores");
        bytes.chunks_exact(8).map(|score| u64::from_le_bytes(score.try_into().expect("eight bytes"))).collect()
    };
    let mut choices = Vec::new();
    let choose = |(tile, scores): (usize, &[u64])| {
        let of_bank = |bank: u32| &fitted[(tile * BANKS as usize + bank as usize) * KEYS as usize..][..KEYS as usize];
        let frequencies = |candidate| plan.banks_of(candidate).map(of_bank).concat();
        let mut selection = plan.selection(scores);
        while let Some(candidate) = selection.wanted() {
            selection.offer(select::compress(&frequencies(candidate), settings.density));
        }
        let choice = selection.best().expect("a candidate");
        choices.push((tile, choice.representation, plan.layout(choice.representation, &frequencies(choice.representation))));
        choice
    };
    let chosen: Vec<select::Choice> = scores.chunks(BANKS as usize).enumerate().map(choose).collect();
    let coding = plan.code(&choices);
    let mut frames = Vec::new();
    for (tile, choice) in chosen.iter().enumerate() {
        let (frame, model_at) = plan.frame(tile, choice.representation, choice.model.len());
        frames.push(frame);
        if let Some(at) = model_at {
            let mut model = choice.model.clone();
            model.resize(model.len().next_multiple_of(16), 0);
            coded.bytes_mut()[at as usize..][..model.len()].copy_from_slice(&model);
        }
    }
    let tasks = plan.tiles.as_ptr();
    let (t, s, c) = (far_tables.pointer::<u8>(), streams.pointer::<u64>(), chunks.pointer::<ChunkTask>());
    let (to, n) = (coded.pointer::<u8>(), lengths.pointer::<u32>());
    // SAFETY: as above.
    unsafe {
        run(BUILD_FAR, coding.far.len() * BUILD_FAR_BLOCKS as usize, order, || {
            encode::causal_build_encode_far(tasks, coding.far.as_ptr(), f, t);
        });
        let mut first = 0;
        for &(kind, count) in &coding.kinds {
            let blocks = coding.blocks[first..].as_ptr();
            if kind.far {
                run(ENCODE_FAR, count as usize, order, || encode_far(kind)(p, tasks, blocks, t, s, c));
            } else {
                run(ENCODE, count as usize, order, || encode_near(kind)(p, tasks, blocks, f, s, c));
            }
            first += count as usize;
        }
        run(PLACE, tiles.len(), order, || frame::causal_place(tasks, frames.as_ptr(), d.cast(), c, to, n));
        let blocks = plan.pack_blocks.as_ptr();
        run(PACK, plan.pack_blocks.len(), order, || frame::causal_pack(p, tasks, frames.as_ptr(), blocks, s, c, n, to));
    }
    let all = [(&mut plain, "plain"), (&mut counts, "counts"), (&mut leaves, "leaves"), (&mut digests, "digests")];
    let all = all.into_iter().chain([(&mut streams, "streams"), (&mut chunks, "chunks"), (&mut far_tables, "tables")]);
    all.for_each(|(memory, name)| drop(memory.checked(name)));
    let (lengths, coded) = (words(&lengths.checked("lengths")), coded.checked("coded"));
    let mut end = 0;
    let frame = |(place, length): (&send::Tile, u32)| {
        let between = &coded[end..place.coded_at as usize];
        assert!(between.iter().all(|&byte| byte == POISON as u8), "written in front of the frame at {}", place.coded_at);
        end = place.coded_at as usize + length as usize;
        coded[place.coded_at as usize..end].to_vec()
    };
    places.iter().zip(lengths).map(frame).collect()
}
