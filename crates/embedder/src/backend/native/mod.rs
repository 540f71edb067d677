//! The native backend: the model without ONNX Runtime.
//!
//! The exact model has the operators, the order and the tasks of `exact.onnx`, and therefore the same bits.
//! `int8_encoder` is the fast one.

mod int8_encoder;
mod runner;
#[cfg(test)]
mod tests;
mod weights;

use knowledgepulse_workers::CancelToken;
use memmap2::Mmap;

use super::loaded::Backend;
use crate::{
    embed_error::{EmbedError, Result},
    kernels::{TextThreads, int8::Machine},
    model::{
        files::{BuiltInFiles, Unverified, WEIGHTS},
        settings::Precision,
    },
    shape::{Embedding, MAX_TOKENS, VOCABULARY},
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
        threads: usize,
    ) -> Result<Unverified<Box<dyn Backend>>> {
        let machine = (precision == Precision::Fast).then(Machine::detect);
        let model = Self::new(files.map(WEIGHTS)?, machine, threads)
            .map_err(|what| EmbedError::file(&files.path(WEIGHTS), what))?;
        Ok(Unverified::new(Box::new(model)))
    }

    /// Returns the exact model, or the fast one for the registers of a machine. Fails if the file has another layout.
    fn new(file: Mmap, machine: Option<Machine>, threads: usize) -> Result<Self, String> {
        let weights = Weights::of(&file)?;
        let fast = machine.map(|machine| Int8Encoder::new(&weights, machine));
        Ok(Self { file, fast, threads: TextThreads::new(threads) })
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
