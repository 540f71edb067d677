//! The native backend: the model without ONNX Runtime.
//!
//! The exact model has the operators, the order and the tasks of `exact.onnx`, and therefore the same bits.
//! `int8_encoder` is the fast one.

mod int8_encoder;
#[cfg(test)]
mod tests;

use std::{
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use knowledgepulse_workers::CancelToken;
use once_cell::sync::OnceCell;
use rayon::{ThreadPool, ThreadPoolBuilder, prelude::*};

use super::Backend;
use crate::{
    BuiltInFiles, EMBEDDING_LEN, EmbedError, Embedding, MAX_TOKENS, Precision, Result,
    kernels::{
        self, Kernel, LayerNorm, Linear, LinearWeights, SelfAttention, SharedSlice, Table,
        embed_tokens, int8::Machine, pool,
    },
    model::tensors::Tensors,
};
use int8_encoder::Int8Encoder;

const WIDTH: usize = EMBEDDING_LEN;
const FFN: usize = 4 * WIDTH;
const LAYERS: usize = 6;
const VOCABULARY: usize = 30_522;

/// The maximum number of threads: half of the linear layers have 8 tasks.
const MAX_THREADS: usize = 8;

/// The model, and the threads for a text that is alone.
pub(crate) struct NativeModel {
    encoder: Encoder,
    threads: usize,
    /// Made for the first text that is alone; `None` inside for a single thread, or if the system refuses more.
    pool: OnceCell<Option<Mutex<ThreadPool>>>,
}

/// The weights in the format of a precision.
enum Encoder {
    Exact(Weights<LinearLayer>),
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
        Ok(Self { encoder, threads: threads.min(MAX_THREADS), pool: OnceCell::new() })
    }

    fn pool(&self) -> Option<&Mutex<ThreadPool>> {
        let make = || {
            let name = |index| format!("kp-text-{index}");
            let pool = ThreadPoolBuilder::new().num_threads(self.threads).thread_name(name);
            (self.threads > 1).then(|| pool.build().ok()).flatten().map(Mutex::new)
        };
        self.pool.get_or_init(make).as_ref()
    }
}

impl Backend for NativeModel {
    fn run(&self, ids: &[i64], is_alone: bool, cancel: &CancelToken) -> Result<Embedding> {
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
        let pool = is_alone.then(|| self.pool()).flatten().and_then(|pool| pool.try_lock().ok());
        match pool {
            Some(pool) => pool.install(|| with_spinning_threads(|| embed(self.threads))),
            None => embed(1),
        }
    }
}

/// Runs `work` on a thread of a pool. Meanwhile the other threads look for its tasks without sleeping: waking a
/// thread takes longer than many of the tasks.
fn with_spinning_threads<R: Send>(work: impl FnOnce() -> R + Send) -> R {
    struct Done<'a>(&'a AtomicBool);
    impl Drop for Done<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Release);
        }
    }
    let (is_done, here) = (AtomicBool::new(false), rayon::current_thread_index());
    rayon::scope(|scope| {
        // Also when `work` panics.
        let _done = Done(&is_done);
        scope.spawn_broadcast(|_, context| {
            while Some(context.index()) != here && !is_done.load(Ordering::Acquire) {
                if rayon::yield_now() != Some(rayon::Yield::Executed) {
                    thread::yield_now();
                }
            }
        });
        work()
    })
}

/// The weights of the model, with linear layers of type `L`.
struct Weights<L> {
    words: EmbeddingTable,
    positions: EmbeddingTable,
    norm: Norm,
    layers: Vec<Layer<L>>,
}

/// A table \[entries, 384\] with a factor for each entry.
struct EmbeddingTable {
    values: Box<[i16]>,
    scale: Box<[f32]>,
}

struct Norm {
    gamma: Box<[f32]>,
    beta: Box<[f32]>,
}

/// A linear layer, with a factor and a bias for each column.
struct LinearLayer {
    values: Box<[i16]>,
    scale: Box<[f32]>,
    bias: Box<[f32]>,
}

struct Layer<L> {
    /// Query, key and value side by side.
    qkv: L,
    output: L,
    attention_norm: Norm,
    up: L,
    down: L,
    ffn_norm: Norm,
}

impl<L> Weights<L> {
    /// Reads the weights in the order of the file, and converts the linear layers one by one.
    fn load(tensors: &mut Tensors, convert: impl Fn(LinearLayer) -> L) -> Result<Self> {
        let words = EmbeddingTable::load(tensors, VOCABULARY)?;
        let positions = EmbeddingTable::load(tensors, MAX_TOKENS)?;
        let norm = Norm::load(tensors)?;
        let linear = |tensors: &mut Tensors, depth, columns| {
            LinearLayer::load(tensors, depth, columns).map(&convert)
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

impl EmbeddingTable {
    fn load(tensors: &mut Tensors, entries: usize) -> Result<Self> {
        Ok(Self { values: tensors.next(entries * WIDTH)?, scale: tensors.next(entries)? })
    }

    fn table(&self) -> Table<'_> {
        Table { values: &self.values, scale: &self.scale }
    }
}

impl Norm {
    fn load(tensors: &mut Tensors) -> Result<Self> {
        Ok(Self { gamma: tensors.next(WIDTH)?, beta: tensors.next(WIDTH)? })
    }
}

impl LinearLayer {
    fn load(tensors: &mut Tensors, depth: usize, columns: usize) -> Result<Self> {
        Ok(Self {
            values: tensors.next(depth * columns)?,
            scale: tensors.next(columns)?,
            bias: tensors.next(columns)?,
        })
    }

    fn weights(&self) -> LinearWeights<'_> {
        LinearWeights { values: &self.values, scale: &self.scale, bias: &self.bias }
    }
}

/// Runs the kernels of one text.
struct Runner<'a> {
    /// The threads of the pool on which it runs; 1 if there is no pool.
    threads: usize,
    cancel: &'a CancelToken,
}

impl Runner<'_> {
    fn embed(&self, weights: &Weights<LinearLayer>, ids: &[i64]) -> Result<Embedding> {
        let narrow = || vec![0.0; ids.len() * WIDTH];
        let [mut x, mut h, mut sum] = [narrow(), narrow(), narrow()];
        let mut wide = vec![0.0; ids.len() * FFN];
        embed_tokens(ids, weights.words.table(), weights.positions.table(), 0, &mut sum);
        self.norm(&weights.norm, &sum, &mut x)?;
        for Layer { qkv, output, attention_norm, up, down, ffn_norm } in &weights.layers {
            let projected = &mut wide[..ids.len() * 3 * WIDTH];
            self.linear(qkv, &x, None, false, projected)?;
            self.run(&SelfAttention::new(projected, SharedSlice::new(&mut h)))?;
            self.linear(output, &h, Some(&x), false, &mut sum)?;
            self.norm(attention_norm, &sum, &mut h)?;
            self.linear(up, &h, None, true, &mut wide)?;
            self.linear(down, &wide, Some(&h), false, &mut sum)?;
            self.norm(ffn_norm, &sum, &mut x)?;
        }
        let mut embedding: Embedding = vec![0.0; WIDTH].into();
        pool(&x, &mut embedding[..]);
        Ok(embedding)
    }

    fn norm(&self, Norm { gamma, beta }: &Norm, x: &[f32], y: &mut [f32]) -> Result<()> {
        self.run(&LayerNorm::new(x, gamma, beta, SharedSlice::new(y)))
    }

    fn linear(
        &self,
        layer: &LinearLayer,
        x: &[f32],
        residual: Option<&[f32]>,
        gelu: bool,
        y: &mut [f32],
    ) -> Result<()> {
        self.run(&Linear::new(layer.weights(), x, residual, gelu, SharedSlice::new(y)))
    }

    fn run(&self, kernel: &impl Kernel) -> Result<()> {
        if self.cancel.is_cancelled() {
            return Err(EmbedError::Cancelled);
        }
        let spread = |count, task: &(dyn Fn(usize) + Send + Sync)| {
            if self.threads > 1 {
                (0..count).into_par_iter().with_max_len(1).for_each(task);
            } else {
                (0..count).for_each(task);
            }
            Ok(())
        };
        let panic = || EmbedError::Model("a task of its computation panicked".into());
        kernels::run(kernel, spread, panic)
    }
}
