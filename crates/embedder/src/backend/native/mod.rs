//! The native backend: the model without ONNX Runtime.
//!
//! The exact model has the operators, the order and the tasks of `exact.onnx`, and therefore the same bits.
//! `int8_encoder` is the fast one.

mod int8_encoder;
#[cfg(test)]
mod tests;

use knowledgepulse_workers::CancelToken;

use super::Backend;
use crate::{
    BuiltInFiles, EMBEDDING_LEN, EmbedError, Embedding, MAX_TOKENS, Precision, Result,
    kernels::{
        self, Kernel, LayerNorm, Linear, LinearWeights, Norm, SelfAttention, Table, Threads,
        embed_tokens, int8::Machine, pool,
    },
    model::tensors::Tensors,
};
use int8_encoder::Int8Encoder;

const WIDTH: usize = EMBEDDING_LEN;
const FFN: usize = 4 * WIDTH;
const LAYERS: usize = 6;
const VOCABULARY: usize = 30_522;

/// The model and its threads.
pub(crate) struct NativeModel {
    encoder: Encoder,
    threads: Threads,
}

/// The weights in the format of a precision.
enum Encoder {
    Exact(Weights<LinearWeights<'static>>),
    Fast(Int8Encoder),
}

impl NativeModel {
    /// Reads the weights, and checks the length and the digest of the file.
    pub(crate) fn load(files: &BuiltInFiles, precision: Precision, threads: usize) -> Result<Self> {
        let mut tensors = Tensors::open(files)?;
        let encoder = match precision {
            Precision::Exact => Encoder::Exact(Weights::load(&mut tensors, |layer| layer)?),
            Precision::Fast => Encoder::Fast(Int8Encoder::load(&mut tensors, Machine::detect())?),
        };
        tensors.finish()?;
        Ok(Self { encoder, threads: Threads::new(threads) })
    }
}

impl Backend for NativeModel {
    fn run(&self, ids: &[i64], cancel: &CancelToken) -> Result<Embedding> {
        let is_known = |id: &i64| (0..VOCABULARY as i64).contains(id);
        if !(1..=MAX_TOKENS).contains(&ids.len()) || !ids.iter().all(is_known) {
            let expected = format!("expected 1 to {MAX_TOKENS} tokens below {VOCABULARY}");
            return Err(EmbedError::Model(format!("{expected}, got {ids:?}")));
        }
        let embed = |threads| {
            let runner = Runner { threads, cancel };
            match &self.encoder {
                Encoder::Exact(weights) => runner.embed(weights, ids),
                Encoder::Fast(encoder) => encoder.embed(&runner, ids),
            }
        };
        self.threads.run(embed)
    }
}

/// The weights of the model, with linear layers of type `L`.
struct Weights<L> {
    words: Table<'static>,
    positions: Table<'static>,
    norm: Norm<'static>,
    layers: Vec<Layer<L>>,
}

struct Layer<L> {
    /// Query, key and value side by side.
    qkv: L,
    output: L,
    attention_norm: Norm<'static>,
    up: L,
    down: L,
    ffn_norm: Norm<'static>,
}

impl<L> Weights<L> {
    /// Reads the weights in the order of the file, and converts the linear layers one by one.
    fn load(tensors: &mut Tensors, convert: impl Fn(LinearWeights<'static>) -> L) -> Result<Self> {
        let words = Table::load(tensors, VOCABULARY)?;
        let positions = Table::load(tensors, MAX_TOKENS)?;
        let norm = Norm::load(tensors)?;
        let linear = |tensors: &mut Tensors, depth: usize, columns| {
            let values = tensors.next(depth * columns)?.into();
            let (scale, bias) = (tensors.next(columns)?.into(), tensors.next(columns)?.into());
            Ok(convert(LinearWeights { values, scale, bias }))
        };
        let layer = |_| {
            Ok(Layer {
                qkv: linear(tensors, WIDTH, 3 * WIDTH)?,
                output: linear(tensors, WIDTH, WIDTH)?,
                attention_norm: Norm::load(tensors)?,
                up: linear(tensors, WIDTH, FFN)?,
                down: linear(tensors, FFN, WIDTH)?,
                ffn_norm: Norm::load(tensors)?,
            })
        };
        Ok(Self { words, positions, norm, layers: (0..LAYERS).map(layer).collect::<Result<_>>()? })
    }
}

impl Table<'_> {
    fn load(tensors: &mut Tensors, entries: usize) -> Result<Self> {
        let values = tensors.next(entries * WIDTH)?.into();
        Ok(Self { values, scale: tensors.next(entries)?.into() })
    }
}

impl Norm<'_> {
    fn load(tensors: &mut Tensors) -> Result<Self> {
        Ok(Self { gamma: tensors.next(WIDTH)?.into(), beta: tensors.next(WIDTH)?.into() })
    }
}

/// Runs the kernels of one text.
struct Runner<'a> {
    /// The threads of the pool on which it runs; 1 if there is no pool.
    threads: usize,
    cancel: &'a CancelToken,
}

impl Runner<'_> {
    fn embed(&self, weights: &Weights<LinearWeights>, ids: &[i64]) -> Result<Embedding> {
        let narrow = || vec![0.0; ids.len() * WIDTH];
        let [mut x, mut h, mut sum] = [narrow(), narrow(), narrow()];
        let mut wide = vec![0.0; ids.len() * FFN];
        embed_tokens(ids, &weights.words, &weights.positions, 0, &mut sum);
        self.run(LayerNorm::new(&weights.norm, &sum, &mut x))?;
        for Layer { qkv, output, attention_norm, up, down, ffn_norm } in &weights.layers {
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
