//! The kernels under the emulator, launched as `DeviceCodec` launches them.

use super::device::{Outcome, POISON, as_cpu};
use super::{Executor, Spec};
use cuda_std::emulator::{Config, launch};
use cuda_std::vector::U32x4;
use gpu_kernels::clog::{decode, encode, tail};
use gpu_kernels::lc::lc_scan_entries;
use gpu_kernels::reducer;
use shared_types::clog::{DECODE, TAIL, encode_launch};
use shared_types::launch::Launch;
use shared_types::lc::{ChunkSize, ChunkStatus, Container, NO_FAULT, SCAN, SCAN_ENTRIES, StreamReport, TILE_BYTES, WordSize};
use warpack::Result;
use warpack::stage::lc::{Decoded, Settings, chunk_status, stream_status};

type Encode = unsafe fn(*const U32x4, u32, u32, *mut u8, *mut u64, *mut u64);
type EncodeTail = unsafe fn(*const u8, u32, u32, *mut u8, *const u64, *mut u64);
type Decode = unsafe fn(*const u8, *const u64, u64, u32, *mut U32x4, u64, *const u32, *mut u32, *mut u64);
type DecodeTail = unsafe fn(*const u8, *const u64, u64, u32, *mut u8, u64, *const u32, *mut u32, *mut u64);

/// What is launched for a component, as `KernelNames` says it for a device. Kernels that take more than these arguments know the rest.
#[allow(clippy::type_complexity, reason = "the kernels' own arguments")]
pub struct Kernels {
    /// Full chunks, plain to stream.
    pub encode: Box<dyn Fn(*const U32x4, u32, u32, *mut u8, *mut u64, *mut u64)>,
    /// Full chunks, stream to plain.
    pub decode: Box<dyn Fn(*const u8, *const u64, u64, u32, *mut U32x4, u64, *const u32, *mut u32, *mut u64)>,
    /// The short last chunk, where it has kernels of its own.
    pub tails: Option<Tails>,
    /// Shape of `encode`.
    pub encode_launch: Launch,
    /// Shape of `decode`.
    pub decode_launch: Launch,
    /// Plain bytes of a block.
    pub tile_bytes: u32,
}

/// The short last chunk, both ways.
#[allow(clippy::type_complexity, reason = "as above")]
pub struct Tails {
    /// Plain to stream.
    pub encode: Box<dyn Fn(*const u8, u32, u32, *mut u8, *const u64, *mut u64)>,
    /// Stream to plain.
    pub decode: Box<dyn Fn(*const u8, *const u64, u64, u32, *mut u8, u64, *const u32, *mut u32, *mut u64)>,
}

impl Kernels {
    fn of(spec: &Spec) -> Self {
        let (encode, decode) = kernels(spec.entry.name, spec.settings);
        let (tails, encode_launch, decode_launch, tile_bytes) = if let "clog" | "hclog" = spec.entry.name {
            let (encode, decode) = tails(spec.entry.name, spec.settings.word);
            let tails = Tails {
                // SAFETY: whoever calls keeps the kernel's promises; so below.
                encode: Box::new(move |p, n, c, s, l, r| unsafe { encode(p, n, c, s, l, r) }),
                // SAFETY: as above.
                decode: Box::new(move |s, l, n, c, p, m, o, t, r| unsafe { decode(s, l, n, c, p, m, o, t, r) }),
            };
            (
                Some(tails),
                encode_launch(spec.settings.word.bytes(), spec.settings.chunk, spec.entry.name == "hclog"),
                DECODE,
                TILE_BYTES,
            )
        } else {
            use shared_types::reducer;
            (None, reducer::ENCODE, reducer::DECODE, reducer::TILE_BYTES)
        };
        Self {
            // SAFETY: as above.
            encode: Box::new(move |p, n, c, s, l, r| unsafe { encode(p, n, c, s, l, r) }),
            // SAFETY: as above.
            decode: Box::new(move |s, l, n, c, p, m, o, t, r| unsafe { decode(s, l, n, c, p, m, o, t, r) }),
            tails,
            encode_launch,
            decode_launch,
            tile_bytes,
        }
    }
}

fn kernels(component: &str, settings: Settings) -> (Encode, Decode) {
    use ChunkSize::{C4096, C8192, C16384};
    use WordSize::{W1, W2, W4, W8};
    match (component, settings.word, settings.chunk) {
        ("clog", W1, C4096) => (encode::clog_encode_w1_c4096, decode::clog_decode_w1_c4096),
        ("clog", W2, C4096) => (encode::clog_encode_w2_c4096, decode::clog_decode_w2_c4096),
        ("clog", W4, C4096) => (encode::clog_encode_w4_c4096, decode::clog_decode_w4_c4096),
        ("clog", W8, C4096) => (encode::clog_encode_w8_c4096, decode::clog_decode_w8_c4096),
        ("clog", W1, C8192) => (encode::clog_encode_w1_c8192, decode::clog_decode_w1_c8192),
        ("clog", W2, C8192) => (encode::clog_encode_w2_c8192, decode::clog_decode_w2_c8192),
        ("clog", W4, C8192) => (encode::clog_encode_w4_c8192, decode::clog_decode_w4_c8192),
        ("clog", W8, C8192) => (encode::clog_encode_w8_c8192, decode::clog_decode_w8_c8192),
        ("clog", W1, C16384) => (encode::clog_encode_w1_c16384, decode::clog_decode_w1_c16384),
        ("clog", W2, C16384) => (encode::clog_encode_w2_c16384, decode::clog_decode_w2_c16384),
        ("clog", W4, C16384) => (encode::clog_encode_w4_c16384, decode::clog_decode_w4_c16384),
        ("clog", W8, C16384) => (encode::clog_encode_w8_c16384, decode::clog_decode_w8_c16384),
        ("hclog", W1, C4096) => (encode::hclog_encode_w1_c4096, decode::hclog_decode_w1_c4096),
        ("hclog", W2, C4096) => (encode::hclog_encode_w2_c4096, decode::hclog_decode_w2_c4096),
        ("hclog", W4, C4096) => (encode::hclog_encode_w4_c4096, decode::hclog_decode_w4_c4096),
        ("hclog", W8, C4096) => (encode::hclog_encode_w8_c4096, decode::hclog_decode_w8_c4096),
        ("hclog", W1, C8192) => (encode::hclog_encode_w1_c8192, decode::hclog_decode_w1_c8192),
        ("hclog", W2, C8192) => (encode::hclog_encode_w2_c8192, decode::hclog_decode_w2_c8192),
        ("hclog", W4, C8192) => (encode::hclog_encode_w4_c8192, decode::hclog_decode_w4_c8192),
        ("hclog", W8, C8192) => (encode::hclog_encode_w8_c8192, decode::hclog_decode_w8_c8192),
        ("hclog", W1, C16384) => (encode::hclog_encode_w1_c16384, decode::hclog_decode_w1_c16384),
        ("hclog", W2, C16384) => (encode::hclog_encode_w2_c16384, decode::hclog_decode_w2_c16384),
        ("hclog", W4, C16384) => (encode::hclog_encode_w4_c16384, decode::hclog_decode_w4_c16384),
        ("hclog", W8, C16384) => (encode::hclog_encode_w8_c16384, decode::hclog_decode_w8_c16384),
        ("rre", W1, _) => (reducer::encode::rre_encode_w1, reducer::decode::rre_decode_w1),
        ("rre", W2, _) => (reducer::encode::rre_encode_w2, reducer::decode::rre_decode_w2),
        ("rre", W4, _) => (reducer::encode::rre_encode_w4, reducer::decode::rre_decode_w4),
        ("rre", W8, _) => (reducer::encode::rre_encode_w8, reducer::decode::rre_decode_w8),
        ("rze", W1, _) => (reducer::encode::rze_encode_w1, reducer::decode::rze_decode_w1),
        ("rze", W2, _) => (reducer::encode::rze_encode_w2, reducer::decode::rze_decode_w2),
        ("rze", W4, _) => (reducer::encode::rze_encode_w4, reducer::decode::rze_decode_w4),
        ("rze", W8, _) => (reducer::encode::rze_encode_w8, reducer::decode::rze_decode_w8),
        ("rare", W1, _) => (reducer::encode::rare_encode_w1, reducer::decode::rare_decode_w1),
        ("rare", W2, _) => (reducer::encode::rare_encode_w2, reducer::decode::rare_decode_w2),
        ("rare", W4, _) => (reducer::encode::rare_encode_w4, reducer::decode::rare_decode_w4),
        ("rare", W8, _) => (reducer::encode::rare_encode_w8, reducer::decode::rare_decode_w8),
        ("raze", W1, _) => (reducer::encode::raze_encode_w1, reducer::decode::raze_decode_w1),
        ("raze", W2, _) => (reducer::encode::raze_encode_w2, reducer::decode::raze_decode_w2),
        ("raze", W4, _) => (reducer::encode::raze_encode_w4, reducer::decode::raze_decode_w4),
        ("raze", W8, _) => (reducer::encode::raze_encode_w8, reducer::decode::raze_decode_w8),
        _ => panic!("{component} has no kernels"),
    }
}

fn tails(component: &str, word: WordSize) -> (EncodeTail, DecodeTail) {
    match (component, word) {
        ("clog", WordSize::W1) => (tail::clog_encode_tail_w1, tail::clog_decode_tail_w1),
        ("clog", WordSize::W2) => (tail::clog_encode_tail_w2, tail::clog_decode_tail_w2),
        ("clog", WordSize::W4) => (tail::clog_encode_tail_w4, tail::clog_decode_tail_w4),
        ("clog", WordSize::W8) => (tail::clog_encode_tail_w8, tail::clog_decode_tail_w8),
        (_, WordSize::W1) => (tail::hclog_encode_tail_w1, tail::hclog_decode_tail_w1),
        (_, WordSize::W2) => (tail::hclog_encode_tail_w2, tail::hclog_decode_tail_w2),
        (_, WordSize::W4) => (tail::hclog_encode_tail_w4, tail::hclog_decode_tail_w4),
        (_, WordSize::W8) => (tail::hclog_encode_tail_w8, tail::hclog_decode_tail_w8),
    }
}

/// Memory as a device gives it: aligned, poisoned, and watched for writes around it.
pub struct Memory {
    units: Vec<U32x4>,
    bytes: usize,
}

impl Memory {
    const GUARD_UNITS: usize = 16;

    /// Memory of `bytes` bytes that begins with `data`.
    pub fn new(bytes: usize, data: &[u8]) -> Self {
        let word = u32::from_ne_bytes([POISON; 4]);
        let unit = U32x4 { x: word, y: word, z: word, w: word };
        let mut memory = Self { units: vec![unit; bytes.div_ceil(16) + 2 * Self::GUARD_UNITS], bytes };
        memory.bytes_mut()[..data.len()].copy_from_slice(data);
        memory
    }

    fn all(&self) -> &[u8] {
        // SAFETY: a unit is sixteen plain bytes.
        unsafe { std::slice::from_raw_parts(self.units.as_ptr().cast(), self.units.len() * 16) }
    }

    /// The bytes between the guards.
    pub fn bytes(&self) -> &[u8] {
        &self.all()[Self::GUARD_UNITS * 16..][..self.bytes]
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        let bytes = self.bytes;
        // SAFETY: as above, within the units.
        unsafe { std::slice::from_raw_parts_mut(self.pointer::<u8>(), bytes) }
    }

    /// Where the bytes begin: a multiple of 16.
    pub fn pointer<T>(&mut self) -> *mut T {
        // SAFETY: the guard is part of the units.
        unsafe { self.units.as_mut_ptr().add(Self::GUARD_UNITS).cast() }
    }

    fn words(&self) -> impl Iterator<Item = u64> {
        self.bytes().chunks_exact(8).map(|word| u64::from_ne_bytes(word.try_into().expect("eight bytes")))
    }

    /// Nothing was written in front of the memory or behind it.
    pub fn assert_guarded(&self, name: &str) {
        let (front, rest) = self.all().split_at(Self::GUARD_UNITS * 16);
        let stray = front.iter().chain(&rest[self.bytes..]).position(|byte| *byte != POISON);
        assert_eq!(stray, None, "written outside of {name}");
    }
}

/// Launches `blocks` blocks, which must not fault.
pub fn run(shape: Launch, blocks: u32, kernel: impl Fn()) {
    if blocks > 0 {
        launch(Config::new(blocks, shape.threads, shape.shared_bytes), kernel).unwrap_or_else(|fault| panic!("{fault}"));
    }
}

/// The emulator of `cuda_std`.
pub struct Emulator;

impl Emulator {
    /// Decodes whatever `coded` is.
    pub fn outcome(&self, spec: &Spec, coded: &[u8], plain_capacity: usize) -> Outcome {
        self.outcome_of(&Kernels::of(spec), spec.settings, coded, plain_capacity)
    }

    /// Decodes whatever `coded` is by these kernels.
    pub fn outcome_of(&self, kernels: &Kernels, settings: Settings, coded: &[u8], plain_capacity: usize) -> Outcome {
        let chunks = Container { plain: plain_capacity as u32, chunk: settings.chunk }.chunks();
        let scan_blocks = chunks.div_ceil(SCAN_ENTRIES).max(1);
        let capacity = plain_capacity as u64;
        let (mut stream, mut plain) = (Memory::new(coded.len(), coded), Memory::new(plain_capacity, &[]));
        let mut offsets = Memory::new(4 * chunks as usize, &[]);
        let mut look_back = Memory::new(8 * scan_blocks as usize, &vec![0; 8 * scan_blocks as usize]);
        let mut statuses = Memory::new(4 * chunks as usize, &vec![0xFF; 4 * chunks as usize]);
        let mut report = Memory::new(size_of::<StreamReport>(), &[0xFF; size_of::<StreamReport>()]);
        let decode = &kernels.decode;
        let log2 = settings.chunk.log2();
        let (s, p, o) = (stream.pointer(), plain.pointer::<u8>(), offsets.pointer());
        let (l, t, r, none) = (look_back.pointer(), statuses.pointer(), report.pointer(), std::ptr::null());
        let bytes = coded.len() as u64;
        // SAFETY: the sizes are those that the kernels ask for, as in `DeviceCodec::decode`.
        unsafe {
            run(SCAN, scan_blocks, || lc_scan_entries(s, none, bytes, log2, capacity, o, l, r));
            run(kernels.decode_launch, plain_capacity.div_ceil(kernels.tile_bytes as usize) as u32, || {
                decode(s, none, bytes, log2, p.cast(), capacity, o, t, r)
            });
            if let Some(tails) = &kernels.tails {
                run(TAIL, 1, || (tails.decode)(s, none, bytes, log2, p, capacity, o, t, r));
            }
        }
        for (memory, name) in [(&plain, "plain"), (&offsets, "offsets"), (&statuses, "statuses"), (&report, "report")] {
            memory.assert_guarded(name);
        }
        let report: Vec<u64> = report.words().collect();
        let halves = |word: u64| ((word >> 32) as u32, word as u32);
        let decoded = match (report[StreamReport::STREAM_FAULT], report[StreamReport::CHUNK_FAULT]) {
            (NO_FAULT, NO_FAULT) => Decoded::Whole { plain_bytes: report[StreamReport::BYTES] },
            (NO_FAULT, fault) => {
                let (chunk, status) = halves(fault);
                Decoded::BadChunk { plain_bytes: report[StreamReport::BYTES], chunk, status: chunk_status(status) }
            }
            (fault, _) => {
                let (status, chunk) = halves(fault);
                Decoded::BadStream { status: stream_status(status), chunk }
            }
        };
        let words = statuses.bytes().chunks_exact(4).map(|word| u32::from_ne_bytes(word.try_into().expect("four bytes")));
        let statuses: Vec<ChunkStatus> = words.map(chunk_status).collect();
        Outcome { decoded, statuses, plain: plain.bytes().to_vec() }
    }
}

impl Executor for Emulator {
    fn name(&self) -> &str {
        "emulator"
    }

    fn max_plain_bytes(&self) -> usize {
        100_000
    }

    fn max_damaged_streams(&self) -> usize {
        3000
    }

    fn encode(&self, spec: &Spec, plain: &[u8]) -> Result<Vec<u8>> {
        Ok(self.stream_of(&Kernels::of(spec), spec.settings, plain))
    }

    fn decode(&self, spec: &Spec, coded: &[u8], plain_bytes: usize) -> Result<Vec<u8>> {
        as_cpu(spec, coded, plain_bytes, self.outcome(spec, coded, plain_bytes))
    }
}

impl Emulator {
    /// The stream that these kernels make of `plain`.
    pub fn stream_of(&self, kernels: &Kernels, settings: Settings, plain: &[u8]) -> Vec<u8> {
        let container = Container { plain: plain.len() as u32, chunk: settings.chunk };
        if plain.is_empty() {
            return Vec::new();
        }
        // Where there is a kernel for the short last chunk, the other takes the full ones alone.
        let of_tiles = match kernels.tails {
            Some(_) => container.plain / settings.chunk.bytes() * settings.chunk.bytes(),
            None => container.plain,
        };
        let mut input = Memory::new(plain.len(), plain);
        let mut stream = Memory::new(container.max_stream_bytes() as usize, &[]);
        let scratch_bytes = 8 * plain.len().div_ceil(kernels.tile_bytes as usize);
        let mut look_back = Memory::new(scratch_bytes, &vec![0; scratch_bytes]);
        let mut report = Memory::new(size_of::<StreamReport>(), &[0xFF; size_of::<StreamReport>()]);
        let encode = &kernels.encode;
        let (p, s, l, r) = (input.pointer::<u8>(), stream.pointer(), look_back.pointer(), report.pointer());
        // The sizes are those that the kernels ask for, as in `DeviceCodec::encode`.
        run(kernels.encode_launch, of_tiles.div_ceil(kernels.tile_bytes), || {
            encode(p.cast(), container.plain, settings.chunk.log2(), s, l, r)
        });
        if let Some(tails) = kernels.tails.as_ref().filter(|_| of_tiles < container.plain) {
            run(TAIL, 1, || (tails.encode)(p, container.plain, settings.chunk.log2(), s, l, r));
        }
        for (memory, name) in [(&input, "plain"), (&stream, "stream"), (&look_back, "look-back"), (&report, "report")] {
            memory.assert_guarded(name);
        }
        let report: Vec<u64> = report.words().collect();
        assert_eq!(report[StreamReport::STREAM_FAULT], NO_FAULT);
        stream.bytes()[..report[StreamReport::BYTES] as usize].to_vec()
    }
}
