//! What only a device can show: CUDA graphs, lengths that stay on the device, buffers that do not fit. Skipped, aloud, where
//! there is none.
#![cfg(feature = "cuda")]

mod support;

use support::device::{Cuda, POISON};
use support::generate::half_normal_u16;
use support::{Executor, Spec};
use warpack::backend::{CudaDevice, DeviceBuffer, DeviceSlice, Stream};
use warpack::stage::lc::{Decoded, REPORT_BYTES, Settings};
use warpack::{Backend, Error};

/// The device, or nothing to do.
fn device() -> Option<&'static Cuda> {
    support::executors(); // says that there is none
    Cuda::open()
}

fn filled(device: &CudaDevice, stream: &Stream, bytes: usize, data: &[u8]) -> DeviceBuffer {
    let mut buffer = DeviceBuffer::new(device, bytes).expect("memory");
    stream.fill(buffer.as_mut_slice(), POISON).expect("a fill");
    stream.copy_to_device(buffer.as_mut_slice().slice(..data.len()), data).expect("a copy");
    buffer
}

#[test]
fn both_directions_run_from_one_graph_without_the_host() {
    let Some(cuda) = device() else { return };
    let stream = Stream::new(cuda.device()).expect("a stream");
    // Short last chunk, whole chunks only, less than a chunk.
    for (spec, bytes) in Spec::all().flat_map(|spec| [100_001, 131_072, 99].map(|bytes| (spec, bytes))) {
        let codec = cuda.codec(&spec);
        let first = half_normal_u16(bytes / 2 + 1, 300.0);
        let second = half_normal_u16(bytes / 2 + 1, 20.0);
        let mut plain = filled(cuda.device(), &stream, bytes, &[]);
        let max_stream_bytes = codec.max_stream_bytes(bytes as u64).expect("a length");
        let mut coded = filled(cuda.device(), &stream, max_stream_bytes, &[]);
        let mut again = filled(cuda.device(), &stream, bytes, &[]);
        let mut statuses = filled(cuda.device(), &stream, codec.status_bytes(bytes as u64), &[]);
        let mut encode_scratch = filled(cuda.device(), &stream, codec.encode_scratch_bytes(bytes as u64), &[]);
        let mut decode_scratch = filled(cuda.device(), &stream, codec.decode_scratch_bytes(bytes as u64), &[]);
        let mut encoded = filled(cuda.device(), &stream, REPORT_BYTES, &[]);
        let mut decoded = filled(cuda.device(), &stream, REPORT_BYTES, &[]);
        let graph = stream
            .capture(|| {
                // SAFETY: all buffers outlive the graph; the test waits before it looks at them.
                unsafe {
                    codec.encode(
                        plain.as_slice(),
                        coded.as_mut_slice(),
                        encode_scratch.as_mut_slice(),
                        encoded.as_mut_slice(),
                        &stream,
                    )?;
                    // The decoder learns the stream's length from the encoder's report, on the device.
                    codec.decode(
                        coded.as_slice(),
                        Some(encoded.as_slice().slice(..8)),
                        again.as_mut_slice(),
                        statuses.as_mut_slice(),
                        decode_scratch.as_mut_slice(),
                        decoded.as_mut_slice(),
                        &stream,
                    )
                }
            })
            .expect("a graph");
        for data in [&first[..bytes], &second[..bytes], &first[..bytes]] {
            stream.copy_to_device(plain.as_mut_slice(), data).expect("a copy");
            stream.fill(again.as_mut_slice(), POISON).expect("a fill");
            // SAFETY: as above.
            unsafe { graph.launch(&stream).expect("a launch") };
            let stream_bytes = codec.read_encoded(encoded.as_slice(), &stream).expect("a length") as usize;
            let found = codec.read_decoded(decoded.as_slice(), &stream);
            assert_eq!(found, Ok(Decoded::Whole { plain_bytes: bytes as u64 }), "{spec:?}, {bytes} bytes");
            let mut host = vec![0; stream_bytes];
            stream.copy_to_host(&mut host, coded.as_slice().slice(..stream_bytes)).expect("a copy");
            let expected = support::Cpu.encode(&spec, data).expect("a stream");
            support::assert_same_bytes(&host, &expected, &format!("{spec:?}, {bytes} bytes"));
            let mut host = vec![0; bytes];
            stream.copy_to_host(&mut host, again.as_slice()).expect("a copy");
            support::assert_same_bytes(&host, data, &format!("{spec:?}, {bytes} bytes"));
        }
    }
}

#[test]
fn buffers_that_do_not_fit_are_refused_before_anything_runs() {
    let Some(cuda) = device() else { return };
    let stream = Stream::new(cuda.device()).expect("a stream");
    let codec = cuda.codec(&Spec { entry: &warpack::stage::clog::ENTRY, settings: Settings::default() });
    let bytes = 100_000;
    let plain = filled(cuda.device(), &stream, bytes, &[]);
    let max_stream_bytes = codec.max_stream_bytes(bytes as u64).expect("a length");
    let mut coded = filled(cuda.device(), &stream, max_stream_bytes + 16, &[]);
    let scratch_bytes = codec.encode_scratch_bytes(bytes as u64);
    let mut scratch = filled(cuda.device(), &stream, scratch_bytes, &[]);
    let mut report = filled(cuda.device(), &stream, REPORT_BYTES, &[]);
    let whole = (0, max_stream_bytes, scratch_bytes, REPORT_BYTES);
    let mut encode = |plain: DeviceSlice<'_>,
                      (start, coded_bytes, scratch_bytes, report_bytes): (usize, usize, usize, usize)| {
        // SAFETY: the buffers are the test's own.
        unsafe {
            codec.encode(
                plain,
                coded.as_mut_slice().slice(start..start + coded_bytes),
                scratch.as_mut_slice().slice(..scratch_bytes),
                report.as_mut_slice().slice(..report_bytes),
                &stream,
            )
        }
    };
    let too_small = |found: Result<(), Error>, name: &str| match found {
        Err(Error::BufferTooSmall { buffer, need, have }) => assert_eq!((buffer, need), (name, have + 1)),
        other => panic!("{name}: {other:?}"),
    };
    assert_eq!(encode(plain.as_slice(), whole), Ok(()));
    too_small(encode(plain.as_slice(), (0, max_stream_bytes - 1, scratch_bytes, REPORT_BYTES)), "coded");
    too_small(encode(plain.as_slice(), (0, max_stream_bytes, scratch_bytes - 1, REPORT_BYTES)), "scratch");
    too_small(encode(plain.as_slice(), (0, max_stream_bytes, scratch_bytes, REPORT_BYTES - 1)), "report");
    for start in 1..16 {
        let found = encode(plain.as_slice(), (start, max_stream_bytes, scratch_bytes, REPORT_BYTES));
        assert!(matches!(found, Err(Error::Alignment { buffer: "coded", align: 16, .. })), "{found:?}");
    }
    let found = encode(plain.as_slice().slice(4..), whole);
    assert!(matches!(found, Err(Error::Alignment { buffer: "plain", .. })), "{found:?}");
    stream.synchronize().expect("nothing went wrong on the device");
}

#[test]
fn a_capacity_larger_than_the_data_is_left_alone_behind_it() {
    let Some(cuda) = device() else { return };
    for spec in Spec::all() {
        let plain = half_normal_u16(50_003, 300.0);
        let coded = support::Cpu.encode(&spec, &plain).expect("a stream");
        for extra in [0, 1, 4096, 1 << 20] {
            let outcome = cuda.outcome(&spec, &coded, plain.len() + extra);
            assert_eq!(outcome.decoded, Decoded::Whole { plain_bytes: plain.len() as u64 });
            support::assert_same_bytes(&outcome.plain[..plain.len()], &plain, "the data");
            assert!(outcome.plain[plain.len()..].iter().all(|byte| *byte == POISON), "written behind the data");
        }
        // One byte less than the stream holds: refused, nothing written.
        let outcome = cuda.outcome(&spec, &coded, plain.len() - 1);
        let status = shared_types::lc::StreamStatus::PlainLength;
        assert_eq!(outcome.decoded, Decoded::BadStream { status, chunk: 0 });
        assert!(outcome.plain.iter().all(|byte| *byte == POISON));
    }
}

/// Several blocks of the entry scan, many tiles, and the coder that an archive uses.
#[test]
fn long_inputs_come_out_as_on_the_cpu() {
    let Some(cuda) = device() else { return };
    let plain = half_normal_u16(20_000_001, 300.0);
    for spec in Spec::all() {
        let expected = support::Cpu.encode(&spec, &plain).expect("a stream");
        let mut coder = spec.stage().coder(&Backend::Cuda(cuda.device().clone())).expect("a coder");
        for part in [plain.len(), 1_000_000, 0, plain.len()] {
            let expected =
                if part == plain.len() { expected.clone() } else { support::Cpu.encode(&spec, &plain[..part]).unwrap() };
            let (mut coded, mut again) = (vec![1; 3], vec![POISON; part]);
            coder.encode(&plain[..part], &mut coded).expect("a stream");
            support::assert_same_bytes(&coded, &expected, &format!("{spec:?}, {part} bytes"));
            coder.decode(&coded, &mut again).expect("the data");
            support::assert_same_bytes(&again, &plain[..part], &format!("{spec:?}, {part} bytes"));
        }
    }
}

#[test]
fn predictors_run_both_ways_from_one_graph() {
    use warpack::ElementType;
    use warpack::lorenzo::{AdaptiveLorenzo, DevicePorts, DevicePortsMut, DevicePredictor, Lorenzo};
    let Some(cuda) = device() else { return };
    let (device, stream) = (cuda.device(), Stream::new(cuda.device()).expect("a stream"));
    let bytes = 4 * 60 * 50 * 40;
    let lorenzo = Lorenzo::builder(ElementType::I32);
    let block = |size| lorenzo.block_size(size).order(2).centering(true).build().expect("settings");
    let grid = lorenzo.extents([60, 50, 40]).build().expect("settings");
    let adaptive = AdaptiveLorenzo::builder(ElementType::I32).build().expect("settings");
    let predictors = [
        DevicePredictor::lorenzo(block(256), device),
        DevicePredictor::lorenzo(block(77), device),
        DevicePredictor::lorenzo(grid, device),
        DevicePredictor::adaptive(adaptive, device),
    ];
    for predictor in predictors.map(|predictor| predictor.expect("kernels")) {
        let sizes = predictor.port_bytes(bytes as u64).expect("lengths");
        let mut plain = filled(device, &stream, bytes, &[]);
        let mut output = filled(device, &stream, sizes.output as usize, &[]);
        // The means of `adaptive_lorenzo` keep their full room: how many there are is not known when the graph is made.
        let mut means = filled(device, &stream, sizes.means as usize, &[]);
        let mut modes = filled(device, &stream, sizes.modes as usize, &[]);
        let mut again = filled(device, &stream, bytes, &[]);
        let scratch_bytes = predictor.scratch_bytes(bytes as u64).expect("a length");
        let mut scratch = filled(device, &stream, scratch_bytes, &[]);
        let graph = stream
            .capture(|| {
                let ports =
                    DevicePortsMut { output: output.as_mut_slice(), means: means.as_mut_slice(), modes: modes.as_mut_slice() };
                // SAFETY: all buffers outlive the graph; the test waits before it looks at them.
                unsafe {
                    predictor.forward(plain.as_slice(), ports, scratch.as_mut_slice(), &stream)?;
                    let ports = DevicePorts { output: output.as_slice(), means: means.as_slice(), modes: modes.as_slice() };
                    predictor.inverse(ports, again.as_mut_slice(), scratch.as_mut_slice(), &stream)
                }
            })
            .expect("a graph");
        for sigma in [20.0, 300.0] {
            let data = half_normal_u16(bytes / 2, sigma);
            stream.copy_to_device(plain.as_mut_slice(), &data).expect("a copy");
            stream.fill(again.as_mut_slice(), POISON).expect("a fill");
            // SAFETY: as above.
            unsafe { graph.launch(&stream).expect("a launch") };
            let mut host = vec![0; bytes];
            stream.copy_to_host(&mut host, again.as_slice()).expect("a copy");
            support::assert_same_bytes(&host, &data, &format!("{predictor:?}"));
        }
    }
}
