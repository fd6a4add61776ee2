//! `warpack compress`

use super::failure::{Failure, Outcome, print};
use super::json::Json;
use super::progress::Progress;
use super::source::{Source, Watched, inputs, is_standard};
use super::target::Target;
use super::units::{parse_bytes, ratio, show_bytes};
use super::{Machine, codec, for_each, stages};
use crate::archive::{CompressOptions, DEFAULT_BLOCK_BYTES, DEFAULT_MAX_BLOCK_BYTES, ElementType, Shape, Writer};
use crate::stage::{Entry, Options, Stage};
use crate::{ChunkSize, WordSize};
use std::fs;
use std::io::{self, IsTerminal, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The extension of archives.
pub(super) const EXTENSION: &str = "wpk";

/// Compress files: FILE becomes FILE.wpk, and stays
///
/// The output appears whole or not at all, with the permissions and times of the input. Inputs are kept unless --rm is given.
/// Standard input goes to standard output.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// Files to compress; `-` is standard input [default: -]
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
    /// Keep the inputs (the default)
    #[arg(short, long, conflicts_with = "rm")]
    keep: bool,
    /// Remove each input once its output is safely on disk
    #[arg(long)]
    rm: bool,
    /// The codec [default: causal for elements of 16 bits, else clog]
    #[arg(long, value_parser = codec::parse_codec)]
    codec: Option<&'static Entry>,
    /// Stages one after another, instead of a codec, each with its settings: for example
    /// "lorenzo:element=i32,block_size=32 -> zigzag -> clog:chunk_size=8192"
    #[arg(long, value_name = "CHAIN", conflicts_with_all = ["codec", "word_size", "chunk_size", "CausalArguments"])]
    stages: Option<String>,
    /// Bytes of a word: 1, 2, 4 or 8 [default: those of --dtype, or the codec's]
    #[arg(long, value_name = "BYTES", value_parser = codec::parse_word_size)]
    word_size: Option<WordSize>,
    /// Bytes of a chunk: 4096, 8192 or 16384 [default: the codec's]
    #[arg(long, value_name = "BYTES", value_parser = codec::parse_chunk_size)]
    chunk_size: Option<ChunkSize>,
    /// The type of the elements: u8 .. u64, i8 .. i64, f32, f64, bytes
    #[arg(long, value_name = "TYPE", value_parser = codec::parse_element, default_value = "bytes")]
    dtype: ElementType,
    /// The extents of the array, slowest first, for example 8x384x274; blocks then end at rows or slices
    #[arg(long, value_name = "EXTENTS")]
    shape: Option<Shape>,
    /// About how many bytes a block holds; each can be decoded alone
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes, default_value = "16MiB")]
    block_size: u64,
    #[command(flatten)]
    causal: codec::CausalArguments,
    #[command(flatten)]
    machine: Machine,
    /// Say what became of the inputs, as JSON on standard output
    #[arg(long)]
    json: bool,
    /// Show no progress and no summary
    #[arg(short, long)]
    quiet: bool,
}

const _: () = assert!(DEFAULT_BLOCK_BYTES == 16 << 20, "the help says so");

pub(super) fn run(arguments: &Arguments) -> Outcome<()> {
    let files = inputs(&arguments.files)?;
    let one = files.len() == 1;
    if !one && (arguments.output.is_some() || arguments.stdout) {
        // Readers refuse what stands behind an archive's end, so archives can't be strung together.
        return Err(Failure::usage("several inputs can't go to one output"));
    }
    if !(1..=DEFAULT_MAX_BLOCK_BYTES).contains(&arguments.block_size) {
        // Larger blocks can be written, by the library, but readers refuse them unless they are told otherwise.
        let (size, max) = (arguments.block_size, DEFAULT_MAX_BLOCK_BYTES);
        return Err(Failure::usage(format!("--block-size {size}: a block has 1 to {max} bytes, what every reader takes")));
    }
    let outputs: Vec<PathBuf> = files.iter().map(|file| output(arguments, file)).collect();
    if arguments.json && outputs.iter().any(|output| is_standard(output)) {
        return Err(Failure::usage("--json needs standard output for itself: name an output with -o"));
    }
    let stages = stages(arguments)?;
    let options = CompressOptions {
        stages,
        element: arguments.dtype,
        shape: arguments.shape.clone(),
        block_bytes: arguments.block_size,
        backend: arguments.machine.open()?,
        ..CompressOptions::default()
    };
    let mut report = Vec::new();
    let pairs: Vec<(PathBuf, PathBuf)> = files.into_iter().zip(outputs).collect();
    let outcome = for_each(&pairs, |(input, output)| compress(arguments, &options, input, output, &mut report));
    if arguments.json {
        print(&format!("{}\n", Json::List(report)))?;
    }
    outcome
}

/// The chain, or the codec by itself.
fn stages(arguments: &Arguments) -> Outcome<Arc<[Box<dyn Stage>]>> {
    if let Some(chain) = &arguments.stages {
        return stages::parse(chain, arguments.dtype, arguments.shape.as_ref()).map(Arc::from);
    }
    let settings = Options { word_size: arguments.word_size, chunk_size: arguments.chunk_size, ..Options::default() };
    let entry = arguments.codec.unwrap_or_else(|| codec::default_codec(settings, arguments.dtype));
    let stage = arguments.causal.stage(entry, settings, arguments.dtype)?;
    Ok(Arc::new([stage]))
}

fn output(arguments: &Arguments, input: &Path) -> PathBuf {
    match &arguments.output {
        Some(output) => output.clone(),
        None if arguments.stdout || is_standard(input) => "-".into(),
        None => {
            let mut name = input.as_os_str().to_owned();
            name.push(".");
            name.push(EXTENSION);
            name.into()
        }
    }
}

fn compress(
    arguments: &Arguments,
    options: &CompressOptions,
    input: &Path,
    output: &Path,
    report: &mut Vec<Json>,
) -> Outcome<()> {
    let source = Source::open(input)?;
    if arguments.rm {
        refuse_removing(&source)?;
    }
    let at_source = |failure: Failure| failure.at(&source.name);
    let expected = options.shape.as_ref().map(|shape| shape.total_bytes(options.element));
    let expected = expected.transpose().map_err(Failure::refused)?;
    if let (Some(shape), Some(input)) = (expected, source.bytes())
        && shape != input
        && source.path.is_some()
    {
        return Err(at_source(crate::Error::ShapeLength { shape, input }.into()));
    }
    let target = Target::create(output, &source, arguments.force)?;
    let at_target = |failure: Failure| failure.at(output_name(output));
    let mut progress = Progress::new(&source.name, source.bytes().or(expected), arguments.quiet);
    let mut writer = Writer::new(target, options).map_err(Failure::refused)?;
    let mut watched = Watched { inner: &source.file, seen: |bytes| progress.add(bytes) };
    let copied = writer.copy(&mut watched);
    let (target, summary) = match copied.and_then(|_| writer.finish()) {
        Ok(done) => done,
        Err(error) => {
            let writing = matches!(&error, crate::Error::Io { what, .. } if what.starts_with("write"));
            return Err(if writing { at_target(error.into()) } else { at_source(error.into()) });
        }
    };
    let is_file = target.commit(&source, true)?;
    let seconds = progress.elapsed().as_secs_f64();
    drop(progress);
    if arguments.rm && is_file {
        remove(&source)?;
    }
    if arguments.json {
        report.push(Json::Object(vec![
            ("input", source.name.as_str().into()),
            ("output", output_name(output).into()),
            ("codec", options.stages.first().map_or("", |stage| stage.entry().name).into()),
            ("backend", options.backend.to_string().into()),
            ("plain_bytes", summary.plain_bytes.into()),
            ("archive_bytes", summary.archive_bytes.into()),
            ("ratio", ratio(summary.plain_bytes, summary.archive_bytes).into()),
            ("blocks", summary.blocks.into()),
            ("stored_blocks", summary.stored_blocks.into()),
            ("seconds", seconds.into()),
        ]));
    }
    if !arguments.quiet && io::stderr().is_terminal() {
        let (plain, archive) = (summary.plain_bytes, summary.archive_bytes);
        let text = format!(
            "{}: {} -> {}, {:.3} : 1, {}/s\n",
            source.name,
            show_bytes(plain),
            show_bytes(archive),
            ratio(plain, archive),
            show_bytes((plain as f64 / seconds) as u64)
        );
        let _ = io::stderr().write_all(text.as_bytes());
    }
    Ok(())
}

/// What messages call an output.
pub(super) fn output_name(output: &Path) -> &str {
    if is_standard(output) { "standard output" } else { output.to_str().unwrap_or("the output") }
}

/// Refuses to remove what is no plain file: a link, a device, standard input.
pub(super) fn refuse_removing(source: &Source) -> Outcome<()> {
    let metadata = source.path.as_ref().map(fs::symlink_metadata).transpose();
    let metadata = metadata.map_err(|error| Failure::io("look at it", error).at(&source.name))?;
    if metadata.is_some_and(|metadata| metadata.is_file()) {
        return Ok(());
    }
    Err(Failure::usage("--rm removes regular files only").at(&source.name))
}

/// Removes an input whose output is safe, if it is still the file that was opened, as it was then: what came after is in no output.
pub(super) fn remove(source: &Source) -> Outcome<()> {
    let Some(path) = &source.path else { return Ok(()) };
    let refused = |error| Failure::io("remove it", error).at(&source.name);
    let state = |file: &fs::Metadata| {
        ((file.dev(), file.ino()), file.len(), (file.mtime(), file.mtime_nsec()), (file.ctime(), file.ctime_nsec()))
    };
    let now = fs::symlink_metadata(path).map_err(refused)?;
    if state(&now) != state(&source.metadata) {
        return Err(refused(io::Error::other("it was changed or replaced after it was opened, so it is kept")));
    }
    fs::remove_file(path).map_err(refused)
}

#[cfg(test)]
mod tests {
    use super::{Source, remove};
    use std::fs;

    #[test]
    fn an_input_that_is_not_what_was_read_is_kept() {
        let folder = std::env::temp_dir().join(format!("warpack-remove-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let (input, other) = (folder.join("input"), folder.join("other"));
        fs::write(&input, b"read").unwrap();
        let changed = Source::open(&input).unwrap();
        fs::write(&input, b"changed").unwrap();
        assert!(remove(&changed).is_err());
        assert_eq!(fs::read(&input).unwrap(), b"changed");

        let replaced = Source::open(&input).unwrap();
        fs::write(&other, b"replaced").unwrap();
        fs::rename(&other, &input).unwrap();
        assert!(remove(&replaced).is_err());
        assert_eq!(fs::read(&input).unwrap(), b"replaced");

        let same = Source::open(&input).unwrap();
        assert!(remove(&same).is_ok());
        assert!(!input.exists());
        fs::remove_dir_all(&folder).unwrap();
    }
}
