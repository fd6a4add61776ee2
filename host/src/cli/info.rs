//! `warpack info`

use super::failure::{Failure, Outcome, print};
use super::for_each;
use super::json::Json;
use super::source::{Source, inputs};
use super::tiles::Tiles;
use super::units::{ratio, show_bytes};
use crate::Error;
use crate::archive::{self, Archive, DecompressOptions, Info};
use crate::stage::{self, Record};
use std::path::PathBuf;

/// Show what archives say about themselves, without decoding them
///
/// Header and index of a file are enough; a pipe is read to its end. Of files of the causal codec the tiles are shown too, by the
/// headers of their frames.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// Archives to look at; `-` is standard input [default: -]
    files: Vec<PathBuf>,
    /// Print a JSON list
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &Arguments) -> Outcome<()> {
    let files = inputs(&arguments.files)?;
    let mut report = Vec::new();
    let outcome = for_each(&files, |file| {
        let mut source = Source::open(file)?;
        let (info, tiles) = read(&mut source).map_err(|error| Failure::from(error).at(&source.name))?;
        if arguments.json {
            report.push(as_json(&source.name, &info, tiles.as_ref())?);
            return Ok(());
        }
        let tiles = tiles.map_or(String::new(), |tiles| tiles.as_text());
        print(&(as_text(&source.name, &info)? + &tiles))
    });
    if arguments.json {
        print(&format!("{}\n", Json::List(report)))?;
    }
    outcome
}

fn read(source: &mut Source) -> Result<(Info, Option<Tiles>), Error> {
    // Nothing is decoded, so large blocks do no harm.
    let options = DecompressOptions { max_block_bytes: u64::MAX, ..Default::default() };
    if source.is_seekable() {
        let mut archive = Archive::open(&source.file, &options)?;
        let tiles = Tiles::read(&mut archive)?;
        return Ok((archive.info(), tiles));
    }
    archive::info(&source.file, &options).map(|info| (info, None))
}

/// A stage's name, and the stage with its settings in words.
fn describe(record: &Record) -> Outcome<(&'static str, String)> {
    let entry = stage::by_id(record.id).ok_or(Error::UnknownStage { id: record.id })?;
    Ok((entry.name, (entry.from_record)(record)?.describe()))
}

fn as_json(name: &str, info: &Info, tiles: Option<&Tiles>) -> Outcome<Json> {
    let header = &info.header;
    let stage = |record: &Record| {
        let (name, description) = describe(record)?;
        let settings: String = record.settings.iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Json::Object(vec![
            ("name", name.into()),
            ("id", u64::from(record.id).into()),
            ("version", u64::from(record.version).into()),
            ("settings", settings.into()),
            ("description", description.into()),
        ]))
    };
    Ok(Json::Object(vec![
        ("file", name.into()),
        ("format_version", u64::from(archive::VERSION).into()),
        ("stages", Json::List(header.records.iter().map(stage).collect::<Outcome<_>>()?)),
        ("dtype", header.element.name().into()),
        ("shape", header.shape.as_ref().map(|shape| shape.extents().iter().copied().collect::<Json>()).into()),
        ("cut_axis", header.cut.axis().map(u32::from).into()),
        ("block_bytes", header.cut.block_bytes().into()),
        ("blocks", info.blocks.into()),
        ("plain_bytes", info.plain_bytes.into()),
        ("archive_bytes", info.archive_bytes.into()),
        ("ratio", ratio(info.plain_bytes, info.archive_bytes).into()),
        ("tiles", tiles.map(Tiles::as_json).into()),
    ]))
}

fn as_text(name: &str, info: &Info) -> Outcome<String> {
    let header = &info.header;
    let stage = |record| describe(record).map(|(_, description)| description);
    let stages: Vec<String> = header.records.iter().map(stage).collect::<Outcome<_>>()?;
    let shape = header.shape.as_ref().map_or(String::new(), |shape| format!(", shape {shape}"));
    let axis = header.cut.axis().map_or(String::new(), |axis| format!(", along axis {axis}"));
    Ok(format!(
        "{name}\n  stages   {}\n  elements {}{shape}\n  plain    {} bytes ({})\n  archive  {} bytes ({}), {:.3} : 1\n  blocks   {} of {} bytes{axis}\n",
        stages.join(", then "),
        header.element,
        info.plain_bytes,
        show_bytes(info.plain_bytes),
        info.archive_bytes,
        show_bytes(info.archive_bytes),
        ratio(info.plain_bytes, info.archive_bytes),
        info.blocks,
        header.cut.block_bytes(),
    ))
}
