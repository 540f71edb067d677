//! The tensors of the model: parts of the file of weights, which is in memory as a whole.

#[cfg(test)]
mod tests;

use std::{
    marker::PhantomData,
    ops::{Deref, Range},
    sync::Arc,
};

use bytemuck::Pod;

use crate::{EmbedError, ModelFiles, model_files::TensorEntry};

/// The layout that `model/storage.py` gives the file: large tensors begin at a page, others at a line.
const PAGE: usize = 4096;
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

/// The numbers of a tensor.
pub struct Tensor<T> {
    weights: Arc<Vec<u64>>,
    bytes: Range<usize>,
    element: PhantomData<T>,
}

impl<T: Element> Deref for Tensor<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        let bytes: &[u8] = bytemuck::cast_slice(&self.weights);
        bytemuck::cast_slice(&bytes[self.bytes.clone()])
    }
}

/// The file of weights, checked against its digest, and its tensors by name.
pub struct Tensors<'a> {
    files: &'a ModelFiles,
    weights: Arc<Vec<u64>>,
}

impl<'a> Tensors<'a> {
    /// Reads the file, and checks it and the places that the manifest gives.
    pub fn read(files: &'a ModelFiles) -> Result<Self, EmbedError> {
        let weights = Arc::new(files.read_weights()?);
        let mut entries: Vec<_> = files.tensors().iter().collect();
        entries.sort_by_key(|(_, entry)| entry.offset);
        let mut end = 0;
        for (name, entry) in entries {
            let invalid = |what: String| files.manifest_error(format!("tensor {name}: {what}"));
            let size = match entry.element.as_str() {
                <i16 as Element>::NAME => size_of::<i16>(),
                <f32 as Element>::NAME => size_of::<f32>(),
                other => {
                    return Err(invalid(format!(
                        r#"expected "int16" or "float32", got {other:?}"#
                    )));
                }
            };
            let bytes = entry.shape.iter().try_fold(size, |all, size| all.checked_mul(*size));
            let bytes = bytes.ok_or_else(|| invalid("too large".into()))?;
            // No digest covers the manifest: other places would pass for other weights.
            let start = place(end, bytes);
            if entry.offset != start {
                return Err(invalid(format!("expected at {start}, got {}", entry.offset)));
            }
            end = start.saturating_add(bytes);
            if end > 8 * weights.len() {
                return Err(invalid("ends behind the file of weights".into()));
            }
        }
        Ok(Self { files, weights })
    }

    /// Returns a tensor.
    pub fn get<T: Element>(&self, name: &str, shape: &[usize]) -> Result<Tensor<T>, EmbedError> {
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
        let bytes = *offset..offset + shape.iter().product::<usize>() * size_of::<T>();
        Ok(Tensor { weights: self.weights.clone(), bytes, element: PhantomData })
    }
}

/// Where a tensor of so many `bytes` begins, behind another one or the beginning of the file.
fn place(end: usize, bytes: usize) -> usize {
    end.next_multiple_of(if bytes < LARGE_FROM_BYTES { LINE } else { PAGE })
}
