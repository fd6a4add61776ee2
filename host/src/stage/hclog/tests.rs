//! What the vectors do not say.

#![forbid(unsafe_code)]

use super::*;
use crate::stage::lc;
use crate::{ChunkSize, Error, WordSize};

const SETTINGS: Settings = Settings { word: WordSize::W1, chunk: ChunkSize::C4096 };

/// The worked example of the format: 5, -2, 0 and -80, in subchunks 7, 15, 23 and 31.
const PLAIN: [u8; 4] = [5, 0xFE, 0, 0xB0];
const CODED: [u8; 24] = [
    0, 0x80, 0, 0x80, 4, 0, 0, 0, 0, 0x30, 0, 0, 0, 0x20, 0, 0, 0, 0, 0, 0, 0, 0x80, // flags, length, widths
    0xFD, 0x13,
];

#[test]
fn the_worked_example_is_byte_exact() {
    let mut coded = [0; 4096];
    assert_eq!(lc::encode_chunk::<Hclog>(SETTINGS, &PLAIN, &mut coded), Some(24));
    assert_eq!(coded[..24], CODED);
    let mut plain = [0; 4];
    lc::decode_chunk::<Hclog>(SETTINGS, &CODED, &mut plain).unwrap();
    assert_eq!(plain, PLAIN);
}

#[test]
fn a_chunk_with_several_faults_reports_the_first() {
    let mut coded = CODED;
    coded[23] |= 0x20; // padding: 13 of 16 payload bits are used
    let fault = |coded: &[u8]| lc::check_chunk::<Hclog>(SETTINGS, coded, 4).unwrap_err();
    assert_eq!(fault(&coded), Error::Padding { offset: 23 });
    assert_eq!(fault(&coded[..23]), Error::CodedLength { found: 23, expected: 24 });
    coded[6] |= 9; // subchunk 0, which has no words
    assert_eq!(fault(&coded[..23]), Error::Width { subchunk: 0, found: 9, max: 8 });
    coded[4] = 3;
    assert_eq!(fault(&coded[..23]), Error::LengthTag { found: 3, expected: 4 });
    assert_eq!(fault(&coded[..21]), Error::Truncated { field: "widths", offset: 6, need: 16, have: 15 });
    assert_eq!(fault(&coded[..5]), Error::Truncated { field: "chunk length", offset: 4, need: 2, have: 1 });
    assert_eq!(fault(&coded[..3]), Error::Truncated { field: "flags", offset: 0, need: 4, have: 3 });
    assert_eq!(fault(&[0; 4096]), Error::NotSmaller { coded: 4096, chunk: 4096 });
}
