//! Lorenzo: every element as its difference to its neighbours. See [`crate::lorenzo`].
//!
//! The extents are those of an array; a block of an archive is a part of it, so that a block is taken as that many whole planes, as that many rows of a
//! plane, or as a piece of a row: whichever its length says.
//!
//! ```
//! use warpack::lorenzo::{Lorenzo, zigzag};
//! use warpack::stage::{Stage, clog, lc, lorenzo, zigzag::Zigzag};
//! use warpack::{CompressOptions, ElementType, WordSize};
//! use std::sync::Arc;
//! let plain: Vec<u8> = (0..100_000i32).flat_map(|i| (i / 7 * 13).to_le_bytes()).collect();
//! let differences = Lorenzo::builder(ElementType::I32).block_size(1024).build()?;
//! let clog = clog::Settings { word: WordSize::W4, ..Default::default() };
//! let stages: Arc<[Box<dyn Stage>]> = Arc::new([
//!     Box::new(lorenzo::stage(differences)),
//!     Box::new(Zigzag::new(WordSize::W4)),
//!     Box::new(lc::Family::<clog::Clog>::new(clog)),
//! ]);
//! let options = CompressOptions { stages, element: ElementType::I32, ..Default::default() };
//! let archive = warpack::compress(&plain, &options)?;
//! assert!(archive.len() < plain.len() / 4);
//! assert_eq!(warpack::decompress(&archive, &Default::default())?, plain);
//! # Ok::<(), warpack::Error>(())
//! ```

#![forbid(unsafe_code)]

use super::predictor::{BlockPredictor, Predicting};
use super::{Entry, Options};
use crate::Result;
use crate::lorenzo::Lorenzo;

/// The row of `lorenzo` in the table of stages.
pub static ENTRY: Entry = Entry {
    name: "lorenzo",
    id: 32,
    about: "differences to neighbours: within segments of a line, or along all axes",
    settings: &["element", "block_size", "order", "centering", "extents"],
    alone: false,
    from_options: |options| Ok(Box::new(stage(from_options(options)?))),
    from_record: |record| Ok(Box::new(stage(Lorenzo::from_record(record)?))),
};

/// The stage of a predictor.
pub fn stage(lorenzo: Lorenzo) -> Predicting<Lorenzo> {
    Predicting::new(lorenzo)
}

fn from_options(options: &Options) -> Result<Lorenzo> {
    Lorenzo::builder(options.element(ENTRY.name)?)
        .extents(options.extents.unwrap_or_default())
        .block_size(options.block_size.unwrap_or_default())
        .order(options.order.unwrap_or(1))
        .centering(options.centering.unwrap_or_default())
        .build()
}

impl BlockPredictor for Lorenzo {
    fn entry() -> &'static Entry {
        &ENTRY
    }

    fn for_block(&self, plain_bytes: u64) -> Result<Self> {
        self.of_block(plain_bytes)
    }
}

// The numbers are in both places: a record is made where the settings are.
#[cfg(test)]
#[test]
fn records_have_the_number_of_the_row() {
    use crate::lorenzo::Predictor;
    let lorenzo = Lorenzo::builder(crate::ElementType::I8).build().unwrap();
    assert_eq!((lorenzo.record().id, lorenzo.name()), (ENTRY.id, ENTRY.name));
}
