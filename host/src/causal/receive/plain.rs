//! Chunks side by side in plain code: several chains of dependent steps, whose waits overlap.
//!
//! Nothing is checked on the way. What a damaged frame makes a chain read is always within the tables and the payload, and a chunk that ends wrong is
//! decoded again by [`super::chunk`], which finds out what is wrong.

#![forbid(unsafe_code)]

use super::super::rans::{LOWER, SCALE, take};
use super::super::{Fault, Form, Representation, unzigzag};
use super::tables::Rows;
use super::{Coded, Record, chunk};

/// Chunks that are decoded together.
pub(super) const CHUNKS: usize = 4;

const SAME_LANE: u8 = Representation::SameLane as u8;
const HIGH_FIRST: u8 = Representation::HighFirst as u8;
const RESIDUAL: u8 = Representation::Residual as u8;

/// Decodes up to [`CHUNKS`] chunks from `first` on to `plain`.
pub(super) fn decode(coded: &Coded, first: usize, plain: &mut [u8]) -> Result<(), Fault> {
    let chunk_bytes = 2 * coded.chunk_words;
    let ok = plain.len() == CHUNKS * chunk_bytes && {
        match (coded.representation, coded.form) {
            (Representation::SameLane, Form::Classic) => lanes::<SAME_LANE, false>(coded, first, plain),
            (Representation::SameLane, Form::Split) => lanes::<SAME_LANE, true>(coded, first, plain),
            (Representation::HighFirst, Form::Classic) => lanes::<HIGH_FIRST, false>(coded, first, plain),
            (Representation::HighFirst, Form::Split) => lanes::<HIGH_FIRST, true>(coded, first, plain),
            (Representation::Residual, Form::Classic) => lanes::<RESIDUAL, false>(coded, first, plain),
            (Representation::Residual, Form::Split) => lanes::<RESIDUAL, true>(coded, first, plain),
        }
    };
    if ok {
        return Ok(());
    }
    let chunks = plain.chunks_mut(chunk_bytes);
    chunks.enumerate().try_for_each(|(index, plain)| chunk::decode(coded, first + index, plain))
}

/// A state at work.
#[derive(Clone, Copy, Default)]
struct Stream {
    x: u32,
    /// The next word.
    at: u32,
    end: u32,
    /// The largest frequency so far: that of an empty row, if there was one.
    largest: u32,
}

impl Stream {
    fn new(record: &Record, number: usize) -> Self {
        let words = &record.words[number];
        Self { x: record.states[number], at: words.start, end: words.end, largest: 0 }
    }

    #[inline(always)]
    fn symbol(&mut self, rows: &Rows, row: u8, words: &[[u8; 2]]) -> u8 {
        let slot = rows.find(row, self.x & ((1 << SCALE) - 1));
        self.largest = self.largest.max(slot.f);
        let x = take::<SCALE>(self.x, slot.f, slot.c);
        let is_short = x < LOWER;
        let word = words.get(self.at as usize).map_or(0, |word| u16::from_le_bytes(*word).into());
        // Without a branch: whether a word is needed is anybody's guess.
        self.x = x << (16 * u32::from(is_short)) | (word & u32::from(is_short).wrapping_neg());
        self.at += u32::from(is_short);
        slot.symbol
    }

    fn is_done(&self) -> bool {
        self.x == LOWER && self.at == self.end && self.largest < 1 << SCALE
    }
}

/// Decodes `plain`, [`CHUNKS`] whole chunks from `first` on; `false` if one did not end right.
#[allow(clippy::needless_range_loop)] // several arrays run along
fn lanes<const REPRESENTATION: u8, const SPLIT: bool>(coded: &Coded, first: usize, plain: &mut [u8]) -> bool {
    let words = coded.frame[coded.payload..].as_chunks::<2>().0;
    let (lows, highs) = (&coded.tables.low, &coded.tables.high);
    let (mut streams, mut before) = ([[Stream::default(); 2]; CHUNKS], [0u16; CHUNKS]);
    let (mut low, mut high) = ([0u8; CHUNKS], [0u8; CHUNKS]);
    let mut rest = plain.as_chunks_mut::<2>().0;
    let lanes: [&mut [[u8; 2]]; CHUNKS] = std::array::from_fn(|_| {
        let (lane, more) = std::mem::take(&mut rest).split_at_mut(coded.chunk_words);
        rest = more;
        lane
    });
    for lane in 0..CHUNKS {
        let record = &coded.records[first + lane];
        streams[lane] = [Stream::new(record, 0), Stream::new(record, 1)];
        let [a, b] = record.prefix;
        let prefix = if REPRESENTATION == HIGH_FIRST { [b, a] } else { [a, b] };
        if REPRESENTATION != RESIDUAL {
            [low[lane], high[lane]] = prefix;
        }
        before[lane] = u16::from_le_bytes(prefix);
        lanes[lane][0] = prefix;
    }
    let high_stream = usize::from(SPLIT);
    for at in 1..coded.chunk_words {
        for lane in 0..CHUNKS {
            let streams = &mut streams[lane];
            if REPRESENTATION == HIGH_FIRST {
                high[lane] = streams[high_stream].symbol(highs, high[lane], words);
                low[lane] = streams[0].symbol(lows, high[lane], words);
            } else {
                low[lane] = streams[0].symbol(lows, low[lane], words);
                high[lane] = streams[high_stream].symbol(highs, high[lane], words);
            }
            let mut word = [low[lane], high[lane]];
            if REPRESENTATION == RESIDUAL {
                before[lane] = before[lane].wrapping_add(unzigzag(u16::from_le_bytes(word)));
                word = before[lane].to_le_bytes();
            }
            lanes[lane][at] = word;
        }
    }
    streams.iter().all(|streams| streams[..=high_stream].iter().all(Stream::is_done))
}
