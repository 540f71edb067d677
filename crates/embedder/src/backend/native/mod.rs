//! The native backend: what ONNX Runtime does with the exact graph, done with the kernels alone.
//!
//! The operators, their order and their tasks are those of `exact.onnx`, and so are the bits.

mod tensors;
#[cfg(test)]
mod tests;

use knowledgepulse_tasks::CancelToken;
use once_cell::sync::OnceCell;
use rayon::{ThreadPool, ThreadPoolBuilder, prelude::*};

use super::Backend;
use crate::{
    EMBEDDING_LEN, EmbedError, Embedding, MAX_TOKENS, ModelFiles,
    kernels::{
        self, Kernel, LayerNorm, Linear, LinearParts, PANEL, SelfAttention, SharedSlice, Table,
        TaskPanicked, TokenEmbeddings, pool,
    },
};
use tensors::{Tensor, Tensors};

const WIDTH: usize = EMBEDDING_LEN;
const FFN: usize = 4 * WIDTH;
const LAYERS: usize = 6;
const VOCABULARY: usize = 30_522;
const EPSILON: f32 = 1e-12;

/// More threads would find nothing to do in half of the linear layers, which are 8 tasks each.
const MOST_THREADS: usize = 8;

/// The model, and the threads that work on a text that is alone.
pub(crate) struct NativeModel {
    encoder: Encoder,
    threads: usize,
    /// Made by the first text that is alone; `None` inside where there is one thread, or the system
    /// gives no more.
    pool: OnceCell<Option<ThreadPool>>,
}

impl NativeModel {
    /// Reads the weights and checks them: the file against its digest, the tensors by their shapes.
    pub(crate) fn load(files: &ModelFiles, threads: usize) -> Result<Self, EmbedError> {
        let threads = threads.min(MOST_THREADS);
        Ok(Self { encoder: Encoder::load(files)?, threads, pool: OnceCell::new() })
    }

    fn pool(&self) -> Option<&ThreadPool> {
        let make = || {
            let name = |index| format!("kp-text-{index}");
            let pool = ThreadPoolBuilder::new().num_threads(self.threads).thread_name(name);
            (self.threads > 1).then(|| pool.build().ok()).flatten()
        };
        self.pool.get_or_init(make).as_ref()
    }
}

impl Backend for NativeModel {
    fn run(
        &self,
        ids: &[i64],
        is_alone: bool,
        cancel: &CancelToken,
    ) -> Result<Embedding, EmbedError> {
        match self.pool() {
            Some(pool) if is_alone => {
                pool.install(|| Pass { is_spread: true, cancel }.embed(&self.encoder, ids))
            }
            _ => Pass { is_spread: false, cancel }.embed(&self.encoder, ids),
        }
    }
}

/// The weights, of the shapes that the kernels want.
struct Encoder {
    word: Rows,
    position: Rows,
    norm: Norm,
    layers: Vec<Layer>,
}

/// A table \[entries, 384\] with a scale per entry.
struct Rows {
    values: Tensor<i16>,
    scale: Tensor<f32>,
}

struct Norm {
    gamma: Tensor<f32>,
    beta: Tensor<f32>,
}

/// A linear layer, with a scale and a bias per column.
struct Weight {
    panels: Tensor<i16>,
    scale: Tensor<f32>,
    bias: Tensor<f32>,
}

struct Layer {
    /// Query, key and value side by side.
    qkv: Weight,
    output: Weight,
    attention_norm: Norm,
    up: Weight,
    down: Weight,
    ffn_norm: Norm,
}

impl Encoder {
    fn load(files: &ModelFiles) -> Result<Self, EmbedError> {
        let tensors = Tensors::read(files)?;
        let layers = (0..LAYERS).map(|index| Layer::of(&tensors, index));
        Ok(Self {
            layers: layers.collect::<Result<_, _>>()?,
            word: Rows::of(&tensors, "word", VOCABULARY)?,
            position: Rows::of(&tensors, "position", MAX_TOKENS)?,
            norm: Norm::of(&tensors, "embeddings")?,
        })
    }
}

impl Rows {
    fn of(tensors: &Tensors, name: &str, entries: usize) -> Result<Self, EmbedError> {
        Ok(Self {
            values: tensors.get(&format!("{name}.values"), &[entries, WIDTH])?,
            scale: tensors.get(&format!("{name}.scale"), &[entries])?,
        })
    }

    fn table(&self) -> Table<'_> {
        Table { values: &self.values, scale: &self.scale }
    }
}

impl Norm {
    fn of(tensors: &Tensors, name: &str) -> Result<Self, EmbedError> {
        Ok(Self {
            gamma: tensors.get(&format!("{name}.gamma"), &[WIDTH])?,
            beta: tensors.get(&format!("{name}.beta"), &[WIDTH])?,
        })
    }
}

impl Weight {
    fn of(tensors: &Tensors, name: &str, depth: usize, columns: usize) -> Result<Self, EmbedError> {
        let panels = [columns / PANEL, depth, PANEL];
        Ok(Self {
            panels: tensors.get(&format!("{name}.weight"), &panels)?,
            scale: tensors.get(&format!("{name}.scale"), &[columns])?,
            bias: tensors.get(&format!("{name}.bias"), &[columns])?,
        })
    }

    fn parts(&self) -> LinearParts<'_> {
        let Self { panels: weight, scale, bias } = self;
        LinearParts { weight, scale, bias, residual: None, gelu: false }
    }
}

impl Layer {
    fn of(tensors: &Tensors, index: usize) -> Result<Self, EmbedError> {
        let name = |part: &str| format!("layer{index}.{part}");
        Ok(Self {
            qkv: Weight::of(tensors, &name("qkv"), WIDTH, 3 * WIDTH)?,
            output: Weight::of(tensors, &name("output"), WIDTH, WIDTH)?,
            attention_norm: Norm::of(tensors, &name("attention_norm"))?,
            up: Weight::of(tensors, &name("up"), WIDTH, FFN)?,
            down: Weight::of(tensors, &name("down"), FFN, WIDTH)?,
            ffn_norm: Norm::of(tensors, &name("ffn_norm"))?,
        })
    }
}

/// One text on its way through the encoder.
struct Pass<'a> {
    /// Whether it runs on the pool, and so may spread its tasks over the threads of that.
    is_spread: bool,
    cancel: &'a CancelToken,
}

impl Pass<'_> {
    fn embed(&self, encoder: &Encoder, ids: &[i64]) -> Result<Embedding, EmbedError> {
        let (word, position) = (encoder.word.table(), encoder.position.table());
        let embeddings = TokenEmbeddings { ids, word, position };
        if embeddings.width() != Some(WIDTH) || ids.is_empty() {
            let expected = format!("expected 1 to {MAX_TOKENS} tokens below {VOCABULARY}");
            return Err(EmbedError::Model(format!("{expected}, got {ids:?}")));
        }
        let narrow = || vec![0.0; ids.len() * WIDTH];
        let [mut x, mut h, mut sum] = [narrow(), narrow(), narrow()];
        let mut wide = vec![0.0; ids.len() * FFN];
        embeddings.run(WIDTH, &mut sum);
        self.norm(&encoder.norm, &sum, &mut x)?;
        for Layer { qkv, output, attention_norm, up, down, ffn_norm } in &encoder.layers {
            let projected = &mut wide[..ids.len() * 3 * WIDTH];
            self.linear(qkv.parts(), &x, projected)?;
            self.attend(projected, &mut h)?;
            self.linear(LinearParts { residual: Some(&x), ..output.parts() }, &h, &mut sum)?;
            self.norm(attention_norm, &sum, &mut h)?;
            self.linear(LinearParts { gelu: true, ..up.parts() }, &h, &mut wide)?;
            self.linear(LinearParts { residual: Some(&h), ..down.parts() }, &wide, &mut sum)?;
            self.norm(ffn_norm, &sum, &mut x)?;
        }
        let mut embedding: Embedding = vec![0.0; WIDTH].into();
        pool(&x, &mut embedding[..]);
        Ok(embedding)
    }

    fn norm(&self, norm: &Norm, x: &[f32], y: &mut [f32]) -> Result<(), EmbedError> {
        let Norm { gamma, beta } = norm;
        let norm = LayerNorm { x, gamma, beta, epsilon: EPSILON, y: SharedSlice::new(y) };
        assert!(norm.fits(), "checked when the model was loaded");
        self.run(&norm)
    }

    fn linear(&self, parts: LinearParts, x: &[f32], y: &mut [f32]) -> Result<(), EmbedError> {
        let linear = Linear::new(parts, y.len() / parts.scale.len());
        let product = linear.and_then(|linear| linear.over(x, SharedSlice::new(y)));
        self.run(&product.expect("checked when the model was loaded"))
    }

    fn attend(&self, projected: &[f32], y: &mut [f32]) -> Result<(), EmbedError> {
        let attention = SelfAttention::new(projected, SharedSlice::new(y));
        self.run(&attention.expect("rows of both widths"))
    }

    fn run(&self, kernel: &impl Kernel) -> Result<(), EmbedError> {
        if self.cancel.is_cancelled() {
            return Err(EmbedError::Cancelled);
        }
        kernels::run(kernel, |count, task| {
            if self.is_spread {
                (0..count).into_par_iter().with_max_len(1).for_each(task);
            } else {
                (0..count).for_each(task);
            }
            Ok(())
        })
    }
}

impl From<TaskPanicked> for EmbedError {
    fn from(_: TaskPanicked) -> Self {
        Self::Model("a task of its computation panicked".into())
    }
}
