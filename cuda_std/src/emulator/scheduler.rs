//! Runs the threads of a block as coroutines, one at a time, warp after warp.
//!
//! Each thread of a block has one coroutine, which runs the kernel once for every block of the grid. The stacks
//! outlive the launch: the host thread keeps them for its next one.

use super::fault::Fault;
use super::state::{Resume, Running, State, stop, with};
use super::{Dim3, Order};
use core::panic::AssertUnwindSafe;
use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult};
use std::panic::catch_unwind;

/// Bytes of a thread's stack. Only what is touched takes memory; a panic with a backtrace needs most.
const STACK_BYTES: usize = 256 << 10;

type Thread = Coroutine<Resume, (), (), DefaultStack>;

/// What a host thread keeps between launches.
pub(super) struct Workshop {
    state: State,
    stacks: Vec<DefaultStack>,
}

impl Workshop {
    pub fn new() -> Self {
        Self { state: State::new(), stacks: Vec::new() }
    }

    /// Runs `kernel` for every thread of the grid; the shapes are possible ones.
    pub fn launch(&mut self, grid: Dim3, block: Dim3, shared_bytes: u32, order: Order, kernel: &dyn Fn()) -> Result<(), Fault> {
        let threads = block.count() as usize;
        while self.stacks.len() < threads {
            match DefaultStack::new(STACK_BYTES) {
                Ok(stack) => self.stacks.push(stack),
                Err(_) => return Err(Fault::HostMemory { threads: threads as u32 }),
            }
        }
        self.state.begin_launch(grid, block, shared_bytes);
        let Some(running) = Running::enter(&mut self.state) else { return Err(Fault::NestedLaunch) };
        let mut threads: Vec<Thread> = self
            .stacks
            .drain(self.stacks.len() - threads..)
            .enumerate()
            // SAFETY: the coroutines borrow `kernel` and `running`'s state, and are done before this function returns.
            .map(|(thread, stack)| unsafe { spawn(thread, stack, kernel) })
            .collect();

        let result = match catch_unwind(AssertUnwindSafe(|| run_grid(&running, &mut threads, order))) {
            Ok(result) => result,
            Err(payload) => Err(panicked(&running, payload.as_ref())),
        };

        running.with(|state| state.unwinding = true);
        for (index, mut thread) in threads.into_iter().enumerate() {
            running.with(|state| state.current = index);
            if result.is_ok() && thread.started() {
                // At its end, so that it returns.
                thread.resume(false);
            } else {
                thread.force_unwind();
            }
            self.stacks.push(thread.into_stack());
        }
        result
    }
}

/// The coroutine of one thread of a block.
///
/// # Safety
/// It is done before `kernel` ends.
unsafe fn spawn(thread: usize, stack: DefaultStack, kernel: &dyn Fn()) -> Thread {
    let body = move |yielder: &corosensei::Yielder<Resume, ()>, mut resume: Resume| {
        with(|state| state.yielders[thread] = yielder);
        while resume {
            kernel();
            if let Err(fault) = with(State::exit) {
                stop(fault);
            }
            resume = yielder.suspend(());
        }
    };
    // SAFETY: as the caller promises.
    unsafe { Coroutine::with_stack_unchecked(stack, body) }
}

fn panicked(running: &Running, payload: &(dyn core::any::Any + Send)) -> Fault {
    let message = payload
        .downcast_ref::<&str>()
        .map(ToString::to_string)
        .or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a value that is no text".into());
    running.with(|state| Fault::Panicked { block: state.block_idx, thread: state.coordinates[state.current], message })
}

fn run_grid(running: &Running, threads: &mut [Thread], order: Order) -> Result<(), Fault> {
    let grid = running.with(|state| state.grid);
    let warps = threads.len().div_ceil(32);
    let mut warp_order: Vec<usize> = (0..warps).collect();
    match order {
        Order::Grid => {
            for index in 0..grid.count() {
                run_block(running, threads, grid.coordinates(index), &warp_order, 0)?;
            }
        }
        Order::Seeded(seed) => {
            let mut random = Random(seed);
            let mut blocks = Vec::new();
            if blocks.try_reserve_exact(grid.count() as usize).is_err() {
                return Err(Fault::HostMemory { threads: threads.len() as u32 });
            }
            blocks.extend(0..grid.count());
            random.shuffle(&mut blocks);
            for index in blocks {
                random.shuffle(&mut warp_order);
                let first_lane = random.below(32) as u32;
                run_block(running, threads, grid.coordinates(index), &warp_order, first_lane)?;
            }
        }
    }
    Ok(())
}

/// Runs one block. Warps take their turns in `warp_order`, their lanes from `first_lane` on.
fn run_block(
    running: &Running,
    threads: &mut [Thread],
    block: Dim3,
    warp_order: &[usize],
    first_lane: u32,
) -> Result<(), Fault> {
    running.with(|state| state.begin_block(block));
    loop {
        let mut has_run = false;
        for &warp in warp_order {
            while let Some(lane) = next_lane(running, warp, first_lane) {
                has_run = true;
                let thread = warp * 32 + lane as usize;
                running.with(|state| state.current = thread);
                let CoroutineResult::Yield(()) = threads[thread].resume(true) else {
                    unreachable!("a coroutine returns only where it is told to")
                };
                // Not simply `take`, which writes a whole fault each time.
                let fault = running.with(|state| if state.fault.is_some() { state.fault.take() } else { None });
                if let Some(fault) = fault {
                    return Err(fault);
                }
            }
        }
        if has_run {
            continue;
        }
        let is_over = running.with(|state| {
            // Only polls are left, if anything.
            for warp in &mut state.warps {
                has_run |= warp.polling != 0;
                warp.ready = core::mem::take(&mut warp.polling);
            }
            if has_run {
                Ok(false)
            } else if state.exited == state.threads() {
                Ok(true)
            } else {
                Err(state.deadlock())
            }
        })?;
        if is_over {
            return Ok(());
        }
    }
}

/// Takes the next lane of `warp` that can run.
fn next_lane(running: &Running, warp: usize, first_lane: u32) -> Option<u32> {
    running.with(|state| {
        let warp = &mut state.warps[warp];
        if warp.ready == 0 {
            warp.answer_activemask();
            if warp.ready == 0 {
                return None;
            }
        }
        let lane = (warp.ready.rotate_right(first_lane).trailing_zeros() + first_lane) % 32;
        warp.ready &= !(1 << lane);
        Some(lane)
    })
}

/// A small generator of random numbers: splitmix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ z >> 31
    }

    fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }

    fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last as u64 + 1) as usize);
        }
    }
}
