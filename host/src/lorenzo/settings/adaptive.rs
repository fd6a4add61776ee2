//! The settings of `adaptive_lorenzo`.

#![forbid(unsafe_code)]

use super::super::cpu;
use super::super::ports::{PortBytes, PortsMut, PortsRef, Predictor, elements, expect};
use super::{element, settings, switch};
use crate::stage::Record;
use crate::{ElementType, Error, Result};

const STAGE: &str = "adaptive_lorenzo";
const ID: u16 = 33;
const RECORD_BYTES: usize = 5;

/// Elements of a block of the coder that the costs are those of.
const CODER_BLOCK: u32 = 32;
const MAX_BLOCKS_PER_TILE: u64 = 32;

/// What a candidate is taken to cost. A decoder does not need to know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Policy {
    /// The bit planes of each coder block.
    #[default]
    Plain,
    /// Likewise, or those of all but the block's first element, and that element by itself.
    Outlier,
}

impl Policy {
    /// `plain` or `outlier`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Outlier => "outlier",
        }
    }

    /// The policy called `name`, if there is one.
    pub fn by_name(name: &str) -> Option<Self> {
        [Self::Plain, Self::Outlier].into_iter().find(|policy| policy.name() == name)
    }
}

/// `adaptive_lorenzo` with checked settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AdaptiveLorenzo {
    element: ElementType,
    blocks_per_tile: u32,
    order2: bool,
    centering: bool,
    policy: Policy,
}

/// What was asked of `adaptive_lorenzo` so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AdaptiveBuilder {
    element: ElementType,
    blocks_per_tile: u64,
    order2: bool,
    centering: bool,
    policy: Policy,
}

impl AdaptiveBuilder {
    /// Coder blocks of 32 elements that make a tile, 1 to 32; 8 where nothing is asked.
    #[must_use]
    pub fn blocks_per_tile(self, blocks_per_tile: u64) -> Self {
        Self { blocks_per_tile, ..self }
    }

    /// Whether a tile may have order 2; it may where nothing is asked.
    #[must_use]
    pub fn enable_order2(self, order2: bool) -> Self {
        Self { order2, ..self }
    }

    /// Whether a tile may be centered; it may where nothing is asked.
    #[must_use]
    pub fn enable_centering(self, centering: bool) -> Self {
        Self { centering, ..self }
    }

    /// What a candidate is taken to cost.
    #[must_use]
    pub fn policy(self, policy: Policy) -> Self {
        Self { policy, ..self }
    }

    /// The predictor.
    ///
    /// # Errors
    /// [`Error::StageElement`] for elements other than i16 and i32, [`Error::Setting`] for a number of blocks that no tile has.
    pub fn build(self) -> Result<AdaptiveLorenzo> {
        let Self { element, blocks_per_tile, order2, centering, policy } = self;
        if !matches!(element, ElementType::I16 | ElementType::I32) {
            return Err(Error::StageElement { stage: STAGE, found: element.name(), allowed: "i16 and i32" });
        }
        if !(1..=MAX_BLOCKS_PER_TILE).contains(&blocks_per_tile) {
            let found = blocks_per_tile;
            return Err(Error::Setting { stage: STAGE, setting: "number of blocks per tile", found, allowed: "1 to 32" });
        }
        Ok(AdaptiveLorenzo { element, blocks_per_tile: blocks_per_tile as u32, order2, centering, policy })
    }
}

impl AdaptiveLorenzo {
    /// Starts from tiles of 8 blocks, all candidates and the plain costs.
    pub fn builder(element: ElementType) -> AdaptiveBuilder {
        AdaptiveBuilder { element, blocks_per_tile: 8, order2: true, centering: true, policy: Policy::Plain }
    }

    /// Coder blocks of a tile.
    pub const fn blocks_per_tile(&self) -> u32 {
        self.blocks_per_tile
    }

    /// Elements of a tile; the last one may be shorter.
    pub const fn tile_elements(&self) -> u32 {
        self.blocks_per_tile * CODER_BLOCK
    }

    /// Whether a tile may have order 2.
    pub const fn enable_order2(&self) -> bool {
        self.order2
    }

    /// Whether a tile may be centered.
    pub const fn enable_centering(&self) -> bool {
        self.centering
    }

    /// What a candidate is taken to cost.
    pub const fn policy(&self) -> Policy {
        self.policy
    }

    /// The predictor that a record describes.
    ///
    /// # Errors
    /// [`Error::RecordStage`], [`Error::RecordVersion`], [`Error::RecordLength`], [`Error::ElementType`], and what [`AdaptiveBuilder::build`] says.
    pub fn from_record(record: &Record) -> Result<Self> {
        let &[code, blocks_per_tile, order2, centering, policy]: &[u8; RECORD_BYTES] = settings(STAGE, ID, record)?;
        let policy = if switch(STAGE, "policy", policy)? { Policy::Outlier } else { Policy::Plain };
        Self::builder(element(code)?)
            .blocks_per_tile(blocks_per_tile.into())
            .enable_order2(switch(STAGE, "order 2", order2)?)
            .enable_centering(switch(STAGE, "centering", centering)?)
            .policy(policy)
            .build()
    }

    fn tiles(&self, plain_bytes: u64) -> Result<u64> {
        elements(self.element, plain_bytes).map(|elements| elements.div_ceil(self.tile_elements().into()))
    }
}

impl Predictor for AdaptiveLorenzo {
    fn name(&self) -> &'static str {
        STAGE
    }

    fn element(&self) -> ElementType {
        self.element
    }

    /// | offset | size | field |
    /// |---|---|---|
    /// | 0 | 1 | element type, as in an archive's header |
    /// | 1 | 1 | blocks per tile: 1 to 32 |
    /// | 2 | 1 | order 2 was allowed: 0 or 1 |
    /// | 3 | 1 | centering was allowed: 0 or 1 |
    /// | 4 | 1 | policy: 0 plain, 1 outlier |
    fn record(&self) -> Record {
        let policy = u8::from(self.policy == Policy::Outlier);
        let settings = [self.element.code(), self.blocks_per_tile as u8, self.order2.into(), self.centering.into(), policy];
        Record { id: ID, version: super::VERSION, settings: settings.to_vec() }
    }

    fn describe(&self) -> String {
        let order2 = if self.order2 { ", order 1 or 2" } else { ", order 1" };
        let centering = if self.centering { ", centered or not" } else { "" };
        let policy = self.policy.name();
        format!("{STAGE} of {}, tiles of {}{order2}{centering}, {policy} costs", self.element, self.tile_elements())
    }

    fn port_bytes(&self, plain_bytes: u64) -> Result<PortBytes> {
        let tiles = self.tiles(plain_bytes)?;
        let means = if self.centering { tiles * self.element.bytes() } else { 0 };
        Ok(PortBytes { output: plain_bytes, means, modes: tiles.div_ceil(4) })
    }

    fn forward_into(&self, plain: &[u8], ports: PortsMut<'_>) -> Result<PortBytes> {
        let bytes = self.port_bytes(plain.len() as u64)?;
        let centered = cpu::adaptive_forward(self, plain, bytes.cut(ports)?);
        Ok(PortBytes { means: centered * self.element.bytes(), ..bytes })
    }

    fn inverse_into(&self, ports: PortsRef<'_>, plain: &mut [u8]) -> Result<()> {
        let bytes = self.port_bytes(plain.len() as u64)?;
        expect("output", ports.output, bytes.output)?;
        expect("modes", ports.modes, bytes.modes)?;
        // The last byte's bits that belong to no tile.
        let used = 2 * (self.tiles(plain.len() as u64)? % 4);
        if let (1.., Some(last)) = (used, ports.modes.last())
            && last >> used != 0
        {
            return Err(Error::Padding { offset: bytes.modes - 1 });
        }
        let centered: u64 = ports.modes.iter().map(|modes| u64::from((modes & 0xAA).count_ones())).sum();
        expect("means", ports.means, centered * self.element.bytes())?;
        cpu::adaptive_inverse(self, ports, plain);
        Ok(())
    }
}
