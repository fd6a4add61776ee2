//! Every check of the emulator, by a kernel that commits exactly that fault, and by its sound twin.

use cuda_std::emulator::{Access, Collective, Config, Dim3, Fault, Order, launch};
use cuda_std::shared::{self, SharedArray};
use cuda_std::thread::{self, thread_idx_x};
use cuda_std::vector::U32x4;
use cuda_std::warp::{self, FULL_MASK, lane_id};
use cuda_std::{atomic, global, kernel};
use std::cell::Cell;

#[repr(C, align(16))]
struct Scratch {
    words: SharedArray<u32, 64>,
    bytes: SharedArray<u8, 64>,
}

const SCRATCH_BYTES: u32 = size_of::<Scratch>() as u32;

fn scratch() -> &'static Scratch {
    shared::dynamic()
}

/// Runs `kernel` in one block of `threads` threads with memory for a `Scratch`, in both orders; the verdict must not
/// depend on the order.
#[track_caller]
fn run(threads: u32, kernel: impl Fn()) -> Result<(), Fault> {
    let config = Config::new(1, threads, SCRATCH_BYTES);
    let result = launch(config, &kernel);
    for seed in 0..8 {
        let drawn = launch(config.order(Order::Seeded(seed)), &kernel);
        assert_eq!(drawn.is_ok(), result.is_ok(), "seed {seed}: {drawn:?}, in grid order: {result:?}");
        if let (Err(drawn), Err(fault)) = (drawn, &result) {
            assert_eq!(std::mem::discriminant(&drawn), std::mem::discriminant(fault), "seed {seed}");
        }
    }
    result
}

fn x(x: u32) -> Dim3 {
    Dim3::new(x, 0, 0)
}

// The launch itself.

#[test]
fn impossible_blocks() {
    for block in [(0, 1, 1), (1025, 1, 1), (32, 33, 1), (1, 1, 65), (1 << 31, 1 << 31, 4)] {
        let block = Dim3::from(block);
        assert_eq!(launch(Config::new(1, block, 0), || {}), Err(Fault::BlockShape { block }));
    }
    for block in [(1, 1, 1), (1024, 1, 1), (32, 32, 1), (4, 4, 64)] {
        assert_eq!(launch(Config::new(1, Dim3::from(block), 0), || {}), Ok(()));
    }
}

#[test]
fn impossible_grids() {
    for grid in [(0, 1, 1), (1, 0, 1), (1, 1, 0), (1 << 31, 1, 1), (1, 65536, 1), (1, 1, 65536)] {
        let grid = Dim3::from(grid);
        assert_eq!(launch(Config::new(grid, 1, 0), || {}), Err(Fault::GridShape { grid }));
    }
    assert_eq!(launch(Config::new((1, 65535, 1), 1, 0), || {}), Ok(()));
}

#[test]
fn more_shared_memory_than_a_device_has() {
    let max = 227 * 1024;
    assert_eq!(launch(Config::new(1, 1, max + 1), || {}), Err(Fault::SharedBytes { asked: max + 1, max }));
    assert_eq!(launch(Config::new(1, 1, max), || {}), Ok(()));
}

#[test]
fn kernel_launches_a_kernel() {
    let inner = Cell::new(Ok(()));
    launch(Config::new(1, 1, 0), || inner.set(launch(Config::new(1, 1, 0), || {}))).unwrap();
    assert_eq!(inner.into_inner(), Err(Fault::NestedLaunch));
    // That did not disturb the next launch.
    assert_eq!(launch(Config::new(1, 1, 0), || {}), Ok(()));
}

// Collectives of a warp.

#[test]
fn mask_does_not_name_the_caller() {
    let fault = run(32, || {
        warp::sync_warp(0xFFFF);
    })
    .unwrap_err();
    let Fault::MaskWithoutCaller { place, collective: Collective::SyncWarp, mask: 0xFFFF } = fault else { panic!("{fault}") };
    assert_eq!((place.block, place.thread), (x(0), x(16)));
    assert_eq!(place.at.file(), file!());
    run(32, || {
        if lane_id() < 16 {
            warp::sync_warp(0xFFFF);
        }
    })
    .unwrap();
}

#[test]
fn mask_names_a_lane_beyond_the_block() {
    let fault = run(40, || {
        warp::warp_vote_any(FULL_MASK, true);
    })
    .unwrap_err();
    assert!(matches!(fault, Fault::MaskNamesAbsentLane { collective: Collective::VoteAny, lane: 8, .. }), "{fault}");
    assert_eq!(fault.thread().unwrap().x / 32, 1, "the full warp is not at fault");
    run(40, || {
        warp::warp_vote_any(if thread_idx_x() < 32 { FULL_MASK } else { 0xFF }, true);
    })
    .unwrap();
}

#[test]
fn mask_names_a_lane_that_exits_before() {
    let fault = run(32, || {
        if lane_id() != 5 {
            warp::warp_vote_ballot(FULL_MASK, true);
        }
    })
    .unwrap_err();
    assert!(matches!(fault, Fault::LaneExited { mask: FULL_MASK, lane: 5, .. }), "{fault}");
    run(32, || {
        if lane_id() != 5 {
            warp::warp_vote_ballot(!(1 << 5), true);
        }
    })
    .unwrap();
}

#[test]
fn mask_names_a_lane_that_exits_while_others_wait() {
    // Lane 31 runs last in grid order, so that all others wait when it returns.
    let fault = launch(Config::new(1, 32, 0), || {
        if lane_id() != 31 {
            warp::sync_warp(FULL_MASK);
        }
    })
    .unwrap_err();
    assert!(matches!(fault, Fault::LaneExited { lane: 31, collective: Collective::SyncWarp, .. }), "{fault}");
    assert_eq!(fault.thread(), Some(x(0)));
}

#[test]
fn mask_names_a_lane_at_a_barrier() {
    let fault = run(32, || {
        if lane_id() == 7 {
            thread::sync_threads();
        } else {
            warp::sync_warp(FULL_MASK);
        }
    })
    .unwrap_err();
    assert!(matches!(fault, Fault::LaneAtBarrier { lane: 7, collective: Collective::SyncWarp, .. }), "{fault}");
    run(32, || {
        if lane_id() != 7 {
            warp::sync_warp(!(1 << 7));
        }
        thread::sync_threads();
    })
    .unwrap();
}

#[test]
fn lanes_come_to_different_collectives() {
    let fault = run(32, || {
        if lane_id() < 16 {
            warp::warp_vote_any(FULL_MASK, true);
        } else {
            warp::warp_vote_all(FULL_MASK, true);
        }
    })
    .unwrap_err();
    assert!(matches!(fault, Fault::Diverged { mask: FULL_MASK, its_mask: FULL_MASK, .. }), "{fault}");
    // A shuffle of 64 bits is another one than a shuffle of 32.
    let fault = run(32, || {
        if lane_id() < 16 {
            warp::warp_shuffle_idx(FULL_MASK, 0_u32, 0, 32);
        } else {
            warp::warp_shuffle_idx(FULL_MASK, 0_u64, 0, 32);
        }
    })
    .unwrap_err();
    assert!(matches!(fault, Fault::Diverged { .. }), "{fault}");
    run(32, || {
        if lane_id() < 16 {
            warp::warp_vote_any(0xFFFF, true);
        } else {
            warp::warp_vote_all(0xFFFF_0000, true);
        }
        warp::warp_vote_all(FULL_MASK, true);
    })
    .unwrap();
}

#[test]
fn lanes_come_with_different_masks() {
    let fault = run(32, || {
        warp::sync_warp(if lane_id() < 16 { 0x0001_FFFF } else { 0xFFFF_0001 });
    })
    .unwrap_err();
    assert!(matches!(fault, Fault::Diverged { .. }), "{fault}");
    run(32, || {
        warp::sync_warp(if lane_id() < 16 { 0x0000_FFFF } else { 0xFFFF_0000 });
    })
    .unwrap();
}

#[test]
fn lanes_wait_in_a_ring() {
    // 0 waits for 1, 1 for 2, and 2 for 0: no two of them name each other.
    let fault = run(32, || match lane_id() {
        0 => warp::sync_warp(0b011),
        1 => warp::sync_warp(0b110),
        2 => warp::sync_warp(0b101),
        _ => {}
    })
    .unwrap_err();
    assert!(matches!(fault, Fault::Diverged { .. }), "{fault}");
    run(32, || match lane_id() {
        0 => {
            warp::sync_warp(0b011);
            warp::sync_warp(0b101);
        }
        1 => {
            warp::sync_warp(0b011);
            warp::sync_warp(0b110);
        }
        2 => {
            warp::sync_warp(0b110);
            warp::sync_warp(0b101);
        }
        _ => {}
    })
    .unwrap();
}

#[test]
fn shuffle_reads_a_lane_that_does_not_take_part() {
    let fault = run(32, || {
        if lane_id() < 16 {
            warp::warp_shuffle_down(0xFFFF, 1_u32, 1, 32);
        }
    })
    .unwrap_err();
    let Fault::ShuffleSource { place, collective: Collective::ShuffleDown, mask: 0xFFFF, source: 16 } = fault else {
        panic!("{fault}")
    };
    assert_eq!(place.thread, x(15));
    run(32, || {
        if lane_id() < 16 {
            // Segments of 16: lane 15 has nothing above and reads itself.
            let (_, in_bounds) = warp::warp_shuffle_down(0xFFFF, 1_u32, 1, 16);
            assert_eq!(in_bounds, lane_id() < 15);
        }
    })
    .unwrap();
}

#[test]
fn shuffle_of_an_impossible_width() {
    for width in [0, 3, 24, 33, 64] {
        let fault = run(32, || {
            warp::warp_shuffle_xor(FULL_MASK, 1_u32, 1, width);
        })
        .unwrap_err();
        assert!(matches!(fault, Fault::ShuffleWidth { width: w, .. } if w == width), "{fault}");
    }
    for width in [1, 2, 4, 8, 16, 32] {
        run(32, || {
            warp::warp_shuffle_xor(FULL_MASK, 1_u32, 1, width);
        })
        .unwrap();
    }
}

// Barriers of a block.

#[test]
fn thread_returns_before_a_barrier() {
    let fault = run(64, || {
        if thread_idx_x() != 40 {
            thread::sync_threads();
        }
    })
    .unwrap_err();
    assert!(matches!(fault, Fault::BarrierMissed { exited, .. } if exited == x(40)), "{fault}");
    run(64, || {
        if thread_idx_x() != 40 {
            warp::activemask();
        }
        thread::sync_threads();
    })
    .unwrap();
}

#[test]
#[allow(clippy::if_same_then_else, reason = "two calls that look the same are two barriers")]
fn threads_wait_at_different_barriers() {
    let fault = run(64, || {
        if thread_idx_x() < 32 {
            thread::sync_threads();
        } else {
            thread::sync_threads();
        }
    })
    .unwrap_err();
    let Fault::BarriersDiffer { place, other } = fault else { panic!("{fault}") };
    assert_eq!(place.at.line().abs_diff(other.at.line()), 2);
    assert_ne!(place.thread.x / 32, other.thread.x / 32);

    let fault = run(64, || {
        let wait = if thread_idx_x() < 32 { thread::sync_threads_and } else { thread::sync_threads_or };
        wait(1);
    })
    .unwrap_err();
    assert!(matches!(fault, Fault::BarriersDiffer { .. }), "{fault}");

    run(64, || {
        let both = if thread_idx_x() < 32 { 1 } else { 2 };
        thread::sync_threads_and(both);
    })
    .unwrap();
}

// Polls.

#[test]
fn poll_that_nobody_answers() {
    let mut flag = 0_u32;
    let flag: *mut u32 = &mut flag;
    let poll = |answered: bool| {
        launch(Config::new(1, 64, 0), || {
            if thread_idx_x() == 0 {
                // SAFETY: the flag outlives the launch, and all accesses are atomic.
                while unsafe { atomic::atomic_load_acquire_32_device(flag) } == 0 {
                    thread::spin_wait();
                }
            } else if thread_idx_x() == 63 && answered {
                // SAFETY: as above.
                unsafe { atomic::atomic_store_release_32_device(flag, 1) };
            }
        })
    };
    let fault = poll(false).unwrap_err();
    assert!(matches!(fault, Fault::PollsForever { .. }), "{fault}");
    assert_eq!(fault.thread(), Some(x(0)));
    poll(true).unwrap();
}

#[test]
fn poll_of_a_whole_warp_with_a_vote_that_nobody_answers() {
    let mut flag = 0_u32;
    let flag: *mut u32 = &mut flag;
    let fault = launch(Config::new(1, 32, 0), || {
        // SAFETY: the flag outlives the launch, and all accesses are atomic.
        while !warp::warp_vote_all(FULL_MASK, unsafe { atomic::atomic_load_relaxed_32_device(flag) } != 0) {
            thread::nanosleep(100);
        }
    })
    .unwrap_err();
    assert!(matches!(fault, Fault::PollsForever { .. }), "{fault}");
}

#[test]
fn poll_of_a_later_block() {
    let mut flags = [0_u32; 4];
    let flags: *mut u32 = flags.as_mut_ptr();
    let chain = |toward: fn(u32) -> u32| {
        // SAFETY: four flags for four blocks, which outlive the launch; all accesses are atomic.
        launch(Config::new(4, 32, 0), || unsafe {
            let block = thread::block_idx_x();
            if lane_id() == 0 {
                let before = toward(block);
                while before < 4 && atomic::atomic_load_acquire_32_device(flags.add(before as usize)) == 0 {
                    thread::spin_wait();
                }
                atomic::atomic_store_release_32_device(flags.add(block as usize), 1);
            }
        })
    };
    chain(|block| block.wrapping_sub(1)).unwrap();
    // SAFETY: no launch runs.
    unsafe { flags.cast::<[u32; 4]>().write([0; 4]) };
    let fault = chain(|block| block + 1).unwrap_err();
    assert!(matches!(fault, Fault::PollsForever { .. }), "{fault}");
    assert_eq!(fault.block(), Some(x(0)));
}

#[test]
fn polls_that_answer_each_other_go_on() {
    // Two warps hand a counter to and fro more often than the limit of hopeless polls.
    let mut turn = 0_u32;
    let turn: *mut u32 = &mut turn;
    // SAFETY: the counter outlives the launch, and all accesses are atomic.
    launch(Config::new(1, 64, 0), || unsafe {
        let own = thread_idx_x() / 32;
        if lane_id() == 0 {
            loop {
                let now = atomic::atomic_load_acquire_32_device(turn);
                if now >= 200_000 {
                    break;
                }
                if now % 2 == own {
                    atomic::atomic_fetch_add_relaxed_32_device(turn, 1);
                } else {
                    thread::spin_wait();
                }
            }
        }
    })
    .unwrap();
}

// Shared memory.

#[test]
fn shared_struct_is_larger_than_the_launch_says() {
    let kernel = || {
        scratch();
    };
    let fault = launch(Config::new(1, 1, SCRATCH_BYTES - 1), kernel).unwrap_err();
    let Fault::SharedTooSmall { need, have, .. } = fault else { panic!("{fault}") };
    assert_eq!((need, have), (SCRATCH_BYTES as usize, SCRATCH_BYTES as usize - 1));
    launch(Config::new(1, 1, SCRATCH_BYTES), kernel).unwrap();
}

#[test]
fn shared_index_out_of_bounds() {
    let fault = run(1, || scratch().words.write(64, 0)).unwrap_err();
    assert!(matches!(fault, Fault::SharedIndex { index: 64, count: 1, len: 64, .. }), "{fault}");
    assert_eq!(fault.place().unwrap().at.file(), file!());
    let fault = run(1, || {
        scratch().words.read(usize::MAX);
    })
    .unwrap_err();
    assert!(matches!(fault, Fault::SharedIndex { index: usize::MAX, .. }), "{fault}");
    let fault = run(1, || scratch().words.write_vec4(62, U32x4::default())).unwrap_err();
    assert!(matches!(fault, Fault::SharedIndex { index: 62, count: 4, .. }), "{fault}");
    let fault = run(1, || {
        scratch().words.fetch_add(64, 1);
    })
    .unwrap_err();
    assert!(matches!(fault, Fault::SharedIndex { index: 64, .. }), "{fault}");
    run(1, || {
        scratch().words.write(63, 0);
        scratch().words.write_vec4(60, U32x4::default());
    })
    .unwrap();
}

#[test]
fn shared_vector_is_misaligned() {
    let fault = run(1, || scratch().words.write_vec4(2, U32x4::default())).unwrap_err();
    assert!(matches!(fault, Fault::SharedAlignment { offset: 8, align: 16, .. }), "{fault}");
    run(1, || scratch().words.write_vec4(4, U32x4::default())).unwrap();
}

#[test]
fn shared_array_lies_elsewhere() {
    // SAFETY: words are plain bits.
    let elsewhere: SharedArray<u32, 4> = unsafe { std::mem::zeroed() };
    let fault = run(1, || {
        elsewhere.read(0);
    })
    .unwrap_err();
    assert!(matches!(fault, Fault::NotShared { access: Access::Read, .. }), "{fault}");
}

#[test]
fn read_of_what_nobody_wrote() {
    let fault = run(1, || {
        scratch().words.write(2, 0);
        scratch().words.read(3);
    })
    .unwrap_err();
    assert!(matches!(fault, Fault::Unwritten { offset: 12, .. }), "{fault}");
    // Part of a word.
    let fault = run(1, || {
        scratch().bytes.write(0, 0);
        scratch().bytes.read(1);
    })
    .unwrap_err();
    assert!(matches!(fault, Fault::Unwritten { offset: 257, .. }), "{fault}");
    // Part of a vector.
    let fault = run(1, || {
        (0..3).for_each(|i| scratch().words.write(i, 0));
        scratch().words.read_vec4(0);
    })
    .unwrap_err();
    assert!(matches!(fault, Fault::Unwritten { offset: 12, .. }), "{fault}");
    // An atomic reads, too.
    let fault = run(1, || {
        scratch().words.fetch_or(1, 1);
    })
    .unwrap_err();
    assert!(matches!(fault, Fault::Unwritten { offset: 4, .. }), "{fault}");
    run(1, || {
        (0..4).for_each(|i| scratch().words.write(i, 0));
        scratch().words.read_vec4(0);
        scratch().words.fetch_or(1, 1);
    })
    .unwrap();
}

#[test]
fn read_of_what_the_block_before_wrote() {
    let fault = launch(Config::new(2, 1, SCRATCH_BYTES), || {
        if thread::block_idx_x() == 0 {
            scratch().words.write(0, 1);
        }
        scratch().words.read(0);
    })
    .unwrap_err();
    assert!(matches!(fault, Fault::Unwritten { offset: 0, .. }), "{fault}");
    assert_eq!(fault.block(), Some(x(1)));
    // Nor what the launch before wrote.
    launch(Config::new(1, 1, SCRATCH_BYTES), || scratch().words.write(0, 1)).unwrap();
    let fault = launch(Config::new(1, 1, SCRATCH_BYTES), || {
        scratch().words.read(0);
    })
    .unwrap_err();
    assert!(matches!(fault, Fault::Unwritten { offset: 0, .. }), "{fault}");
}

#[test]
fn race_of_two_writes() {
    let fault = run(64, || scratch().words.write(thread_idx_x() as usize / 2, 1)).unwrap_err();
    let Fault::Race { access: Access::Write, its_access: Access::Write, place, other, .. } = fault else { panic!("{fault}") };
    assert_eq!(place.thread.x / 2, other.x / 2);
    run(64, || scratch().words.write(thread_idx_x() as usize, 1)).unwrap();
    // One after the other is fine.
    run(64, || {
        for turn in 0..2 {
            if thread_idx_x() % 2 == turn {
                scratch().words.write(thread_idx_x() as usize / 2, 1);
            }
            thread::sync_threads();
        }
    })
    .unwrap();
}

/// Everybody writes a word, waits, and reads the neighbour's; then, after `between`, writes again.
fn neighbours(between: impl Fn()) -> Result<(), Fault> {
    run(64, || {
        let i = thread_idx_x() as usize;
        scratch().words.write(i, 1);
        thread::sync_threads();
        scratch().words.read(i ^ 1);
        between();
        scratch().words.write(i, 2);
    })
}

#[test]
fn race_of_a_write_after_a_read() {
    let fault = neighbours(|| {}).unwrap_err();
    // In grid order, a lane reads its neighbour's word before the neighbour writes it again.
    assert!(matches!(fault, Fault::Race { .. }), "{fault}");
    neighbours(thread::sync_threads).unwrap();
    neighbours(|| warp::sync_warp(FULL_MASK)).unwrap();
}

#[test]
fn shuffles_votes_and_fences_order_nothing() {
    for between in [
        (|| {
            warp::warp_shuffle_xor(FULL_MASK, 1_u32, 1, 32);
        }) as fn(),
        || {
            warp::warp_vote_all(FULL_MASK, true);
        },
        || {
            warp::warp_reduce_add(FULL_MASK, 1);
        },
        thread::block_fence,
        thread::device_fence,
    ] {
        assert!(matches!(neighbours(between), Err(Fault::Race { .. })));
    }
}

#[test]
fn race_of_a_read_after_a_write() {
    let kernel = |between: fn()| {
        move || {
            let i = thread_idx_x() as usize;
            scratch().words.write(i, 1);
            thread::sync_threads();
            scratch().words.write(i, 2);
            between();
            scratch().words.read(i ^ 1);
        }
    };
    let fault = run(64, kernel(|| {})).unwrap_err();
    assert!(matches!(fault, Fault::Race { .. }), "{fault}");
    run(64, kernel(|| warp::sync_warp(FULL_MASK))).unwrap();
    run(64, kernel(thread::sync_threads)).unwrap();
}

#[test]
fn warp_barrier_orders_nothing_for_another_warp() {
    let kernel = |between: fn()| {
        move || {
            let i = thread_idx_x() as usize;
            scratch().words.write(i, 1);
            thread::sync_threads();
            scratch().words.read(i ^ 32);
            between();
            scratch().words.write(i, 2);
        }
    };
    let fault = run(64, kernel(|| warp::sync_warp(FULL_MASK))).unwrap_err();
    let Fault::Race { place, other, .. } = fault else { panic!("{fault}") };
    assert_ne!(place.thread.x / 32, other.x / 32);
    run(64, kernel(thread::sync_threads)).unwrap();
}

#[test]
fn warp_barrier_orders_nothing_for_lanes_that_it_does_not_name() {
    let kernel = |mask: fn() -> u32| {
        move || {
            let lane = lane_id() as usize;
            if lane < 4 {
                scratch().words.write(lane, 1);
                warp::sync_warp(0b1111);
                scratch().words.write(lane, 2);
                warp::sync_warp(mask());
                scratch().words.read(lane ^ 1);
            }
        }
    };
    run(32, kernel(|| if lane_id() < 2 { 0b0011 } else { 0b1100 })).unwrap();
    run(32, kernel(|| 0b1111)).unwrap();
    let fault = run(32, kernel(|| if lane_id() & 1 == 0 { 0b0101 } else { 0b1010 })).unwrap_err();
    assert!(matches!(fault, Fault::Race { .. }), "{fault}");
}

#[test]
fn warp_barriers_order_in_chains() {
    // 0 and 1 meet, then 1 and 2: what 0 did is ordered before what 2 does, but not the other way round.
    let kernel = |back: bool| {
        move || {
            let words = &scratch().words;
            match lane_id() {
                0 => {
                    words.write(0, 1);
                    warp::sync_warp(0b011);
                    if back {
                        words.write(0, 2);
                    }
                }
                1 => {
                    warp::sync_warp(0b011);
                    warp::sync_warp(0b110);
                }
                2 => {
                    warp::sync_warp(0b110);
                    words.read(0);
                }
                _ => {}
            }
        }
    };
    run(32, kernel(false)).unwrap();
    let fault = run(32, kernel(true)).unwrap_err();
    assert!(matches!(fault, Fault::Race { .. }), "{fault}");
}

#[test]
fn readers_that_came_at_different_times_are_told_apart() {
    // 0 reads and meets 2; 1 reads later and meets 2; then 2 writes. Every read is ordered before the write, though the
    // earlier reader has not met 2 since the later one read.
    let kernel = |meet: bool| {
        move || {
            let words = &scratch().words;
            match lane_id() {
                0 => {
                    warp::sync_warp(0b111);
                    words.read(0);
                    warp::sync_warp(0b101);
                }
                1 => {
                    warp::sync_warp(0b111);
                    // Read after the others have met, in any order of the lanes.
                    for _ in 0..3 {
                        thread::spin_wait();
                    }
                    words.read(0);
                    if meet {
                        warp::sync_warp(0b110);
                    }
                }
                2 => {
                    words.write(0, 1);
                    warp::sync_warp(0b111);
                    warp::sync_warp(0b101);
                    if meet {
                        warp::sync_warp(0b110);
                    } else {
                        for _ in 0..9 {
                            thread::spin_wait();
                        }
                    }
                    words.write(0, 2);
                }
                _ => {}
            }
        }
    };
    run(32, kernel(true)).unwrap();
    let fault = run(32, kernel(false)).unwrap_err();
    assert!(matches!(fault, Fault::Race { its_access: Access::Read, other, .. } if other == x(1)), "{fault}");
}

#[test]
fn race_with_a_lane_that_has_returned() {
    let kernel = |mask: u32| {
        move || {
            let (words, lane) = (&scratch().words, lane_id() as usize);
            words.write(lane, 1);
            warp::sync_warp(FULL_MASK);
            if lane == 9 {
                words.read(10);
                if mask == FULL_MASK {
                    warp::sync_warp(mask);
                }
                return;
            }
            warp::sync_warp(mask);
            words.write(lane, 2);
        }
    };
    let fault = run(32, kernel(!(1 << 9))).unwrap_err();
    assert!(matches!(fault, Fault::Race { .. }), "{fault}");
    run(32, kernel(FULL_MASK)).unwrap();
}

#[test]
fn atomics_race_with_plain_accesses_only() {
    let kernel = |last: fn(), between: fn()| {
        move || {
            let words = &scratch().words;
            if thread_idx_x() == 0 {
                words.write(0, 0);
            }
            thread::sync_threads();
            if thread_idx_x() != 33 {
                words.fetch_add(0, 1);
                words.fetch_max(0, 1);
            }
            between();
            if thread_idx_x() == 33 {
                last();
            }
        }
    };
    let read: fn() = || {
        scratch().words.read(0);
    };
    let write: fn() = || scratch().words.write(0, 0);
    let atomic: fn() = || {
        scratch().words.fetch_or(0, 0);
    };
    for last in [read, write] {
        let fault = run(64, kernel(last, || {})).unwrap_err();
        let Fault::Race { access, its_access, offset: 0, .. } = fault else { panic!("{fault}") };
        assert_eq!((access == Access::Atomic) as u32 + (its_access == Access::Atomic) as u32, 1);
        run(64, kernel(last, thread::sync_threads)).unwrap();
    }
    run(64, kernel(atomic, || {})).unwrap();
    run(64, kernel(atomic, thread::sync_threads)).unwrap();
}

#[test]
fn races_are_tracked_by_the_byte() {
    // Four threads write the bytes of one word.
    run(64, || scratch().bytes.write(thread_idx_x() as usize, 1)).unwrap();
    let fault = run(64, || scratch().bytes.write(thread_idx_x() as usize / 2, 1)).unwrap_err();
    assert!(matches!(fault, Fault::Race { .. }), "{fault}");
    // A byte of a word that another thread writes whole.
    #[repr(C, align(16))]
    struct Bytes(SharedArray<u8, 64>);
    #[repr(C, align(16))]
    struct Words(SharedArray<u32, 16>);
    let kernel = |byte: usize| {
        move || match thread_idx_x() {
            0 => shared::dynamic::<Words>().0.write(1, 7),
            1 => shared::dynamic::<Bytes>().0.write(byte, 7),
            _ => {}
        }
    };
    for byte in 0..12 {
        let result = run(2, kernel(byte));
        assert_eq!(result.is_err(), (4..8).contains(&byte), "byte {byte}: {result:?}");
    }
}

// Global memory and panics.

#[test]
fn global_access_is_misaligned() {
    let memory = [U32x4::default(); 2];
    let load = |bytes: usize| {
        // SAFETY: 16 bytes from any of these offsets on lie in the array.
        run(1, || unsafe {
            global::load_v4(memory.as_ptr().byte_add(bytes));
        })
    };
    let fault = load(4).unwrap_err();
    assert!(matches!(fault, Fault::GlobalAlignment { align: 16, excess: 4, .. }), "{fault}");
    load(16).unwrap();
}

#[test]
fn panics_are_faults() {
    let fault = launch(Config::new(3, (8, 8), 0), || {
        assert!(thread::block_idx_x() != 1 || thread::thread_idx_y() != 2, "row {}", thread::thread_idx_y());
        thread::sync_threads();
    })
    .unwrap_err();
    let Fault::Panicked { block, thread, message } = &fault else { panic!("{fault}") };
    assert_eq!((*block, *thread), (x(1), Dim3::new(0, 2, 0)));
    assert_eq!(message, "row 2");
    assert_eq!(fault.to_string(), "block (1, 0, 0), thread (0, 2, 0): panicked: row 2");
}

#[test]
fn nothing_leaks_after_a_fault() {
    struct Counted<'a>(&'a Cell<i32>);
    impl<'a> Counted<'a> {
        fn new(alive: &'a Cell<i32>) -> Self {
            alive.set(alive.get() + 1);
            Self(alive)
        }
    }
    impl Drop for Counted<'_> {
        fn drop(&mut self) {
            // Device functions may even be called here.
            warp::sync_warp(FULL_MASK);
            if thread_idx_x() == 0 {
                scratch().words.write(0, 0);
            }
            self.0.set(self.0.get() - 1);
        }
    }
    let alive = Cell::new(0);
    let most = Cell::new(0);
    for panics in [false, true] {
        let fault = launch(Config::new(1, 1024, SCRATCH_BYTES), || {
            let _counted = Counted::new(&alive);
            most.set(most.get().max(alive.get()));
            if thread_idx_x() == 900 {
                assert!(!panics);
                warp::sync_warp(0);
            }
            thread::sync_threads();
        });
        fault.unwrap_err();
        assert_eq!((alive.get(), most.get()), (0, 901));
    }
}

#[test]
fn the_emulator_is_usable_after_every_fault() {
    for _ in 0..3 {
        assert!(launch(Config::new(2, 96, SCRATCH_BYTES), || warp::sync_warp(0)).is_err());
        let sum = Cell::new(0);
        launch(Config::new(2, 96, SCRATCH_BYTES), || {
            let count = thread::sync_threads_count(1);
            sum.set(sum.get() + count);
        })
        .unwrap();
        assert_eq!(sum.get(), 2 * 96 * 96);
    }
}

/// Writes one word too many.
///
/// # Safety
/// None that the emulator does not check.
#[kernel]
unsafe fn faulty(len: usize) {
    scratch().words.write(len, 1);
}

#[test]
fn faults_say_where_in_the_source() {
    // SAFETY: the kernel asks for nothing.
    let fault = launch(Config::new(1, 1, SCRATCH_BYTES), || unsafe { faulty(64) }).unwrap_err();
    let text = fault.to_string();
    assert!(text.starts_with("block (0, 0, 0), thread (0, 0, 0), "), "{text}");
    assert!(text.contains("faults.rs:"), "{text}");
    assert!(text.ends_with(": 1 from index 64 on in a shared array of 64"), "{text}");
}
