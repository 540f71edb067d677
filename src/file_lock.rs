//! The JavaScript class `FileLock`, for files that one process at a time may change.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io,
};

use napi::{Error, Result};
use napi_derive::napi;

/// A lock that the system releases at the latest when its process ends.
#[napi]
pub struct FileLock {
    path: String,
    file: Option<File>,
}

#[napi]
impl FileLock {
    /// Locks the file at `path`, which is created if necessary. Returns `None` if another process has the lock.
    #[napi(catch_unwind)]
    pub fn take(path: String) -> Result<Option<Self>> {
        let failed = |error: io::Error| Error::from_reason(format!("cannot lock {path}: {error}"));
        let file = OpenOptions::new().append(true).create(true).open(&path).map_err(failed)?;
        match file.try_lock() {
            // Whoever takes the next lock of the path does not see this file.
            Ok(()) if is_removed(&file) => Ok(None),
            Ok(()) => Ok(Some(Self { path, file: Some(file) })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(failed(error)),
        }
    }

    /// Removes the file, and releases the lock.
    #[napi(catch_unwind)]
    pub fn release(&mut self) {
        // Windows would refuse to open it until its last handle is closed.
        if self.file.is_some() && cfg!(unix) {
            // An empty file may stay.
            let _ = fs::remove_file(&self.path);
        }
        self.file = None;
    }
}

#[cfg(unix)]
fn is_removed(file: &File) -> bool {
    use std::os::unix::fs::MetadataExt;
    file.metadata().is_ok_and(|found| found.nlink() == 0)
}

#[cfg(not(unix))]
const fn is_removed(_: &File) -> bool {
    false
}
