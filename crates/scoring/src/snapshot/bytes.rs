//! The bytes of a snapshot.

use std::{fs::File, io::Read, ops::Deref, path::Path};

use memmap2::MmapMut;

use crate::error::{Error, Invalid, Result};

/// The bytes of a snapshot, in memory that its cache can take over.
#[derive(Debug)]
pub struct Bytes {
    /// Twice the size of the snapshot, so that the cache has spare slots. Untouched ones take no memory.
    pub(super) map: MmapMut,
    length: usize,
}

impl Bytes {
    /// Copies bytes. `source` names them in an error.
    ///
    /// # Errors
    ///
    /// `INVALID_SNAPSHOT` if there is not enough memory.
    pub fn copy(source: &str, bytes: &[u8]) -> Result<Self> {
        let mut copy = Self::with_room(source, bytes.len() as u64)?;
        copy.map[..bytes.len()].copy_from_slice(bytes);
        Ok(copy)
    }

    /// Reads a regular file, as it was when it was opened, even if it is replaced meanwhile.
    ///
    /// # Errors
    ///
    /// `SNAPSHOT_IO` if it cannot be read, `INVALID_SNAPSHOT` if it is no regular file or does not fit in memory.
    pub fn read(path: &str) -> Result<Self> {
        let unread = |error| Error::snapshot_io(path, error);
        // Opening a pipe may not end, nor reading a device.
        if !Path::new(path).metadata().map_err(unread)?.is_file() {
            return Err(Error::invalid(Invalid::Snapshot, path, "a snapshot", "no regular file"));
        }
        let mut file = File::open(path).map_err(unread)?;
        let mut bytes = Self::with_room(path, file.metadata().map_err(unread)?.len())?;
        file.read_exact(&mut bytes.map[..bytes.length]).map_err(unread)?;
        Ok(bytes)
    }

    fn with_room(source: &str, bytes: u64) -> Result<Self> {
        let map = || {
            // An empty mapping is impossible, and the cache needs whole float32 numbers.
            let size = usize::try_from(bytes.max(1)).ok()?;
            MmapMut::map_anon(size.checked_next_multiple_of(4)?.checked_mul(2)?).ok()
        };
        let (expected, found) = ("a snapshot that fits in memory", format!("{bytes} bytes"));
        let too_large = || Error::invalid(Invalid::Snapshot, source, expected, found);
        Ok(Self { map: map().ok_or_else(too_large)?, length: bytes as usize })
    }
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.map[..self.length]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn read_has_what_the_file_has() {
        let folder = env!("CARGO_MANIFEST_DIR");
        let path = &format!("{folder}/Cargo.toml");
        let contents = &std::fs::read(path).unwrap()[..];
        assert_eq!(&*Bytes::read(path).unwrap(), contents);
        for bytes in [contents, b""] {
            assert_eq!(&*Bytes::copy("bytes", bytes).unwrap(), bytes);
        }
        let error = Bytes::read(&format!("{path}/none")).unwrap_err();
        assert_eq!((error.code(), error.path()), ("SNAPSHOT_IO", Some(&*format!("{path}/none"))));
        let error = Bytes::read(folder).unwrap_err();
        assert_eq!(error.code(), "INVALID_SNAPSHOT");
        let error = Bytes::with_room("bytes", u64::MAX).unwrap_err().to_string();
        let expected = format!("expected a snapshot that fits in memory, got {} bytes", u64::MAX);
        assert_eq!(error, format!("bytes: {expected}"));
    }
}
