//! Every collective of a warp in the emulator against plain Rust.

use cuda_std::emulator::{Config, Order, launch};
use cuda_std::thread::{self, thread_idx_x};
use cuda_std::warp::*;
use quickcheck::{Arbitrary, Gen, quickcheck};
use std::cell::RefCell;

/// What `kernel` gives in each thread of a block, which must not depend on the order in which the lanes take turns.
fn each<T: Clone + PartialEq + std::fmt::Debug>(threads: u32, kernel: impl Fn(u32) -> T) -> Vec<T> {
    let run = |order| {
        let results = RefCell::new(vec![None; threads as usize]);
        launch(Config::new(1, threads, 0).order(order), || {
            let result = kernel(thread_idx_x());
            results.borrow_mut()[thread_idx_x() as usize] = Some(result);
        })
        .unwrap();
        results.into_inner().into_iter().map(Option::unwrap).collect::<Vec<_>>()
    };
    let results = run(Order::Grid);
    for seed in 0..3 {
        assert_eq!(run(Order::Seeded(seed)), results, "seed {seed}");
    }
    results
}

/// The mask of all lanes of a thread's warp in a block of `threads`.
fn whole_warp(threads: u32) -> u32 {
    let lanes = (threads - thread_idx_x() / 32 * 32).min(32);
    u32::MAX >> (32 - lanes)
}

/// Some lanes of one warp, at least one, with a value each.
#[derive(Clone, Debug)]
struct Lanes {
    mask: u32,
    values: Vec<u32>,
}

impl Arbitrary for Lanes {
    fn arbitrary(g: &mut Gen) -> Self {
        let any = u32::arbitrary(g) | 1 << 7;
        let mask = *g.choose(&[1, 1 << 31, 0xFFFF, 0xFFFF_0000, 0x5555_5555, u32::MAX, any]).unwrap();
        // Often equal, so that matches and votes have something to find.
        let few = [0, 1, 1 << 31, u32::MAX];
        let values = (0..32).map(|_| if bool::arbitrary(g) { *g.choose(&few).unwrap() } else { u32::arbitrary(g) }).collect();
        Lanes { mask, values }
    }
}

impl Lanes {
    fn taking_part(&self) -> impl Iterator<Item = usize> {
        let mask = self.mask;
        (0..32).filter(move |lane| mask >> lane & 1 != 0)
    }

    /// What `collective` gives in the lanes that take part.
    fn run<T: Clone + PartialEq + std::fmt::Debug>(&self, collective: impl Fn(u32, u32) -> T) -> Vec<T> {
        let results = each(32, |lane| (self.mask >> lane & 1 != 0).then(|| collective(self.mask, self.values[lane as usize])));
        results.into_iter().flatten().collect()
    }

    fn all_get<T: Clone + PartialEq + std::fmt::Debug>(&self, expected: T, collective: impl Fn(u32, u32) -> T) -> bool {
        self.run(collective) == vec![expected; self.taking_part().count()]
    }

    fn fold(&self, join: impl Fn(u32, u32) -> u32) -> u32 {
        self.taking_part().map(|lane| self.values[lane]).reduce(join).unwrap()
    }

    fn lanes_where(&self, holds: impl Fn(u32) -> bool) -> u32 {
        self.taking_part().filter(|&lane| holds(self.values[lane])).map(|lane| 1 << lane).sum()
    }
}

quickcheck! {
    fn reductions(lanes: Lanes) -> bool {
        lanes.all_get(lanes.fold(u32::wrapping_add), warp_reduce_add)
            && lanes.all_get(lanes.fold(u32::min), warp_reduce_min)
            && lanes.all_get(lanes.fold(u32::max), warp_reduce_max)
            && lanes.all_get(lanes.fold(|a, b| a & b), warp_reduce_and)
            && lanes.all_get(lanes.fold(|a, b| a | b), warp_reduce_or)
            && lanes.all_get(lanes.fold(|a, b| a ^ b), warp_reduce_xor)
    }

    fn votes(lanes: Lanes) -> bool {
        let odd = |value| value & 1 == 1;
        let ballot = lanes.lanes_where(odd);
        lanes.all_get(ballot, |mask, value| warp_vote_ballot(mask, odd(value)))
            && lanes.all_get(ballot != 0, |mask, value| warp_vote_any(mask, odd(value)))
            && lanes.all_get(ballot == lanes.mask, |mask, value| warp_vote_all(mask, odd(value)))
    }

    fn matches(lanes: Lanes) -> bool {
        let expected: Vec<_> =
            lanes.taking_part().map(|lane| lanes.lanes_where(|value| value == lanes.values[lane])).collect();
        lanes.run(warp_match_any_32) == expected
            && lanes.run(|mask, value| warp_match_any_64(mask, u64::from(value) << 32 | 5)) == expected
    }

    fn shuffles_by_index(lanes: Lanes, width: Width, sources: Vec<u32>) -> bool {
        // Only lanes that take part may be read: take all.
        let lanes = Lanes { mask: FULL_MASK, ..lanes };
        let index = |lane: u32| sources.get(lane as usize).copied().unwrap_or(lane.wrapping_mul(0x9E37_79B9));
        let expected: Vec<_> = (0..32_u32)
            .map(|lane| (lanes.values[(lane / width.0 * width.0 + index(lane) % width.0) as usize], true))
            .collect();
        lanes.run(|mask, value| warp_shuffle_idx(mask, value, index(lane_id()), width.0)) == expected
    }
}

/// A width of shuffles.
#[derive(Clone, Copy, Debug)]
struct Width(u32);

impl Arbitrary for Width {
    fn arbitrary(g: &mut Gen) -> Self {
        Width(*g.choose(&[1, 2, 4, 8, 16, 32]).unwrap())
    }
}

#[test]
fn votes_of_all_none_and_one_lane() {
    for (holding, any, all) in [(u32::MAX, true, true), (0, false, false), (1 << 17, true, false)] {
        let votes = each(32, |lane| {
            let own = holding >> lane & 1 != 0;
            (warp_vote_ballot(FULL_MASK, own), warp_vote_any(FULL_MASK, own), warp_vote_all(FULL_MASK, own))
        });
        assert_eq!(votes, vec![(holding, any, all); 32]);
    }
}

#[test]
fn one_lane_alone() {
    let results = each(32, |lane| {
        let mask = 1 << lane;
        sync_warp(mask);
        (
            warp_vote_ballot(mask, true) == mask && warp_vote_any(mask, true) && !warp_vote_all(mask, false),
            warp_reduce_add(mask, lane) == lane && warp_match_any_32(mask, 0) == mask,
            warp_shuffle_idx(mask, lane, lane, 32) == (lane, true),
        )
    });
    assert_eq!(results, [(true, true, true); 32]);
}

#[test]
fn partial_last_warp() {
    for threads in [1, 31, 33, 63, 65, 1023] {
        let sums = each(threads, |thread| {
            assert_eq!(lane_id(), thread % 32);
            let mask = whole_warp(threads);
            assert_eq!(warp_vote_ballot(mask, true), mask);
            assert!(warp_vote_all(mask, true));
            warp_reduce_add(mask, thread)
        });
        for (thread, sum) in sums.into_iter().enumerate() {
            let first = thread as u32 / 32 * 32;
            assert_eq!(sum, (first..(first + 32).min(threads)).sum::<u32>());
        }
    }
}

/// A shuffle by the words of CUDA's manual: the lane that is read, if it lies in the segment.
fn source(mode: ShuffleMode, lane: u32, delta: u32, width: u32) -> Option<u32> {
    let segment = lane / width * width..lane / width * width + width;
    match mode {
        ShuffleMode::Up => lane.checked_sub(delta).filter(|from| segment.contains(from)),
        ShuffleMode::Down => Some(lane + delta).filter(|from| segment.contains(from)),
        // Earlier segments can be read, later ones not.
        ShuffleMode::Xor => Some(lane ^ delta).filter(|&from| from < segment.end),
        ShuffleMode::Idx => Some(segment.start + delta % width),
    }
}

#[test]
fn shuffles_of_every_width_and_distance() {
    for width in [1, 2, 4, 8, 16, 32] {
        for delta in 0..32 {
            let value = |lane: u32| lane * 1000 + 7;
            let shuffled = each(32, |lane| {
                [
                    warp_shuffle_up(FULL_MASK, value(lane), delta, width),
                    warp_shuffle_down(FULL_MASK, value(lane), delta, width),
                    warp_shuffle_xor(FULL_MASK, value(lane), delta, width),
                    warp_shuffle_idx(FULL_MASK, value(lane), delta, width),
                ]
            });
            for (lane, shuffled) in (0..).zip(shuffled) {
                let modes = [ShuffleMode::Up, ShuffleMode::Down, ShuffleMode::Xor, ShuffleMode::Idx];
                for (mode, found) in modes.into_iter().zip(shuffled) {
                    let from = source(mode, lane, delta, width);
                    let expected = (value(from.unwrap_or(lane)), from.is_some());
                    assert_eq!(found, expected, "{mode:?} by {delta}, width {width}, lane {lane}");
                }
            }
        }
    }
}

#[test]
fn only_five_bits_of_a_distance_count() {
    let shuffled = each(32, |lane| (warp_shuffle_down(FULL_MASK, lane, 33, 32), warp_shuffle_up(FULL_MASK, lane, 64, 32)));
    for (lane, shuffled) in (0..).zip(shuffled) {
        assert_eq!(shuffled, ((lane + u32::from(lane < 31), lane < 31), (lane, true)));
    }
}

#[test]
fn shuffles_move_every_type_whole() {
    let reversed = each(32, |lane| {
        let from = 31 - lane;
        (
            warp_shuffle_idx(FULL_MASK, -(lane as i32), from, 32).0,
            warp_shuffle_idx(FULL_MASK, lane as f32 + 0.5, from, 32).0,
            warp_shuffle_idx(FULL_MASK, u64::MAX - u64::from(lane), from, 32).0,
            warp_shuffle_xor(FULL_MASK, i64::MIN + i64::from(lane), 31, 32).0,
        )
    });
    for (lane, found) in (0..).zip(reversed) {
        let from = 31 - lane;
        assert_eq!(found, (-from, from as f32 + 0.5, u64::MAX - from as u64, i64::MIN + i64::from(from)));
    }
}

#[test]
fn shuffles_of_a_part_of_the_warp() {
    // Lane 31 - 2 reads nobody above: the segment ends.
    let mask = 0xFFFF_FF00;
    let shuffled = each(32, |lane| (lane >= 8).then(|| warp_shuffle_down(mask, lane, 2, 8)));
    for (lane, shuffled) in (0..).zip(shuffled) {
        let inside = lane % 8 < 6;
        assert_eq!(shuffled, (lane >= 8).then_some((if inside { lane + 2 } else { lane }, inside)));
    }
}

#[test]
fn halves_of_a_warp_go_their_own_ways() {
    let results = each(32, |lane| {
        let sum = if lane < 16 {
            (0..lane / 16 + 3).map(|_| warp_reduce_add(0xFFFF, lane)).sum::<u32>()
        } else {
            warp_reduce_max(0xFFFF_0000, lane)
        };
        warp_shuffle_xor(FULL_MASK, sum, 16, 32).0
    });
    assert_eq!(results[..16], [31; 16]);
    assert_eq!(results[16..], [3 * 120; 16]);
}

#[test]
fn lanes_may_leave_one_after_the_other() {
    // Lane n leaves after n rounds; the masks name the rest.
    let rounds = each(32, |lane| {
        let mut left = 0;
        for round in 0..lane {
            let rest = u32::MAX << (round + 1);
            left = warp_vote_ballot(rest, true);
            sync_warp(rest);
        }
        left
    });
    for (lane, left) in (0..32_u32).zip(rounds) {
        assert_eq!(left, if lane == 0 { 0 } else { u32::MAX << lane });
    }
}

#[test]
#[allow(clippy::if_same_then_else, reason = "two calls that look the same are two places")]
fn active_lanes_are_those_at_the_same_call() {
    let masks = each(32, |lane| {
        let all = activemask();
        let part = if lane % 4 == 1 { activemask() } else { activemask() };
        if lane % 2 == 0 {
            return (all, part, 0);
        }
        (all, part, activemask())
    });
    for (lane, masks) in (0..32_u32).zip(masks) {
        let (odd, quarter) = (0xAAAA_AAAA, 0x2222_2222);
        let part = if lane % 4 == 1 { quarter } else { !quarter };
        assert_eq!(masks, (u32::MAX, part, if lane % 2 == 0 { 0 } else { odd }));
    }
}

#[test]
fn active_lanes_of_a_partial_warp_inside_of_a_block() {
    let masks = each(40, |thread| {
        let mask = activemask();
        thread::sync_threads();
        (thread, mask)
    });
    for (thread, mask) in masks {
        assert_eq!(mask, if thread < 32 { u32::MAX } else { 0xFF });
    }
}
