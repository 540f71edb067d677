//! The tensors of the built-in model, in the order of the file of weights.

#[cfg(test)]
mod tests;

use bytemuck::Pod;

/// The alignment of tensors by `model/storage.py`: large ones begin where every system can map a file, others at a
/// cache line.
const MAPPING: usize = 65_536;
const LINE: usize = 64;
const LARGE_FROM_BYTES: usize = 65_536;

/// The tensors in the contents of the file of weights, which is mapped.
pub struct Tensors<'a> {
    file: &'a [u8],
    /// Where the last tensor ends.
    end: usize,
}

impl<'a> Tensors<'a> {
    pub fn of(file: &'a [u8]) -> Self {
        Self { file, end: 0 }
    }

    /// Returns the next tensor, of `count` little-endian numbers. Fails if the file ends before.
    pub fn next<T: Pod>(&mut self, count: usize) -> Result<&'a [T], String> {
        let start = aligned(self.end, count * size_of::<T>());
        self.end = start + count * size_of::<T>();
        let bytes = self.file.get(start..self.end);
        bytes.and_then(|bytes| bytemuck::try_cast_slice(bytes).ok()).ok_or_else(|| self.wrong())
    }

    /// Fails if the file has more than has been read.
    pub fn finish(&self) -> Result<(), String> {
        if self.end == self.file.len() { Ok(()) } else { Err(self.wrong()) }
    }

    fn wrong(&self) -> String {
        format!("expected {} bytes of tensors, got {}", self.end, self.file.len())
    }
}

/// Returns the offset of a tensor of `bytes` bytes after one that ends at `end`.
fn aligned(end: usize, bytes: usize) -> usize {
    end.next_multiple_of(if bytes < LARGE_FROM_BYTES { LINE } else { MAPPING })
}
