//! The causal codec from outside: lengths, tiles, ranges, and frames that lie.

mod support;

use support::assert_same_bytes;
use support::generate::{Plain, splitmix64};
use warpack::causal::frame::Header;
use warpack::causal::model::{MODEL_BYTES, ROWS, SYMBOLS};
use warpack::causal::receive::{self, Receiver};
use warpack::causal::send::{self, Settings};
use warpack::causal::{Bank, Fault, Form, Grain, Representation, Step};
use warpack::stage::{Stage, causal::Causal};
use warpack::{Backend, Error};

fn all_settings() -> impl Iterator<Item = Settings> {
    let representations =
        [None, Some(Representation::SameLane), Some(Representation::HighFirst), Some(Representation::Residual)];
    let forms = Form::ALL.into_iter().flat_map(|form| Grain::ALL.map(|grain| Settings { form, grain, ..Settings::default() }));
    forms.flat_map(move |settings| representations.map(|representation| Settings { representation, ..settings }))
}

/// A walk with steps of up to `step`: words that every representation shrinks.
fn walk(words: usize, step: u64) -> Vec<u8> {
    let (mut state, mut at) = (words as u64, 1000u16);
    let mut next = || {
        let r = splitmix64(&mut state);
        at = at.wrapping_add((r % (2 * step + 1)) as u16).wrapping_sub(step as u16);
        at
    };
    (0..words).flat_map(|_| next().to_le_bytes()).collect()
}

fn fault(frame: &[u8]) -> Fault {
    match receive::decode(frame) {
        Err(Error::Frame(fault)) => fault,
        other => panic!("refused as a frame, not {:?}", other.map(|plain| plain.len())),
    }
}

#[test]
fn tiles_of_every_length_come_back() {
    for words in [1, 2, 3, 5, 1023, 1024, 1025, 1026, 4095, 4096, 4097, 8193, 40_000, 140_001] {
        for step in [0, 3, 40_000] {
            let tile = walk(words, step);
            for settings in all_settings() {
                let at = format!("{words} words, step {step}, {settings:?}");
                let mut frames = Vec::new();
                for level in send::Level::available() {
                    let mut frame = Vec::new();
                    send::encode_with(*level, &tile, &settings, &mut frame).expect("a tile");
                    frames.push(frame);
                }
                assert!(frames.iter().all(|frame| *frame == frames[0]), "{at}");
                assert!(frames[0].len() as u64 <= send::max_frame_bytes(tile.len() as u64), "{at}");
                for level in receive::Level::available() {
                    let mut again = vec![0xA5; tile.len()];
                    let outcome = Receiver::open(&frames[0]).and_then(|receiver| receiver.decode_with(*level, &mut again));
                    outcome.unwrap_or_else(|error| panic!("{at}, {level:?}: {error:?}"));
                    assert_same_bytes(&again, &tile, &at);
                }
            }
        }
    }
}

/// The code of every level, by name, so that a level that the processor has is not left out in silence.
#[test]
fn every_level_of_the_processor_is_there() {
    let (send, receive) = (send::Level::available(), receive::Level::available());
    let named = |levels: Vec<String>| levels.join(", ");
    let expected = {
        #[cfg(target_arch = "x86_64")]
        {
            let avx2 = is_x86_feature_detected!("avx2");
            let avx512 = avx2 && is_x86_feature_detected!("avx512bw") && is_x86_feature_detected!("avx512vbmi2");
            ["Plain", "Avx2", "Avx512"][..1 + usize::from(avx2) + usize::from(avx512)].join(", ")
        }
        #[cfg(not(target_arch = "x86_64"))]
        "Plain".to_string()
    };
    assert_eq!(named(send.iter().map(|level| format!("{level:?}")).collect()), expected);
    assert_eq!(named(receive.iter().map(|level| format!("{level:?}")).collect()), expected);
}

/// One bit of many chunks changed: every level refuses with the same fault, or decodes to the same bytes.
#[test]
fn every_level_gives_the_same_verdict() {
    let tile = walk(45 * Grain::B2048.words() + 7, 20);
    let (mut refused, mut decoded) = (0, 0);
    for settings in all_settings().filter(|settings| settings.grain == Grain::B2048) {
        let frame = send::encode(&tile, &settings).expect("a tile");
        let header = Header::read(&frame).expect("a header");
        let mut state = 11;
        let behind_model = header.records().start..frame.len() as u64;
        for round in 0..60 {
            let mut changed = frame.clone();
            // Every fourth in the records, which are few; the last words of the payload once.
            let range = if round % 4 == 0 { header.records() } else { behind_model.clone() };
            let at = if round == 1 {
                frame.len() as u64 - 1
            } else {
                range.start + splitmix64(&mut state) % (range.end - range.start)
            };
            changed[at as usize] ^= 1 << (splitmix64(&mut state) % 8);
            let Ok(receiver) = Receiver::open(&changed) else { continue };
            let outcomes = receive::Level::available().iter().map(|level| {
                let mut plain = vec![0xA5; tile.len()];
                (receiver.decode_with(*level, &mut plain), plain)
            });
            let outcomes: Vec<_> = outcomes.collect();
            assert!(outcomes.iter().all(|outcome| *outcome == outcomes[0]), "{settings:?}, byte {at}");
            match &outcomes[0] {
                (Ok(()), plain) => {
                    assert_same_bytes(plain, &tile, "a change that is harmless");
                    decoded += 1;
                }
                (Err(_), plain) => {
                    assert!(plain.iter().all(|&byte| byte == 0), "bytes of a refused tile were released");
                    refused += 1;
                }
            }
        }
    }
    assert!(refused > 300, "{refused} refused, {decoded} decoded");
}

#[test]
fn what_is_no_tile_is_refused() {
    for bytes in [0, 1, 3, (16 << 20) + 2] {
        let refused = send::encode(&vec![0; bytes], &Settings::default());
        assert_eq!(refused, Err(Error::Frame(Fault::TileLength { found: bytes as u32 })));
    }
}

#[test]
fn blocks_of_any_length_and_tile_size_come_back() {
    let lengths = [0, 1, 2, 3, 4, 5, 15, 16, 17, 2047, 2048, 2049, 8191, 8192, 8193, 30_001, 30_002];
    for bytes in lengths {
        let plain = &walk(20_000, 5)[..bytes];
        for tile_bytes in [2, 6, 100, 8192, 10_000, 16 << 20] {
            if bytes / tile_bytes > 400 {
                continue;
            }
            let stage = Causal::new(Settings::default(), tile_bytes as u64).expect("a tile size");
            let (mut coded, mut again) = (vec![9], vec![0xA5; bytes]);
            let mut coder = stage.coder(&Backend::Cpu).expect("no device");
            coder.encode(plain, &mut coded).expect("any length");
            assert!(coded.len() as u64 <= stage.max_coded_bytes(bytes as u64), "{bytes} bytes, tiles of {tile_bytes}");
            coder.decode(&coded, &mut again).unwrap_or_else(|error| panic!("{bytes} bytes, tiles of {tile_bytes}: {error:?}"));
            assert_same_bytes(&again, plain, &format!("{bytes} bytes, tiles of {tile_bytes}"));
            // Another length, and every kind of damage between and behind the frames.
            assert!(coder.decode(&coded, &mut vec![0; bytes + 1]).is_err());
            let mut longer = coded.clone();
            longer.push(0);
            assert!(coder.decode(&longer, &mut again).is_err(), "{bytes} bytes, tiles of {tile_bytes}");
            if let Some(last) = coded.len().checked_sub(1) {
                assert!(coder.decode(&coded[..last], &mut again).is_err());
            }
        }
    }
}

/// Tiles of one length that change places leave every tile's own digest as it is.
#[test]
fn tiles_that_change_places_are_found_out() {
    let plain: Vec<u8> = [walk(2000, 3), walk(2000, 3).into_iter().rev().collect()].concat();
    let stage = Causal::new(Settings::default(), 4000).expect("a tile size");
    let (mut coded, mut again) = (Vec::new(), vec![0; plain.len()]);
    let mut coder = stage.coder(&Backend::Cpu).expect("no device");
    coder.encode(&plain, &mut coded).expect("any length");
    let (frames, trailer) = stage.frames(&coded, plain.len()).expect("sound frames");
    let mut swapped = frames[1].1.to_vec();
    swapped.resize(swapped.len().next_multiple_of(16), 0);
    swapped.extend_from_slice(frames[0].1);
    swapped.extend_from_slice(trailer);
    assert_eq!(coder.decode(&swapped, &mut again), Err(Error::Digest));
    assert!(again.iter().all(|&byte| byte == 0), "bytes of a refused block were released");
}

#[test]
fn stage_records_are_strict() {
    use warpack::stage::{Record, by_name};
    let entry = by_name("causal").expect("it is registered");
    let record = Causal::default().record();
    assert_eq!((entry.from_record)(&record).expect("its own").record(), record);
    let refusal = |record: Record| (entry.from_record)(&record).map(|_| ()).unwrap_err();
    let other = |settings: Vec<u8>| refusal(Record { settings, ..record.clone() });
    assert!(matches!(refusal(Record { id: 1, ..record.clone() }), Error::RecordStage { found: 1, .. }));
    assert!(matches!(refusal(Record { version: 1, ..record.clone() }), Error::RecordVersion { found: 1, max: 0, .. }));
    assert!(matches!(other(vec![]), Error::RecordLength { found: 0, .. }));
    for tile in [0u32, 1, 3, (16 << 20) + 2, u32::MAX] {
        assert!(matches!(other(tile.to_le_bytes().to_vec()), Error::Setting { found, .. } if found == u64::from(tile)));
    }
}

#[test]
fn ranges_are_those_of_the_tile() {
    let tile = walk(20_000, 9);
    let mut state = 3;
    for settings in all_settings().step_by(3) {
        let frame = send::encode(&tile, &settings).expect("a tile");
        let receiver = Receiver::open(&frame).expect("a sound frame");
        let ends = [0, 1, 8191, 8192, 8193, 16_384, 39_999, 40_000];
        let ranges =
            ends.iter().flat_map(|&start| ends.iter().map(move |&end| start..end)).filter(|range| range.start <= range.end);
        let random = (0..40).map(|_| splitmix64(&mut state) % 40_001).collect::<Vec<_>>();
        let random = random.chunks(2).map(|pair| pair[0].min(pair[1])..pair[0].max(pair[1]));
        for range in ranges.chain(random) {
            let part = receiver.decode_range(range.clone()).expect("a range within the tile");
            assert_same_bytes(&part, &tile[range.start as usize..range.end as usize], &format!("{range:?}, {settings:?}"));
        }
        let beyond = Error::Range { start: 5, end: 40_001, plain: 40_000 };
        assert_eq!(receiver.decode_range(5..40_001), Err(beyond));
        #[allow(clippy::reversed_empty_ranges)]
        let reversed = receiver.decode_range(6..5);
        assert!(matches!(reversed, Err(Error::Range { .. })));
    }
}

/// A range needs its own chunks only: damage elsewhere does not matter to it.
#[test]
fn ranges_decode_their_own_chunks_only() {
    let tile = walk(20_000, 9);
    let mut frame = send::encode(&tile, &Settings::default()).expect("a tile");
    *frame.last_mut().expect("it is not empty") ^= 0x40; // the last chunk's last word
    let receiver = Receiver::open(&frame).expect("sound in front of the payload");
    assert_eq!(receiver.decode_range(0..32_768).expect("sound chunks"), &tile[..32_768]);
    assert!(receiver.decode_range(0..32_769).is_err());
}

/// Small frames of all kinds, stored ones too.
fn small_frames() -> Vec<(Vec<u8>, Vec<u8>)> {
    let tiles = [walk(60, 2), walk(300, 1), walk(1500, 0), walk(9000, 1)];
    let frames = tiles.into_iter().flat_map(|tile| {
        all_settings()
            .step_by(5)
            .map(move |settings| (send::encode(&tile, &settings).expect("a tile"), tile.clone()))
            .collect::<Vec<_>>()
    });
    let frames: Vec<_> = frames.collect();
    let stored = frames.iter().filter(|(frame, _)| Header::read(frame).expect("a header").representation.is_none()).count();
    assert!(stored > 0 && stored < frames.len(), "{stored} of {} are stored", frames.len());
    frames
}

#[test]
fn every_truncation_is_refused() {
    for (frame, tile) in small_frames() {
        for length in 0..frame.len() {
            let expected = match length {
                0..64 => Fault::HeaderTruncated { have: length as u64 },
                _ => Fault::FrameLength { found: length as u64, expected: frame.len() as u64 },
            };
            assert_eq!(fault(&frame[..length]), expected, "a tile of {} bytes", tile.len());
        }
    }
}

/// Never a panic, never a wrong answer. The right answer is possible: a stored frame's magic and grain say nothing about its bytes, and a model may
/// change where the tile does not look.
#[test]
fn every_single_byte_change_is_refused_or_harmless() {
    let (mut refused, mut harmless) = (0, 0);
    for (frame, tile) in small_frames() {
        let is_stored = Header::read(&frame).expect("a header").representation.is_none();
        // A model takes a while: a stride of its own for the larger frames.
        for at in (0..frame.len()).step_by(1 + frame.len() / 1500) {
            let values =
                [frame[at] ^ 1, frame[at] ^ 2, frame[at] ^ 0x10, frame[at] ^ 0x80, !frame[at], frame[at].wrapping_add(1)];
            for value in values.into_iter().chain(is_stored.then_some(0)).filter(|value| *value != frame[at]) {
                let mut changed = frame.clone();
                changed[at] = value;
                match receive::decode(&changed) {
                    Err(Error::Frame(_)) => refused += 1,
                    Err(error) => panic!("{error:?} at {at}"),
                    Ok(plain) => {
                        assert!(plain == tile, "a wrong answer, byte {at} as {value:#x}");
                        harmless += 1;
                    }
                }
            }
        }
    }
    assert!(refused > 20 * harmless, "{refused} refused, {harmless} harmless");
}

/// A frame in parts, to be put together with lies.
#[derive(Clone)]
struct Parts {
    header: Header,
    frequencies: Vec<u16>,
    records: Vec<u8>,
    payload: Vec<u8>,
}

impl Parts {
    fn of(tile: &[u8], settings: &Settings) -> Self {
        let frame = send::encode(tile, settings).expect("a tile");
        let header = Header::read(&frame).expect("a header");
        assert!(header.representation.is_some());
        let part = |range: std::ops::Range<u64>| frame[range.start as usize..range.end as usize].to_vec();
        let frequencies = warpack::causal::model::read(&part(header.model()), 0).expect("a model");
        let parts = Self { frequencies, records: part(header.records()), payload: part(header.payload()), header };
        assert_eq!(receive::decode(&parts.frame()).expect("put together again"), tile);
        parts
    }

    fn frame(&self) -> Vec<u8> {
        self.frame_with(&send::select::compress(&self.frequencies, Default::default()))
    }

    fn frame_with(&self, model: &[u8]) -> Vec<u8> {
        let mut frame = Header { model_bytes: model.len() as u32, ..self.header.clone() }.write().to_vec();
        for part in [model, &self.records] {
            frame.extend_from_slice(part);
            frame.resize(frame.len().next_multiple_of(16), 0);
        }
        frame.extend_from_slice(&self.payload);
        frame
    }

    fn number(&self, chunk: usize, field: usize) -> u32 {
        let at = chunk * self.header.form.record_bytes() + 4 * field;
        u32::from_le_bytes(self.records[at..at + 4].try_into().expect("four bytes"))
    }

    fn set_number(&mut self, chunk: usize, field: usize, value: u32) {
        let at = chunk * self.header.form.record_bytes() + 4 * field;
        self.records[at..at + 4].copy_from_slice(&value.to_le_bytes());
    }

    fn changed(&self, change: impl FnOnce(&mut Self)) -> Fault {
        let mut parts = self.clone();
        change(&mut parts);
        fault(&parts.frame())
    }
}

/// A row that `parts` uses, with its largest frequency's symbol.
fn used_row(parts: &Parts) -> (usize, usize) {
    let row = (0..ROWS).find(|row| parts.frequencies[row * SYMBOLS..][..SYMBOLS].iter().filter(|&&f| f > 1).count() > 2);
    let row = row.expect("a row with choice");
    let largest = (0..SYMBOLS).max_by_key(|&symbol| parts.frequencies[row * SYMBOLS + symbol]).expect("symbols");
    (row, largest)
}

#[test]
fn models_that_lie_are_refused() {
    for settings in all_settings().filter(|settings| settings.representation.is_some()) {
        let tile: Vec<u8> = walk(20_000, 20);
        let parts = Parts::of(&tile, &settings);
        let (row, symbol) = used_row(&parts);
        let at = row * SYMBOLS + symbol;
        let sum = |found| Fault::RowSum { row: row as u32, found };
        assert_eq!(parts.changed(|parts| parts.frequencies[at] += 1), sum(4097));
        assert_eq!(parts.changed(|parts| parts.frequencies[at] -= 1), sum(4095));
        // A sum that is 4096 in 16 bits only.
        let wrapped = parts.changed(|parts| {
            let other = row * SYMBOLS + (symbol + 1) % SYMBOLS;
            parts.frequencies[other] = 0x8000;
            parts.frequencies[row * SYMBOLS + (symbol + 2) % SYMBOLS] = 0x8000;
        });
        assert!(matches!(wrapped, Fault::RowSum { found, .. } if found > 0xFFFF), "{wrapped:?}");
        let one = parts.changed(|parts| {
            parts.frequencies[row * SYMBOLS..][..SYMBOLS].fill(0);
            parts.frequencies[at] = 4096;
        });
        assert_eq!(one, Fault::Frequency { row: row as u32, symbol: symbol as u32, found: 4096 });
        let dead = parts.changed(|parts| parts.frequencies[row * SYMBOLS..][..SYMBOLS].fill(0));
        assert!(matches!(dead, Fault::DeadRow { row: found, .. } if found == row as u32), "{dead:?}");
        let swapped = parts.changed(|parts| parts.frequencies.rotate_left(MODEL_BYTES / 4));
        assert!(swapped.step() >= Step::Payload, "{swapped:?}");
    }
}

#[test]
fn models_that_are_no_model_are_refused() {
    let parts = Parts::of(&walk(60_000, 20), &Settings::default());
    let model = send::select::compress(&parts.frequencies, Default::default());
    let with = |model: &[u8]| fault(&parts.frame_with(model));
    // 1 GiB of zeros behind a header that admits to it, and behind one that does not.
    let mut bomb = vec![0x28, 0xB5, 0x2F, 0xFD, 0xA0, 0, 0, 0, 0x40];
    for block in 0..8192u32 {
        let header = (128 << 10) << 3 | 1 << 1 | u32::from(block == 8191);
        bomb.extend_from_slice(&header.to_le_bytes()[..3]);
        bomb.push(0);
    }
    // As many blocks as fit into a model's bound at once; the bound itself comes first.
    assert_eq!(with(&bomb), Fault::ModelStart { offset: 64 });
    bomb[5..9].copy_from_slice(&(MODEL_BYTES as u32).to_le_bytes());
    assert_eq!(with(&bomb), Fault::ModelData);
    // A second frame, a skippable one, a byte behind the end, an end that never comes.
    for more in [&model[..], &[0x50, 0x2A, 0x4D, 0x18, 0, 0, 0, 0], &[0]] {
        let end = 64 + model.len() as u64;
        assert_eq!(with(&[&model, more].concat()), Fault::ModelEnd { offset: end, expected: end + more.len() as u64 });
    }
    assert!(matches!(with(&model[..model.len() - 1]), Fault::ModelBlock { .. }));
    assert!(matches!(with(&[0x50, 0x2A, 0x4D, 0x18, 0, 0, 0, 0]), Fault::ModelStart { .. }));
    // An honest frame of the size, of which only a part is there; and a checksum, which must not be.
    let mut short = model[..9].to_vec();
    short.extend_from_slice(&[1 | 5 << 3, 0, 0, 1, 2, 3, 4, 5]);
    assert!(matches!(with(&short), Fault::ModelData | Fault::ModelOutput { .. }));
    let mut sum = model.clone();
    sum[4] |= 4;
    assert_eq!(with(&sum), Fault::ModelStart { offset: 64 });
}

#[test]
fn records_and_payloads_that_lie_are_refused() {
    for settings in all_settings().filter(|settings| settings.representation.is_some()) {
        let parts = Parts::of(&walk(20_000, 20), &settings);
        let form = parts.header.form;
        let banks = if form == Form::Classic { vec![Bank::Both] } else { vec![Bank::Low, Bank::High] };
        let (last, words) = (parts.header.chunks as usize - 1, parts.header.words);
        for chunk in [0, 1, last] {
            for (stream, &bank) in banks.iter().enumerate() {
                let (state_at, count_at) = (2 * stream, 2 * stream + 1);
                let (state, count) = (parts.number(chunk, state_at), parts.number(chunk, count_at));
                let found = chunk as u32;
                assert_eq!(
                    parts.changed(|parts| parts.set_number(chunk, state_at, 0xFFFF)),
                    Fault::State { chunk: found, bank, found: 0xFFFF }
                );
                let max = (parts.header.chunk_words(chunk) as u32 - 1) * if form == Form::Classic { 2 } else { 1 };
                for count in [max + 1, u32::MAX] {
                    let fault = parts.changed(|parts| parts.set_number(chunk, count_at, count));
                    assert_eq!(fault, Fault::WordCount { chunk: found, bank, found: count, max });
                }
                // The sum of all is one off, at the end or beyond it.
                if count < max {
                    let fault = parts.changed(|parts| parts.set_number(chunk, count_at, count + 1));
                    assert_eq!(
                        fault,
                        Fault::WordsBehindPayload { chunk: last as u32, need: u64::from(words) + 1, have: words.into() }
                    );
                }
                if count > 0 {
                    let fault = parts.changed(|parts| parts.set_number(chunk, count_at, count - 1));
                    assert_eq!(fault, Fault::WordSum { found: u64::from(words) - 1, expected: words.into() });
                }
                // Another start: another way through the chunk, and another end.
                for state in [state ^ 1, state.wrapping_add(1 << 12).max(1 << 16), 1 << 16, u32::MAX] {
                    let fault = parts.changed(|parts| parts.set_number(chunk, state_at, state));
                    assert!(state == parts.number(chunk, state_at) || fault.step() >= Step::Payload, "{fault:?}");
                }
            }
        }
        // A word that changes hands.
        let counts: Vec<u32> = [1, if form == Form::Classic { 1 } else { 3 }].map(|field| parts.number(0, field)).to_vec();
        let moved = parts.changed(|parts| {
            let (to, field) = if form == Form::Classic { (1, 1) } else { (0, 3) };
            parts.set_number(0, 1, counts[0] - 1);
            let count = parts.number(to, field);
            parts.set_number(to, field, count + 1);
        });
        assert!(
            matches!(moved, Fault::OutOfWords { chunk: 0, .. } | Fault::Terminal { .. } | Fault::DeadRow { .. }),
            "{moved:?}"
        );
        if form == Form::Split {
            let swapped = parts.changed(|parts| {
                let (low, high) = ((parts.number(0, 0), parts.number(0, 1)), (parts.number(0, 2), parts.number(0, 3)));
                [high.0, high.1, low.0, low.1]
                    .into_iter()
                    .enumerate()
                    .for_each(|(field, value)| parts.set_number(0, field, value));
            });
            assert!(swapped.step() >= Step::Payload, "{swapped:?}");
        }
        let digest = parts.changed(|parts| parts.header.digest[31] ^= 1);
        assert_eq!(digest, Fault::Digest);
    }
}

/// A chunk whose states end right with words left over, one that ends with another state, and one that asks for more.
#[test]
fn ends_of_chunks_are_checked() {
    // Constant words: one symbol a row, hardly a word emitted; the last states are all there is.
    let last = 4;
    let tile = [7, 0].repeat(last * Grain::B8192.words() + 2);
    let parts = Parts::of(&tile, &Settings { representation: Some(Representation::SameLane), ..Settings::default() });
    let symbols = parts.header.grain.words() as u32 - 1;
    assert!(parts.number(0, 1) < symbols);
    let mut unused = parts.clone();
    let count = unused.number(0, 3) + 1;
    unused.set_number(0, 3, count);
    let at = 2 * (unused.number(0, 1) + count - 1) as usize;
    unused.payload.splice(at..at, [1, 2]);
    unused.header.words += 1;
    assert_eq!(fault(&unused.frame()), Fault::UnusedWords { chunk: 0, bank: Bank::High, unused: 1 });
    // The last chunk has one symbol, of frequency 4095: another quotient, another end.
    let state = parts.number(last, 0);
    let terminal = parts.changed(|parts| parts.set_number(last, 0, state + 4096));
    assert_eq!(terminal, Fault::Terminal { chunk: last as u32, bank: Bank::Low, found: (1 << 16) + 4095 });
}

#[test]
fn filling_must_be_zero() {
    let frame = send::encode(&walk(20_000, 20), &Settings { grain: Grain::B2048, ..Settings::default() }).expect("a tile");
    let header = Header::read(&frame).expect("a header");
    let fills =
        [("model", header.model().end..header.records().start), ("records", header.records().end..header.payload().start)];
    assert!(fills.iter().all(|(_, fill)| !fill.is_empty()), "{fills:?}");
    for (section, fill) in fills {
        for offset in fill {
            let mut changed = frame.clone();
            changed[offset as usize] = 0x80;
            assert_eq!(fault(&changed), Fault::Filling { section, offset, found: 0x80 });
        }
    }
}

quickcheck::quickcheck! {
    fn any_plain_comes_back(plain: Plain, tile: u16) -> bool {
        let tile = 2 * u64::from(tile).max(500);
        let mut coder = Causal::new(Settings::default(), tile).unwrap().coder(&Backend::Cpu).unwrap();
        let (mut coded, mut again) = (Vec::new(), vec![0; plain.0.len()]);
        coder.encode(&plain.0, &mut coded).unwrap();
        coder.decode(&coded, &mut again).unwrap();
        again == plain.0
    }
}

/// The score is a proxy: what it costs is said, not assumed to be nothing.
#[test]
fn selection_regret_is_small() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data");
    let (mut chosen_bytes, mut best_bytes, mut files) = (0, 0, 0);
    for entry in std::fs::read_dir(folder).expect("the folder of arrays") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        if !name.ends_with("16.raw") {
            continue;
        }
        let plain = support::vectors::read(&path);
        for form in Form::ALL {
            let frame = |representation| {
                send::encode(&plain, &Settings { representation, form, ..Settings::default() }).expect("a tile").len()
            };
            let forced = Representation::ALL.map(|representation| frame(Some(representation)));
            let (chosen, best) = (frame(None), forced.into_iter().min().expect("three"));
            println!("{name}, {}: {chosen} bytes chosen, {forced:?} forced, regret {}", form.name(), chosen - best);
            assert!(forced.contains(&chosen), "{name}");
            (chosen_bytes, best_bytes, files) = (chosen_bytes + chosen, best_bytes + best, files + 1);
        }
    }
    assert!(files >= 6, "{files} files and forms");
    // A thousandth, over real arrays.
    assert!((chosen_bytes - best_bytes) * 1000 <= best_bytes, "{chosen_bytes} bytes chosen, {best_bytes} at best");
}
