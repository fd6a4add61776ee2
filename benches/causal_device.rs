//! The causal kernels by the device's clock: `cargo bench --bench causal_device [-- [--tiles N] [--repeat N] [FILE..]]`.
//!
//! Each FILE of 16-bit words (or a random walk) is repeated to N tiles of 16 MiB (64), which are encoded by the CPU. Every case is checked
//! first: the bytes that come back must be those that went in. A time is the median of the repeats, after two runs to warm up, from event to event around all
//! launches. Columns: `chunks` decodes and finds faults, `checked` compares the digests too. GB/s are plain bytes. Then what the host takes to prepare the batch.
//!
//! Encoding is checked against the CPU's frames. Columns: `count` counts all banks that the choice needs, `fit` makes frequencies, `code` codes chunks to streams,
//! `digest` hashes, `frame` makes frames of streams; `device` is all of these behind one another. `all` is by the host's clock, with copies of frequencies and
//! models and with Zstandard on all threads.

use rayon::prelude::*;
use std::time::Instant;
use warpack::Result;
use warpack::backend::{CudaDevice, DeviceBuffer, Stream};
use warpack::causal::batch::{Item, Plan, send::Tile};
use warpack::causal::cuda::{DeviceReceiver, DeviceSender};
use warpack::causal::frame::Header;
use warpack::causal::send::{self, Settings};
use warpack::causal::{Form, Grain, MAX_TILE_BYTES, Representation};
use warpack::stage::lc::clock;

/// The median in seconds.
fn timed(stream: &Stream, repeat: u32, work: impl FnMut() -> Result<()>) -> Result<f64> {
    let mut times = clock::timed(stream, repeat, work)?;
    times.sort();
    Ok(times[times.len() / 2].as_secs_f64())
}

/// Checks and times the first `count` frames as one batch.
fn measure(name: &str, receiver: &DeviceReceiver, tiles: &[&[u8]], frames: &[Vec<u8>], repeat: u32) -> Result<()> {
    let device = receiver.device();
    let stream = Stream::new(device)?;
    let (mut items, mut coded_bytes) = (Vec::new(), 0);
    for (index, (frame, tile)) in frames.iter().zip(tiles).enumerate() {
        items.push(Item {
            front: frame,
            frame_bytes: frame.len() as u64,
            coded_at: coded_bytes as u64,
            plain_at: (index * MAX_TILE_BYTES) as u64,
            plain_bytes: tile.len() as u32,
        });
        coded_bytes = (coded_bytes + frame.len()).next_multiple_of(16);
    }
    let plain_bytes = tiles.len() * MAX_TILE_BYTES;
    let buffer = |bytes: usize| DeviceBuffer::new(device, bytes);
    let (mut coded, mut plain) = (buffer(coded_bytes)?, buffer(plain_bytes)?);
    for (item, frame) in items.iter().zip(frames) {
        let at = item.coded_at as usize;
        stream.copy_to_device(coded.as_mut_slice().slice(at..at + frame.len()), frame)?;
    }
    let start = Instant::now();
    let batch = receiver.prepare(&items, &stream)?;
    let prepare = start.elapsed().as_secs_f64();
    let (mut scratch, mut statuses) = (buffer(batch.scratch_bytes())?, buffer(batch.status_bytes())?);
    stream.fill(plain.as_mut_slice(), 0xA5)?;
    // SAFETY: the buffers are this function's own, and it waits for the stream before it looks at them.
    unsafe {
        let (plain, scratch) = (plain.as_mut_slice(), scratch.as_mut_slice());
        batch.decode(coded.as_slice(), plain, scratch, statuses.as_mut_slice(), &stream)?;
    }
    for outcome in batch.read_outcomes(statuses.as_slice(), &stream)? {
        outcome?;
    }
    let mut found = vec![0; MAX_TILE_BYTES];
    for (index, tile) in tiles.iter().enumerate() {
        stream.copy_to_host(&mut found, plain.as_slice().slice(index * MAX_TILE_BYTES..(index + 1) * MAX_TILE_BYTES))?;
        assert!(found[..tile.len()] == **tile, "{name}: tile {index} came back as something else");
    }
    let chunks = timed(&stream, repeat, || {
        let (plain, scratch) = (plain.as_mut_slice(), scratch.as_mut_slice());
        // SAFETY: as above.
        unsafe { batch.decode_chunks(coded.as_slice(), plain, scratch, statuses.as_mut_slice(), &stream) }
    })?;
    let checked = timed(&stream, repeat, || {
        let (plain, scratch) = (plain.as_mut_slice(), scratch.as_mut_slice());
        // SAFETY: as above.
        unsafe { batch.decode(coded.as_slice(), plain, scratch, statuses.as_mut_slice(), &stream) }
    })?;
    let show = |time: f64| format!("{:8.3} ms {:6.1} GB/s", time * 1e3, plain_bytes as f64 / time / 1e9);
    println!("{name:44} {:3} tiles | {} | {} | {:7.1} ms", tiles.len(), show(chunks), show(checked), prepare * 1e3);
    Ok(())
}

/// Checks and times the encoding of some tiles as one batch to `frames`.
fn measure_encode(
    name: &str,
    sender: &DeviceSender,
    tiles: &[&[u8]],
    frames: &[Vec<u8>],
    settings: &Settings,
    repeat: u32,
) -> Result<()> {
    let device = sender.device();
    let stream = Stream::new(device)?;
    let frame_stride = send::max_frame_bytes(MAX_TILE_BYTES as u64).next_multiple_of(16);
    let place = |(index, tile): (u64, &&[u8])| Tile {
        plain_at: index * MAX_TILE_BYTES as u64,
        plain_bytes: tile.len() as u32,
        coded_at: index * frame_stride,
    };
    let places: Vec<Tile> = (0..).zip(tiles).map(place).collect();
    let plain_bytes = tiles.len() * MAX_TILE_BYTES;
    let buffer = |bytes: usize| DeviceBuffer::new(device, bytes);
    let mut plain = buffer(plain_bytes)?;
    for (place, tile) in places.iter().zip(tiles) {
        let at = place.plain_at as usize;
        stream.copy_to_device(plain.as_mut_slice().slice(at..at + tile.len()), tile)?;
    }
    let mut batch = sender.prepare(&places, settings, &stream)?;
    let (mut coded, mut scratch) = (buffer(batch.coded_bytes() as usize)?, buffer(batch.scratch_bytes())?);
    let mut encode = || {
        let start = Instant::now();
        // SAFETY: the buffers are this function's own.
        let lengths = unsafe { batch.encode(plain.as_slice(), coded.as_mut_slice(), scratch.as_mut_slice(), &stream)? };
        Ok::<_, warpack::Error>((start.elapsed(), lengths))
    };
    let mut times = Vec::new();
    for _ in 0..repeat + 2 {
        let (time, lengths): (_, Vec<u32>) = encode()?;
        times.push(time);
        assert!(lengths.iter().zip(frames).all(|(length, frame)| *length as usize == frame.len()), "{name}: other lengths");
    }
    times.drain(..2);
    times.sort();
    let all = times[times.len() / 2].as_secs_f64();
    for (index, (place, frame)) in places.iter().zip(frames).enumerate() {
        let (at, mut found) = (place.coded_at as usize, vec![0; frame.len()]);
        stream.copy_to_host(&mut found, coded.as_slice().slice(at..at + frame.len()))?;
        assert!(found == *frame, "{name}: frame {index} is not the CPU's");
    }
    let source = plain.as_slice();
    let mut launch = |parts: [bool; 5]| {
        let [count, fit, code, digest, frame] = parts;
        timed(&stream, repeat, || {
            // SAFETY: as above.
            unsafe {
                if count {
                    batch.count(source, scratch.as_mut_slice(), &stream)?;
                }
                if fit {
                    batch.fit(scratch.as_mut_slice(), &stream)?;
                }
                if code {
                    batch.code(source, scratch.as_mut_slice(), &stream)?;
                }
                if digest {
                    batch.digest(source, scratch.as_mut_slice(), &stream)?;
                }
                if frame {
                    batch.assemble(source, coded.as_mut_slice(), scratch.as_mut_slice(), &stream)?;
                }
            }
            Ok(())
        })
    };
    let mut line = format!("{name:44} {:3} tiles", tiles.len());
    let mut show = |label: &str, time: f64| {
        line += &format!(" | {label} {:.3} ms {:.1} GB/s", time * 1e3, plain_bytes as f64 / time / 1e9);
    };
    for (part, label) in ["count", "fit", "code", "digest", "frame"].into_iter().enumerate() {
        let mut parts = [false; 5];
        parts[part] = true;
        show(label, launch(parts)?);
    }
    show("device", launch([true; 5])?);
    show("all", all);
    println!("{line}");
    Ok(())
}

fn walk(bytes: usize) -> Vec<u8> {
    let (mut state, mut number) = (1u64, 1000u16);
    let mut plain = Vec::with_capacity(bytes);
    while plain.len() < bytes {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        number = number.wrapping_add(((state >> 40) % 31) as u16).wrapping_sub(15) & 0x0FFF;
        plain.extend_from_slice(&number.to_le_bytes());
    }
    plain
}

fn main() -> Result<()> {
    let (mut most, mut repeat, mut files) = (64usize, 9, Vec::new());
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut number = || arguments.next().and_then(|n| n.parse().ok()).expect("a number behind the option");
        match argument.as_str() {
            "--bench" => {}
            "--tiles" => most = number() as usize,
            "--repeat" => repeat = number(),
            _ => files.push(argument),
        }
    }
    let device = match CudaDevice::open(0) {
        Ok(device) => device,
        Err(why) => {
            println!("nothing to measure: {why}");
            return Ok(());
        }
    };
    let info = device.info();
    println!("{} (driver {}.{})", info.name, info.driver_version.0, info.driver_version.1);
    let (receiver, sender) = (DeviceReceiver::new(&device)?, DeviceSender::new(&device)?);
    let mut corpora: Vec<(String, Vec<u8>)> = Vec::new();
    for file in &files {
        let name = std::path::Path::new(file).file_stem().unwrap_or_default().to_string_lossy().into_owned();
        corpora.push((name, std::fs::read(file).expect("a readable file")));
    }
    if corpora.is_empty() {
        corpora.push(("walk".into(), walk(20 << 20)));
    }
    for (name, file) in &corpora {
        let even = &file[..file.len() & !1];
        let plain: Vec<u8> = even.iter().copied().cycle().take(most * MAX_TILE_BYTES).collect();
        let tiles: Vec<&[u8]> = plain.chunks(MAX_TILE_BYTES).collect();
        let cases = [
            (None, Form::Split, Grain::B8192),
            (None, Form::Split, Grain::B2048),
            (None, Form::Classic, Grain::B8192),
            (Some(Representation::SameLane), Form::Split, Grain::B8192),
            (Some(Representation::HighFirst), Form::Split, Grain::B8192),
            (Some(Representation::Residual), Form::Split, Grain::B8192),
        ];
        for (representation, form, grain) in cases {
            let settings = Settings { representation, form, grain, ..Settings::default() };
            let frames = tiles.par_iter().map(|tile| send::encode(tile, &settings));
            let frames = frames.collect::<Result<Vec<_>>>()?;
            let coded: usize = frames.iter().map(Vec::len).sum();
            let header = Header::read_first(&frames[0])?;
            let found = header.representation.map_or("stored", Representation::name);
            let chosen = if representation.is_some() { "forced" } else { "chosen" };
            let first = Item {
                front: &frames[0],
                frame_bytes: frames[0].len() as u64,
                coded_at: 0,
                plain_at: 0,
                plain_bytes: header.tile_bytes,
            };
            let plan = Plan::new(&[first], info.multiprocessors);
            let task = &plan.tiles[0];
            println!(
                "{name}: {found} {chosen}, {}, chunks of {}: {:.3} : 1; {} high bytes, {} and {} buckets{}",
                form.name(),
                grain.bytes(),
                plain.len() as f64 / coded as f64,
                task.layout.fold.count,
                task.layout.low.buckets,
                task.layout.high.buckets,
                if plan.far.is_empty() { "" } else { ", tables in global memory" },
            );
            let label = format!("  {found} {} {}", form.name(), grain.bytes());
            for count in [1, 4, 16, 64].into_iter().filter(|&count| count <= most) {
                measure(&label, &receiver, &tiles[..count], &frames[..count], repeat)?;
            }
            if plan.far.is_empty() && most >= 64 && representation.is_none() && grain == Grain::B8192 {
                let far = receiver.clone().with_far_tables();
                measure(&format!("{label}, far"), &far, &tiles[..64], &frames[..64], repeat)?;
            }
            let label = format!("  encode {found} {} {}", form.name(), grain.bytes());
            for count in [1, 4, 16, 64].into_iter().filter(|&count| count <= most) {
                measure_encode(&label, &sender, &tiles[..count], &frames[..count], &settings, repeat)?;
            }
            if plan.far.is_empty() && most >= 64 && representation.is_none() && grain == Grain::B8192 {
                let far = sender.clone().with_far_tables();
                measure_encode(&format!("{label}, far"), &far, &tiles[..64], &frames[..64], &settings, repeat)?;
            }
        }
    }
    Ok(())
}
