//! Tiled Lorenzo: differences within small tiles, one tile after another. See [`crate::lorenzo`].
//!
//! The extents are those of an array; how a block of an archive is taken is said in [`super::lorenzo`].

#![forbid(unsafe_code)]

use super::predictor::{BlockPredictor, Predicting};
use super::{Entry, Options};
use crate::Result;
use crate::lorenzo::TiledLorenzo;

/// The row of `tiled_lorenzo` in the table of stages.
pub static ENTRY: Entry = Entry {
    name: "tiled_lorenzo",
    id: 34,
    about: "differences within small tiles, one tile after another",
    settings: &["element", "extents", "tile"],
    alone: false,
    from_options: |options| Ok(Box::new(stage(from_options(options)?))),
    from_record: |record| Ok(Box::new(stage(TiledLorenzo::from_record(record)?))),
};

/// The stage of a predictor.
pub fn stage(lorenzo: TiledLorenzo) -> Predicting<TiledLorenzo> {
    Predicting::new(lorenzo)
}

fn from_options(options: &Options) -> Result<TiledLorenzo> {
    let builder = TiledLorenzo::builder(options.element(ENTRY.name)?);
    builder.extents(options.extents.unwrap_or_default()).tile(options.tile.unwrap_or_default()).build()
}

impl BlockPredictor for TiledLorenzo {
    fn entry() -> &'static Entry {
        &ENTRY
    }

    fn for_block(&self, plain_bytes: u64) -> Result<Self> {
        self.of_block(plain_bytes)
    }
}

#[cfg(test)]
#[test]
fn records_have_the_number_of_the_row() {
    use crate::lorenzo::Predictor;
    let lorenzo = TiledLorenzo::builder(crate::ElementType::I16).build().unwrap();
    assert_eq!((lorenzo.record().id, lorenzo.name()), (ENTRY.id, ENTRY.name));
}
