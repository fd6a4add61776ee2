//! The causal kernels under the emulator, launched as the library launches them on a device.

use cuda_std::emulator::{Config, Order, launch};
use cuda_std::vector::U32x4;
use gpu_kernels::causal::{decode, digest, tables, verdict};
use shared_types::causal::{
    BUILD_FAR, BUILD_FAR_BLOCKS, BlockTask, ChunkTask, DECODE, DECODE_FAR, FAR_BYTES, LEAVES, TREE, TileTask, VERDICT, WIPE,
    WIPE_BLOCKS,
};
use shared_types::launch::Launch;
use warpack::causal::batch::{Item, Kind, Plan};
use warpack::causal::frame::Header;
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
