//! The JavaScript class `FileLock`, for files that one process at a time may change.

use std::{
    fs::{File, OpenOptions, TryLockError},
    io,
};

use napi::{Error, Result};
use napi_derive::napi;

/// A lock that the system releases at the latest when its process ends.
#[napi]
pub struct FileLock {
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
            Ok(()) => Ok(Some(Self { file: Some(file) })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(failed(error)),
        }
    }

    #[napi(catch_unwind)]
    pub fn release(&mut self) {
        self.file = None;
    }
}
