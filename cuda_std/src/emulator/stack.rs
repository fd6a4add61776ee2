//! The stacks of the emulator's threads.

use corosensei::stack::{DefaultStack, Stack, StackPointer};

/// Bytes of a stack. Only what is touched takes memory; a panic with a backtrace needs most.
const BYTES: usize = 256 << 10;

/// Bytes by which the starts of neighbours' stacks differ.
const STAGGER: usize = 320;

/// A stack that begins a little below the end of its memory, each at another place of its page.
///
/// Whole stacks begin at the border of a page. What the lanes of a warp touch would then all fall into the same few
/// sets of the processor's cache, and every switch would miss it.
pub(super) struct StaggeredStack {
    memory: DefaultStack,
    stagger: usize,
}

impl StaggeredStack {
    /// A stack for the threads with this number, or nothing if the host has no memory left.
    pub fn new(thread: usize) -> Option<Self> {
        let memory = DefaultStack::new(BYTES).ok()?;
        Some(Self { memory, stagger: thread % 32 * STAGGER })
    }
}

// SAFETY: as `DefaultStack`, less a few bytes at its base, which keeps its alignment of 16 bytes.
unsafe impl Stack for StaggeredStack {
    #[inline]
    fn base(&self) -> StackPointer {
        let base = self.memory.base();
        StackPointer::new(base.get() - self.stagger).unwrap_or(base)
    }

    #[inline]
    fn limit(&self) -> StackPointer {
        self.memory.limit()
    }

    #[cfg(windows)]
    fn teb_fields(&self) -> corosensei::stack::StackTebFields {
        self.memory.teb_fields()
    }

    #[cfg(windows)]
    fn update_teb_fields(&mut self, stack_limit: usize, guaranteed_stack_bytes: usize) {
        self.memory.update_teb_fields(stack_limit, guaranteed_stack_bytes);
    }
}
