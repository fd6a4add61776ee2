//! Adaptive Lorenzo: differences of the order, and with the centering, that suit each tile. See [`crate::lorenzo`].

#![forbid(unsafe_code)]

use super::predictor::{BlockPredictor, Predicting};
use super::{Entry, Options};
use crate::Result;
use crate::lorenzo::AdaptiveLorenzo;

/// The row of `adaptive_lorenzo` in the table of stages.
pub static ENTRY: Entry = Entry {
    name: "adaptive_lorenzo",
    id: 33,
    about: "differences of the order, and with the centering, that suit each tile",
    settings: &["element", "blocks_per_tile", "order2", "centering", "policy"],
    alone: false,
    from_options: |options| Ok(Box::new(stage(from_options(options)?))),
    from_record: |record| Ok(Box::new(stage(AdaptiveLorenzo::from_record(record)?))),
};

/// The stage of a predictor.
pub fn stage(lorenzo: AdaptiveLorenzo) -> Predicting<AdaptiveLorenzo> {
    Predicting::new(lorenzo)
}

fn from_options(options: &Options) -> Result<AdaptiveLorenzo> {
    let mut builder = AdaptiveLorenzo::builder(options.element(ENTRY.name)?).policy(options.policy.unwrap_or_default());
    if let Some(blocks_per_tile) = options.blocks_per_tile {
        builder = builder.blocks_per_tile(blocks_per_tile);
    }
    builder.enable_order2(options.order2.unwrap_or(true)).enable_centering(options.centering.unwrap_or(true)).build()
}

impl BlockPredictor for AdaptiveLorenzo {
    fn entry() -> &'static Entry {
        &ENTRY
    }

    fn for_block(&self, _: u64) -> Result<Self> {
        Ok(*self)
    }
}

#[cfg(test)]
#[test]
fn records_have_the_number_of_the_row() {
    use crate::lorenzo::Predictor;
    let lorenzo = AdaptiveLorenzo::builder(crate::ElementType::I16).build().unwrap();
    assert_eq!((lorenzo.record().id, lorenzo.name()), (ENTRY.id, ENTRY.name));
}
