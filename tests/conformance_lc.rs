//! The golden vectors of the LC components, on every backend.

mod support;

use support::vectors::{Chunk, Lc, sha256};
use support::{Spec, assert_same_bytes, executors};
use warpack::stage::Entry;

fn streams(entry: &'static Entry) {
    let lc = Lc::load();
    for vector in lc.vectors(&entry.name.to_uppercase()) {
        let plain = &lc.inputs[&vector.input];
        let spec = Spec { entry, settings: vector.settings };
        for executor in executors() {
            if plain.len() > executor.max_plain_bytes() {
                continue;
            }
            let at = format!("{} with {spec:?} on {}", vector.input, executor.name());
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

fn chunks(entry: &'static Entry) {
    let lc = Lc::load();
    for vector in lc.vectors(&entry.name.to_uppercase()) {
        let (plain, settings) = (&lc.inputs[&vector.input], vector.settings);
        let component = Spec { entry, settings }.component();
        let at = format!("{} with {} and {settings:?}", vector.input, entry.name);
        let chunk_bytes = settings.chunk.bytes() as usize;
        assert_eq!(plain.chunks(chunk_bytes).len(), vector.chunks.len(), "{at}");
        let mut coded = vec![0xA5; chunk_bytes];
        for (plain, expected) in plain.chunks(chunk_bytes).zip(&vector.chunks) {
            let used = component.encode_chunk(plain, &mut coded);
            let found = match used {
                None => Chunk::GivenUp,
                Some(used) if used < plain.len() => Chunk::Coded(used, sha256(&coded[..used])),
                Some(used) => Chunk::Longer(used, sha256(&coded[..used])),
            };
            assert_eq!(&found, expected, "{at}");
            if let Some(used) = used {
                let mut again = vec![0xA5; plain.len()];
                component.check_chunk(&coded[..used], plain.len()).expect("a sound chunk");
                component.decode_chunk(&coded[..used], &mut again).expect("a sound chunk");
                assert_same_bytes(&again, plain, &at);
            }
        }
    }
}

fn malformed(entry: &'static Entry) {
    for case in Lc::load().malformed(&entry.name.to_uppercase()) {
        let spec = Spec { entry, settings: case.settings };
        let (component, executors) = (spec.component(), executors());
        let at = format!("{} with {spec:?}", case.why);
        if let Some(bytes) = case.chunk_bytes {
            let alone = component.decode_chunk(&case.coded, &mut vec![0; bytes]);
            assert!(alone.is_err(), "{at}");
            assert_eq!(component.check_chunk(&case.coded, bytes), alone, "{at}");
            // The same encoding as the only chunk of a stream: an empty one and one of `n` bytes or more are refused by
            // their entry, all others by the chunk.
            let mut stream = Vec::new();
            for field in [bytes, 1, case.coded.len()] {
                stream.extend_from_slice(&(field as u32).to_le_bytes());
            }
            stream.extend_from_slice(&case.coded);
            stream.resize(stream.len().next_multiple_of(4), 0);
            for executor in executors {
                let fault = executor.decode(&spec, &stream, bytes).expect_err(&at);
                if (1..bytes).contains(&case.coded.len()) {
                    assert_eq!(support::root(&fault), &alone.clone().unwrap_err(), "{at} on {}", executor.name());
                }
            }
        } else {
            assert!(component.check(&case.coded).is_err(), "{at}");
            // Whatever length the caller expects: the stream's own, or the one it was made from.
            let own = case.coded.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes));
            for plain_bytes in [4117, own as usize].into_iter().filter(|&bytes| bytes < 1 << 20) {
                for executor in &executors {
                    let fault = executor.decode(&spec, &case.coded, plain_bytes);
                    assert!(fault.is_err(), "{at} on {}, {plain_bytes} bytes", executor.name());
                }
            }
        }
    }
}

/// Three tests a component, so that they run side by side and fail by name.
macro_rules! conformance {
    ($($component:ident),*) => {
        $(mod $component {
            use warpack::stage::$component::ENTRY;

            #[test]
            fn conformance_streams() {
                super::streams(&ENTRY);
            }

            #[test]
            fn conformance_chunks() {
                super::chunks(&ENTRY);
            }

            #[test]
            fn conformance_refuses_malformed() {
                super::malformed(&ENTRY);
            }
        })*

        #[test]
        fn no_component_is_left_out() {
            assert!(Spec::components().map(|entry| entry.name).eq([$(stringify!($component)),*]));
        }
    };
}

conformance!(clog, hclog, rre, rze, rare, raze);
