//! The choice of a codec on the command line.

use super::failure::{Failure, Outcome};
use crate::archive::ElementType;
use crate::stage::{self, Entry, Options, Stage};
use crate::{ChunkSize, WordSize};

/// Reads the name of a codec.
pub(super) fn parse_codec(name: &str) -> Result<&'static Entry, String> {
    stage::by_name(name).ok_or_else(|| {
        let names: Vec<&str> = stage::ALL.iter().map(|entry| entry.name).collect();
        format!("there is no codec {name:?}, only {}", names.join(", "))
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
