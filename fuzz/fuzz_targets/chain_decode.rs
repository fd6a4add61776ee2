//! Archives of a chain of stages, changed as the input says and sealed again: refused, or the plain bytes.
//!
//! Checksums and the digest would hide the stages from a fuzzer: the former are put right, the latter is looked at last. Without changes the archive is
//! sound and must come back.
#![no_main]

#[path = "../../tests/support/seal.rs"]
#[allow(dead_code)] // tests use the rest
mod seal;

use libfuzzer_sys::fuzz_target;
use std::io::Cursor;
use std::sync::Arc;
use warpack::archive::{Archive, CompressOptions, DecompressOptions, compress, decompress};
use warpack::stage::{self, Options, Stage};
use warpack::{ElementType, WordSize};

const ELEMENTS: [ElementType; 4] = [ElementType::I8, ElementType::I16, ElementType::I32, ElementType::I64];
const PREDICTORS: [&str; 3] = ["lorenzo", "adaptive_lorenzo", "tiled_lorenzo"];
const CODERS: [&str; 3] = ["clog", "raze", "causal"];

/// A predictor, zigzag, a coder; `None` where the predictor has no such elements.
fn chain(which: u8, element: ElementType) -> Option<Vec<Box<dyn Stage>>> {
    let which = usize::from(which);
    let word_size = WordSize::from_bytes(element.bytes());
    let coder = CODERS[which / PREDICTORS.len() % CODERS.len()];
    let stage = |name, options: Options| stage::by_name(name)?.stage(&options).ok();
    let of_words = Options { word_size, ..Options::default() };
    Some(vec![
        stage(PREDICTORS[which % PREDICTORS.len()], Options { element: Some(element), ..Options::default() })?,
        stage("zigzag", of_words)?,
        stage(coder, if coder == "causal" { Options::default() } else { of_words })?,
    ])
}

fuzz_target!(|input: &[u8]| {
    // The chain, the elements; their number; what is added to the lengths between the stages; then changes of three bytes each: where, and the bits.
    let Some((&[which, element, low, high, first, second], changes)) = input.split_first_chunk() else { return };
    let element = ELEMENTS[usize::from(element) % ELEMENTS.len()];
    let Some(stages) = chain(which, element) else { return };
    let elements = 64 + u64::from(u16::from_le_bytes([low, high])) % 8192;
    // Differences that are small and not all the same.
    let plain = (0..elements).flat_map(|i| (i * 3 + i * i % 5).to_le_bytes().into_iter().take(element.bytes() as usize));
    let plain: Vec<u8> = plain.collect();
    let options = CompressOptions { stages: Arc::from(stages), element, ..CompressOptions::default() };
    let mut archive = compress(&plain, &options).expect("stages of these elements");

    let block = 16 * usize::from(archive[8]);
    if archive[block + 1] != 0 {
        return; // stored, or with a digest of its own
    }
    // The block's header has the lengths behind two stages, and a digest.
    let payload = block + (16usize + 2 * 8 + 32).next_multiple_of(16);
    for (index, more) in [first, second].into_iter().enumerate() {
        let at = block + 16 + 8 * index;
        archive[at] = archive[at].wrapping_add(more);
    }
    let end = archive.len() - 16;
    for change in changes.as_chunks::<3>().0 {
        let at = payload + usize::from(u16::from_le_bytes([change[0], change[1]])) % (end - payload);
        archive[at] ^= change[2];
    }
    let seal = archive[12..16].to_vec();
    seal::reseal_part(&seal, Some(0), &mut archive[block..payload]);

    let outcome = decompress(&archive, &DecompressOptions::default());
    if let Ok(again) = &outcome {
        assert!(*again == plain, "a wrong answer");
    }
    if changes.is_empty() && [first, second] == [0, 0] {
        assert!(outcome.is_ok(), "a sound archive: {outcome:?}");
    }
    let mut sought = Vec::new();
    let seeking = Archive::open(Cursor::new(&archive), &DecompressOptions::default())
        .and_then(|mut archive| archive.copy_range(0..archive.info().plain_bytes, &mut sought));
    assert_eq!(seeking.is_ok(), outcome.is_ok(), "by the index: {seeking:?}");
});
