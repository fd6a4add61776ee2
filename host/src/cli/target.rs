//! An output that appears whole or not at all.
//!
//! A file is written under a temporary name in its own directory, synced, given the input's permissions and times, and only then put
//! in place; the directory is synced last. Without `-f` putting it in place fails if the name has been taken meanwhile. What is not a
//! regular file (a pipe, a device) is written directly: there is nothing to replace.

use super::failure::{Failure, Outcome};
use super::source::{Source, is_standard};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::fs::{self, File, FileTimes, Metadata, OpenOptions, Permissions};
use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Temporary files that exist at this moment.
static TEMPORARY: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn temporary() -> MutexGuard<'static, Vec<PathBuf>> {
    TEMPORARY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// From now on, a signal that ends the program first removes its temporary files.
///
/// Signals that the parent had turned off (`nohup`, background jobs of simple shells) stay turned off.
pub(super) fn clean_up_on_signals() {
    let wanted = [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|signal| !is_ignored(*signal));
    // If this fails, a signal ends the program as it always does, and a temporary file may be left.
    let Ok(mut signals) = signal_hook::iterator::Signals::new(wanted) else { return };
    let clean_up = move || {
        if let Some(signal) = signals.forever().next() {
            // Held to the end, so that no other thread makes a new file.
            let files = temporary();
            for file in files.iter() {
                let _ = fs::remove_file(file);
            }
            let _ = signal_hook::low_level::emulate_default_handler(signal);
        }
    };
    // Likewise.
    let _ = std::thread::Builder::new().name("signals".into()).spawn(clean_up);
}

/// A file that grows beyond the limit of the process is an error like others, not the end.
pub(super) fn survive_file_size_limit() {
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::default());
}

/// Whether the program was started with `signal` turned off, as far as the system tells.
fn is_ignored(signal: i32) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    mask >> (signal - 1) & 1 == 1
}

/// An output in the making. Dropped without [`Target::commit`], it leaves nothing behind.
#[derive(Debug)]
pub(super) struct Target {
    /// What messages call it.
    pub(super) name: String,
    file: File,
    place: Place,
}

#[derive(Debug)]
enum Place {
    /// Written to directly: standard output, a pipe, a device.
    Direct,
    /// To be put in place.
    File { temporary: PathBuf, path: PathBuf, replace: bool },
}

/// Whether the name `path` is free or may be replaced; the file it leads to.
fn resolve(path: &Path, force: bool) -> Outcome<(PathBuf, Option<Metadata>)> {
    let name = path.display().to_string();
    let linked = match fs::symlink_metadata(path) {
        Ok(linked) => linked,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok((path.into(), None)),
        Err(error) => return Err(Failure::io("write it", error).at(&name)),
    };
    let refused = |error| Failure::io("write it", error).at(&name);
    // A link is followed: what it leads to is replaced, the link stays. One that leads nowhere is refused.
    let path = if linked.is_symlink() { fs::canonicalize(path).map_err(refused)? } else { path.into() };
    let metadata = fs::metadata(&path).map_err(refused)?;
    if metadata.is_dir() {
        return Err(Failure::usage("is a directory").at(&name));
    }
    if metadata.is_file() && !force {
        return Err(Failure::usage("exists already; -f replaces it").at(&name));
    }
    Ok((path, Some(metadata)))
}

impl Target {
    /// Opens `path` for what is made of `source`.
    pub(super) fn create(path: &Path, source: &Source, force: bool) -> Outcome<Self> {
        if is_standard(path) {
            return Self::standard(source, force);
        }
        let name = path.display().to_string();
        let refused = |error| Failure::io("write it", error).at(&name);
        let (path, metadata) = resolve(path, force)?;
        if let Some(metadata) = metadata {
            refuse_same(&metadata, source, &name)?;
            let kind = metadata.file_type();
            if kind.is_socket() || kind.is_block_device() {
                return Err(Failure::usage("is a socket or a block device").at(&name));
            }
            if !kind.is_file() {
                let file = OpenOptions::new().write(true).open(&path).map_err(refused)?;
                return Ok(Self { name, file, place: Place::Direct });
            }
        }
        let (temporary, file) = create_temporary(&path).map_err(refused)?;
        Ok(Self { name, file, place: Place::File { temporary, path, replace: force } })
    }

    fn standard(source: &Source, force: bool) -> Outcome<Self> {
        let name = "standard output".to_owned();
        if io::stdout().is_terminal() && !force {
            return Err(Failure::usage("standard output is a terminal; -f writes to it nevertheless"));
        }
        let refused = |error| Failure::io("write it", error).at(&name);
        let file = io::stdout().as_fd().try_clone_to_owned().map(File::from).map_err(refused)?;
        let metadata = file.metadata().map_err(refused)?;
        if metadata.is_file() {
            refuse_same(&metadata, source, &name)?;
        }
        Ok(Self { name, file, place: Place::Direct })
    }

    /// The output is complete: syncs it, copies permissions, owner and times where `source` is a regular file and `keep_attributes` says
    /// so, and puts it in place. Whether a file is there now.
    pub(super) fn commit(mut self, source: &Source, keep_attributes: bool) -> Outcome<bool> {
        let name = std::mem::take(&mut self.name);
        let refused = |error| Failure::io("write it", error).at(&name);
        let Place::File { temporary, path, replace } = &self.place else {
            // Nothing to sync: what stands behind a pipe is not ours.
            return self.file.flush().map(|()| false).map_err(refused);
        };
        if keep_attributes && source.path.is_some() && source.metadata.is_file() {
            copy_attributes(&self.file, &source.metadata).map_err(refused)?;
        } else {
            // As the file would have come out of `open`: the temporary file was kept from others while it was incomplete.
            self.file.set_permissions(Permissions::from_mode(0o666 & !umask())).map_err(refused)?;
        }
        self.file.sync_all().map_err(refused)?;
        // Whoever may write into the directory can put something else under the name.
        let identity = |file: &Metadata| (file.dev(), file.ino());
        let (ours, there) = (self.file.metadata().map_err(refused)?, fs::symlink_metadata(temporary).map_err(refused)?);
        if identity(&ours) != identity(&there) {
            return Err(refused(io::Error::other("its temporary file was replaced by somebody")));
        }
        if *replace {
            fs::rename(temporary, path).map_err(refused)?;
        } else {
            put_without_replacing(temporary, path).map_err(refused)?;
        }
        sync_directory(directory(path)).map_err(refused)?;
        Ok(true)
    }
}

impl Write for Target {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        if let Place::File { temporary: path, .. } = &self.place {
            let mut files = temporary();
            // Not there any more if it was put in place.
            let _ = fs::remove_file(path);
            files.retain(|file| file != path);
        }
    }
}

fn refuse_same(metadata: &Metadata, source: &Source, name: &str) -> Outcome<()> {
    if (metadata.dev(), metadata.ino()) == (source.metadata.dev(), source.metadata.ino()) && metadata.is_file() {
        return Err(Failure::usage("is the input itself").at(name));
    }
    Ok(())
}

fn directory(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// A new file next to `path`, for its owner only.
fn create_temporary(path: &Path) -> io::Result<(PathBuf, File)> {
    let process = std::process::id();
    for number in 0..1000 {
        let temporary_path = directory(path).join(format!(".warpack-{process}-{number}.tmp"));
        let mut files = temporary();
        match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&temporary_path) {
            Ok(file) => {
                files.push(temporary_path.clone());
                return Ok((temporary_path, file));
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// Gives the file its name, unless that is taken. A second name and then one name less, since a rename replaces.
fn put_without_replacing(temporary: &Path, path: &Path) -> io::Result<()> {
    match fs::hard_link(temporary, path) {
        Ok(()) => fs::remove_file(temporary),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(error),
        // No second names on this file system: an empty file takes the name, and is then replaced.
        Err(_) => {
            OpenOptions::new().write(true).create_new(true).open(path)?;
            fs::rename(temporary, path).inspect_err(|_| {
                let _ = fs::remove_file(path);
            })
        }
    }
}

fn sync_directory(path: &Path) -> io::Result<()> {
    match File::open(path).and_then(|directory| directory.sync_all()) {
        // A directory that may be written but not read, or a file system that syncs files only: the file itself is safe.
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::PermissionDenied | io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported
            ) =>
        {
            Ok(())
        }
        other => other,
    }
}

/// Permissions, times and, where we may, the owner. Never the set-id bits; and where the group can't be kept, not its permissions.
fn copy_attributes(file: &File, from: &Metadata) -> io::Result<()> {
    let mut mode = from.mode() & 0o777;
    let now = file.metadata()?;
    if (now.uid(), now.gid()) != (from.uid(), from.gid()) && fchown(file, Some(from.uid()), Some(from.gid())).is_err() {
        let group = now.gid() == from.gid() || fchown(file, None, Some(from.gid())).is_ok();
        if !group {
            mode &= !0o070;
        }
    }
    file.set_permissions(Permissions::from_mode(mode))?;
    file.set_times(FileTimes::new().set_accessed(from.accessed()?).set_modified(from.modified()?))
}

/// The bits that new files of this process don't get. Where the system does not tell, the usual ones.
fn umask() -> u32 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("Umask:"));
    mask.and_then(|mask| u32::from_str_radix(mask.trim(), 8).ok()).unwrap_or(0o022)
}
