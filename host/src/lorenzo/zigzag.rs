//! Zigzag: numbers near zero of either sign become small numbers without sign. 0, -1, 1, -2 become 0, 1, 2, 3.
//!
//! ```
//! use warpack::{WordSize, lorenzo::zigzag};
//! let plain: Vec<u8> = [0i16, -1, 1, -2].into_iter().flat_map(i16::to_le_bytes).collect();
//! let mut mapped = vec![0; plain.len()];
//! zigzag::map(WordSize::W2, &plain, &mut mapped)?;
//! assert_eq!(mapped, [0, 0, 1, 0, 2, 0, 3, 0]);
//! let mut again = vec![0; plain.len()];
//! zigzag::unmap(WordSize::W2, &mapped, &mut again)?;
//! assert_eq!(again, plain);
//! # Ok::<(), warpack::Error>(())
//! ```

#![forbid(unsafe_code)]

use super::cpu::{Word, by_word};
use crate::{Error, Result, WordSize};

/// Maps `plain`, two's complement numbers of `word` bytes, to `mapped`, which is as long. Bytes behind the last whole word stay as they are.
///
/// # Errors
/// [`Error::PortLength`] where the lengths differ.
pub fn map(word: WordSize, plain: &[u8], mapped: &mut [u8]) -> Result<()> {
    each(word, plain, mapped, true)
}

/// Takes back what [`map`] did.
///
/// # Errors
/// As [`map`].
pub fn unmap(word: WordSize, mapped: &[u8], plain: &mut [u8]) -> Result<()> {
    each(word, mapped, plain, false)
}

fn each(word: WordSize, from: &[u8], to: &mut [u8], map: bool) -> Result<()> {
    if from.len() != to.len() {
        return Err(Error::PortLength { port: "mapped words", found: to.len() as u64, expected: from.len() as u64 });
    }
    let whole = from.len() - from.len() % word.bytes() as usize;
    to[whole..].copy_from_slice(&from[whole..]);
    by_word!(word, T => {
        let cells = T::cells_mut(to).iter_mut().zip(T::cells(from));
        if map {
            cells.for_each(|(to, from)| {
                let number = T::load(*from);
                *to = number.twice_xor(number.sign()).store();
            });
        } else {
            cells.for_each(|(to, from)| *to = T::load(*from).half_xor().store());
        }
    });
    Ok(())
}
