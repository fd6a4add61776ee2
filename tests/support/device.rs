//! A codec on a device and under the emulator: the kernels with nothing checked in front of them, so that whatever is wrong
//! with a stream has to be found by the kernels themselves.

use super::{Executor, Spec};
use std::collections::HashMap;
use std::sync::{Mutex, OnceLock};
use warpack::backend::{CudaDevice, DeviceBuffer, Stream};
use warpack::stage::lc::{Decoded, DeviceCodec, REPORT_BYTES, Settings, chunk_status};
use warpack::{Backend, Error, Result};

use shared_types::lc::ChunkStatus;

/// What the kernels made of a stream.
#[derive(Debug)]
pub struct Outcome {
    /// What they reported of the whole.
    pub decoded: Decoded,
    /// What they left for each chunk that fits into the capacity.
    pub statuses: Vec<ChunkStatus>,
    /// The plain bytes, as many as the capacity.
    pub plain: Vec<u8>,
}

/// The byte that outputs are filled with before: nobody takes it for an answer.
pub const POISON: u8 = 0xA5;

/// The error that the CPU would give for what the kernels found, after checking that it is for the same reason.
pub fn as_cpu(spec: &Spec, coded: &[u8], plain_bytes: usize, outcome: Outcome) -> Result<Vec<u8>> {
    let mut cpu = spec.stage().coder(&Backend::Cpu).expect("a CPU coder");
    let expected = cpu.decode(coded, &mut vec![0; plain_bytes]);
    if let Err(fault @ Error::PlainLength { .. }) = &expected {
        // Only the host knows which length the caller expects; the kernels know the capacity.
        return Err(fault.clone());
    }
    match (outcome.decoded, expected) {
        (Decoded::Whole { plain_bytes: found }, Ok(())) => {
            assert_eq!(found, plain_bytes as u64);
            assert!(outcome.statuses.iter().all(|status| *status == ChunkStatus::Ok), "{:?}", outcome.statuses);
            Ok(outcome.plain)
        }
        (Decoded::BadChunk { chunk, status, .. }, Err(Error::InChunk { index, source })) => {
            assert_eq!((u64::from(chunk), Some(status)), (index, source.chunk_status()));
            assert_eq!(outcome.statuses[chunk as usize], status);
            Err(Error::InChunk { index, source })
        }
        (Decoded::BadStream { status, chunk }, Err(fault)) => {
            assert_eq!(Some(status), fault.stream_status(), "{fault}");
            if let Error::InChunk { index, .. } = fault {
                assert_eq!(index, u64::from(chunk));
            }
            assert!(outcome.statuses.iter().all(|status| *status == ChunkStatus::NotDecoded), "{:?}", outcome.statuses);
            assert!(outcome.plain.iter().all(|byte| *byte == POISON), "a refused stream was decoded");
            Err(fault)
        }
        (found, expected) => panic!("the kernels say {found:?}, the CPU {expected:?}"),
    }
}

/// An NVIDIA GPU.
pub struct Cuda {
    device: CudaDevice,
    stream: Stream,
    codecs: Mutex<HashMap<(&'static str, Settings), DeviceCodec>>,
}

impl Cuda {
    /// The first device, if there is one; opened once for all tests of a program.
    pub fn open() -> Option<&'static Self> {
        static CUDA: OnceLock<Option<Cuda>> = OnceLock::new();
        CUDA.get_or_init(|| {
            let device = CudaDevice::open(0).ok()?;
            let stream = Stream::new(&device).expect("a stream");
            Some(Self { device, stream, codecs: Mutex::default() })
        })
        .as_ref()
    }

    /// The device.
    pub fn device(&self) -> &CudaDevice {
        &self.device
    }

    /// The stream that all tests use.
    pub fn stream(&self) -> &Stream {
        &self.stream
    }

    /// The component with its settings.
    pub fn codec(&self, spec: &Spec) -> DeviceCodec {
        let mut codecs = self.codecs.lock().expect("no test panicked in here");
        let codec = codecs.entry((spec.entry.name, spec.settings));
        codec.or_insert_with(|| DeviceCodec::new(spec.entry, spec.settings, &self.device).expect("kernels")).clone()
    }

    /// Memory of `bytes` bytes that begins with `fill`; the rest is [`POISON`].
    pub fn buffer(&self, bytes: usize, fill: &[u8]) -> DeviceBuffer {
        let mut buffer = DeviceBuffer::new(&self.device, bytes).expect("memory");
        self.stream.fill(buffer.as_mut_slice(), POISON).expect("a fill");
        self.stream.copy_to_device(buffer.as_mut_slice().slice(..fill.len()), fill).expect("a copy");
        buffer
    }

    /// Decodes whatever `coded` is.
    pub fn outcome(&self, spec: &Spec, coded: &[u8], plain_capacity: usize) -> Outcome {
        let codec = self.codec(spec);
        let (coded, mut plain) = (self.buffer(coded.len(), coded), self.buffer(plain_capacity, &[]));
        let status_bytes = codec.status_bytes(plain_capacity as u64);
        let (mut statuses, mut report) = (self.buffer(status_bytes, &[]), self.buffer(REPORT_BYTES, &[]));
        let mut scratch = self.buffer(codec.decode_scratch_bytes(plain_capacity as u64), &[]);
        // SAFETY: the buffers are this call's own, and `read_decoded` waits for the work.
        let decoded = unsafe {
            codec.decode(
                coded.as_slice(),
                None,
                plain.as_mut_slice(),
                statuses.as_mut_slice(),
                scratch.as_mut_slice(),
                report.as_mut_slice(),
                &self.stream,
            )
        }
        .and_then(|()| codec.read_decoded(report.as_slice(), &self.stream))
        .expect("the device works");
        let mut outcome = Outcome { decoded, statuses: Vec::new(), plain: vec![0; plain_capacity] };
        let mut words = vec![0; status_bytes];
        self.stream.copy_to_host(&mut outcome.plain, plain.as_slice()).expect("a copy");
        self.stream.copy_to_host(&mut words, statuses.as_slice()).expect("a copy");
        outcome.statuses = words.chunks_exact(4).map(|w| chunk_status(u32::from_le_bytes([w[0], w[1], w[2], w[3]]))).collect();
        outcome
    }
}

impl Executor for Cuda {
    fn name(&self) -> &str {
        "cuda"
    }

    fn encode(&self, spec: &Spec, plain: &[u8]) -> Result<Vec<u8>> {
        let codec = self.codec(spec);
        let bytes = plain.len() as u64;
        let plain = self.buffer(plain.len(), plain);
        let mut coded = self.buffer(codec.max_stream_bytes(bytes)?, &[]);
        let mut scratch = self.buffer(codec.encode_scratch_bytes(bytes), &[]);
        let mut report = self.buffer(REPORT_BYTES, &[]);
        // SAFETY: the buffers are this call's own, and `read_encoded` waits for the work.
        unsafe {
            codec.encode(
                plain.as_slice(),
                coded.as_mut_slice(),
                scratch.as_mut_slice(),
                report.as_mut_slice(),
                &self.stream,
            )?;
        }
        let bytes = codec.read_encoded(report.as_slice(), &self.stream)? as usize;
        let mut host = vec![0; bytes];
        self.stream.copy_to_host(&mut host, coded.as_slice().slice(..bytes))?;
        Ok(host)
    }

    fn decode(&self, spec: &Spec, coded: &[u8], plain_bytes: usize) -> Result<Vec<u8>> {
        as_cpu(spec, coded, plain_bytes, self.outcome(spec, coded, plain_bytes))
    }
}
