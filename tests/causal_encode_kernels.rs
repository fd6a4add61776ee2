//! The causal kernels that encode, under the emulator, and on a device where there is one: the CPU's frames, byte by byte.

mod support;

use cuda_std::emulator::Order;
use support::assert_same_bytes;
use support::causal_emulator::encode;
use support::generate::{Plain, splitmix64};
use support::vectors::{read, root};
use warpack::causal::frame::Header;
use warpack::causal::send::fit::Fits;
use warpack::causal::send::select::{self, Density};
use warpack::causal::send::{self, Settings};
use warpack::causal::{Fault, Form, Grain, Representation, batch};

/// The frames of the tiles as one batch on a device, if there is one.
#[cfg(feature = "cuda")]
fn on_device(tiles: &[&[u8]], settings: &Settings, far: bool) -> Option<Vec<Vec<u8>>> {
    let found = support::causal_device::encode(tiles, settings, far);
    if found.is_none() {
        support::skip_aloud("no NVIDIA device");
    }
    found
}

#[cfg(not(feature = "cuda"))]
fn on_device(_: &[&[u8]], _: &Settings, _: bool) -> Option<Vec<Vec<u8>>> {
    None
}

/// All tiles as one batch, under the emulator and on a device: the CPU's frames, which are given back.
fn assert_as_cpu(
    tiles: &[Vec<u8>],
    settings: &Settings,
    multiprocessors: u32,
    far: bool,
    order: Order,
    at: &str,
) -> Vec<Vec<u8>> {
    let batch: Vec<&[u8]> = tiles.iter().map(Vec::as_slice).collect();
    let expected: Vec<Vec<u8>> = tiles.iter().map(|tile| send::encode(tile, settings).expect("a tile")).collect();
    let emulated = encode(&batch, settings, multiprocessors, far, order);
    for (place, frames) in [("emulator", Some(emulated)), ("device", on_device(&batch, settings, far))] {
        for (index, (found, expected)) in frames.unwrap_or_default().iter().zip(&expected).enumerate() {
            assert_same_bytes(found, expected, &format!("{place}, tile {index} of {}, {settings:?}, {at}", tiles.len()));
        }
    }
    expected
}

/// Every form, grain and representation, forced or free.
fn all_settings() -> impl Iterator<Item = Settings> {
    let representations = Representation::ALL.map(Some).into_iter().chain([None]);
    let forms = Form::ALL.into_iter().flat_map(|form| Grain::ALL.map(|grain| Settings { form, grain, ..Settings::default() }));
    forms.flat_map(move |settings| representations.clone().map(move |one| Settings { representation: one, ..settings }))
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

fn is_coded(frame: &[u8]) -> bool {
    Header::read(frame).expect("a header").representation.is_some()
}

#[test]
fn tiles_of_every_length_become_the_cpu_frames() {
    let lengths = [1, 2, 3, 7, 8, 9, 15, 16, 17, 33, 1023, 1024, 1025, 1040, 4095, 4096, 4097, 4105, 9001];
    for settings in all_settings() {
        let tiles: Vec<Vec<u8>> = lengths
            .into_iter()
            .zip([(0, false), (3, true), (200, true)].into_iter().cycle())
            .map(|(words, (step, signed))| walk(words, step, signed))
            .collect();
        let frames = assert_as_cpu(&tiles, &settings, 7, false, Order::Grid, "lengths");
        let coded = frames.iter().filter(|frame| is_coded(frame)).count();
        assert!(coded > 3 && coded < frames.len(), "{coded} of {}", frames.len());
    }
}

/// Words as bytes.
fn bytes(words: impl IntoIterator<Item = u16>) -> Vec<u8> {
    words.into_iter().flat_map(u16::to_le_bytes).collect()
}

/// Blocks, warps and lanes in any order, and shares of every size.
#[test]
fn batches_do_not_care_how_they_are_shared_out() {
    let tiles: Vec<Vec<u8>> = (1..8).map(|i| walk(1500 * i, i as u64, i % 2 == 0)).collect();
    for (number, settings) in all_settings().enumerate() {
        let multiprocessors = [1, 3, 1000][number % 3];
        let at = format!("{multiprocessors} multiprocessors");
        assert_as_cpu(&tiles, &settings, multiprocessors, false, Order::Seeded(number as u64), &at);
    }
}

/// High bytes of 0 to 255 with as many rows: shared memory does not take the tables.
#[test]
fn tables_that_do_not_fit_are_far() {
    let mut state = 5;
    let many = bytes(
        (0..60_000u32)
            .map(|i| ((i / 7 % 256) as u16 * 256 + (splitmix64(&mut state) % 9) as u16).wrapping_add((i % 3 * 256) as u16)),
    );
    for settings in all_settings().filter(|settings| settings.representation.is_some()) {
        for (tile, far) in [(&many, false), (&walk(9000, 30, true), true)] {
            let frames = assert_as_cpu(std::slice::from_ref(tile), &settings, 20, far, Order::Grid, "far");
            assert!(is_coded(&frames[0]));
        }
    }
}

/// Counters of 16 bits that overflow, in both halves of a word, and remainders that are all equal.
#[test]
fn hot_counters_lose_nothing() {
    let tiles = [
        bytes([0x1234; 150_000]),
        bytes((0..140_000).map(|i| [0x0101, 0x0000][i % 2])),
        bytes((0..100_000).map(|i| if i % 50_000 < 49_999 { 7 } else { 0x807 })),
        bytes((0..70_000u32).map(|i| (i % 3) as u16)),
    ];
    for settings in
        [None, Some(Representation::Residual)].map(|representation| Settings { representation, ..Default::default() })
    {
        for multiprocessors in [1, 40] {
            let frames = assert_as_cpu(&tiles, &settings, multiprocessors, false, Order::Grid, "hot");
            assert!(frames.iter().all(|frame| is_coded(frame)));
        }
    }
}

/// As many high bytes as have counters for some lanes each, one more, and some that a look at every second unit misses.
#[test]
fn any_number_of_high_bytes_is_counted() {
    for count in [1, 31, 32, 33, 64, 65, 127, 128, 129, 256] {
        let mut state = count;
        let mut tile: Vec<u16> = (0..40_000u64)
            .map(|i| {
                let high = if i % 5 == 0 { splitmix64(&mut state) % count } else { i / 300 % count };
                (high * 0x55 % 256 * 256 + splitmix64(&mut state) % 4) as u16
            })
            .collect();
        for rare in 0..40u16 {
            let at = splitmix64(&mut state) as usize % tile.len();
            tile[at] = rare << 8 | 0x0077;
        }
        let settings = Settings { grain: Grain::B2048, ..Settings::default() };
        assert_as_cpu(&[bytes(tile)], &settings, 1, false, Order::Grid, &format!("{count} high bytes"));
    }
}

/// What does not shrink, and what the rules of normalisation make an exception of.
#[test]
fn edges_of_the_format() {
    let mut state = 9;
    let noise = bytes((0..20_000).map(|_| splitmix64(&mut state) as u16));
    let tiles = [
        noise.clone(),
        noise[..2].to_vec(),
        noise[..4098].to_vec(),
        bytes((0..=u16::MAX).map(|i| i.wrapping_mul(257))),
        bytes([0; 30_000]),
        bytes([0xFFFF; 5000]),
        bytes((0..30_000).map(|i| if i % 4096 == 0 { 0xFFFF } else { 0 })),
        bytes((0..30_000u32).map(|i| (i * 2) as u16)),
        [noise.clone(), vec![0; 65_536]].concat(),
        [vec![1; 65_536], noise].concat(),
    ];
    for settings in all_settings() {
        // The level is the host's affair; once is enough.
        for density in Density::ALL.into_iter().filter(|&density| density == Density::Fast || settings == Settings::default()) {
            let settings = Settings { density, ..settings };
            let frames = assert_as_cpu(&tiles, &settings, 132, false, Order::Grid, "edges");
            assert!(!is_coded(&frames[0]) && is_coded(&frames[4]));
        }
    }
}

/// The payload's favourite loses by its model: on a device all is coded once more.
#[test]
fn favourites_can_be_overtaken() {
    let tiles = (0..400usize).map(|i| walk(2000 + 37 * i, 1 + i as u64 % 90, i % 3 == 0));
    let overtaken = tiles.filter(|tile| {
        let fits = Fits::new(tile, Grain::default(), None);
        let favourite = fits.candidates().min_by_key(|&candidate| (fits.score(candidate), candidate));
        Some(select::choose(&fits, Density::Fast).representation) != favourite
    });
    let mut tiles: Vec<Vec<u8>> = overtaken.take(3).collect();
    assert!(!tiles.is_empty());
    tiles.push(walk(9000, 4, false));
    assert_as_cpu(&tiles, &Settings::default(), 50, false, Order::Grid, "overtaken");
}

#[test]
fn no_tiles_no_frames() {
    assert_eq!(encode(&[], &Settings::default(), 5, false, Order::Grid), Vec::<Vec<u8>>::new());
}

#[test]
fn ends_past_all_memory_do_not_begin_anew() {
    let far = u64::MAX - 15;
    for (plain_at, coded_at) in [(far, 0), (0, far)] {
        let tile = batch::send::Tile { plain_at, plain_bytes: 32, coded_at };
        let plan = batch::send::Plan::new(&[tile], &Settings::default(), 10).unwrap();
        assert_eq!(plan.plain_bytes().max(plan.coded_bytes()), u64::MAX, "no buffer is long enough");
    }
}

#[test]
fn tiles_that_are_none_are_refused() {
    let plan = |plain_bytes: u32, plain_at: u64, coded_at: u64| {
        let tile = batch::send::Tile { plain_at, plain_bytes, coded_at };
        batch::send::Plan::new(&[tile], &Settings::default(), 10).map(|_| ()).map_err(|error| error.to_string())
    };
    assert_eq!(plan(2, 16, 32), Ok(()));
    assert_eq!(plan(16 << 20, 16, 32), Ok(()));
    for length in [0, 1, 3, (16 << 20) + 2] {
        assert_eq!(plan(length, 0, 0), Err(warpack::Error::from(Fault::TileLength { found: length }).to_string()));
    }
    assert!(plan(2, 8, 0).is_err() && plan(2, 0, 2).is_err());
}

#[test]
fn conformance_causal_encoded_by_the_kernels() {
    let folder = root().join("causal");
    let json: serde_json::Value = serde_json::from_slice(&read(&folder.join("vectors.json"))).expect("JSON");
    let (inputs, frames) = (read(&folder.join("inputs.bin")), read(&folder.join("frames.bin")));
    let number = |value: &serde_json::Value| value.as_u64().expect("a number") as usize;
    /// What can be encoded together, and the frames that it becomes.
    struct Batch {
        settings: Settings,
        tiles: Vec<Vec<u8>>,
        frames: Vec<Vec<u8>>,
    }
    let mut batches: Vec<Batch> = Vec::new();
    let mut small = 0;
    for vector in json["vectors"].as_array().expect("a list") {
        let part = |all: &[u8], at: &str, length: &str| all[number(&vector[at])..][..number(&vector[length])].to_vec();
        let forced = &vector["forced"];
        let settings = Settings {
            representation: Representation::ALL.into_iter().find(|&one| forced.as_u64() == Some(one as u64)),
            form: Form::by_name(vector["format"].as_str().expect("a text")).expect("a form"),
            grain: Grain::by_bytes(number(&vector["grain"]) as u64).expect("a grain"),
            density: Density::Fast,
        };
        assert!(forced.is_null() || settings.representation.is_some());
        let tile = part(&inputs, "offset", "length");
        if tile.len() > 40_000 {
            continue;
        }
        small += 1;
        let index = batches.iter().position(|batch| batch.settings == settings).unwrap_or_else(|| {
            batches.push(Batch { settings, tiles: Vec::new(), frames: Vec::new() });
            batches.len() - 1
        });
        batches[index].tiles.push(tile);
        batches[index].frames.push(part(&frames, "frame_offset", "frame_length"));
    }
    assert!(small > 150, "{small} vectors are small");
    for Batch { settings, tiles, frames } in &batches {
        for (tiles, frames) in tiles.chunks(40).zip(frames.chunks(40)) {
            let made = assert_as_cpu(tiles, settings, 132, false, Order::Grid, "vectors");
            assert!(made == frames, "the CPU's frames are not those of the vectors");
        }
    }
}

quickcheck::quickcheck! {
    fn any_tile_becomes_the_cpu_frame(plain: Plain, choice: u8, far: bool) -> bool {
        let tile = &plain.0[..plain.0.len().min(30_000) & !1];
        if tile.is_empty() {
            return true;
        }
        let settings = all_settings().nth(usize::from(choice) % 16).expect("sixteen");
        encode(&[tile], &settings, 5, far, Order::Grid) == [send::encode(tile, &settings).expect("a tile")]
    }
}

/// The causal stage on a device, for data on the host: the CPU's bytes.
#[cfg(feature = "cuda")]
#[test]
fn the_stage_encodes_on_a_device() {
    use warpack::Backend;
    use warpack::stage::{Stage, causal::Causal};
    let Some(cuda) = support::device::Cuda::open() else { return support::skip_aloud("no NVIDIA device") };
    let backend = Backend::Cuda(cuda.device().clone());
    let plain = walk(20 << 20, 9, true);
    let cases = [
        (40 << 20, 16 << 20),
        (1_399_999, 65_536),
        (1_000_001, 10_002),
        (0, 65_536),
        (1, 2),
        (2, 2),
        (130, 2),
        (30_000, 3000),
        (16 << 20, 16 << 20),
    ];
    for settings in [Settings::default(), Settings { form: Form::Classic, grain: Grain::B2048, ..Settings::default() }] {
        for (bytes, tile) in cases {
            let (plain, stage) = (&plain[..bytes], Causal::new(settings, tile).expect("a tile size"));
            let coded = [Backend::Cpu, backend.clone()].map(|backend| {
                let mut coded = vec![0x5A; 9]; // a coder replaces what it finds
                let mut coder = stage.coder(&backend).expect("a coder");
                for _ in 0..2 {
                    coder.encode(plain, &mut coded).expect("any length");
                }
                coded
            });
            assert_same_bytes(&coded[1], &coded[0], &format!("{bytes} bytes in tiles of {tile}, {settings:?}"));
        }
    }
}
