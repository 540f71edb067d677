//! Turns text into a unit vector with the model all-MiniLM-L6-v2.
//!
//! ```text
//! text ──► tokens ──► windows of 512 ──► memo ──► backend ──► pooling ──► embedding
//!          text/                                  backend/    pooling.rs
//! ```
//!
//! `backend::onnx` is where ONNX Runtime is called, `backend::native` runs the model without it, and
//! `kernels` is the arithmetic of both. [`SharedModel`] is a model of the process, loaded on first use.
//!
//! Knows nothing of traces, scores or JavaScript.
//!
//! ```no_run
//! use knowledgepulse_embedder::{LongText, ModelSettings, SharedModel};
//! use knowledgepulse_tasks::CancelToken;
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
#[doc(hidden)] // Public for the benchmarks alone.
pub mod kernels;
mod memo;
mod memory;
mod model_files;
mod pooling;
mod precision;
mod shared;
mod text;

pub use backend::{BackendKind, disable_telemetry, loaded_library};
pub use embedder::{Embedded, Embedder, TextFacts};
pub use error::EmbedError;
pub use model_files::ModelFiles;
pub use precision::Precision;
pub use shared::{LoadState, ModelSettings, SharedModel};
pub use text::{LongText, TextBuffer, TextWindow, Tokenizer};

/// The tokens of a text that the model sees, `[CLS]` included.
pub const MAX_TOKENS: usize = 512;

/// The length of an embedding.
pub const EMBEDDING_LEN: usize = 384;

/// A text as the model sees it: 384 numbers, a vector of length 1.
pub type Embedding = Box<[f32; EMBEDDING_LEN]>;
