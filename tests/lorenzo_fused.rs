//! The fused kernels write the bytes of one stage after another, and read them.

mod support;

use support::assert_same_bytes;
use support::device::Cuda;
use support::generate::splitmix64;
use support::lorenzo_emulator::{decode_fused, encode_fused};
use support::{Cpu, Executor, Spec};
use warpack::lorenzo::{Lorenzo, Predictor, zigzag};
use warpack::stage::clog::{Decoded, DeviceCodec, ENTRY, REPORT_BYTES, Settings};
use warpack::{ElementType, Error, WordSize};

/// Lorenzo, zigzag and CLOG on the CPU, one after the other.
fn staged(plain: &[u8], element: ElementType, length: u32, order: u32, settings: Settings) -> Vec<u8> {
    let lorenzo = Lorenzo::builder(element).block_size(length.into()).order(order.into()).build().expect("settings");
    let residuals = lorenzo.forward(plain).expect("ports").output;
    let mut mapped = vec![0; residuals.len()];
    zigzag::map(settings.word, &residuals, &mut mapped).expect("as long");
    Cpu.encode(&Spec { entry: &ENTRY, settings }, &mapped).expect("a stream")
}

/// The stream of `plain` and what is in it, by the fused kernels on a device.
fn on_device(cuda: &Cuda, plain: &[u8], lorenzo: &Lorenzo, settings: Settings) -> (Vec<u8>, Vec<u8>) {
    let codec = DeviceCodec::fused(lorenzo, settings, cuda.device()).expect("kernels");
    let bytes = plain.len() as u64;
    let from = cuda.buffer(plain.len(), plain);
    let mut coded = cuda.buffer(codec.max_stream_bytes(bytes).expect("short enough"), &[]);
    let mut scratch = cuda.buffer(codec.encode_scratch_bytes(bytes).max(codec.decode_scratch_bytes(bytes)), &[]);
    let (mut statuses, mut report) = (cuda.buffer(codec.status_bytes(bytes), &[]), cuda.buffer(REPORT_BYTES, &[]));
    let mut again = cuda.buffer(plain.len(), &[]);
    let stream = cuda.stream();
    // SAFETY: the buffers are this call's own, and what is read below waits for the work.
    let coded_bytes = unsafe {
        let (to, scratch, report) = (coded.as_mut_slice(), scratch.as_mut_slice(), report.as_mut_slice());
        codec.encode(from.as_slice(), to, scratch, report, stream)
    }
    .and_then(|()| codec.read_encoded(report.as_slice(), stream))
    .expect("the device works") as usize;
    // SAFETY: as above.
    let decoded = unsafe {
        let coded = coded.as_slice().slice(..coded_bytes);
        let (statuses, scratch) = (statuses.as_mut_slice(), scratch.as_mut_slice());
        codec.decode(coded, None, again.as_mut_slice(), statuses, scratch, report.as_mut_slice(), stream)
    }
    .and_then(|()| codec.read_decoded(report.as_slice(), stream));
    assert_eq!(decoded, Ok(Decoded::Whole { plain_bytes: bytes }));
    let (mut found, mut back) = (vec![0; coded_bytes], vec![0; plain.len()]);
    stream.copy_to_host(&mut found, coded.as_slice().slice(..coded_bytes)).expect("a copy");
    stream.copy_to_host(&mut back, again.as_slice()).expect("a copy");
    (found, back)
}

#[test]
fn what_is_not_fused_is_refused() {
    let Some(cuda) = Cuda::open() else { return };
    let chain = |element, block, centering, word| {
        let lorenzo = Lorenzo::builder(element).block_size(block).centering(centering).build().expect("settings");
        let settings = Settings { word, ..Settings::default() };
        DeviceCodec::fused(&lorenzo, settings, cuda.device()).map(|_| ())
    };
    let refused = |found| assert!(matches!(found, Err(Error::NotFused { .. })), "{found:?}");
    refused(chain(ElementType::I32, 256, true, WordSize::W4));
    refused(chain(ElementType::I32, 256, false, WordSize::W2));
    refused(chain(ElementType::I32, 100, false, WordSize::W4));
    refused(chain(ElementType::I32, 2, false, WordSize::W4));
    refused(chain(ElementType::I64, 256, false, WordSize::W8));
    assert_eq!(chain(ElementType::I32, 1024, false, WordSize::W4), Ok(()));
}

#[test]
fn fused_kernels_agree_with_one_stage_after_another() {
    let mut state = 7;
    for settings in Settings::all() {
        let word = settings.word.bytes();
        let element = match word {
            2 => ElementType::U16,
            4 => ElementType::U32,
            _ => continue,
        };
        let chunk = settings.chunk.bytes() as usize;
        for (length, order) in [(16 / word, 1), (32, 2), (256, 1), (1024, 2), (1024, 1), (16 / word, 2)] {
            for bytes in [0, 4, chunk + 24, 3 * chunk, 36_864 + 1000] {
                // Smooth, noisy and all-different parts; a tail of its own, or none.
                let mut plain = vec![0u8; bytes];
                let mut walk = 1000u64;
                for (i, number) in plain.chunks_exact_mut(word as usize).enumerate() {
                    let r = splitmix64(&mut state);
                    walk = walk.wrapping_add((r >> 32) % 9).wrapping_sub(4);
                    let x = if i / 3000 % 3 == 2 { r } else { walk };
                    number.copy_from_slice(&x.to_le_bytes()[..word as usize]);
                }
                let at = format!("{bytes} bytes in segments of {length}, order {order}, {settings:?}");
                let expected = staged(&plain, element, length, order, settings);
                let coded = encode_fused(&plain, settings, length, order);
                assert_same_bytes(&coded, &expected, &at);
                assert_same_bytes(&decode_fused(&coded, plain.len(), settings, length, order), &plain, &at);
                if let Some(cuda) = Cuda::open() {
                    let lorenzo = Lorenzo::builder(element).block_size(length.into()).order(order.into()).build();
                    let (coded, again) = on_device(cuda, &plain, &lorenzo.expect("settings"), settings);
                    assert_same_bytes(&coded, &expected, &format!("{at}, on a device"));
                    assert_same_bytes(&again, &plain, &format!("{at}, on a device"));
                }
            }
        }
    }
}
