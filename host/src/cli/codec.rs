//! The choice of a codec on the command line.

use super::failure::{Failure, Outcome};
use super::units::parse_bytes;
use crate::archive::ElementType;
use crate::causal::send::{self, select::Density};
use crate::causal::{Form, Grain, MAX_TILE_BYTES, Representation};
use crate::stage::causal::{self, Causal};
use crate::stage::{self, Entry, Options, Stage};
use crate::{ChunkSize, WordSize};

/// Reads the name of a codec.
pub(super) fn parse_codec(name: &str) -> Result<&'static Entry, String> {
    stage::codecs().find(|entry| entry.name == name).ok_or_else(|| {
        let names: Vec<&str> = stage::codecs().map(|entry| entry.name).collect();
        let only = format!("only {}", names.join(", "));
        match stage::by_name(name) {
            Some(_) => format!("{name} alone makes nothing smaller: say --stages, or take {only}"),
            None => format!("there is no codec {name:?}, {only}"),
        }
    })
}

/// Reads a word size.
pub(super) fn parse_word_size(text: &str) -> Result<WordSize, String> {
    let bytes = super::units::parse_bytes(text)?;
    WordSize::from_bytes(bytes).ok_or_else(|| format!("words have 1, 2, 4 or 8 bytes, not {bytes}"))
}

/// Reads a chunk size.
pub(super) fn parse_chunk_size(text: &str) -> Result<ChunkSize, String> {
    let bytes = super::units::parse_bytes(text)?;
    ChunkSize::from_bytes(bytes).ok_or_else(|| format!("chunks have 4096, 8192 or 16384 bytes, not {bytes}"))
}

/// Reads an element type.
pub(super) fn parse_element(name: &str) -> Result<ElementType, String> {
    ElementType::by_name(name).ok_or_else(|| {
        let names: Vec<&str> = ElementType::ALL.iter().map(|element| element.name()).collect();
        format!("there is no element type {name:?}, only {}", names.join(", "))
    })
}

/// The stage with these settings; the word size follows from the elements where none is given.
pub(super) fn stage(entry: &Entry, options: Options, element: ElementType) -> Outcome<Box<dyn Stage>> {
    let mut guided = options;
    if options.word_size.is_none() && element != ElementType::Bytes {
        guided.word_size = WordSize::from_bytes(element.bytes());
    }
    // A stage that has no word size refuses ours; then it gets what the user said and nothing else.
    let stage = (entry.from_options)(&guided).or_else(|_| (entry.from_options)(&options));
    stage.map_err(Failure::refused)
}

/// The codec for elements of this type where none is asked for: the causal one for 16 bits, unless the user asks for what it does not have.
pub(super) fn default_codec(options: Options, element: ElementType) -> &'static Entry {
    let causal = element.bytes() == 2 && options == Options::default();
    if causal { &causal::ENTRY } else { &stage::clog::ENTRY }
}

/// What only the causal codec has.
#[derive(Clone, Copy, Debug, Default, PartialEq, clap::Args)]
#[command(next_help_heading = "The causal codec")]
pub(super) struct CausalArguments {
    /// Force a representation: same-lane, high-first or residual [default: the cheapest]
    #[arg(long, value_name = "NAME", value_parser = parse_representation)]
    representation: Option<Representation>,
    /// One state a chunk (classic) or one a bank (split) [default: split]
    #[arg(long, value_name = "NAME", value_parser = parse_form)]
    form: Option<Form>,
    /// Bytes of a chunk: 8192 or 2048 [default: 8192]
    #[arg(long, value_name = "BYTES", value_parser = parse_grain)]
    grain: Option<Grain>,
    /// Zstandard level of the model: 1 or 9 [default: 1]
    #[arg(long, value_name = "LEVEL", value_parser = parse_density)]
    level: Option<Density>,
    /// Bytes of a tile, which has a model of its own: an even number up to 16 MiB [default: 16 MiB]
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes)]
    tile_size: Option<u64>,
}

impl CausalArguments {
    /// The stage of `entry`; whoever asks another codec for what only the causal one has is refused.
    pub(super) fn stage(&self, entry: &Entry, options: Options, element: ElementType) -> Outcome<Box<dyn Stage>> {
        if entry.id == causal::ENTRY.id {
            let default = send::Settings::default();
            let settings = send::Settings {
                representation: self.representation,
                form: self.form.unwrap_or(default.form),
                grain: self.grain.unwrap_or(default.grain),
                density: self.level.unwrap_or(default.density),
            };
            let stage = Causal::new(settings, self.tile_size.unwrap_or(MAX_TILE_BYTES as u64)).map_err(Failure::refused)?;
            return Ok(Box::new(stage));
        }
        if *self != Self::default() {
            return Err(Failure::usage(format!("{} has no representation, form, grain, level or tile size", entry.name)));
        }
        stage(entry, options, element)
    }
}

/// What the causal codec is to be measured with: every combination.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "The causal codec")]
pub(super) struct CausalLists {
    /// Representations: auto, same-lane, high-first, residual [default: auto]
    #[arg(long, value_delimiter = ',', value_name = "NAMES", value_parser = parse_choice)]
    representation: Vec<Choice>,
    /// Forms: classic, split [default: split]
    #[arg(long, value_delimiter = ',', value_name = "NAMES", value_parser = parse_form)]
    form: Vec<Form>,
    /// Bytes of a chunk: 8192, 2048 [default: 8192]
    #[arg(long, value_delimiter = ',', value_name = "BYTES", value_parser = parse_grain)]
    grain: Vec<Grain>,
    /// Zstandard levels of the model: 1, 9 [default: 1]
    #[arg(long, value_delimiter = ',', value_name = "LEVELS", value_parser = parse_density)]
    level: Vec<Density>,
}

/// A representation, or the cheapest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Choice(Option<Representation>);

fn parse_choice(name: &str) -> Result<Choice, String> {
    if name == "auto" {
        Ok(Choice(None))
    } else {
        parse_representation(name).map(|representation| Choice(Some(representation)))
    }
}

impl CausalLists {
    /// A name and a stage for each combination.
    pub(super) fn stages(&self) -> Outcome<Vec<(String, Box<dyn Stage>)>> {
        fn or<T: Copy>(list: &[T], default: T) -> Vec<T> {
            if list.is_empty() { vec![default] } else { list.to_vec() }
        }
        let mut stages: Vec<(String, Box<dyn Stage>)> = Vec::new();
        for Choice(representation) in or(&self.representation, Choice(None)) {
            for form in or(&self.form, Form::default()) {
                for grain in or(&self.grain, Grain::default()) {
                    for density in or(&self.level, Density::default()) {
                        let settings = send::Settings { representation, form, grain, density };
                        let choice = representation.map_or("auto", Representation::name);
                        let name = format!("{choice} {} {} -{}", form.name(), grain.bytes(), density.level());
                        let stage = Causal::new(settings, MAX_TILE_BYTES as u64).map_err(Failure::refused)?;
                        stages.push((name, Box::new(stage)));
                    }
                }
            }
        }
        Ok(stages)
    }
}

/// Reads the name of a representation.
pub(super) fn parse_representation(name: &str) -> Result<Representation, String> {
    Representation::by_name(name).ok_or_else(|| {
        let names = Representation::ALL.map(Representation::name);
        format!("there is no representation {name:?}, only {}", names.join(", "))
    })
}

/// Reads the name of a form.
pub(super) fn parse_form(name: &str) -> Result<Form, String> {
    Form::by_name(name).ok_or_else(|| format!("there is no form {name:?}, only {}", Form::ALL.map(Form::name).join(", ")))
}

/// Reads a grain.
pub(super) fn parse_grain(text: &str) -> Result<Grain, String> {
    let bytes = parse_bytes(text)?;
    Grain::by_bytes(bytes).ok_or_else(|| format!("the grain is 8192 or 2048 bytes, not {bytes}"))
}

/// Reads the level of a model.
pub(super) fn parse_density(text: &str) -> Result<Density, String> {
    let level = text.parse().map_err(|_| format!("{text:?} is no level"))?;
    Density::by_level(level).ok_or_else(|| format!("the level is 1 or 9, not {level}"))
}
