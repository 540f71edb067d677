//! The native backend: the model without ONNX Runtime.
//!
//! [`Runner::embed`] is the exact model and `int8_encoder` the fast one.

mod int8_encoder;
#[cfg(test)]
mod tests;
mod weights;

use knowledgepulse_workers::CancelToken;
use memmap2::Mmap;

use super::Backend;
use crate::{
    embed_error::{EmbedError, Result},
    kernels::{
        self, Kept, Kernel, LayerNorm, Linear, SelfAttention, Team, TextThreads, embed_tokens,
        int8::Machine, pool,
    },
    model::{
        files::{BuiltInFiles, WEIGHTS},
        settings::Precision,
    },
    shape::{Embedding, FFN, MAX_TOKENS, VOCABULARY, WIDTH},
};
use int8_encoder::Int8Encoder;
use weights::{Layer, Weights};

/// The model and its threads.
pub(crate) struct NativeModel {
    file: Mmap,
    /// The linear layers in integers, for [`Precision::Fast`].
    fast: Option<Int8Encoder>,
    threads: TextThreads,
}

impl NativeModel {
    /// Maps the weights, and rounds those of the fast model.
    pub(crate) fn load(
        files: &BuiltInFiles,
        precision: Precision,
        threads: TextThreads,
    ) -> Result<Self> {
        let machine = (precision == Precision::Fast).then(Machine::detect);
        // The file begins with the table of words, of which texts need few rows.
        let words = VOCABULARY * WIDTH * size_of::<i16>();
        let file = files.map(WEIGHTS, words)?;
        Self::new(file, machine, threads)
            .map_err(|what| EmbedError::file(&files.path(WEIGHTS), what))
    }

    /// Returns the exact model, or the fast one for the registers of a machine. Fails if the file has another layout.
    fn new(file: Mmap, machine: Option<Machine>, threads: TextThreads) -> Result<Self, String> {
        let weights = Weights::of(&file)?;
        let fast = machine.map(|machine| Int8Encoder::new(&weights, machine, &threads));
        let fast = fast.transpose()?;
        Ok(Self { file, fast, threads })
    }
}

impl Backend for NativeModel {
    fn embed_ids(&self, ids: &[i64], cancel: &CancelToken) -> Result<Embedding> {
        let is_known = |id: &i64| (0..VOCABULARY as i64).contains(id);
        if !(1..=MAX_TOKENS).contains(&ids.len()) || !ids.iter().all(is_known) {
            let expected = format!("expected 1 to {MAX_TOKENS} tokens below {VOCABULARY}");
            return Err(EmbedError::Model(format!("{expected}, got {ids:?}")));
        }
        let weights = &Weights::of(&self.file).map_err(EmbedError::Model)?;
        self.threads.for_text(|team| {
            let runner = Runner { team, cancel };
            match &self.fast {
                None => runner.embed(weights, ids),
                Some(encoder) => encoder.embed(&runner, weights, ids),
            }
        })
    }
}

thread_local! {
    /// The numbers between the kernels of a text.
    static BUFFER: Kept<f32> = const { Kept::new() };
}

/// Runs the kernels of one text.
pub struct Runner<'a> {
    pub team: &'a Team,
    pub cancel: &'a CancelToken,
}

impl Runner<'_> {
    /// Embeds a text with the exact model, in float32.
    pub fn embed(&self, weights: &Weights, ids: &[i64]) -> Result<Embedding> {
        let (narrow, all) = (ids.len() * WIDTH, ids.len() * (3 * WIDTH + FFN));
        let mut buffer = BUFFER.with(|kept| kept.take(all));
        let (x, rest) = buffer[..all].split_at_mut(narrow);
        let (h, rest) = rest.split_at_mut(narrow);
        let (sum, wide) = rest.split_at_mut(narrow);
        embed_tokens(ids, &weights.words, &weights.positions, 0, sum);
        self.run(LayerNorm::new(&weights.norm, sum, x))?;
        for Layer { qkv, output, attention_norm, up, down, ffn_norm } in &weights.layers {
            let projected = &mut wide[..3 * narrow];
            self.run(Linear::new(qkv, x, None, false, projected).by_head())?;
            self.run(SelfAttention::new(projected, h))?;
            self.run(Linear::new(output, h, Some(x), false, sum))?;
            self.run(LayerNorm::new(attention_norm, sum, h))?;
            self.run(Linear::new(up, h, None, true, wide))?;
            self.run(Linear::new(down, wide, Some(h), false, sum))?;
            self.run(LayerNorm::new(ffn_norm, sum, x))?;
        }
        let embedding = pool(x, WIDTH);
        BUFFER.with(|kept| kept.put(buffer));
        Ok(embedding)
    }

    /// Runs a kernel, unless the text is cancelled.
    pub fn run(&self, kernel: impl Kernel) -> Result<()> {
        if self.cancel.is_cancelled() {
            return Err(EmbedError::Cancelled);
        }
        if kernels::run(kernel, self.team) {
            Ok(())
        } else {
            Err(EmbedError::Model("a task of its computation panicked".into()))
        }
    }
}
