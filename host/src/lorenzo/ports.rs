//! What goes into a predictor's inverse and comes out of its forward direction.

#![forbid(unsafe_code)]

use crate::stage::Record;
use crate::{ElementType, Error, Result};
use std::fmt::Debug;

/// The ports' bytes. A predictor leaves those empty that it does not have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ports {
    /// Residuals.
    pub output: Vec<u8>,
    /// Means.
    pub means: Vec<u8>,
    /// Choices, 2 bits each.
    pub modes: Vec<u8>,
}

impl Ports {
    /// The ports to be read.
    pub fn as_ref(&self) -> PortsRef<'_> {
        PortsRef { output: &self.output, means: &self.means, modes: &self.modes }
    }
}

/// Ports to be read.
#[derive(Clone, Copy, Debug, Default)]
pub struct PortsRef<'a> {
    /// Residuals.
    pub output: &'a [u8],
    /// Means.
    pub means: &'a [u8],
    /// Choices, 2 bits each.
    pub modes: &'a [u8],
}

/// Room for ports; what is more than needed stays as it is.
#[derive(Debug, Default)]
pub struct PortsMut<'a> {
    /// Residuals.
    pub output: &'a mut [u8],
    /// Means.
    pub means: &'a mut [u8],
    /// Choices, 2 bits each.
    pub modes: &'a mut [u8],
}

/// The ports' lengths in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortBytes {
    /// Bytes of `output`.
    pub output: u64,
    /// Bytes of `means`.
    pub means: u64,
    /// Bytes of `modes`.
    pub modes: u64,
}

impl PortBytes {
    /// Bytes of all ports together, as they follow each other.
    pub fn total(self) -> u64 {
        self.output.saturating_add(self.means).saturating_add(self.modes)
    }

    /// The room in `ports` that is needed, or the port that is too small.
    pub(super) fn cut(self, ports: PortsMut<'_>) -> Result<PortsMut<'_>> {
        fn cut<'a>(port: &'a mut [u8], need: u64, buffer: &'static str) -> Result<&'a mut [u8]> {
            let have = port.len() as u64;
            let room = usize::try_from(need).ok().and_then(|need| port.get_mut(..need));
            room.ok_or(Error::BufferTooSmall { buffer, need, have })
        }
        Ok(PortsMut {
            output: cut(ports.output, self.output, "output")?,
            means: cut(ports.means, self.means, "means")?,
            modes: cut(ports.modes, self.modes, "modes")?,
        })
    }
}

/// A port has the length that it must have.
pub(super) fn expect(port: &'static str, found: &[u8], expected: u64) -> Result<()> {
    let found = found.len() as u64;
    if found == expected { Ok(()) } else { Err(Error::PortLength { port, found, expected }) }
}

/// Elements of `bytes` bytes.
pub(super) fn elements(element: ElementType, bytes: u64) -> Result<u64> {
    let element_bytes = element.bytes();
    if bytes.is_multiple_of(element_bytes) {
        Ok(bytes / element_bytes)
    } else {
        Err(Error::PartialElement { bytes, element_bytes })
    }
}

/// A predictor with checked settings. All sizes are in bytes, slices may begin at any address.
pub trait Predictor: Debug + Send + Sync {
    /// The name of the stage.
    fn name(&self) -> &'static str;

    /// The type of the elements.
    fn element(&self) -> ElementType;

    /// The settings as an archive stores them.
    fn record(&self) -> Record;

    /// The predictor and its settings in words, for people.
    fn describe(&self) -> String;

    /// How long the ports of `plain_bytes` are. `adaptive_lorenzo` may need fewer bytes of `means` than it says here: how many depends on the data.
    ///
    /// # Errors
    /// [`Error::PartialElement`], [`Error::Extents`] and [`Error::TooLong`], where the predictor does not take that many bytes.
    fn port_bytes(&self, plain_bytes: u64) -> Result<PortBytes>;

    /// Writes the ports of `plain` to the front of `ports`, and says how long they are.
    ///
    /// # Errors
    /// As [`Predictor::port_bytes`]; [`Error::BufferTooSmall`] where `ports` is not as large as that says.
    fn forward_into(&self, plain: &[u8], ports: PortsMut<'_>) -> Result<PortBytes>;

    /// Writes what `ports` were made from to `plain`.
    ///
    /// # Errors
    /// As [`Predictor::port_bytes`]; [`Error::PortLength`] and [`Error::Padding`] where no array of that length has such ports.
    fn inverse_into(&self, ports: PortsRef<'_>, plain: &mut [u8]) -> Result<()>;

    /// The ports of `plain`.
    ///
    /// # Errors
    /// As [`Predictor::port_bytes`].
    fn forward(&self, plain: &[u8]) -> Result<Ports> {
        let bytes = self.port_bytes(plain.len() as u64)?;
        let room = |bytes: u64| {
            let max = isize::MAX as u64;
            if bytes > max { Err(Error::TooLong { bytes, max }) } else { Ok(vec![0; bytes as usize]) }
        };
        let mut ports = Ports { output: room(bytes.output)?, means: room(bytes.means)?, modes: room(bytes.modes)? };
        let Ports { output, means, modes } = &mut ports;
        let used = self.forward_into(plain, PortsMut { output, means, modes })?;
        ports.means.truncate(used.means as usize);
        Ok(ports)
    }

    /// The `plain_bytes` bytes that `ports` were made from.
    ///
    /// # Errors
    /// As [`Predictor::inverse_into`].
    fn inverse(&self, ports: PortsRef<'_>, plain_bytes: u64) -> Result<Vec<u8>> {
        // Before anything is allocated: `output` is never shorter than the plain bytes.
        expect("output", ports.output, self.port_bytes(plain_bytes)?.output)?;
        let mut plain = vec![0; plain_bytes as usize];
        self.inverse_into(ports, &mut plain)?;
        Ok(plain)
    }
}
