//! The native backend: the model without ONNX Runtime.
//!
//! The exact model has the operators, the order and the tasks of `exact.onnx`, and therefore the same bits.
//! `int8_encoder` is the fast one.

mod int8_encoder;
#[cfg(test)]
mod tests;

use knowledgepulse_workers::CancelToken;
use memmap2::Mmap;

use super::Backend;
use crate::{
    BuiltInFiles, EmbedError, Embedding, MAX_TOKENS, Precision, Result,
    kernels::{
        self, Kernel, LayerNorm, Linear, LinearWeights, Norm, SelfAttention, Table, Threads, WIDTH,
        embed_tokens, int8::Machine, pool,
    },
    model::{
        files::{Unverified, WEIGHTS},
        tensors::Tensors,
    },
};
use int8_encoder::Int8Encoder;

const FFN: usize = 4 * WIDTH;
const LAYERS: usize = 6;
const VOCABULARY: usize = 30_522;

/// The model and its threads.
pub(crate) struct NativeModel {
    /// The weights.
    file: Mmap,
    /// The linear layers in integers, for [`Precision::Fast`].
    fast: Option<Int8Encoder>,
    threads: Threads,
}

impl NativeModel {
    /// Maps the weights, and rounds those of the fast model.
    pub(crate) fn load(
        files: &BuiltInFiles,
        precision: Precision,
        threads: usize,
    ) -> Result<Unverified<Box<dyn Backend>>> {
        let machine = (precision == Precision::Fast).then(Machine::detect);
        let model = Self::read(files.map(WEIGHTS)?, machine, threads)
            .map_err(|what| EmbedError::file(&files.path(WEIGHTS), what))?;
        Ok(Unverified::new(Box::new(model)))
    }

    /// Returns the exact model, or the fast one for the registers of a machine. Fails if the file has another layout.
    fn read(file: Mmap, machine: Option<Machine>, threads: usize) -> Result<Self, String> {
        let mut tensors = Tensors::of(&file);
        Embeddings::next(&mut tensors)?;
        let fast = match machine {
            Some(machine) => Some(Int8Encoder::read(&mut tensors, machine)?),
            None => {
                (0..LAYERS).try_for_each(|_| Layer::next(&mut tensors, drop).map(drop))?;
                None
            }
        };
        tensors.finish()?;
        Ok(Self { file, fast, threads: Threads::new(threads) })
    }
}

impl Backend for NativeModel {
    fn run(&self, ids: &[i64], cancel: &CancelToken) -> Result<Embedding> {
        let is_known = |id: &i64| (0..VOCABULARY as i64).contains(id);
        if !(1..=MAX_TOKENS).contains(&ids.len()) || !ids.iter().all(is_known) {
            let expected = format!("expected 1 to {MAX_TOKENS} tokens below {VOCABULARY}");
            return Err(EmbedError::Model(format!("{expected}, got {ids:?}")));
        }
        let tensors = &mut Tensors::of(&self.file);
        let embeddings = &Embeddings::next(tensors).map_err(EmbedError::Model)?;
        self.threads.run(|threads| {
            let runner = Runner { threads, cancel };
            match &self.fast {
                None => runner.embed(embeddings, tensors, ids),
                Some(encoder) => encoder.embed(&runner, embeddings, ids),
            }
        })
    }
}

/// The first weights of the file.
struct Embeddings<'a> {
    words: Table<'a>,
    positions: Table<'a>,
    norm: Norm<'a>,
}

impl<'a> Embeddings<'a> {
    fn next(tensors: &mut Tensors<'a>) -> Result<Self, String> {
        let mut table = |entries: usize| {
            let values = tensors.next(entries * WIDTH)?.into();
            Ok::<_, String>(Table { values, scale: tensors.next(entries)?.into() })
        };
        let (words, positions) = (table(VOCABULARY)?, table(MAX_TOKENS)?);
        Ok(Self { words, positions, norm: next_norm(tensors)? })
    }
}

/// The weights of a layer, with linear layers of type `L`.
struct Layer<'a, L> {
    /// Query, key and value side by side.
    qkv: L,
    output: L,
    attention_norm: Norm<'a>,
    up: L,
    down: L,
    ffn_norm: Norm<'a>,
}

impl<'a, L> Layer<'a, L> {
    /// Returns the next layer, with its linear layers converted.
    fn next(
        tensors: &mut Tensors<'a>,
        convert: impl Fn(LinearWeights<'a>) -> L,
    ) -> Result<Self, String> {
        let linear = |tensors: &mut Tensors<'a>, depth: usize, columns| {
            let values = tensors.next(depth * columns)?.into();
            let (scale, bias) = (tensors.next(columns)?.into(), tensors.next(columns)?.into());
            Ok::<_, String>(convert(LinearWeights { values, scale, bias }))
        };
        Ok(Self {
            qkv: linear(tensors, WIDTH, 3 * WIDTH)?,
            output: linear(tensors, WIDTH, WIDTH)?,
            attention_norm: next_norm(tensors)?,
            up: linear(tensors, WIDTH, FFN)?,
            down: linear(tensors, FFN, WIDTH)?,
            ffn_norm: next_norm(tensors)?,
        })
    }
}

fn next_norm<'a>(tensors: &mut Tensors<'a>) -> Result<Norm<'a>, String> {
    Ok(Norm { gamma: tensors.next(WIDTH)?.into(), beta: tensors.next(WIDTH)?.into() })
}

/// Runs the kernels of one text.
struct Runner<'a> {
    /// The threads that run tasks.
    threads: usize,
    cancel: &'a CancelToken,
}

impl Runner<'_> {
    fn embed(
        &self,
        embeddings: &Embeddings,
        layers: &mut Tensors,
        ids: &[i64],
    ) -> Result<Embedding> {
        let narrow = || vec![0.0; ids.len() * WIDTH];
        let [mut x, mut h, mut sum] = [narrow(), narrow(), narrow()];
        let mut wide = vec![0.0; ids.len() * FFN];
        embed_tokens(ids, &embeddings.words, &embeddings.positions, 0, &mut sum);
        self.run(LayerNorm::new(&embeddings.norm, &sum, &mut x))?;
        for _ in 0..LAYERS {
            let Layer { qkv, output, attention_norm, up, down, ffn_norm } =
                &Layer::next(layers, |linear| linear).map_err(EmbedError::Model)?;
            let projected = &mut wide[..ids.len() * 3 * WIDTH];
            self.run(Linear::new(qkv, &x, None, false, projected))?;
            self.run(SelfAttention::new(projected, &mut h))?;
            self.run(Linear::new(output, &h, Some(&x), false, &mut sum))?;
            self.run(LayerNorm::new(attention_norm, &sum, &mut h))?;
            self.run(Linear::new(up, &h, None, true, &mut wide))?;
            self.run(Linear::new(down, &wide, Some(&h), false, &mut sum))?;
            self.run(LayerNorm::new(ffn_norm, &sum, &mut x))?;
        }
        Ok(pool(&x, WIDTH))
    }

    fn run(&self, kernel: impl Kernel) -> Result<()> {
        if self.cancel.is_cancelled() {
            return Err(EmbedError::Cancelled);
        }
        if kernels::run(kernel) {
            Ok(())
        } else {
            Err(EmbedError::Model("a task of its computation panicked".into()))
        }
    }
}
