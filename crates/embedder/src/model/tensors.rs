//! The tensors of the built-in model, in the order of the file of weights.

#[cfg(test)]
mod tests;

use bytemuck::{Pod, allocation::try_zeroed_slice_box};

use crate::{
    BuiltInFiles, EmbedError, Result,
    model::files::{TensorEntry, WeightsReader},
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
    reader: WeightsReader<'a>,
    /// The end of the last tensor.
    end: usize,
}

impl<'a> Tensors<'a> {
    /// Opens the file.
    pub fn open(files: &'a BuiltInFiles) -> Result<Self> {
        Ok(Self { files, reader: files.open_weights()?, end: 0 })
    }

    /// Returns the next tensor. Only [`Tensors::finish`] checks its contents.
    pub fn next<T: Element>(&mut self, name: &str, shape: &[usize]) -> Result<Box<[T]>> {
        let Some(TensorEntry { element, shape: found, offset }) = self.files.tensors().get(name)
        else {
            return Err(self.files.manifest_error(format!("names no tensor {name}")));
        };
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
        let start = aligned(self.end, bytes);
        if *offset != start {
            return misfit(format!("at {start}"), offset.to_string());
        }
        let mut numbers = try_zeroed_slice_box(count).map_err(|()| EmbedError::Memory { bytes })?;
        self.reader.skip(start - self.end)?;
        self.reader.read(bytemuck::cast_slice_mut(&mut numbers))?;
        self.end = start + bytes;
        Ok(numbers)
    }

    /// Reads the rest of the file, and checks its digest.
    pub fn finish(self) -> Result<()> {
        self.reader.finish()
    }
}

/// Returns the offset of a tensor of `bytes` bytes after one that ends at `end`.
fn aligned(end: usize, bytes: usize) -> usize {
    end.next_multiple_of(if bytes < LARGE_FROM_BYTES { LINE } else { MAPPING })
}
