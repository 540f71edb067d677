//! Files that are there as a whole, or as they were before.

use std::{
    fs::{self, File},
    io::{self, ErrorKind, Write},
    path::Path,
};

use crate::error::{Error, Result};

/// Marks what a process that was killed may leave behind.
const PREFIX: &str = ".kp-snapshot-";

/// Puts `bytes` into a file, in place of what it contained. Only the owner may read it.
///
/// At any instant, and after a failure or a crash, the file has all of the old contents or all of
/// the new. When this returns, the new ones have reached the disk. Of several calls at a time for one
/// file, one has the last word. A symbolic link is replaced, not followed.
///
/// # Errors
///
/// `SNAPSHOT_IO` when the system refuses it, for lack of space for instance.
pub fn save(path: &Path, bytes: &[u8]) -> Result<()> {
    replace(path, |file| file.write_all(bytes))
        .map_err(|error| Error::snapshot_io(path, "write", error))
}

/// The contents of a file; `None` when there is no such file.
///
/// # Errors
///
/// `SNAPSHOT_IO` when the system refuses it.
pub fn load(path: &Path) -> Result<Option<Vec<u8>>> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::snapshot_io(path, "read", error)),
    }
}

pub fn replace(path: &Path, write: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
    let folder = match path.parent() {
        Some(folder) if folder.as_os_str().is_empty() => Path::new("."),
        Some(folder) => folder,
        None => return Err(ErrorKind::InvalidFilename.into()),
    };
    // Opened while nothing has happened yet, because a folder need not be readable.
    #[cfg(unix)]
    let renamed = File::open(folder)?;
    let mut file = tempfile::Builder::new().prefix(PREFIX).suffix(".tmp").tempfile_in(folder)?;
    write(file.as_file_mut())?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|failed| failed.error)?;
    #[cfg(unix)]
    match renamed.sync_all() {
        // Not every file system can do it for a folder; those that cannot need not.
        Err(error) if !matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::Unsupported) => {
            Err(error)
        }
        _ => Ok(()),
    }
    #[cfg(not(unix))]
    Ok(())
}
