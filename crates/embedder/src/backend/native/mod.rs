//! The native backend: the model with the kernels alone.
//!
//! Exactly, the operators, their order and their tasks are those of `exact.onnx`, and so are the bits;
//! `fast` computes in integers.

mod fast;
mod tensors;
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
    EMBEDDING_LEN, EmbedError, Embedding, MAX_TOKENS, ModelFiles, Precision,
    kernels::{
        self, Kernel, LayerNorm, Linear, LinearParts, PANEL, SelfAttention, SharedSlice, Table,
        TaskPanicked, TokenEmbeddings, int8::Machine, pool,
    },
};
use tensors::Tensors;

const WIDTH: usize = EMBEDDING_LEN;
const FFN: usize = 4 * WIDTH;
const LAYERS: usize = 6;
const VOCABULARY: usize = 30_522;
const EPSILON: f32 = 1e-12;

/// More threads would find nothing to do in half of the linear layers, which are 8 tasks each.
const MOST_THREADS: usize = 8;

/// The model, and the threads that work on a text that is alone.
pub(crate) struct NativeModel {
    arithmetic: Arithmetic,
    threads: usize,
    /// Made by the first text that is alone; `None` inside where there is one thread, or the system
    /// gives no more.
    pool: OnceCell<Option<Mutex<ThreadPool>>>,
}

impl NativeModel {
    /// Reads the weights and checks them: the file against its digest, the tensors by their shapes.
    pub(crate) fn load(
        files: &ModelFiles,
        precision: Precision,
        threads: usize,
    ) -> Result<Self, EmbedError> {
        let mut tensors = Tensors::open(files)?;
        let arithmetic = match precision {
            Precision::Exact => Arithmetic::Exact(Encoder::load(&mut tensors)?),
            Precision::Fast => {
                Arithmetic::Fast(fast::Encoder::load(&mut tensors, Machine::detect())?)
            }
        };
        tensors.finish()?;
        Ok(Self { arithmetic, threads: threads.min(MOST_THREADS), pool: OnceCell::new() })
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
    fn run(
        &self,
        ids: &[i64],
        is_alone: bool,
        cancel: &CancelToken,
    ) -> Result<Embedding, EmbedError> {
        let embed = |threads| {
            let pass = Pass { threads, cancel };
            match &self.arithmetic {
                Arithmetic::Exact(encoder) => pass.embed(encoder, ids),
                Arithmetic::Fast(encoder) => encoder.embed(&pass, ids),
            }
        };
        let pool = is_alone.then(|| self.pool()).flatten().and_then(|pool| pool.try_lock().ok());
        match pool {
            Some(pool) => pool.install(|| awake(|| embed(self.threads))),
            None => embed(1),
        }
    }
}

/// Runs `work` on a thread of a pool, while the others look for parts of it without sleeping: waking one
/// takes longer than many of the parts. One at a time: two would wait for each other's threads.
fn awake<R: Send>(work: impl FnOnce() -> R + Send) -> R {
    struct Done<'a>(&'a AtomicBool);
    impl Drop for Done<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Release);
        }
    }
    let (is_done, here) = (AtomicBool::new(false), rayon::current_thread_index());
    rayon::scope(|scope| {
        // However it ends.
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

/// The weights, as a precision wants them.
enum Arithmetic {
    Exact(Encoder),
    Fast(fast::Encoder),
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
    values: Box<[i16]>,
    scale: Box<[f32]>,
}

struct Norm {
    gamma: Box<[f32]>,
    beta: Box<[f32]>,
}

/// A linear layer, with a scale and a bias per column.
struct Weight {
    panels: Box<[i16]>,
    scale: Box<[f32]>,
    bias: Box<[f32]>,
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
    fn load(tensors: &mut Tensors) -> Result<Self, EmbedError> {
        Ok(Self {
            word: Rows::of(tensors, "word", VOCABULARY)?,
            position: Rows::of(tensors, "position", MAX_TOKENS)?,
            norm: Norm::of(tensors, "embeddings")?,
            layers: (0..LAYERS).map(|index| Layer::of(tensors, index)).collect::<Result<_, _>>()?,
        })
    }
}

impl Rows {
    fn of(tensors: &mut Tensors, name: &str, entries: usize) -> Result<Self, EmbedError> {
        Ok(Self {
            values: tensors.next(&format!("{name}.values"), &[entries, WIDTH])?,
            scale: tensors.next(&format!("{name}.scale"), &[entries])?,
        })
    }

    fn table(&self) -> Table<'_> {
        Table { values: &self.values, scale: &self.scale }
    }
}

impl Norm {
    fn of(tensors: &mut Tensors, name: &str) -> Result<Self, EmbedError> {
        Ok(Self {
            gamma: tensors.next(&format!("{name}.gamma"), &[WIDTH])?,
            beta: tensors.next(&format!("{name}.beta"), &[WIDTH])?,
        })
    }
}

impl Weight {
    fn of(
        tensors: &mut Tensors,
        name: &str,
        depth: usize,
        columns: usize,
    ) -> Result<Self, EmbedError> {
        let panels = [columns / PANEL, depth, PANEL];
        Ok(Self {
            panels: tensors.next(&format!("{name}.weight"), &panels)?,
            scale: tensors.next(&format!("{name}.scale"), &[columns])?,
            bias: tensors.next(&format!("{name}.bias"), &[columns])?,
        })
    }

    fn parts(&self) -> LinearParts<'_> {
        let Self { panels: weight, scale, bias } = self;
        LinearParts { weight, scale, bias, residual: None, gelu: false }
    }
}

impl Layer {
    fn of(tensors: &mut Tensors, index: usize) -> Result<Self, EmbedError> {
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
    /// Those of the pool that it runs on, over which it spreads its tasks; 1 for none.
    threads: usize,
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
            if self.threads > 1 {
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
