//! The encoder in integers of 8 bits.
//!
//! A task takes a block of tokens through a whole layer, from attention to the queries, keys and values of the
//! next one: threads meet once a layer, and what a token is on its way stays in the caches of a core.

use std::cell::Cell;

use super::{EPSILON, FFN, LAYERS, Layer, Norm, Pass, Rows, VOCABULARY, WIDTH, Weight};
use crate::{
    EmbedError, Embedding, MAX_TOKENS,
    kernels::{
        Kernel, SharedSlice, TokenEmbeddings,
        int8::{
            self, Add, Aligned, Columns, Gelu, Keys, KeysMut, Machine, Multiply, Normalize,
            Projection, Registers, RowsMut, Scratch, Set, Turn, attend, with_registers,
        },
        pool,
    },
    model::tensors::Tensors,
};

/// The tokens of a task: so many that the weights are loaded seldom, and so few that their numbers stay in
/// the second cache.
const MOST_ROWS: usize = 64;

/// Fewer tokens are not worth another thread, which would load all weights for them.
const LEAST_ROWS: usize = 8;

/// The weights in integers.
pub struct Encoder {
    machine: Machine,
    word: Rows,
    position: Rows,
    norm: Norm,
    layers: Vec<IntegerLayer>,
}

struct IntegerWeight {
    columns: Columns,
    bias: Aligned<f32>,
}

struct IntegerLayer {
    qkv: IntegerWeight,
    output: IntegerWeight,
    attention_norm: Norm,
    up: IntegerWeight,
    down: IntegerWeight,
    ffn_norm: Norm,
}

impl IntegerWeight {
    fn of(weight: Weight, machine: Machine) -> Self {
        let parts = weight.parts();
        let block = int8::block(parts.weight.len() / parts.scale.len());
        let columns = with_registers!(machine, registers => Columns::new(registers, parts, block));
        Self { columns, bias: Aligned::copy(&weight.bias) }
    }
}

impl IntegerLayer {
    fn of(layer: Layer, machine: Machine) -> Self {
        let Layer { qkv, output, attention_norm, up, down, ffn_norm } = layer;
        let [qkv, output, up, down] =
            [qkv, output, up, down].map(|weight| IntegerWeight::of(weight, machine));
        Self { qkv, output, attention_norm, up, down, ffn_norm }
    }
}

impl Encoder {
    /// Rounds the weights for the registers of a machine.
    pub fn load(tensors: &mut Tensors, machine: Machine) -> Result<Self, EmbedError> {
        Ok(Self {
            machine,
            word: Rows::of(tensors, "word", VOCABULARY)?,
            position: Rows::of(tensors, "position", MAX_TOKENS)?,
            norm: Norm::of(tensors, "embeddings")?,
            // One layer at a time is in memory as it was.
            layers: (0..LAYERS)
                .map(|index| Ok(IntegerLayer::of(Layer::of(tensors, index)?, machine)))
                .collect::<Result<_, EmbedError>>()?,
        })
    }

    /// Embeds 1 to 512 tokens.
    pub fn embed(&self, pass: &Pass, ids: &[i64]) -> Result<Embedding, EmbedError> {
        with_registers!(self.machine, registers => self.embed_with(registers, pass, ids))
    }

    fn embed_with<R: Registers>(
        &self,
        registers: R,
        pass: &Pass,
        ids: &[i64],
    ) -> Result<Embedding, EmbedError> {
        let embeddings =
            TokenEmbeddings { ids, word: self.word.table(), position: self.position.table() };
        if embeddings.width() != Some(WIDTH) || ids.is_empty() {
            let expected = format!("expected 1 to {MAX_TOKENS} tokens below {VOCABULARY}");
            return Err(EmbedError::Model(format!("{expected}, got {ids:?}")));
        }
        let tokens = ids.len();
        let tasks = tokens.div_ceil(MOST_ROWS).next_multiple_of(pass.threads);
        let tasks = tasks.min(tokens.div_ceil(LEAST_ROWS));
        let rows = tokens.div_ceil(tasks).next_multiple_of(4);
        let mut x = Aligned::zeros(tokens * WIDTH);
        let (mut queries, mut query_scale) = (Aligned::zeros(tokens * WIDTH), vec![0.0; tokens]);
        let [mut keys, mut next_keys] = [Keys::new(tokens), Keys::new(tokens)];
        for layer in 0..=LAYERS {
            pass.run(&Stage {
                registers,
                encoder: self,
                ids,
                rows,
                layer,
                x: SharedSlice::new(&mut x),
                queries: SharedSlice::new(&mut queries),
                query_scale: SharedSlice::new(&mut query_scale),
                keys: &keys,
                next_keys: next_keys.shared(),
            })?;
            std::mem::swap(&mut keys, &mut next_keys);
        }
        let mut embedding: Embedding = Box::new([0.0; WIDTH]);
        pool(&x, &mut embedding[..]);
        Ok(embedding)
    }
}

/// A layer of a text, from its queries, keys and values to those of the next one.
struct Stage<'a, R> {
    registers: R,
    encoder: &'a Encoder,
    ids: &'a [i64],
    /// Tokens of a task.
    rows: usize,
    /// 0 for the embeddings of the tokens; what follows for the layers.
    layer: usize,
    /// \[tokens, 384\]
    x: SharedSlice<'a, f32>,
    /// \[tokens, 384\]
    queries: SharedSlice<'a, u8>,
    /// \[tokens\]
    query_scale: SharedSlice<'a, f32>,
    keys: &'a Keys,
    next_keys: KeysMut<'a>,
}

/// The memory of a task, kept for the next one.
struct Memory {
    /// \[rows, 1536\]
    wide: Aligned<f32>,
    /// \[rows, 1536\]
    bytes: Aligned<u8>,
    scale: [f32; MOST_ROWS],
    attention: Scratch,
}

impl Memory {
    fn new() -> Self {
        Self {
            wide: Aligned::zeros(MOST_ROWS * FFN),
            bytes: Aligned::zeros(MOST_ROWS * FFN),
            scale: [0.0; MOST_ROWS],
            attention: Scratch::default(),
        }
    }
}

thread_local! {
    static MEMORY: Cell<Option<Box<Memory>>> = const { Cell::new(None) };
}

impl<R: Registers> Kernel for Stage<'_, R> {
    fn tasks(&self) -> usize {
        self.ids.len().div_ceil(self.rows)
    }

    fn operations(&self) -> usize {
        self.ids.len() * WIDTH * FFN
    }

    unsafe fn run<S: pulp::Simd>(&self, _: S, task: usize) {
        let mut memory = MEMORY.take().unwrap_or_else(|| Box::new(Memory::new()));
        let first = task * self.rows;
        let rows = self.rows.min(self.ids.len() - first);
        // SAFETY: the rows of a task are its own.
        unsafe { self.run_rows(first, rows, &mut memory) };
        MEMORY.set(Some(memory));
    }
}

impl<R: Registers> Stage<'_, R> {
    /// # Safety
    ///
    /// No other thread has these rows.
    unsafe fn run_rows(&self, first: usize, rows: usize, memory: &mut Memory) {
        let Self { registers, encoder, .. } = *self;
        let numbers = first * WIDTH..(first + rows) * WIDTH;
        // SAFETY: the caller's promise.
        let (x, queries, query_scale) = unsafe {
            (
                self.x.part(numbers.clone()),
                self.queries.part(numbers),
                self.query_scale.part(first..first + rows),
            )
        };
        let (wide, bytes) = (&mut memory.wide, &mut memory.bytes);
        let scale = &mut memory.scale[..rows];
        if self.layer == 0 {
            let ids = &self.ids[first..first + rows];
            let (word, position) = (encoder.word.table(), encoder.position.table().after(first));
            TokenEmbeddings { ids, word, position }.run(WIDTH, x);
            let bytes = &mut bytes[..rows * WIDTH];
            normalize(registers, &encoder.norm, x, Some(RowsMut { bytes, scale }));
        } else {
            let layer = &encoder.layers[self.layer - 1];
            let narrow = &mut bytes[..rows * WIDTH];
            let attended = &mut wide[..rows * WIDTH];
            let query_rows = int8::Rows { bytes: queries, scale: query_scale };
            attend(registers, query_rows, first, self.keys, &mut memory.attention, attended);
            let rounded = RowsMut { bytes: narrow, scale };
            registers.call(Turn { x: attended, rounded });
            let multiplied = int8::Rows { bytes: narrow, scale };
            let IntegerWeight { columns, bias } = &layer.output;
            registers.call(Multiply::<Add>::new(multiplied, columns, bias, x));
            let rounded = RowsMut { bytes: narrow, scale };
            normalize(registers, &layer.attention_norm, x, Some(rounded));
            let multiplied = int8::Rows { bytes: narrow, scale };
            let IntegerWeight { columns, bias } = &layer.up;
            let activated = &mut wide[..rows * FFN];
            registers.call(Multiply::<Gelu>::new(multiplied, columns, bias, activated));
            let broad = &mut bytes[..rows * FFN];
            registers.call(Turn { x: activated, rounded: RowsMut { bytes: broad, scale } });
            let multiplied = int8::Rows { bytes: broad, scale };
            let IntegerWeight { columns, bias } = &layer.down;
            registers.call(Multiply::<Add>::new(multiplied, columns, bias, x));
            let is_last = self.layer == LAYERS;
            let rounded = RowsMut { bytes: &mut bytes[..rows * WIDTH], scale };
            normalize(registers, &layer.ffn_norm, x, (!is_last).then_some(rounded));
        }
        if let Some(layer) = encoder.layers.get(self.layer) {
            let multiplied = int8::Rows { bytes: &bytes[..rows * WIDTH], scale };
            let IntegerWeight { columns, bias } = &layer.qkv;
            let projected = &mut wide[..rows * 3 * WIDTH];
            registers.call(Multiply::<Set>::new(multiplied, columns, bias, projected));
            let queries = RowsMut { bytes: queries, scale: query_scale };
            registers.call(Projection { projected, first, queries, keys: &self.next_keys });
        }
    }
}

fn normalize(registers: impl Registers, norm: &Norm, x: &mut [f32], rounded: Option<RowsMut>) {
    let Norm { gamma, beta } = norm;
    registers.call(Normalize { x, gamma, beta, epsilon: EPSILON, rounded });
}
