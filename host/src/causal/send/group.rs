//! Several chunks side by side, so that their dependent steps overlap; in the code that is best for the processor.

use super::payload::{Coding, Cumulative, Group, Record};
#[cfg(target_arch = "x86_64")]
use super::{avx2, avx512};
use crate::causal::rans::{self, LOWER, SCALE};
use crate::causal::{Form, Grain, Representation, zigzag};

/// What the code is compiled for. All of it gives the same bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Nothing beyond the target.
    Plain,
    /// Vectors of 8 lanes: Intel since Haswell, AMD since Zen.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// Vectors of 16 lanes: Intel since Ice Lake, AMD since Zen 4.
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl Level {
    /// All that this processor runs, slowest first.
    pub fn available() -> &'static [Self] {
        #[cfg(target_arch = "x86_64")]
        {
            const ALL: [Level; 3] = [Level::Plain, Level::Avx2, Level::Avx512];
            // The standard library asks the processor once and remembers. (No processor has the third without the second.)
            &ALL[..1 + usize::from(avx2::is_available()) + usize::from(avx2::is_available() && avx512::is_available())]
        }
        #[cfg(not(target_arch = "x86_64"))]
        &[Self::Plain]
    }

    /// Itself, or the plain code where the processor does not run it: anyone can name a level.
    pub(super) fn or_plain(self) -> Self {
        if Self::available().contains(&self) { self } else { Self::Plain }
    }

    /// The quickest.
    pub fn best() -> Self {
        *Self::available().last().unwrap_or(&Self::Plain)
    }

    /// Chunks that one thread codes together.
    pub(super) fn chunks(self, form: Form) -> usize {
        match self {
            Self::Plain => 16,
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => avx2::chunks(form),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => avx512::chunks(form),
        }
    }
}

/// Fewer chunks than these are not worth a vector.
#[cfg(target_arch = "x86_64")]
const FEW: usize = 4;
/// Chunks that the plain code has under way at once.
const LANES: usize = 4;
/// The most words of a chunk.
const CHUNK_WORDS: usize = Grain::B8192.words();
/// Words that a chunk emits at most in one stream, and one in front that is written and does not count.
const STREAM_WORDS: usize = 2 * CHUNK_WORDS;

/// [`rans::reciprocal`] of every frequency; entry 0 is never used.
static RECIPROCALS: [u64; 1 << SCALE] = {
    let mut table = [0; 1 << SCALE];
    let mut f = 1;
    while f < table.len() {
        table[f] = rans::reciprocal::<SCALE>(f as u32);
        f += 1;
    }
    table
};

/// Codes the chunks of `plain`, at most [`Level::chunks`].
pub(super) fn encode(level: Level, coding: &Coding, plain: &[u8], chunk_bytes: usize, scratch: &mut Scratch) -> Group {
    let mut group = Group::default();
    let mut rest = plain;
    #[cfg(target_arch = "x86_64")]
    if level != Level::Plain && plain.len() / chunk_bytes >= FEW {
        let whole;
        (whole, rest) = plain.split_at(plain.len() / chunk_bytes * chunk_bytes);
        match level {
            Level::Plain => {}
            // SAFETY: `level` went through `Level::or_plain`, which asked the processor.
            Level::Avx2 => unsafe { avx2::encode(coding, whole, chunk_bytes, &mut scratch.vector, &mut group) },
            // SAFETY: as above.
            Level::Avx512 => unsafe { avx512::encode(coding, whole, chunk_bytes, &mut scratch.vector, &mut group) },
        }
    }
    if rest.is_empty() {
        return group;
    }
    let full = chunk_bytes * LANES;
    let scratch = scratch.plain.get_or_insert_with(Lanes::new);
    for plain in rest.chunks(full) {
        if plain.len() == full {
            lanes::<LANES>(coding, plain, scratch, &mut group);
        } else {
            plain.chunks(chunk_bytes).for_each(|plain| lanes::<1>(coding, plain, scratch, &mut group));
        }
    }
    group
}

/// Room that a thread keeps from one group to the next: it is as large as what is coded, and new room would have to be cleared.
#[derive(Default)]
pub(super) struct Scratch {
    plain: Option<Lanes>,
    #[cfg(target_arch = "x86_64")]
    vector: Vec<u16>,
}

/// What the plain code needs.
struct Lanes {
    /// What is coded: words or residuals, the first of each chunk as a context only.
    codes: Vec<[u16; CHUNK_WORDS]>,
    /// Words of each lane's streams, filled from the end.
    words: Vec<[u16; STREAM_WORDS]>,
}

impl Lanes {
    fn new() -> Self {
        Self { codes: vec![[0; CHUNK_WORDS]; LANES], words: vec![[0; STREAM_WORDS]; 2 * LANES] }
    }
}

/// A state at work.
#[derive(Clone, Copy)]
struct State {
    x: u32,
    /// Where the words so far begin.
    at: usize,
}

impl State {
    const START: Self = Self { x: LOWER, at: STREAM_WORDS };

    #[inline(always)]
    fn put(&mut self, table: &Cumulative, row: u8, symbol: u8, words: &mut [u16; STREAM_WORDS]) {
        let (c, f) = table.find(row, symbol);
        let full = rans::is_full::<SCALE>(self.x, f);
        // Written always, kept if full: a chunk emits fewer words than there is room for.
        words[(self.at - 1) % STREAM_WORDS] = self.x as u16;
        self.at -= usize::from(full);
        self.x = if full { self.x >> 16 } else { self.x };
        self.x = rans::put::<SCALE>(self.x, f, c, RECIPROCALS[(f % (1 << SCALE)) as usize]);
    }
}

/// Codes `N` chunks of equal length.
fn lanes<const N: usize>(coding: &Coding, plain: &[u8], scratch: &mut Lanes, group: &mut Group) {
    let chunk_bytes = plain.len() / N;
    let words = chunk_bytes / 2;
    let mut records = [Record::default(); N];
    for ((record, plain), codes) in records.iter_mut().zip(plain.chunks_exact(chunk_bytes)).zip(&mut scratch.codes) {
        let plain = plain.as_chunks::<2>().0;
        let [low, high] = plain[0];
        record.prefix = if coding.representation == Representation::HighFirst { [high, low] } else { [low, high] };
        prepare(coding.representation, plain, codes);
    }
    let states = match (coding.form, coding.representation) {
        (Form::Classic, Representation::HighFirst) => code::<N, false, true>(coding, words, scratch),
        (Form::Classic, _) => code::<N, false, false>(coding, words, scratch),
        (Form::Split, Representation::HighFirst) => code::<N, true, true>(coding, words, scratch),
        (Form::Split, _) => code::<N, true, false>(coding, words, scratch),
    };
    for (lane, (mut record, states)) in records.into_iter().zip(states).enumerate() {
        for (stream, State { x, at }) in states.into_iter().take(coding.form.streams()).enumerate() {
            record.states[stream] = x;
            record.words[stream] = (STREAM_WORDS - at) as u32;
            let words = &scratch.words[2 * lane + stream][at..];
            group.words.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        }
        group.records.push(record);
    }
}

/// What is coded of a chunk's words.
fn prepare(representation: Representation, plain: &[[u8; 2]], codes: &mut [u16; CHUNK_WORDS]) {
    for (code, word) in codes.iter_mut().zip(plain) {
        *code = u16::from_le_bytes(*word);
    }
    if representation == Representation::Residual {
        let mut before = codes[0];
        for code in &mut codes[..plain.len()] {
            let word = *code;
            *code = zigzag(word.wrapping_sub(before));
            before = word;
        }
    }
}

/// Codes the first `words` codes of `N` chunks, backwards: the last states.
fn code<const N: usize, const SPLIT: bool, const HIGH_FIRST: bool>(
    coding: &Coding,
    words: usize,
    scratch: &mut Lanes,
) -> [[State; 2]; N] {
    let mut states = [[State::START; 2]; N];
    let high_stream = usize::from(SPLIT);
    let Some((codes, _)) = scratch.codes.split_first_chunk::<N>() else { return states };
    for i in (1..words.min(CHUNK_WORDS)).rev() {
        for lane in 0..N {
            let [low, high] = codes[lane][i].to_le_bytes();
            let [low_before, high_before] = codes[lane][i - 1].to_le_bytes();
            let state = &mut states[lane];
            if HIGH_FIRST {
                state[0].put(&coding.low, high, low, &mut scratch.words[2 * lane]);
                state[high_stream].put(&coding.high, high_before, high, &mut scratch.words[2 * lane + high_stream]);
            } else {
                state[high_stream].put(&coding.high, high_before, high, &mut scratch.words[2 * lane + high_stream]);
                state[0].put(&coding.low, low_before, low, &mut scratch.words[2 * lane]);
            }
        }
    }
    states
}
