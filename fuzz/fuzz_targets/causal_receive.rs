//! Any bytes as a causal frame: refused or decoded, and by every level's code alike.
//!
//! The digest would hide the decoders from a fuzzer, so what it refuses is also decoded as a range, which does not look at it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use warpack::causal::receive::{Level, Receiver};

/// Larger tiles only take longer.
const MAX_TILE_BYTES: u32 = 1 << 20;

fuzz_target!(|frame: &[u8]| {
    let Ok(receiver) = Receiver::open(frame) else { return };
    let tile = receiver.header().tile_bytes;
    if tile > MAX_TILE_BYTES {
        return;
    }
    let decoded = Level::available().iter().map(|level| {
        let mut plain = vec![0xA5; tile as usize];
        let outcome = receiver.decode_with(*level, &mut plain);
        if outcome.is_err() {
            assert!(plain.iter().all(|&byte| byte == 0), "bytes of a refused frame were released");
        }
        (outcome, plain)
    });
    let decoded: Vec<_> = decoded.collect();
    assert!(decoded.iter().all(|other| *other == decoded[0]), "levels differ");
    let range = receiver.decode_range(0..u64::from(tile));
    if decoded[0].0.is_ok() {
        assert!(range.as_ref() == Ok(&decoded[0].1), "a range differs from the whole");
    }
});
