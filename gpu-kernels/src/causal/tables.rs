//! Rows of frequencies as a decoder wants them: see [`Bank`].

use crate::collectives::{ALL_LANES, warp_inclusive_sum};
use cuda_std::{global, kernel, shared::SharedArray, thread, vector::U32x4, warp};
use shared_types::causal::{BUILD_FAR, BUILD_FAR_BLOCKS, Bank, Fold, MODEL_BYTES, SCALE, SYMBOLS, TOTAL, TileTask};

/// Where tables lie: shared memory, or global. Places in it are numbers that begin with [`Place::origin`].
pub trait Place: Copy {
    /// The first byte's.
    fn origin(self) -> u32;
    /// The word at `at`.
    fn word(self, at: u32) -> u32;
    /// The half of a word at `at`.
    fn half(self, at: u32) -> u32;
    /// The byte at `at`.
    fn byte(self, at: u32) -> u32;
    /// Writes the word that is `at` bytes behind the first.
    fn set_word(self, at: u32, word: u32);
}

/// In shared memory, `.1` bytes from the start of the array; numbers are addresses.
#[derive(Clone, Copy)]
pub struct Near<const N: usize>(pub &'static SharedArray<u32, N>, pub u32);

impl<const N: usize> Place for Near<N> {
    #[inline(always)]
    fn origin(self) -> u32 {
        self.0.address(self.1)
    }

    #[inline(always)]
    fn word(self, at: u32) -> u32 {
        self.0.word_at(at)
    }

    #[inline(always)]
    fn half(self, at: u32) -> u32 {
        self.0.half_at(at)
    }

    #[inline(always)]
    fn byte(self, at: u32) -> u32 {
        self.0.byte_at(at)
    }

    #[inline(always)]
    fn set_word(self, at: u32, word: u32) {
        self.0.write_part((self.1 + at) as usize, word);
    }
}

/// In global memory. Whoever makes one vouches for [`shared_types::causal::FAR_BYTES`] bytes there, 4-aligned and its own as long as it writes.
#[derive(Clone, Copy)]
pub struct Far(pub *mut u8);

impl Place for Far {
    #[inline(always)]
    fn origin(self) -> u32 {
        0
    }

    #[inline(always)]
    fn word(self, at: u32) -> u32 {
        // SAFETY: within the tables, as their layout says.
        unsafe { *self.0.add(at as usize).cast() }
    }

    #[inline(always)]
    fn half(self, at: u32) -> u32 {
        // SAFETY: as above.
        unsafe { *self.0.add(at as usize).cast::<u16>() }.into()
    }

    #[inline(always)]
    fn byte(self, at: u32) -> u32 {
        // SAFETY: as above.
        unsafe { *self.0.add(at as usize) }.into()
    }

    #[inline(always)]
    fn set_word(self, at: u32, word: u32) {
        // SAFETY: as above.
        unsafe { *self.0.add(at as usize).cast() = word }
    }
}

/// Makes row `row` of `bank` from the frequencies at `from`; all lanes of a warp call this. A row of zeros becomes one with all slots for symbol 0,
/// which no sound row has. Symbols are the bytes at their places in `fold`.
///
/// # Safety
/// `from` is a row of a model, 16-aligned.
#[inline(always)]
unsafe fn build_row(place: impl Place, bank: &Bank, row: u32, from: *const u16, fold: Fold, empty: bool) {
    let lane = warp::lane_id();
    let mut f = [0u32; 8];
    if !empty && fold.count == SYMBOLS {
        // SAFETY: the row has eight frequencies for each lane.
        let unit = unsafe { global::load_v4(from.cast::<U32x4>().add(lane as usize)) };
        f = [
            unit.x & 0xFFFF,
            unit.x >> 16,
            unit.y & 0xFFFF,
            unit.y >> 16,
            unit.z & 0xFFFF,
            unit.z >> 16,
            unit.w & 0xFFFF,
            unit.w >> 16,
        ];
    } else if !empty {
        for (i, f) in f.iter_mut().enumerate() {
            let at = 8 * lane + i as u32;
            if at < fold.count {
                // SAFETY: places below the count are bytes.
                *f = unsafe { *from.add(fold.byte(at) as usize) }.into();
            }
        }
    }
    let sum = f[0] + f[1] + f[2] + f[3] + f[4] + f[5] + f[6] + f[7];
    let all = warp_inclusive_sum(sum);
    let (total, _) = warp::warp_shuffle_idx(ALL_LANES, all, 31, 32);
    let mut c = all - sum;
    if total == 0 {
        c = if lane == 0 { 0 } else { TOTAL };
        if lane == 0 {
            f[0] = TOTAL;
        }
    }
    let words = bank.stride / 4;
    let pairs = bank.pairs + row * bank.stride;
    for i in 0..4 {
        let k = 4 * lane + i as u32;
        let next = c + f[2 * i];
        if k < words {
            place.set_word(pairs + 4 * k, c | next << 16);
        }
        c = next + f[2 * i + 1];
    }
    if words > 4 * 32 && lane == 31 {
        place.set_word(pairs + 4 * (words - 1), TOTAL | TOTAL << 16);
    }
    warp::sync_warp(ALL_LANES); // the pairs

    let starts = bank.starts + row * bank.buckets;
    let mut bucket = 4 * lane;
    while bucket < bank.buckets {
        let mut four = 0;
        for i in 0..4 {
            let slot = (((bucket + i) << SCALE) + bank.buckets - 1).checked_div(bank.buckets).unwrap_or(0);
            // The last pair that begins at the slot or in front of it.
            let (mut k, mut step) = (0, 64);
            while step > 0 {
                if k + step < words - 1 && place.word(place.origin() + pairs + 4 * (k + step)) & 0xFFFF <= slot {
                    k += step;
                }
                step /= 2;
            }
            four |= k << (8 * i);
        }
        place.set_word(starts + bucket, four);
        bucket += 4 * 32;
    }
}

/// Makes the rows `first`, `first + step`, .. of both banks of a tile, the low bank's first; all lanes of a warp call this, with the same rows.
///
/// # Safety
/// `banks` are the frequencies of the low bank and of the high bank, 16-aligned.
#[inline(always)]
pub unsafe fn build(place: impl Place, task: &TileTask, high_first: bool, banks: [*const u16; 2], first: u32, step: u32) {
    let (low, high, fold) = (task.layout.low, task.layout.high, task.layout.fold);
    let mut row = first;
    while row < low.rows + high.rows {
        // SAFETY: each bank has 256 rows of 512 bytes.
        unsafe {
            let row_at = |bank: usize, row: u32| banks[bank].add((row * SYMBOLS) as usize);
            if row < low.rows {
                let byte = if high_first { fold.byte(row) } else { row };
                build_row(place, &low, row, row_at(0, byte % SYMBOLS), Fold::WHOLE, false);
            } else {
                let row = row - low.rows;
                let empty = row >= fold.count;
                build_row(place, &high, row, row_at(1, fold.byte(row) % SYMBOLS), fold, empty);
            }
        }
        row += step;
    }
}

/// The banks of a tile's model.
///
/// # Safety
/// The model is one of `models`.
#[inline(always)]
pub unsafe fn banks_of_model(models: *const u8, task: &TileTask) -> [*const u16; 2] {
    // SAFETY: as promised; the high bank is the second half.
    unsafe {
        let model = models.add(task.model as usize * MODEL_BYTES as usize).cast::<u16>();
        [model, model.add((SYMBOLS * SYMBOLS) as usize)]
    }
}

/// Makes the tables of tiles in global memory: [`BUILD_FAR_BLOCKS`] blocks a tile, whose numbers stand in `list`.
///
/// # Safety
/// Launched with [`BUILD_FAR`]. The tiles of `list` are in `tiles`, with [`shared_types::causal::Layout::far`]; `models` are their models, 16-aligned;
/// `tables` has [`shared_types::causal::FAR_BYTES`] for each where its task says. Nothing else touches these until the launch is over.
#[kernel(launch = BUILD_FAR)]
pub unsafe fn causal_build_far(tiles: *const TileTask, list: *const u32, models: *const u8, tables: *mut u8) {
    let block = thread::block_idx_x();
    // SAFETY: the caller's promises.
    unsafe {
        let task = &*tiles.add(*list.add((block / BUILD_FAR_BLOCKS) as usize) as usize);
        let row = block % BUILD_FAR_BLOCKS * BUILD_FAR.warps() + thread::thread_idx_x() / 32;
        let banks = banks_of_model(models, task);
        build(Far(tables.add(task.tables as usize)), task, false, banks, row, 2 * SYMBOLS);
    }
}
