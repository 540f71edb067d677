//! The errors of the engine, each with a stable code and, for invalid input, the place.

use std::{fmt::Display, sync::Arc};

/// Result with this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of the engine.
///
/// ```
/// use knowledgepulse_scoring::{Error, Invalid};
///
/// let error = Error::invalid(Invalid::Trace, "steps[3].type", "a string", 42);
/// assert_eq!(error.code(), "INVALID_TRACE");
/// assert_eq!(error.to_string(), "steps[3].type: expected a string, got 42");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    code: &'static str,
    path: Option<String>,
    message: String,
}

/// The kind of input that is invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Invalid {
    Trace,
    Option,
    Vector,
    Snapshot,
    /// Rows or options of a calibration, with this code.
    Rows(&'static str),
}

/// What is wrong with a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreFault {
    /// It cannot be reached, or takes too long.
    Unavailable,
    /// It was made with another model, other bounds or another schema.
    Mismatch,
    /// It returned an invalid page.
    Invalid,
}

impl Error {
    fn new(code: &'static str, message: impl ToString) -> Self {
        Self { code, path: None, message: message.to_string() }
    }

    /// Invalid input. `path` is the field, as it is written in JavaScript.
    pub fn invalid(
        input: Invalid,
        path: impl ToString,
        expected: impl Display,
        found: impl Display,
    ) -> Self {
        let code = match input {
            Invalid::Trace => "INVALID_TRACE",
            Invalid::Option => "INVALID_OPTION",
            Invalid::Vector => "INVALID_VECTOR",
            Invalid::Snapshot => "INVALID_SNAPSHOT",
            Invalid::Rows(code) => code,
        };
        let path = path.to_string();
        let message = format!("{path}: expected {expected}, got {found}");
        Self { code, path: Some(path), message }
    }

    /// A vector of another length than the cache holds.
    pub fn vector_length(expected: usize, found: usize) -> Self {
        // The wording is the SDK's.
        Self::new("INVALID_VECTOR", format!("Expected {expected} dimensions, got {found}"))
    }

    /// A file with a snapshot cannot be read.
    pub fn snapshot_io(path: &str, reason: impl Display) -> Self {
        let message = format!("cannot read {path}: {reason}");
        Self { code: "SNAPSHOT_IO", path: Some(path.into()), message }
    }

    /// The embedder is not available.
    pub fn embedder_unavailable(reason: impl Display) -> Self {
        Self::new("EMBEDDER_UNAVAILABLE", reason)
    }

    /// The embedder is not available, because ONNX Runtime is not.
    pub fn library_unavailable(reason: impl Display) -> Self {
        Self::new("LIBRARY_UNAVAILABLE", reason)
    }

    /// Returns the error of a call that needs the embedder, which is not available for this reason.
    pub fn of_required(reason: Self) -> Self {
        Self::new(reason.code, format!("the embedder is required but not available: {reason}"))
    }

    /// The store cannot be used.
    pub fn store(fault: StoreFault, message: impl ToString) -> Self {
        let code = match fault {
            StoreFault::Unavailable => "STORE_UNAVAILABLE",
            StoreFault::Mismatch => "STORE_MISMATCH",
            StoreFault::Invalid => "INVALID_STORE",
        };
        Self::new(code, message)
    }

    /// The scorer is closed.
    pub fn closed() -> Self {
        Self::new("CLOSED", "the scorer is closed")
    }

    /// The caller has aborted the call.
    pub fn aborted() -> Self {
        Self::new("ABORTED", "the call was aborted")
    }

    /// The system cannot create a thread, for instance because of a limit.
    pub fn no_threads(reason: impl Display) -> Self {
        Self::new("NO_THREADS", format!("cannot create a thread: {reason}"))
    }

    /// A defect of the engine, a caught panic for instance.
    pub fn internal(message: impl Display) -> Self {
        Self::new("INTERNAL", format!("internal error in the scoring engine: {message}"))
    }

    /// Returns `INVALID_TRACE`, `INVALID_OPTION`, `INVALID_VECTOR`, `INVALID_SNAPSHOT`, `SNAPSHOT_IO`,
    /// `EMBEDDER_UNAVAILABLE`, `LIBRARY_UNAVAILABLE`, `STORE_UNAVAILABLE`, `STORE_MISMATCH`, `INVALID_STORE`, `ABORTED`,
    /// `CLOSED`, `NO_THREADS`, `INTERNAL`, or that of an [`Invalid::Rows`].
    pub fn code(&self) -> &'static str {
        self.code
    }

    /// Returns the field that is invalid, or the file.
    pub fn path(&self) -> Option<&str> {
        self.path.as_deref()
    }
}

/// The message, which reports have.
impl From<Error> for Arc<str> {
    fn from(error: Error) -> Self {
        error.message.into()
    }
}

/// Formats a number for an error message as JavaScript writes it: `0.5`, `1e300`, `Infinity`.
pub fn number(value: f64) -> String {
    match value {
        f64::INFINITY => "Infinity".into(),
        f64::NEG_INFINITY => "-Infinity".into(),
        _ if value != 0.0 && !(1e-6..1e21).contains(&value.abs()) && value.is_finite() => {
            format!("{value:e}")
        }
        _ => value.to_string(),
    }
}
