//! `warpack verify`

use super::failure::{Outcome, print};
use super::json::Json;
use super::progress::Progress;
use super::source::{Source, Watched, inputs};
use super::units::parse_bytes;
use super::{Machine, for_each};
use crate::archive::{self, DecompressOptions};
use std::path::PathBuf;

/// Decode and check archives without writing anything
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// Archives to check; `-` is standard input [default: -]
    files: Vec<PathBuf>,
    /// Refuse archives with larger blocks: this bounds the memory
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes, default_value = "256MiB")]
    max_block_size: u64,
    #[command(flatten)]
    machine: Machine,
    /// Print a JSON list with an entry for every archive, also for those that fail
    #[arg(long)]
    json: bool,
    /// Show nothing but failures
    #[arg(short, long)]
    quiet: bool,
}

pub(super) fn run(arguments: &Arguments) -> Outcome<()> {
    let files = inputs(&arguments.files)?;
    let options = DecompressOptions {
        backend: arguments.machine.open()?,
        max_block_bytes: arguments.max_block_size,
        ..Default::default()
    };
    let mut report = Vec::new();
    let outcome = for_each(&files, |file| {
        let checked = Source::open(file).and_then(|source| {
            let mut progress = Progress::new(&source.name, source.bytes(), arguments.quiet);
            let watched = Watched { inner: &source.file, seen: |bytes| progress.add(bytes) };
            let info = archive::verify(watched, &options);
            let seconds = progress.elapsed().as_secs_f64();
            info.map(|info| (info, seconds)).map_err(|error| super::Failure::from(error).at(&source.name))
        });
        let name = file.display().to_string();
        if arguments.json {
            let mut entry = vec![("file", name.into()), ("ok", checked.is_ok().into())];
            match &checked {
                Ok((info, seconds)) => entry.extend([
                    ("blocks", info.blocks.into()),
                    ("plain_bytes", info.plain_bytes.into()),
                    ("archive_bytes", info.archive_bytes.into()),
                    ("seconds", (*seconds).into()),
                ]),
                Err(failure) => entry.push(("error", failure.message().into())),
            }
            report.push(Json::Object(entry));
        } else if let Ok((info, _)) = &checked
            && !arguments.quiet
        {
            print(&format!("{name}: sound, {} bytes in {} blocks\n", info.plain_bytes, info.blocks))?;
        }
        checked.map(|_| ())
    });
    if arguments.json {
        print(&format!("{}\n", Json::List(report)))?;
    }
    outcome
}
