//! An input: a file, or standard input for `-`.

use super::failure::{Failure, Outcome};
use std::fs::{File, Metadata};
use std::io::{self, IsTerminal, Read, Seek};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

/// An opened input.
#[derive(Debug)]
pub(super) struct Source {
    /// The path, if it is not standard input.
    pub(super) path: Option<PathBuf>,
    /// What messages call it.
    pub(super) name: String,
    pub(super) file: File,
    pub(super) metadata: Metadata,
}

/// What the command works on where no file is named.
pub(super) fn inputs(named: &[PathBuf]) -> Outcome<Vec<PathBuf>> {
    if !named.is_empty() {
        let standard = named.iter().filter(|path| is_standard(path)).count();
        return match standard {
            0 | 1 => Ok(named.to_vec()),
            _ => Err(Failure::usage("standard input can be read only once")),
        };
    }
    if io::stdin().is_terminal() {
        return Err(Failure::usage("no input: name a file, or `-` for standard input"));
    }
    Ok(vec!["-".into()])
}

/// Whether `path` stands for standard input or output.
pub(super) fn is_standard(path: &Path) -> bool {
    path.as_os_str() == "-"
}

impl Source {
    /// Opens `path`. Links are followed; directories are refused.
    pub(super) fn open(path: &Path) -> Outcome<Self> {
        let (name, file) = if is_standard(path) {
            let file = io::stdin().as_fd().try_clone_to_owned().map(File::from);
            ("standard input".into(), file)
        } else {
            (path.display().to_string(), File::open(path))
        };
        let refused = |error| Failure::io("open it", error).at(&name);
        let file = file.map_err(refused)?;
        let metadata = file.metadata().map_err(refused)?;
        if metadata.is_dir() {
            return Err(refused(io::ErrorKind::IsADirectory.into()));
        }
        let path = (!is_standard(path)).then(|| path.into());
        Ok(Self { path, name, file, metadata })
    }

    /// The number of bytes, where that is known beforehand.
    pub(super) fn bytes(&self) -> Option<u64> {
        self.metadata.is_file().then_some(self.metadata.len())
    }

    /// Whether any place of the input can be reached. (Asks the system: there are files that can't be sought in.)
    pub(super) fn is_seekable(&mut self) -> bool {
        self.metadata.is_file() && self.file.stream_position().is_ok()
    }
}

/// Reads `R` and tells `seen` how many bytes came each time.
pub(super) struct Watched<R, F> {
    pub(super) inner: R,
    pub(super) seen: F,
}

impl<R: Read, F: FnMut(u64)> Read for Watched<R, F> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(bytes)?;
        (self.seen)(read as u64);
        Ok(read)
    }
}
