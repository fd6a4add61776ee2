//! Chunk records: bytes -> checked values.

use super::super::rans::LOWER;
use super::super::{Bank, Fault, Form, frame::Header};
use std::ops::Range;

/// One chunk: where its states begin, where their words lie, and its first word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::causal) struct Record {
    /// Classic: the one state; split: the low bank's, then the high bank's.
    pub(in crate::causal) states: [u32; 2],
    /// Each state's words in the payload. (A payload has fewer than 2^32.)
    pub(in crate::causal) words: [Range<u32>; 2],
    /// The chunk's first two bytes in the order of the representation.
    pub(in crate::causal) prefix: [u8; 2],
}

/// The bank that stream `stream` belongs to.
pub(super) fn bank(form: Form, stream: usize) -> Bank {
    match (form, stream) {
        (Form::Classic, _) => Bank::Both,
        (Form::Split, 0) => Bank::Low,
        (Form::Split, _) => Bank::High,
    }
}

/// All records, each checked against its chunk and the payload.
pub(super) fn read(header: &Header, bytes: &[u8]) -> Result<Vec<Record>, Fault> {
    let form = header.form;
    let have = u64::from(header.words);
    let mut end = 0u64;
    let mut records = Vec::with_capacity(header.chunks as usize);
    for (index, bytes) in bytes.chunks_exact(form.record_bytes()).enumerate() {
        let chunk = index as u32;
        let symbols = header.chunk_words(index) as u32 - 1;
        let max = match form {
            Form::Classic => 2 * symbols,
            Form::Split => symbols,
        };
        let (streams, prefix) = bytes.split_at(bytes.len() - 2);
        let mut record = Record { states: [LOWER; 2], words: [0..0, 0..0], prefix: [prefix[0], prefix[1]] };
        for (stream, bytes) in streams.as_chunks::<8>().0.iter().enumerate() {
            let [a, b, c, d, e, f, g, h] = *bytes;
            let (state, count) = (u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h]));
            let bank = bank(form, stream);
            if state < LOWER {
                return Err(Fault::State { chunk, bank, found: state });
            }
            if count > max {
                return Err(Fault::WordCount { chunk, bank, found: count, max });
            }
            let start = end as u32;
            end += u64::from(count);
            if end > have {
                return Err(Fault::WordsBehindPayload { chunk, need: end, have });
            }
            record.states[stream] = state;
            record.words[stream] = start..end as u32;
        }
        records.push(record);
    }
    if end != have {
        return Err(Fault::WordSum { found: end, expected: have });
    }
    Ok(records)
}
