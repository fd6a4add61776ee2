//! Reading with typed errors: each says which field it was, and where.

use crate::{Error, Result};
use std::io::{self, Read};

/// What the operating system said, as our error.
pub(super) fn io_error(what: &'static str) -> impl Fn(io::Error) -> Error {
    move |error| Error::Io { what, kind: error.kind(), message: error.to_string() }
}

/// A reader that knows how far into the archive it is.
#[derive(Debug)]
pub(super) struct Input<R> {
    inner: R,
    offset: u64,
}

impl<R: Read> Input<R> {
    /// `inner`, whose next byte is at `offset` of the archive.
    pub(super) fn at(inner: R, offset: u64) -> Self {
        Self { inner, offset }
    }

    /// Bytes from the start of the archive to the next one.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// Fills `bytes` with the next ones, which belong to `field`.
    pub(super) fn exact(&mut self, field: &'static str, bytes: &mut [u8]) -> Result<()> {
        let mut have = 0;
        while have < bytes.len() {
            match self.inner.read(&mut bytes[have..]) {
                Ok(0) => return Err(self.truncated(field, bytes.len() as u64, have as u64)),
                Ok(more) => have += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(io_error("read the archive")(error)),
            }
        }
        self.offset += have as u64;
        Ok(())
    }

    /// Replaces the contents of `bytes` with the next `length` ones. Room is made as they arrive: a length that is
    /// a lie costs nothing.
    pub(super) fn replace(&mut self, field: &'static str, length: u64, bytes: &mut Vec<u8>) -> Result<()> {
        bytes.clear();
        let have = self.inner.by_ref().take(length).read_to_end(bytes).map_err(io_error("read the archive"))? as u64;
        if have < length {
            return Err(self.truncated(field, length, have));
        }
        self.offset += have;
        Ok(())
    }

    /// Goes over the next `length` bytes.
    pub(super) fn skip(&mut self, field: &'static str, length: u64) -> Result<()> {
        let have = io::copy(&mut self.inner.by_ref().take(length), &mut io::sink()).map_err(io_error("read the archive"))?;
        if have < length {
            return Err(self.truncated(field, length, have));
        }
        self.offset += have;
        Ok(())
    }

    /// Reads the end of the input and nothing else.
    pub(super) fn expect_end(&mut self) -> Result<()> {
        match self.exact("end of the input", &mut [0]) {
            Err(Error::Truncated { .. }) => Ok(()),
            Err(error) => Err(error),
            Ok(()) => Err(Error::Trailing { offset: self.offset - 1 }),
        }
    }

    fn truncated(&self, field: &'static str, need: u64, have: u64) -> Error {
        Error::Truncated { field, offset: self.offset, need, have }
    }
}
