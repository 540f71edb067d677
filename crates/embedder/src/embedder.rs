//! A loaded model with its tokenizer.

use std::{
    cell::Cell,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use knowledgepulse_tasks::{CancelToken, join};

use crate::{
    EmbedError, Embedding, LongText, ModelFiles, ModelSettings, Tokenizer,
    backend::{self, Backend},
    memo::Memo,
    memory, pooling,
};

/// The windows of longer texts are not remembered: one of them would drive out all others.
const MOST_REMEMBERED_WINDOWS: usize = 64;

/// An embedding, and what it took.
#[derive(Debug, Clone, PartialEq)]
pub struct Embedded {
    /// The embedding.
    pub embedding: Embedding,
    /// What the model saw of the text.
    pub text: TextFacts,
    /// The time for finding the tokens.
    pub tokenize: Duration,
    /// The time for the model, or for finding that it is not needed.
    pub infer: Duration,
}

/// What the model saw of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextFacts {
    /// Tokens, the special ones included: 2 to 512 a window.
    pub tokens: usize,
    /// Windows, 1 or more.
    pub windows: usize,
    /// Whether the text has more tokens than that.
    pub is_cut: bool,
    /// Whether the embedding was remembered from the same tokens.
    pub from_memo: bool,
}

/// A loaded model with its tokenizer. Any number of threads may embed at once.
pub struct Embedder {
    tokenizer: Tokenizer,
    backend: Box<dyn Backend>,
    /// Texts that are being embedded.
    running: AtomicUsize,
    memo: Memo,
    name: String,
}

impl Embedder {
    /// Loads the model, and ONNX Runtime if that is to run it. Checks every file that is used against
    /// the manifest beside it.
    ///
    /// # Errors
    ///
    /// What is missing or damaged, and where.
    pub fn load(settings: &ModelSettings) -> Result<Self, EmbedError> {
        let files = Arc::new(ModelFiles::open(&settings.model_dir)?);
        memory::require(memory::FOR_A_MODEL)?;
        let (tokenizer, backend) =
            join(|| files.read_tokenizer(), || backend::load(files.clone(), settings));
        let panicked = |_| Err(EmbedError::Model("reading the tokenizer panicked".into()));
        let (backend, tokenizer) = (backend?, tokenizer.unwrap_or_else(panicked)?);
        memory::release_free();
        let (running, memo, name) = (AtomicUsize::new(0), Memo::default(), files.name().to_owned());
        let embedder = Self { tokenizer, backend, running, memo, name };
        // A model that loads may still not run.
        embedder.embed("", LongText::Window, &CancelToken::default())?;
        Ok(embedder)
    }

    /// Returns the name of the model, as its manifest gives it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the embedding of a text, from the memo where the same tokens were embedded lately. That
    /// of a text of several windows is the mean of theirs, weighted by their tokens.
    ///
    /// # Errors
    ///
    /// [`EmbedError::Cancelled`] after [`CancelToken::cancel`], or what the backend reports.
    pub fn embed(
        &self,
        text: &str,
        long: LongText,
        cancel: &CancelToken,
    ) -> Result<Embedded, EmbedError> {
        // The clock is read for the report alone; no result depends on it.
        let begun = Instant::now();
        let (windows, is_cut) = match long {
            LongText::Window => {
                let (ids, is_cut) = self.tokenizer.encode_window(text);
                (vec![ids], is_cut)
            }
            LongText::Whole => (self.tokenizer.encode_windows(text, cancel), false),
        };
        let tokenized = Instant::now();
        let is_computed = Cell::new(false);
        let mut embeddings = Vec::with_capacity(windows.len());
        for ids in &windows {
            let compute = || {
                is_computed.set(true);
                memory::require(memory::FOR_A_TEXT)?;
                self.run(ids, cancel)
            };
            let embedding = match windows.len() {
                ..=MOST_REMEMBERED_WINDOWS => self.memo.get_or_embed(ids, compute),
                _ => compute(),
            };
            embeddings.push((ids.len(), embedding?));
        }
        Ok(Embedded {
            text: TextFacts {
                tokens: windows.iter().map(Vec::len).sum(),
                windows: windows.len(),
                is_cut,
                from_memo: !is_computed.get(),
            },
            embedding: pooling::mean(embeddings),
            tokenize: tokenized - begun,
            infer: tokenized.elapsed(),
        })
    }

    /// Runs the model over one window: with all threads if it is alone, else with that of the caller.
    fn run(&self, ids: &[i64], cancel: &CancelToken) -> Result<Embedding, EmbedError> {
        /// Ends the count of a window, also when it panics.
        struct Running<'a>(&'a AtomicUsize);

        impl Drop for Running<'_> {
            fn drop(&mut self) {
                self.0.fetch_sub(1, Ordering::SeqCst);
            }
        }

        let is_alone = self.running.fetch_add(1, Ordering::SeqCst) == 0;
        let _running = Running(&self.running);
        let embedding = self.backend.run(ids, is_alone, cancel)?;
        if embedding.iter().any(|x| !x.is_finite()) {
            return Err(EmbedError::Model("it gave a number that is not finite".into()));
        }
        Ok(embedding)
    }
}
