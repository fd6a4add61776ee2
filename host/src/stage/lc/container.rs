//! The container around the chunks of an LC component: the only place that writes or reads it on a CPU.
//!
//! With one thread a chunk is read once: coded into a scratch that stays in cache, then appended. With several, a first pass
//! measures the chunks and a second packs each at its final place; the bytes are the same.

#![forbid(unsafe_code)]

use super::{Component, Scratch, Settings};
use crate::{Error, Result};
use rayon::prelude::*;
use shared_types::lc::{ChunkSize, ChunkStatus, Container, HEADER_BYTES, RAW};

/// Chunks that a thread takes at once: enough that a share is worth handing over, few enough that all threads get some.
const SHARE_CHUNKS: usize = 32;

/// The largest number that the container's fields hold.
const MAX_FIELD: u64 = u32::MAX as u64;

/// Every input of at most so many bytes fits into one stream, even if no chunk shrinks.
pub const fn max_plain_bytes(chunk: ChunkSize) -> u64 {
    // A chunk costs its bytes and an entry; the whole is a multiple of 4.
    let room = MAX_FIELD / 4 * 4 - HEADER_BYTES as u64;
    let chunk_bytes = chunk.bytes() as u64;
    let rest = room % (chunk_bytes + 4);
    room / (chunk_bytes + 4) * chunk_bytes + rest.saturating_sub(4)
}

/// No stream of `plain` bytes is longer.
pub const fn max_coded_bytes(chunk: ChunkSize, plain: u64) -> u64 {
    if plain == 0 {
        return 0;
    }
    // Saturating: an absurd length shall give an absurd bound, not a small one.
    let entries = plain.div_ceil(chunk.bytes() as u64).saturating_mul(4);
    let bytes = plain.saturating_add(entries).saturating_add(HEADER_BYTES as u64 + 3);
    bytes / 4 * 4
}

/// Replaces the contents of `coded` with the stream of `plain`.
///
/// # Errors
/// [`Error::TooLong`] where the plain length or the stream's does not fit into 32 bits. That never happens up to
/// [`max_plain_bytes`]; `coded` is left as it was.
pub fn encode<C: Component>(settings: Settings, plain: &[u8], coded: &mut Vec<u8>) -> Result<()> {
    let container = container_of(settings, plain.len())?;
    let fits = container.max_stream_bytes() <= MAX_FIELD;
    let chunks = container.chunks() as usize;
    if fits && (rayon::current_num_threads() == 1 || chunks <= SHARE_CHUNKS) {
        append_chunks::<C>(settings, container, plain, coded);
        Ok(())
    } else {
        place_chunks::<C>(settings, container, plain, coded)
    }
}

fn container_of(settings: Settings, plain_bytes: usize) -> Result<Container> {
    let too_long = |_| Error::TooLong { bytes: plain_bytes as u64, max: MAX_FIELD };
    Ok(Container { plain: u32::try_from(plain_bytes).map_err(too_long)?, chunk: settings.chunk })
}

/// One pass, one thread.
fn append_chunks<C: Component>(settings: Settings, container: Container, plain: &[u8], coded: &mut Vec<u8>) {
    coded.clear();
    if plain.is_empty() {
        return;
    }
    // Only what gets written is ever touched, so the worst case costs no memory.
    coded.reserve(container.max_stream_bytes() as usize);
    coded.extend_from_slice(&container.plain.to_le_bytes());
    coded.extend_from_slice(&container.chunks().to_le_bytes());
    coded.resize(container.data_start() as usize, 0);
    let mut scratch = Scratch::new();
    for (index, chunk) in plain.chunks(settings.chunk.bytes() as usize).enumerate() {
        let entry = match C::encode(settings, chunk, chunk.len(), &mut scratch) {
            Some(bytes) => {
                coded.extend_from_slice(scratch.coded(bytes));
                bytes as u32
            }
            None => {
                coded.extend_from_slice(chunk);
                chunk.len() as u32 | RAW
            }
        };
        let at = HEADER_BYTES as usize + 4 * index;
        coded[at..at + 4].copy_from_slice(&entry.to_le_bytes());
    }
    coded.resize(coded.len().next_multiple_of(4), 0);
}

/// Two passes, all threads.
fn place_chunks<C: Component>(settings: Settings, container: Container, plain: &[u8], coded: &mut Vec<u8>) -> Result<()> {
    let chunk_bytes = settings.chunk.bytes() as usize;
    let entries: Vec<u32> = plain
        .par_chunks(chunk_bytes)
        .with_min_len(SHARE_CHUNKS)
        .map(|chunk| {
            let raw = chunk.len() as u32 | RAW;
            C::measure(settings, chunk, chunk.len()).map_or(raw, |bytes| bytes as u32)
        })
        .collect();
    let stored: u64 = entries.iter().map(|entry| u64::from(entry & !RAW)).sum();
    let stream_bytes = container.stream_bytes(stored);
    if stream_bytes > MAX_FIELD {
        return Err(Error::TooLong { bytes: stream_bytes, max: MAX_FIELD });
    }
    let stream_bytes = stream_bytes as usize;
    if coded.capacity() < stream_bytes {
        *coded = vec![0; stream_bytes]; // fresh zeros come from the system for nothing
    } else {
        coded.resize(stream_bytes, 0);
    }
    let (header, mut data) = coded.split_at_mut(container.data_start() as usize);
    header[..4].copy_from_slice(&container.plain.to_le_bytes());
    header[4..8].copy_from_slice(&container.chunks().to_le_bytes());
    for (place, entry) in header[8..].chunks_exact_mut(4).zip(&entries) {
        place.copy_from_slice(&entry.to_le_bytes());
    }
    let mut shares = Vec::with_capacity(entries.len().div_ceil(SHARE_CHUNKS));
    for (entries, plain) in entries.chunks(SHARE_CHUNKS).zip(plain.chunks(SHARE_CHUNKS * chunk_bytes)) {
        let bytes = entries.iter().map(|entry| (entry & !RAW) as usize).sum();
        let (own, rest) = data.split_at_mut(bytes);
        data = rest;
        shares.push((entries, plain, own));
    }
    data.fill(0); // the padding
    shares.into_par_iter().for_each_init(Scratch::new, |scratch, (entries, plain, mut own)| {
        for (entry, chunk) in entries.iter().zip(plain.chunks(chunk_bytes)) {
            let (place, rest) = own.split_at_mut((entry & !RAW) as usize);
            own = rest;
            if entry & RAW != 0 {
                place.copy_from_slice(chunk);
            } else {
                let bytes = C::encode(settings, chunk, chunk.len(), scratch);
                assert_eq!(bytes, Some(place.len()), "a component must code as many bytes as it measures");
                place.copy_from_slice(scratch.coded(place.len()));
            }
        }
    });
    Ok(())
}

/// A stream whose container is sound. What the chunks hold is yet to be seen.
#[derive(Clone, Copy, Debug)]
struct Stream<'a> {
    container: Container,
    /// Four bytes a chunk.
    entries: &'a [u8],
    /// The stored chunks, and the padding behind them.
    data: &'a [u8],
}

/// One chunk as it is stored.
#[derive(Clone, Copy, Debug)]
struct Stored<'a> {
    index: u32,
    raw: bool,
    bytes: &'a [u8],
}

impl<'a> Stream<'a> {
    /// Reads and checks the container of `coded`, which shall hold `plain_bytes` plain bytes if the caller knows that.
    fn read(chunk: ChunkSize, coded: &'a [u8], plain_bytes: Option<usize>) -> Result<Self> {
        let unexpected = |found: u32| match plain_bytes {
            Some(expected) if expected != found as usize => {
                Err(Error::PlainLength { found: found.into(), expected: expected as u64 })
            }
            _ => Ok(()),
        };
        let Some((plain, rest)) = coded.split_first_chunk::<4>() else {
            if coded.is_empty() {
                unexpected(0)?;
                return Ok(Self { container: Container { plain: 0, chunk }, entries: &[], data: &[] });
            }
            return Err(Error::Truncated { field: "plain length", offset: 0, need: 4, have: coded.len() as u64 });
        };
        let Some((chunks, rest)) = rest.split_first_chunk::<4>() else {
            return Err(Error::Truncated { field: "chunk count", offset: 4, need: 4, have: rest.len() as u64 });
        };
        let container = Container { plain: u32::from_le_bytes(*plain), chunk };
        let (found, expected) = (u32::from_le_bytes(*chunks), container.chunks());
        if found != expected {
            return Err(Error::ChunkCount { found, expected });
        }
        unexpected(container.plain)?;
        let need = 4 * u64::from(container.chunks());
        if (rest.len() as u64) < need {
            let (offset, have) = (HEADER_BYTES.into(), rest.len() as u64);
            return Err(Error::Truncated { field: "chunk entries", offset, need, have });
        }
        let (entries, data) = rest.split_at(need as usize);
        let stream = Self { container, entries, data };
        stream.check_parts(coded)?;
        Ok(stream)
    }

    /// Checks that every entry is possible and that they and the padding make up the stream.
    fn check_parts(&self, coded: &[u8]) -> Result<()> {
        let mut stored_bytes = 0;
        for (index, entry) in (0..).zip(self.entries()) {
            let (raw, stored, plain) = (entry & RAW != 0, entry & !RAW, self.container.chunk_len(index));
            let possible = if raw { stored == plain } else { 0 < stored && stored < plain };
            if !possible {
                return Err(Error::Entry { raw, stored, plain }.in_chunk(index));
            }
            stored_bytes += u64::from(stored);
        }
        let data_end = self.container.data_start() + stored_bytes;
        let (found, expected) = (coded.len() as u64, data_end.next_multiple_of(4));
        if found != expected {
            return Err(Error::StreamLength { found, expected });
        }
        match (data_end..).zip(&coded[data_end as usize..]).find(|&(_, &byte)| byte != 0) {
            Some((offset, _)) => Err(Error::Padding { offset }),
            None => Ok(()),
        }
    }

    fn entries(&self) -> impl Iterator<Item = u32> + use<'a> {
        self.entries.chunks_exact(4).map(|entry| u32::from_le_bytes([entry[0], entry[1], entry[2], entry[3]]))
    }

    /// The stored chunks in order.
    fn chunks(self) -> impl Iterator<Item = Stored<'a>> {
        let mut data = self.data;
        (0..).zip(self.entries()).map(move |(index, entry)| {
            let (bytes, rest) = data.split_at((entry & !RAW) as usize);
            data = rest;
            Stored { index, raw: entry & RAW != 0, bytes }
        })
    }
}

impl Stored<'_> {
    fn decode<C: Component>(self, settings: Settings, plain: &mut [u8], scratch: &mut Scratch) -> Result<()> {
        if self.raw {
            plain.copy_from_slice(self.bytes); // `Stream::read` compared the lengths
            Ok(())
        } else {
            C::decode(settings, self.bytes, plain, scratch).map_err(|fault| fault.in_chunk(self.index))
        }
    }

    fn check<C: Component>(self, settings: Settings, plain_bytes: u32) -> Result<()> {
        if self.raw {
            return Ok(());
        }
        C::check(settings, self.bytes, plain_bytes as usize).map_err(|fault| fault.in_chunk(self.index))
    }
}

/// Checks the container of `coded`, which must hold exactly `plain_bytes` plain bytes, and none of its chunks.
///
/// # Errors
/// As for [`decode`], short of [`Error::InChunk`] for what is inside a chunk.
#[cfg(feature = "cuda")]
pub(crate) fn check_container(chunk: ChunkSize, coded: &[u8], plain_bytes: usize) -> Result<()> {
    Stream::read(chunk, coded, Some(plain_bytes)).map(|_| ())
}

/// Decodes `coded`, which must hold exactly `plain.len()` plain bytes.
///
/// # Errors
/// A fault of the container, the first in the order of [`shared_types::lc::StreamStatus`]; or else, in [`Error::InChunk`], the
/// first fault of the lowest bad chunk. What `plain` holds then is unspecified.
pub fn decode<C: Component>(settings: Settings, coded: &[u8], plain: &mut [u8]) -> Result<()> {
    let stream = Stream::read(settings.chunk, coded, Some(plain.len()))?;
    let decode =
        |stored: Stored<'_>, plain: &mut [u8], scratch: &mut Scratch| stored.decode::<C>(settings, plain, scratch).err();
    let fault = for_each_chunk(settings, stream, plain, decode);
    fault.map_or(Ok(()), Err)
}

/// Decodes what can be decoded of `coded`, which must hold exactly `plain.len()` plain bytes: a status per chunk. A damaged
/// chunk fails alone; zeros stand in its place.
///
/// # Errors
/// A fault of the container, as in [`decode`]: then no chunk can be told from the next, and none was looked at.
pub fn decode_each<C: Component>(settings: Settings, coded: &[u8], plain: &mut [u8]) -> Result<Vec<ChunkStatus>> {
    let stream = Stream::read(settings.chunk, coded, Some(plain.len()))?;
    let mut statuses = vec![ChunkStatus::Ok; stream.container.chunks() as usize];
    let chunks = plain.chunks_mut(settings.chunk.bytes() as usize);
    let work: Vec<_> = stream.chunks().zip(chunks).zip(&mut statuses).collect();
    let work = work.into_par_iter().with_min_len(SHARE_CHUNKS);
    work.for_each_init(Scratch::new, |scratch, ((stored, plain), status)| {
        if let Err(fault) = stored.decode::<C>(settings, plain, scratch) {
            plain.fill(0);
            *status = fault.chunk_status().unwrap_or(ChunkStatus::NotDecoded);
        }
    });
    Ok(statuses)
}

/// Checks `coded` as far as that goes without decoding it: the plain bytes it holds.
///
/// # Errors
/// As for [`decode`].
pub fn check<C: Component>(settings: Settings, coded: &[u8]) -> Result<u32> {
    let stream = Stream::read(settings.chunk, coded, None)?;
    for stored in stream.chunks() {
        stored.check::<C>(settings, stream.container.chunk_len(stored.index))?;
    }
    Ok(stream.container.plain)
}

/// Calls `work` with every chunk and its place in `plain`, on all threads; the answer for the lowest chunk that has one.
fn for_each_chunk<T: Send>(
    settings: Settings,
    stream: Stream<'_>,
    plain: &mut [u8],
    work: impl Fn(Stored<'_>, &mut [u8], &mut Scratch) -> Option<T> + Sync,
) -> Option<T> {
    let chunk_bytes = settings.chunk.bytes() as usize;
    let chunks = stream.container.chunks() as usize;
    if rayon::current_num_threads() == 1 || chunks <= SHARE_CHUNKS {
        let mut scratch = Scratch::new();
        let mut all = stream.chunks().zip(plain.chunks_mut(chunk_bytes));
        return all.find_map(|(stored, plain)| work(stored, plain, &mut scratch));
    }
    // A share is a run of chunks: what is left of the stream from its first chunk on.
    let mut shares = Vec::with_capacity(chunks.div_ceil(SHARE_CHUNKS));
    let mut start = 0;
    for (share, entries) in stream.entries.chunks(4 * SHARE_CHUNKS).enumerate() {
        let own = Stream { entries, data: &stream.data[start..], ..stream };
        start += own.entries().map(|entry| (entry & !RAW) as usize).sum::<usize>();
        shares.push((share * SHARE_CHUNKS, own));
    }
    shares.into_par_iter().zip(plain.par_chunks_mut(SHARE_CHUNKS * chunk_bytes)).find_map_first(|((first, stream), plain)| {
        let mut scratch = Scratch::new();
        let mut own = stream.chunks().zip(plain.chunks_mut(chunk_bytes));
        own.find_map(|(stored, plain)| work(Stored { index: stored.index + first as u32, ..stored }, plain, &mut scratch))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stage::{Entry, clog};

    /// A component that nothing satisfies.
    #[derive(Clone, Copy, Debug)]
    struct GivesUp;

    impl Component for GivesUp {
        fn entry() -> &'static Entry {
            &clog::ENTRY
        }
        fn measure(_: Settings, _: &[u8], _: usize) -> Option<usize> {
            None
        }
        fn encode(_: Settings, _: &[u8], _: usize, _: &mut Scratch) -> Option<usize> {
            None
        }
        fn decode(_: Settings, _: &[u8], _: &mut [u8], _: &mut Scratch) -> Result<()> {
            unreachable!("all chunks are raw")
        }
        fn check(_: Settings, _: &[u8], _: usize) -> Result<()> {
            unreachable!("all chunks are raw")
        }
    }

    /// As many bytes as the length field takes, but the entries do not fit any more. None of the memory is touched.
    #[test]
    fn a_stream_beyond_32_bits_is_refused_before_it_is_made() {
        let plain = vec![0; u32::MAX as usize];
        for chunk in ChunkSize::ALL {
            let settings = Settings { chunk, ..Settings::default() };
            let mut coded = vec![1, 2, 3];
            let fault = encode::<GivesUp>(settings, &plain, &mut coded).unwrap_err();
            let entries = 4 * (1u64 << 32) / u64::from(chunk.bytes());
            assert_eq!(fault, Error::TooLong { bytes: 8 + entries + (1 << 32), max: MAX_FIELD });
            assert_eq!(coded, [1, 2, 3]);
        }
    }

    #[test]
    fn raw_chunks_are_stored_as_they_are() {
        let plain: Vec<u8> = (0..200_003u32).map(|i| (i.wrapping_mul(i) >> 7) as u8).collect();
        let settings = Settings { chunk: ChunkSize::C4096, ..Settings::default() };
        for threads in [1, 3] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let (mut coded, mut again) = (Vec::new(), vec![0; plain.len()]);
            pool.install(|| encode::<GivesUp>(settings, &plain, &mut coded)).unwrap();
            assert_eq!(coded[8 + 4 * 49..][..200_003], plain);
            assert_eq!(coded.len(), 8 + 4 * 49 + 200_003 + 1);
            pool.install(|| decode::<GivesUp>(settings, &coded, &mut again)).unwrap();
            assert_eq!(again, plain);
        }
    }
}
