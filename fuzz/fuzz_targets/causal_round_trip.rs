//! Any bytes as plain bytes, after two that choose the settings: what is encoded comes back, and all levels write the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use warpack::causal::receive::{self, Receiver};
use warpack::causal::send::{self, Settings, select::Density};
use warpack::causal::{Form, Grain, Representation};

fuzz_target!(|bytes: &[u8]| {
    let Some(([choice, repeats], plain)) = bytes.split_first_chunk::<2>().map(|(head, plain)| (*head, plain)) else { return };
    // Repeats make tiles of many chunks out of few bytes.
    let tile = plain.repeat(1 + usize::from(repeats) % 64);
    let tile = &tile[..tile.len().min(200_000) & !1];
    if tile.is_empty() {
        return;
    }
    let settings = Settings {
        representation: Representation::by_id(choice & 3),
        form: Form::ALL[usize::from(choice >> 2 & 1)],
        grain: Grain::ALL[usize::from(choice >> 3 & 1)],
        density: Density::ALL[usize::from(choice >> 4 & 1)],
    };
    let frames = send::Level::available().iter().map(|level| {
        let mut frame = Vec::new();
        send::encode_with(*level, tile, &settings, &mut frame).expect("a tile");
        frame
    });
    let frames: Vec<_> = frames.collect();
    assert!(frames.iter().all(|frame| *frame == frames[0]), "levels differ");
    assert!(frames[0].len() as u64 <= send::max_frame_bytes(tile.len() as u64));
    let receiver = Receiver::open(&frames[0]).expect("a sound frame");
    for level in receive::Level::available() {
        let mut again = vec![0xA5; tile.len()];
        receiver.decode_with(*level, &mut again).expect("a sound frame");
        assert!(again == tile, "{level:?}");
    }
});
