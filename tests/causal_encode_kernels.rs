//! The causal kernels that encode, under the emulator, and on a device where there is one: the CPU's frames, byte by byte.

mod support;

use cuda_std::emulator::Order;
use support::assert_same_bytes;
use support::causal_emulator::encode;
use support::generate::{Plain, splitmix64};
use support::vectors::{read, root};
use warpack::causal::frame::Header;
use warpack::causal::send::{self, Settings, select::Density};
use warpack::causal::{Form, Grain, Representation};

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
        let tiles: Vec<Vec<u8>> =
            lengths.into_iter().zip([(0, false), (3, true), (200, true)].into_iter().cycle()).map(|(words, (step, signed))| walk(words, step, signed)).collect();
        let frames = assert_as_cpu(&tiles, &settings, 7, false, Order::Grid, "lengths");
        let coded = frames.iter().filter(|frame| is_coded(frame)).count();
        assert!(coded > 3 && coded < frames.len(), "{coded} of {}", frames.len());
    }
}
