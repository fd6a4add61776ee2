//! `warpack decompress`

use super::compress::{EXTENSION, output_name, refuse_removing, remove};
use super::failure::{Failure, Outcome, print};
use super::json::Json;
use super::progress::Progress;
use super::source::{Source, inputs, is_standard};
use super::target::Target;
use super::units::{parse_bytes, parse_range};
use super::{Machine, for_each};
use crate::Error;
use crate::archive::{Archive, DEFAULT_MAX_BLOCK_BYTES, DecompressOptions, Reader};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Restore files: FILE.wpk becomes FILE, and stays
///
/// Everything is checked. A file appears whole or not at all, with the permissions and times of the archive; what goes to a pipe
/// or to standard output goes block by block, each checked, and the exit code tells whether that was all.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// Archives to restore; `-` is standard input [default: -]
    files: Vec<PathBuf>,
    /// Write to FILE instead; `-` is standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Write to standard output
    #[arg(short = 'c', long, conflicts_with = "output")]
    stdout: bool,
    /// Replace an output that exists; write to a terminal
    #[arg(short, long)]
    force: bool,
    /// Keep the archives (the default)
    #[arg(short, long, conflicts_with = "rm")]
    keep: bool,
    /// Remove each archive once its output is safely on disk
    #[arg(long, conflicts_with = "range")]
    rm: bool,
    /// Restore these bytes only, by the index: START..END, START.. or START+LENGTH; to standard output unless -o is given
    #[arg(long, value_parser = parse_range)]
    range: Option<(u64, Option<u64>)>,
    /// Refuse archives with larger blocks: this bounds the memory
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes, default_value = "256MiB")]
    max_block_size: u64,
    #[command(flatten)]
    machine: Machine,
    /// Say what became of the archives, as JSON on standard output
    #[arg(long)]
    json: bool,
    /// Show no progress
    #[arg(short, long)]
    quiet: bool,
}

const _: () = assert!(DEFAULT_MAX_BLOCK_BYTES == 256 << 20, "the help says so");

pub(super) fn run(arguments: &Arguments) -> Outcome<()> {
    let files = inputs(&arguments.files)?;
    if files.len() > 1 && arguments.output.is_some() {
        return Err(Failure::usage("several inputs can't go to one output"));
    }
    let outputs: Vec<PathBuf> = files.iter().map(|file| output(arguments, file)).collect::<Outcome<_>>()?;
    if arguments.json && outputs.iter().any(|output| is_standard(output)) {
        return Err(Failure::usage("--json needs standard output for itself: name an output with -o"));
    }
    let options = DecompressOptions {
        backend: arguments.machine.open()?,
        max_block_bytes: arguments.max_block_size,
        ..Default::default()
    };
    let mut report = Vec::new();
    let pairs: Vec<(PathBuf, PathBuf)> = files.into_iter().zip(outputs).collect();
    let outcome = for_each(&pairs, |(input, output)| decompress(arguments, &options, input, output, &mut report));
    if arguments.json {
        print(&format!("{}\n", Json::List(report)))?;
    }
    outcome
}

fn output(arguments: &Arguments, input: &Path) -> Outcome<PathBuf> {
    if let Some(output) = &arguments.output {
        return Ok(output.clone());
    }
    if arguments.stdout || is_standard(input) || arguments.range.is_some() {
        return Ok("-".into());
    }
    // `.wpk` alone is a hidden file without an extension, and no archive of a file without a name.
    match input.extension() {
        Some(extension) if extension == EXTENSION => Ok(input.with_extension("")),
        _ => Err(Failure::usage("does not end with .wpk: name an output with -o").at(&input.display().to_string())),
    }
}

fn decompress(
    arguments: &Arguments,
    options: &DecompressOptions,
    input: &Path,
    output: &Path,
    report: &mut Vec<Json>,
) -> Outcome<()> {
    let mut source = Source::open(input)?;
    if arguments.rm {
        refuse_removing(&source)?;
    }
    let name = source.name.clone();
    let at_source = |error: Error| Failure::from(error).at(&name);
    if arguments.range.is_some() && !source.is_seekable() {
        return Err(Failure::usage("--range needs a file, not a pipe").at(&name));
    }
    // The header is read first, so that what is no archive does not even touch the output.
    let mut reading = match arguments.range {
        Some(range) => Reading::Range(range, Box::new(Archive::open(&source.file, options).map_err(at_source)?)),
        None => Reading::All(Box::new(Reader::new(&source.file, options).map_err(at_source)?)),
    };
    let mut target = Target::create(output, &source, arguments.force)?;
    let mut progress = Progress::new(&source.name, reading.total_bytes(), arguments.quiet);
    let mut written = 0;
    let mut put = |block: &[u8]| {
        written += block.len() as u64;
        progress.add(block.len() as u64);
        target.write_all(block).map_err(|error| Failure::io("write it", error).at(output_name(output)))
    };
    match &mut reading {
        Reading::All(reader) => {
            while let Some(block) = reader.next_block().map_err(at_source)? {
                put(block)?;
            }
        }
        Reading::Range((start, end), archive) => {
            let end = end.unwrap_or(archive.info().plain_bytes.max(*start));
            let mut sink = Put { put, failed: None };
            let result = archive.copy_range(*start..end, &mut sink);
            if let Some(failure) = sink.failed {
                return Err(failure);
            }
            result.map_err(at_source)?;
        }
    }
    drop(reading);
    let is_file = target.commit(&source, arguments.range.is_none())?;
    let seconds = progress.elapsed().as_secs_f64();
    if arguments.rm && is_file {
        remove(&source)?;
    }
    if arguments.json {
        report.push(Json::Object(vec![
            ("input", source.name.as_str().into()),
            ("output", output_name(output).into()),
            ("backend", options.backend.to_string().into()),
            ("plain_bytes", written.into()),
            ("seconds", seconds.into()),
        ]));
    }
    Ok(())
}

enum Reading<'a> {
    All(Box<Reader<&'a std::fs::File>>),
    Range((u64, Option<u64>), Box<Archive<&'a std::fs::File>>),
}

impl Reading<'_> {
    fn total_bytes(&self) -> Option<u64> {
        match self {
            Self::All(reader) => reader.header().cut.total_bytes(),
            Self::Range((start, end), archive) => Some(end.unwrap_or(archive.info().plain_bytes).saturating_sub(*start)),
        }
    }
}

/// Writes through a closure that knows better what went wrong than an `io::Error` could say.
struct Put<F> {
    put: F,
    failed: Option<Failure>,
}

impl<F: FnMut(&[u8]) -> Outcome<()>> Write for Put<F> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        match (self.put)(bytes) {
            Ok(()) => Ok(bytes.len()),
            Err(failure) => {
                self.failed = Some(failure);
                Err(std::io::ErrorKind::Other.into())
            }
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
