//! Golden vectors: data files in the layout of `tests/vectors`, or under `WARPACK_VECTORS`.

use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use warpack::stage::lc::Settings;
use warpack::{ChunkSize, WordSize};

/// The folder that holds `lc`, `lorenzo`, `causal`, ...
pub fn root() -> PathBuf {
    match std::env::var_os("WARPACK_VECTORS") {
        Some(root) => root.into(),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/vectors"),
    }
}

/// The SHA-256 of `bytes` in hex.
pub fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// One chunk's expected encoding by the component alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Chunk {
    /// So long, with that hash; the container stores it.
    Coded(usize, String),
    /// So long, with that hash; the container stores the chunk raw.
    Longer(usize, String),
    /// The component gives up.
    GivenUp,
}

/// One input with one component and its settings.
#[derive(Clone, Debug)]
pub struct Vector {
    pub settings: Settings,
    pub input: String,
    pub stream_bytes: usize,
    pub stream_sha256: String,
    pub chunks: Vec<Chunk>,
    /// The whole stream, where the vectors have it.
    pub stream: Option<PathBuf>,
}

/// A line of `malformed.tsv` that must be refused.
#[derive(Clone, Debug)]
pub struct Malformed {
    pub settings: Settings,
    /// The chunk's length if it is one chunk's encoding, `None` for a whole stream.
    pub chunk_bytes: Option<usize>,
    pub coded: Vec<u8>,
    pub why: String,
}

/// The vectors of the LC components.
#[derive(Debug)]
pub struct Lc {
    folder: PathBuf,
    /// By name.
    pub inputs: BTreeMap<String, Vec<u8>>,
}

impl Lc {
    /// Reads the inputs and compares them with their hashes. What is missing fails the test.
    pub fn load() -> Self {
        let folder = root().join("lc");
        let row = |row: Vec<String>| {
            let plain = read(&folder.join("inputs").join(format!("{}.bin", row[0])));
            assert_eq!(plain.len().to_string(), row[1], "length of input {}", row[0]);
            assert_eq!(sha256(&plain), row[3], "hash of input {}", row[0]);
            (row[0].clone(), plain)
        };
        let inputs = table(&folder.join("inputs.tsv"), 5).map(row).collect();
        Self { folder, inputs }
    }

    /// The vectors of `component` (`CLOG`, ...), never none.
    pub fn vectors(&self, component: &str) -> Vec<Vector> {
        let rows = table(&self.folder.join("vectors.tsv"), 7).filter(|row| row[0] == component);
        let vectors: Vec<_> = rows.map(|row| self.vector(&row)).collect();
        assert!(!vectors.is_empty(), "no vectors of {component} in {}", self.folder.display());
        vectors
    }

    fn vector(&self, row: &[String]) -> Vector {
        assert!(self.inputs.contains_key(&row[3]), "no input {}", row[3]);
        let file = format!("{}_{}.c{}.{}.bin", row[0], row[1], row[2], row[3]);
        let stream = self.folder.join("encoded").join(file);
        Vector {
            settings: settings(&row[1], &row[2]),
            input: row[3].clone(),
            stream_bytes: number(&row[4]),
            stream_sha256: row[5].clone(),
            chunks: row[6].split(',').filter(|entry| !entry.is_empty()).map(chunk).collect(),
            stream: stream.exists().then_some(stream),
        }
    }

    /// What a decoder of `component` must refuse, never nothing.
    pub fn malformed(&self, component: &str) -> Vec<Malformed> {
        let rows = table(&self.folder.join("malformed.tsv"), 7).filter(|row| row[1] == component);
        let malformed: Vec<_> = rows
            .map(|row| Malformed {
                settings: settings(&row[2], &row[3]),
                chunk_bytes: match row[0].as_str() {
                    "chunk" => Some(number(&row[4])),
                    "stream" => None,
                    kind => panic!("malformed.tsv has a line of kind {kind}"),
                },
                coded: unhex(&row[5]),
                why: row[6].clone(),
            })
            .collect();
        assert!(!malformed.is_empty(), "no malformed lines of {component} in {}", self.folder.display());
        malformed
    }
}

/// The file, or a failure that names it.
pub fn read(path: &Path) -> Vec<u8> {
    std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn table(path: &Path, columns: usize) -> impl Iterator<Item = Vec<String>> + use<> {
    let text = String::from_utf8(read(path)).expect("tables are text");
    let rows: Vec<Vec<String>> = text.lines().skip(1).map(|line| line.split('\t').map(String::from).collect()).collect();
    let path = path.to_owned();
    rows.into_iter().inspect(move |row| {
        assert_eq!(row.len(), columns, "columns of a row in {}", path.display());
    })
}

fn number(text: &str) -> usize {
    text.parse().unwrap_or_else(|_| panic!("{text} is no number"))
}

fn settings(word: &str, chunk: &str) -> Settings {
    Settings {
        word: WordSize::from_bytes(number(word) as u64).expect("a word size"),
        chunk: ChunkSize::from_bytes(number(chunk) as u64).expect("a chunk size"),
    }
}

fn chunk(entry: &str) -> Chunk {
    match entry.split(':').collect::<Vec<_>>()[..] {
        ["R"] => Chunk::GivenUp,
        ["C", bytes, sha256] => Chunk::Coded(number(bytes), sha256.into()),
        ["r", bytes, sha256] => Chunk::Longer(number(bytes), sha256.into()),
        _ => panic!("{entry} is no chunk entry"),
    }
}

/// The bytes that `hex` spells.
pub fn unhex(hex: &str) -> Vec<u8> {
    let digits = hex.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).expect("hex digits"));
    digits.map(|pair| u8::from_str_radix(pair, 16).expect("hex digits")).collect()
}
