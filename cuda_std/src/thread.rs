//! Where a thread stands in its grid, and what the threads of a block do together.

use crate::imp;

macro_rules! place {
    ($($(#[doc = $doc:literal])+ $name:ident;)+) => {$(
        $(#[doc = $doc])+
        #[inline(always)]
        pub fn $name() -> u32 {
            imp::$name()
        }
    )+};
}
place! {
    /// The thread's x coordinate in its block, below [`block_dim_x`].
    thread_idx_x;
    /// The thread's y coordinate in its block, below [`block_dim_y`].
    thread_idx_y;
    /// The thread's z coordinate in its block, below [`block_dim_z`].
    thread_idx_z;
    /// The block's x coordinate in the grid, below [`grid_dim_x`].
    block_idx_x;
    /// The block's y coordinate in the grid, below [`grid_dim_y`].
    block_idx_y;
    /// The block's z coordinate in the grid, below [`grid_dim_z`].
    block_idx_z;
    /// Threads of a block along x.
    block_dim_x;
    /// Threads of a block along y.
    block_dim_y;
    /// Threads of a block along z.
    block_dim_z;
    /// Blocks of the grid along x.
    grid_dim_x;
    /// Blocks of the grid along y.
    grid_dim_y;
    /// Blocks of the grid along z.
    grid_dim_z;
}

/// Waits for all threads of the block; what they wrote before is visible to all of them after.
///
/// Every thread of the block must call this, at the same place of the kernel (`barrier.sync.aligned`): a thread
/// that has returned early makes the barrier a fault.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub fn sync_threads() {
    imp::sync_threads()
}

/// [`sync_threads`] that gives every thread the number of threads whose `predicate` is not 0.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub fn sync_threads_count(predicate: u32) -> u32 {
    imp::sync_threads_count(predicate != 0)
}

/// [`sync_threads`] that gives every thread 1 if no thread's `predicate` is 0, else 0.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub fn sync_threads_and(predicate: u32) -> u32 {
    u32::from(imp::sync_threads_and(predicate != 0))
}

/// [`sync_threads`] that gives every thread 1 if any thread's `predicate` is not 0, else 0.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub fn sync_threads_or(predicate: u32) -> u32 {
    u32::from(imp::sync_threads_or(predicate != 0))
}

/// Orders this thread's accesses before the fence before those after it, as seen by the whole device (`membar.gl`).
#[inline(always)]
pub fn device_fence() {
    imp::device_fence()
}

/// Orders this thread's accesses before the fence before those after it, as seen by its block (`membar.cta`).
///
/// A fence waits for nobody: the emulator does not take it for an order between threads.
#[inline(always)]
pub fn block_fence() {
    imp::block_fence()
}

/// Sleeps for about this many nanoseconds; on the host, for no time.
///
/// In a loop that polls, call [`spin_wait`] as well, or the emulator never runs the thread that is waited for.
#[inline(always)]
pub fn nanosleep(nanoseconds: u32) {
    imp::nanosleep(nanoseconds)
}

/// To be called in each round of a loop that polls memory until another thread has written it.
///
/// Does nothing on a device. In the emulator it lets the other threads run, and reports a poll that can never
/// succeed.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub fn spin_wait() {
    imp::spin_wait()
}
