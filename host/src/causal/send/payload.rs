//! The payload: every chunk's words and record.

use super::Settings;
use super::fit::Fit;
use super::group::{self, Level, Scratch};
use crate::causal::model::SYMBOLS;
use crate::causal::{Form, Representation};
use rayon::prelude::*;

/// Entries of a row of cumulative frequencies.
pub(super) const STRIDE: usize = SYMBOLS + 1;

/// What an encoder needs of one bank: `c` of every symbol, and of the one behind it.
#[derive(Debug)]
pub(super) struct Cumulative(pub(super) Vec<u16>);

impl Cumulative {
    fn new(frequencies: &[u16]) -> Self {
        let mut cumulative = vec![0; frequencies.len() / SYMBOLS * STRIDE + 1];
        for (row, place) in frequencies.chunks_exact(SYMBOLS).zip(cumulative.chunks_exact_mut(STRIDE)) {
            let mut c = 0;
            for (f, place) in row.iter().zip(&mut *place) {
                *place = c;
                c += f;
            }
            place[SYMBOLS] = c;
        }
        Self(cumulative)
    }

    /// Where the slots of `symbol` in row `row` begin, and how many they are.
    #[inline(always)]
    pub(super) fn find(&self, row: u8, symbol: u8) -> (u32, u32) {
        let at = usize::from(row) * STRIDE + usize::from(symbol);
        let (c, end) = (u32::from(self.0[at]), u32::from(self.0[at + 1]));
        (c, end - c)
    }
}

/// All that is needed to code chunks.
#[derive(Debug)]
pub(super) struct Coding {
    pub(super) representation: Representation,
    pub(super) form: Form,
    pub(super) low: Cumulative,
    pub(super) high: Cumulative,
}

/// A chunk's last states and the number of its words, a stream each.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Record {
    pub(super) states: [u32; 2],
    pub(super) words: [u32; 2],
    pub(super) prefix: [u8; 2],
}

/// The chunks that one task coded.
#[derive(Debug, Default)]
pub(super) struct Group {
    pub(super) records: Vec<Record>,
    /// The words, chunk after chunk, little-endian.
    pub(super) words: Vec<u8>,
}

/// All chunks.
#[derive(Debug)]
pub(super) struct Payload {
    form: Form,
    groups: Vec<Group>,
}

impl Payload {
    /// Codes every chunk of `tile` by `fit`.
    pub(super) fn encode(level: Level, tile: &[u8], settings: &Settings, representation: Representation, fit: Fit) -> Self {
        let coding = Coding {
            representation,
            form: settings.form,
            low: Cumulative::new(&fit.low.frequencies),
            high: Cumulative::new(&fit.high.frequencies),
        };
        let chunk = settings.grain.bytes();
        let groups = tile
            .par_chunks(chunk * level.chunks(settings.form))
            .map_init(Scratch::default, |scratch, plain| group::encode(level, &coding, plain, chunk, scratch))
            .collect();
        Self { form: settings.form, groups }
    }

    pub(super) fn chunks(&self) -> usize {
        self.groups.iter().map(|group| group.records.len()).sum()
    }

    pub(super) fn words(&self) -> usize {
        self.groups.iter().map(|group| group.words.len() / 2).sum()
    }

    /// Appends the records.
    pub(super) fn write_records(&self, frame: &mut Vec<u8>) {
        for record in self.groups.iter().flat_map(|group| &group.records) {
            for stream in 0..self.form.streams() {
                frame.extend_from_slice(&record.states[stream].to_le_bytes());
                frame.extend_from_slice(&record.words[stream].to_le_bytes());
            }
            frame.extend_from_slice(&record.prefix);
        }
    }

    /// Appends the words.
    pub(super) fn write_words(&self, frame: &mut Vec<u8>) {
        self.groups.iter().for_each(|group| frame.extend_from_slice(&group.words));
    }
}
