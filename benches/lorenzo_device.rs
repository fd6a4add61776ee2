//! The Lorenzo kernels by the device's clock, beside a plain copy within its memory in the same run:
//! `cargo bench --bench lorenzo_device [-- [--size MIB] [--repeat N] [--only TEXT] [--blocks N,N,..] [FILE]]`.
//!
//! The data are a random walk, or FILE, repeated to the size. Each case is checked once: what comes back must be what went in. A time is the median of the
//! repeats, after runs to warm up, from event to event around all launches of a call. `of copy` compares the bytes that were read and written, ports
//! and all, with those of the copy.

use warpack::backend::{CudaDevice, DeviceBuffer, Stream};
use warpack::lorenzo::{AdaptiveLorenzo, Builder, DevicePorts, DevicePortsMut, DevicePredictor, Lorenzo, Policy, TiledLorenzo};
use warpack::stage::clog::{DeviceCodec, REPORT_BYTES, Settings};
use warpack::stage::lc::clock;
use warpack::{ChunkSize, ElementType, Result, WordSize};

struct Bench {
    device: CudaDevice,
    stream: Stream,
    plain: Vec<u8>,
    from: DeviceBuffer,
    repeat: u32,
    only: Option<String>,
    /// Bytes a second of the copy, read and written.
    copy: f64,
}

/// The median of `repeat` runs in seconds.
fn timed(stream: &Stream, repeat: u32, work: impl FnMut() -> Result<()>) -> Result<f64> {
    let mut times = clock::timed(stream, repeat, work)?;
    times.sort();
    Ok(times[times.len() / 2].as_secs_f64())
}

impl Bench {
    fn wants(&self, name: &str) -> bool {
        self.only.as_ref().is_none_or(|only| name.contains(only))
    }

    fn check(&self, again: &DeviceBuffer, name: &str) -> Result<()> {
        let mut found = vec![0; self.plain.len()];
        self.stream.copy_to_host(&mut found, again.as_slice())?;
        assert!(found == self.plain, "{name}: something else came back");
        Ok(())
    }

    fn row(&self, name: &str, moved: u64, forward: f64, inverse: f64) {
        let show = |time: f64| {
            let speed = moved as f64 / time;
            format!(
                "{:8.3} ms {:6.0} GB/s {:5.1} %",
                time * 1e3,
                self.plain.len() as f64 / time / 1e9,
                100.0 * speed / self.copy
            )
        };
        println!("{name:34} | {} | {}", show(forward), show(inverse));
    }

    fn predictor(&self, name: &str, word: u64, predictor: &DevicePredictor) -> Result<()> {
        let plain_bytes = self.plain.len() as u64;
        let sizes = predictor.port_bytes(plain_bytes)?;
        let buffer = |bytes: u64| DeviceBuffer::new(&self.device, bytes as usize);
        let (mut output, mut means, mut modes) = (buffer(sizes.output)?, buffer(sizes.means)?, buffer(sizes.modes)?);
        let mut scratch = buffer(predictor.scratch_bytes(plain_bytes)? as u64)?;
        let mut again = buffer(plain_bytes)?;
        let stream = &self.stream;
        stream.fill(again.as_mut_slice(), 0xA5)?;
        let forward = timed(stream, self.repeat, || {
            let ports =
                DevicePortsMut { output: output.as_mut_slice(), means: means.as_mut_slice(), modes: modes.as_mut_slice() };
            // SAFETY: the buffers are this function's own, and it waits for the stream before it looks at them.
            unsafe { predictor.forward(self.from.as_slice(), ports, scratch.as_mut_slice(), stream) }
        })?;
        let mut counted = means.len();
        if sizes.modes > 0 {
            counted = (predictor.read_means_count(scratch.as_slice(), stream)? * word) as usize;
        }
        let inverse = timed(stream, self.repeat, || {
            let ports =
                DevicePorts { output: output.as_slice(), means: means.as_slice().slice(..counted), modes: modes.as_slice() };
            // SAFETY: as above.
            unsafe { predictor.inverse(ports, again.as_mut_slice(), scratch.as_mut_slice(), stream) }
        })?;
        self.check(&again, name)?;
        self.row(name, plain_bytes + sizes.output + counted as u64 + sizes.modes, forward, inverse);
        Ok(())
    }

    fn fused(&self, name: &str, lorenzo: &Lorenzo, settings: Settings) -> Result<()> {
        let codec = DeviceCodec::fused(lorenzo, settings, &self.device)?;
        let plain_bytes = self.plain.len() as u64;
        let buffer = |bytes: usize| DeviceBuffer::new(&self.device, bytes);
        let mut coded = buffer(codec.max_stream_bytes(plain_bytes)?)?;
        let mut scratch = buffer(codec.encode_scratch_bytes(plain_bytes).max(codec.decode_scratch_bytes(plain_bytes)))?;
        let (mut statuses, mut report) = (buffer(codec.status_bytes(plain_bytes))?, buffer(REPORT_BYTES)?);
        let mut again = buffer(self.plain.len())?;
        let stream = &self.stream;
        let encode = timed(stream, self.repeat, || {
            let (to, scratch, report) = (coded.as_mut_slice(), scratch.as_mut_slice(), report.as_mut_slice());
            // SAFETY: the buffers are this function's own, and it waits for the stream before it looks at them.
            unsafe { codec.encode(self.from.as_slice(), to, scratch, report, stream) }
        })?;
        let bytes = codec.read_encoded(report.as_slice(), stream)?;
        let decode = timed(stream, self.repeat, || {
            let (statuses, scratch, report) = (statuses.as_mut_slice(), scratch.as_mut_slice(), report.as_mut_slice());
            let coded = coded.as_slice().slice(..bytes as usize);
            // SAFETY: as above.
            unsafe { codec.decode(coded, None, again.as_mut_slice(), statuses, scratch, report, stream) }
        })?;
        self.check(&again, name)?;
        self.row(&format!("{name} ({:.2} : 1)", plain_bytes as f64 / bytes as f64), plain_bytes + bytes, encode, decode);
        Ok(())
    }
}

fn walk(bytes: usize) -> Vec<u8> {
    let (mut state, mut number) = (1u64, 1000u32);
    let mut plain = Vec::with_capacity(bytes);
    while plain.len() < bytes {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        number = number.wrapping_add((state >> 33) as u32 % 7).wrapping_sub(3);
        plain.extend_from_slice(&number.to_le_bytes());
    }
    plain
}

fn main() -> Result<()> {
    let (mut size, mut repeat, mut only, mut file) = (1024usize, 9, None, None);
    let mut blocks: Vec<u64> =
        vec![1, 2, 3, 4, 5, 7, 8, 15, 16, 32, 33, 64, 100, 128, 255, 256, 384, 513, 640, 777, 896, 1000, 1023, 1024];
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut number = || arguments.next().and_then(|n| n.parse().ok()).expect("a number behind the option");
        match argument.as_str() {
            "--bench" => {}
            "--size" => size = number() as usize,
            "--repeat" => repeat = number(),
            "--only" => only = arguments.next(),
            "--blocks" => {
                let list = arguments.next().unwrap_or_default();
                blocks = list.split(',').map(|n| n.parse().expect("numbers behind --blocks")).collect();
            }
            _ => file = Some(argument),
        }
    }
    let device = match CudaDevice::open(0) {
        Ok(device) => device,
        Err(why) => {
            println!("nothing to measure: {why}");
            return Ok(());
        }
    };
    let bytes = size << 20;
    let plain = match &file {
        Some(file) => std::fs::read(file).expect("a readable file").into_iter().cycle().take(bytes).collect(),
        None => walk(16 << 20).into_iter().cycle().take(bytes).collect::<Vec<u8>>(),
    };
    let stream = Stream::new(&device)?;
    let mut from = DeviceBuffer::new(&device, bytes)?;
    stream.copy_to_device(from.as_mut_slice(), &plain)?;
    let mut to = DeviceBuffer::new(&device, bytes)?;
    let time = timed(&stream, repeat, || stream.copy(to.as_mut_slice(), from.as_slice()))?;
    drop(to);
    let copy = 2.0 * bytes as f64 / time;
    let info = device.info();
    println!(
        "{} (driver {}.{}), {size} MiB of {}",
        info.name,
        info.driver_version.0,
        info.driver_version.1,
        file.as_deref().unwrap_or("a random walk")
    );
    println!("copy: {:.3} ms, {:.0} GB/s read and written", time * 1e3, copy / 1e9);
    let bench = Bench { device, stream, plain, from, repeat, only, copy };

    for element in [ElementType::I32, ElementType::I16, ElementType::I8, ElementType::I64] {
        let word = element.bytes();
        for centering in [false, true] {
            for order in [1, 2] {
                for &block in &blocks {
                    let name = format!("{element} b{block} o{order}{}", if centering { " c" } else { "" });
                    if bench.wants(&name) {
                        let lorenzo = Lorenzo::builder(element).block_size(block).order(order).centering(centering).build()?;
                        bench.predictor(&name, word, &DevicePredictor::lorenzo(lorenzo, &bench.device)?)?;
                    }
                }
            }
        }
        let elements = bytes as u64 / word;
        let grid = |builder: Builder, name: String| -> Result<()> {
            if bench.wants(&name) {
                bench.predictor(&name, word, &DevicePredictor::lorenzo(builder.build()?, &bench.device)?)?;
            }
            Ok(())
        };
        for [nx, ny] in [[1024, 0], [1000, 0], [4096, 4096], [33, 0], [1, 0]] {
            let ny = if ny == 0 { elements / nx } else { ny };
            let nz = elements / (nx * ny);
            if nx * ny * nz == elements {
                grid(Lorenzo::builder(element).extents([nx, ny, nz]), format!("{element} {nx} x {ny} x {nz}"))?;
            }
        }
        let (nx, ny) = (512, 512);
        grid(
            Lorenzo::builder(element).extents([nx, ny, elements / (nx * ny)]),
            format!("{element} 512 x 512 x {}", elements / (nx * ny)),
        )?;
        if word == 2 || word == 4 {
            for (blocks, policy) in [(8, Policy::Plain), (8, Policy::Outlier), (1, Policy::Plain), (32, Policy::Plain)] {
                let name = format!("{element} adaptive k{blocks} {}", policy.name());
                if bench.wants(&name) {
                    let lorenzo = AdaptiveLorenzo::builder(element).blocks_per_tile(blocks).policy(policy).build()?;
                    bench.predictor(&name, word, &DevicePredictor::adaptive(lorenzo, &bench.device)?)?;
                }
            }
            for extents in [[4096, 4096, elements >> 24], [512, 512, elements >> 18]] {
                let name = format!("{element} tiled {} x {} x {}", extents[0], extents[1], extents[2]);
                if bench.wants(&name) {
                    let lorenzo = TiledLorenzo::builder(element).extents(extents).build()?;
                    bench.predictor(&name, word, &DevicePredictor::tiled(lorenzo, &bench.device)?)?;
                }
            }
            for chunk in [ChunkSize::C4096, ChunkSize::C8192, ChunkSize::C16384] {
                for (block, order) in [(32, 1), (256, 1), (1024, 1), (256, 2)] {
                    let name = format!("{element} fused b{block} o{order} clog {}", chunk.bytes());
                    if bench.wants(&name) {
                        let lorenzo = Lorenzo::builder(element).block_size(block).order(order).build()?;
                        let word = WordSize::from_bytes(word).expect("2 or 4");
                        bench.fused(&name, &lorenzo, Settings { word, chunk })?;
                    }
                }
            }
        }
    }
    Ok(())
}
