//! The errors of this crate.

use std::path::{Path, PathBuf};

pub(crate) type Result<T, E = EmbedError> = std::result::Result<T, E>;

/// The reason why there is no embedding. The message names the file if there is one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages document the variants and fields")]
pub enum EmbedError {
    #[error("{}: {what}", path.display())]
    File { path: PathBuf, what: String },
    /// A file does not match the manifest.
    #[error("{} is damaged: expected {expected}, got {found}", path.display())]
    Damaged { path: PathBuf, expected: String, found: String },
    #[error("ONNX Runtime could not be loaded: {0}")]
    Library(String),
    #[error("ONNX Runtime: {0}")]
    Runtime(String),
    #[error("the model: {0}")]
    Model(String),
    #[error("a custom model needs ONNX Runtime, not the backend \"native\"")]
    NeedsOnnx,
    /// An option that only custom models have.
    #[error("{path}: expected no {option}, because this is the built-in model", path = path.display())]
    BuiltIn { path: PathBuf, option: &'static str },
    #[error("there is not enough memory: {bytes} bytes are needed")]
    Memory { bytes: usize },
    #[error("cancelled")]
    Cancelled,
}

impl EmbedError {
    pub(crate) fn file(path: &Path, what: impl ToString) -> Self {
        Self::File { path: path.to_owned(), what: what.to_string() }
    }
}
