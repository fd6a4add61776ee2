//! The settings of `lorenzo`.

#![forbid(unsafe_code)]

use super::super::cpu;
use super::super::ports::{PortBytes, PortsMut, PortsRef, Predictor, elements, expect};
use super::{block_extents, element, is_integer, is_signed, make, read_extents, settings, switch, write_extents};
use crate::stage::Record;
use crate::{ElementType, Error, Result};

const STAGE: &str = "lorenzo";
const ID: u16 = 32;
const RECORD_BYTES: usize = 32;

/// The most elements of a segment.
pub const MAX_BLOCK_SIZE: u32 = 1024;
/// Elements of a segment where neither a block size nor extents are given. The format says so.
pub const DEFAULT_BLOCK_SIZE: u32 = 256;

/// How many times differences are taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Order {
    /// Once.
    #[default]
    First,
    /// Twice.
    Second,
}

impl Order {
    /// 1 or 2.
    pub const fn number(self) -> u8 {
        match self {
            Self::First => 1,
            Self::Second => 2,
        }
    }
}

/// Which formula runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mode {
    /// First differences in segments of [`DEFAULT_BLOCK_SIZE`] elements.
    Default,
    /// Differences in segments of the array.
    Block(Segments),
    /// Differences along all axes.
    Grid {
        /// Elements along x (the fast axis), y and z.
        extents: [u64; 3],
    },
}

/// Segments that know nothing of each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Segments {
    block_size: u32,
    order: Order,
    centering: bool,
}

impl Segments {
    /// What the mode without settings has.
    pub(in crate::lorenzo) const DEFAULT: Self = Self { block_size: DEFAULT_BLOCK_SIZE, order: Order::First, centering: false };

    /// Elements of a segment, 1 to [`MAX_BLOCK_SIZE`]; the last one may be shorter.
    pub const fn block_size(self) -> u32 {
        self.block_size
    }

    /// How many times differences are taken.
    pub const fn order(self) -> Order {
        self.order
    }

    /// Whether each segment's mean is taken off first and stored.
    pub const fn centering(self) -> bool {
        self.centering
    }
}

/// `lorenzo` with checked settings.
///
/// Two of them are equal exactly where they make the same of every input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Lorenzo {
    element: ElementType,
    mode: Mode,
}

/// What was asked of `lorenzo` so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Builder {
    element: ElementType,
    extents: [u64; 3],
    block_size: u64,
    order: u64,
    centering: bool,
}

impl Builder {
    /// The array's elements along x (the fast axis), y and z. They choose the formula where no block size is given: 3-D if z is more than 1,
    /// 2-D if y is; a 0 of these counts as 1. Otherwise they are not looked at.
    #[must_use]
    pub fn extents(self, extents: [u64; 3]) -> Self {
        Self { extents, ..self }
    }

    /// Elements of a segment, 1 to 1024; 0 is the same as not to ask.
    #[must_use]
    pub fn block_size(self, block_size: u64) -> Self {
        Self { block_size, ..self }
    }

    /// How many times differences are taken: 1 (what comes unasked) or 2.
    #[must_use]
    pub fn order(self, order: u64) -> Self {
        Self { order, ..self }
    }

    /// Whether each segment's mean is taken off first and stored.
    #[must_use]
    pub fn centering(self, centering: bool) -> Self {
        Self { centering, ..self }
    }

    /// The predictor.
    ///
    /// # Errors
    /// [`Error::StageElement`] for elements that are no integers, and for unsigned ones with centering; [`Error::Setting`] for a block size or an order
    /// that there is not; [`Error::SettingNeeds`] for order 2 or centering without a block size.
    pub fn build(self) -> Result<Lorenzo> {
        let Self { element, extents: [nx, ny, nz], block_size, order, centering } = self;
        if !is_integer(element) {
            return Err(Error::StageElement { stage: STAGE, found: element.name(), allowed: "integers" });
        }
        let order = match order {
            1 => Order::First,
            2 => Order::Second,
            found => return Err(Error::Setting { stage: STAGE, setting: "order", found, allowed: "1 and 2" }),
        };
        if block_size > MAX_BLOCK_SIZE.into() {
            return Err(Error::Setting { stage: STAGE, setting: "block size", found: block_size, allowed: "1 to 1024" });
        }
        if block_size == 0 {
            let needs = |setting| Error::SettingNeeds { stage: STAGE, setting, needs: "a block size" };
            if order == Order::Second {
                return Err(needs("order 2"));
            }
            if centering {
                return Err(needs("centering"));
            }
        }
        if centering && !is_signed(element) {
            return Err(Error::StageElement { stage: STAGE, found: element.name(), allowed: "signed integers, if centered" });
        }
        let mode = match block_size {
            0 if ny > 1 || nz > 1 => Mode::Grid { extents: [nx, ny.max(1), nz.max(1)] },
            0 => Mode::Default,
            _ => Mode::Block(Segments { block_size: block_size as u32, order, centering }),
        };
        Ok(Lorenzo { element, mode })
    }
}

impl Lorenzo {
    /// Starts from the default mode: first differences, anew after every 256 elements.
    pub fn builder(element: ElementType) -> Builder {
        Builder { element, extents: [0, 1, 1], block_size: 0, order: 1, centering: false }
    }

    /// Which formula runs.
    pub const fn mode(&self) -> Mode {
        self.mode
    }

    /// The segments that are taken differences of, in all modes but [`Mode::Grid`].
    pub const fn segments(&self) -> Option<Segments> {
        match self.mode {
            Mode::Default => Some(Segments::DEFAULT),
            Mode::Block(segments) => Some(segments),
            Mode::Grid { .. } => None,
        }
    }

    /// The same formula for `plain_bytes` of the array. In 2-D and 3-D these are so many whole planes, rows of a plane or elements of a row as the length says;
    /// there is no restart in any of them.
    ///
    /// # Errors
    /// [`Error::PartialElement`], and [`Error::Extents`] where the length is none of these.
    pub fn of_block(&self, plain_bytes: u64) -> Result<Self> {
        let found = elements(self.element, plain_bytes)?;
        let Mode::Grid { extents } = self.mode else { return Ok(*self) };
        if found == 0 {
            return Ok(*self);
        }
        let block = block_extents(extents, found).ok_or(Error::Extents { extents, found })?;
        Ok(Self { mode: Mode::Grid { extents: block }, ..*self })
    }

    /// The predictor that a record describes.
    ///
    /// # Errors
    /// [`Error::RecordStage`], [`Error::RecordVersion`], [`Error::RecordLength`], [`Error::ElementType`], [`Error::Reserved`] where what must be 0 is not,
    /// and what [`Builder::build`] says.
    pub fn from_record(record: &Record) -> Result<Self> {
        let bytes: &[u8; RECORD_BYTES] = settings(STAGE, ID, record)?;
        let block_size = u32::from_le_bytes([bytes[4], bytes[5], bytes[6], bytes[7]]);
        let extents = read_extents(&bytes[8..]);
        let centering = switch(STAGE, "centering", bytes[2])?;
        let builder = Self::builder(element(bytes[0])?).block_size(block_size.into()).extents(extents);
        let this = builder.order(bytes[1].into()).centering(centering).build()?;
        // One record for one predictor: no byte is free to differ.
        let expected = this.record().settings;
        match (0..RECORD_BYTES).find(|&at| bytes[at] != expected[at]) {
            None => Ok(this),
            Some(at) => Err(Error::Reserved { field: "settings of lorenzo", offset: at as u64, found: bytes[at].into() }),
        }
    }

    /// Elements of `plain_bytes`, if the predictor takes that many.
    fn elements(&self, plain_bytes: u64) -> Result<u64> {
        let found = elements(self.element, plain_bytes)?;
        match self.mode {
            // Nothing is something to all extents.
            Mode::Grid { extents } if found > 0 && !make(extents, found) => Err(Error::Extents { extents, found }),
            _ => Ok(found),
        }
    }
}

impl Predictor for Lorenzo {
    fn name(&self) -> &'static str {
        STAGE
    }

    fn element(&self) -> ElementType {
        self.element
    }

    /// | offset | size | field |
    /// |---|---|---|
    /// | 0 | 1 | element type, as in an archive's header |
    /// | 1 | 1 | order: 1 or 2 |
    /// | 2 | 1 | centering: 0 or 1 |
    /// | 3 | 1 | must be 0 |
    /// | 4 | 4 | block size, 0 where none was given |
    /// | 8 | 24 | extents along x, y and z; all 0 except in 2-D and 3-D |
    fn record(&self) -> Record {
        let (segments, extents) = match self.mode {
            Mode::Default => (Segments { block_size: 0, ..Segments::DEFAULT }, [0; 3]),
            Mode::Block(segments) => (segments, [0; 3]),
            Mode::Grid { extents } => (Segments { block_size: 0, ..Segments::DEFAULT }, extents),
        };
        let mut settings = vec![self.element.code(), segments.order.number(), segments.centering.into(), 0];
        settings.extend_from_slice(&segments.block_size.to_le_bytes());
        settings.extend(write_extents(extents));
        Record { id: ID, version: super::VERSION, settings }
    }

    fn describe(&self) -> String {
        let element = self.element;
        match self.mode {
            Mode::Default => format!("{STAGE} of {element}, anew after every {DEFAULT_BLOCK_SIZE}"),
            Mode::Block(Segments { block_size, order, centering }) => {
                let centered = if centering { ", centered" } else { "" };
                format!("{STAGE} of {element}, order {} in blocks of {block_size}{centered}", order.number())
            }
            Mode::Grid { extents: [nx, ny, 1] } => format!("{STAGE} of {element}, {ny}x{nx}"),
            Mode::Grid { extents: [nx, ny, nz] } => format!("{STAGE} of {element}, {nz}x{ny}x{nx}"),
        }
    }

    fn port_bytes(&self, plain_bytes: u64) -> Result<PortBytes> {
        let elements = self.elements(plain_bytes)?;
        let means = match self.mode {
            Mode::Block(Segments { block_size, centering: true, .. }) => elements.div_ceil(block_size.into()),
            _ => 0,
        };
        Ok(PortBytes { output: plain_bytes, means: means * self.element.bytes(), modes: 0 })
    }

    fn forward_into(&self, plain: &[u8], ports: PortsMut<'_>) -> Result<PortBytes> {
        let bytes = self.port_bytes(plain.len() as u64)?;
        let PortsMut { output, means, .. } = bytes.cut(ports)?;
        match (self.segments(), self.mode) {
            (Some(segments), _) => cpu::segments_forward(self.element, segments, plain, output, means),
            (None, Mode::Grid { extents }) if !plain.is_empty() => cpu::grid_forward(self.element, extents, plain, output),
            _ => {}
        }
        Ok(bytes)
    }

    fn inverse_into(&self, ports: PortsRef<'_>, plain: &mut [u8]) -> Result<()> {
        let bytes = self.port_bytes(plain.len() as u64)?;
        expect("output", ports.output, bytes.output)?;
        expect("means", ports.means, bytes.means)?;
        expect("modes", ports.modes, bytes.modes)?;
        match (self.segments(), self.mode) {
            (Some(segments), _) => cpu::segments_inverse(self.element, segments, ports.output, ports.means, plain),
            (None, Mode::Grid { extents }) if !plain.is_empty() => {
                cpu::grid_inverse(self.element, extents, ports.output, plain)
            }
            _ => {}
        }
        Ok(())
    }
}
