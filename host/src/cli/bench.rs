//! `warpack bench`
//!
//! Each codec, with each of its settings, codes and decodes each input as one piece, from host memory to host memory. Times are taken by the
//! clock around a call of the [`Coder`](crate::stage::Coder): for a device they include the copies. Beside them stands what a device's own
//! clock says of the kernels alone, and of a plain copy of the same bytes within its memory.

use super::failure::{Failure, Outcome, print};
use super::json::Json;
use super::progress::Progress;
use super::source::Source;
use super::units::{parse_bytes, ratio, show_bytes};
use super::{Machine, codec, devices};
use crate::backend::{Backend, BackendChoice};
use crate::stage::{self, Entry, Options, Stage};
use crate::{ChunkSize, WordSize};
use std::collections::HashSet;
use std::io::Read;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Measure codecs: ratio and speed, from memory to memory
///
/// Each input is repeated up to --size and coded as one piece. The median of the repeats counts, after a warm-up; speeds are
/// plain bytes a second, in both directions.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// Files to measure with; for --compare also folders
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// The codecs, by name [default: all]
    #[arg(long, value_delimiter = ',', value_parser = codec::parse_codec)]
    codec: Vec<&'static Entry>,
    /// Word sizes to try [default: 1,2,4,8]
    #[arg(long, value_delimiter = ',', value_name = "BYTES", value_parser = codec::parse_word_size)]
    word_size: Vec<WordSize>,
    /// Chunk sizes to try [default: 4096,8192,16384]
    #[arg(long, value_delimiter = ',', value_name = "BYTES", value_parser = codec::parse_chunk_size)]
    chunk_size: Vec<ChunkSize>,
    #[command(flatten)]
    causal: codec::CausalLists,
    /// Compare the causal codec with Zstandard instead: sizes and encoding times on one thread, of each file once. Of folders, the files named
    /// *_u16.raw and *_i16.raw
    #[arg(long, conflicts_with_all = ["codec", "word_size", "chunk_size", "repeat", "size"])]
    compare: bool,
    /// The least number of bytes to work on: inputs are repeated
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes, default_value = "256MiB")]
    size: u64,
    /// How often each is measured
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    repeat: u32,
    #[command(flatten)]
    machine: Machine,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Show no progress
    #[arg(short, long)]
    quiet: bool,
}

/// One codec with one choice of settings.
struct Candidate {
    entry: &'static Entry,
    /// What the causal codec was told.
    causal: Option<String>,
    options: Options,
    stage: Box<dyn Stage>,
}

/// How long repeats of the same thing took, sorted.
#[derive(Clone, Debug)]
struct Times(Vec<Duration>);

/// What was found about one candidate, input and backend.
struct Measured {
    coded_bytes: u64,
    /// Host to host, by the clock.
    encode: Times,
    decode: Times,
    /// In a device's memory, by its clock.
    on_device: Option<OnDevice>,
}

/// From a device's memory to the same, all launches of a call, by the device's clock.
struct OnDevice {
    encode: Times,
    decode: Times,
    /// Copying the plain bytes.
    copy: Times,
}

struct Row<'a> {
    file: &'a str,
    plain_bytes: u64,
    candidate: &'a Candidate,
    backend: String,
    measured: Measured,
}

pub(super) fn run(arguments: &Arguments) -> Outcome<()> {
    if arguments.compare {
        return super::compare::run(&arguments.files, arguments.json, arguments.quiet);
    }
    arguments.machine.limit_threads()?;
    let backends = backends(arguments.machine.backend)?;
    let candidates = candidates(arguments)?;
    let names: Vec<String> = arguments.files.iter().map(|path| path.display().to_string()).collect();
    let mut rows = Vec::new();
    for (path, name) in arguments.files.iter().zip(&names) {
        let plain = grown(path, arguments.size)?;
        let work = (candidates.len() * backends.len()) as u64 * plain.len() as u64;
        let mut progress = Progress::new(name, Some(work), arguments.quiet);
        for candidate in &candidates {
            for backend in &backends {
                let measured = measure(candidate.stage.as_ref(), backend, &plain, arguments.repeat)
                    .map_err(|failure| failure.at(&format!("{name}, {}", candidate.stage.describe())))?;
                progress.add(plain.len() as u64);
                let (plain_bytes, backend) = (plain.len() as u64, backend.to_string());
                rows.push(Row { file: name, plain_bytes, candidate, backend, measured });
            }
        }
    }
    print(&if arguments.json { format!("{}\n", as_json(&rows, arguments.repeat)) } else { as_table(&rows, arguments.repeat) })
}

/// `auto` compares: the CPU, and the device if there is one.
fn backends(choice: BackendChoice) -> Outcome<Vec<Backend>> {
    let opened = choice.open()?;
    Ok(match (choice, &opened) {
        (BackendChoice::Auto, Backend::Cpu) => vec![opened],
        (BackendChoice::Auto, _) => vec![Backend::Cpu, opened],
        _ => vec![opened],
    })
}

/// All codecs and settings that were asked for. Settings that make no difference to a codec are not tried twice.
fn candidates(arguments: &Arguments) -> Outcome<Vec<Candidate>> {
    let codecs = if arguments.codec.is_empty() { stage::codecs().collect() } else { arguments.codec.clone() };
    let words = if arguments.word_size.is_empty() { WordSize::ALL.to_vec() } else { arguments.word_size.clone() };
    let chunks = if arguments.chunk_size.is_empty() { ChunkSize::ALL.to_vec() } else { arguments.chunk_size.clone() };
    let mut seen = HashSet::new();
    let mut candidates = Vec::new();
    for entry in codecs {
        if entry.id == stage::causal::ENTRY.id {
            for (name, stage) in arguments.causal.stages()? {
                candidates.push(Candidate { entry, causal: Some(name), options: Options::default(), stage });
            }
            continue;
        }
        for word in &words {
            for chunk in &chunks {
                let options = Options { word_size: Some(*word), chunk_size: Some(*chunk), ..Options::default() };
                let stage = (entry.from_options)(&options).map_err(Failure::refused)?;
                if seen.insert((entry.id, stage.record().settings)) {
                    candidates.push(Candidate { entry, causal: None, options, stage });
                }
            }
        }
    }
    Ok(candidates)
}

/// The contents of a file, never none.
pub(super) fn contents(source: &Source) -> Outcome<Vec<u8>> {
    let refused = |error| Failure::io("read it", error).at(&source.name);
    let mut plain = Vec::new();
    (&source.file).read_to_end(&mut plain).map_err(refused)?;
    if plain.is_empty() {
        return Err(Failure::usage("is empty: nothing to measure").at(&source.name));
    }
    Ok(plain)
}

/// The contents of a file, repeated up to `size` bytes; all of it at least once.
fn grown(path: &std::path::Path, size: u64) -> Outcome<Vec<u8>> {
    let mut plain = contents(&Source::open(path)?)?;
    let once = plain.len();
    let size = usize::try_from(size).map_err(|_| Failure::usage(format!("{size} bytes don't fit into memory")))?;
    let refused = |_| Failure::usage(format!("--size {size}: so many bytes don't fit into memory"));
    plain.try_reserve_exact(size.saturating_sub(once)).map_err(refused)?;
    while plain.len() < size {
        let more = (size - plain.len()).min(once);
        plain.extend_from_within(..more);
    }
    Ok(plain)
}

/// Codes and decodes `plain` once to warm up and to check, then `repeat` times by the clock.
fn measure(stage: &dyn Stage, backend: &Backend, plain: &[u8], repeat: u32) -> Outcome<Measured> {
    let mut coder = stage.coder(backend)?;
    let mut coded = Vec::new();
    let mut again = Vec::new();
    let refused = |_| Failure::usage(format!("--size {}: twice as many bytes don't fit into memory", plain.len()));
    again.try_reserve_exact(plain.len()).map_err(refused)?;
    again.resize(plain.len(), 0);
    coder.encode(plain, &mut coded)?;
    coder.decode(&coded, &mut again)?;
    if again != plain {
        return Err(Failure::from(crate::Error::Digest).at("decoded bytes"));
    }
    let mut encode = Vec::new();
    let mut decode = Vec::new();
    for _ in 0..repeat {
        let start = Instant::now();
        coder.encode(plain, &mut coded)?;
        encode.push(start.elapsed());
        let start = Instant::now();
        coder.decode(&coded, &mut again)?;
        decode.push(start.elapsed());
    }
    let on_device = match backend {
        Backend::Cpu => None,
        #[cfg(feature = "cuda")]
        Backend::Cuda(device) => match stage.on_device(device)? {
            Some(codec) => {
                let crate::stage::lc::clock::Clocked { encode, decode, copy } =
                    crate::stage::lc::clock::measure(&codec, plain, &coded, repeat.max(9))?;
                Some(OnDevice { encode: Times::new(encode), decode: Times::new(decode), copy: Times::new(copy) })
            }
            None => None,
        },
    };
    Ok(Measured { coded_bytes: coded.len() as u64, encode: Times::new(encode), decode: Times::new(decode), on_device })
}

impl Times {
    fn new(mut times: Vec<Duration>) -> Self {
        times.sort_unstable();
        Self(times)
    }

    /// The middle one; of an even number, the slower of the two.
    fn median(&self) -> f64 {
        self.0.get(self.0.len() / 2).map_or(f64::NAN, Duration::as_secs_f64)
    }

    fn json(&self, plain_bytes: u64) -> Json {
        let seconds = |time: Option<&Duration>| Json::from(time.map(Duration::as_secs_f64));
        Json::Object(vec![
            ("gb_per_s", gb_per_s(plain_bytes, self.median()).into()),
            ("median_s", self.median().into()),
            ("min_s", seconds(self.0.first())),
            ("max_s", seconds(self.0.last())),
        ])
    }
}

fn gb_per_s(plain_bytes: u64, seconds: f64) -> f64 {
    plain_bytes as f64 / seconds / 1e9
}

fn as_json(rows: &[Row], repeat: u32) -> Json {
    let row = |row: &Row| {
        let Candidate { entry, causal, options, stage } = row.candidate;
        let has_settings = !stage.record().settings.is_empty();
        let word = options.word_size.filter(|_| has_settings).map(WordSize::bytes);
        let chunk = options.chunk_size.filter(|_| has_settings).map(ChunkSize::bytes);
        let on_device = |times: fn(&OnDevice) -> &Times| match &row.measured.on_device {
            Some(measured) => times(measured).json(row.plain_bytes),
            None => Json::from(None::<f64>),
        };
        Json::Object(vec![
            ("file", row.file.into()),
            ("codec", entry.name.into()),
            ("causal", causal.as_deref().into()),
            ("word_size", word.into()),
            ("chunk_size", chunk.into()),
            ("backend", row.backend.as_str().into()),
            ("plain_bytes", row.plain_bytes.into()),
            ("coded_bytes", row.measured.coded_bytes.into()),
            ("ratio", ratio(row.plain_bytes, row.measured.coded_bytes).into()),
            ("encode", row.measured.encode.json(row.plain_bytes)),
            ("decode", row.measured.decode.json(row.plain_bytes)),
            ("device_encode", on_device(|times| &times.encode)),
            ("device_decode", on_device(|times| &times.decode)),
            ("device_copy", on_device(|times| &times.copy)),
        ])
    };
    Json::Object(vec![
        ("cpu", devices::cpu_model().into()),
        ("threads", (rayon::current_num_threads() as u64).into()),
        ("repeat", repeat.into()),
        ("clock", "host to host; device_*: device memory to device memory, by the device's clock".into()),
        ("rows", rows.iter().map(row).collect()),
    ])
}

fn as_table(rows: &[Row], repeat: u32) -> String {
    let columns =
        ["codec", "word", "chunk", "backend", "ratio", "encode GB/s", "decode GB/s", "kernels: encode", "decode", "copy"];
    let mut table = vec![columns.map(String::from)];
    let mut text = format!(
        "{}, {} threads; host to host, kernels by the device's clock from device memory to device memory; median of {repeat}, \
         1 GB = 10^9 plain bytes\n",
        devices::cpu_model(),
        rayon::current_num_threads()
    );
    let mut file = "";
    let mut heads = Vec::new();
    for row in rows {
        if row.file != file {
            file = row.file;
            heads.push((table.len(), format!("\n{file}, grown to {}\n", show_bytes(row.plain_bytes))));
        }
        let Candidate { entry, causal, options, stage } = row.candidate;
        let shown = |bytes: Option<u32>| match bytes {
            Some(bytes) if !stage.record().settings.is_empty() => bytes.to_string(),
            _ => "-".into(),
        };
        let on_device = |times: fn(&OnDevice) -> &Times| match &row.measured.on_device {
            Some(measured) => format!("{:.0}", gb_per_s(row.plain_bytes, times(measured).median())),
            None => "-".into(),
        };
        table.push([
            causal.as_ref().map_or_else(|| entry.name.into(), |causal| format!("{} {causal}", entry.name)),
            shown(options.word_size.map(WordSize::bytes)),
            shown(options.chunk_size.map(ChunkSize::bytes)),
            row.backend.clone(),
            format!("{:.3}", ratio(row.plain_bytes, row.measured.coded_bytes)),
            format!("{:.2}", gb_per_s(row.plain_bytes, row.measured.encode.median())),
            format!("{:.2}", gb_per_s(row.plain_bytes, row.measured.decode.median())),
            on_device(|times| &times.encode),
            on_device(|times| &times.decode),
            on_device(|times| &times.copy),
        ]);
    }
    let widths: Vec<usize> =
        (0..table[0].len()).map(|column| table.iter().map(|row| row[column].len()).max().unwrap_or(0)).collect();
    let line = |row: &[String; 10]| {
        let cells: Vec<String> = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:>width$}")).collect();
        format!("{}\n", cells.join("  "))
    };
    for (index, row) in table.iter().enumerate().skip(1) {
        if let Some((_, head)) = heads.iter().find(|(at, _)| *at == index) {
            text.push_str(head);
            text.push_str(&line(&table[0]));
        }
        text.push_str(&line(row));
    }
    text
}
