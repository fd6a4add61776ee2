//! Runs kernels on the host, and checks what hardware does not.
//!
//! [`launch`] runs a kernel block by block. Every thread of a block is a coroutine; one of them runs at a time, up to
//! the next collective, and the others take their turns. The result depends on the kernel, the configuration and
//! the data only.
//!
//! ```
//! use cuda_std::emulator::{Config, launch};
//! use cuda_std::{thread, warp};
//! use std::cell::Cell;
//!
//! let sum = Cell::new(0);
//! let config = Config::new(1, 32, 0);
//! launch(config, || {
//!     let total = warp::warp_reduce_add(warp::FULL_MASK, thread::thread_idx_x());
//!     sum.set(total);
//! })?;
//! assert_eq!(sum.get(), 496);
//! # Ok::<(), cuda_std::emulator::Fault>(())
//! ```
//!
//! # What is checked
//!
//! Every check ends the launch with a [`Fault`] of its own.
//!
//! | about | checks |
//! |---|---|
//! | the launch | a shape that no device takes |
//! | collectives of a warp | exactly the lanes of the mask come to the same collective with the same mask; shuffles read lanes that take part |
//! | barriers of a block | all threads come, and to the same call in the source |
//! | shared memory | bounds and alignment; reads of what nobody wrote; races, byte by byte |
//! | polls | a loop with [`spin_wait`](crate::thread::spin_wait) that nothing can end any more |
//! | panics | become faults |
//!
//! A race is two accesses to a byte by two threads of a block, not both reads and not both atomics, that neither
//! a barrier of the block nor a [`sync_warp`](crate::warp::sync_warp) naming both threads, nor a chain of those,
//! orders. Nothing else does: shuffles, votes, fences and atomics do not order shared memory here.
//!
//! # What is not checked
//!
//! * **Global memory**: neither bounds, nor unwritten reads, nor races, nor a missing fence, acquire or release. Blocks run
//!   one after the other and threads one at a time, so that every access is seen at once by everybody.
//! * Loops that never end and never call `spin_wait` or `nanosleep`: they hang the emulator as they hang a device. The same
//!   goes for polls in which something changes memory all the time.
//! * Limits of a real device other than the shape of the launch: registers, stack, time.
//! * Whether blocks that wait for each other would run at the same time. Here a block runs to its end before the
//!   next one begins, so that waiting for a later block is reported as a poll that can never succeed.

mod atomics;
pub(crate) mod device;
mod fault;
mod scheduler;
mod shadow;
mod state;
mod warp;

pub use fault::{Access, Collective, Fault, Place};

use core::cell::RefCell;
use core::fmt;
use scheduler::Workshop;
use state::Running;

/// Three numbers: the shape of a grid or a block, or a place in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Dim3 {
    /// Along x, which varies fastest.
    pub x: u32,
    /// Along y.
    pub y: u32,
    /// Along z.
    pub z: u32,
}

impl Dim3 {
    /// These three numbers.
    pub const fn new(x: u32, y: u32, z: u32) -> Self {
        Self { x, y, z }
    }

    /// How many places a shape has; 2^64 - 1 for those that have more.
    const fn count(self) -> u64 {
        (self.x as u64 * self.y as u64).saturating_mul(self.z as u64)
    }

    /// The place with this number in a shape, x fastest.
    const fn coordinates(self, index: u64) -> Self {
        let (x, y) = (self.x as u64, self.y as u64);
        Self::new((index % x) as u32, (index / x % y) as u32, (index / (x * y)) as u32)
    }
}

impl From<u32> for Dim3 {
    fn from(x: u32) -> Self {
        Self::new(x, 1, 1)
    }
}

impl From<(u32, u32)> for Dim3 {
    fn from((x, y): (u32, u32)) -> Self {
        Self::new(x, y, 1)
    }
}

impl From<(u32, u32, u32)> for Dim3 {
    fn from((x, y, z): (u32, u32, u32)) -> Self {
        Self::new(x, y, z)
    }
}

impl fmt::Display for Dim3 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({}, {}, {})", self.x, self.y, self.z)
    }
}

/// In which order the blocks run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// By their coordinates, x fastest. Blocks may wait for earlier ones.
    #[default]
    Grid,
    /// In an order drawn from this seed, and with it the order in which the warps of a block and the lanes of a warp take
    /// turns: for kernels that claim not to care.
    Seeded(u64),
}

/// What to launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Blocks.
    pub grid: Dim3,
    /// Threads of a block.
    pub block: Dim3,
    /// Dynamic shared memory of a block, in bytes.
    pub shared_bytes: u32,
    /// The order of the blocks.
    pub order: Order,
}

impl Config {
    /// A launch in grid order.
    ///
    /// ```
    /// # use cuda_std::emulator::{Config, Dim3};
    /// assert_eq!(Config::new(7, 256, 0).grid, Dim3::new(7, 1, 1));
    /// assert_eq!(Config::new(7, (16, 8), 0).block, Dim3::new(16, 8, 1));
    /// ```
    pub fn new(grid: impl Into<Dim3>, block: impl Into<Dim3>, shared_bytes: u32) -> Self {
        Self { grid: grid.into(), block: block.into(), shared_bytes, order: Order::Grid }
    }

    /// The same launch in another order.
    pub const fn order(self, order: Order) -> Self {
        Self { order, ..self }
    }
}

/// The most dynamic shared memory that a block can have on any device so far, in bytes.
pub const MAX_SHARED_BYTES: u32 = 227 << 10;

/// The most threads that a block can have.
pub const MAX_THREADS: u32 = 1024;

thread_local! {
    /// What earlier launches of this host thread left for the next one.
    static WORKSHOP: RefCell<Option<Box<Workshop>>> = const { RefCell::new(None) };
}

/// Runs `kernel` once for every thread of the grid.
///
/// The device functions that it calls know which thread they run for. Several host threads may launch at the same time;
/// each launch runs on the host thread that asked for it.
///
/// After a fault the rest of the grid is not run: the threads of the block are unwound, and what the kernel had
/// written to global memory until then stays. A message of a panic still goes to the panic hook.
///
/// # Errors
/// Whatever is wrong with the launch or with the kernel; see [`Fault`].
pub fn launch(config: Config, kernel: impl Fn()) -> Result<(), Fault> {
    let Config { grid, block, shared_bytes, order } = config;
    if Running::is_any() {
        return Err(Fault::NestedLaunch);
    }
    if !(1..=i32::MAX as u32).contains(&grid.x) || ![grid.y, grid.z].iter().all(|n| (1..=65535).contains(n)) {
        return Err(Fault::GridShape { grid });
    }
    if !(1..=u64::from(MAX_THREADS)).contains(&block.count()) || block.z > 64 {
        return Err(Fault::BlockShape { block });
    }
    if shared_bytes > MAX_SHARED_BYTES {
        return Err(Fault::SharedBytes { asked: shared_bytes, max: MAX_SHARED_BYTES });
    }
    let kept = WORKSHOP.with(|kept| kept.borrow_mut().take());
    let mut workshop = kept.unwrap_or_else(|| Box::new(Workshop::new()));
    let result = workshop.launch(grid, block, shared_bytes, order, &kernel);
    WORKSHOP.with(|kept| *kept.borrow_mut() = Some(workshop));
    result
}
