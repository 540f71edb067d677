//! The tensors of the model, one after the other as the file of weights has them.

#[cfg(test)]
mod tests;

use bytemuck::{Pod, allocation::try_zeroed_slice_box};

use crate::{
    EmbedError, ModelFiles,
    model::files::{TensorEntry, WeightsReader},
};

/// The layout that `model/storage.py` gives the file: large tensors begin where every system can map a file,
/// others at a line.
const MAPPING: usize = 65_536;
const LINE: usize = 64;
const LARGE_FROM_BYTES: usize = 65_536;

/// A number as the file has it, little-endian.
pub trait Element: Pod {
    /// Its name in the manifest.
    const NAME: &str;
}

impl Element for i16 {
    const NAME: &str = "int16";
}

impl Element for f32 {
    const NAME: &str = "float32";
}

/// The file of weights, read once from its beginning to its end, so that no more of it is in memory than
/// somebody keeps.
pub struct Tensors<'a> {
    files: &'a ModelFiles,
    reader: WeightsReader<'a>,
    /// Where the tensor before ends.
    end: usize,
}

impl<'a> Tensors<'a> {
    /// Opens the file.
    pub fn open(files: &'a ModelFiles) -> Result<Self, EmbedError> {
        Ok(Self { files, reader: files.open_weights()?, end: 0 })
    }

    /// Returns the next tensor. What it contains is checked by [`Tensors::finish`] only.
    pub fn next<T: Element>(
        &mut self,
        name: &str,
        shape: &[usize],
    ) -> Result<Box<[T]>, EmbedError> {
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
        // No digest covers the manifest: other places would pass for other weights.
        let start = place(self.end, bytes);
        if *offset != start {
            return misfit(format!("at {start}"), offset.to_string());
        }
        let mut numbers = try_zeroed_slice_box(count).map_err(|()| EmbedError::Memory { bytes })?;
        self.reader.skip(start - self.end)?;
        self.reader.read(bytemuck::cast_slice_mut(&mut numbers))?;
        self.end = start + bytes;
        Ok(numbers)
    }

    /// Reads the rest of the file, and checks all of it against its digest.
    pub fn finish(self) -> Result<(), EmbedError> {
        self.reader.finish()
    }
}

/// Where a tensor of so many `bytes` begins, behind another one or the beginning of the file.
fn place(end: usize, bytes: usize) -> usize {
    end.next_multiple_of(if bytes < LARGE_FROM_BYTES { LINE } else { MAPPING })
}
