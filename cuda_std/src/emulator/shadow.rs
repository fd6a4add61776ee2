//! Who touched which byte of shared memory, and whether anything orders that before the next access.
//!
//! Two things order accesses: a barrier of the block, for all its threads, and `sync_warp`, for the lanes it names.
//! Barriers are counted in `phase`s, which never repeat, neither between blocks nor between launches: whatever has an
//! older phase is over, so that nothing needs to be cleared. Each warp counts its `sync_warp`s in its own `time`.
//!
//! One [`Cell`] stands for a word of four bytes as long as all its bytes have the same history. The first narrower
//! access of a block splits it into a cell per byte, and a write of the whole word joins them again.

use super::fault::Access;

const LANES: usize = 32;

/// Everything known about the accesses to one byte, or to the four bytes of a word alike.
#[derive(Clone, Copy, Default)]
struct Cell {
    /// The last plain write; all earlier accesses are ordered before it.
    write: Write,
    /// The plain reads since then.
    reads: Crowd,
    /// The atomics since then.
    atomics: Crowd,
}

#[derive(Clone, Copy, Default)]
struct Write {
    phase: u32,
    time: u32,
    thread: u16,
}

/// Accesses that are no conflict among themselves.
///
/// A write by a thread of one warp conflicts with every access of the same phase by any other warp. The lanes, and when
/// they came, therefore only matter as long as all of the phase's accesses come from one warp.
#[derive(Clone, Copy, Default)]
struct Crowd {
    phase: u32,
    /// When the lanes came, if they came at the same time.
    time: u32,
    /// The warps that came in this phase.
    warps: u32,
    /// The lanes that came and are not ordered before a later one, if `warps` is a single warp.
    lanes: u32,
    /// Where to find each lane's time if they differ, or 0.
    table: u32,
    /// A thread that came, and one of another warp if there is any: names for the fault.
    first: u16,
    other: u16,
}

/// The order of the lanes of one warp, as its `sync_warp`s made it.
#[derive(Clone, Default)]
struct WarpOrder {
    /// Counts the `sync_warp`s.
    time: u32,
    /// The time of the last one that all lanes of the warp took part in: what came before is ordered for all.
    full: u32,
    /// `seen[a][b]`: what lane `b` did before this time is ordered before what lane `a` does now. Only there
    /// once a `sync_warp` has named a part of the warp.
    seen: Option<Box<[[u32; LANES]; LANES]>>,
}

impl WarpOrder {
    /// Whether what lane `before` did at `time` is ordered before what lane `now` does.
    fn ordered(&self, before: usize, now: usize, time: u32) -> bool {
        before == now || time < self.full || self.seen.as_ref().is_some_and(|seen| time < seen[now][before])
    }

    fn sync(&mut self, mask: u32, lanes: u32) {
        self.time += 1;
        if mask == lanes {
            self.full = self.time;
            return;
        }
        let seen = self.seen.get_or_insert_with(|| Box::new([[0; LANES]; LANES]));
        let mut joined = [0; LANES];
        for lane in bits(mask) {
            for (joined, seen) in joined.iter_mut().zip(&seen[lane]) {
                *joined = (*joined).max(*seen);
            }
        }
        for lane in bits(mask) {
            joined[lane] = self.time;
        }
        for lane in bits(mask) {
            seen[lane] = joined;
        }
    }
}

/// The numbers of the bits set in `mask`, lowest first.
pub(super) fn bits(mask: u32) -> impl Iterator<Item = usize> {
    let mut rest = mask;
    core::iter::from_fn(move || {
        let bit = rest.trailing_zeros();
        rest &= rest.wrapping_sub(1);
        (bit < u32::BITS).then_some(bit as usize)
    })
}

/// What is wrong with an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Problem {
    Unwritten { offset: usize },
    Race { offset: usize, other: usize, its_access: Access },
}

/// Who makes an access, and when.
#[derive(Clone, Copy)]
struct Now {
    thread: u16,
    warp: usize,
    lane: usize,
    phase: u32,
    time: u32,
}

/// The history of a block's shared memory.
#[derive(Default)]
pub(super) struct Shadow {
    words: Vec<Cell>,
    bytes: Vec<Cell>,
    /// The first phase of the block that split the word.
    split: Vec<u32>,
    /// The phase now, and when the block began. Phase 0 is before everything.
    phase: u32,
    block_phase: u32,
    warps: Vec<WarpOrder>,
    /// Times of crowds whose lanes came at different times; the first is not used.
    tables: Vec<[u32; LANES]>,
}

impl Shadow {
    /// Makes room for `bytes` bytes of shared memory and `warps` warps.
    pub fn begin_launch(&mut self, bytes: usize, warps: usize) {
        let words = bytes.div_ceil(4);
        if self.words.len() < words {
            self.words.resize(words, Cell::default());
            self.bytes.resize(words * 4, Cell::default());
            self.split.resize(words, 0);
        }
        self.warps.clear();
        self.warps.resize(warps, WarpOrder::default());
    }

    /// Forgets the block before.
    pub fn begin_block(&mut self) {
        // Far from the end of the counters, even for a block that runs for days.
        if self.phase > u32::MAX / 2 {
            self.words.fill(Cell::default());
            self.bytes.fill(Cell::default());
            self.split.fill(0);
            self.phase = 0;
        }
        self.phase += 1;
        self.block_phase = self.phase;
        // Times may start again: those of the block before have an older phase.
        for warp in &mut self.warps {
            *warp = WarpOrder::default();
        }
        self.tables.clear();
        self.tables.push([0; LANES]);
    }

    /// All threads of the block have met.
    pub fn sync_threads(&mut self) {
        self.phase += 1;
        self.tables.truncate(1);
    }

    /// The lanes of `mask` of a warp that has these `lanes` have met.
    pub fn sync_warp(&mut self, warp: usize, mask: u32, lanes: u32) {
        self.warps[warp].sync(mask, lanes);
    }

    /// Notes that `thread` touches the `len` bytes from `offset` on, which lie in the shared memory, and looks for what
    /// is wrong with that.
    #[inline]
    pub fn touch(&mut self, thread: usize, offset: usize, len: usize, access: Access) -> Result<(), Problem> {
        let warp = thread / LANES;
        let now = Now { thread: thread as u16, warp, lane: thread % LANES, phase: self.phase, time: self.warps[warp].time };
        if offset.is_multiple_of(4) && len.is_multiple_of(4) {
            for word in offset / 4..(offset + len) / 4 {
                if self.split[word] == self.block_phase {
                    self.touch_split(now, word, access)?;
                } else {
                    let (order, tables) = (&self.warps[warp], &mut self.tables);
                    self.words[word].touch(now, self.block_phase, order, tables, access).map_err(|wrong| wrong.at(word * 4))?;
                }
            }
            return Ok(());
        }
        for byte in offset..offset + len {
            let word = byte / 4;
            if self.split[word] != self.block_phase {
                self.split[word] = self.block_phase;
                self.bytes[word * 4..][..4].fill(self.words[word]);
            }
            self.touch_byte(now, byte, access)?;
        }
        Ok(())
    }

    fn touch_split(&mut self, now: Now, word: usize, access: Access) -> Result<(), Problem> {
        for byte in word * 4..word * 4 + 4 {
            self.touch_byte(now, byte, access)?;
        }
        if access == Access::Write {
            self.words[word] = self.bytes[word * 4];
            self.split[word] = 0;
        }
        Ok(())
    }

    fn touch_byte(&mut self, now: Now, byte: usize, access: Access) -> Result<(), Problem> {
        let (order, tables) = (&self.warps[now.warp], &mut self.tables);
        self.bytes[byte].touch(now, self.block_phase, order, tables, access).map_err(|wrong| wrong.at(byte))
    }
}

/// A [`Problem`] of a cell that does not know where it lies.
#[derive(Clone, Copy)]
enum Wrong {
    Unwritten,
    Race { other: u16, its_access: Access },
}

impl Wrong {
    #[cold]
    fn at(self, offset: usize) -> Problem {
        match self {
            Self::Unwritten => Problem::Unwritten { offset },
            Self::Race { other, its_access } => Problem::Race { offset, other: other as usize, its_access },
        }
    }
}

impl Cell {
    #[inline]
    fn touch(
        &mut self,
        now: Now,
        block_phase: u32,
        order: &WarpOrder,
        tables: &mut Vec<[u32; LANES]>,
        access: Access,
    ) -> Result<(), Wrong> {
        if access != Access::Write && self.write.phase < block_phase {
            return Err(Wrong::Unwritten);
        }
        if self.write.phase == now.phase && self.write.thread != now.thread {
            let (warp, lane) = (self.write.thread as usize / LANES, self.write.thread as usize % LANES);
            if warp != now.warp || !order.ordered(lane, now.lane, self.write.time) {
                return Err(Wrong::Race { other: self.write.thread, its_access: Access::Write });
            }
        }
        if access != Access::Read
            && let Some(other) = self.reads.conflict(now, order, tables)
        {
            return Err(Wrong::Race { other, its_access: Access::Read });
        }
        if access != Access::Atomic
            && let Some(other) = self.atomics.conflict(now, order, tables)
        {
            return Err(Wrong::Race { other, its_access: Access::Atomic });
        }
        match access {
            Access::Read => self.reads.add(now, order, tables),
            Access::Atomic => self.atomics.add(now, order, tables),
            Access::Write => {
                self.write = Write { phase: now.phase, time: now.time, thread: now.thread };
                self.reads.phase = 0;
                self.atomics.phase = 0;
            }
        }
        Ok(())
    }
}

impl Crowd {
    /// A thread of the crowd that is not ordered before `now`.
    #[inline]
    fn conflict(&self, now: Now, order: &WarpOrder, tables: &[[u32; LANES]]) -> Option<u16> {
        if self.phase != now.phase {
            return None;
        }
        if self.warps != 1 << now.warp {
            return Some(if self.first as usize / LANES != now.warp { self.first } else { self.other });
        }
        let others = self.lanes & !(1 << now.lane);
        if others == 0 || (self.table == 0 && self.time < order.full) {
            return None;
        }
        bits(others)
            .find(|&lane| !order.ordered(lane, now.lane, self.came(lane, tables)))
            .map(|lane| (now.warp * LANES + lane) as u16)
    }

    /// When the lane came.
    fn came(&self, lane: usize, tables: &[[u32; LANES]]) -> u32 {
        if self.table == 0 { self.time } else { tables[self.table as usize][lane] }
    }

    #[inline]
    fn add(&mut self, now: Now, order: &WarpOrder, tables: &mut Vec<[u32; LANES]>) {
        if self.phase != now.phase {
            *self = Self {
                phase: now.phase,
                time: now.time,
                warps: 1 << now.warp,
                lanes: 1 << now.lane,
                table: 0,
                first: now.thread,
                other: now.thread,
            };
        } else if self.warps != 1 << now.warp {
            self.warps |= 1 << now.warp;
            if self.first as usize / LANES != now.warp {
                self.other = now.thread;
            }
        } else if self.table == 0 && self.time == now.time {
            self.lanes |= 1 << now.lane;
        } else {
            self.add_later(now, order, tables);
        }
    }

    /// Adds a lane to those that came earlier. Whoever is ordered before it need not be remembered: what is
    /// ordered after this lane is ordered after that one, too.
    fn add_later(&mut self, now: Now, order: &WarpOrder, tables: &mut Vec<[u32; LANES]>) {
        let remembered: u32 = bits(self.lanes & !(1 << now.lane))
            .filter(|&lane| !order.ordered(lane, now.lane, self.came(lane, tables)))
            .fold(0, |lanes, lane| lanes | 1 << lane);
        if remembered == 0 {
            self.table = 0;
        } else {
            if self.table == 0 {
                self.table = tables.len() as u32;
                tables.push([self.time; LANES]);
            }
            tables[self.table as usize][now.lane] = now.time;
        }
        self.time = now.time;
        self.lanes = remembered | 1 << now.lane;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::ops::Range;
    use quickcheck::{Arbitrary, Gen, QuickCheck, TestResult};

    /// Three warps, the last one partial.
    const THREADS: usize = 68;
    const LANES_OF: [u32; 3] = [u32::MAX, u32::MAX, 0xF];
    const BYTES: usize = 8;

    #[derive(Clone, Copy, Debug)]
    enum Step {
        Touch { thread: usize, offset: usize, len: usize, access: Access },
        SyncWarp { warp: usize, mask: u32 },
        SyncThreads,
        NextBlock,
    }

    impl Arbitrary for Step {
        fn arbitrary(g: &mut Gen) -> Self {
            // Few threads and few bytes, so that they meet often.
            let threads = [0, 0, 1, 1, 2, 2, 3, 32, 33, 64];
            match u8::arbitrary(g) % 16 {
                0 => Self::SyncThreads,
                1 if u8::arbitrary(g) % 8 == 0 => Self::NextBlock,
                1..=5 => {
                    let warp = *g.choose(&[0, 0, 1, 2]).unwrap();
                    let some = u32::arbitrary(g) & 0xF;
                    Self::SyncWarp { warp, mask: *g.choose(&[LANES_OF[warp], some, 0b11, 0b110, 0b101]).unwrap() }
                }
                _ => {
                    let len = *g.choose(&[1, 2, 4, 4, 4, 8]).unwrap();
                    let access = *g.choose(&[Access::Read, Access::Read, Access::Write, Access::Atomic]).unwrap();
                    let offset = usize::arbitrary(g) % (BYTES / len) * len;
                    Self::Touch { thread: *g.choose(&threads).unwrap(), offset, len, access }
                }
            }
        }
    }

    /// The plain model: every access of the block to every byte, and a vector clock for every thread.
    struct Model {
        clocks: Vec<[usize; THREADS]>,
        history: Vec<Vec<(usize, usize, Access)>>,
    }

    impl Model {
        fn new() -> Self {
            let clocks = (0..THREADS).map(|own| core::array::from_fn(|thread| usize::from(thread == own))).collect();
            Self { clocks, history: vec![Vec::new(); BYTES] }
        }

        fn sync(&mut self, threads: &[usize]) {
            let joined: [usize; THREADS] =
                core::array::from_fn(|i| threads.iter().map(|&thread| self.clocks[thread][i]).max().unwrap_or(0));
            for &thread in threads {
                self.clocks[thread] = joined;
                self.clocks[thread][thread] += 1;
            }
        }

        /// Whether an access by `thread` comes in no order with an earlier one that it conflicts with.
        fn races(&self, thread: usize, access: Access, (other, time, its_access): (usize, usize, Access)) -> bool {
            let conflicts = access != its_access || access == Access::Write;
            conflicts && other != thread && time > self.clocks[thread][other]
        }

        /// Whether `verdict` is a right one about this access.
        fn touch(&mut self, thread: usize, touched: Range<usize>, access: Access, verdict: Result<(), Problem>) -> bool {
            let is_written = |byte: usize| self.history[byte].iter().any(|&(_, _, access)| access == Access::Write);
            let is_fine = |byte: usize| {
                (access == Access::Write || is_written(byte))
                    && self.history[byte].iter().all(|&earlier| !self.races(thread, access, earlier))
            };
            match verdict {
                Err(Problem::Unwritten { offset }) => touched.contains(&offset) && !is_written(offset),
                Err(Problem::Race { offset, other, its_access }) => {
                    // A cell of a word names the word, whose bytes have the same history.
                    self.history[offset]
                        .iter()
                        .any(|&earlier| (earlier.0, earlier.2) == (other, its_access) && self.races(thread, access, earlier))
                }
                Ok(()) => {
                    let is_right = touched.clone().all(is_fine);
                    for history in &mut self.history[touched] {
                        history.push((thread, self.clocks[thread][thread], access));
                    }
                    is_right
                }
            }
        }
    }

    /// More runs than usual: they are short, and few of them come to the rarer turns.
    #[test]
    fn accesses_are_judged_as_by_vector_clocks() {
        QuickCheck::new().tests(20_000).quickcheck(agrees_with_vector_clocks as fn(bool, Vec<Step>) -> TestResult);
    }

    fn agrees_with_vector_clocks(is_written: bool, steps: Vec<Step>) -> TestResult {
        let mut shadow = Shadow::default();
        shadow.begin_launch(BYTES, 3);
        shadow.begin_block();
        let mut model = Model::new();
        // Otherwise most runs end with the read of an unwritten byte.
        let write = Step::Touch { thread: 1, offset: 0, len: BYTES, access: Access::Write };
        let start = if is_written { vec![write, Step::SyncThreads] } else { Vec::new() };
        for step in start.into_iter().chain(steps) {
            match step {
                Step::SyncThreads => {
                    shadow.sync_threads();
                    model.sync(&(0..THREADS).collect::<Vec<_>>());
                }
                Step::SyncWarp { warp, mask } => {
                    shadow.sync_warp(warp, mask, LANES_OF[warp]);
                    model.sync(&bits(mask).map(|lane| warp * 32 + lane).collect::<Vec<_>>());
                }
                Step::NextBlock => {
                    shadow.begin_block();
                    model = Model::new();
                }
                Step::Touch { thread, offset, len, access } => {
                    let verdict = shadow.touch(thread, offset, len, access);
                    if !model.touch(thread, offset..offset + len, access, verdict) {
                        return TestResult::error(format!("{step:?} gave {verdict:?}"));
                    }
                    if verdict.is_err() {
                        break; // as the launch would
                    }
                }
            }
        }
        TestResult::passed()
    }
}
