//! The compressed bitmap: a flag per word, and levels above that say which bytes below differ from the byte before.
//!
//! Level 0 is the flags. A level of 8 bytes or more has a level above it of an eighth of its size, with a bit for each of its
//! bytes: set where the byte differs from the one before, or, the first, from 0. Those bytes alone are stored, level 0 first;
//! the last level is stored whole.

#![forbid(unsafe_code)]

use super::cpu;
use crate::{Error, Result};
use shared_types::reducer::{Levels, MAX_LEVELS};

/// Bytes in front of each level that are never written: a load one byte before a level finds 0.
pub const PAD_BYTES: usize = 64;

/// Where the levels begin: each has room for its largest size.
const STARTS: [usize; MAX_LEVELS] = [64, 64 + 2048 + 64, 64 + 2048 + 64 + 256 + 64, 64 + 2048 + 64 + 256 + 64 + 64 + 64];

/// All levels, the last one to the end of its largest size.
const BYTES: usize = STARTS[MAX_LEVELS - 1] + 64;

/// The flags of a chunk and what is above them.
#[derive(Clone, Debug)]
pub struct Bitmap {
    levels: Levels,
    bytes: [u8; BYTES],
}

impl Bitmap {
    /// One without a set flag.
    pub const fn new(levels: Levels) -> Self {
        Self { levels, bytes: [0; BYTES] }
    }

    fn level(&self, level: usize) -> &[u8] {
        &self.bytes[STARTS[level]..][..self.levels.bytes[level] as usize]
    }

    /// The flags: that of word `i` is bit `i % 8` of byte `i / 8`. All behind the chunk's words are 0.
    pub fn flags(&self) -> &[u8] {
        self.level(0)
    }

    /// The flags, to be set.
    pub fn flags_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[STARTS[0]..][..self.levels.bytes[0] as usize]
    }

    /// How many flags are set.
    pub fn flagged(&self) -> usize {
        cpu::ones(self.flags())
    }

    /// The first set flag from word `words` on.
    pub fn flag_from(&self, words: usize) -> Option<usize> {
        let byte = self.flags().get(words / 8)? & u8::MAX << (words % 8);
        let rest = self.flags()[words / 8 + 1..].iter().copied();
        let (at, byte) = (words / 8..).zip(std::iter::once(byte).chain(rest)).find(|&(_, byte)| byte != 0)?;
        Some(8 * at + byte.trailing_zeros() as usize)
    }

    /// Makes the levels above the flags: the bytes of the encoding.
    pub fn raise(&mut self) -> usize {
        for level in 1..self.levels.count {
            let (below, above) = self.bytes.split_at_mut(STARTS[level]);
            let below = &below[STARTS[level - 1] - PAD_BYTES..][..PAD_BYTES + self.levels.bytes[level - 1] as usize];
            cpu::changes(below, &mut above[..self.levels.bytes[level] as usize]);
        }
        let above = 1..self.levels.count;
        above.map(|level| cpu::ones(self.level(level))).sum::<usize>() + self.levels.last_bytes() as usize
    }

    /// Writes the encoding of raised flags to the front of `coded`, which has room for the slack behind it: its bytes.
    pub fn write(&self, coded: &mut [u8]) -> usize {
        let mut at = 0;
        for level in 1..self.levels.count {
            at += cpu::gather(self.level(level - 1), self.level(level), &mut coded[at..]);
        }
        let last = self.level(self.levels.count - 1);
        coded[at..at + last.len()].copy_from_slice(last);
        at + last.len()
    }

    /// Reads the encoding that ends where `coded` does: where it begins.
    ///
    /// # Errors
    /// [`Error::BitmapLength`].
    pub fn read(&mut self, coded: &[u8]) -> Result<usize> {
        let (last, last_bytes) = (self.levels.count - 1, self.levels.last_bytes() as usize);
        let step = |level: usize, bytes: usize, at: usize| {
            let (need, have) = (bytes as u64, at as u64);
            at.checked_sub(bytes).ok_or(Error::BitmapLength { level: level as u32, need, have })
        };
        let mut at = step(last, last_bytes, coded.len())?;
        self.bytes[STARTS[last]..][..last_bytes].copy_from_slice(&coded[at..]);
        for level in (0..last).rev() {
            let stored_bytes = cpu::ones(self.level(level + 1));
            let end = at;
            at = step(level, stored_bytes, at)?;
            let (below, above) = self.bytes.split_at_mut(STARTS[level + 1]);
            let below = &mut below[STARTS[level]..][..self.levels.bytes[level] as usize];
            cpu::repeat(&above[..self.levels.bytes[level + 1] as usize], &coded[at..end], below);
        }
        Ok(at)
    }
}
