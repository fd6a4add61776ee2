//! The causal kernels under the emulator, and on a device where there is one, against the CPU: the vectors' frames, hostile ones, and whatever quickcheck makes.

mod support;

use cuda_std::emulator::Order;
use support::assert_same_bytes;
use support::causal_emulator::decode;
use support::generate::{Plain, splitmix64};
use support::vectors::{read, root, unhex};
use warpack::Error;
use warpack::causal::batch::{Item, Plan};
use warpack::causal::frame::Header;
use warpack::causal::model::{self, SYMBOLS};
use warpack::causal::receive;
use warpack::causal::send::{self, Settings};
use warpack::causal::{Fault, Form, Grain, Representation};

/// What the CPU's receiver makes of a frame.
fn cpu(frame: &[u8]) -> Result<Vec<u8>, Fault> {
    receive::decode(frame).map_err(|error| match error {
        Error::Frame(fault) => fault,
        other => panic!("not refused as a frame: {other:?}"),
    })
}

/// What a device makes of frames, if there is one.
#[cfg(feature = "cuda")]
fn on_device(frames: &[&[u8]], far: bool) -> Option<Vec<Result<Vec<u8>, Fault>>> {
    let (coded, items, plain_bytes) = support::causal_emulator::items(frames);
    let found = support::causal_device::decode(&coded, &items, plain_bytes, far);
    if found.is_none() {
        support::skip_aloud("no NVIDIA device");
    }
    found
}

#[cfg(not(feature = "cuda"))]
fn on_device(_: &[&[u8]], _: bool) -> Option<Vec<Result<Vec<u8>, Fault>>> {
    None
}

/// All frames as one batch, and the same outcomes as on the CPU, under the emulator and on a device.
fn assert_as_cpu(frames: &[Vec<u8>], multiprocessors: u32, far: bool, order: Order, at: &str) {
    let batch: Vec<&[u8]> = frames.iter().map(Vec::as_slice).collect();
    let emulated = decode(&batch, multiprocessors, far, order);
    for (place, outcomes) in [("emulator", Some(emulated)), ("device", on_device(&batch, far))] {
        for (index, (found, frame)) in outcomes.unwrap_or_default().into_iter().zip(frames).enumerate() {
            let at = format!("{place}, frame {index} of {}, {at}", frames.len());
            match (found, cpu(frame)) {
                (Ok(found), Ok(expected)) => assert_same_bytes(&found, &expected, &at),
                (found, expected) => assert_eq!(found.map(|_| ()), expected.map(|_| ()), "{at}"),
            }
        }
    }
}

fn all_settings() -> impl Iterator<Item = Settings> {
    let forms = Form::ALL.into_iter().flat_map(|form| Grain::ALL.map(|grain| Settings { form, grain, ..Settings::default() }));
    forms.flat_map(|settings| Representation::ALL.map(|one| Settings { representation: Some(one), ..settings }))
}

/// A walk with steps of up to `step`, around 0 (so that high bytes are small and large) or in the middle.
fn walk(words: usize, step: u64, signed: bool) -> Vec<u8> {
    let (mut state, mut at) = (words as u64 + step, if signed { 0u16 } else { 3000 });
    let mut next = || {
        let r = splitmix64(&mut state);
        at = at.wrapping_add((r % (2 * step + 1)) as u16).wrapping_sub(step as u16);
        at
    };
    (0..words).flat_map(|_| next().to_le_bytes()).collect()
}

#[test]
fn tiles_of_every_length_come_back() {
    let lengths = [1, 2, 3, 15, 16, 17, 33, 1023, 1024, 1025, 1040, 1041, 4095, 4096, 4097, 4112, 9001];
    for settings in all_settings() {
        for far in [false, true] {
            let frames: Vec<Vec<u8>> = lengths
                .into_iter()
                .flat_map(|words| [(0, false), (3, true), (200, true)].map(|(step, signed)| walk(words, step, signed)))
                .map(|tile| send::encode(&tile, &settings).expect("a tile"))
                .collect();
            let coded = frames.iter().filter(|frame| Header::read(frame).expect("a header").representation.is_some()).count();
            assert!(coded > frames.len() / 3, "{coded} of {}", frames.len());
            assert_as_cpu(&frames, 7, far, Order::Grid, &format!("far: {far}, {settings:?}"));
        }
    }
}

/// Blocks, warps and lanes in any order, and shares of every size.
#[test]
fn batches_do_not_care_how_they_are_shared_out() {
    let tiles: Vec<Vec<u8>> = (1..12).map(|i| walk(700 * i, i as u64, i % 2 == 0)).collect();
    let frames: Vec<Vec<u8>> =
        tiles.iter().zip(all_settings()).map(|(tile, settings)| send::encode(tile, &settings).expect("a tile")).collect();
    for (multiprocessors, seed) in [(1, 1), (3, 2), (1000, 3)] {
        assert_as_cpu(&frames, multiprocessors, false, Order::Seeded(seed), &format!("{multiprocessors} multiprocessors"));
    }
}

/// High bytes of 0 to 255 with as many rows: shared memory does not take the tables.
#[test]
fn tables_that_do_not_fit_are_far() {
    let mut state = 5;
    let tile: Vec<u8> = (0..60_000u32)
        .flat_map(|i| {
            ((i / 7 % 256) as u16 * 256 + (splitmix64(&mut state) % 9) as u16).wrapping_add((i % 3 * 256) as u16).to_le_bytes()
        })
        .collect();
    let frames: Vec<Vec<u8>> = all_settings().map(|settings| send::encode(&tile, &settings).expect("a tile")).collect();
    assert!(frames.iter().all(|frame| Header::read(frame).expect("a header").representation.is_some()));
    let batch: Vec<Item> = frames
        .iter()
        .map(|frame| Item {
            front: frame,
            frame_bytes: frame.len() as u64,
            coded_at: 0,
            plain_at: 0,
            plain_bytes: tile.len() as u32,
        })
        .collect();
    let plan = Plan::new(&batch, 132);
    assert!(!plan.far.is_empty() && plan.far.len() < frames.len(), "{} of {} are far", plan.far.len(), frames.len());
    assert_as_cpu(&frames, 20, false, Order::Grid, "noise");
}

/// Damage to records and payload: the very fault that the CPU finds, and sound neighbours untouched.
#[test]
fn damage_gets_the_cpu_verdicts() {
    let mut state = 11;
    let (mut refused, mut kinds) = (0, std::collections::BTreeSet::new());
    for settings in all_settings() {
        let mut frames = Vec::new();
        for (words, step) in [(2500, 3), (9000, 40), (4200, 0)] {
            let frame = send::encode(&walk(words, step, true), &settings).expect("a tile");
            let header = Header::read(&frame).expect("a header");
            assert!(header.representation.is_some());
            frames.push(frame.clone());
            for part in [header.records(), header.payload()] {
                for _ in 0..6 {
                    if part.is_empty() {
                        continue;
                    }
                    let mut damaged = frame.clone();
                    let at = part.start + splitmix64(&mut state) % (part.end - part.start);
                    damaged[at as usize] ^= 1 << (splitmix64(&mut state) % 8);
                    frames.push(damaged);
                }
            }
            // Words that change places between the banks of a chunk, and rows that die.
            if header.form == Form::Split && header.words > 4 {
                let mut moved = frame.clone();
                let at = header.records().start as usize;
                let (low, high) = (u32_at(&frame, at + 4), u32_at(&frame, at + 12));
                if low > 0 && high + 1 < header.chunk_words(0) as u32 {
                    moved[at + 4..at + 8].copy_from_slice(&(low - 1).to_le_bytes());
                    moved[at + 12..at + 16].copy_from_slice(&(high + 1).to_le_bytes());
                    frames.push(moved);
                }
            }
            // A word more than the last state takes.
            let mut longer = frame.clone();
            let count_at = header.records().end as usize - 6;
            let count = u32_at(&frame, count_at) + 1;
            longer[count_at..count_at + 4].copy_from_slice(&count.to_le_bytes());
            longer[20..24].copy_from_slice(&(header.words + 1).to_le_bytes());
            longer.extend_from_slice(&[1, 2]);
            frames.push(longer);
            for row in 0..model::ROWS {
                let mut frequencies =
                    model::read(&frame[header.model().start as usize..header.model().end as usize], 0).expect("a model");
                let row = &mut frequencies[row * SYMBOLS..][..SYMBOLS];
                if row.iter().any(|&f| f != 0) && splitmix64(&mut state) % 8 == 0 {
                    row.fill(0);
                    frames.push(with_model(&frame, &frequencies));
                }
            }
        }
        for frame in &frames {
            if let Err(fault) = cpu(frame) {
                refused += 1;
                kinds.insert(format!("{fault:?}").split([' ', '{']).next().expect("a name").to_owned());
            }
        }
        for far in [false, true] {
            assert_as_cpu(&frames, 9, far, Order::Grid, &format!("damaged, far: {far}, {settings:?}"));
        }
    }
    assert!(refused > 200, "{refused} refused");
    for kind in ["DeadRow", "OutOfWords", "Terminal", "UnusedWords", "Digest"] {
        assert!(kinds.contains(kind), "no {kind} among {kinds:?}");
    }
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

/// The frame with other frequencies.
fn with_model(frame: &[u8], frequencies: &[u16]) -> Vec<u8> {
    let header = Header::read(frame).expect("a sound frame");
    let compressed = send::select::compress(frequencies, Default::default());
    let mut other = Header { model_bytes: compressed.len() as u32, ..header.clone() }.write().to_vec();
    other.extend_from_slice(&compressed);
    other.resize(other.len().next_multiple_of(16), 0);
    other.extend_from_slice(&frame[header.records().start as usize..]);
    other
}

#[test]
fn conformance_causal_on_the_kernels() {
    let folder = root().join("causal");
    let json = |name: &str| serde_json::from_slice::<serde_json::Value>(&read(&folder.join(name))).expect("JSON");
    let number = |value: &serde_json::Value| value.as_u64().expect("a number") as usize;
    let all = read(&folder.join("frames.bin"));
    let vectors = json("vectors.json")["vectors"].as_array().expect("a list").clone();
    assert_eq!(vectors.len(), 280);
    let frame_of = |vector: &serde_json::Value| {
        let start = number(&vector["frame_offset"]);
        all[start..start + number(&vector["frame_length"])].to_vec()
    };
    let small: Vec<Vec<u8>> = vectors.iter().filter(|vector| number(&vector["length"]) <= 40_000).map(frame_of).collect();
    assert!(small.len() > 150, "{} vectors are small", small.len());
    for (index, frames) in small.chunks(40).enumerate() {
        assert_as_cpu(frames, 50, false, Order::Grid, &format!("vectors from {}", 40 * index));
    }
    // The hostile ones in one batch with sound ones between them.
    let rejects = json("rejects.json");
    let rejects = rejects.as_array().expect("a list");
    assert_eq!(rejects.len(), 117);
    let mut frames = Vec::new();
    for reject in rejects {
        let mut frame = frame_of(&vectors[number(&reject["vector"])]);
        let bytes = |field: &str| unhex(reject[field].as_str().expect("a text"));
        if let Some(start) = reject.get("at") {
            let (start, bytes) = (number(start), bytes("bytes"));
            frame[start..start + bytes.len()].copy_from_slice(&bytes);
        } else if let Some(length) = reject.get("length") {
            frame.truncate(number(length));
        } else if reject.get("append").is_some() {
            frame.extend_from_slice(&bytes("append"));
        } else {
            continue; // a model that is none: the host's own work, see conformance_causal
        }
        frames.push(frame);
        if frames.len() % 5 == 0 {
            frames.push(small[frames.len()].clone());
        }
    }
    assert_as_cpu(&frames, 132, false, Order::Grid, "hostile");
}

quickcheck::quickcheck! {
    fn any_tile_comes_back(plain: Plain, choice: u8, far: bool) -> bool {
        let tile = &plain.0[..plain.0.len().min(30_000) & !1];
        if tile.is_empty() {
            return true;
        }
        let settings = all_settings().nth(usize::from(choice) % 12).expect("twelve");
        let frame = send::encode(tile, &settings).expect("a tile");
        decode(&[&frame], 5, far, Order::Grid) == [Ok(tile.to_vec())]
    }
}

/// The causal stage on a device, for data on the host: the CPU's bytes, and its errors.
#[cfg(feature = "cuda")]
#[test]
fn the_stage_decodes_on_a_device() {
    use warpack::Backend;
    use warpack::stage::{Stage, causal::Causal};
    let Some(cuda) = support::device::Cuda::open() else { return support::skip_aloud("no NVIDIA device") };
    let backend = Backend::Cuda(cuda.device().clone());
    let plain = walk(700_000, 9, true);
    for (bytes, tile) in [(1_400_000, 16 << 20), (1_399_999, 65_536), (1_000_001, 10_002), (0, 65_536), (1, 2), (30_000, 3000)]
    {
        let (plain, stage) = (&plain[..bytes], Causal::new(Settings::default(), tile).expect("a tile size"));
        let (mut coded, mut again) = (Vec::new(), vec![0xA5; bytes]);
        let mut coders = [Backend::Cpu, backend.clone()].map(|backend| stage.coder(&backend).expect("a coder"));
        coders[0].encode(plain, &mut coded).expect("any length");
        let at = format!("{bytes} bytes in tiles of {tile}");
        coders[1].decode(&coded, &mut again).unwrap_or_else(|error| panic!("{at}: {error:?}"));
        assert_same_bytes(&again, plain, &at);
        let mut state = 3;
        for _ in 0..20 {
            let mut damaged = coded.clone();
            if let Some(byte) = damaged.get_mut(splitmix64(&mut state) as usize % coded.len().max(1)) {
                *byte ^= 0x20;
            }
            let mut decode = |coder: usize| coders[coder].decode(&damaged, &mut vec![0xA5; bytes]);
            assert_eq!(decode(1), decode(0), "{at}");
        }
    }
}
