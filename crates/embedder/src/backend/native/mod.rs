//! The native backend: the model without ONNX Runtime.
//!
//! `runner` is the exact model and `int8_encoder` the fast one.

mod int8_encoder;
mod runner;
#[cfg(test)]
mod tests;
mod weights;

use knowledgepulse_workers::CancelToken;
use memmap2::Mmap;

use super::Backend;
use crate::{
    embed_error::{EmbedError, Result},
    kernels::{TextThreads, int8::Machine},
    model::{
        files::{BuiltInFiles, WEIGHTS},
        settings::Precision,
    },
    shape::{Embedding, MAX_TOKENS, VOCABULARY, WIDTH},
};
use int8_encoder::Int8Encoder;
use runner::Runner;
use weights::Weights;

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
        let file = files.map(WEIGHTS, &threads, words)?;
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
        self.threads.for_text(|threads| {
            let runner = Runner { threads, cancel };
            match &self.fast {
                None => runner.embed(weights, ids),
                Some(encoder) => encoder.embed(&runner, weights, ids),
            }
        })
    }
}
