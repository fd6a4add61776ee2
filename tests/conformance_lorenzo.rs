//! The golden vectors of the Lorenzo predictors, on every backend.

mod support;

use support::assert_same_bytes;
use support::lorenzo::{Vectors, executors};
use support::vectors::sha256;
use warpack::Error;
use warpack::lorenzo::Ports;

fn cases(stage: &str, element: &str) {
    let vectors = Vectors::load();
    let mut input: (String, Vec<u8>) = Default::default();
    for case in vectors.cases(stage, element) {
        if input.0 != case.input {
            input = (case.input.clone(), vectors.input(&case.input));
        }
        let plain = &input.1;
        for executor in executors() {
            if case.elements > executor.max_elements() {
                continue;
            }
            let at = format!("{} on {}", case.id, executor.name());
            let ports = executor.forward(&case.settings, plain).unwrap_or_else(|error| panic!("{at}: {error}"));
            let Ports { output, means, modes } = &ports;
            for (name, found) in [("output", output), ("means", means), ("modes", modes)] {
                let at = format!("{name} of {at}");
                let Some(expected) = case.outputs.get(name) else {
                    assert_same_bytes(found, &[], &at);
                    continue;
                };
                if let Some(stored) = &expected.stored {
                    assert_same_bytes(found, stored, &at);
                }
                assert_eq!(found.len(), expected.bytes, "{at}");
                assert_eq!(sha256(found), expected.sha256, "{at}");
            }
            assert!(case.outputs.keys().all(|name| ["output", "means", "modes"].contains(&name.as_str())), "{at}");
            let again = executor.inverse(&case.settings, &ports, case.elements).unwrap_or_else(|error| panic!("{at}: {error}"));
            assert_same_bytes(&again, plain, &at);
        }
    }
}

#[test]
fn what_must_be_refused_is() {
    for case in Vectors::load().refused() {
        let plain = vec![0; case.elements * case.element.bytes() as usize];
        let fault = match case.lorenzo {
            Err(fault) => fault,
            Ok(lorenzo) => {
                let settings = support::lorenzo::Settings::Lorenzo(lorenzo);
                for executor in executors() {
                    let at = format!("{} on {}", case.what, executor.name());
                    let fault = executor.forward(&settings, &plain).expect_err(&at);
                    assert!(matches!(fault, Error::Extents { .. }), "{at}: {fault}");
                    let ports = Ports { output: plain.clone(), ..Ports::default() };
                    assert_eq!(executor.inverse(&settings, &ports, case.elements), Err(fault), "{at}");
                }
                continue;
            }
        };
        assert!(matches!(fault, Error::Setting { .. } | Error::SettingNeeds { .. }), "{}: {fault}", case.what);
    }
}

/// A test for each stage and type, so that they run side by side and fail by name.
macro_rules! conformance {
    ($($stage:ident: $($element:ident)*;)*) => {
        $(mod $stage {$(
            #[test]
            fn $element() {
                super::cases(stringify!($stage), stringify!($element));
            }
        )*})*

        #[test]
        fn no_case_is_left_out() {
            let vectors = Vectors::load();
            let counts = [$($(vectors.cases(stringify!($stage), stringify!($element)).len()),*),*];
            assert_eq!(counts.iter().sum::<usize>(), vectors.count());
        }
    };
}

conformance! {
    lorenzo: i8 i16 i32 i64;
    adaptive_lorenzo: i16 i32;
    tiled_lorenzo: i16 i32;
}
