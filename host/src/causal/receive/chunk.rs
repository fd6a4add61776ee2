//! One chunk, every step checked: what the quick code falls back to, and what finds out the exact fault.

use super::super::rans::{LOWER, SCALE, take};
use super::super::{Fault, Representation, unzigzag};
use super::records::bank;
use super::tables::Rows;
use super::{Coded, Record};

/// A state at work.
struct Stream<'a> {
    coded: &'a Coded<'a>,
    chunk: u32,
    number: usize,
    x: u32,
    at: u32,
    end: u32,
}

impl<'a> Stream<'a> {
    fn new(coded: &'a Coded<'a>, chunk: usize, record: &Record, number: usize) -> Self {
        let words = &record.words[number];
        Self { coded, chunk: chunk as u32, number, x: record.states[number], at: words.start, end: words.end }
    }

    /// The symbol of word `word` in row `row` of `rows`; `bank` is what the row counts from.
    #[inline]
    fn symbol(&mut self, rows: &Rows, first_row: u32, row: u8, word: usize) -> Result<u8, Fault> {
        let slot = rows.find(row, self.x & ((1 << SCALE) - 1));
        if slot.f == 1 << SCALE {
            return Err(Fault::DeadRow { chunk: self.chunk, word: word as u32, row: first_row + u32::from(row) });
        }
        self.x = take::<SCALE>(self.x, slot.f, slot.c);
        if self.x < LOWER {
            let next = if self.at < self.end { self.coded.word(self.at as usize) } else { None };
            let Some(next) = next else {
                return Err(Fault::OutOfWords { chunk: self.chunk, bank: self.bank(), word: word as u32 });
            };
            self.x = self.x << 16 | u32::from(next);
            self.at += 1;
        }
        Ok(slot.symbol)
    }

    fn bank(&self) -> super::super::Bank {
        bank(self.coded.form, self.number)
    }

    fn finish(&self) -> Result<(), Fault> {
        if self.x != LOWER {
            return Err(Fault::Terminal { chunk: self.chunk, bank: self.bank(), found: self.x });
        }
        match self.end - self.at {
            0 => Ok(()),
            unused => Err(Fault::UnusedWords { chunk: self.chunk, bank: self.bank(), unused }),
        }
    }
}

/// Decodes chunk `chunk` to `plain`, which is as long as the chunk.
pub(super) fn decode(coded: &Coded, chunk: usize, plain: &mut [u8]) -> Result<(), Fault> {
    use Representation::*;
    let representation = coded.representation;
    let record = &coded.records[chunk];
    let [first, second] = record.prefix;
    let prefix = if representation == HighFirst { [second, first] } else { [first, second] };
    let [mut low, mut high] = if representation == Residual { [0, 0] } else { prefix };
    let mut before = u16::from_le_bytes(prefix);

    let mut streams = [Stream::new(coded, chunk, record, 0), Stream::new(coded, chunk, record, 1)];
    let high_stream = coded.form.streams() - 1;
    let (lows, highs) = (&coded.tables.low, &coded.tables.high);
    const HIGH_ROW: u32 = super::super::model::SYMBOLS as u32;
    let Some((start, rest)) = plain.split_first_chunk_mut() else { return Ok(()) };
    *start = prefix;
    for (index, word) in rest.as_chunks_mut::<2>().0.iter_mut().enumerate() {
        let at = index + 1;
        if representation == HighFirst {
            high = streams[high_stream].symbol(highs, HIGH_ROW, high, at)?;
            low = streams[0].symbol(lows, 0, high, at)?;
        } else {
            low = streams[0].symbol(lows, 0, low, at)?;
            high = streams[high_stream].symbol(highs, HIGH_ROW, high, at)?;
        }
        *word = [low, high];
        if representation == Residual {
            before = before.wrapping_add(unzigzag(u16::from_le_bytes(*word)));
            *word = before.to_le_bytes();
        }
    }
    streams.iter().take(coded.form.streams()).try_for_each(Stream::finish)
}
