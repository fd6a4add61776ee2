//! `warpack bench --compare`
//!
//! The causal codec beside Zstandard, over 16-bit arrays: sizes and encoding times, every file and the sum, whoever wins. Zstandard gets the bytes as they are, and after the
//! usual preparation: zigzag differences, then all low bytes, then all high bytes. Everything runs on one thread.

use super::failure::{Failure, Outcome, print};
use super::json::Json;
use super::progress::Progress;
use super::source::Source;
use super::units::ratio;
use super::{bench, devices};
use crate::Backend;
use crate::causal::send::{Settings, select::Density};
use crate::causal::{MAX_TILE_BYTES, Representation, zigzag};
use crate::stage::{Stage, causal::Causal};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Zstandard's levels.
const LEVELS: [i32; 3] = [1, 9, 16];

/// One way to code a file.
#[derive(Clone, Copy)]
enum Way {
    Causal(Density),
    Zstd(i32),
    Prepared(i32),
}

impl Way {
    fn all() -> Vec<Self> {
        let causal = Density::ALL.map(Self::Causal);
        causal.into_iter().chain(LEVELS.map(Self::Zstd)).chain(LEVELS.map(Self::Prepared)).collect()
    }

    fn name(self) -> String {
        match self {
            Self::Causal(Density::Fast) => "causal".into(),
            Self::Causal(Density::Dense) => "dense".into(),
            Self::Zstd(level) => format!("zstd-{level}"),
            Self::Prepared(level) => format!("prep-{level}"),
        }
    }

    /// Bytes and seconds.
    fn measure(self, plain: &[u8]) -> Outcome<Coded> {
        let start = Instant::now();
        let bytes = match self {
            Self::Causal(density) => causal(plain, Settings { density, ..Settings::default() })?,
            Self::Zstd(level) => zstd(plain, level)?,
            Self::Prepared(level) => zstd(&prepared(plain), level)?,
        };
        Ok(Coded { bytes, seconds: start.elapsed().as_secs_f64() })
    }
}

/// What a way made of a file.
#[derive(Clone, Copy, Default)]
struct Coded {
    bytes: u64,
    seconds: f64,
}

/// One file, or all.
struct Row {
    name: String,
    plain_bytes: u64,
    coded: Vec<Coded>,
    /// The bytes of each representation, forced.
    forced: Vec<u64>,
}

impl Row {
    /// What the choice by score costs against the best representation, in bytes.
    fn regret(&self) -> i64 {
        let best = self.forced.iter().min().copied().unwrap_or(0);
        self.coded.first().map_or(0, |coded| coded.bytes as i64 - best as i64)
    }
}

fn causal(plain: &[u8], settings: Settings) -> Outcome<u64> {
    let mut coded = Vec::new();
    Causal::new(settings, MAX_TILE_BYTES as u64)?.coder(&Backend::Cpu)?.encode(plain, &mut coded)?;
    Ok(coded.len() as u64)
}

fn zstd(plain: &[u8], level: i32) -> Outcome<u64> {
    let mut coded = vec![0u8; zstd_safe::compress_bound(plain.len())];
    let bytes = zstd_safe::compress(&mut coded[..], plain, level);
    let refused = |code| Failure::usage(format!("Zstandard refused: {}", zstd_safe::get_error_name(code)));
    bytes.map(|bytes| bytes as u64).map_err(refused)
}

/// Zigzag differences of the words, as two planes of bytes, and an odd last byte.
fn prepared(plain: &[u8]) -> Vec<u8> {
    let (words, odd) = plain.as_chunks::<2>();
    let mut low = Vec::with_capacity(plain.len());
    let mut high = Vec::with_capacity(words.len());
    let mut before = 0;
    for word in words.iter().map(|word| u16::from_le_bytes(*word)) {
        let [l, h] = zigzag(word.wrapping_sub(before)).to_le_bytes();
        low.push(l);
        high.push(h);
        before = word;
    }
    low.extend_from_slice(&high);
    low.extend_from_slice(odd);
    low
}

/// The files that were named, and of folders those whose names say that they are 16-bit arrays.
fn files(named: &[PathBuf]) -> Outcome<Vec<PathBuf>> {
    let mut files = Vec::new();
    for path in named {
        if !path.is_dir() {
            files.push(path.clone());
            continue;
        }
        let refused = |error| Failure::io("list it", error).at(&path.display().to_string());
        let mut inside = Vec::new();
        for entry in std::fs::read_dir(path).map_err(refused)? {
            inside.push(entry.map_err(refused)?.path());
        }
        let is_array = |path: &Path| {
            let name = path.file_name().and_then(|name| name.to_str());
            name.is_some_and(|name| name.ends_with("_u16.raw") || name.ends_with("_i16.raw"))
        };
        inside.retain(|path| is_array(path));
        inside.sort();
        if inside.is_empty() {
            return Err(Failure::usage("has no files named *_u16.raw or *_i16.raw").at(&path.display().to_string()));
        }
        files.append(&mut inside);
    }
    Ok(files)
}

/// Compares over `named`, files and folders.
pub(super) fn run(named: &[PathBuf], json: bool, quiet: bool) -> Outcome<()> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build();
    let pool = pool.map_err(|error| Failure::io("start a thread", std::io::Error::other(error)))?;
    let ways = Way::all();
    let mut rows = Vec::new();
    for path in files(named)? {
        let plain = bench::contents(&Source::open(&path)?)?;
        let name = path.file_name().map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned());
        let mut progress = Progress::new(&name, Some(plain.len() as u64 * ways.len() as u64), quiet);
        let mut coded = Vec::new();
        for way in &ways {
            coded.push(pool.install(|| way.measure(&plain))?);
            progress.add(plain.len() as u64);
        }
        let forced = Representation::ALL
            .map(|forced| pool.install(|| causal(&plain, Settings { representation: Some(forced), ..Settings::default() })));
        let forced = forced.into_iter().collect::<Outcome<_>>()?;
        rows.push(Row { name, plain_bytes: plain.len() as u64, coded, forced });
    }
    let mut total = Row { name: "total".into(), plain_bytes: 0, coded: vec![Coded::default(); ways.len()], forced: Vec::new() };
    for row in &rows {
        total.plain_bytes += row.plain_bytes;
        for (sum, coded) in total.coded.iter_mut().zip(&row.coded) {
            sum.bytes += coded.bytes;
            sum.seconds += coded.seconds;
        }
    }
    let regret: i64 = rows.iter().map(Row::regret).sum();
    // The total's regret is the sum, not the best single representation's.
    total.forced = total.coded.first().map(|coded| vec![(coded.bytes as i64 - regret) as u64]).unwrap_or_default();
    rows.push(total);
    print(&if json { format!("{}\n", as_json(&rows, &ways)) } else { as_text(&rows, &ways) })
}

fn as_json(rows: &[Row], ways: &[Way]) -> Json {
    let row = |row: &Row| {
        let coded = ways.iter().zip(&row.coded).map(|(way, coded)| {
            Json::Object(vec![
                ("way", way.name().into()),
                ("coded_bytes", coded.bytes.into()),
                ("ratio", ratio(row.plain_bytes, coded.bytes).into()),
                ("encode_s", coded.seconds.into()),
            ])
        });
        Json::Object(vec![
            ("file", row.name.as_str().into()),
            ("plain_bytes", row.plain_bytes.into()),
            ("coded", coded.collect()),
            ("regret_bytes", (row.regret() as f64).into()),
        ])
    };
    Json::Object(vec![
        ("cpu", devices::cpu_model().into()),
        ("threads", 1u64.into()),
        ("zstd", zstd_safe::version_string().into()),
        ("rows", rows.iter().map(row).collect()),
    ])
}

fn as_text(rows: &[Row], ways: &[Way]) -> String {
    let mut text = format!(
        "{}, 1 thread, Zstandard {}\nprep: zigzag differences, then byte planes. One run each. vs 16: the causal frame beside prep-16, in bytes and in time\n",
        devices::cpu_model(),
        zstd_safe::version_string()
    );
    let head = |unit: &str| {
        let names = ways.iter().map(|way| way.name());
        [String::from("file"), unit.into()].into_iter().chain(names).collect::<Vec<_>>()
    };
    let mut sizes = vec![head("bytes")];
    sizes[0].extend(["vs 16".into(), "regret".into()]);
    let mut speeds = vec![head("")];
    speeds[0].push("vs 16".into());
    for row in rows {
        let (first, last) = (row.coded.first().copied().unwrap_or_default(), row.coded.last().copied().unwrap_or_default());
        let mut cells = vec![row.name.clone(), row.plain_bytes.to_string()];
        cells.extend(row.coded.iter().map(|coded| format!("{:.3}", ratio(row.plain_bytes, coded.bytes))));
        cells.push(format!("{:+.1} %", 100.0 * (first.bytes as f64 / last.bytes as f64 - 1.0)));
        cells.push(row.regret().to_string());
        sizes.push(cells);
        let mut cells = vec![row.name.clone(), String::new()];
        cells.extend(row.coded.iter().map(|coded| format!("{:.1}", row.plain_bytes as f64 / coded.seconds / 1e6)));
        cells.push(format!("{:.1} %", 100.0 * first.seconds / last.seconds));
        speeds.push(cells);
    }
    text.push_str("\nratio (regret: bytes above the best of the three representations)\n");
    text.push_str(&aligned(&sizes));
    text.push_str("\nencoding, MB/s\n");
    text.push_str(&aligned(&speeds));
    text
}

/// Rows of as many cells, the first to the left, the others to the right.
fn aligned(rows: &[Vec<String>]) -> String {
    let columns = rows.first().map_or(0, Vec::len);
    let widths: Vec<usize> =
        (0..columns).map(|column| rows.iter().filter_map(|row| row.get(column)).map(String::len).max().unwrap_or(0)).collect();
    let mut text = String::new();
    for row in rows {
        for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
            match column {
                0 => text.push_str(&format!("{cell:<width$}")),
                _ => text.push_str(&format!("  {cell:>width$}")),
            }
        }
        text.push('\n');
    }
    text
}
