//! The tensors of the model, read from the file of weights.

#[cfg(test)]
mod tests;

use std::collections::HashMap;

use crate::embedder::{
    EmbedError, ModelFiles,
    files::{CheckedFile, TensorEntry},
};

/// So many bytes are read, digested and converted before they leave the processor's cache.
const CHUNK: usize = 1 << 18;

/// The layout that `model/storage.py` gives the file: large tensors begin at a page, others at a line.
const PAGE: u64 = 4096;
const LINE: u64 = 64;
const LARGE_FROM_BYTES: u64 = 65_536;

/// Every tensor in memory of its own, until somebody takes it.
pub struct Tensors<'a> {
    files: &'a ModelFiles,
    tensors: HashMap<&'a str, Numbers>,
}

enum Numbers {
    Int16(Box<[i16]>),
    Float32(Box<[f32]>),
}

impl<'a> Tensors<'a> {
    /// Reads them all, and checks the file as it is read: what was checked is what is used.
    ///
    /// # Errors
    ///
    /// The file is missing or damaged, or the manifest names places that cannot be.
    pub fn read(files: &'a ModelFiles) -> Result<Self, EmbedError> {
        let mut entries: Vec<_> = files.tensors().iter().collect();
        entries.sort_by_key(|(_, entry)| entry.offset);
        let mut reader = Reader { file: files.open_weights()?, buffer: vec![0; CHUNK] };
        let mut tensors = HashMap::new();
        for (name, entry) in entries {
            let invalid = |what: &str| files.manifest_error(format!("tensor {name}: {what}"));
            let count = entry.shape.iter().try_fold(1_usize, |all, size| all.checked_mul(*size));
            let count = count.ok_or_else(|| invalid("too large"))?;
            let size: usize = match entry.element.as_str() {
                "int16" => 2,
                "float32" => 4,
                other => {
                    let what = format!(r#"expected "int16" or "float32", got {other:?}"#);
                    return Err(invalid(&what));
                }
            };
            let bytes = count.checked_mul(size).ok_or_else(|| invalid("too large"))?;
            let end = reader.file.position();
            let start = place(end, bytes as u64);
            // No digest covers the manifest: other places would pass for other weights.
            if entry.offset != start {
                return Err(invalid(&format!("expected at {start}, got {}", entry.offset)));
            }
            reader.skip(start - end)?;
            let numbers = if size == 2 {
                reader.numbers(count, i16::from_le_bytes)?.map(Numbers::Int16)
            } else {
                reader.numbers(count, f32::from_le_bytes)?.map(Numbers::Float32)
            };
            let numbers = numbers.ok_or_else(|| invalid("no memory for it"))?;
            tensors.insert(name.as_str(), numbers);
        }
        reader.file.finish()?;
        Ok(Self { files, tensors })
    }

    /// Takes out a tensor of 16-bit integers.
    ///
    /// # Errors
    ///
    /// There is none of this name, or it is of another type or shape.
    pub fn int16(&mut self, name: &str, shape: &[usize]) -> Result<Box<[i16]>, EmbedError> {
        match self.take(name, shape)? {
            Numbers::Int16(numbers) => Ok(numbers),
            Numbers::Float32(_) => Err(self.misfit(name, "int16", "float32")),
        }
    }

    /// Takes out a tensor of 32-bit floating-point numbers.
    ///
    /// # Errors
    ///
    /// As [`Tensors::int16`].
    pub fn float32(&mut self, name: &str, shape: &[usize]) -> Result<Box<[f32]>, EmbedError> {
        match self.take(name, shape)? {
            Numbers::Float32(numbers) => Ok(numbers),
            Numbers::Int16(_) => Err(self.misfit(name, "float32", "int16")),
        }
    }

    fn take(&mut self, name: &str, shape: &[usize]) -> Result<Numbers, EmbedError> {
        let entry = self.files.tensors().get(name).filter(|entry| entry.shape != shape);
        if let Some(TensorEntry { shape: found, .. }) = entry {
            return Err(self.misfit(name, &format!("{shape:?}"), &format!("{found:?}")));
        }
        let taken = self.tensors.remove(name);
        taken.ok_or_else(|| self.files.manifest_error(format!("names no tensor {name}")))
    }

    fn misfit(&self, name: &str, expected: &str, found: &str) -> EmbedError {
        self.files.manifest_error(format!("tensor {name}: expected {expected}, got {found}"))
    }
}

/// Where a tensor of so many `bytes` begins, behind another one or the beginning of the file.
fn place(end: u64, bytes: u64) -> u64 {
    end.next_multiple_of(if bytes < LARGE_FROM_BYTES { LINE } else { PAGE })
}

struct Reader<'a> {
    file: CheckedFile<'a>,
    buffer: Vec<u8>,
}

impl Reader<'_> {
    fn skip(&mut self, mut bytes: u64) -> Result<(), EmbedError> {
        while bytes > 0 {
            let part = bytes.min(CHUNK as u64);
            self.file.fill(&mut self.buffer[..part as usize])?;
            bytes -= part;
        }
        Ok(())
    }

    /// The next `count` numbers; `None` where there is not so much memory.
    fn numbers<T, const BYTES: usize>(
        &mut self,
        count: usize,
        decode: impl Fn([u8; BYTES]) -> T,
    ) -> Result<Option<Box<[T]>>, EmbedError> {
        let mut numbers = Vec::new();
        if numbers.try_reserve_exact(count).is_err() {
            return Ok(None);
        }
        while numbers.len() < count {
            let part = (count - numbers.len()).min(CHUNK / BYTES);
            let bytes = &mut self.buffer[..part * BYTES];
            self.file.fill(bytes)?;
            numbers.extend(bytes.as_chunks().0.iter().map(|bytes| decode(*bytes)));
        }
        Ok(Some(numbers.into_boxed_slice()))
    }
}
