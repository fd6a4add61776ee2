//! SHA-256 trees: a thread a leaf, then a warp a tile for the nodes and the root; and zeros for tiles that were refused.
//!
//! Every hash is of one byte that tells its role and of words behind it. So a word of the message takes its bytes from two words, which the
//! permutation that turns them around does on the way.

use cuda_std::{
    bits::{byte_permute, funnel_shift_right_wrap, opaque},
    global, kernel,
    shared::{self, SharedArray},
    thread,
    vector::U32x4,
};
use shared_types::causal::{
    BlockTask, DIGEST_WORDS, FAN_OUT, LEAF_BYTES, LEAVES, TILE_DIGEST, TILE_OK, TREE, TileTask, WIPE, WIPE_BLOCKS,
};
use shared_types::causal_send::ROOT as ROOT_LAUNCH;

const LEAF: u32 = 0;
const ROOT: u32 = 1;
const NODE: u32 = 2;

/// Words of a block of the message.
const BLOCK: usize = 16;

const START: [u32; 8] = [0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19];

const K: [u32; 64] = [
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01,
    0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc,
    0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147,
    0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08,
    0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
    0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
];

/// Repeats `$body` for the rounds 0 to 15 of a turn, each with `$i` as a constant.
#[cfg(target_arch = "nvptx64")]
macro_rules! for_rounds {
    ($i:ident => $body:expr) => {{
        for_rounds!($i, $body, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    }};
    ($i:ident, $body:expr, $($round:literal),*) => {$({
        const $i: usize = $round;
        $body
    })*};
}
/// The same as a loop: on the host, time to compile counts.
#[cfg(not(target_arch = "nvptx64"))]
macro_rules! for_rounds {
    ($i:ident => $body:expr) => {
        #[allow(non_snake_case, clippy::needless_range_loop, reason = "a constant on a device")]
        for $i in 0..BLOCK {
            $body
        }
    };
}

#[inline(always)]
fn rotate(x: u32, by: u32) -> u32 {
    funnel_shift_right_wrap(x, x, by)
}

/// Takes a block of the message in.
#[inline(always)]
fn compress(state: &mut [u32; 8], mut w: [u32; BLOCK]) {
    let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = *state;
    macro_rules! turn {
        ($turn:literal) => {
            for_rounds!(I => {
                if $turn > 0 {
                    let (w1, w14) = (w[(I + 1) % 16], w[(I + 14) % 16]);
                    let s0 = rotate(w1, 7) ^ rotate(w1, 18) ^ w1 >> 3;
                    let s1 = rotate(w14, 17) ^ rotate(w14, 19) ^ w14 >> 10;
                    w[I] = w[I].wrapping_add(s0).wrapping_add(w[(I + 9) % 16]).wrapping_add(s1);
                }
                let s1 = rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25);
                let t1 = h.wrapping_add(s1).wrapping_add(e & f ^ !e & g).wrapping_add(K[16 * $turn + I]).wrapping_add(w[I]);
                let s0 = rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22);
                let t2 = s0.wrapping_add(a & b ^ a & c ^ b & c);
                (h, g, f, e, d, c, b, a) = (g, f, e, d.wrapping_add(t1), c, b, a, t1.wrapping_add(t2));
            });
        };
    }
    turn!(0);
    turn!(1);
    turn!(2);
    turn!(3);
    let end = [a, b, c, d, e, f, g, h];
    for i in 0..8 {
        state[i] = state[i].wrapping_add(end[i]);
    }
}

/// The digest of the byte `role` and of `bytes` bytes (an even number) behind it: `units(i)` gives the words of the four units from `4 * i` on, with
/// zeros behind the last byte. What comes is the digest as bytes, four a word.
#[inline(always)]
fn hash(role: u32, bytes: u32, units: impl Fn(u32) -> [[u32; 4]; 4]) -> [u32; 8] {
    let mut state = START;
    let blocks = (bytes + 1 + 9).div_ceil(64);
    let mut before = role << 24; // its last byte goes in front
    let mut block = 0;
    while block < blocks {
        let mut v = if 64 * block < bytes { units(block) } else { [[0; 4]; 4] };
        if bytes / 64 == block {
            // The byte behind the last one. (Kept from the compiler, or it finds out in front of the loop which words are marked, and keeps that in as many
            // registers.)
            let bytes = opaque(bytes);
            let (word, mark) = (bytes % 64 / 4, 0x80 << (bytes % 4 * 8));
            for (q, unit) in v.iter_mut().enumerate() {
                for (i, place) in unit.iter_mut().enumerate() {
                    *place |= if (4 * q + i) as u32 == word { mark } else { 0 };
                }
            }
        }
        let mut w = [0; BLOCK];
        for (q, unit) in v.into_iter().enumerate() {
            for (i, word) in unit.into_iter().enumerate() {
                w[4 * q + i] = byte_permute(before, word, 0x3456);
                before = word;
            }
        }
        if block == blocks - 1 {
            w[15] = 8 * (bytes + 1);
        }
        compress(&mut state, w);
        block += 1;
    }
    state.map(|word| byte_permute(word, 0, 0x0123))
}

/// The digests of leaves.
///
/// # Safety
/// Launched with [`LEAVES`], one block per task of `blocks`, whose tiles are in `tiles`. `plain` holds the tiles, 16-aligned, in whole units;
/// `leaves` has 32 bytes for each leaf of the batch. Nothing else touches the output until the launch is over.
#[kernel(launch = LEAVES)]
pub unsafe fn causal_leaves(tiles: *const TileTask, blocks: *const BlockTask, plain: *const u8, leaves: *mut U32x4) {
    // SAFETY: the caller's promises.
    unsafe {
        let block = *blocks.add(thread::block_idx_x() as usize);
        let task = &*tiles.add(block.tile as usize);
        let number = thread::thread_idx_x();
        if number >= block.count {
            return;
        }
        let leaf = block.first + number;
        let start = leaf * LEAF_BYTES;
        let rest = task.plain_bytes - start;
        let bytes = if rest < LEAF_BYTES { rest } else { LEAF_BYTES };
        let from = plain.add(task.plain as usize + start as usize).cast::<U32x4>();
        let digest = hash(LEAF, bytes, |block| {
            let unit = |q: u32| global::load_v4(from.add((4 * block + q) as usize)).to_array();
            if bytes - 64 * block >= 64 {
                return [unit(0), unit(1), unit(2), unit(3)];
            }
            // Whole units are read; what lies behind the tile is not of the message.
            let bytes = opaque(bytes);
            let kept = |q: u32| {
                let have = (bytes - 64 * block) as i32 - 16 * q as i32;
                let v = if have > 0 { unit(q) } else { [0; 4] };
                let word = |i: i32, word: u32| match have - 4 * i {
                    ..=0 => 0,
                    1..4 => word & 0xFFFF,
                    _ => word,
                };
                [word(0, v[0]), word(1, v[1]), word(2, v[2]), word(3, v[3])]
            };
            [kept(0), kept(1), kept(2), kept(3)]
        });
        write_digest(leaves.add(2 * (task.first_leaf + leaf) as usize), digest);
    }
}

/// # Safety
/// `to` has room for a digest.
#[inline(always)]
unsafe fn write_digest(to: *mut U32x4, digest: [u32; 8]) {
    let [a, b, c, d, e, f, g, h] = digest;
    // SAFETY: as promised.
    unsafe {
        global::store_v4(to, U32x4::new(a, b, c, d));
        global::store_v4(to.add(1), U32x4::new(e, f, g, h));
    }
}

/// Shared memory of one block: what the root is the hash of, filled up to whole blocks of 64 bytes: the tile's length and the digests that are left.
#[repr(C, align(16))]
struct TreeShared {
    left: SharedArray<u32, { (2 + (FAN_OUT * DIGEST_WORDS) as usize).next_multiple_of(BLOCK) }>,
}
const _: () = assert!(size_of::<TreeShared>() == TREE.shared_bytes as usize);

/// The digest of a tile from its leaves', in lane 0; all lanes of a block of one warp call this.
///
/// # Safety
/// `leaves` are those of the tile.
#[inline(always)]
unsafe fn root(s: &TreeShared, task: &TileTask, leaves: *const U32x4) -> [u32; 8] {
    let lane = thread::thread_idx_x();
    let count = task.plain_bytes.div_ceil(LEAF_BYTES);
    // At most 2048 leaves, 32 nodes.
    let nodes = if count > FAN_OUT { count.div_ceil(FAN_OUT) } else { 0 };
    if lane < nodes {
        let first = lane * FAN_OUT;
        let under = if count - first < FAN_OUT { count - first } else { FAN_OUT };
        let node = hash(NODE, 32 * under, |block| {
            let unit = |q: u32| {
                let at = 4 * block + q;
                if at >= 2 * under {
                    return [0; 4];
                }
                // SAFETY: one of the leaves.
                unsafe { global::load_v4(leaves.add((2 * first + at) as usize)) }.to_array()
            };
            [unit(0), unit(1), unit(2), unit(3)]
        });
        for (i, word) in node.into_iter().enumerate() {
            s.left.write(2 + lane as usize * 8 + i, word);
        }
    }
    let left = if nodes == 0 { count } else { nodes };
    if nodes == 0 {
        let mut word = lane;
        while word < left * DIGEST_WORDS {
            // SAFETY: one of the leaves' words.
            s.left.write(2 + word as usize, unsafe { *leaves.cast::<u32>().add(word as usize) });
            word += TREE.threads;
        }
    }
    if lane == 0 {
        let end = (2 + DIGEST_WORDS * left) as usize;
        s.left.write(0, task.plain_bytes);
        s.left.write(1, 0);
        for at in end..end.next_multiple_of(BLOCK) {
            s.left.write(at, 0);
        }
    }
    thread::sync_threads(); // left
    if lane > 0 {
        return [0; 8];
    }
    hash(ROOT, 8 + 32 * left, |block| {
        let unit = |q: u32| s.left.read_vec4((16 * block + 4 * q) as usize).to_array();
        [unit(0), unit(1), unit(2), unit(3)]
    })
}

/// Compares the tiles' digests, once their leaves are known: where one differs and nothing was wrong before, the tile's status becomes [`TILE_DIGEST`].
///
/// # Safety
/// Launched with [`TREE`], one block per tile of `tiles`, after [`causal_leaves`] made `leaves`. Nothing else touches `tile_statuses` until the
/// launch is over.
#[kernel(launch = TREE)]
pub unsafe fn causal_tree(tiles: *const TileTask, leaves: *const U32x4, tile_statuses: *mut u32) {
    let s = shared::dynamic::<TreeShared>();
    let tile = thread::block_idx_x() as usize;
    // SAFETY: the caller's promises.
    unsafe {
        if *tile_statuses.add(tile) != TILE_OK {
            return; // the whole block
        }
        let task = &*tiles.add(tile);
        let root = root(s, task, leaves.add(2 * task.first_leaf as usize));
        if thread::thread_idx_x() == 0 {
            let mut differs = 0;
            for (i, word) in root.into_iter().enumerate() {
                differs |= word ^ task.digest[i];
            }
            if differs != 0 {
                *tile_statuses.add(tile) = TILE_DIGEST;
            }
        }
    }
}

/// The tiles' digests, once their leaves are known.
///
/// # Safety
/// Launched with [`ROOT_LAUNCH`], one block per tile of `tiles`, after [`causal_leaves`] made `leaves`. `digests` is 16-aligned and has 32 bytes per tile.
/// Nothing else touches it until the launch is over.
#[kernel(launch = ROOT_LAUNCH)]
pub unsafe fn causal_root(tiles: *const TileTask, leaves: *const U32x4, digests: *mut U32x4) {
    let s = shared::dynamic::<TreeShared>();
    let tile = thread::block_idx_x() as usize;
    // SAFETY: the caller's promises.
    unsafe {
        let task = &*tiles.add(tile);
        let root = root(s, task, leaves.add(2 * task.first_leaf as usize));
        if thread::thread_idx_x() == 0 {
            write_digest(digests.add(2 * tile), root);
        }
    }
}

/// Overwrites tiles whose status is not [`TILE_OK`] with zeros.
///
/// # Safety
/// Launched with [`WIPE`], [`WIPE_BLOCKS`] blocks per tile of `tiles`. `plain` has room for the tiles, 16-aligned. Nothing else touches it until
/// the launch is over.
#[kernel(launch = WIPE)]
pub unsafe fn causal_wipe(tiles: *const TileTask, tile_statuses: *const u32, plain: *mut u8) {
    let (tile, part) = ((thread::block_idx_x() / WIPE_BLOCKS) as usize, thread::block_idx_x() % WIPE_BLOCKS);
    // SAFETY: the caller's promises.
    unsafe {
        if *tile_statuses.add(tile) == TILE_OK {
            return;
        }
        let task = &*tiles.add(tile);
        let to = plain.add(task.plain as usize).cast::<U32x4>();
        let mut unit = part * WIPE.threads + thread::thread_idx_x();
        while unit < task.plain_bytes / 16 {
            global::store_v4(to.add(unit as usize), U32x4::default());
            unit += WIPE.threads * WIPE_BLOCKS;
        }
        let behind = thread::thread_idx_x();
        if part == 0 && behind < task.plain_bytes % 16 {
            *to.add((task.plain_bytes / 16) as usize).cast::<u8>().add(behind as usize) = 0;
        }
    }
}
