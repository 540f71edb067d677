//! Turns text into a unit vector with the model all-MiniLM-L6-v2 or with a custom model.
//!
//! ```text
//! text ──► tokens ──► window         ──► memo ──► backend ──► pooling ──► embedding
//!          text/                         memo.rs  backend/    pooling.rs
//! ```
//!
//! `sketch` makes vectors without a model. `model` has the settings and the files of the built-in model, `custom` reads
//! custom models, and `shared_model` loads each model once per process. `backend::onnx` runs a model in ONNX
//! Runtime and `backend::native` without it, and `kernels` is the arithmetic of both.
//!
//! Knows nothing of traces, scores or JavaScript.
//!
//! ```no_run
//! use knowledgepulse_embedder::{ModelSettings, PackageFolder, SharedModel};
//! use knowledgepulse_workers::CancelToken;
//!
//! let package = PackageFolder::new("/opt/scoring/npm/linux-x64-gnu".as_ref());
//! let model = SharedModel::with(ModelSettings::of(package));
//! let embedder = model.get()?;
//! let embedded = embedder.embed("A text", &CancelToken::default())?;
//! assert_eq!(embedded.embedding.len(), 384);
//! # Ok::<(), knowledgepulse_embedder::EmbedError>(())
//! ```

mod backend;
mod custom;
mod embed_error;
mod embedder;
#[doc(hidden)] // Public for the benchmarks only.
pub mod kernels;
mod memo;
mod model;
mod pooling;
mod shape;
mod shared_model;
mod sketch;
mod text;

pub use backend::{disable_telemetry, library_version};
pub use embed_error::EmbedError;
pub use embedder::{Embedded, Embedder};
pub use model::{BackendKind, ModelOptions, ModelSettings, PackageFolder, Precision};
pub use pooling::Pooling;
pub use shape::{EMBEDDING_LEN, Embedding, MAX_TOKENS};
pub use shared_model::{LoadState, SharedModel};
pub use sketch::{SKETCH_LEN, joined, sketch};
pub use text::{TextBuffer, Tokenizer};
