//! The settings of `tiled_lorenzo`.

#![forbid(unsafe_code)]

use super::super::cpu;
use super::super::ports::{PortBytes, PortsMut, PortsRef, Predictor, elements, expect};
use super::{block_extents, element, is_integer, make, read_extents, settings, write_extents};
use crate::stage::Record;
use crate::{ElementType, Error, Result};

const STAGE: &str = "tiled_lorenzo";
const ID: u16 = 34;
const RECORD_BYTES: usize = 28;

const MAX_TILE_EXTENT: u64 = 255;
const MAX_TILE_ELEMENTS: u64 = 1024;

/// `tiled_lorenzo` with checked settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TiledLorenzo {
    element: ElementType,
    /// All 0 where none were given: then the array is one line.
    extents: [u64; 3],
    tile: [u8; 3],
}

/// What was asked of `tiled_lorenzo` so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TiledBuilder {
    element: ElementType,
    extents: [u64; 3],
    tile: [u64; 3],
}

impl TiledBuilder {
    /// The array's elements along x (the fast axis), y and z; a 0 for y or z counts as 1. Without any, and where x has 0, the array is one line.
    #[must_use]
    pub fn extents(self, extents: [u64; 3]) -> Self {
        Self { extents, ..self }
    }

    /// A tile's elements along x, y and z, each up to 255 and 1024 together; a 0 counts as 1. Where all are 0 or none were given: 4, 4, 4 for three axes,
    /// 8, 8 for two, 64 for one.
    #[must_use]
    pub fn tile(self, tile: [u64; 3]) -> Self {
        Self { tile, ..self }
    }

    /// The predictor.
    ///
    /// # Errors
    /// [`Error::StageElement`] for elements that are no integers of 16 or 32 bits, [`Error::Setting`] for a tile that is too large.
    pub fn build(self) -> Result<TiledLorenzo> {
        let Self { element, extents: [nx, ny, nz], tile } = self;
        if !is_integer(element) || !matches!(element.bytes(), 2 | 4) {
            let allowed = "integers of 16 and 32 bits";
            return Err(Error::StageElement { stage: STAGE, found: element.name(), allowed });
        }
        let extents = if nx == 0 { [0; 3] } else { [nx, ny.max(1), nz.max(1)] };
        let tile = match tile {
            [0, 0, 0] if extents[2] > 1 => [4, 4, 4],
            [0, 0, 0] if extents[1] > 1 => [8, 8, 1],
            [0, 0, 0] => [64, 1, 1],
            tile => tile.map(|extent| extent.max(1)),
        };
        if let Some(found) = tile.into_iter().find(|extent| *extent > MAX_TILE_EXTENT) {
            return Err(Error::Setting { stage: STAGE, setting: "extent of a tile", found, allowed: "1 to 255" });
        }
        let found: u64 = tile.iter().product();
        if found > MAX_TILE_ELEMENTS {
            let setting = "number of elements in a tile";
            return Err(Error::Setting { stage: STAGE, setting, found, allowed: "1 to 1024" });
        }
        Ok(TiledLorenzo { element, extents, tile: tile.map(|extent| extent as u8) })
    }
}

impl TiledLorenzo {
    /// Starts from an array of one line.
    pub fn builder(element: ElementType) -> TiledBuilder {
        TiledBuilder { element, extents: [0; 3], tile: [0; 3] }
    }

    /// Elements along x, y and z, if they were given.
    pub fn extents(&self) -> Option<[u64; 3]> {
        (self.extents != [0; 3]).then_some(self.extents)
    }

    /// A tile's elements along x, y and z.
    pub const fn tile(&self) -> [u8; 3] {
        self.tile
    }

    /// The same tiles for `plain_bytes` of the array, which are so many whole planes, rows of a plane or elements of a row as the length says.
    ///
    /// # Errors
    /// [`Error::PartialElement`], and [`Error::Extents`] where the length is none of these.
    pub fn of_block(&self, plain_bytes: u64) -> Result<Self> {
        let found = elements(self.element, plain_bytes)?;
        let Some(extents) = self.extents() else { return Ok(*self) };
        let block = match found {
            0 => [0; 3],
            _ => block_extents(extents, found).ok_or(Error::Extents { extents, found })?,
        };
        Ok(Self { extents: block, ..*self })
    }

    /// The predictor that a record describes.
    ///
    /// # Errors
    /// [`Error::RecordStage`], [`Error::RecordVersion`], [`Error::RecordLength`], [`Error::ElementType`], [`Error::Reserved`] for a number that a writer would not have
    /// chosen, and what [`TiledBuilder::build`] says.
    pub fn from_record(record: &Record) -> Result<Self> {
        let bytes: &[u8; RECORD_BYTES] = settings(STAGE, ID, record)?;
        let tile = [bytes[1], bytes[2], bytes[3]].map(u64::from);
        let this = Self::builder(element(bytes[0])?).tile(tile).extents(read_extents(&bytes[4..])).build()?;
        // One record for one predictor: no byte is free to differ.
        let expected = this.record().settings;
        match (0..RECORD_BYTES).find(|&at| bytes[at] != expected[at]) {
            None => Ok(this),
            Some(at) => Err(Error::Reserved { field: "settings of tiled_lorenzo", offset: at as u64, found: bytes[at].into() }),
        }
    }

    /// The extents of an array of `plain_bytes`, if the predictor takes it.
    fn shape(&self, plain_bytes: u64) -> Result<[u64; 3]> {
        let found = elements(self.element, plain_bytes)?;
        match self.extents() {
            None => Ok([found, 1, 1]),
            Some(extents) if make(extents, found) => Ok(extents),
            Some(extents) => Err(Error::Extents { extents, found }),
        }
    }
}

impl Predictor for TiledLorenzo {
    fn name(&self) -> &'static str {
        STAGE
    }

    fn element(&self) -> ElementType {
        self.element
    }

    /// | offset | size | field |
    /// |---|---|---|
    /// | 0 | 1 | element type, as in an archive's header |
    /// | 1 | 1 each | a tile's extents along x, y and z: 1 to 255 |
    /// | 4 | 8 each | the array's extents along x, y and z; all 0 where none were given |
    fn record(&self) -> Record {
        let mut settings = vec![self.element.code()];
        settings.extend_from_slice(&self.tile);
        settings.extend(write_extents(self.extents));
        Record { id: ID, version: super::VERSION, settings }
    }

    fn describe(&self) -> String {
        let ([tx, ty, tz], element) = (self.tile, self.element);
        match self.extents {
            [0, ..] => format!("{STAGE} of {element}, tiles of {tz}x{ty}x{tx}"),
            [nx, ny, nz] => format!("{STAGE} of {element}, {nz}x{ny}x{nx} in tiles of {tz}x{ty}x{tx}"),
        }
    }

    fn port_bytes(&self, plain_bytes: u64) -> Result<PortBytes> {
        let shape = self.shape(plain_bytes)?;
        let mut whole = shape.iter().zip(self.tile).map(|(extent, tile)| extent.checked_next_multiple_of(tile.into()));
        let bytes = whole.try_fold(self.element.bytes(), |bytes, extent| bytes.checked_mul(extent?));
        // So that no later sum of such lengths overflows.
        let output = bytes.filter(|bytes| *bytes <= i64::MAX as u64);
        let output = output.ok_or(Error::TooLong { bytes: plain_bytes, max: i64::MAX as u64 / MAX_TILE_ELEMENTS })?;
        Ok(PortBytes { output, means: 0, modes: 0 })
    }

    fn forward_into(&self, plain: &[u8], ports: PortsMut<'_>) -> Result<PortBytes> {
        let shape = self.shape(plain.len() as u64)?;
        let bytes = self.port_bytes(plain.len() as u64)?;
        cpu::tiled_forward(self.element, shape, self.tile, plain, bytes.cut(ports)?.output);
        Ok(bytes)
    }

    fn inverse_into(&self, ports: PortsRef<'_>, plain: &mut [u8]) -> Result<()> {
        let shape = self.shape(plain.len() as u64)?;
        let bytes = self.port_bytes(plain.len() as u64)?;
        expect("output", ports.output, bytes.output)?;
        expect("means", ports.means, 0)?;
        expect("modes", ports.modes, 0)?;
        cpu::tiled_inverse(self.element, shape, self.tile, ports.output, plain);
        Ok(())
    }
}
