//! The errors of this crate.

use std::path::{Path, PathBuf};

/// The reason why there is no embedding. The message names the file if there is one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages document the fields")]
pub enum EmbedError {
    /// A file is missing or cannot be used.
    #[error("{}: {what}", path.display())]
    File { path: PathBuf, what: String },
    /// A file does not match the manifest.
    #[error("{} is damaged: expected {expected}, got {found}", path.display())]
    Damaged { path: PathBuf, expected: String, found: String },
    /// The ONNX Runtime library cannot be used.
    #[error("ONNX Runtime could not be loaded from {}: {reason}", path.display())]
    Library { path: PathBuf, reason: String },
    /// ONNX Runtime reports an error.
    #[error("ONNX Runtime: {0}")]
    Runtime(String),
    /// The model cannot be run.
    #[error("the model: {0}")]
    Model(String),
    /// Only ONNX Runtime runs custom models.
    #[error(
        "a custom model needs ONNX Runtime, not the backend \"native\". There is no ONNX Runtime for musl: use the built-in model there, or a system with glibc, or name a library that you have built and set the backend \"onnx\""
    )]
    NeedsOnnx,
    /// An option that only custom models have.
    #[error("{path}: expected no {option}, because this is the built-in model", path = path.display())]
    BuiltIn { path: PathBuf, option: &'static str },
    /// There is not enough memory.
    #[error("there is not enough memory: {bytes} bytes are needed")]
    Memory { bytes: usize },
    /// The caller has cancelled the text.
    #[error("cancelled")]
    Cancelled,
}

impl EmbedError {
    pub(crate) fn file(path: &Path, what: impl ToString) -> Self {
        Self::File { path: path.to_owned(), what: what.to_string() }
    }
}
