//! What a kernel can do wrong: one variant per reason, with the place and what happened there.

use super::Dim3;
use core::fmt;
use core::panic::Location;

/// Where a kernel was when something happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The block, by its coordinates in the grid.
    pub block: Dim3,
    /// The thread, by its coordinates in the block.
    pub thread: Dim3,
    /// The call in the kernel's source.
    pub at: &'static Location<'static>,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "block {}, thread {}, {}", self.block, self.thread, self.at)
    }
}

/// What lanes of a warp do together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Collective {
    /// `sync_warp`.
    SyncWarp,
    /// `warp_shuffle_up`.
    ShuffleUp,
    /// `warp_shuffle_down`.
    ShuffleDown,
    /// `warp_shuffle_xor`.
    ShuffleXor,
    /// `warp_shuffle_idx`.
    ShuffleIdx,
    /// `warp_shuffle_up` of 64 bits.
    ShuffleUp64,
    /// `warp_shuffle_down` of 64 bits.
    ShuffleDown64,
    /// `warp_shuffle_xor` of 64 bits.
    ShuffleXor64,
    /// `warp_shuffle_idx` of 64 bits.
    ShuffleIdx64,
    /// `warp_vote_ballot`.
    VoteBallot,
    /// `warp_vote_any`.
    VoteAny,
    /// `warp_vote_all`.
    VoteAll,
    /// `warp_match_any_32`.
    MatchAny32,
    /// `warp_match_any_64`.
    MatchAny64,
    /// `warp_reduce_add`.
    ReduceAdd,
    /// `warp_reduce_min`.
    ReduceMin,
    /// `warp_reduce_max`.
    ReduceMax,
    /// `warp_reduce_and`.
    ReduceAnd,
    /// `warp_reduce_or`.
    ReduceOr,
    /// `warp_reduce_xor`.
    ReduceXor,
}

impl Collective {
    /// The function's name in `cuda_std::warp`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::SyncWarp => "sync_warp",
            Self::ShuffleUp | Self::ShuffleUp64 => "warp_shuffle_up",
            Self::ShuffleDown | Self::ShuffleDown64 => "warp_shuffle_down",
            Self::ShuffleXor | Self::ShuffleXor64 => "warp_shuffle_xor",
            Self::ShuffleIdx | Self::ShuffleIdx64 => "warp_shuffle_idx",
            Self::VoteBallot => "warp_vote_ballot",
            Self::VoteAny => "warp_vote_any",
            Self::VoteAll => "warp_vote_all",
            Self::MatchAny32 => "warp_match_any_32",
            Self::MatchAny64 => "warp_match_any_64",
            Self::ReduceAdd => "warp_reduce_add",
            Self::ReduceMin => "warp_reduce_min",
            Self::ReduceMax => "warp_reduce_max",
            Self::ReduceAnd => "warp_reduce_and",
            Self::ReduceOr => "warp_reduce_or",
            Self::ReduceXor => "warp_reduce_xor",
        }
    }

    /// Bits of the value that moves, where both sizes exist.
    const fn bits(self) -> &'static str {
        match self {
            Self::ShuffleUp64 | Self::ShuffleDown64 | Self::ShuffleXor64 | Self::ShuffleIdx64 => " of 64 bits",
            _ => "",
        }
    }
}

impl fmt::Display for Collective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.name(), self.bits())
    }
}

/// How a thread touches shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// A plain read.
    Read,
    /// A plain write.
    Write,
    /// An atomic read and write.
    Atomic,
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Atomic => "atomic",
        })
    }
}

/// Why a launch was refused or stopped.
///
/// Offsets are bytes from the start of the block's shared memory.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// No device takes a grid of this shape.
    GridShape {
        /// The grid asked for, in blocks.
        grid: Dim3,
    },
    /// No device takes blocks of this shape: 1 to 1024 threads, at most 64 along z.
    BlockShape {
        /// The block asked for, in threads.
        block: Dim3,
    },
    /// No device has this much shared memory for a block.
    SharedBytes {
        /// The bytes asked for.
        asked: u32,
        /// The most that is possible.
        max: u32,
    },
    /// A kernel launched a kernel.
    NestedLaunch,
    /// The host has no memory left to run this many threads.
    HostMemory {
        /// Threads of a block.
        threads: u32,
    },

    /// A lane calls a collective with a mask that does not name it.
    MaskWithoutCaller {
        /// The caller.
        place: Place,
        /// What it calls.
        collective: Collective,
        /// The mask it calls it with.
        mask: u32,
    },
    /// A mask names a lane that the last, partial warp of the block does not have.
    MaskNamesAbsentLane {
        /// The caller.
        place: Place,
        /// What it calls.
        collective: Collective,
        /// The mask it calls it with.
        mask: u32,
        /// The lane that does not exist.
        lane: u32,
    },
    /// A lane waits at a collective for one that has returned from the kernel.
    LaneExited {
        /// The lane that waits.
        place: Place,
        /// What it calls.
        collective: Collective,
        /// The mask it calls it with.
        mask: u32,
        /// The lane that has returned.
        lane: u32,
    },
    /// A lane waits at a collective for one that waits at a barrier of the block.
    LaneAtBarrier {
        /// The lane that waits at the collective.
        place: Place,
        /// What it calls.
        collective: Collective,
        /// The mask it calls it with.
        mask: u32,
        /// The lane that waits at the barrier.
        lane: u32,
    },
    /// Lanes wait for each other at different collectives, or at the same with different masks.
    Diverged {
        /// A lane that waits.
        place: Place,
        /// What it calls.
        collective: Collective,
        /// The mask it calls it with.
        mask: u32,
        /// A lane of that mask which waits elsewhere.
        lane: u32,
        /// What that lane calls.
        its_collective: Collective,
        /// The mask it calls it with.
        its_mask: u32,
    },
    /// A shuffle reads a lane that does not take part: the value is undefined.
    ShuffleSource {
        /// The lane that reads.
        place: Place,
        /// What it calls.
        collective: Collective,
        /// The mask it calls it with.
        mask: u32,
        /// The lane that would be read.
        source: u32,
    },
    /// The width of a shuffle's segments is no power of two from 1 to 32.
    ShuffleWidth {
        /// The caller.
        place: Place,
        /// The width it asks for.
        width: u32,
    },

    /// A thread waits at a barrier of the block, but another has returned from the kernel without it.
    BarrierMissed {
        /// A thread that waits.
        place: Place,
        /// A thread that has returned.
        exited: Dim3,
    },
    /// Threads of a block wait at different barriers.
    BarriersDiffer {
        /// A thread that has come to one barrier.
        place: Place,
        /// A thread that has come to another.
        other: Place,
    },
    /// A thread polls for what nobody is left to do.
    PollsForever {
        /// A thread that polls.
        place: Place,
        /// How often it has polled while nothing else happened.
        polls: u32,
    },

    /// The kernel's shared memory is larger than what the launch asked for.
    SharedTooSmall {
        /// The thread that asked for its shared memory.
        place: Place,
        /// Bytes of the kernel's struct.
        need: usize,
        /// Bytes of the launch.
        have: usize,
    },
    /// An index beyond the end of an array in shared memory.
    SharedIndex {
        /// The thread that uses it.
        place: Place,
        /// The first element of the access.
        index: usize,
        /// Elements that the access covers.
        count: usize,
        /// Elements of the array.
        len: usize,
    },
    /// A `SharedArray` that does not lie in the block's shared memory.
    NotShared {
        /// The thread that uses it.
        place: Place,
        /// How.
        access: Access,
    },
    /// A wide access to shared memory at an address that is not a multiple of its size.
    SharedAlignment {
        /// The thread that does it.
        place: Place,
        /// Where.
        offset: usize,
        /// What the offset must be a multiple of.
        align: usize,
    },
    /// A read of shared memory that no thread of this block has written.
    Unwritten {
        /// The thread that reads.
        place: Place,
        /// The first byte that was not written.
        offset: usize,
    },
    /// Two threads touch the same byte of shared memory in no order, and not both only read it or both atomically.
    Race {
        /// The thread that comes second here.
        place: Place,
        /// What it does.
        access: Access,
        /// The thread that came first here.
        other: Dim3,
        /// What that one did.
        its_access: Access,
        /// The byte.
        offset: usize,
    },

    /// A wide or atomic access to global memory at an address that is not a multiple of its size.
    GlobalAlignment {
        /// The thread that does it.
        place: Place,
        /// What the address must be a multiple of.
        align: usize,
        /// By how much the address is too large.
        excess: usize,
    },
    /// A thread panicked.
    Panicked {
        /// The block, by its coordinates in the grid.
        block: Dim3,
        /// The thread, by its coordinates in the block.
        thread: Dim3,
        /// The message of the panic.
        message: String,
    },
}

impl Fault {
    /// The block where it happened, by its coordinates in the grid; nothing where the launch itself was refused.
    pub fn block(&self) -> Option<Dim3> {
        match self {
            Self::Panicked { block, .. } => Some(*block),
            _ => self.place().map(|place| place.block),
        }
    }

    /// The thread that it happened to, by its coordinates in the block; nothing where the launch itself was refused.
    pub fn thread(&self) -> Option<Dim3> {
        match self {
            Self::Panicked { thread, .. } => Some(*thread),
            _ => self.place().map(|place| place.thread),
        }
    }

    /// The thread and the line that it happened to; nothing for refused launches and panics.
    pub fn place(&self) -> Option<Place> {
        match self {
            Self::GridShape { .. }
            | Self::BlockShape { .. }
            | Self::SharedBytes { .. }
            | Self::NestedLaunch
            | Self::HostMemory { .. }
            | Self::Panicked { .. } => None,
            Self::MaskWithoutCaller { place, .. }
            | Self::MaskNamesAbsentLane { place, .. }
            | Self::LaneExited { place, .. }
            | Self::LaneAtBarrier { place, .. }
            | Self::Diverged { place, .. }
            | Self::ShuffleSource { place, .. }
            | Self::ShuffleWidth { place, .. }
            | Self::BarrierMissed { place, .. }
            | Self::BarriersDiffer { place, .. }
            | Self::PollsForever { place, .. }
            | Self::SharedTooSmall { place, .. }
            | Self::SharedIndex { place, .. }
            | Self::NotShared { place, .. }
            | Self::SharedAlignment { place, .. }
            | Self::Unwritten { place, .. }
            | Self::Race { place, .. }
            | Self::GlobalAlignment { place, .. } => Some(*place),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(place) = self.place() {
            write!(f, "{place}: ")?;
        }
        match self {
            Self::GridShape { grid } => {
                write!(f, "a grid of {grid} blocks; 1 to 2147483647 along x and 1 to 65535 along y and z are possible")
            }
            Self::BlockShape { block } => {
                write!(f, "a block of {block} threads; 1 to 1024 in all and at most 64 along z are possible")
            }
            Self::SharedBytes { asked, max } => {
                write!(f, "{asked} bytes of shared memory; at most {max} are possible")
            }
            Self::NestedLaunch => f.write_str("a kernel launched a kernel"),
            Self::HostMemory { threads } => write!(f, "no memory left to run blocks of {threads} threads"),
            Self::MaskWithoutCaller { collective, mask, .. } => {
                write!(f, "{collective} with mask {mask:#010x}, which does not name the caller")
            }
            Self::MaskNamesAbsentLane { collective, mask, lane, .. } => {
                write!(f, "{collective} with mask {mask:#010x}, but the warp has no lane {lane}")
            }
            Self::LaneExited { collective, mask, lane, .. } => {
                write!(f, "{collective} with mask {mask:#010x}, but lane {lane} has returned from the kernel")
            }
            Self::LaneAtBarrier { collective, mask, lane, .. } => {
                write!(f, "{collective} with mask {mask:#010x}, but lane {lane} waits at a barrier of the block")
            }
            Self::Diverged { collective, mask, lane, its_collective, its_mask, .. } => write!(
                f,
                "{collective} with mask {mask:#010x}, but lane {lane} waits at {its_collective} with mask {its_mask:#010x}"
            ),
            Self::ShuffleSource { collective, mask, source, .. } => {
                write!(f, "{collective} with mask {mask:#010x} reads lane {source}, which does not take part")
            }
            Self::ShuffleWidth { width, .. } => {
                write!(f, "a shuffle of width {width}; powers of two from 1 to 32 are possible")
            }
            Self::BarrierMissed { exited, .. } => {
                write!(f, "waits at a barrier of the block, but thread {exited} has returned from the kernel")
            }
            Self::BarriersDiffer { other, .. } => {
                write!(f, "comes to a barrier of the block while thread {} waits at another, {}", other.thread, other.at)
            }
            Self::PollsForever { polls, .. } => write!(f, "polled {polls} times while nothing else happened"),
            Self::SharedTooSmall { need, have, .. } => {
                write!(f, "the kernel needs {need} bytes of shared memory, the launch has {have}")
            }
            Self::SharedIndex { index, count, len, .. } => {
                write!(f, "{count} from index {index} on in a shared array of {len}")
            }
            Self::NotShared { access, .. } => {
                write!(f, "{access} of a shared array that does not lie in the block's shared memory")
            }
            Self::SharedAlignment { offset, align, .. } => {
                write!(f, "access to shared byte {offset}, which is no multiple of {align}")
            }
            Self::Unwritten { offset, .. } => write!(f, "read of shared byte {offset}, which nobody has written"),
            Self::Race { access, other, its_access, offset, .. } => {
                write!(f, "{access} of shared byte {offset} in no order with the {its_access} by thread {other}")
            }
            Self::GlobalAlignment { align, excess, .. } => {
                write!(f, "access to global memory {excess} bytes behind a multiple of {align}")
            }
            Self::Panicked { block, thread, message } => {
                write!(f, "block {block}, thread {thread}: panicked: {message}")
            }
        }
    }
}

impl core::error::Error for Fault {}
