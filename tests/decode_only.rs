//! The receiver by itself: `cargo test -p warpack --no-default-features --features decode-only --lib --test decode_only`.
//! Nothing that encodes may be named here.

use serde_json::Value;
use std::path::{Path, PathBuf};
use warpack::causal::receive;

fn folder() -> PathBuf {
    let root = std::env::var_os("WARPACK_VECTORS").map(PathBuf::from);
    root.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/vectors")).join("causal")
}

#[test]
fn every_golden_frame_is_decoded_without_the_encoder() {
    let read = |name: &str| std::fs::read(folder().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    let (inputs, frames) = (read("inputs.bin"), read("frames.bin"));
    let vectors: Value = serde_json::from_slice(&read("vectors.json")).expect("JSON");
    let vectors = vectors["vectors"].as_array().expect("a list");
    assert_eq!(vectors.len(), 280);
    for vector in vectors {
        let number = |field: &str| vector[field].as_u64().expect("a number") as usize;
        let input = &inputs[number("offset")..][..number("length")];
        let frame = &frames[number("frame_offset")..][..number("frame_length")];
        assert!(receive::decode(frame).expect("a sound frame") == input, "{}", vector["input"]);
        assert!(receive::decode(&frame[..frame.len() - 1]).is_err());
    }
}
