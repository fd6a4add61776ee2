//! What the vectors do not say.

#![forbid(unsafe_code)]

use super::*;
use crate::stage::lc::Chunked;
use crate::stage::{Options, by_name, lc};
use crate::{ChunkSize, Error, WordSize};

/// Settings of a stage by name, at the chunk size of the examples.
fn stage(name: &str, word: WordSize) -> Box<dyn crate::stage::Stage> {
    let options = Options { word_size: Some(word), chunk_size: Some(ChunkSize::C4096), ..Options::default() };
    (by_name(name).unwrap().from_options)(&options).unwrap()
}

/// The worked examples of the format: component, word size, plain and coded bytes.
const EXAMPLES: [(&str, WordSize, &[u8], &[u8]); 8] = [
    ("rre", WordSize::W1, &[0, 0, 7, 7, 7, 9], &[7, 9, 0x24, 0, 3, 0, 3, 0, 3, 6, 0]),
    ("rze", WordSize::W1, &[0, 0, 7, 7, 7, 9], &[7, 7, 7, 9, 0x3C, 0, 3, 0, 3, 0, 3, 6, 0]),
    (
        "rare",
        WordSize::W2,
        &[0x34, 0x12, 0x35, 0x12, 0x37, 0x12, 0x34, 0x1F, 0x55],
        &[0x34, 0x12, 0x34, 0x1F, 0x0D, 9, 0, 3, 0, 3, 0, 0, 0, 0x55, 2, 9, 0],
    ),
    ("raze", WordSize::W1, &[3, 0x90, 1, 0, 2], &[0x90, 0x87, 2, 0, 3, 0, 3, 0, 3, 2, 5, 0]),
    ("rre", WordSize::W2, &[0; 5], &[0, 5, 0]),
    ("rze", WordSize::W2, &[0; 5], &[0, 5, 0]),
    ("rare", WordSize::W2, &[0; 5], &[0, 0x11, 5, 0]),
    ("rare", WordSize::W2, &[1, 0x80, 0xFE, 0x7F, 0, 0x80], &[1, 0x80, 0xFE, 0x7F, 0, 0x80, 0x10, 6, 0]),
];

#[test]
fn the_worked_examples_are_byte_exact() {
    for (name, word, plain, expected) in EXAMPLES {
        let stage = stage(name, word);
        let component: &dyn Chunked = stage.chunked().unwrap();
        let mut coded = [0xA5; 4096];
        let used = component.encode_chunk(plain, &mut coded).unwrap();
        assert_eq!(&coded[..used], expected, "{name}");
        let mut again = vec![0xA5; plain.len()];
        component.check_chunk(expected, plain.len()).unwrap();
        component.decode_chunk(expected, &mut again).unwrap();
        assert_eq!(again, plain, "{name}");
    }
}

#[test]
fn a_chunk_with_several_faults_reports_the_first() {
    let settings = Settings { word: WordSize::W2, chunk: ChunkSize::C4096 };
    let fault = |coded: &[u8], plain_bytes| lc::check_chunk::<rare::Rare>(settings, coded, plain_bytes).unwrap_err();
    let mut coded = EXAMPLES[2].3.to_vec();
    coded[4] |= 0x10; // padding: two words of two bits
    assert_eq!(fault(&coded, 9), Error::Padding { offset: 4 });
    coded[14] = 6;
    assert_eq!(fault(&coded, 9), Error::CodedLength { found: 17, expected: 18 });
    coded[14] = 2;
    coded[5] |= 0x20; // one flag more, of a word that is not there
    assert_eq!(fault(&coded, 9), Error::BitmapFlag { word: 5, words: 4 });
    coded[9..11].fill(0xFF); // level 2: more bytes of level 1 than there are in front of it
    assert_eq!(fault(&coded, 9), Error::BitmapLength { level: 1, need: 16, have: 9 });
    coded[14] = 0x10;
    assert_eq!(fault(&coded, 9), Error::CodedLength { found: 17, expected: 12 });
    coded[14] = 0x11;
    assert_eq!(fault(&coded, 9), Error::CodedLength { found: 17, expected: 4 });
    coded[14] = 0x12;
    assert_eq!(fault(&coded, 9), Error::Keep { found: 18, max: 17 });
    assert_eq!(fault(&coded, 11), Error::LengthTag { found: 9, expected: 11 });
    assert_eq!(fault(&coded[..3], 9), Error::Truncated { field: "leftover bytes", offset: 0, need: 1, have: 0 });
    assert_eq!(fault(&coded[..2], 9), Error::Truncated { field: "tag", offset: 0, need: 3, have: 2 });
    assert_eq!(fault(&[0; 4096], 9), Error::NotSmaller { coded: 4096, chunk: 4096 });
}

#[test]
fn a_bitmap_shorter_than_its_last_level_is_refused() {
    let settings = Settings { word: WordSize::W2, chunk: ChunkSize::C4096 };
    // The last level has four bytes.
    let fault = lc::check_chunk::<rre::Rre>(settings, &[1, 2, 3, 8, 0], 8).unwrap_err();
    assert_eq!(fault, Error::BitmapLength { level: 2, need: 4, have: 3 });
    // Nothing flagged in a bitmap that is there: no encoder writes it, but it says something.
    let mut plain = [1; 8];
    lc::decode_chunk::<rre::Rre>(settings, &[0, 0, 0, 0, 8, 0], &mut plain).unwrap();
    assert_eq!(plain, [0; 8]);
}
