//! What the emulator knows about the launch that runs on this host thread.
//!
//! The scheduler and the device functions, which run inside the coroutines, take turns with it: each borrows it for
//! a few instructions, never across a switch of coroutines.

use super::Dim3;
use super::fault::{Access, Collective, Fault, Place};
use super::shadow::{Problem, Shadow};
use super::warp::{Slot, Stuck, Warp, Why};
use crate::vector::{U32x4, U64x2};
use core::cell::{Cell, UnsafeCell};
use core::panic::Location;
use core::ptr;
use corosensei::Yielder;

/// A poll is hopeless after this many rounds in which every thread that could run polled and nothing changed.
pub(super) const POLL_LIMIT: u32 = 1 << 16;

/// What the scheduler tells a coroutine that it resumes: `true` to run (the kernel from its start, if it is at its
/// end), `false` to finish.
pub(super) type Resume = bool;

thread_local! {
    /// The launch that runs on this host thread, or null.
    static CURRENT: Cell<*const UnsafeCell<State>> = const { Cell::new(ptr::null()) };
}

/// Makes `state` the launch of this host thread until it is dropped.
pub(super) struct Running<'a>(&'a UnsafeCell<State>);

impl<'a> Running<'a> {
    /// Nothing if a launch runs already.
    pub fn enter(state: &'a mut State) -> Option<Self> {
        if !CURRENT.get().is_null() {
            return None;
        }
        // SAFETY: UnsafeCell has the layout of its content, and the borrow is unique for 'a.
        let cell = unsafe { &*ptr::from_mut(state).cast::<UnsafeCell<State>>() };
        CURRENT.set(cell);
        Some(Self(cell))
    }

    /// Whether a launch runs on this host thread.
    pub fn is_any() -> bool {
        !CURRENT.get().is_null()
    }

    /// Borrows the state for `work`, which neither switches coroutines nor calls device functions.
    #[inline]
    pub fn with<R>(&self, work: impl FnOnce(&mut State) -> R) -> R {
        // SAFETY: only this host thread knows the state, and no borrow lives across a switch, so that this is the only one.
        work(unsafe { &mut *self.0.get() })
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        CURRENT.set(ptr::null());
    }
}

/// Borrows the state of the launch that runs on this host thread for `work`, which neither switches coroutines nor
/// calls device functions.
///
/// # Panics
/// If none runs.
#[inline]
pub(super) fn with<R>(work: impl FnOnce(&mut State) -> R) -> R {
    let state = CURRENT.get();
    if state.is_null() {
        outside();
    }
    // SAFETY: the pointer is that of a living `Running`; borrows as for `Running::with`.
    work(unsafe { &mut *(*state).get() })
}

/// [`with`], or nothing outside of a launch: for what makes sense there, too.
#[inline]
pub(super) fn with_any<R>(work: impl FnOnce(&mut State) -> R) -> Option<R> {
    Running::is_any().then(|| with(work))
}

#[cold]
fn outside() -> ! {
    panic!("a device function was called outside of a kernel: run kernels through cuda_std::emulator::launch")
}

/// Lets the scheduler run others until it resumes this thread.
#[inline(always)]
pub(super) fn switch() {
    let yielder = with(|state| state.yielders[state.current]);
    // SAFETY: the coroutine of the current thread has put it there, and the current thread is the one that runs this.
    unsafe { &*yielder }.suspend(());
}

/// Stops the launch. The calling thread is never resumed, but unwound.
#[cold]
pub(super) fn stop(fault: Fault) -> ! {
    with(|state| {
        if state.fault.is_none() {
            state.fault = Some(fault);
        }
    });
    loop {
        switch();
    }
}

/// A barrier of the block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Barrier {
    Plain,
    Count,
    And,
    Or,
}

/// The threads that wait at a barrier.
pub(super) struct Waiting {
    barrier: Barrier,
    at: &'static Location<'static>,
    /// One of them.
    thread: usize,
    arrived: usize,
    /// How many predicates hold.
    holding: u32,
}

/// How often a thread has polled since something last happened.
#[derive(Clone, Copy, Default)]
struct Polls {
    seen_progress: u64,
    count: u32,
}

/// See the module.
pub(super) struct State {
    pub grid: Dim3,
    pub block: Dim3,
    /// The coordinates of every thread of a block.
    pub coordinates: Vec<Dim3>,
    /// The block that runs.
    pub block_idx: Dim3,
    /// The thread that runs.
    pub current: usize,
    /// By which the threads' coroutines switch back to the scheduler.
    pub yielders: Vec<*const Yielder<Resume, ()>>,
    pub warps: Vec<Warp>,
    waiting: Waiting,
    /// What the barrier that was passed last gives to the threads.
    barrier_result: u32,
    /// Threads of the block that have returned.
    pub exited: usize,
    /// One of those.
    an_exited: usize,
    polls: Vec<Polls>,
    /// Counts what may end a poll: writes that change memory, passed barriers, threads that return.
    progress: u64,
    shared: Vec<U64x2>,
    shared_bytes: usize,
    shadow: Shadow,
    /// What each thread has begun to copy to shared memory and not yet waited for.
    pub copies: Vec<Vec<(*mut U32x4, *const U32x4)>>,
    /// What has gone wrong.
    pub fault: Option<Fault>,
    /// The coroutines are being unwound.
    pub unwinding: bool,
    /// The host thread was panicking already when it launched this.
    launched_in_panic: bool,
}

impl State {
    #[track_caller]
    pub fn new() -> Self {
        Self {
            grid: Dim3::new(1, 1, 1),
            block: Dim3::new(1, 1, 1),
            coordinates: Vec::new(),
            block_idx: Dim3::new(0, 0, 0),
            current: 0,
            yielders: Vec::new(),
            warps: Vec::new(),
            waiting: Waiting { barrier: Barrier::Plain, at: Location::caller(), thread: 0, arrived: 0, holding: 0 },
            barrier_result: 0,
            exited: 0,
            an_exited: 0,
            polls: Vec::new(),
            progress: 0,
            shared: Vec::new(),
            shared_bytes: 0,
            shadow: Shadow::default(),
            copies: Vec::new(),
            fault: None,
            unwinding: false,
            launched_in_panic: false,
        }
    }

    /// Prepares for blocks of this shape, which is a possible one.
    pub fn begin_launch(&mut self, grid: Dim3, block: Dim3, shared_bytes: u32) {
        (self.grid, self.block) = (grid, block);
        self.coordinates.clear();
        for z in 0..block.z {
            for y in 0..block.y {
                self.coordinates.extend((0..block.x).map(|x| Dim3 { x, y, z }));
            }
        }
        let threads = self.coordinates.len();
        self.yielders.clear();
        self.yielders.resize(threads, ptr::null());
        self.polls.clear();
        self.polls.resize(threads, Polls::default());
        self.warps.clear();
        self.warps.extend((0..threads).step_by(32).map(|first| {
            let lanes = (threads - first).min(32) as u32;
            Warp::new(u32::MAX >> (32 - lanes))
        }));
        self.shared_bytes = shared_bytes as usize;
        let units = self.shared_bytes.div_ceil(size_of::<U64x2>());
        if self.shared.len() < units {
            self.shared.resize(units, U64x2::default());
        }
        self.shadow.begin_launch(self.shared_bytes, self.warps.len());
        self.fault = None;
        self.unwinding = false;
        self.launched_in_panic = std::thread::panicking();
    }

    /// Prepares for the block at these coordinates.
    pub fn begin_block(&mut self, block_idx: Dim3) {
        self.block_idx = block_idx;
        self.exited = 0;
        self.waiting.arrived = 0;
        self.progress += 1;
        for warp in &mut self.warps {
            warp.begin_block();
        }
        self.shadow.begin_block();
        self.copies.iter_mut().for_each(Vec::clear);
    }

    /// Whether the thread that runs is being unwound, by a panic of its own or by the end of the launch. What the kernel's
    /// destructors ask of the device then is not done: nobody would answer.
    #[inline]
    pub fn is_over(&self) -> bool {
        self.unwinding || std::thread::panicking() && !self.launched_in_panic
    }

    pub fn threads(&self) -> usize {
        self.coordinates.len()
    }

    /// The warp and the lane of the thread that runs.
    fn position(&self) -> (usize, u32) {
        (self.current / 32, (self.current % 32) as u32)
    }

    /// Where `thread` of the current block is.
    pub fn place(&self, thread: usize, at: &'static Location<'static>) -> Place {
        Place { block: self.block_idx, thread: self.coordinates[thread], at }
    }

    #[cold]
    fn stuck(&self, warp: usize, stuck: Stuck) -> Fault {
        let Stuck { lane, collective, mask, why } = stuck;
        let place = self.place(warp * 32 + lane as usize, self.warps[warp].slots[lane as usize].at);
        match why {
            Why::WithoutCaller => Fault::MaskWithoutCaller { place, collective, mask },
            Why::Absent { lane } => Fault::MaskNamesAbsentLane { place, collective, mask, lane },
            Why::Exited { lane } => Fault::LaneExited { place, collective, mask, lane },
            Why::AtBarrier { lane } => Fault::LaneAtBarrier { place, collective, mask, lane },
            Why::Elsewhere { lane, collective: its_collective, mask: its_mask } => {
                Fault::Diverged { place, collective, mask, lane, its_collective, its_mask }
            }
            Why::Source { lane } => Fault::ShuffleSource { place, collective, mask, source: lane },
        }
    }

    /// The thread that runs comes to a collective of its warp. Gives whether it surely has to wait; otherwise
    /// [`arrive`](Self::arrive) has to follow.
    #[inline]
    pub fn join(&mut self, collective: Collective, mask: u32, slot: Slot) -> bool {
        if self.is_over() {
            return false;
        }
        let (warp, lane) = self.position();
        let warp = &mut self.warps[warp];
        warp.slots[lane as usize] = slot;
        warp.join(lane, collective, mask)
    }

    /// Goes on where [`join`](Self::join) left off. Gives whether the thread can go on at once.
    #[inline(never)]
    pub fn arrive(&mut self, collective: Collective, mask: u32) -> Result<bool, Fault> {
        if self.is_over() {
            return Ok(true);
        }
        let (warp, lane) = self.position();
        match self.warps[warp].arrive(lane, collective, mask) {
            Ok(complete) => {
                if complete && collective == Collective::SyncWarp {
                    self.shadow.sync_warp(warp, mask, self.warps[warp].lanes);
                }
                Ok(complete)
            }
            Err(stuck) => Err(self.stuck(warp, stuck)),
        }
    }

    /// What the thread that runs brought to its last collective, and got there.
    #[inline]
    pub fn slot(&self) -> &Slot {
        let (warp, lane) = self.position();
        &self.warps[warp].slots[lane as usize]
    }

    /// The thread that runs asks for the active lanes; it has to wait for the answer.
    pub fn ask_activemask(&mut self, at: &'static Location<'static>) {
        let (warp, lane) = self.position();
        self.warps[warp].slots[lane as usize].at = at;
        self.warps[warp].ask_activemask(lane);
    }

    /// The thread that runs comes to a barrier of the block. Gives whether it can go on at once.
    pub fn arrive_at_barrier(
        &mut self,
        barrier: Barrier,
        predicate: bool,
        at: &'static Location<'static>,
    ) -> Result<bool, Fault> {
        let (warp, lane) = self.position();
        if self.exited > 0 {
            let exited = self.coordinates[self.an_exited];
            return Err(Fault::BarrierMissed { place: self.place(self.current, at), exited });
        }
        if let Some(stuck) = self.warps[warp].waits_for(lane, Why::AtBarrier { lane }) {
            return Err(self.stuck(warp, stuck));
        }
        if self.waiting.arrived == 0 {
            self.waiting = Waiting { barrier, at, thread: self.current, arrived: 0, holding: 0 };
        } else if self.waiting.barrier != barrier || !core::ptr::eq(self.waiting.at, at) && self.waiting.at != at {
            let other = self.place(self.waiting.thread, self.waiting.at);
            return Err(Fault::BarriersDiffer { place: self.place(self.current, at), other });
        }
        self.waiting.arrived += 1;
        self.waiting.holding += u32::from(predicate);
        if self.waiting.arrived < self.threads() {
            self.warps[warp].at_barrier |= 1 << lane;
            return Ok(false);
        }
        self.barrier_result = match barrier {
            Barrier::Plain => 0,
            Barrier::Count => self.waiting.holding,
            Barrier::And => u32::from(self.waiting.holding as usize == self.threads()),
            Barrier::Or => u32::from(self.waiting.holding > 0),
        };
        self.waiting.arrived = 0;
        for warp in &mut self.warps {
            warp.ready |= warp.at_barrier;
            warp.at_barrier = 0;
        }
        self.progress += 1;
        self.shadow.sync_threads();
        Ok(true)
    }

    /// What the barrier that the thread has passed gives.
    pub fn barrier_result(&self) -> u32 {
        self.barrier_result
    }

    /// The thread that runs has returned from the kernel.
    pub fn exit(&mut self) -> Result<(), Fault> {
        let (warp, lane) = self.position();
        self.exited += 1;
        self.an_exited = self.current;
        self.progress += 1;
        self.warps[warp].exited |= 1 << lane;
        if let Some(stuck) = self.warps[warp].waits_for(lane, Why::Exited { lane }) {
            return Err(self.stuck(warp, stuck));
        }
        if self.waiting.arrived > 0 {
            let place = self.place(self.waiting.thread, self.waiting.at);
            return Err(Fault::BarrierMissed { place, exited: self.coordinates[self.current] });
        }
        Ok(())
    }

    /// The thread that runs polls; it has to wait until nobody else can run.
    pub fn poll(&mut self, at: &'static Location<'static>) -> Result<(), Fault> {
        let polls = &mut self.polls[self.current];
        if polls.seen_progress != self.progress {
            *polls = Polls { seen_progress: self.progress, count: 0 };
        }
        polls.count += 1;
        if polls.count > POLL_LIMIT {
            return Err(Fault::PollsForever { place: self.place(self.current, at), polls: POLL_LIMIT });
        }
        let (warp, lane) = self.position();
        self.warps[warp].polling |= 1 << lane;
        Ok(())
    }

    /// Memory has changed, or may have.
    #[inline]
    pub fn progress(&mut self) {
        self.progress += 1;
    }

    /// Why nothing of the block can run although not all threads have returned. The device functions find most causes
    /// when they arise; what is left are rings of more than two collectives.
    #[cold]
    pub fn deadlock(&self) -> Fault {
        let stuck = self.warps.iter().enumerate().find_map(|(index, warp)| Some((index, warp.deadlock()?)));
        match stuck {
            Some((warp, stuck)) => self.stuck(warp, stuck),
            None => unreachable!("threads wait, and for each other"),
        }
    }

    /// The start of the block's shared memory, for a kernel that needs `need` bytes.
    pub fn shared_base(&mut self, need: usize, at: &'static Location<'static>) -> Result<*mut u8, Fault> {
        if need > self.shared_bytes {
            let place = self.place(self.current, at);
            return Err(Fault::SharedTooSmall { place, need, have: self.shared_bytes });
        }
        Ok(self.shared.as_mut_ptr().cast())
    }

    /// Notes and checks an access of the thread that runs to `len` bytes at `pointer`.
    #[inline]
    pub fn touch_shared(
        &mut self,
        pointer: *const u8,
        len: usize,
        access: Access,
        at: &'static Location<'static>,
    ) -> Result<(), Fault> {
        let offset = (pointer as usize).wrapping_sub(self.shared.as_ptr() as usize);
        if offset >= self.shared_bytes || len > self.shared_bytes - offset {
            return Err(Fault::NotShared { place: self.place(self.current, at), access });
        }
        // Every type is as aligned as it is large.
        if !offset.is_multiple_of(len) {
            return Err(Fault::SharedAlignment { place: self.place(self.current, at), offset, align: len });
        }
        self.shadow.touch(self.current, offset, len, access).map_err(|problem| self.problem(problem, access, at))
    }

    #[cold]
    fn problem(&self, problem: Problem, access: Access, at: &'static Location<'static>) -> Fault {
        let place = self.place(self.current, at);
        match problem {
            Problem::Unwritten { offset } => Fault::Unwritten { place, offset },
            Problem::Race { offset, other, its_access } => {
                Fault::Race { place, access, other: self.coordinates[other], its_access, offset }
            }
        }
    }
}
