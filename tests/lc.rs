//! Round trips of the LC components, and what they make of streams that no encoder writes.

mod support;

use quickcheck::quickcheck;
use support::generate::{Plain, splitmix64};
use support::{Cpu, Executor, Spec, assert_same_bytes, executors, root};
use warpack::stage::clog::{self, Settings};
use warpack::stage::{Entry, rare};
use warpack::{ChunkSize, Error, Result, WordSize};

use shared_types::lc::{ChunkStatus, RAW};

quickcheck! {
    fn whatever_is_encoded_decodes_again(plain: Plain) -> bool {
        Spec::all().all(|spec| {
            let expected = Cpu.encode(&spec, &plain.0).unwrap();
            let max_coded_bytes = spec.stage().max_coded_bytes(plain.0.len() as u64);
            assert!(expected.len() as u64 <= max_coded_bytes, "{} bytes, {max_coded_bytes} at most", expected.len());
            assert_eq!(spec.component().check(&expected), Ok(plain.0.len() as u32));
            assert_same_bytes(&Cpu.decode(&spec, &expected, plain.0.len()).unwrap(), &plain.0, &format!("{spec:?}"));
            true
        })
    }

    fn a_chunk_alone_decodes_again(plain: Plain) -> bool {
        Spec::all().all(|spec| {
            let (component, chunk_bytes) = (spec.component(), spec.settings.chunk.bytes() as usize);
            let mut coded = vec![0xA5; chunk_bytes];
            plain.0.chunks(chunk_bytes).all(|plain| match component.encode_chunk(plain, &mut coded) {
                None => true,
                Some(used) => {
                    let mut again = vec![0xA5; plain.len()];
                    component.decode_chunk(&coded[..used], &mut again).unwrap();
                    again == plain
                }
            })
        })
    }

    fn the_number_of_threads_does_not_show(plain: Plain) -> bool {
        // Long enough for several shares.
        let plain = plain.0.repeat(400_000 / plain.0.len().max(1) + 1);
        Spec::components().all(|entry| {
            let settings = Settings { chunk: ChunkSize::C4096, ..Settings::default() };
            let component = Spec { entry, settings }.component();
            let [one, four] = [1, 4].map(|threads| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                let (mut coded, mut again) = (Vec::new(), vec![0xA5; plain.len()]);
                pool.install(|| component.encode(&plain, &mut coded)).unwrap();
                pool.install(|| component.decode(&coded, &mut again)).unwrap();
                assert_same_bytes(&again, &plain, entry.name);
                coded
            });
            one == four
        })
    }
}

/// Where the CPU, whose answers are those of the vectors, is not alone: one setting of each component an input, so that a slow
/// emulator gets through as many inputs.
#[test]
fn the_same_bytes_everywhere() {
    fn same(plain: Plain, setting: usize) -> bool {
        Spec::components().all(|entry| {
            let spec = Spec::all_of(entry).nth(setting % Settings::all().count()).unwrap();
            let expected = Cpu.encode(&spec, &plain.0).unwrap();
            executors().iter().filter(|executor| plain.0.len() <= executor.max_plain_bytes()).all(|executor| {
                let at = format!("{spec:?} on {}", executor.name());
                assert_same_bytes(&executor.encode(&spec, &plain.0).unwrap(), &expected, &at);
                assert_same_bytes(&executor.decode(&spec, &expected, plain.0.len()).unwrap(), &plain.0, &at);
                true
            })
        })
    }
    quickcheck::QuickCheck::new().tests(300).quickcheck(same as fn(Plain, usize) -> bool);
}

/// Three chunks, two coded and one raw or short, in a stream of a few hundred bytes.
fn small_stream(spec: &Spec, short_is_raw: bool) -> (Vec<u8>, Vec<u8>) {
    let chunk_bytes = spec.settings.chunk.bytes() as usize;
    let word_bytes = spec.settings.word.bytes() as usize;
    let mut plain = vec![0; chunk_bytes];
    // A few words at both ends and in the middle, so that subchunks of width 0, small and full lie side by side.
    plain[..5].copy_from_slice(&[3, 0, 0, 0, 1]);
    plain[chunk_bytes / 2] = 0xFF;
    plain[chunk_bytes - 1] = if spec.settings.word == WordSize::W1 { 0x80 } else { 0 };
    let mut state = 7;
    if short_is_raw {
        plain.extend((0..21).map(|_| splitmix64(&mut state) as u8 | 0x80));
    } else {
        // Words of 3 bits, some whole, and leftover bytes: bits that pad, and a bitmap behind them.
        for i in 0..151 {
            let top = if i % 61 == word_bytes - 1 { 0xC0 } else { 0 };
            let low = if i % word_bytes == 0 { splitmix64(&mut state) as u8 & 7 } else { 0 };
            plain.push(top | low);
        }
    }
    let coded = Cpu.encode(spec, &plain).unwrap();
    (plain, coded)
}

/// What all functions of the library that look at a stream must agree on.
fn verdict(spec: &Spec, coded: &[u8], plain_bytes: usize) -> Result<Vec<u8>> {
    let component = spec.component();
    let mut plain = vec![0xA5; plain_bytes];
    let verdict = component.decode(coded, &mut plain);
    let mut each = vec![0xA5; plain_bytes];
    match component.decode_each(coded, &mut each) {
        Err(fault) => assert_eq!(verdict.clone().unwrap_err(), fault),
        Ok(statuses) => {
            let bad = statuses.iter().position(|&status| status != ChunkStatus::Ok);
            match &verdict {
                Ok(()) => assert_eq!((bad, &each), (None, &plain)),
                Err(Error::InChunk { index, source }) => {
                    assert_eq!(bad, Some(*index as usize));
                    assert_eq!(source.chunk_status(), Some(statuses[*index as usize]));
                }
                Err(fault) => panic!("{fault} is a fault of the container, but the chunks were decoded"),
            }
        }
    }
    match component.check(coded) {
        Ok(found) if found as usize == plain_bytes => assert_eq!(verdict, Ok(())),
        Ok(found) => {
            let (found, expected) = (found.into(), plain_bytes as u64);
            assert_eq!(verdict, Err(Error::PlainLength { found, expected }));
        }
        Err(fault) => assert!(verdict == Err(fault) || matches!(verdict, Err(Error::PlainLength { .. }))),
    }
    verdict.map(|()| plain)
}

fn damaged_streams_get_the_same_answer_everywhere(entry: &'static Entry) {
    let settings = WordSize::ALL.map(|word| Settings { word, chunk: ChunkSize::C4096 });
    for (spec, short_is_raw) in settings.iter().flat_map(|&settings| [true, false].map(|raw| (Spec { entry, settings }, raw))) {
        let (plain, sound) = small_stream(&spec, short_is_raw);
        assert!((40..700).contains(&sound.len()), "{spec:?}: {} bytes", sound.len());
        assert_eq!(verdict(&spec, &sound, plain.len()).as_ref(), Ok(&plain));

        let truncated = (1..sound.len()).map(|bytes| sound[..bytes].to_vec());
        let changed = (0..sound.len()).flat_map(|at| {
            let sound = &sound;
            [1, 2, 4, 8, 16, 32, 64, 128, 3, 0x0F, 0x11, 0x5A, 0xF0, 0xFE, 0xFF].map(move |change: u8| {
                let mut damaged = sound.clone();
                damaged[at] ^= change;
                damaged
            })
        });
        let damaged: Vec<_> = truncated.chain(changed).collect();
        let expected: Vec<_> = damaged.iter().map(|coded| verdict(&spec, coded, plain.len())).collect();
        assert!(expected[..sound.len() - 1].iter().all(Result::is_err), "a truncated stream was taken");
        let changed = &expected[sound.len() - 1..];
        assert!(changed.iter().any(Result::is_ok), "not even a changed payload or raw byte was taken");
        for executor in executors() {
            let step = (8 * damaged.len()).div_ceil(executor.max_damaged_streams());
            for (coded, expected) in damaged.iter().zip(&expected).step_by(step) {
                let found = executor.decode(&spec, coded, plain.len());
                assert_eq!(&found, expected, "{spec:?} on {}, {coded:02x?}", executor.name());
            }
        }
    }
}

/// A test a component, so that they run side by side.
mod damaged_streams_get_the_same_answer_everywhere {
    macro_rules! test_each {
        ($($component:ident),*) => {$(
            #[test]
            fn $component() {
                super::damaged_streams_get_the_same_answer_everywhere(&warpack::stage::$component::ENTRY);
            }
        )*};
    }

    test_each!(clog, hclog, rre, rze, rare, raze);
}

#[test]
fn lengths_that_the_caller_did_not_expect_are_refused() {
    let settings = Settings { word: WordSize::W2, chunk: ChunkSize::C4096 };
    let spec = Spec { entry: &clog::ENTRY, settings };
    let (plain, sound) = small_stream(&spec, true);
    for executor in executors() {
        for expected in [0, 1, plain.len() - 1, plain.len() + 1, 8192, 12_288] {
            let fault = executor.decode(&spec, &sound, expected).unwrap_err();
            let (found, expected) = (plain.len() as u64, expected as u64);
            assert_eq!(fault, Error::PlainLength { found, expected }, "on {}", executor.name());
        }
        for empty in [&[][..], &[0; 8]] {
            assert_eq!(executor.decode(&spec, empty, 0), Ok(Vec::new()), "on {}", executor.name());
            let fault = executor.decode(&spec, empty, 5).unwrap_err();
            assert_eq!(fault, Error::PlainLength { found: 0, expected: 5 }, "on {}", executor.name());
        }
        assert_eq!(executor.encode(&spec, &[]), Ok(Vec::new()), "on {}", executor.name());
    }
}

/// A stream made by hand: header, entries, chunks, padding.
fn stream(plain_bytes: u32, chunks: u32, entries: &[u32], data: &[u8]) -> Vec<u8> {
    let mut stream = Vec::new();
    for field in [plain_bytes, chunks].iter().chain(entries) {
        stream.extend_from_slice(&field.to_le_bytes());
    }
    stream.extend_from_slice(data);
    stream.resize(stream.len().next_multiple_of(4), 0);
    stream
}

/// One full chunk of 4096 zeros with 16-bit words, changed.
fn coded_zeros(changes: &[(usize, u8)]) -> Vec<u8> {
    let mut coded = vec![0; 22];
    coded[1] = 0x10;
    for &(at, value) in changes {
        coded[at] = value;
    }
    coded
}

#[test]
fn every_fault_has_its_own_error() {
    let settings = Settings { word: WordSize::W2, chunk: ChunkSize::C4096 };
    let spec = Spec { entry: &clog::ENTRY, settings };
    let in_chunk = |index, source| Error::InChunk { index, source: Box::new(source) };
    let zeros = coded_zeros(&[]);
    // 23 words of 5 bits, 115 bits: the last byte has five to spare.
    let mut short = vec![0; 37];
    assert_eq!(clog::encode_chunk(settings, &[31, 0].repeat(23), &mut short), Some(37));
    let mut padding = short.clone();
    padding[36] |= 0x80;
    let mut nothing_behind = stream(4096, 1, &[22], &zeros);
    nothing_behind.truncate(32);
    let mut filled = stream(4096, 1, &[22], &zeros);
    filled[35] = 1;
    let cases: Vec<(&str, Vec<u8>, usize, Error)> = vec![
        ("3 bytes", vec![0; 3], 0, Error::Truncated { field: "plain length", offset: 0, need: 4, have: 3 }),
        ("7 bytes", vec![0; 7], 0, Error::Truncated { field: "chunk count", offset: 4, need: 4, have: 3 }),
        ("count", stream(4097, 1, &[22], &zeros), 4097, Error::ChunkCount { found: 1, expected: 2 }),
        ("count before length", stream(4097, 1, &[22], &zeros), 4096, Error::ChunkCount { found: 1, expected: 2 }),
        ("length", stream(4096, 1, &[22], &zeros), 4095, Error::PlainLength { found: 4096, expected: 4095 }),
        ("length before entries", stream(4096, 1, &[], &[]), 4095, Error::PlainLength { found: 4096, expected: 4095 }),
        (
            "entries",
            stream(u32::MAX, 1 << 20, &[22], &[]),
            u32::MAX as usize,
            Error::Truncated { field: "chunk entries", offset: 8, need: 4 << 20, have: 4 },
        ),
        (
            "raw and short",
            stream(4096, 1, &[4095 | RAW], &zeros),
            4096,
            in_chunk(0, Error::Entry { raw: true, stored: 4095, plain: 4096 }),
        ),
        (
            "coded and not smaller",
            stream(8192, 2, &[22, 4096], &zeros),
            8192,
            in_chunk(1, Error::Entry { raw: false, stored: 4096, plain: 4096 }),
        ),
        (
            "nothing stored, in two chunks",
            stream(8192, 2, &[0, 0], &[]),
            8192,
            in_chunk(0, Error::Entry { raw: false, stored: 0, plain: 4096 }),
        ),
        ("stream cut", nothing_behind, 4096, Error::StreamLength { found: 32, expected: 36 }),
        ("empty with a tail", vec![0; 12], 0, Error::StreamLength { found: 12, expected: 8 }),
        ("fill", filled, 4096, Error::Padding { offset: 35 }),
        (
            "tag",
            stream(4096, 1, &[22], &coded_zeros(&[(0, 1), (2, 0xFF)])),
            4096,
            in_chunk(0, Error::LengthTag { found: 4097, expected: 4096 }),
        ),
        (
            "width without payload",
            stream(8192, 2, &[22, 22], &[zeros.clone(), coded_zeros(&[(2, 3)])].concat()),
            8192,
            in_chunk(1, Error::CodedLength { found: 22, expected: 22 + 3 * 64 / 8 }),
        ),
        (
            "width above the word",
            stream(4096, 1, &[22], &coded_zeros(&[(2, 0x11), (3, 0x02)])),
            4096,
            in_chunk(0, Error::Width { subchunk: 0, found: 17, max: 16 }),
        ),
        (
            "padding",
            stream(4096 + 46, 2, &[22, 37], &[zeros.clone(), padding].concat()),
            4096 + 46,
            in_chunk(1, Error::Padding { offset: 36 }),
        ),
        (
            "header cut",
            stream(4096, 1, &[21], &zeros[..21]),
            4096,
            in_chunk(0, Error::Truncated { field: "widths", offset: 2, need: 20, have: 19 }),
        ),
        (
            "tag cut",
            stream(4096, 1, &[1], &zeros[..1]),
            4096,
            in_chunk(0, Error::Truncated { field: "chunk length", offset: 0, need: 2, have: 1 }),
        ),
    ];
    for executor in executors() {
        for (name, coded, plain_bytes, expected) in &cases {
            if *plain_bytes > 1 << 20 {
                continue; // below
            }
            let found = executor.decode(&spec, coded, *plain_bytes);
            assert_eq!(found, Err(expected.clone()), "{name} on {}", executor.name());
        }
    }
    for (name, coded, _, expected) in cases.iter().filter(|(_, _, plain_bytes, _)| *plain_bytes > 1 << 20) {
        assert_eq!(clog::check(settings, coded), Err(expected.clone()), "{name}");
    }
    let full = clog::check_chunk(settings, &[0; 4096], 4096);
    assert_eq!(full, Err(Error::NotSmaller { coded: 4096, chunk: 4096 }));
}

/// 32 words of 2 bytes with RARE: the first whole, of the others 2 bits each.
fn coded_rare(changes: &[(usize, u8)]) -> Vec<u8> {
    let mut coded = [&[0x34, 0x12][..], &[0x1B; 7], &[0x0B], &[1, 0, 3, 0, 3, 0, 0, 0], &[2, 64, 0]].concat();
    for &(at, value) in changes {
        coded[at] = value;
    }
    coded
}

#[test]
fn every_fault_of_a_bitmap_has_its_own_error() {
    let settings = Settings { word: WordSize::W2, chunk: ChunkSize::C4096 };
    let spec = Spec { entry: &rare::ENTRY, settings };
    let mut plain = [0x34, 0x12].repeat(32);
    let low = [0x1B; 7].iter().flat_map(|byte| [0, 2, 4, 6].map(|bit| byte >> bit & 3)).chain([3, 2, 0]);
    for (word, low) in plain.chunks_mut(2).skip(1).zip(low) {
        word[0] = 0x34 | low;
    }
    assert_eq!(spec.component().encode_chunk(&plain, &mut [0; 4096]), Some(21));
    let wrong_length = |expected| Error::CodedLength { found: 21, expected };
    let cases = [
        ("tag cut", coded_rare(&[])[..2].to_vec(), Error::Truncated { field: "tag", offset: 0, need: 3, have: 2 }),
        ("tag", coded_rare(&[(19, 65), (18, 0xFF)]), Error::LengthTag { found: 65, expected: 64 }),
        ("keep", coded_rare(&[(18, 18), (14, 0xFF)]), Error::Keep { found: 18, max: 17 }),
        ("zeros with words", coded_rare(&[(18, 17), (14, 0xFF)]), wrong_length(3)),
        ("whole words", coded_rare(&[(18, 16), (14, 0xFF)]), wrong_length(67)),
        ("no bitmap", coded_rare(&[])[15..].to_vec(), Error::BitmapLength { level: 2, need: 4, have: 3 }),
        ("level 1", coded_rare(&[(14, 0xFF), (15, 0xFF)]), Error::BitmapLength { level: 1, need: 16, have: 14 }),
        ("level 0", coded_rare(&[(12, 0xFF), (13, 0xFF)]), Error::BitmapLength { level: 0, need: 256, have: 12 }),
        ("flag", coded_rare(&[(11, 0x80), (18, 3)]), Error::BitmapFlag { word: 39, words: 32 }),
        ("low bits", coded_rare(&[(18, 3), (9, 0xFF)]), wrong_length(25)),
        ("padding", coded_rare(&[(9, 0x4B)]), Error::Padding { offset: 9 }),
    ];
    for executor in executors() {
        let sound = stream(64, 1, &[21], &coded_rare(&[]));
        assert_eq!(executor.decode(&spec, &sound, 64).as_ref(), Ok(&plain), "on {}", executor.name());
        for (name, coded, expected) in &cases {
            let coded = stream(64, 1, &[coded.len() as u32], coded);
            let expected = Error::InChunk { index: 0, source: Box::new(expected.clone()) };
            assert_eq!(executor.decode(&spec, &coded, 64), Err(expected), "{name} on {}", executor.name());
        }
    }
}

#[test]
fn a_damaged_chunk_fails_alone() {
    let settings = Settings { word: WordSize::W4, chunk: ChunkSize::C4096 };
    let spec = Spec { entry: &clog::ENTRY, settings };
    // 100 chunks of 1024 words of 3 bits, except in the chunks that the damage spares.
    let mut state = 3;
    let words = (0..100 * 1024).map(|_| (splitmix64(&mut state) % 8) as u32);
    let plain: Vec<u8> = words.flat_map(u32::to_le_bytes).collect();
    let mut coded = Vec::new();
    clog::encode(settings, &plain, &mut coded).unwrap();
    let entry = |index: usize| coded[8 + 4 * index..][..4].try_into().map(u32::from_le_bytes).unwrap() as usize;
    let mut starts = vec![8 + 4 * 100];
    for index in 0..100 {
        starts.push(starts[index] + entry(index));
    }
    let mut damaged = coded.clone();
    damaged[starts[97]] ^= 1; // the tag
    damaged[starts[40] + 2] = 0x3F; // width 63
    damaged[starts[39] + 2] ^= 1; // width 3 becomes 2
    let bad = [(39, ChunkStatus::CodedLength), (40, ChunkStatus::Width), (97, ChunkStatus::LengthTag)];
    for threads in [1, 4] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let mut again = vec![0xA5; plain.len()];
        let statuses = pool.install(|| clog::decode_each(settings, &damaged, &mut again)).unwrap();
        let mut expected = plain.clone();
        for (index, status) in bad {
            assert_eq!(statuses[index], status, "chunk {index}");
            expected[4096 * index..][..4096].fill(0);
        }
        assert_eq!(statuses.iter().filter(|&&status| status != ChunkStatus::Ok).count(), bad.len());
        assert_same_bytes(&again, &expected, "what can be decoded");
    }
    for executor in executors().iter().filter(|executor| plain.len() <= executor.max_plain_bytes()) {
        let fault = executor.decode(&spec, &damaged, plain.len()).unwrap_err();
        assert!(matches!(fault, Error::InChunk { index: 39, .. }), "{fault:?} on {}", executor.name());
        let expected = starts[40] - starts[39];
        let (found, expected) = (expected as u64, (expected - 4) as u64);
        assert_eq!(root(&fault), &Error::CodedLength { found, expected }, "on {}", executor.name());
    }
}

/// The memory of these inputs is never touched, or only as the system's page of zeros.
#[test]
fn the_limit_of_32_bits_is_kept() {
    let settings = Settings::default();
    let plain = vec![0; (1 << 32) + 1];
    for bytes in [1 << 32, (1 << 32) + 1] {
        let mut coded = vec![1, 2, 3];
        let fault = clog::encode(settings, &plain[..bytes], &mut coded).unwrap_err();
        assert_eq!(fault, Error::TooLong { bytes: bytes as u64, max: u32::MAX.into() });
        assert_eq!(coded, [1, 2, 3]);
    }
    let mut coded = Vec::new();
    clog::encode(settings, &plain[..u32::MAX as usize], &mut coded).unwrap();
    // The last chunk has one byte behind its words; the stream has three behind that.
    assert_eq!(coded.len(), 8 + (22 + 4) * (1 << 18) + 1 + 3);
    assert_eq!(clog::check(settings, &coded), Ok(u32::MAX));
}
