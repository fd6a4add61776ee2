//! The lanes of one warp of the emulator: who runs, who waits where, and what a collective gives each of them.

use super::fault::Collective;
use super::shadow::bits;
use core::panic::Location;

/// What a lane brings to a collective, and what it takes away.
#[derive(Clone, Copy)]
pub(super) struct Slot {
    /// The bits of its value; 0 or 1 for a predicate.
    pub value: u64,
    /// For shuffles: which lane, in the words of the mode.
    pub lanes: u32,
    /// For shuffles: PTX's operand `c`.
    pub clamp: u32,
    /// The call in the kernel.
    pub at: &'static Location<'static>,
    /// The bits of the result.
    pub result: u64,
    /// For shuffles: whether the lane that was asked for lies in the segment.
    pub in_bounds: bool,
}

/// Lanes that wait for each other at one collective.
struct Group {
    collective: Collective,
    mask: u32,
    arrived: u32,
}

/// Why a collective cannot be completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stuck {
    /// The lane that calls it.
    pub lane: u32,
    pub collective: Collective,
    pub mask: u32,
    pub why: Why,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Why {
    WithoutCaller,
    Absent { lane: u32 },
    Exited { lane: u32 },
    AtBarrier { lane: u32 },
    Elsewhere { lane: u32, collective: Collective, mask: u32 },
    Source { lane: u32 },
}

/// One warp of the block that runs.
pub(super) struct Warp {
    /// The lanes that exist.
    pub lanes: u32,
    /// Those that can run.
    pub ready: u32,
    /// Those that have returned from the kernel.
    pub exited: u32,
    /// Those that wait at a barrier of the block.
    pub at_barrier: u32,
    /// Those that poll.
    pub polling: u32,
    /// Those that wait for the answer of `activemask`.
    at_activemask: u32,
    groups: Vec<Group>,
    pub slots: [Slot; 32],
}

impl Warp {
    /// A warp with these lanes, all of which can run.
    pub fn new(lanes: u32) -> Self {
        let slot = Slot { value: 0, lanes: 0, clamp: 0, at: Location::caller(), result: 0, in_bounds: false };
        Self {
            lanes,
            ready: lanes,
            exited: 0,
            at_barrier: 0,
            polling: 0,
            at_activemask: 0,
            groups: Vec::with_capacity(2),
            slots: [slot; 32],
        }
    }

    /// Puts the warp back to where a block begins.
    pub fn begin_block(&mut self) {
        self.ready = self.lanes;
        self.exited = 0;
        self.at_barrier = 0;
        self.polling = 0;
        self.at_activemask = 0;
        self.groups.clear();
    }

    /// A lane comes to a collective at which others wait already, and after which others are still to come: the
    /// usual case, told from all others quickly. Gives whether that is so; the lane has to wait then. Otherwise, nothing
    /// has happened yet.
    #[inline]
    pub fn join(&mut self, lane: u32, collective: Collective, mask: u32) -> bool {
        let own = 1 << lane;
        // Whether the lanes of the mask can come was checked for the first of them, and is checked whenever one exits
        // or comes to a barrier.
        if let [group] = &mut self.groups[..]
            && group.collective == collective
            && group.mask == mask
            && mask & own != 0
            && group.arrived | own != mask
        {
            group.arrived |= own;
            return true;
        }
        false
    }

    /// A lane comes to a collective. Gives whether it was the last one, so that all have their results now; otherwise
    /// it has to wait.
    pub fn arrive(&mut self, lane: u32, collective: Collective, mask: u32) -> Result<bool, Stuck> {
        let own = 1 << lane;
        let stuck = |why| Err(Stuck { lane, collective, mask, why });
        if mask & own == 0 {
            return stuck(Why::WithoutCaller);
        }
        if mask & (!self.lanes | self.exited | self.at_barrier) != 0 {
            return stuck(self.why_missing(mask));
        }
        let known = self.groups.iter().position(|group| group.collective == collective && group.mask == mask);
        let index = known.unwrap_or(self.groups.len());
        if known.is_none() {
            self.groups.push(Group { collective, mask, arrived: 0 });
        }
        self.groups[index].arrived |= own;
        if self.groups.len() > 1 {
            // Lanes that wait for each other in two groups wait forever.
            for other in &self.groups {
                let waiting = other.arrived & mask & !own;
                if other.mask & own != 0 && waiting != 0 && (other.collective, other.mask) != (collective, mask) {
                    let lane = waiting.trailing_zeros();
                    return stuck(Why::Elsewhere { lane, collective: other.collective, mask: other.mask });
                }
            }
        }
        if self.groups[index].arrived != mask {
            return Ok(false);
        }
        self.groups.swap_remove(index);
        self.complete(collective, mask)?;
        self.ready |= mask & !own;
        Ok(true)
    }

    #[cold]
    fn why_missing(&self, mask: u32) -> Why {
        for (lanes, why) in [
            (!self.lanes, (|lane| Why::Absent { lane }) as fn(u32) -> Why),
            (self.exited, |lane| Why::Exited { lane }),
            (self.at_barrier, |lane| Why::AtBarrier { lane }),
        ] {
            if mask & lanes != 0 {
                return why((mask & lanes).trailing_zeros());
            }
        }
        unreachable!("a lane is missing")
    }

    /// A lane that waits for `lane`, which will not come because it has returned from the kernel or waits at a barrier.
    pub fn waits_for(&self, lane: u32, why: Why) -> Option<Stuck> {
        let group = self.groups.iter().find(|group| group.mask & 1 << lane != 0)?;
        let waiting = group.arrived.trailing_zeros();
        Some(Stuck { lane: waiting, collective: group.collective, mask: group.mask, why })
    }

    /// A lane that waits for one that waits elsewhere, where nothing of the block can run any more.
    pub fn deadlock(&self) -> Option<Stuck> {
        self.groups.iter().find_map(|group| {
            let lane = (group.mask & !group.arrived).trailing_zeros();
            let other = self.groups.iter().find(|other| other.arrived & 1 << lane != 0)?;
            let why = Why::Elsewhere { lane, collective: other.collective, mask: other.mask };
            Some(Stuck { lane: group.arrived.trailing_zeros(), collective: group.collective, mask: group.mask, why })
        })
    }

    /// A lane asks which lanes run together with it. It has to wait until no lane of the warp can run.
    pub fn ask_activemask(&mut self, lane: u32) {
        self.at_activemask |= 1 << lane;
    }

    /// Answers the lanes that wait at the same call with the mask of those.
    pub fn answer_activemask(&mut self) {
        let mut rest = self.at_activemask;
        while rest != 0 {
            let at = self.slots[rest.trailing_zeros() as usize].at;
            let together = bits(rest).filter(|&lane| self.slots[lane].at == at).fold(0, |mask, lane| mask | 1 << lane);
            for lane in bits(together) {
                self.slots[lane].result = u64::from(together);
            }
            rest &= !together;
        }
        self.ready |= self.at_activemask;
        self.at_activemask = 0;
    }

    /// Gives the lanes of `mask`, which have all arrived, their results.
    fn complete(&mut self, collective: Collective, mask: u32) -> Result<(), Stuck> {
        use Collective as C;
        match collective {
            C::SyncWarp => {}
            C::ShuffleUp | C::ShuffleUp64 => self.shuffle(collective, mask, |lane, slot, segment| {
                let source = lane as i32 - (slot.lanes & 31) as i32;
                (source, source >= bound(lane, slot, segment))
            })?,
            C::ShuffleDown | C::ShuffleDown64 => self.shuffle(collective, mask, |lane, slot, segment| {
                let source = (lane + (slot.lanes & 31)) as i32;
                (source, source <= bound(lane, slot, segment))
            })?,
            C::ShuffleXor | C::ShuffleXor64 => self.shuffle(collective, mask, |lane, slot, segment| {
                let source = (lane ^ (slot.lanes & 31)) as i32;
                (source, source <= bound(lane, slot, segment))
            })?,
            C::ShuffleIdx | C::ShuffleIdx64 => self.shuffle(collective, mask, |lane, slot, segment| {
                let source = ((lane & segment) | (slot.lanes & 31 & !segment)) as i32;
                (source, source <= bound(lane, slot, segment))
            })?,
            C::VoteBallot => {
                let ballot = bits(mask).fold(0, |ballot, lane| ballot | self.slots[lane].value << lane);
                self.give_all(mask, ballot);
            }
            C::VoteAny => {
                let any = bits(mask).fold(0, |any, lane| any | self.slots[lane].value);
                self.give_all(mask, any);
            }
            C::VoteAll => {
                let all = bits(mask).fold(1, |all, lane| all & self.slots[lane].value);
                self.give_all(mask, all);
            }
            C::MatchAny32 | C::MatchAny64 => {
                let mut rest = mask;
                while rest != 0 {
                    let value = self.slots[rest.trailing_zeros() as usize].value;
                    let same =
                        bits(rest).filter(|&lane| self.slots[lane].value == value).fold(0, |mask, lane| mask | 1 << lane);
                    self.give_all(same, u64::from(same));
                    rest &= !same;
                }
            }
            C::ReduceAdd => self.reduce(mask, u32::wrapping_add),
            C::ReduceMin => self.reduce(mask, u32::min),
            C::ReduceMax => self.reduce(mask, u32::max),
            C::ReduceAnd => self.reduce(mask, |a, b| a & b),
            C::ReduceOr => self.reduce(mask, |a, b| a | b),
            C::ReduceXor => self.reduce(mask, |a, b| a ^ b),
        }
        Ok(())
    }

    fn give_all(&mut self, mask: u32, result: u64) {
        for lane in bits(mask) {
            self.slots[lane].result = result;
        }
    }

    fn reduce(&mut self, mask: u32, join: impl Fn(u32, u32) -> u32) {
        let first = mask.trailing_zeros() as usize;
        let own = self.slots[first].value as u32;
        let joined = bits(mask & !(1 << first)).fold(own, |joined, lane| join(joined, self.slots[lane].value as u32));
        self.give_all(mask, u64::from(joined));
    }

    /// A shuffle as the PTX manual defines `shfl.sync`. `source` gives, for a lane, its slot and its segment mask, the
    /// lane that it reads and whether that lies in bounds.
    #[inline(always)]
    fn shuffle(
        &mut self,
        collective: Collective,
        mask: u32,
        source: impl Fn(u32, &Slot, u32) -> (i32, bool),
    ) -> Result<(), Stuck> {
        for lane in bits(mask) {
            let slot = &self.slots[lane];
            let segment = slot.clamp >> 8 & 31;
            let (from, in_bounds) = source(lane as u32, slot, segment);
            // Out of bounds, a lane reads itself.
            let from = if in_bounds { from as u32 & 31 } else { lane as u32 };
            if mask & 1 << from == 0 {
                return Err(Stuck { lane: lane as u32, collective, mask, why: Why::Source { lane: from } });
            }
            let result = self.slots[from as usize].value;
            let slot = &mut self.slots[lane];
            (slot.result, slot.in_bounds) = (result, in_bounds);
        }
        Ok(())
    }
}

/// The last lane (the first, for `up`) that `lane` can read.
fn bound(lane: u32, slot: &Slot, segment: u32) -> i32 {
    ((lane & segment) | (slot.clamp & 31 & !segment)) as i32
}
