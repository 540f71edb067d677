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
    /// Locks the file at `path`, which is created if necessary, and opened with more `flags` of the system. Returns `None` if
    /// another process has the lock, and a lock that is not held if the file system has none.
    #[napi(catch_unwind)]
    pub fn take(path: String, flags: i32) -> Result<Option<Self>> {
        Self::take_after(path, flags, || ())
    }

    /// Whether the file is locked.
    #[napi(getter, catch_unwind)]
    pub fn is_held(&self) -> bool {
        self.file.is_some()
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

impl FileLock {
    /// Calls `opened` between opening the file and locking it, when another process may remove it: then tries again.
    fn take_after(path: String, flags: i32, mut opened: impl FnMut()) -> Result<Option<Self>> {
        let failed = |error: io::Error| Error::from_reason(format!("cannot lock {path}: {error}"));
        loop {
            let file = open(&path, flags).map_err(failed)?;
            // Its file is removed in the end.
            if file.metadata().is_ok_and(|found| !found.is_file() || found.len() > 0) {
                return Err(failed(io::Error::other("it is there, and is not an empty file")));
            }
            opened();
            let is_locked = match file.try_lock() {
                Ok(()) => true,
                Err(TryLockError::WouldBlock) => false,
                Err(TryLockError::Error(_)) => {
                    // Nobody can lock it there. Nothing is left.
                    drop(file);
                    let _ = fs::remove_file(&path);
                    return Ok(Some(Self { path, file: None }));
                }
            };
            // Whoever takes the next lock of the path does not see a removed file.
            if is_at(&file, &path) {
                return Ok(is_locked.then_some(Self { path, file: Some(file) }));
            }
        }
    }
}

fn open(path: &str, flags: i32) -> io::Result<File> {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, flags);
    #[cfg(not(unix))]
    let _ = flags;
    options.append(true).create(true).open(path)
}

#[cfg(unix)]
fn is_at(file: &File, path: &str) -> bool {
    use std::os::unix::fs::MetadataExt;
    let identity = |found: fs::Metadata| (found.dev(), found.ino());
    file.metadata().map(identity).ok() == fs::metadata(path).map(identity).ok()
}

#[cfg(not(unix))]
const fn is_at(_: &File, _: &str) -> bool {
    true
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::{env, fs, process};

    use super::FileLock;

    #[test]
    fn take_locks_the_next_file_if_the_opened_one_is_removed() {
        let path = env::temp_dir().join(format!("kp-lock-{}", process::id())).display().to_string();
        fs::write(&path, "not a lock").unwrap();
        assert!(FileLock::take(path.clone(), 0).is_err());
        fs::remove_file(&path).unwrap();
        let take = |path: &String| FileLock::take(path.clone(), 0).unwrap();
        let mut first = take(&path);
        assert!(first.is_some());
        assert!(take(&path).is_none());
        let release = || first.iter_mut().for_each(FileLock::release);
        let mut second = FileLock::take_after(path.clone(), 0, release).unwrap();
        assert!(second.is_some());
        assert!(take(&path).is_none());
        // Still locked, because its holder removes it first.
        let mut removed = false;
        let remove = || removed = removed || fs::remove_file(&path).is_ok();
        let third = FileLock::take_after(path.clone(), 0, remove).unwrap();
        assert!(third.is_some());
        assert!(take(&path).is_none());
        second.as_mut().unwrap().release();
        drop(third);
        assert!(!fs::exists(&path).unwrap());
    }
}
