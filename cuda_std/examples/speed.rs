//! Measures how fast the emulator runs: thread-collectives per millisecond, and accesses to shared memory.

use cuda_std::emulator::{Config, launch};
use cuda_std::shared::{self, SharedArray};
use cuda_std::{thread, warp};
use std::hint::black_box;
use std::time::Instant;

#[repr(C, align(16))]
struct Scratch {
    words: SharedArray<u32, 1024>,
    bytes: SharedArray<u8, 1024>,
}

/// The best of five runs of `kernel`, which does `per_thread` things in each of `blocks` blocks of 256 threads.
fn measure(name: &str, blocks: u32, per_thread: u32, kernel: impl Fn()) {
    let config = Config::new(blocks, 256, size_of::<Scratch>() as u32);
    let best = (0..5)
        .map(|_| {
            let start = Instant::now();
            launch(config, &kernel).unwrap();
            start.elapsed()
        })
        .min()
        .unwrap();
    let count = f64::from(blocks) * 256.0 * f64::from(per_thread);
    println!("{name:<28} {:>9.1} per ms, {:>6.2} ns each", count / best.as_secs_f64() / 1e3, best.as_secs_f64() * 1e9 / count);
}

fn main() {
    measure("empty kernel (threads)", 4000, 1, || {});
    measure("sync_threads", 200, 100, || {
        for _ in 0..100 {
            thread::sync_threads();
        }
    });
    measure("sync_warp", 200, 100, || {
        for _ in 0..100 {
            warp::sync_warp(warp::FULL_MASK);
        }
    });
    measure("warp_shuffle_xor", 200, 100, || {
        let mut sum = thread::thread_idx_x();
        for _ in 0..100 {
            sum = sum.wrapping_add(warp::warp_shuffle_xor(warp::FULL_MASK, sum, 1, 32).0);
        }
        black_box(sum);
    });
    measure("warp_vote_ballot", 200, 100, || {
        let mut sum = 0;
        for i in 0..100 {
            sum |= warp::warp_vote_ballot(warp::FULL_MASK, i & 1 == 0);
        }
        black_box(sum);
    });
    measure("warp_match_any_32 (distinct)", 200, 100, || {
        for _ in 0..100 {
            black_box(warp::warp_match_any_32(warp::FULL_MASK, thread::thread_idx_x()));
        }
    });
    measure("shared u32 write and read", 200, 200, || {
        let words = &shared::dynamic::<Scratch>().words;
        let own = thread::thread_idx_x() as usize;
        for i in 0..100 {
            words.write(own, i);
            black_box(words.read(own));
        }
    });
    measure("shared vec4 write and read", 200, 200, || {
        let words = &shared::dynamic::<Scratch>().words;
        let own = thread::thread_idx_x() as usize;
        for i in 0..100 {
            words.write_vec4(own * 4, cuda_std::vector::U32x4::new(i, i, i, i));
            black_box(words.read_vec4(own * 4));
        }
    });
    measure("shared u8 write and read", 200, 200, || {
        let bytes = &shared::dynamic::<Scratch>().bytes;
        let own = thread::thread_idx_x() as usize;
        for i in 0..100 {
            bytes.write(own, i as u8);
            black_box(bytes.read(own));
        }
    });
    measure("shared fetch_add", 200, 100, || {
        let words = &shared::dynamic::<Scratch>().words;
        words.write(thread::thread_idx_x() as usize, 0);
        thread::sync_threads();
        for i in 0..100 {
            words.fetch_add(i, 1);
        }
    });
}
