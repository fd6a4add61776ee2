//! The archive of docs/format.md, driven through the library.

#[path = "support/seal.rs"]
mod seal;

use seal::{reseal, reseal_part};
use std::io::{self, Cursor, Read, Write};
use std::sync::Arc;
use warpack::archive::{
    Archive, CompressOptions, DecompressOptions, ElementType, Info, Reader, Shape, Summary, Writer, compress, decompress, info,
    verify,
};
use warpack::stage::{self, Options, Stage};
use warpack::{ChunkSize, Error, Result, WordSize};

fn clog(word: WordSize) -> Box<dyn Stage> {
    let options = Options { word_size: Some(word), chunk_size: Some(ChunkSize::C4096), ..Options::default() };
    (stage::by_name("clog").unwrap().from_options)(&options).unwrap()
}

fn stored() -> Box<dyn Stage> {
    (stage::by_name("stored").unwrap().from_options)(&Options::default()).unwrap()
}

fn options(stages: Vec<Box<dyn Stage>>, block_bytes: u64) -> CompressOptions {
    CompressOptions { stages: stages.into(), block_bytes, ..Default::default() }
}

fn defaults() -> DecompressOptions {
    DecompressOptions::default()
}

/// Words that shrink, with noise in their low bits.
fn words(count: usize) -> Vec<u8> {
    let mut state = 1u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u16
    };
    (0..count).flat_map(|_| next().to_le_bytes()).collect()
}

/// Bytes that no stage shrinks.
fn noise(count: usize) -> Vec<u8> {
    let mut state = 7u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    };
    (0..count).map(|_| next()).collect()
}

/// Reads and takes at most `step` bytes at once, with an interruption before each.
struct Slow<T> {
    inner: T,
    step: usize,
    interrupt: bool,
}

impl<T> Slow<T> {
    fn new(inner: T, step: usize) -> Self {
        Self { inner, step, interrupt: false }
    }

    fn interrupted(&mut self) -> io::Result<()> {
        self.interrupt = !self.interrupt;
        if self.interrupt { Err(io::ErrorKind::Interrupted.into()) } else { Ok(()) }
    }
}

impl<T: Read> Read for Slow<T> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.interrupted()?;
        let step = bytes.len().min(self.step);
        self.inner.read(&mut bytes[..step])
    }
}

impl<T: Write> Write for Slow<T> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.interrupted()?;
        self.inner.write(&bytes[..bytes.len().min(self.step)])
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// Every way to read an archive; all must agree.
fn read_every_way(archive: &[u8]) -> Result<Vec<u8>> {
    let plain = decompress(archive, &defaults());
    let mut slow = Vec::new();
    let slowly = Reader::new(Slow::new(archive, 7), &defaults()).and_then(|mut reader| reader.copy(&mut slow));
    assert_eq!(slowly.map(|()| slow), plain, "in small pieces");
    let mut sought = Vec::new();
    let seeking = Archive::open(Cursor::new(archive), &defaults()).and_then(|mut archive| {
        let all = archive.info();
        archive.copy_range(0..all.plain_bytes, &mut sought).map(|()| all)
    });
    match &plain {
        Ok(plain) => {
            let passing = verify(archive, &defaults()).unwrap();
            assert_eq!(passing, info(archive, &defaults()).unwrap());
            assert_eq!(passing, seeking.unwrap());
            assert_eq!((passing.plain_bytes, passing.archive_bytes), (plain.len() as u64, archive.len() as u64));
            assert!(sought == *plain, "by the index");
        }
        // What went wrong may be told in another way, but not overlooked.
        Err(_) => assert!(seeking.is_err() || verify(archive, &defaults()).is_err()),
    }
    plain
}

fn round_trip(plain: &[u8], options: &CompressOptions) -> Vec<u8> {
    let archive = compress(plain, options).unwrap();
    assert!(read_every_way(&archive).unwrap() == plain);
    archive
}

#[test]
fn every_length_around_block_borders_comes_back() {
    for block in [1, 2, 15, 16, 17, 64] {
        for length in 0..=3 * block + 1 {
            let plain = noise(length as usize);
            for stages in [vec![clog(WordSize::W1)], vec![stored()], vec![stored(), clog(WordSize::W2)]] {
                round_trip(&plain, &options(stages, block));
            }
        }
    }
    let plain = words(200_000);
    for block in [4096, 65_536, 399_999, 400_000, 400_001, 1 << 40] {
        for word in WordSize::ALL {
            round_trip(&plain, &options(vec![clog(word)], block.min(1 << 30)));
        }
    }
}

#[test]
fn overhead_is_what_the_format_page_says() {
    let empty = compress(b"", &options(vec![clog(WordSize::W2)], 1 << 20)).unwrap();
    assert_eq!(empty.len(), 48);
    let plain = words(1000);
    let mut payload = Vec::new();
    clog(WordSize::W2).coder(&warpack::Backend::Cpu).unwrap().encode(&plain, &mut payload).unwrap();
    let one = compress(&plain, &options(vec![clog(WordSize::W2)], 1 << 20)).unwrap();
    assert_eq!(one.len(), payload.len() + 96);
    assert_eq!(one[80..80 + payload.len()], payload, "the payload is verbatim, 16-aligned");
    let four = compress(&noise(64), &options(vec![stored()], 16)).unwrap();
    assert_eq!(four.len(), 32 + 4 * (48 + 16) + 16 + 3 * 8);
}

/// Written by hand from docs/format.md, with checksums and digests from an independent implementation (Python: hashlib and a bitwise
/// CRC-32C).
#[test]
fn bytes_are_those_of_the_format_page() {
    let archive = compress(b"warpack", &CompressOptions { block_bytes: 4, ..options(vec![stored()], 4) }).unwrap();
    assert_eq!(hex(&archive), PINNED, "two blocks of 4 and 3 bytes, stored");
    assert_eq!(read_every_way(&unhex(PINNED)).unwrap(), b"warpack");
    let shape = Some(Shape::new(vec![2, 3]).unwrap());
    let shaped = CompressOptions { element: ElementType::I16, shape, ..options(vec![stored(), stored()], 6) };
    let archive = compress(b"abcdefghijkl", &shaped).unwrap();
    assert_eq!(hex(&archive), PINNED_SHAPED, "two rows of three i16");
}

include!("archive/pinned.rs");

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
}

/// Small archives of every kind: one block, many, short last, stored, chained, shaped, empty.
fn small_archives() -> Vec<(&'static str, Vec<u8>)> {
    let shape = |extents: &[u64]| Some(Shape::new(extents.to_vec()).unwrap());
    let plain = words(150);
    vec![
        ("empty", compress(b"", &options(vec![clog(WordSize::W1)], 64)).unwrap()),
        ("one byte", compress(&[9], &options(vec![clog(WordSize::W1)], 64)).unwrap()),
        ("one block", compress(&plain, &options(vec![clog(WordSize::W2)], 1 << 20)).unwrap()),
        ("three blocks, the last short", compress(&plain, &options(vec![clog(WordSize::W2)], 120)).unwrap()),
        ("equal blocks", compress(&[0; 192], &options(vec![clog(WordSize::W1)], 64)).unwrap()),
        ("stored", compress(&noise(50), &options(vec![clog(WordSize::W1)], 40)).unwrap()),
        ("chain", compress(&plain, &options(vec![clog(WordSize::W2), clog(WordSize::W1), stored()], 150)).unwrap()),
        (
            "shape",
            compress(
                &plain,
                &CompressOptions {
                    element: ElementType::U16,
                    shape: shape(&[3, 5, 10]),
                    ..options(vec![clog(WordSize::W2)], 100)
                },
            )
            .unwrap(),
        ),
        (
            "empty shape",
            compress(b"", &CompressOptions { shape: shape(&[3, 0]), ..options(vec![clog(WordSize::W2)], 100) }).unwrap(),
        ),
    ]
}

#[test]
fn every_truncation_is_refused() {
    for (name, archive) in small_archives() {
        read_every_way(&archive).unwrap();
        for length in 0..archive.len() {
            let error = read_every_way(&archive[..length]).unwrap_err();
            let error = if let Error::InBlock { source, .. } = error { *source } else { error };
            assert!(matches!(error, Error::Truncated { .. }), "{name}, {length} bytes: {error:?}");
            assert!(
                Archive::open(Cursor::new(&archive[..length]), &defaults()).is_err(),
                "{name}, {length} bytes, by the index"
            );
            assert!(info(&archive[..length], &defaults()).is_err());
        }
    }
}

/// Whatever happens to whichever byte: an error, never other plain bytes.
#[test]
fn every_change_of_one_byte_is_refused() {
    for (name, archive) in small_archives() {
        let mut damaged = archive.clone();
        for at in 0..archive.len() {
            // Single bits, all bits, and a few between: every value took a minute and found nothing else.
            for flip in [1, 2, 4, 8, 16, 32, 64, 128, 255, 0x55, 0x0F, 0xF1] {
                damaged[at] = archive[at] ^ flip;
                let found = decompress(&damaged, &defaults());
                assert!(found.is_err(), "{name}, byte {at}, xor {flip}");
            }
            damaged[at] = archive[at] ^ 1 << (at % 8);
            read_every_way(&damaged).unwrap_err();
            damaged[at] = archive[at];
        }
    }
}

/// By the index, only what a range needs is read; but what is read is checked.
#[test]
fn every_change_of_one_byte_is_refused_by_the_index_or_changes_nothing() {
    for (name, archive) in small_archives() {
        let plain = decompress(&archive, &defaults()).unwrap();
        let mut damaged = archive.clone();
        for at in 0..archive.len() {
            damaged[at] = archive[at] ^ 1 << (at % 8);
            let mut found = Vec::new();
            let whole = Archive::open(Cursor::new(&damaged), &defaults())
                .and_then(|mut archive| archive.copy_range(0..plain.len() as u64, &mut found));
            // The fill between blocks is the only thing that the index leads around.
            assert!(whole.is_err() || found == plain, "{name}, byte {at}");
            damaged[at] = archive[at];
        }
    }
}

#[test]
fn bytes_behind_the_end_are_refused() {
    for (name, archive) in small_archives() {
        for more in [&[0][..], &[0; 16], b"B", b"E", b"\n", &archive] {
            let long = [&archive, more].concat();
            let error = decompress(&long, &defaults()).unwrap_err();
            assert_eq!(error, Error::Trailing { offset: archive.len() as u64 }, "{name}");
            assert!(Archive::open(Cursor::new(&long), &defaults()).is_err() || more == archive, "{name}, by the index");
            assert_eq!(info(&long[..], &defaults()).unwrap_err(), error);
        }
    }
}

#[test]
fn blocks_belong_to_their_place_and_archive() {
    let plain = [noise(16), noise(32)[16..].to_vec(), noise(48)[32..].to_vec()].concat();
    let archive = compress(&plain, &options(vec![stored()], 16)).unwrap();
    let block = |number: usize| 32 + number * 64..96 + number * 64;
    // Swapped, with an index that still holds: all blocks are equally long.
    let mut swapped = archive.clone();
    swapped[block(0)].copy_from_slice(&archive[block(1)]);
    swapped[block(1)].copy_from_slice(&archive[block(0)]);
    let error = read_every_way(&swapped).unwrap_err();
    assert!(matches!(&error, Error::InBlock { index: 0, source } if matches!(**source, Error::Checksum { .. })), "{error:?}");
    // A block of another archive, whose header differs.
    let other = CompressOptions { element: ElementType::U8, ..options(vec![stored()], 16) };
    let other = compress(&plain, &other).unwrap();
    let mut mixed = archive.clone();
    mixed[block(1)].copy_from_slice(&other[block(1)]);
    assert!(matches!(read_every_way(&mixed).unwrap_err(), Error::InBlock { index: 1, .. }));
    // One block dropped.
    let dropped = [&archive[..block(1).start], &archive[block(2).start..]].concat();
    assert!(matches!(read_every_way(&dropped).unwrap_err(), Error::InBlock { index: 1, .. }));
}

/// Fields that were changed by somebody who knows the checksums: an error, or else the plain bytes that the digests
/// stand for.
#[test]
fn changed_fields_with_right_checksums_never_give_other_bytes() {
    let mut state = 0x9E37_79B9_7F4A_7C15u64;
    let mut random = move |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        ((state >> 20) % below as u64) as usize
    };
    let (mut refused, mut taken) = (0, 0);
    for (name, archive) in small_archives() {
        let plain = decompress(&archive, &defaults()).unwrap();
        let header_bytes = usize::from(archive[8]) * 16;
        let count = u64::from_le_bytes(archive[archive.len() - 8..].try_into().unwrap()) as usize;
        let end = archive.len() - 16 - 8 * count.saturating_sub(1);
        let mut starts = vec![header_bytes; count.min(1)];
        starts.extend((1..count).map(|i| u64::from_le_bytes(archive[end + 8 * i..][..8].try_into().unwrap()) as usize));
        for _ in 0..3000 {
            let mut damaged = archive.clone();
            for _ in 0..1 + random(3) {
                // Mostly small fields and their edges, within the headers and the end.
                let part = random(count + 2);
                let at = match part {
                    0 => random(header_bytes),
                    1 => end + random(archive.len() - end),
                    block => starts[block - 2] + random(48),
                };
                damaged[at] = [0, 1, 2, 0x7F, 0x80, 0xFF, random(256) as u8, damaged[at].wrapping_add(1)][random(8)];
            }
            reseal(&mut damaged[..header_bytes]);
            let seal = damaged[12..16].to_vec();
            for (number, start) in starts.iter().enumerate() {
                let lengths = if damaged[start + 1] & 1 == 0 { usize::from(archive[11]) - 1 } else { 0 };
                let flags = usize::from(damaged[start + 1]);
                let digest = if flags & 2 == 0 { 32 } else { 0 };
                let length = (16 + 8 * (flags >> 2 & 1) + 8 * lengths + digest).next_multiple_of(16);
                let length = length.min(damaged.len() - start);
                reseal_part(&seal, Some(number as u64), &mut damaged[*start..start + length]);
            }
            reseal_part(&seal, None, &mut damaged[end..]);
            let options = DecompressOptions { max_block_bytes: 1 << 20, ..defaults() };
            let mut sought = Vec::new();
            let seeking = Archive::open(Cursor::new(&damaged), &options)
                .and_then(|mut archive| archive.copy_range(0..archive.info().plain_bytes, &mut sought));
            assert!(seeking.is_err() || sought == plain, "{name}, by the index");
            match decompress(&damaged, &options) {
                Ok(found) => {
                    assert!(found == plain, "{name}");
                    taken += 1;
                }
                Err(_) => refused += 1,
            }
            let _ = info(&damaged[..], &options);
        }
    }
    assert!(refused > 1000 && taken > 100, "{refused} refused, {taken} taken: both ways are gone");
}

/// The header of a small archive, changed by `change` and sealed again.
fn header_with(change: impl FnOnce(&mut Vec<u8>)) -> Error {
    let mut archive = compress(&noise(40), &options(vec![stored()], 16)).unwrap()[..32].to_vec();
    change(&mut archive);
    reseal(&mut archive);
    let error = decompress(&archive, &defaults()).unwrap_err();
    assert_eq!(info(&archive[..], &defaults()).unwrap_err(), error);
    error
}

#[test]
fn hostile_headers_each_have_their_error() {
    assert!(matches!(header_with(|_| ()), Error::Truncated { field: "block or end", .. }), "the header itself is sound");
    assert!(matches!(header_with(|header| header[0] = 0x88), Error::Magic { .. }));
    assert_eq!(header_with(|header| header[0] = 0x09), Error::TextMode);
    assert_eq!(header_with(|header| header.retain(|byte| *byte != b'\r')), Error::TextMode);
    assert_eq!(header_with(|header| header[4..].rotate_left(1)), Error::TextMode);
    assert_eq!(header_with(|header| header[0] = b'\t'), Error::TextMode);
    assert_eq!(header_with(|header| header.insert(6, b'\r')), Error::TextMode);
    assert_eq!(header_with(|header| header[7] = 0), Error::Version { found: 0, max: 1 });
    assert_eq!(header_with(|header| header[7] = 2), Error::Version { found: 2, max: 1 });
    for units in [0, 1] {
        let found = header_with(|header| header[8] = units);
        assert_eq!(found, Error::HeaderLength { found: 16 * u64::from(units), expected: 32 });
    }
    assert!(matches!(header_with(|header| header[8] = 255), Error::Truncated { field: "header", .. }));
    let long = header_with(|header| {
        header[8] = 3;
        header.extend_from_slice(&[0; 16]);
    });
    assert_eq!(long, Error::HeaderLength { found: 48, expected: 32 });
    for bit in 1..8 {
        let found = header_with(|header| header[9] = 1 << bit);
        assert_eq!(found, Error::Reserved { field: "header flags", offset: 9, found: 1 << bit });
    }
    assert_eq!(header_with(|header| header[10] = 0x13), Error::ElementType { found: 0x13 });
    assert_eq!(header_with(|header| header[11] = 0), Error::StageCount { found: 0, max: 255 });
    assert!(matches!(header_with(|header| header[11] = 255), Error::Truncated { .. }));
    assert!(matches!(header_with(|header| header[16..24].fill(0)), Error::BlockSize { found: 0, .. }));
    assert_eq!(header_with(|header| header[24..26].fill(0xFF)), Error::UnknownStage { id: 0xFFFF });
    assert_eq!(header_with(|header| header[26] = 1), Error::RecordVersion { stage: "stored", found: 1, max: 0 });
    assert_eq!(header_with(|header| header[27] = 2), Error::RecordLength { stage: "stored", found: 2, expected: 0 });
    assert!(matches!(header_with(|header| header[27] = 200), Error::Truncated { field: "settings", .. }));
    assert_eq!(header_with(|header| header[31] = 1), Error::Padding { offset: 31 });
}

#[test]
fn hostile_shapes_are_refused() {
    let shaped = |rank: u8, axis: u8, extents: &[u64], block: u64| {
        header_with(|header| {
            header[9] = 1;
            header[10] = ElementType::U16.code();
            header[16..24].copy_from_slice(&block.to_le_bytes());
            header.truncate(28);
            header.extend_from_slice(&[rank, axis]);
            header.extend(extents.iter().flat_map(|extent| extent.to_le_bytes()));
            header.resize(header.len().next_multiple_of(16), 0);
            header[8] = (header.len() / 16) as u8;
        })
    };
    assert!(matches!(shaped(2, 0, &[4, 3], 12), Error::Truncated { field: "block or end", .. }), "sound");
    assert!(matches!(shaped(2, 0, &[4, 3], 10), Error::BlockSize { found: 10, .. }), "not whole rows");
    assert!(matches!(shaped(2, 0, &[4, 3], 30), Error::BlockSize { found: 30, .. }), "more than there is");
    assert!(matches!(shaped(2, 1, &[4, 3], 12), Error::BlockSize { found: 12, .. }), "more than a run");
    assert!(matches!(shaped(2, 2, &[4, 3], 12), Error::Shape { .. }), "no such axis");
    assert!(matches!(shaped(0, 0, &[], 12), Error::Shape { .. }), "no axis");
    assert!(matches!(shaped(2, 0, &[1 << 32, 1 << 32], 12), Error::Shape { .. }), "2^64 elements");
    assert!(matches!(shaped(2, 0, &[1 << 32, 1 << 31], 12), Error::Shape { .. }), "2^64 bytes");
    assert!(matches!(shaped(2, 1, &[0, 3], 2), Error::Shape { .. }), "empty, yet cut along the second axis");
    assert!(matches!(shaped(3, 0, &[4, 3], 12), Error::Truncated { field: "extent", .. }));
}

#[test]
fn blocks_above_the_limit_are_refused_before_anything_is_allocated() {
    for block in [(256u64 << 20) + 1, 1 << 40, u64::MAX] {
        let found = header_with(|header| header[16..24].copy_from_slice(&block.to_le_bytes()));
        assert_eq!(found, Error::BlockLimit { found: block, max: 256 << 20 });
    }
    let archive = compress(&noise(100), &options(vec![stored()], 64)).unwrap();
    let tight = |max_block_bytes| decompress(&archive, &DecompressOptions { max_block_bytes, ..defaults() });
    assert_eq!(tight(63), Err(Error::BlockLimit { found: 64, max: 63 }));
    assert!(tight(64).is_ok());
}

/// A block header that promises a payload of almost a block, and then ends: the bytes decide how much is allocated. (The
/// test's own limit is the address space of a machine: 2^62 bytes can't be had.)
#[test]
fn promised_payloads_are_not_believed() {
    let mut archive = compress(&noise(40), &options(vec![clog(WordSize::W1)], 16)).unwrap()[..32].to_vec();
    archive[16..24].copy_from_slice(&(1u64 << 62).to_le_bytes());
    reseal(&mut archive);
    let seal = archive[12..16].to_vec();
    let mut block = vec![0; 48];
    block[0] = b'B';
    block[8..16].copy_from_slice(&((1u64 << 62) - 1).to_le_bytes());
    reseal_part(&seal, Some(0), &mut block);
    archive.extend_from_slice(&block);
    archive.extend_from_slice(&[1; 1000]);
    let options = DecompressOptions { max_block_bytes: u64::MAX, ..defaults() };
    let error = decompress(&archive, &options).unwrap_err();
    let expected = Error::Truncated { field: "payload", offset: 80, need: (1 << 62) - 1, have: 1000 };
    assert_eq!(error, Error::InBlock { index: 0, source: Box::new(expected) });
}

#[test]
fn the_flag_for_graphs_and_unknown_block_flags_are_refused() {
    let archive = compress(&noise(40), &options(vec![stored()], 64)).unwrap();
    for bit in 3..8 {
        let mut flagged = archive.clone();
        flagged[33] |= 1 << bit;
        let error = decompress(&flagged, &defaults()).unwrap_err();
        assert!(
            matches!(&error, Error::InBlock { source, .. } if matches!(**source, Error::Reserved { field: "block flags", .. }))
        );
    }
}

#[test]
fn ranges_come_by_the_index() {
    let plain = words(5000);
    let shape = Some(Shape::new(vec![10, 5, 100]).unwrap());
    let cases = [
        options(vec![clog(WordSize::W2)], 768),
        options(vec![clog(WordSize::W2)], 1 << 20),
        CompressOptions { element: ElementType::U16, shape: shape.clone(), ..options(vec![clog(WordSize::W2)], 1000) },
        CompressOptions { element: ElementType::U16, shape: shape.clone(), ..options(vec![clog(WordSize::W2)], 600) },
        CompressOptions { element: ElementType::U16, shape, ..options(vec![stored()], 150) },
    ];
    for options in cases {
        let archive = compress(&plain, &options).unwrap();
        let mut archive = Archive::open(Cursor::new(archive), &defaults()).unwrap();
        let borders = [0, 1, 149, 150, 151, 599, 600, 767, 768, 769, 999, 1000, 1001, 5000, 9999, 10_000];
        for start in borders {
            for end in borders.into_iter().filter(|end| *end >= start) {
                let mut part = Vec::new();
                archive.copy_range(start..end, &mut part).unwrap();
                assert!(part == plain[start as usize..end as usize], "{start}..{end}");
            }
        }
        for (start, end) in [(0, 10_001), (10_001, 10_001), (u64::MAX, u64::MAX), (5, 4)] {
            let found = archive.copy_range(start..end, &mut io::sink());
            assert_eq!(found, Err(Error::Range { start, end, plain: 10_000 }));
        }
    }
}

/// A range does not read the blocks around it, so damage there does not matter; damage within does.
#[test]
fn ranges_read_their_own_blocks_only() {
    let plain = noise(160);
    let mut archive = compress(&plain, &options(vec![stored()], 16)).unwrap();
    let payload = |number: usize| 32 + number * 64 + 48;
    archive[payload(3)] ^= 1;
    let mut archive = Archive::open(Cursor::new(archive), &defaults()).unwrap();
    let mut part = Vec::new();
    archive.copy_range(64..160, &mut part).unwrap();
    assert_eq!(part, plain[64..]);
    let damaged = Err(Error::InBlock { index: 3, source: Box::new(Error::Digest) });
    assert_eq!(archive.copy_range(63..64, &mut io::sink()), damaged);
    assert_eq!(archive.copy_range(0..160, &mut io::sink()), damaged);
}

#[test]
fn blocks_before_a_damaged_one_are_handed_out() {
    let plain = noise(160);
    let mut archive = compress(&plain, &options(vec![stored()], 16)).unwrap();
    archive[32 + 5 * 64 + 48] ^= 1;
    let mut reader = Reader::new(&archive[..], &defaults()).unwrap();
    for number in 0..5 {
        assert_eq!(reader.next_block().unwrap().unwrap(), &plain[number * 16..][..16]);
    }
    let error = Error::InBlock { index: 5, source: Box::new(Error::Digest) };
    for _ in 0..3 {
        assert_eq!(reader.next_block(), Err(error.clone()));
    }
}

#[test]
fn shapes_are_kept_and_must_fit() {
    let plain = words(300);
    let shaped = |extents: &[u64]| CompressOptions {
        element: ElementType::U16,
        shape: Some(Shape::new(extents.to_vec()).unwrap()),
        ..options(vec![clog(WordSize::W2)], 128)
    };
    for extents in [&[300][..], &[3, 100], &[3, 5, 20], &[300, 1, 1], &[1, 1, 300]] {
        let archive = round_trip(&plain, &shaped(extents));
        let Info { header, blocks, .. } = info(&archive[..], &defaults()).unwrap();
        assert_eq!(header.element, ElementType::U16);
        assert_eq!(header.shape.unwrap().extents(), extents);
        assert_eq!(Some(blocks), header.cut.blocks());
        assert!(header.cut.block_bytes() <= 128);
    }
    assert_eq!(compress(&plain, &shaped(&[299])), Err(Error::ShapeLength { shape: 598, input: 599 }));
    assert_eq!(compress(&plain, &shaped(&[301])), Err(Error::ShapeLength { shape: 602, input: 600 }));
    assert_eq!(compress(&plain, &shaped(&[0])), Err(Error::ShapeLength { shape: 0, input: 1 }));
    assert!(compress(b"", &shaped(&[5, 0, 7])).is_ok());
}

#[test]
fn bytes_do_not_depend_on_workers_or_pieces() {
    let plain = words(100_000);
    let expected = compress(&plain, &options(vec![clog(WordSize::W2)], 5000)).unwrap();
    for workers in [1, 2, 7] {
        for step in [1, 4999, 5000, 5001, 70_000] {
            let options = CompressOptions { workers, ..options(vec![clog(WordSize::W2)], 5000) };
            let mut writer = Writer::new(Slow::new(Vec::new(), 1000), &options).unwrap();
            for piece in plain.chunks(step) {
                writer.write(piece).unwrap();
            }
            let (archive, summary) = writer.finish().unwrap();
            assert!(archive.inner == expected, "{workers} workers, {step} bytes at once");
            let (plain_bytes, archive_bytes) = (plain.len() as u64, expected.len() as u64);
            assert_eq!(summary, Summary { plain_bytes, archive_bytes, blocks: 40, stored_blocks: 0 });
        }
        let decoded = decompress(&expected, &DecompressOptions { workers, ..defaults() }).unwrap();
        assert!(decoded == plain);
    }
    let mut writer = Writer::new(Vec::new(), &options(vec![clog(WordSize::W2)], 5000)).unwrap();
    assert_eq!(writer.copy(&mut Slow::new(&plain[..], 999)), Ok(200_000));
    assert!(writer.finish().unwrap().0 == expected);
}

#[test]
fn blocks_that_do_not_shrink_are_stored() {
    let plain = [words(500), noise(1000), words(500)].concat();
    let options = options(vec![clog(WordSize::W2)], 1000);
    let mut writer = Writer::new(Vec::new(), &options).unwrap();
    writer.write(&plain).unwrap();
    let (archive, summary) = writer.finish().unwrap();
    assert_eq!((summary.blocks, summary.stored_blocks), (3, 1));
    assert_eq!(read_every_way(&archive).unwrap(), plain);
}

struct Failing;

impl Write for Failing {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::ErrorKind::StorageFull.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Read for Failing {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        Err(io::ErrorKind::ConnectionReset.into())
    }
}

#[test]
fn failing_inputs_and_outputs_are_told_apart() {
    fn kind(error: Error) -> (&'static str, io::ErrorKind) {
        match error {
            Error::Io { what, kind, .. } => (what, kind),
            Error::InBlock { source, .. } => kind(*source),
            other => panic!("{other:?}"),
        }
    }
    let options = options(vec![clog(WordSize::W1)], 16);
    let mut writer = Writer::new(Failing, &options).unwrap();
    let error = writer.write(&noise(1000)).unwrap_err();
    assert_eq!(writer.write(&[]).unwrap_err(), error, "a failed writer stays failed");
    assert_eq!(writer.finish().map(drop).unwrap_err(), error);
    assert_eq!(kind(error), ("write the archive", io::ErrorKind::StorageFull));

    let mut writer = Writer::new(Vec::new(), &options).unwrap();
    let error = writer.copy(&mut Cursor::new(noise(100)).chain(Failing)).unwrap_err();
    assert_eq!(kind(error), ("read the plain bytes", io::ErrorKind::ConnectionReset));
    assert!(writer.finish().is_err());

    let archive = compress(&noise(100), &options).unwrap();
    let error = verify(Cursor::new(&archive[..200]).chain(Failing), &defaults()).unwrap_err();
    assert_eq!(kind(error), ("read the archive", io::ErrorKind::ConnectionReset));
    let error = Reader::new(&archive[..], &defaults()).unwrap().copy(&mut Failing).unwrap_err();
    assert_eq!(kind(error), ("write the plain bytes", io::ErrorKind::StorageFull));
}

#[test]
fn lists_of_stages_need_at_least_one_and_fit_into_the_header() {
    let list = |stages: Vec<Box<dyn Stage>>| compress(b"x", &options(stages, 64));
    assert_eq!(list(vec![]), Err(Error::StageCount { found: 0, max: 255 }));
    assert_eq!(list((0..256).map(|_| stored()).collect()), Err(Error::StageCount { found: 256, max: 255 }));
    assert!(list((0..255).map(|_| stored()).collect()).is_ok());
    let plain = words(3000);
    let long: Arc<[_]> = (0..20).map(|index| if index % 2 == 0 { stored() } else { clog(WordSize::W4) }).collect();
    round_trip(&plain, &CompressOptions { stages: long, block_bytes: 1000, ..Default::default() });
}
