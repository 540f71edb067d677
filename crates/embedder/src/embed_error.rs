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
    /// Only ONNX Runtime runs a model of the user's own.
    #[error(
        "a model of your own needs ONNX Runtime, which the backend \"native\" does without. For musl there is none: use the built-in model there, or a system with glibc, or name a build of your own as library with the backend \"onnx\""
    )]
    NeedsOnnx,
    /// An option that only a model of the user's own has.
    #[error("{path}: expected no {option}, because this is the built-in model", path = path.display())]
    BuiltIn { path: PathBuf, option: &'static str },
    /// There is less memory than the next step takes.
    #[error("there is not enough memory: {bytes} bytes are needed")]
    Memory { bytes: usize },
    /// The caller has cancelled the text.
    #[error("cancelled")]
    Cancelled,
}
