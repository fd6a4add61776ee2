//! Predictors as stages. A stage has one output: the ports, one after another.
//!
//! | bytes | port |
//! |---|---|
//! | as the plain length and the settings say | `output` |
//! | what is left | `means` |
//! | as the plain length and the settings say | `modes` |

#![forbid(unsafe_code)]

use super::{Coder, Entry, Record, Stage};
use crate::lorenzo::{PortBytes, PortsMut, PortsRef, Predictor};
use crate::{Backend, Error, Result};

/// A predictor that can take an array block by block.
pub trait BlockPredictor: Predictor + Copy + 'static {
    /// Its row in the table of stages.
    fn entry() -> &'static Entry;

    /// The predictor for a block of `plain_bytes`.
    ///
    /// # Errors
    /// Where there is no such block.
    fn for_block(&self, plain_bytes: u64) -> Result<Self>;
}

/// The stage of a predictor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Predicting<P>(P);

impl<P: BlockPredictor> Predicting<P> {
    /// The stage of this predictor.
    pub fn new(predictor: P) -> Self {
        Self(predictor)
    }

    /// The predictor, as it was given.
    pub fn predictor(&self) -> P {
        self.0
    }

    fn block(&self, plain_bytes: usize) -> Result<(P, PortBytes)> {
        let predictor = self.0.for_block(plain_bytes as u64)?;
        let bytes = predictor.port_bytes(plain_bytes as u64)?;
        Ok((predictor, bytes))
    }
}

impl<P: BlockPredictor> Stage for Predicting<P> {
    fn entry(&self) -> &'static Entry {
        P::entry()
    }

    fn record(&self) -> Record {
        self.0.record()
    }

    fn describe(&self) -> String {
        self.0.describe()
    }

    fn max_plain_bytes(&self) -> u64 {
        isize::MAX as u64
    }

    /// Of a length that the predictor does not take there is no encoding.
    fn max_coded_bytes(&self, plain: u64) -> u64 {
        let bytes = self.0.for_block(plain).and_then(|predictor| predictor.port_bytes(plain));
        bytes.map_or(0, PortBytes::total)
    }

    /// For data in host memory the processor is as fast as the way to a device and back.
    fn coder(&self, _: &Backend) -> Result<Box<dyn Coder>> {
        Ok(Box::new(*self))
    }
}

impl<P: BlockPredictor> Coder for Predicting<P> {
    fn encode(&mut self, plain: &[u8], coded: &mut Vec<u8>) -> Result<()> {
        let (predictor, bytes) = self.block(plain.len())?;
        let total = bytes.total();
        let max = isize::MAX as u64;
        if total > max {
            return Err(Error::TooLong { bytes: total, max });
        }
        let more = (total as usize).saturating_sub(coded.len());
        coded.try_reserve(more).map_err(|_| Error::Memory { bytes: more as u64 })?;
        // Keeps what is there: every byte is written.
        coded.resize(total as usize, 0);
        let (output, rest) = coded.split_at_mut(bytes.output as usize);
        let (means, modes) = rest.split_at_mut(bytes.means as usize);
        let used = predictor.forward_into(plain, PortsMut { output, means, modes })?;
        // There may be fewer means than there is room for.
        let end = (used.output + used.means) as usize;
        coded.copy_within((bytes.output + bytes.means) as usize.., end);
        coded.truncate(end + used.modes as usize);
        Ok(())
    }

    fn decode(&mut self, coded: &[u8], plain: &mut [u8]) -> Result<()> {
        let (predictor, bytes) = self.block(plain.len())?;
        let (output, rest) = split(coded, bytes.output, "output")?;
        let means = (rest.len() as u64).saturating_sub(bytes.modes);
        let (means, modes) = split(rest, means, "means")?;
        predictor.inverse_into(PortsRef { output, means, modes }, plain)
    }
}

fn split<'a>(bytes: &'a [u8], at: u64, port: &'static str) -> Result<(&'a [u8], &'a [u8])> {
    let split = usize::try_from(at).ok().and_then(|at| bytes.split_at_checked(at));
    split.ok_or(Error::PortLength { port, found: bytes.len() as u64, expected: at })
}
