//! Turns text into a unit vector with the model all-MiniLM-L6-v2 or with a custom model.
//!
//! ```text
//! text ──► tokens ──► windows        ──► memo ──► backend ──► pooling ──► embedding
//!          text/                         model/   backend/    pooling.rs
//! ```
//!
//! `model` decides which model is used and loads it once per process, `custom` reads custom models, `backend::onnx`
//! runs a model in ONNX Runtime and `backend::native` without it, and `kernels` is the arithmetic of both.
//!
//! Knows nothing of traces, scores or JavaScript.
//!
//! ```no_run
//! use knowledgepulse_embedder::{LongText, ModelSettings, SharedModel};
//! use knowledgepulse_workers::CancelToken;
//!
//! let model = SharedModel::with(ModelSettings::beside("npm/linux-x64-gnu".as_ref()));
//! let embedder = model.get()?;
//! let embedded = embedder.embed("A text", LongText::Window, &CancelToken::default())?;
//! assert_eq!(embedded.embedding.len(), 384);
//! # Ok::<(), knowledgepulse_embedder::EmbedError>(())
//! ```

mod backend;
mod custom;
mod embed_error;
mod embedder;
#[doc(hidden)] // Public for the benchmarks only.
pub mod kernels;
mod model;
mod pooling;
mod text;

pub use backend::{disable_telemetry, loaded_library};
pub use embed_error::EmbedError;
pub use embedder::{Embedded, Embedder};
pub(crate) use model::files::BuiltInFiles;
pub use model::{
    BackendKind, ModelOptions, ModelSettings, Precision, fingerprint,
    shared_model::{LoadState, SharedModel},
};
pub use pooling::Pooling;
pub use text::{LongText, TextBuffer, Tokenizer};

/// The maximum number of tokens in a window of the built-in model, special ones included.
pub const MAX_TOKENS: usize = 512;

/// The length of an embedding of the built-in model.
pub const EMBEDDING_LEN: usize = 384;

pub(crate) type Result<T, E = EmbedError> = std::result::Result<T, E>;

/// A vector of length 1, unless [`ModelOptions::normalize`] is `false`.
pub type Embedding = Box<[f32]>;
