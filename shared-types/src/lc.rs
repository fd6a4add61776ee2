//! The container that the LC chunk components share: `u32` plain length, `u32` chunk count, one
//! `u32` entry per chunk, the stored chunks without gaps, zeros up to a multiple of 4.
//!
//! The chunk formats come from the LC framework, the container from FZGPUModules 2.0; see THIRD_PARTY.md.

/// Bytes of one word: the unit whose leading zeros a component removes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum WordSize {
    /// 8-bit words.
    W1 = 1,
    /// 16-bit words.
    W2 = 2,
    /// 32-bit words.
    W4 = 4,
    /// 64-bit words.
    W8 = 8,
}

impl WordSize {
    /// Every word size, smallest first.
    pub const ALL: [Self; 4] = [Self::W1, Self::W2, Self::W4, Self::W8];

    /// The size in bytes: 1, 2, 4 or 8.
    pub const fn bytes(self) -> u32 {
        self as u32
    }

    /// The size in bits: 8, 16, 32 or 64.
    pub const fn bits(self) -> u32 {
        self.bytes() * 8
    }

    /// The word size of `bytes` bytes, if there is one.
    pub const fn from_bytes(bytes: u64) -> Option<Self> {
        match bytes {
            1 => Some(Self::W1),
            2 => Some(Self::W2),
            4 => Some(Self::W4),
            8 => Some(Self::W8),
            _ => None,
        }
    }
}

/// Plain bytes of a full chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u16)]
pub enum ChunkSize {
    /// 4096 bytes.
    C4096 = 4096,
    /// 8192 bytes.
    C8192 = 8192,
    /// 16384 bytes.
    C16384 = 16384,
}

impl ChunkSize {
    /// Every chunk size, smallest first.
    pub const ALL: [Self; 3] = [Self::C4096, Self::C8192, Self::C16384];

    /// The size in bytes.
    pub const fn bytes(self) -> u32 {
        self as u32
    }

    /// Twelve to fourteen: the size is `1 << log2`. Kernels divide by shifting, which can't panic.
    pub const fn log2(self) -> u32 {
        self.bytes().ilog2()
    }

    /// The chunk size of `bytes` bytes, if there is one.
    pub const fn from_bytes(bytes: u64) -> Option<Self> {
        match bytes {
            4096 => Some(Self::C4096),
            8192 => Some(Self::C8192),
            16384 => Some(Self::C16384),
            _ => None,
        }
    }
}

/// Plain bytes that one block of the tiled kernels takes: 8, 4 or 2 chunks.
pub const TILE_BYTES: u32 = 32_768;

/// The bit of a chunk entry that says: stored raw.
pub const RAW: u32 = 1 << 31;

/// Bytes in front of the chunk entries: plain length and chunk count.
pub const HEADER_BYTES: u32 = 8;

/// Where everything lies in the container of `plain` bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Container {
    /// Plain bytes of the whole stream.
    pub plain: u32,
    /// Plain bytes of a full chunk.
    pub chunk: ChunkSize,
}

impl Container {
    /// Number of chunks; the last one may be short.
    pub const fn chunks(self) -> u32 {
        self.plain.div_ceil(self.chunk.bytes())
    }

    /// Plain bytes of chunk `index`, which must be below [`Self::chunks`].
    pub const fn chunk_len(self, index: u32) -> u32 {
        let rest = self.plain - index * self.chunk.bytes();
        if rest < self.chunk.bytes() { rest } else { self.chunk.bytes() }
    }

    /// Bytes in front of the first stored chunk; also the offset of the entry behind the last one.
    pub const fn data_start(self) -> u64 {
        HEADER_BYTES as u64 + 4 * self.chunks() as u64
    }

    /// The length of a stream whose stored chunks take `stored` bytes in all.
    pub const fn stream_bytes(self, stored: u64) -> u64 {
        if self.plain == 0 { 0 } else { (self.data_start() + stored).next_multiple_of(4) }
    }

    /// No stream of this container is longer: every chunk raw.
    pub const fn max_stream_bytes(self) -> u64 {
        self.stream_bytes(self.plain as u64)
    }
}

/// What a decoder found in one chunk. Kernels write the number, the host makes an error of it.
///
/// A chunk with several faults reports the one that stands first here; CPU and device test in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum ChunkStatus {
    /// Decoded.
    Ok = 0,
    /// The encoding is shorter than its fixed part.
    Truncated = 1,
    /// The length inside the chunk is not the chunk's length.
    LengthTag = 2,
    /// A width field is larger than the word.
    Width = 3,
    /// The number of kept bits is larger than any that says something.
    Keep = 4,
    /// The bitmap is longer than the encoding, or flags words that are not there.
    Bitmap = 5,
    /// The encoding's length is not what its fields say.
    CodedLength = 6,
    /// A padding bit is set.
    Padding = 7,
    /// The container was refused, so the chunk was not looked at. All ones: what the statuses are filled with at first.
    NotDecoded = u32::MAX,
}

/// What a decoder found in the container around the chunks.
///
/// As for [`ChunkStatus`], the first fault in this order is the one reported; among bad entries, that of the lowest chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum StreamStatus {
    /// Sound.
    Ok = 0,
    /// 1 to 7 bytes: shorter than the header. (No bytes at all is the empty stream.)
    Truncated = 1,
    /// The chunk count does not follow from the plain length.
    ChunkCount = 2,
    /// The plain length is not the length (or above the capacity) that the caller gave.
    PlainLength = 3,
    /// The bytes end inside the chunk entries.
    Entries = 4,
    /// A chunk entry that no encoder writes; the lowest such chunk counts.
    Entry = 5,
    /// The stream's length is not the sum of its parts.
    StreamLength = 6,
    /// A byte of the filling at the end is not 0.
    Padding = 7,
    /// Encoding: the stream would not fit into 32 bits.
    TooLong = 8,
}

/// What a coder's kernels leave in device memory about a whole stream: all ones at first, then filled in.
///
/// Faults are packed so that an atomic minimum keeps the one that counts: see [`StreamStatus`] and [`ChunkStatus`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct StreamReport {
    /// Encoding: bytes of the stream. Decoding: plain bytes that the header announces. Meaningless after a stream fault.
    pub bytes: u64,
    /// [`NO_FAULT`], or the [`StreamStatus`] in the upper half and the chunk's index (0 where none) in the lower.
    pub stream_fault: u64,
    /// [`NO_FAULT`], or the lowest bad chunk's index in the upper half and its [`ChunkStatus`] in the lower.
    pub chunk_fault: u64,
    /// All ones.
    pub reserved: u64,
}

/// A fault word of a [`StreamReport`] that nothing was written to.
pub const NO_FAULT: u64 = u64::MAX;

impl StreamReport {
    /// Index of [`Self::bytes`] in the report as an array of `u64`; kernels address it so.
    pub const BYTES: usize = 0;
    /// Index of [`Self::stream_fault`].
    pub const STREAM_FAULT: usize = 1;
    /// Index of [`Self::chunk_fault`].
    pub const CHUNK_FAULT: usize = 2;

    /// The word that tells of `status` at chunk `index`.
    pub const fn pack_stream_fault(status: StreamStatus, index: u32) -> u64 {
        (status as u64) << 32 | index as u64
    }

    /// The word that tells of `status` in chunk `index`.
    pub const fn pack_chunk_fault(index: u32, status: ChunkStatus) -> u64 {
        (index as u64) << 32 | status as u64
    }
}

/// Entries that one block of the entry scan takes.
pub const SCAN_ENTRIES: u32 = 1024;

/// The entry scan: 8 warps, four entries a thread; shared memory for the warps' sums and the block's offset.
pub const SCAN: crate::launch::Launch = crate::launch::Launch { threads: 256, shared_bytes: 64, min_blocks: 4 };
