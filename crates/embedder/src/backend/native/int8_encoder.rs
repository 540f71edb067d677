//! The encoder in 8-bit integers.
//!
//! A task takes a block of tokens through a whole layer, from the attention to the queries, keys and values of the
//! next layer. So threads synchronise once per layer, and the intermediate results of a block stay in the caches
//! of one core.

use std::cell::Cell;

use once_cell::sync::OnceCell;

use super::{
    Runner,
    weights::{Layer, Weights},
};
use crate::{
    embed_error::Result,
    kernels::{
        Kernel, LinearWeights, SplitSlice, TextThreads, embed_tokens,
        int8::{
            Aligned, Int8Weights, Keys, KeysMut, Machine, Multiply, Normalize, Projection,
            Quantize, Quantized, Registers, attend, with_registers,
        },
        pool,
    },
    shape::{Embedding, FFN, LAYERS, WIDTH},
};

/// The maximum number of tokens in a task: many, so that weights are loaded rarely, but few enough for the
/// second-level cache.
const MAX_ROWS: usize = 64;

/// Fewer tokens do not justify another thread, which would load all weights for them.
const MIN_ROWS: usize = 8;

/// The linear layers in integers, for one kind of registers.
pub struct Int8Encoder {
    machine: Machine,
    layers: Vec<Linears>,
}

/// The linear layers of a [`Layer`] in their order: `qkv`, `output`, `up`, `down`.
type Linears = [Int8Weights; 4];

impl Int8Encoder {
    /// Rounds the weights for the registers of a machine, some layers on each thread.
    pub fn new(weights: &Weights, machine: Machine, threads: &TextThreads) -> Result<Self, String> {
        let convert = |linear: &LinearWeights| with_registers!(machine, registers => Int8Weights::new(registers, linear));
        let layers = [const { OnceCell::new() }; LAYERS];
        let round = |index: usize| {
            let Layer { qkv, output, up, down, .. } = &weights.layers[index];
            let _ = layers[index].set([qkv, output, up, down].map(convert));
        };
        threads.for_text(|team| team.for_each(LAYERS, round));
        let layers = layers.into_iter().map(OnceCell::into_inner).collect::<Option<_>>();
        Ok(Self { machine, layers: layers.ok_or("its weights cannot be rounded")? })
    }

    /// Embeds a text with these layers; the other weights are those of the exact model.
    pub fn embed(&self, runner: &Runner, weights: &Weights, ids: &[i64]) -> Result<Embedding> {
        with_registers!(self.machine, registers => self.embed_with(registers, runner, weights, ids))
    }

    fn embed_with<R: Registers>(
        &self,
        registers: R,
        runner: &Runner,
        weights: &Weights,
        ids: &[i64],
    ) -> Result<Embedding> {
        let tokens = ids.len();
        let tasks = tokens.div_ceil(MAX_ROWS).next_multiple_of(runner.team.threads);
        let tasks = tasks.min(tokens.div_ceil(MIN_ROWS));
        let rows = tokens.div_ceil(tasks);
        let mut x = Aligned::zeros(tokens * WIDTH);
        let (mut queries, mut query_scale) = (Aligned::zeros(tokens * WIDTH), vec![0.0; tokens]);
        let [mut keys, mut next_keys] = [Keys::new(tokens), Keys::new(tokens)];
        for layer in 0..=LAYERS {
            runner.run(LayerKernel {
                registers,
                weights,
                layers: &self.layers,
                ids,
                rows,
                layer,
                x: SplitSlice::new(&mut x),
                queries: SplitSlice::new(&mut queries),
                query_scale: SplitSlice::new(&mut query_scale),
                keys: &keys,
                next_keys: next_keys.split(),
            })?;
            std::mem::swap(&mut keys, &mut next_keys);
        }
        Ok(pool(&x, WIDTH))
    }
}

/// One layer of a text, from its queries, keys and values to those of the next layer. `x` and `queries` are \[tokens, 384\],
/// `query_scale` \[tokens\].
struct LayerKernel<'a, R> {
    registers: R,
    weights: &'a Weights<'a>,
    layers: &'a [Linears],
    ids: &'a [i64],
    /// The tokens of a task.
    rows: usize,
    /// 0 computes the embeddings of the tokens, the numbers after it the layers.
    layer: usize,
    x: SplitSlice<'a, f32>,
    queries: SplitSlice<'a, u8>,
    query_scale: SplitSlice<'a, f32>,
    keys: &'a Keys,
    next_keys: KeysMut<'a>,
}

/// Numbers and bytes \[rows, 1536\].
type Buffers = (Aligned<f32>, Aligned<u8>);

thread_local! {
    /// The buffers of a task, reused by the next one.
    static BUFFERS: Cell<Option<Buffers>> = const { Cell::new(None) };
}

impl<R: Registers> Kernel for LayerKernel<'_, R> {
    fn tasks(&self) -> usize {
        self.ids.len().div_ceil(self.rows)
    }

    unsafe fn run_task<S: pulp::Simd>(&self, _: S, task: usize) {
        let size = MAX_ROWS * FFN;
        let new = || (Aligned::zeros(size), Aligned::zeros(size));
        let mut buffers = BUFFERS.take().unwrap_or_else(new);
        let first = task * self.rows;
        let end = self.ids.len().min(first + self.rows);
        let numbers = first * WIDTH..end * WIDTH;
        // SAFETY: no other thread runs this task, and no other task has these rows.
        let (x, queries, query_scale) = unsafe {
            (
                self.x.part(numbers.clone()),
                self.queries.part(numbers),
                self.query_scale.part(first..end),
            )
        };
        self.compute(first, x, Quantized { bytes: queries, scale: query_scale }, &mut buffers);
        BUFFERS.set(Some(buffers));
    }
}

impl<R: Registers> LayerKernel<'_, R> {
    /// Computes the tokens from `first`, with `x` \[rows, 384\] and their queries.
    fn compute(&self, first: usize, x: &mut [f32], queries: Quantized, buffers: &mut Buffers) {
        let Self { registers, weights, layers, .. } = *self;
        let rows = queries.scale.len();
        let (wide, bytes) = buffers;
        let scale = &mut [0.0; MAX_ROWS][..rows];
        if let Some(index) = self.layer.checked_sub(1) {
            let ([_, output, up, down], norms) = (&layers[index], &weights.layers[index]);
            // What comes after these rows is free, and begins a cache line.
            let (attended, scores) = wide.split_at_mut(rows * WIDTH);
            attend(registers, &queries, first, self.keys, scores, bytes, attended);
            let mut quantized = Quantized { bytes: &mut bytes[..rows * WIDTH], scale };
            registers.call(Quantize { x: attended, gelu: false, quantized: &mut quantized });
            registers.call(Multiply::<true>::new(&quantized, output, x));
            let norm = &norms.attention_norm;
            registers.call(Normalize { x, norm, quantized: Some(&mut quantized) });
            let activated = &mut wide[..rows * FFN];
            registers.call(Multiply::<false>::new(&quantized, up, activated));
            let mut quantized = Quantized { bytes: &mut bytes[..rows * FFN], scale };
            registers.call(Quantize { x: activated, gelu: true, quantized: &mut quantized });
            registers.call(Multiply::<true>::new(&quantized, down, x));
            let mut quantized = Quantized { bytes: &mut bytes[..rows * WIDTH], scale };
            let quantized = (self.layer < LAYERS).then_some(&mut quantized);
            registers.call(Normalize { x, norm: &norms.ffn_norm, quantized });
        } else {
            let ids = &self.ids[first..first + rows];
            embed_tokens(ids, &weights.words, &weights.positions, first, x);
            let mut quantized = Quantized { bytes: &mut bytes[..rows * WIDTH], scale };
            registers.call(Normalize { x, norm: &weights.norm, quantized: Some(&mut quantized) });
        }
        if let Some([qkv, ..]) = layers.get(self.layer) {
            let quantized = &Quantized { bytes: &mut bytes[..rows * WIDTH], scale };
            let projected = &mut wide[..rows * 3 * WIDTH];
            registers.call(Multiply::<false>::new(quantized, qkv, projected));
            // SAFETY: no other task has these tokens.
            let projection = unsafe { Projection::new(projected, first, queries, &self.next_keys) };
            registers.call(projection);
        }
    }
}
