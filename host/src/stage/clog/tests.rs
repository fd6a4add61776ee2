//! What the vectors do not say.

#![forbid(unsafe_code)]

use super::*;
use crate::stage::{self, Options, Record, Stage};
use crate::{ChunkSize, Error, WordSize};

/// The worked example of the format: words 1, 2, 3, 300 and the byte AA.
const PLAIN: [u8; 9] = [1, 0, 2, 0, 3, 0, 0x2C, 1, 0xAA];
const CODED: [u8; 25] = [9, 0, 0, 0, 0, 0, 8, 0, 0, 0, 0, 0x10, 0, 0, 0, 0, 0x10, 0, 0, 0, 0, 0x48, 0x9D, 0x25, 0xAA];
const SETTINGS: Settings = Settings { word: WordSize::W2, chunk: ChunkSize::C4096 };

#[test]
fn the_worked_example_is_byte_exact() {
    let mut coded = [0; 4096];
    assert_eq!(encode_chunk(SETTINGS, &PLAIN, &mut coded), Some(25));
    assert_eq!(coded[..25], CODED);
    let mut plain = [0; 9];
    decode_chunk(SETTINGS, &CODED, &mut plain).unwrap();
    assert_eq!(plain, PLAIN);
}

#[test]
fn a_chunk_with_several_faults_reports_the_first() {
    let mut coded = CODED;
    coded[23] |= 0x40; // padding: 14 of 16 payload bits are used
    let fault = |coded: &[u8]| check_chunk(SETTINGS, coded, 9).unwrap_err();
    assert_eq!(fault(&coded), Error::Padding { offset: 23 });
    assert_eq!(fault(&coded[..24]), Error::CodedLength { found: 24, expected: 25 });
    coded[2] |= 17; // subchunk 0, which has no words
    assert_eq!(fault(&coded[..24]), Error::Width { subchunk: 0, found: 17, max: 16 });
    coded[0] = 8;
    assert_eq!(fault(&coded[..24]), Error::LengthTag { found: 8, expected: 9 });
    assert_eq!(fault(&coded[..21]), Error::Truncated { field: "widths", offset: 2, need: 20, have: 19 });
    assert_eq!(fault(&coded[..1]), Error::Truncated { field: "chunk length", offset: 0, need: 2, have: 1 });
    assert_eq!(fault(&[0; 4096]), Error::NotSmaller { coded: 4096, chunk: 4096 });
}

#[test]
fn records_come_back_and_strange_ones_are_refused() {
    for settings in Settings::all() {
        let record = Family::<Clog>::new(settings).record();
        let options = Options { word_size: Some(settings.word), chunk_size: Some(settings.chunk), ..Options::default() };
        assert_eq!((ENTRY.from_options)(&options).unwrap().record(), record);
        assert_eq!((ENTRY.from_record)(&record).unwrap().record(), record);
        assert_eq!(Settings::read(&ENTRY, &record), Ok(settings));
    }
    let record = Record { id: 1, version: 0, settings: vec![2, 14] };
    assert_eq!(Settings::default().write(&ENTRY), record);
    let refusal = |record: Record| (ENTRY.from_record)(&record).map(|_| ()).unwrap_err();
    let stage = "clog";
    assert_eq!(refusal(Record { id: 2, ..record.clone() }), Error::RecordStage { stage, found: 2, expected: 1 });
    assert_eq!(refusal(Record { version: 1, ..record.clone() }), Error::RecordVersion { stage, found: 1, max: 0 });
    for settings in [vec![], vec![2], vec![2, 14, 0]] {
        let found = settings.len() as u64;
        let fault = refusal(Record { settings, ..record.clone() });
        assert_eq!(fault, Error::RecordLength { stage, found, expected: 2 });
    }
    for word in [0, 3, 16, 255] {
        let fault = refusal(Record { settings: vec![word, 14], ..record.clone() });
        assert!(matches!(fault, Error::Setting { setting: "word size", found, .. } if found == u64::from(word)));
    }
    for log2 in [0, 11, 15, 64, 255] {
        let fault = refusal(Record { settings: vec![2, log2], ..record.clone() });
        assert!(matches!(fault, Error::Setting { found, .. } if found == u64::from(log2)));
    }
}

#[test]
fn the_table_has_no_two_rows_alike() {
    for (i, entry) in stage::ALL.iter().enumerate() {
        assert!(std::ptr::eq(stage::by_name(entry.name).unwrap(), *entry), "{}", entry.name);
        assert!(std::ptr::eq(stage::by_id(entry.id).unwrap(), *entry), "{}", entry.name);
        assert!(stage::ALL[..i].iter().all(|other| other.id != entry.id && other.name != entry.name));
    }
}

#[test]
fn the_longest_input_just_fits() {
    for chunk in ChunkSize::ALL {
        let max = lc::max_plain_bytes(chunk);
        assert!(lc::max_coded_bytes(chunk, max) <= u32::MAX.into());
        assert!(lc::max_coded_bytes(chunk, max + 4) > u32::MAX.into());
        for plain in [0, 1, 4095, 4096, 4097, 1 << 20, max as u32] {
            let container = shared_types::lc::Container { plain, chunk };
            assert_eq!(lc::max_coded_bytes(chunk, plain.into()), container.max_stream_bytes());
        }
        assert!(lc::max_coded_bytes(chunk, u64::MAX) > u64::MAX / 2);
    }
}

#[test]
fn errors_tell_the_whole_story() {
    let fault = Error::Width { subchunk: 7, found: 41, max: 32 }.in_chunk(3);
    assert_eq!(fault.to_string(), "in chunk 3");
    let source = std::error::Error::source(&fault).unwrap();
    assert_eq!(source.to_string(), "subchunk 7 has width 41, at most 32 fits");
    assert!(source.source().is_none());
}
