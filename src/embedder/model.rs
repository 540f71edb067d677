//! The model, on the runtime that the settings name.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use super::{
    CancelToken, EmbedError, Embedding, ModelFiles, Runtime, Settings, encoder::Encoder, runtime,
    session::ModelSession,
};

/// Token ids to embedding. Any number of threads may use it at once.
pub struct Model {
    on: On,
    /// Texts that are being embedded.
    running: AtomicUsize,
}

enum On {
    OnnxRuntime(ModelSession),
    Rust { encoder: Encoder, threads: usize },
}

impl Model {
    /// Loads what the runtime of these settings needs, and nothing of the other one.
    ///
    /// # Errors
    ///
    /// What is missing or damaged.
    pub fn load(files: Arc<ModelFiles>, settings: &Settings) -> Result<Self, EmbedError> {
        let threads = settings.threads;
        let on = match settings.runtime {
            Runtime::OnnxRuntime => {
                let environment = runtime::environment(&settings.library)?;
                let precision = settings.precision;
                On::OnnxRuntime(ModelSession::load(environment, files, precision, threads)?)
            }
            Runtime::Rust => On::Rust { encoder: Encoder::load(&files)?, threads },
        };
        Ok(Self { on, running: AtomicUsize::new(0) })
    }

    /// Embeds one text: with all threads if there is no other one, else with that of the caller.
    ///
    /// # Errors
    ///
    /// [`EmbedError::Cancelled`] when the token was cancelled, else what the runtime says.
    pub fn run(&self, ids: &[i64], cancel: &CancelToken) -> Result<Embedding, EmbedError> {
        let text = Running::among(&self.running);
        let embedding = match &self.on {
            On::OnnxRuntime(session) => session.run(ids, text.is_alone, cancel),
            On::Rust { encoder, threads } => {
                encoder.run(ids, if text.is_alone { *threads } else { 1 }, cancel)
            }
        }?;
        if embedding.iter().any(|x| !x.is_finite()) {
            return Err(EmbedError::Model("it gave a number that is not finite".into()));
        }
        Ok(embedding)
    }
}

/// A text that is being embedded.
struct Running<'a> {
    count: &'a AtomicUsize,
    /// Whether there was no other one when it came.
    is_alone: bool,
}

impl<'a> Running<'a> {
    fn among(count: &'a AtomicUsize) -> Self {
        Self { count, is_alone: count.fetch_add(1, Ordering::SeqCst) == 0 }
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.count.fetch_sub(1, Ordering::SeqCst);
    }
}
