//! Threads and blocks in the emulator: coordinates, barriers, shared memory, atomics, orders, several host threads.

use cuda_std::atomic::*;
use cuda_std::emulator::{Config, Dim3, Order, launch};
use cuda_std::shared::{self, SharedArray};
use cuda_std::thread::*;
use cuda_std::vector::{U32x2, U32x4, U64x2};
use cuda_std::{global, kernel, warp};
use quickcheck::quickcheck;
use std::cell::{Cell, RefCell};
use std::collections::HashSet;

#[test]
fn every_thread_of_the_grid_runs_once() {
    for (grid, block) in [
        (Dim3::new(1, 1, 1), Dim3::new(1, 1, 1)),
        (Dim3::new(5, 1, 1), Dim3::new(33, 1, 1)),
        (Dim3::new(3, 2, 4), Dim3::new(7, 5, 3)),
        (Dim3::new(1, 2, 1), Dim3::new(1024, 1, 1)),
        (Dim3::new(2, 1, 2), Dim3::new(8, 2, 64)),
    ] {
        for order in [Order::Grid, Order::Seeded(1)] {
            let seen = RefCell::new(HashSet::new());
            launch(Config { grid, block, shared_bytes: 0, order }, || {
                assert_eq!(Dim3::new(grid_dim_x(), grid_dim_y(), grid_dim_z()), grid);
                assert_eq!(Dim3::new(block_dim_x(), block_dim_y(), block_dim_z()), block);
                let block_idx = Dim3::new(block_idx_x(), block_idx_y(), block_idx_z());
                let thread_idx = Dim3::new(thread_idx_x(), thread_idx_y(), thread_idx_z());
                assert!(block_idx.x < grid.x && block_idx.y < grid.y && block_idx.z < grid.z);
                assert!(thread_idx.x < block.x && thread_idx.y < block.y && thread_idx.z < block.z);
                let linear = (thread_idx.z * block.y + thread_idx.y) * block.x + thread_idx.x;
                assert_eq!(warp::lane_id(), linear % 32);
                assert!(seen.borrow_mut().insert((block_idx, thread_idx)), "ran twice");
            })
            .unwrap();
            let all = [grid, block].iter().map(|d| d.x * d.y * d.z).product::<u32>();
            assert_eq!(seen.into_inner().len(), all as usize);
        }
    }
}

#[test]
fn blocks_run_in_the_order_asked_for() {
    let order = |order| {
        let blocks = RefCell::new(Vec::new());
        launch(Config::new((4, 3), 1, 0).order(order), || blocks.borrow_mut().push((block_idx_y(), block_idx_x()))).unwrap();
        blocks.into_inner()
    };
    let by_coordinates: Vec<_> = (0..3).flat_map(|y| (0..4).map(move |x| (y, x))).collect();
    assert_eq!(order(Order::Grid), by_coordinates);
    let drawn = order(Order::Seeded(7));
    assert_ne!(drawn, by_coordinates);
    assert_eq!(drawn, order(Order::Seeded(7)), "the seed decides");
    assert_ne!(drawn, order(Order::Seeded(8)));
    let mut sorted = drawn;
    sorted.sort();
    assert_eq!(sorted, by_coordinates);
}

#[test]
fn barriers_count_all_none_and_one() {
    for threads in [1, 31, 32, 33, 1024] {
        for (holds, count) in [((|_| true) as fn(u32) -> bool, threads), (|_| false, 0), (|thread| thread == 0, 1)] {
            launch(Config::new(1, threads, 0), || {
                // Any number but 0 counts.
                let own = if holds(thread_idx_x()) { 2 + thread_idx_x() } else { 0 };
                assert_eq!(sync_threads_count(own), count);
                assert_eq!(sync_threads_and(own), u32::from(count == threads));
                assert_eq!(sync_threads_or(own), u32::from(count > 0));
            })
            .unwrap();
        }
    }
}

#[repr(C, align(16))]
struct Memory {
    words: SharedArray<u32, 256>,
    bytes: SharedArray<u8, 256>,
    halves: SharedArray<u16, 256>,
    doubles: SharedArray<u64, 64>,
    floats: SharedArray<f32, 64>,
    pairs: SharedArray<U64x2, 16>,
}

const MEMORY_BYTES: u32 = size_of::<Memory>() as u32;

/// Reverses every run of 256 words.
///
/// # Safety
/// Blocks of 256 threads; `words` points to 256 words per block that nobody else touches.
#[kernel]
unsafe fn reverse(words: *mut u32) {
    let shared = &shared::dynamic::<Memory>().words;
    let (thread, first) = (thread_idx_x() as usize, block_idx_x() as usize * 256);
    // SAFETY: the index lies in the block's run.
    shared.write(thread, unsafe { *words.add(first + thread) });
    sync_threads();
    // SAFETY: as above; the run was read before the barrier.
    unsafe { *words.add(first + 255 - thread) = shared.read(thread) };
}

#[test]
fn a_kernel_reverses_through_shared_memory() {
    for order in [Order::Grid, Order::Seeded(3)] {
        let mut words: Vec<u32> = (0..4 * 256).collect();
        let pointer = words.as_mut_ptr();
        // SAFETY: four blocks of 256 words, which the launch alone uses.
        launch(Config::new(4, 256, MEMORY_BYTES).order(order), || unsafe { reverse(pointer) }).unwrap();
        let expected: Vec<u32> = (0..4).flat_map(|run| (run * 256..run * 256 + 256).rev()).collect();
        assert_eq!(words, expected);
    }
}

#[test]
fn shared_arrays_keep_every_type() {
    launch(Config::new(2, 256, MEMORY_BYTES), || {
        let memory = shared::dynamic::<Memory>();
        let i = thread_idx_x() as usize;
        memory.bytes.write(i, i as u8);
        memory.halves.write(i, i as u16 * 3);
        if i < 64 {
            memory.doubles.write(i, u64::MAX - i as u64);
            memory.floats.write(i, i as f32 / 4.0);
            memory.words.write_vec4(i * 4, U32x4::from_array([0, 1, 2, 3].map(|n| (i * 4 + n) as u32)));
        }
        if i < 16 {
            memory.pairs.write(i, U64x2::new(i as u64, 1 << i));
        }
        sync_threads();
        let other = i ^ 5;
        assert_eq!(memory.bytes.read(other), other as u8);
        assert_eq!(memory.halves.read(other), other as u16 * 3);
        assert_eq!(memory.words.read(other), other as u32);
        let even = other & !1;
        assert_eq!(memory.words.read_vec2(even), U32x2::new(even as u32, even as u32 + 1));
        if i < 64 {
            assert_eq!(memory.doubles.read(other), u64::MAX - other as u64);
            assert_eq!(memory.floats.read(other), other as f32 / 4.0);
            assert_eq!(memory.words.read_vec4(other * 4).to_array(), [0, 1, 2, 3].map(|n| (other * 4 + n) as u32));
        }
        if i < 16 {
            assert_eq!(memory.pairs.read(other), U64x2::new(other as u64, 1 << other));
        }
        sync_threads();
        if i < 128 {
            memory.words.write_vec2(i * 2, U32x2::new(i as u32, !(i as u32)));
        }
        sync_threads();
        let pair = i as u32 / 2;
        assert_eq!(memory.words.read(i), if i & 1 == 0 { pair } else { !pair });
    })
    .unwrap();
}

quickcheck! {
    fn shared_atomics(values: Vec<u32>) -> bool {
        let value = |i: usize| values.get(i).copied().unwrap_or(i as u32 * 0x0101_0101);
        let all = || (0..64).map(value);
        let found = RefCell::new([0; 5]);
        launch(Config::new(1, 64, MEMORY_BYTES), || {
            let words = &shared::dynamic::<Memory>().words;
            let thread = thread_idx_x() as usize;
            if thread < 5 {
                words.write(thread, [0, 0, u32::MAX, 0, u32::MAX][thread]);
            }
            sync_threads();
            let own = value(thread);
            words.fetch_add(0, own);
            words.fetch_or(1, own);
            words.fetch_and(2, own);
            words.fetch_max(3, own);
            words.fetch_min(4, own);
            sync_threads();
            if thread == 0 {
                *found.borrow_mut() = [0, 1, 2, 3, 4].map(|i| words.read(i));
            }
        })
        .unwrap();
        let expected = [
            all().fold(0, u32::wrapping_add),
            all().fold(0, |a, b| a | b),
            all().fold(u32::MAX, |a, b| a & b),
            all().max().unwrap(),
            all().min().unwrap(),
        ];
        found.into_inner() == expected
    }
}

#[test]
fn a_split_stores_to_two_places() {
    use shared::Split;
    launch(Config::new(1, 1, MEMORY_BYTES), || {
        let words = &shared::dynamic::<Memory>().words;
        for i in 0..64 {
            words.write(i, 0);
        }
        let read = |at: usize| words.read_part::<u8>(at);
        let mut bytes = Split::new(words, 1, 8);
        bytes.store::<1, true>(0b0101, [0xA0, 0xA1, 0xA2, 0xA3]);
        bytes.store::<1, true>(0b1111_0010, [0xA4, 0xA5, 0xA6, 0xA7]);
        assert_eq!([1, 2, 3, 4].map(read), [0xA0, 0xA2, 0xA5, 0]);
        assert_eq!([8, 9, 10, 11, 12, 13].map(read), [0xA1, 0xA3, 0xA4, 0xA6, 0xA7, 0]);
        Split::new(words, 0, 64).store::<1, false>(0b1000, [1, 2, 3, 0x1F4]);
        assert_eq!([read(0), read(64)], [0xF4, 0]);

        let mut halves = Split::new(words, 64, 80);
        halves.store::<2, true>(0b1001, [0x1_0001, 2, 3, 4]);
        halves.store::<2, false>(0b0100, [5, 6, 7, 8]);
        assert_eq!([64, 66, 68, 70].map(|at| words.read_part::<u16>(at)), [1, 4, 7, 0]);
        assert_eq!([80, 82, 84].map(|at| words.read_part::<u16>(at)), [2, 3, 0]);

        Split::new(words, 96, 112).store::<4, true>(0b0110, [1, 2, 3, 4]);
        assert_eq!([24, 25, 26, 28, 29].map(|at| words.read(at)), [2, 3, 0, 1, 4]);
        Split::new(words, 128, 144).store::<8, true>(0b1110, [1, 2, 3, 4]);
        assert_eq!([32, 33, 34, 36, 37].map(|at| words.read(at)), [3, 4, 0, 1, 2]);
        words.write_part(133, 0x77u8);
        assert_eq!(words.read(33), 0x7704);
    })
    .unwrap();
}

#[test]
fn asynchronous_copies_are_there_after_the_wait() {
    let from: Vec<U32x4> = (0..64).map(|i| U32x4::new(i, 100 + i, 200 + i, 300 + i)).collect();
    let seen = RefCell::new(Vec::new());
    launch(Config::new(2, 32, 16 * 32), || {
        let words = shared::dynamic::<SharedArray<u32, 128>>();
        let lane = thread_idx_x();
        words.write_vec4(4 * lane as usize, U32x4::default());
        let address = words.address(16 * lane);
        // SAFETY: a unit for each thread, and nobody writes it.
        unsafe { words.copy_async_v4(address, from.as_ptr().add((32 * block_idx_x() + lane) as usize)) };
        let before = words.word_at(address + 4);
        shared::wait_for_copies();
        let after = [words.word_at(address + 4), words.half_at(address + 8), words.byte_at(address + 12)];
        seen.borrow_mut().push((before, after));
    })
    .unwrap();
    let expected: Vec<_> = (0..64).map(|i| (0, [100 + i, 200 + i, (300 + i) & 0xFF])).collect();
    assert_eq!(seen.into_inner(), expected);
}

#[test]
fn shared_atomics_give_what_was_there_before() {
    launch(Config::new(1, 1, MEMORY_BYTES), || {
        let words = &shared::dynamic::<Memory>().words;
        words.write(0, u32::MAX);
        assert_eq!(words.fetch_add(0, 2), u32::MAX);
        assert_eq!(words.fetch_or(0, 0b110), 1);
        assert_eq!(words.fetch_and(0, 0b101), 0b111);
        assert_eq!(words.fetch_max(0, 9), 0b101);
        assert_eq!(words.fetch_min(0, 3), 9);
        assert_eq!(words.read(0), 3);
    })
    .unwrap();
}

#[test]
fn tickets_are_drawn_once_each() {
    let tickets = RefCell::new(HashSet::new());
    let mut counter = 0_u32;
    let pointer: *mut u32 = &mut counter;
    launch(Config::new(3, 64, 0).order(Order::Seeded(5)), || {
        // SAFETY: the counter outlives the launch; all accesses are atomic.
        let ticket = unsafe { atomic_fetch_add_relaxed_32_device(pointer, 1) };
        tickets.borrow_mut().insert(ticket);
    })
    .unwrap();
    assert_eq!(counter, 192);
    assert_eq!(tickets.into_inner(), (0..192).collect());
}

/// Calls every atomic of one width.
macro_rules! atomics_of {
    ($test:ident, $type:ty, $load:ident $acquire:ident $load_system:ident $acquire_system:ident,
     $store:ident $release:ident $store_system:ident $release_system:ident,
     $add:ident $min:ident $max:ident $or:ident $and:ident,
     $add_block:ident $min_block:ident $max_block:ident $or_block:ident $and_block:ident,
     $($exch:ident)+; $($cas:ident)+) => {
        #[test]
        fn $test() {
            let mut memory: $type = 3;
            let at: *mut $type = &mut memory;
            let high: $type = 1 << (<$type>::BITS - 1);
            // SAFETY: the word outlives the launch.
            launch(Config::new(1, 1, 0), || unsafe {
                assert_eq!($load(at), 3);
                $store(at, high);
                assert_eq!($acquire(at), high);
                $release(at, high + 1);
                assert_eq!($load_system(at), high + 1);
                $store_system(at, 0);
                assert_eq!($acquire_system(at), 0);
                $release_system(at, 5);
                for (add, min, max, or, and) in
                    [($add as unsafe fn(_, _) -> _, $min as unsafe fn(_, _) -> _, $max as unsafe fn(_, _) -> _, $or as unsafe fn(_, _) -> _, $and as unsafe fn(_, _) -> _),
                     ($add_block, $min_block, $max_block, $or_block, $and_block)]
                {
                    $store(at, 5);
                    assert_eq!(add(at, <$type>::MAX), 5);
                    assert_eq!(max(at, high), 4); // unsigned
                    assert_eq!(min(at, 6), high);
                    assert_eq!(or(at, 8), 6);
                    assert_eq!(and(at, 12), 14);
                    assert_eq!($load(at), 12);
                }
                $(
                    $store(at, 1);
                    assert_eq!($exch(at, 2), 1);
                    assert_eq!($load(at), 2);
                )+
                $(
                    $store(at, 1);
                    assert_eq!($cas(at, 2, 9), 1);
                    assert_eq!($load(at), 1);
                    assert_eq!($cas(at, 1, high), 1);
                    assert_eq!($load(at), high);
                )+
            })
            .unwrap();
        }
    };
}
atomics_of! {
    atomics_of_32_bits, u32,
    atomic_load_relaxed_32_device atomic_load_acquire_32_device atomic_load_relaxed_32_system atomic_load_acquire_32_system,
    atomic_store_relaxed_32_device atomic_store_release_32_device atomic_store_relaxed_32_system atomic_store_release_32_system,
    atomic_fetch_add_relaxed_32_device atomic_fetch_min_relaxed_32_device atomic_fetch_max_relaxed_32_device
    atomic_fetch_or_relaxed_32_device atomic_fetch_and_relaxed_32_device,
    atomic_fetch_add_relaxed_32_block atomic_fetch_min_relaxed_32_block atomic_fetch_max_relaxed_32_block
    atomic_fetch_or_relaxed_32_block atomic_fetch_and_relaxed_32_block,
    atomic_exch_relaxed_32_device atomic_exch_relaxed_32_block atomic_exch_acqrel_32_device atomic_exch_acqrel_32_block;
    atomic_cas_relaxed_32_device atomic_cas_relaxed_32_block atomic_cas_acqrel_32_device atomic_cas_acqrel_32_block
}
atomics_of! {
    atomics_of_64_bits, u64,
    atomic_load_relaxed_64_device atomic_load_acquire_64_device atomic_load_relaxed_64_system atomic_load_acquire_64_system,
    atomic_store_relaxed_64_device atomic_store_release_64_device atomic_store_relaxed_64_system atomic_store_release_64_system,
    atomic_fetch_add_relaxed_64_device atomic_fetch_min_relaxed_64_device atomic_fetch_max_relaxed_64_device
    atomic_fetch_or_relaxed_64_device atomic_fetch_and_relaxed_64_device,
    atomic_fetch_add_relaxed_64_block atomic_fetch_min_relaxed_64_block atomic_fetch_max_relaxed_64_block
    atomic_fetch_or_relaxed_64_block atomic_fetch_and_relaxed_64_block,
    atomic_exch_relaxed_64_device atomic_exch_relaxed_64_block atomic_exch_acqrel_64_device atomic_exch_acqrel_64_block;
    atomic_cas_relaxed_64_device atomic_cas_relaxed_64_block atomic_cas_acqrel_64_device atomic_cas_acqrel_64_block
}

#[test]
fn global_vectors_are_copied_whole() {
    let plain: Vec<U32x4> = (0..64).map(|i| U32x4::new(i, i + 1, i * 2, !i)).collect();
    let mut copies = vec![U32x4::default(); 128];
    let (from, to) = (plain.as_ptr(), copies.as_mut_ptr());
    // SAFETY: 64 threads, 64 vectors to read and twice as many to write, which the launch alone uses.
    launch(Config::new(1, 64, 0), || unsafe {
        let i = thread_idx_x() as usize;
        global::store_v4(to.add(i), global::load_streaming_v4(from.add(i)));
        global::store_streaming_v4(to.add(64 + i), global::load_v4(from.add(i)));
        assert_eq!(global::load_nc_u32(from.add(i).cast()), i as u32);
    })
    .unwrap();
    assert_eq!(copies[..64], plain);
    assert_eq!(copies[64..], plain);
}

quickcheck! {
    /// The halves lie in front of the end in the order of taking, the last one lowest; units of two takers lie between each other.
    fn halves_go_down(numbers: Vec<(u32, u32)>) -> bool {
        const LANES: usize = 2;
        let units = numbers.len() / 4 + 1;
        let mut memory = vec![U32x2::new(7, 7); units * LANES + 1];
        let end = memory.as_mut_ptr().wrapping_add(units * LANES);
        let (mut taken, mut left) = (Vec::new(), Vec::new());
        for &(x, limit) in &numbers {
            if x >= limit {
                taken.push(x as u16);
            }
            left.push(if x >= limit { x >> 16 } else { x });
        }
        launch(Config::new(1, LANES as u32, 0), || {
            // SAFETY: a unit for four numbers for each of two threads, which the launch alone uses.
            let mut down = unsafe { global::HalvesDown::<{ 8 * LANES as i32 }>::new(end.add(thread_idx_x() as usize)) };
            for (&(x, limit), &left) in numbers.iter().zip(&left) {
                assert_eq!(down.take(x, limit), left);
            }
            assert_eq!(down.count() as usize, taken.len());
            down.finish();
        })
        .unwrap();
        let half = |back: usize, lane: usize| {
            let unit = memory[(units - 1 - back / 4) * LANES + lane];
            let four = [unit.x as u16, (unit.x >> 16) as u16, unit.y as u16, (unit.y >> 16) as u16];
            four[3 - back % 4]
        };
        (0..LANES).all(|lane| taken.iter().enumerate().all(|(back, &taken)| half(back, lane) == taken))
            && memory[..(units - taken.len().div_ceil(4)) * LANES].iter().all(|unit| *unit == U32x2::new(7, 7))
            && memory[units * LANES] == U32x2::new(7, 7)
    }
}

#[test]
fn blocks_may_wait_for_earlier_ones() {
    // A sum over all blocks, each of which waits for the one before.
    let mut sums = [0_u64; 8];
    let pointer = sums.as_mut_ptr();
    launch(Config::new(8, 32, 0), || {
        let block = block_idx_x() as usize;
        // SAFETY: eight words for eight blocks; all accesses are atomic.
        let before = if block == 0 {
            1 << 63
        } else {
            loop {
                // SAFETY: as above.
                let before = unsafe { atomic_load_acquire_64_device(pointer.add(block - 1)) };
                if warp::warp_vote_all(warp::FULL_MASK, before >> 63 == 1) {
                    break before;
                }
                spin_wait();
            }
        };
        warp::sync_warp(warp::FULL_MASK);
        if warp::lane_id() == 0 {
            // SAFETY: as above.
            unsafe { atomic_store_release_64_device(pointer.add(block), before + block as u64) };
        }
    })
    .unwrap();
    assert_eq!(sums[7], 1 << 63 | 28);
}

#[test]
fn warps_of_a_block_may_wait_for_each_other() {
    // Each warp waits for the one before it, whatever their order.
    for order in (0..8).map(Order::Seeded).chain([Order::Grid]) {
        let mut turn = 8_u32;
        let pointer: *mut u32 = &mut turn;
        launch(Config::new(1, 256, 0).order(order), || {
            let warp = thread_idx_x() / 32;
            if warp::lane_id() == 0 {
                // The last warp begins.
                // SAFETY: the word outlives the launch; all accesses are atomic.
                unsafe {
                    while atomic_load_acquire_32_device(pointer) != warp + 1 {
                        spin_wait();
                    }
                    atomic_store_release_32_device(pointer, warp);
                }
            }
            sync_threads();
        })
        .unwrap();
        assert_eq!(turn, 0);
    }
}

#[test]
fn host_threads_launch_at_the_same_time() {
    std::thread::scope(|scope| {
        for seed in 0..8 {
            scope.spawn(move || {
                for round in 0..20 {
                    let mut words: Vec<u32> = (0..256).map(|i| i ^ seed).collect();
                    let pointer = words.as_mut_ptr();
                    // SAFETY: one block of 256 words, which the launch alone uses.
                    launch(Config::new(1, 256, MEMORY_BYTES), || unsafe { reverse(pointer) }).unwrap();
                    let expected: Vec<u32> = (0..256).rev().map(|i| i ^ seed).collect();
                    assert_eq!(words, expected, "host thread {seed}, round {round}");
                }
            });
        }
    });
}

#[test]
fn launches_of_many_shapes_follow_each_other() {
    // What one launch leaves behind must not show in the next one.
    for (round, threads) in [1024, 1, 33, 256, 32, 1024, 7].into_iter().enumerate() {
        let count = Cell::new(0);
        launch(Config::new(3, threads, MEMORY_BYTES), || {
            let bytes = &shared::dynamic::<Memory>().bytes;
            if thread_idx_x() < 256 {
                bytes.write(thread_idx_x() as usize, round as u8);
            }
            let all = sync_threads_count(1);
            if thread_idx_x() < 256 {
                assert_eq!(bytes.read((thread_idx_x() ^ 1).min(threads.min(256) - 1) as usize), round as u8);
            }
            count.set(count.get() + u64::from(all));
        })
        .unwrap();
        assert_eq!(count.get(), 3 * u64::from(threads) * u64::from(threads));
    }
}

mod with_launch_shape {
    use cuda_std::{kernel, thread};

    struct Launch {
        threads: u32,
        min_blocks: u32,
    }

    const SHAPES: [Launch; 1] = [Launch { threads: 512, min_blocks: 2 }];

    /// Has a shape.
    ///
    /// # Safety
    /// `count` points to a word that nobody else touches.
    #[kernel(launch = SHAPES[0])]
    pub unsafe fn shaped(count: *mut u32) {
        let all = thread::sync_threads_count(1);
        if thread::thread_idx_x() == 0 {
            // SAFETY: one thread writes it.
            unsafe { *count = all };
        }
    }

    #[test]
    fn a_kernel_with_a_shape_is_a_function_and_a_constant() {
        assert_eq!(__launch_shaped, [512, 2]);
        let mut count = 0;
        let pointer: *mut u32 = &mut count;
        let config = cuda_std::emulator::Config::new(1, SHAPES[0].threads, 0);
        // SAFETY: the word is the launch's alone.
        cuda_std::emulator::launch(config, || unsafe { shaped(pointer) }).unwrap();
        assert_eq!(count, 512);
    }
}

#[test]
#[should_panic(expected = "outside of a kernel")]
fn device_functions_outside_of_a_kernel_say_so() {
    sync_threads();
}
