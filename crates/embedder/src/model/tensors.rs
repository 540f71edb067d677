//! The tensors of the built-in model, in the order of the file of weights.

#[cfg(test)]
mod tests;

use std::{fs::File, io::Read, path::PathBuf};

use blake3::Hasher;
use bytemuck::{Pod, allocation::try_zeroed_vec};

use crate::{
    BuiltInFiles, EmbedError, Result,
    model::files::{Entry, WEIGHTS, open},
};

/// The alignment of tensors by `model/storage.py`: large ones begin where every system can map a file, others at a
/// cache line.
const MAPPING: usize = 65_536;
const LINE: usize = 64;
const LARGE_FROM_BYTES: usize = 65_536;

/// Reads the file of weights once, tensor by tensor, so that it is never in memory as a whole.
pub struct Tensors<'a> {
    entry: &'a Entry,
    path: PathBuf,
    file: File,
    /// The hash of everything that has been read.
    hasher: Hasher,
}

impl<'a> Tensors<'a> {
    pub fn open(files: &'a BuiltInFiles) -> Result<Self> {
        let (path, entry) = (files.path(WEIGHTS), files.entry(WEIGHTS)?);
        files.verify_length(WEIGHTS)?;
        let file = open(&path)?;
        Ok(Self { entry, path, file, hasher: Hasher::new() })
    }

    /// Returns the next tensor, of `count` little-endian numbers. Only [`Tensors::finish`] checks its contents.
    pub fn next<T: Pod>(&mut self, count: usize) -> Result<Vec<T>> {
        let bytes = count * size_of::<T>();
        let end = self.hasher.count() as usize;
        let mut numbers = try_zeroed_vec(count).map_err(|()| EmbedError::Memory { bytes })?;
        self.read(&mut vec![0; aligned(end, bytes) - end])?;
        self.read(bytemuck::cast_slice_mut(&mut numbers))?;
        Ok(numbers)
    }

    fn read(&mut self, contents: &mut [u8]) -> Result<()> {
        // In chunks, which are hashed while they are in the cache.
        for piece in contents.chunks_mut(1 << 17) {
            self.file.read_exact(piece).map_err(|error| EmbedError::file(&self.path, error))?;
            self.hasher.update(piece);
        }
        Ok(())
    }

    /// Fails if the file has more than has been read, or another digest.
    pub fn finish(self) -> Result<()> {
        self.entry.check(&self.path, self.hasher.count(), self.hasher.finalize())
    }
}

/// Returns the offset of a tensor of `bytes` bytes after one that ends at `end`.
fn aligned(end: usize, bytes: usize) -> usize {
    end.next_multiple_of(if bytes < LARGE_FROM_BYTES { LINE } else { MAPPING })
}
