//! Text to unit vector: tokenizer, model, and the files they come from.
//!
//! A leaf: it knows nothing of traces, scores or JavaScript.

mod cancel;
mod chars;
mod encoder;
mod files;
#[doc(hidden)]
pub mod kernels;
mod memo;
mod memory;
mod model;
mod operators;
mod precision;
mod registry;
mod runtime;
mod session;
mod slot;
mod text;
mod tokenizer;
mod window;
mod windows;

use std::{
    cell::Cell,
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

pub use cancel::CancelToken;
pub use files::{ModelFiles, library_file_name};
pub use precision::Precision;
pub use registry::EmbedderHandle;
pub use runtime::{disable_telemetry, loaded_library};
pub use slot::{EmbedderSlot, Mode, Runtime, Settings, State};
pub use text::{LongText, Text};
pub use tokenizer::Tokenizer;
pub use window::TextWindow;

use memo::Memo;
use model::Model;

use crate::threads;

/// The model sees this many tokens of a text, `[CLS]` included.
pub const MAX_TOKENS: usize = 512;

/// The windows of longer texts are not remembered: one of them would drive out all others.
const MOST_REMEMBERED_WINDOWS: usize = 64;

/// The length of an embedding.
pub const DIMENSIONS: usize = 384;

/// A text as the model sees it: 384 numbers, of length 1 together.
pub type Embedding = Box<[f32; DIMENSIONS]>;

/// An embedding, and what it took.
#[derive(Debug, Clone, PartialEq)]
pub struct Embedded {
    pub embedding: Embedding,
    pub text: TextFacts,
    /// The time for finding the tokens.
    pub tokenize: Duration,
    /// The time for the model, or for finding that it is not needed.
    pub infer: Duration,
}

/// What the model saw of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TextFacts {
    /// Tokens, the special ones included: 2 to 512 a window.
    pub tokens: usize,
    /// Windows, 1 or more.
    pub windows: usize,
    /// Whether the text has more tokens than that.
    pub is_cut: bool,
    /// Whether the same tokens had been embedded before.
    pub is_remembered: bool,
}

impl From<Embedding> for Embedded {
    /// An embedding of which nothing else is known.
    fn from(embedding: Embedding) -> Self {
        let (text, tokenize, infer) = Default::default();
        Self { embedding, text, tokenize, infer }
    }
}

/// Why there is no embedding.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EmbedError {
    #[error("{}: {what}", path.display())]
    File { path: PathBuf, what: String },
    #[error("{} is damaged: expected {expected}, got {found}", path.display())]
    Damaged { path: PathBuf, expected: String, found: String },
    #[error("ONNX Runtime could not be loaded from {}: {reason}", path.display())]
    Library { path: PathBuf, reason: String },
    #[error("ONNX Runtime: {0}")]
    Runtime(String),
    #[error("the model: {0}")]
    Model(String),
    #[error("there is not enough memory: {bytes} bytes are needed")]
    Memory { bytes: usize },
    #[error("switched off")]
    Off,
    #[error("cancelled")]
    Cancelled,
}

/// A loaded model with its tokenizer. Any number of threads may embed at once.
pub struct Embedder {
    tokenizer: Tokenizer,
    model: Model,
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
    pub fn load(settings: &Settings) -> Result<Self, EmbedError> {
        let files = Arc::new(ModelFiles::open(&settings.model_dir)?);
        memory::require(memory::FOR_A_MODEL)?;
        let (tokenizer, model) =
            threads::both(|| files.read_tokenizer(), || Model::load(files.clone(), settings));
        let panicked = |_| Err(EmbedError::Model("reading the tokenizer panicked".into()));
        let (model, tokenizer) = (model?, tokenizer.unwrap_or_else(panicked)?);
        release_free_memory();
        let name = files.name().to_owned();
        let embedder = Self { tokenizer, model, memo: Memo::default(), name };
        // A model that loads may still not run.
        embedder.embed(&Text::default(), &CancelToken::default())?;
        Ok(embedder)
    }

    /// The embedding of a text, which is not computed again where the same tokens were met lately.
    /// That of a text of several windows is the mean of theirs, weighted by their tokens.
    ///
    /// # Errors
    ///
    /// [`EmbedError::Cancelled`] after [`CancelToken::cancel`], or what the runtime says.
    pub fn embed(&self, text: &Text, cancel: &CancelToken) -> Result<Embedded, EmbedError> {
        // The clock is read for the report alone; no result depends on it.
        let begun = Instant::now();
        let (windows, is_cut) = match text {
            Text::Window(window) => {
                let (ids, is_cut) = self.tokenizer.encode_window(window.as_str());
                (vec![ids], is_cut)
            }
            Text::Whole(text) => (self.tokenizer.encode_windows(text, cancel), false),
        };
        let tokenized = Instant::now();
        let is_computed = Cell::new(false);
        let mut embeddings = Vec::with_capacity(windows.len());
        for ids in &windows {
            let compute = || {
                is_computed.set(true);
                memory::require(memory::FOR_A_TEXT)?;
                self.model.run(ids, cancel)
            };
            let embedding = match windows.len() {
                ..=MOST_REMEMBERED_WINDOWS => self.memo.get_or_embed(ids, compute),
                _ => compute(),
            };
            embeddings.push((ids.len(), embedding?));
        }
        Ok(Embedded {
            embedding: windows::pool(embeddings),
            text: TextFacts {
                tokens: windows.iter().map(Vec::len).sum(),
                windows: windows.len(),
                is_cut,
                is_remembered: !is_computed.get(),
            },
            tokenize: tokenized - begun,
            infer: tokenized.elapsed(),
        })
    }

    /// The name of the model, as its manifest gives it.
    pub fn model(&self) -> &str {
        &self.name
    }
}

/// Loading leaves half as much memory again with the allocator as the model needs.
fn release_free_memory() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: it only gives free pages back to the system, and may be called on any thread.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// What a scorer needs of an embedder, so that its order can be tested without a model.
pub trait Embed: Send + Sync {
    /// The embedding of a text.
    ///
    /// # Errors
    ///
    /// Why there is none.
    fn embed(&self, text: &Text, cancel: &CancelToken) -> Result<Embedded, EmbedError>;

    /// Whether a score without an embedding is an error.
    fn is_required(&self) -> bool;
}

impl Embed for EmbedderHandle {
    fn embed(&self, text: &Text, cancel: &CancelToken) -> Result<Embedded, EmbedError> {
        self.get()?.embed(text, cancel)
    }

    fn is_required(&self) -> bool {
        self.settings().mode == Mode::Required
    }
}
