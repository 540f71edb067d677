//! Why there is no embedding.

use std::path::PathBuf;

/// Why there is no embedding. The message names the file where it is one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages document the fields")]
pub enum EmbedError {
    /// A file is missing or cannot be used.
    #[error("{}: {what}", path.display())]
    File { path: PathBuf, what: String },
    /// A file is not what the manifest says.
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
    /// There is less memory than the next step takes.
    #[error("there is not enough memory: {bytes} bytes are needed")]
    Memory { bytes: usize },
    /// The caller has cancelled the text.
    #[error("cancelled")]
    Cancelled,
}
