//! The tensors of the built-in model, in the order of the file of weights.

#[cfg(test)]
mod tests;

use std::{fs::File, io::Read, path::PathBuf};

use blake3::Hasher;
use bytemuck::{Pod, allocation::try_zeroed_slice_box};

use crate::{
    BuiltInFiles, EmbedError, Result,
    model::files::{TensorEntry, WEIGHTS},
};

/// The alignment of tensors by `model/storage.py`: large ones begin where every system can map a file, others at a
/// cache line.
const MAPPING: usize = 65_536;
const LINE: usize = 64;
const LARGE_FROM_BYTES: usize = 65_536;

/// The type of the numbers of a tensor, which are little-endian.
pub trait Element: Pod {
    /// The name of the type in the manifest.
    const NAME: &str;
}

impl Element for i16 {
    const NAME: &str = "int16";
}

impl Element for f32 {
    const NAME: &str = "float32";
}

/// Reads the file of weights once, tensor by tensor, so that it is never in memory as a whole.
pub struct Tensors<'a> {
    files: &'a BuiltInFiles,
    path: PathBuf,
    file: File,
    /// The hash of everything that has been read.
    hasher: Hasher,
}

impl<'a> Tensors<'a> {
    pub fn open(files: &'a BuiltInFiles) -> Result<Self> {
        let (path, entry) = (files.path(WEIGHTS), files.entry(WEIGHTS)?);
        let failed = |error| EmbedError::file(&path, error);
        let file = File::open(&path).map_err(failed)?;
        entry.check_length(&path, file.metadata().map_err(failed)?.len())?;
        Ok(Self { files, path, file, hasher: Hasher::new() })
    }

    /// Returns the next tensor. Only [`Tensors::finish`] checks its contents.
    pub fn next<T: Element>(&mut self, name: &str, shape: &[usize]) -> Result<Box<[T]>> {
        let TensorEntry { element, shape: found, offset } = self.files.tensor(name)?;
        let misfit = |expected: String, found: String| {
            let what = format!("tensor {name}: expected {expected}, got {found}");
            Err(self.files.manifest_error(what))
        };
        if found != shape {
            return misfit(format!("{shape:?}"), format!("{found:?}"));
        }
        if element != T::NAME {
            return misfit(T::NAME.into(), element.clone());
        }
        let count = shape.iter().product::<usize>();
        let bytes = count * size_of::<T>();
        // The manifest has no digest, and a wrong offset would give other weights.
        let end = self.hasher.count() as usize;
        let start = aligned(end, bytes);
        if *offset != start {
            return misfit(format!("at {start}"), offset.to_string());
        }
        let mut numbers = try_zeroed_slice_box(count).map_err(|()| EmbedError::Memory { bytes })?;
        self.read(&mut vec![0; start - end])?;
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

    /// Reads the rest of the file, and checks its digest.
    pub fn finish(mut self) -> Result<()> {
        self.hasher
            .update_reader(self.file)
            .map_err(|error| EmbedError::file(&self.path, error))?;
        let entry = self.files.entry(WEIGHTS)?;
        entry.check(&self.path, self.hasher.count(), self.hasher.finalize())
    }
}

/// Returns the offset of a tensor of `bytes` bytes after one that ends at `end`.
fn aligned(end: usize, bytes: usize) -> usize {
    end.next_multiple_of(if bytes < LARGE_FROM_BYTES { LINE } else { MAPPING })
}
