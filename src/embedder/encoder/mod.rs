//! The encoder in Rust: what ONNX Runtime does with the exact graph, done with the kernels alone.
//!
//! The operators, their order and their tasks are those of `exact.onnx`, and so are the bits.

mod team;
mod tensors;
#[cfg(test)]
mod tests;

use super::{
    CancelToken, DIMENSIONS, EmbedError, Embedding, MAX_TOKENS, ModelFiles,
    kernels::{
        LayerNorm, Linear, LinearParts, PANEL, SelfAttention, SharedSlice, Table, TokenEmbeddings,
        pool,
    },
};
use team::Team;
use tensors::Tensors;

const WIDTH: usize = DIMENSIONS;
const FFN: usize = 4 * WIDTH;
const LAYERS: usize = 6;
const VOCABULARY: usize = 30_522;
const EPSILON: f32 = 1e-12;

/// More threads would find nothing to do in half of the linear layers, which are 8 tasks each.
const MOST_THREADS: usize = 8;

/// An operation of less work than this is done sooner than another thread has heard of it.
const WORTH_A_THREAD: usize = 100_000;

/// The weights, of the shapes that the kernels want.
pub struct Encoder {
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
    /// Reads the weights and checks them: the file against its digest, the tensors by their shapes.
    ///
    /// # Errors
    ///
    /// What is missing, damaged or of another shape.
    pub fn load(files: &ModelFiles) -> Result<Self, EmbedError> {
        let mut tensors = Tensors::read(files)?;
        let layers = (0..LAYERS).map(|index| Layer::of(&mut tensors, index));
        Ok(Self {
            layers: layers.collect::<Result<_, _>>()?,
            word: Rows::of(&mut tensors, "word", VOCABULARY)?,
            position: Rows::of(&mut tensors, "position", MAX_TOKENS)?,
            norm: Norm::of(&mut tensors, "embeddings")?,
        })
    }

    /// The embedding of 1 to 512 tokens, computed on up to so many `threads`. Their number does not
    /// change the bits.
    ///
    /// # Errors
    ///
    /// [`EmbedError::Cancelled`] when the token was cancelled; a token that is not in the vocabulary.
    pub fn run(
        &self,
        ids: &[i64],
        threads: usize,
        cancel: &CancelToken,
    ) -> Result<Embedding, EmbedError> {
        Team::with(threads.min(MOST_THREADS), |team| Pass { team, cancel }.embed(self, ids))
    }
}

impl Rows {
    fn of(tensors: &mut Tensors, name: &str, entries: usize) -> Result<Self, EmbedError> {
        Ok(Self {
            values: tensors.int16(&format!("{name}.values"), &[entries, WIDTH])?,
            scale: tensors.float32(&format!("{name}.scale"), &[entries])?,
        })
    }

    fn table(&self) -> Table<'_> {
        Table { values: &self.values, scale: &self.scale }
    }
}

impl Norm {
    fn of(tensors: &mut Tensors, name: &str) -> Result<Self, EmbedError> {
        Ok(Self {
            gamma: tensors.float32(&format!("{name}.gamma"), &[WIDTH])?,
            beta: tensors.float32(&format!("{name}.beta"), &[WIDTH])?,
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
            panels: tensors.int16(&format!("{name}.weight"), &panels)?,
            scale: tensors.float32(&format!("{name}.scale"), &[columns])?,
            bias: tensors.float32(&format!("{name}.bias"), &[columns])?,
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
    team: &'a Team,
    cancel: &'a CancelToken,
}

impl Pass<'_> {
    fn embed(&self, encoder: &Encoder, ids: &[i64]) -> Result<Embedding, EmbedError> {
        let (word, position) = (encoder.word.table(), encoder.position.table());
        let embeddings = TokenEmbeddings { ids, word, position };
        if embeddings.width() != Some(WIDTH) || ids.is_empty() {
            let unknown = ids.iter().find(|id| !(0..VOCABULARY as i64).contains(id));
            return Err(EmbedError::Model(match unknown {
                Some(id) => format!("expected tokens from 0 to {}, got {id}", VOCABULARY - 1),
                None => format!("expected 1 to {MAX_TOKENS} tokens, got {}", ids.len()),
            }));
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
        let mut embedding: Embedding = Box::new([0.0; WIDTH]);
        pool(&x, &mut embedding[..]);
        Ok(embedding)
    }

    fn norm(&self, norm: &Norm, x: &[f32], y: &mut [f32]) -> Result<(), EmbedError> {
        let Norm { gamma, beta } = norm;
        let norm = LayerNorm { x, gamma, beta, epsilon: EPSILON, y: SharedSlice::new(y) };
        assert!(norm.fits(), "checked when the model was loaded");
        self.parallel(norm.tasks(), x.len(), |task| {
            // SAFETY: `parallel` does each task once.
            unsafe { norm.run(task) }
        })
    }

    fn linear(&self, parts: LinearParts, x: &[f32], y: &mut [f32]) -> Result<(), EmbedError> {
        let linear = Linear::new(parts, y.len() / parts.scale.len());
        let linear = linear.expect("checked when the model was loaded");
        let y = SharedSlice::new(y);
        self.parallel(linear.tasks(), x.len() * linear.columns() / 16, |task| {
            // SAFETY: `parallel` does each task once.
            unsafe { linear.run(task, x, &y) }
        })
    }

    fn attend(&self, projected: &[f32], y: &mut [f32]) -> Result<(), EmbedError> {
        let operations = y.len() / WIDTH * projected.len() / 8;
        let attention = SelfAttention::new(projected, y).expect("rows of both widths");
        self.parallel(attention.tasks(), operations, |task| attention.run(task))
    }

    /// Does the tasks below `count`, on all threads if the `operations` of them all are many enough.
    fn parallel(
        &self,
        count: usize,
        operations: usize,
        task: impl Fn(usize) + Sync,
    ) -> Result<(), EmbedError> {
        if self.cancel.is_cancelled() {
            return Err(EmbedError::Cancelled);
        }
        if operations < WORTH_A_THREAD {
            (0..count).for_each(task);
            return Ok(());
        }
        let done = self.team.run(count, task);
        done.map_err(|_| EmbedError::Model("a task of its computation panicked".into()))
    }
}
