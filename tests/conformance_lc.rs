//! The golden vectors of the LC components, on every backend.

mod support;

use support::vectors::{Chunk, Lc, sha256};
use support::{Spec, assert_same_bytes, executors};
use warpack::stage::clog;

#[test]
fn conformance_clog_streams() {
    let lc = Lc::load();
    for vector in lc.vectors("CLOG") {
        let plain = &lc.inputs[&vector.input];
        let spec = Spec { entry: &clog::ENTRY, settings: vector.settings };
        for executor in executors() {
            if plain.len() > executor.max_plain_bytes() {
                continue;
            }
            let at = format!("{} with {:?} on {}", vector.input, vector.settings, executor.name());
            let coded = executor.encode(&spec, plain).unwrap_or_else(|error| panic!("{at}: {error}"));
            if let Some(stream) = &vector.stream {
                assert_same_bytes(&coded, &support::vectors::read(stream), &at);
            }
            assert_eq!(coded.len(), vector.stream_bytes, "{at}");
            assert_eq!(sha256(&coded), vector.stream_sha256, "{at}");
            let again = executor.decode(&spec, &coded, plain.len());
            let again = again.unwrap_or_else(|error| panic!("{at}: {error}"));
            assert_same_bytes(&again, plain, &at);
        }
    }
}

#[test]
fn conformance_clog_chunks() {
    let lc = Lc::load();
    for vector in lc.vectors("CLOG") {
        let (plain, settings) = (&lc.inputs[&vector.input], vector.settings);
        let chunk_bytes = settings.chunk.bytes() as usize;
        assert_eq!(plain.chunks(chunk_bytes).len(), vector.chunks.len(), "{vector:?}");
        let mut coded = vec![0xA5; chunk_bytes];
        for (plain, expected) in plain.chunks(chunk_bytes).zip(&vector.chunks) {
            let used = clog::encode_chunk(settings, plain, &mut coded);
            let found = match used {
                None => Chunk::GivenUp,
                Some(used) if used < plain.len() => Chunk::Coded(used, sha256(&coded[..used])),
                Some(used) => Chunk::Longer(used, sha256(&coded[..used])),
            };
            assert_eq!(&found, expected, "{} with {settings:?}", vector.input);
            if let Some(used) = used {
                let mut again = vec![0xA5; plain.len()];
                clog::check_chunk(settings, &coded[..used], plain.len()).expect("a sound chunk");
                clog::decode_chunk(settings, &coded[..used], &mut again).expect("a sound chunk");
                assert_same_bytes(&again, plain, &vector.input);
            }
        }
    }
}

/// The container is the same for all components, so the streams that other components must refuse for the container's
/// sake are refused here as well, for their container.
#[test]
fn conformance_clog_refuses_malformed() {
    let lc = Lc::load();
    for case in lc.malformed("CLOG") {
        let at = format!("{} with {:?}", case.why, case.settings);
        let spec = Spec { entry: &clog::ENTRY, settings: case.settings };
        if let Some(bytes) = case.chunk_bytes {
            let alone = clog::decode_chunk(case.settings, &case.coded, &mut vec![0; bytes]);
            assert!(alone.is_err(), "{at}");
            assert_eq!(clog::check_chunk(case.settings, &case.coded, bytes), alone, "{at}");
            // The same encoding as the only chunk of a stream: an empty one and one of `n` bytes or more are refused by
            // their entry, all others by the chunk.
            let mut stream = Vec::new();
            for field in [bytes, 1, case.coded.len()] {
                stream.extend_from_slice(&(field as u32).to_le_bytes());
            }
            stream.extend_from_slice(&case.coded);
            stream.resize(stream.len().next_multiple_of(4), 0);
            for executor in executors() {
                let fault = executor.decode(&spec, &stream, bytes).expect_err(&at);
                if (1..bytes).contains(&case.coded.len()) {
                    assert_eq!(support::root(&fault), &alone.clone().unwrap_err(), "{at} on {}", executor.name());
                }
            }
        } else {
            assert!(clog::check(case.settings, &case.coded).is_err(), "{at}");
            // Whatever length the caller expects: the stream's own, or the one it was made from.
            let own = case.coded.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes));
            for plain_bytes in [4117, own as usize].into_iter().filter(|&bytes| bytes < 1 << 20) {
                for executor in executors() {
                    let fault = executor.decode(&spec, &case.coded, plain_bytes);
                    assert!(fault.is_err(), "{at} on {}, {plain_bytes} bytes", executor.name());
                }
            }
        }
    }
}
