//! Frequencies of counts, and what they cost: a warp a row, eight symbols a lane.
//!
//! Every symbol that occurs gets 1 of the 4096 and its share of the rest, rounded down; what is then left goes to the largest remainders, one each, ties
//! to the lower symbol. So the smallest remainder that gets one is looked for bit by bit: how many are as large?

use crate::collectives::{ALL_LANES, warp_inclusive_sum};
use crate::for_rows;
use cuda_std::{
    atomic::atomic_fetch_add_relaxed_64_device,
    global::{load_nc_u32, load_v4, store_v4},
    kernel, thread,
    vector::U32x4,
    warp,
};
use shared_types::causal::{SYMBOLS, TOTAL};
use shared_types::causal_send::{BANKS, FIT};

fn sum(value: u32) -> u32 {
    warp::warp_reduce_add(ALL_LANES, value)
}

/// Bits of the largest count of a row, and so of remainders: a tile has fewer words than 2^23.
const COUNT_BITS: u32 = 23;

/// The frequencies of the counts `n`, eight a lane, whose sum over the warp is `total`, not 0. All lanes of a warp call this.
#[inline(always)]
fn normalise(n: [u32; 8], total: u32) -> [u32; 8] {
    let lane = warp::lane_id();
    let mut occur = 0;
    for_rows!(I => occur |= u32::from(n[I] > 0) << I);
    let active = sum(occur.count_ones());
    let mut f = [0u32; 8];
    if active == 1 {
        // The lowest symbol that is absent joins the lone one.
        let alone = occur & 1 != 0 && lane == 0;
        let (lone_is_first, _) = warp::warp_shuffle_idx(ALL_LANES, u32::from(alone), 0, 32);
        for_rows!(I => {
            let symbol = 8 * lane + I as u32;
            f[I] = if occur >> I & 1 != 0 { TOTAL - 1 } else { u32::from(symbol == lone_is_first) };
        });
        return f;
    }
    let spare = TOTAL - active;
    // Products are below 2^35 and exact in an f64; the quotient is off by one at most.
    let inverse = 1.0 / f64::from(total);
    let mut rests = [0u32; 8];
    let mut given = 0;
    for_rows!(I => {
        let product = u64::from(n[I]) * u64::from(spare);
        let mut quotient = (product as f64 * inverse) as u32;
        let mut rest = (product as u32).wrapping_sub(quotient.wrapping_mul(total));
        if rest as i32 >> 31 != 0 {
            quotient = quotient.wrapping_sub(1);
            rest = rest.wrapping_add(total);
        } else if rest >= total {
            quotient += 1;
            rest -= total;
        }
        rests[I] = rest;
        given += quotient;
        f[I] = quotient + (occur >> I & 1);
    });
    let left = spare - sum(given);
    if left == 0 {
        return f;
    }
    // The largest number that `left` remainders reach. (Symbols that do not occur have the remainder 0, and at least `left` of the others more.)
    let mut least = 0;
    let mut bit = 1 << (COUNT_BITS - 1);
    while bit > 0 {
        let try_least = least | bit;
        let mut reach = 0;
        for_rows!(I => reach += u32::from(rests[I] >= try_least));
        if sum(reach) >= left {
            least = try_least;
        }
        bit >>= 1;
    }
    let (mut above, mut equal) = (0, 0);
    for_rows!(I => {
        above += u32::from(rests[I] > least);
        equal += u32::from(rests[I] == least);
    });
    let ties = left - sum(above);
    let mut before = warp_inclusive_sum(equal) - equal;
    for_rows!(I => {
        let tie = rests[I] == least;
        f[I] += u32::from(rests[I] > least || tie && before < ties);
        before += u32::from(tie);
    });
    f
}

/// Makes frequencies of the counts of the banks whose bits are set in `banks`, and adds what they cost to the banks' scores.
///
/// # Safety
/// Launched with [`FIT`], [`FIT_BLOCKS`](shared_types::causal_send::FIT_BLOCKS) blocks per tile. `counts` and `frequencies` have 2^16 entries for each
/// of the [`BANKS`] banks of each tile, 16-aligned; `scores` has one per bank. `log2` has an entry for each frequency up to 4096. Nothing else touches
/// these until the launch is over.
#[kernel(launch = FIT)]
pub unsafe fn causal_fit(counts: *const u32, log2: *const u32, banks: u32, frequencies: *mut u16, scores: *mut u64) {
    let row = thread::block_idx_x() * FIT.warps() + thread::thread_idx_x() / 32;
    let bank = row / SYMBOLS;
    if banks >> (bank % BANKS) & 1 == 0 {
        return; // the whole warp
    }
    let lane = warp::lane_id();
    let first = (row as usize * SYMBOLS as usize) + 8 * lane as usize;
    // SAFETY: the caller's promises.
    unsafe {
        let from = counts.add(first).cast::<U32x4>();
        let ([a, b, c, d], [e, f, g, h]) = (load_v4(from).to_array(), load_v4(from.add(1)).to_array());
        let n = [a, b, c, d, e, f, g, h];
        let total = sum(a + b + c + d + e + f + g + h);
        let f = if total == 0 { [0; 8] } else { normalise(n, total) };
        let pairs = U32x4::new(f[0] | f[1] << 16, f[2] | f[3] << 16, f[4] | f[5] << 16, f[6] | f[7] << 16);
        store_v4(frequencies.add(first).cast(), pairs);
        if total == 0 {
            return; // the whole warp
        }
        let mut cost = 0;
        for_rows!(I => {
            if n[I] > 0 {
                cost += u64::from(n[I]) * u64::from(load_nc_u32(log2.add(f[I] as usize)));
            }
        });
        let mut distance = 16;
        while distance > 0 {
            cost += warp::warp_shuffle_xor(ALL_LANES, cost, distance, 32).0;
            distance /= 2;
        }
        if lane == 0 {
            atomic_fetch_add_relaxed_64_device(scores.add(bank as usize), cost);
        }
    }
}
