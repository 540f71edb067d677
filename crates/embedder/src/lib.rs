//! Turns text into a unit vector with the model all-MiniLM-L6-v2, or with one of the user's own.
//!
//! ```text
//! text ──► tokens ──► windows        ──► memo ──► backend ──► pooling ──► embedding
//!          text/                                  backend/    pooling.rs
//! ```
//!
//! `backend::onnx` is where ONNX Runtime is called, `backend::native` runs the model without it, and
//! `kernels` is the arithmetic of both. `folder` reads what a folder says of a model of the user's own, which
//! `backend::onnx::own` runs. [`SharedModel`] is a model of the process, loaded on first use.
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
mod embedder;
mod error;
mod external_data;
mod folder;
#[doc(hidden)] // Public for the benchmarks alone.
pub mod kernels;
mod memo;
mod memory;
mod model_files;
mod pooling;
mod precision;
mod shared;
mod source;
mod text;

pub use backend::{BackendKind, disable_telemetry, loaded_library};
pub use embedder::{Embedded, Embedder, TextFacts};
pub use error::EmbedError;
pub(crate) use model_files::ModelFiles;
pub use pooling::Pooling;
pub use precision::Precision;
pub use shared::{LoadState, ModelOptions, ModelSettings, SharedModel, fingerprint};
pub use text::{LongText, TextBuffer, TextWindow, Tokenizer, Window};

/// The tokens of a text that the built-in model sees, `[CLS]` included.
pub const MAX_TOKENS: usize = 512;

/// The length of an embedding of the built-in model.
pub const EMBEDDING_LEN: usize = 384;

/// A text as the model sees it: a vector of length 1, unless [`ModelOptions::normalize`] says otherwise.
pub type Embedding = Box<[f32]>;
