//! A loaded model with its tokenizer.

use std::{
    borrow::Cow,
    cell::Cell,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use knowledgepulse_workers::{CancelToken, join};

use crate::{
    EmbedError, Embedding, LongText, ModelSettings, Tokenizer, Window,
    backend::{self, Backend, Loaded},
    folder::{ModelFolder, TOKENIZER},
    memo::Memo,
    memory,
    model_files::file_error,
    pooling,
    source::Source,
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
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TextFacts {
    /// Tokens, the special ones included.
    pub tokens: usize,
    /// Windows, 1 or more.
    pub windows: usize,
    /// Whether the text has more tokens than that.
    pub is_cut: bool,
    /// Whether the embedding was remembered from the same tokens.
    pub from_memo: bool,
    /// The share of its tokens, without special ones, that the vocabulary has only as unknown, in \[0, 1\].
    pub unknown_tokens: f64,
}

/// A loaded model with its tokenizer. Any number of threads may embed at once.
pub struct Embedder {
    tokenizer: Tokenizer,
    backend: Box<dyn Backend>,
    onnx_error: Option<EmbedError>,
    /// Texts that are being embedded.
    running: AtomicUsize,
    memo: Memo,
    /// As the manifest of the built-in model has it.
    name: Option<String>,
    fingerprint: String,
    dimensions: usize,
    /// What the folder says of a model of the user's own.
    folder: Option<Arc<ModelFolder>>,
}

impl Embedder {
    /// Loads the model, and ONNX Runtime if that is to run it. Checks every file of the built-in model that is
    /// used against the manifest beside it.
    ///
    /// # Errors
    ///
    /// What is missing or damaged, and where.
    pub(crate) fn load(
        source: &Source,
        settings: &ModelSettings,
        fingerprint: String,
    ) -> Result<Self, EmbedError> {
        memory::require(source.memory())?;
        let (tokenizer, backend) =
            join(|| source.read_tokenizer(settings), || backend::load(source, settings));
        let panicked = |_| Err(EmbedError::Model("reading the tokenizer panicked".into()));
        let Loaded { backend, onnx_error } = backend?;
        let tokenizer = tokenizer.unwrap_or_else(panicked)?;
        memory::release_free();
        let (running, memo) = Default::default();
        let (name, folder) = match source {
            Source::BuiltIn(files) => (Some(files.name().to_owned()), None),
            Source::Own(folder) => (None, Some(folder.clone())),
        };
        let mut embedder = Self {
            tokenizer,
            backend,
            onnx_error,
            running,
            memo,
            name,
            fingerprint,
            dimensions: 0,
            folder,
        };
        embedder.dimensions = embedder.probe(settings)?;
        Ok(embedder)
    }

    /// Runs the model once, because one that loads may still not run. Returns the length of its vectors.
    fn probe(&self, settings: &ModelSettings) -> Result<usize, EmbedError> {
        let never = CancelToken::default();
        if self.folder.is_none() {
            return Ok(self.embed("", LongText::Window, &never)?.embedding.len());
        }
        let dimensions = self.run(&self.tokenizer.window_of(0), &never)?.len();
        // ONNX Runtime refuses ids that a table has not.
        let largest = self.tokenizer.largest_id();
        self.run(&self.tokenizer.window_of(largest), &never).map_err(|error| {
            let path = settings.folder().join(TOKENIZER);
            file_error(&path, format!("its largest id is {largest}, for which {error}"))
        })?;
        Ok(dimensions)
    }

    /// Returns the name of the model, as the manifest of the built-in one gives it; that of another is the name
    /// of its folder.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Returns what embeddings depend on, as [`crate::fingerprint`] does.
    pub fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    /// Returns the length of its embeddings.
    pub fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// Returns why ONNX Runtime could not be loaded, where the native backend runs the model instead.
    pub fn onnx_error(&self) -> Option<&EmbedError> {
        self.onnx_error.as_ref()
    }

    /// Returns the most tokens of a window, special ones included.
    pub fn max_tokens(&self) -> usize {
        self.tokenizer.max_tokens()
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
        let text = self.prepared(text);
        let (windows, is_cut) = match long {
            LongText::Window => {
                let Window { ids, is_cut } = self.tokenizer.encode_window(&text)?;
                (vec![ids], is_cut)
            }
            LongText::Whole => (self.tokenizer.encode_windows(&text, cancel)?, false),
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
        let normalizes = self.folder.as_ref().is_none_or(|folder| folder.normalize);
        Ok(Embedded {
            text: TextFacts {
                tokens: windows.iter().map(Vec::len).sum(),
                windows: windows.len(),
                is_cut,
                from_memo: !is_computed.get(),
                unknown_tokens: self.unknown_share(&windows),
            },
            embedding: pooling::mean(embeddings, normalizes),
            tokenize: tokenized - begun,
            infer: tokenized.elapsed(),
        })
    }

    /// The text as the tokenizer is to have it.
    fn prepared<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match self.folder.as_deref() {
            Some(ModelFolder { prefix, lowercase, .. }) if *lowercase || !prefix.is_empty() => {
                let text = [prefix, text].concat();
                Cow::Owned(if *lowercase { text.to_lowercase() } else { text })
            }
            _ => Cow::Borrowed(text),
        }
    }

    fn unknown_share(&self, windows: &[Vec<i64>]) -> f64 {
        let counts = windows.iter().map(|ids| self.tokenizer.count_unknown(ids));
        let (tokens, unknown) =
            counts.fold((0, 0), |sum, count| (sum.0 + count.0, sum.1 + count.1));
        if tokens == 0 { 0.0 } else { unknown as f64 / tokens as f64 }
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
