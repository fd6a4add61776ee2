//! What the integration tests share: the vectors, the places where a codec can run, and generators aimed at codecs.

#![allow(dead_code)] // every test file uses a part of it

#[cfg(feature = "cuda")]
pub mod causal_device;
pub mod causal_emulator;
#[cfg(feature = "cuda")]
pub mod device;
#[cfg(feature = "cuda")]
pub mod emulator;
pub mod generate;
pub mod lorenzo;
#[cfg(feature = "cuda")]
pub mod lorenzo_device;
#[cfg(feature = "cuda")]
pub mod lorenzo_emulator;
#[cfg(feature = "cuda")]
pub mod lorenzo_nd;
pub mod vectors;

use std::fmt::Debug;
use std::io::Write;
use warpack::stage::lc::{Chunked, Settings};
use warpack::stage::{self, Entry, Options, Stage};
use warpack::{Backend, Error, Result};

/// A component with its settings.
#[derive(Clone, Copy, Debug)]
pub struct Spec {
    /// Its row in the table of stages.
    pub entry: &'static Entry,
    /// Word and chunk size.
    pub settings: Settings,
}

impl Spec {
    /// The LC components of the table of stages.
    pub fn components() -> impl Iterator<Item = &'static Entry> {
        let stage = |entry: &Entry| (entry.from_options)(&Options::default());
        stage::ALL.iter().copied().filter(move |entry| stage(entry).is_ok_and(|stage| stage.chunked().is_some()))
    }

    /// A component in all its settings.
    pub fn all_of(entry: &'static Entry) -> impl Iterator<Item = Self> {
        Settings::all().map(move |settings| Self { entry, settings })
    }

    /// All components in all their settings.
    pub fn all() -> impl Iterator<Item = Self> {
        Self::components().flat_map(Self::all_of)
    }

    /// The component's own functions: chunks by themselves, streams chunk by chunk.
    pub fn component(&self) -> Component {
        Component(self.stage())
    }

    /// The stage itself.
    pub fn stage(&self) -> Box<dyn Stage> {
        let Settings { word, chunk } = self.settings;
        let options = Options { word_size: Some(word), chunk_size: Some(chunk), ..Options::default() };
        (self.entry.from_options)(&options).expect("all settings are valid")
    }
}

/// A component's own functions, whichever it is.
pub struct Component(Box<dyn Stage>);

impl std::ops::Deref for Component {
    type Target = dyn Chunked;

    fn deref(&self) -> &Self::Target {
        self.0.chunked().expect("an LC component")
    }
}

/// A place where a codec runs: CPU, emulator, device.
pub trait Executor: Sync {
    /// The name in messages.
    fn name(&self) -> &str;

    /// How many plain bytes a test may hand over at a time: an emulator is slow.
    fn max_plain_bytes(&self) -> usize {
        usize::MAX
    }

    /// How many damaged streams a test may hand over in all, for the same reason.
    fn max_damaged_streams(&self) -> usize {
        usize::MAX
    }

    /// The stream of `plain`.
    fn encode(&self, spec: &Spec, plain: &[u8]) -> Result<Vec<u8>>;

    /// The `plain_bytes` bytes that `coded` holds.
    fn decode(&self, spec: &Spec, coded: &[u8], plain_bytes: usize) -> Result<Vec<u8>>;
}

/// Every place there is on this machine; of these the ones that the environment variable `WARPACK_EXECUTORS` names, if it is
/// set (`cuda`; `cpu,emulator`).
pub fn executors() -> Vec<&'static dyn Executor> {
    let mut all = every_executor();
    if let Ok(names) = std::env::var("WARPACK_EXECUTORS") {
        all.retain(|executor| names.split(',').any(|name| name == executor.name()));
        assert!(!all.is_empty(), "nothing here is called {names}");
    }
    all
}

fn every_executor() -> Vec<&'static dyn Executor> {
    let mut all: Vec<&'static dyn Executor> = vec![&Cpu];
    #[cfg(feature = "cuda")]
    all.push(&emulator::Emulator);
    #[cfg(feature = "cuda")]
    match device::Cuda::open() {
        Some(cuda) => all.push(cuda),
        None => skip_aloud("no NVIDIA device"),
    }
    all
}

/// Says once per test program what is not tested here, and why; past the test harness, which would keep it to itself.
pub(crate) fn skip_aloud(why: &str) {
    static SAID: std::sync::Once = std::sync::Once::new();
    SAID.call_once(|| writeln!(std::io::stderr(), "SKIPPED: device tests: {why}").unwrap_or_default());
}

/// The library's CPU backend.
pub struct Cpu;

impl Executor for Cpu {
    fn name(&self) -> &str {
        "cpu"
    }

    fn encode(&self, spec: &Spec, plain: &[u8]) -> Result<Vec<u8>> {
        let mut coded = vec![0xA5; 7]; // a coder replaces what it finds
        spec.stage().coder(&Backend::Cpu)?.encode(plain, &mut coded)?;
        Ok(coded)
    }

    fn decode(&self, spec: &Spec, coded: &[u8], plain_bytes: usize) -> Result<Vec<u8>> {
        let mut plain = vec![0xA5; plain_bytes];
        spec.stage().coder(&Backend::Cpu)?.decode(coded, &mut plain)?;
        Ok(plain)
    }
}

/// Fails with the first difference, not with two heaps of bytes.
pub fn assert_same_bytes(found: &[u8], expected: &[u8], at: &str) {
    if found == expected {
        return;
    }
    let first = found.iter().zip(expected).position(|(a, b)| a != b);
    let first = first.unwrap_or(found.len().min(expected.len()));
    panic!(
        "{at}: {} bytes instead of {}, the first difference at {first}: {:02x?} instead of {:02x?}",
        found.len(),
        expected.len(),
        &found[first..found.len().min(first + 8)],
        &expected[first..expected.len().min(first + 8)],
    );
}

/// The reason at the end of an error's chain.
pub fn root(error: &Error) -> &Error {
    match error {
        Error::InChunk { source, .. } | Error::InTile { source, .. } | Error::InBlock { source, .. } => root(source),
        other => other,
    }
}
