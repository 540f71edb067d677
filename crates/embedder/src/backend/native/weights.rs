//! The weights of the model in its file.

use bytemuck::Pod;
use memmap2::Mmap;

use crate::{
    kernels::{LinearWeights, Norm, Table},
    shape::{FFN, LAYERS, MAX_TOKENS, VOCABULARY, WIDTH},
};

pub struct Weights<'a> {
    pub words: Table<'a>,
    pub positions: Table<'a>,
    pub norm: Norm<'a>,
    pub layers: Vec<Layer<'a>>,
}

pub struct Layer<'a> {
    /// Query, key and value side by side.
    pub qkv: LinearWeights<'a>,
    pub output: LinearWeights<'a>,
    pub attention_norm: Norm<'a>,
    pub up: LinearWeights<'a>,
    pub down: LinearWeights<'a>,
    pub ffn_norm: Norm<'a>,
}

impl<'a> Weights<'a> {
    /// Returns the weights in the order of the file. Copies nothing, so this takes microseconds. Fails if the file has
    /// another layout.
    pub fn of(file: &'a Mmap) -> Result<Self, String> {
        let tensors = &mut Tensors::of(file);
        let weights = Self {
            words: table(tensors, VOCABULARY)?,
            positions: table(tensors, MAX_TOKENS)?,
            norm: norm(tensors)?,
            layers: (0..LAYERS).map(|_| Layer::next(tensors)).collect::<Result<_, _>>()?,
        };
        tensors.finish()?;
        Ok(weights)
    }
}

impl<'a> Layer<'a> {
    fn next(tensors: &mut Tensors<'a>) -> Result<Self, String> {
        Ok(Self {
            qkv: linear(tensors, WIDTH, 3 * WIDTH)?,
            output: linear(tensors, WIDTH, WIDTH)?,
            attention_norm: norm(tensors)?,
            up: linear(tensors, WIDTH, FFN)?,
            down: linear(tensors, FFN, WIDTH)?,
            ffn_norm: norm(tensors)?,
        })
    }
}

fn table<'a>(tensors: &mut Tensors<'a>, entries: usize) -> Result<Table<'a>, String> {
    let values = tensors.next(entries * WIDTH)?.into();
    Ok(Table { values, scale: tensors.next(entries)?.into() })
}

fn linear<'a>(
    tensors: &mut Tensors<'a>,
    depth: usize,
    columns: usize,
) -> Result<LinearWeights<'a>, String> {
    let values = tensors.next(depth * columns)?.into();
    let (scale, bias) = (tensors.next(columns)?.into(), tensors.next(columns)?.into());
    Ok(LinearWeights { values, scale, bias })
}

fn norm<'a>(tensors: &mut Tensors<'a>) -> Result<Norm<'a>, String> {
    Ok(Norm { gamma: tensors.next(WIDTH)?.into(), beta: tensors.next(WIDTH)?.into() })
}

/// The alignment of tensors by `model/storage.py`: large ones begin where every system can map a file, others at a
/// cache line.
const MAPPING: usize = 65_536;
const LINE: usize = 64;
const LARGE_FROM_BYTES: usize = 65_536;

/// The tensors in the contents of the file of weights, which is mapped.
struct Tensors<'a> {
    file: &'a [u8],
    /// Where the last tensor ends.
    end: usize,
}

impl<'a> Tensors<'a> {
    fn of(file: &'a [u8]) -> Self {
        Self { file, end: 0 }
    }

    /// Returns the next tensor, of `count` little-endian numbers. Fails if the file ends before.
    fn next<T: Pod>(&mut self, count: usize) -> Result<&'a [T], String> {
        let start = aligned(self.end, count * size_of::<T>());
        self.end = start + count * size_of::<T>();
        let bytes = self.file.get(start..self.end);
        bytes.and_then(|bytes| bytemuck::try_cast_slice(bytes).ok()).ok_or_else(|| self.wrong())
    }

    /// Fails if the file has more than has been read.
    fn finish(&self) -> Result<(), String> {
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

#[cfg(test)]
mod tests;
