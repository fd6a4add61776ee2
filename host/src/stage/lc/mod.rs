//! The family of LC components: chunk codecs that share their settings and the container around the chunks.
//!
//! A component codes one chunk of at most [`Settings::chunk`] bytes; the container cuts the input, keeps each chunk raw that
//! would not shrink, and puts them one behind the other:
//!
//! | bytes | field |
//! |---|---|
//! | 4 | plain length |
//! | 4 | number of chunks |
//! | 4 a chunk | stored bytes; the top bit is set where the chunk is stored raw |
//! | sum of the above | the stored chunks, without gaps |
//! | 0..=3 | zeros, up to a multiple of 4 |
//!
//! Numbers are little-endian. Nothing at all is the stream of an empty input. A component, the word size and the chunk size
//! are not in the stream: whoever stores it keeps a [`super::Record`] with it, version 0, two bytes of settings:
//!
//! | byte | setting |
//! |---|---|
//! | 0 | bytes of a word: 1, 2, 4, 8 |
//! | 1 | log2 of the bytes of a full chunk: 12, 13, 14 |
//!
//! The chunk formats are those of the LC framework (Texas State University), the container is that of FZGPUModules; see
//! THIRD_PARTY.md.

mod chunk;
#[cfg(feature = "cuda")]
pub mod clock;
mod component;
mod container;
#[cfg(feature = "cuda")]
pub(crate) mod cuda;
#[cfg(feature = "cuda")]
mod kernels;
mod settings;
mod word;

pub use chunk::{check as check_chunk, decode as decode_chunk, encode as encode_chunk};
pub use component::{Chunked, Component, Family, Scratch};
pub use container::{check, decode, decode_each, encode, max_coded_bytes, max_plain_bytes};
#[cfg(feature = "cuda")]
pub use cuda::{Decoded, DeviceCodec, REPORT_BYTES, chunk_status, stream_status};
pub use settings::Settings;
pub(in crate::stage) use word::{Word, by_word, change_words, words};
