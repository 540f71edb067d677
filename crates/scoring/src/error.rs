//! The errors of the engine, each with a stable code and, for bad input, the place.

/// Result with this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of the engine. The kind is private; [`Error::code`] is the stable contract.
///
/// ```
/// use knowledgepulse_scoring::{Error, Invalid};
///
/// let error = Error::invalid(Invalid::Trace, "steps[3].type", "a string", 42);
/// assert_eq!(error.code(), "INVALID_TRACE");
/// assert_eq!(error.to_string(), "steps[3].type: expected a string, got 42");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(transparent)]
pub struct Error(#[from] Kind);

/// What of the input does not fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Invalid {
    Trace,
    Option,
    Vector,
    Snapshot,
}

/// What is wrong with a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreFault {
    /// It cannot be reached, or takes too long.
    Unavailable,
    /// It was made with another model, other bounds or another schema.
    Mismatch,
    /// It contains what a log cannot contain.
    Invalid,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
enum Kind {
    #[error("{path}: expected {expected}, got {found}")]
    Invalid { input: Invalid, path: String, expected: String, found: String },
    // The wording is the SDK's.
    #[error("Expected {expected} dimensions, got {found}")]
    VectorLength { expected: usize, found: usize },
    #[error("the embedder is required but not available: {reason}")]
    EmbedderUnavailable { reason: String },
    #[error("{message}")]
    Store { fault: StoreFault, message: String },
    #[error("the call was aborted")]
    Aborted,
    #[error("the scorer is closed")]
    Closed,
    #[error("the system gives no thread: {reason}")]
    NoThreads { reason: String },
    #[error("internal error in the scoring engine: {message}")]
    Internal { message: String },
}

impl Error {
    /// Input that does not fit. `path` is the field, as one writes it in JavaScript.
    pub fn invalid(
        input: Invalid,
        path: impl ToString,
        expected: impl ToString,
        found: impl ToString,
    ) -> Self {
        let [path, expected, found] = [path.to_string(), expected.to_string(), found.to_string()];
        Self(Kind::Invalid { input, path, expected, found })
    }

    /// A vector of another length than the cache holds.
    pub fn vector_length(expected: usize, found: usize) -> Self {
        Self(Kind::VectorLength { expected, found })
    }

    /// The embedder is required but not available.
    pub fn embedder_unavailable(reason: impl ToString) -> Self {
        Self(Kind::EmbedderUnavailable { reason: reason.to_string() })
    }

    /// The store cannot be used.
    pub fn store(fault: StoreFault, message: impl ToString) -> Self {
        Self(Kind::Store { fault, message: message.to_string() })
    }

    /// The scorer is closed.
    pub fn closed() -> Self {
        Self(Kind::Closed)
    }

    /// The caller has aborted the call.
    pub fn aborted() -> Self {
        Self(Kind::Aborted)
    }

    /// The system gives no thread, for instance because of a limit.
    pub fn no_threads(reason: impl ToString) -> Self {
        Self(Kind::NoThreads { reason: reason.to_string() })
    }

    /// A defect of the engine, a caught panic for instance.
    pub fn internal(message: impl ToString) -> Self {
        Self(Kind::Internal { message: message.to_string() })
    }

    /// Returns `INVALID_TRACE`, `INVALID_OPTION`, `INVALID_VECTOR`, `INVALID_SNAPSHOT`,
    /// `EMBEDDER_UNAVAILABLE`, `STORE_UNAVAILABLE`, `STORE_MISMATCH`, `INVALID_STORE`, `ABORTED`,
    /// `CLOSED`, `NO_THREADS` or `INTERNAL`.
    pub fn code(&self) -> &'static str {
        match &self.0 {
            Kind::Invalid { input: Invalid::Trace, .. } => "INVALID_TRACE",
            Kind::Invalid { input: Invalid::Option, .. } => "INVALID_OPTION",
            Kind::Invalid { input: Invalid::Vector, .. } => "INVALID_VECTOR",
            Kind::Invalid { input: Invalid::Snapshot, .. } => "INVALID_SNAPSHOT",
            Kind::VectorLength { .. } => "INVALID_VECTOR",
            Kind::EmbedderUnavailable { .. } => "EMBEDDER_UNAVAILABLE",
            Kind::Store { fault: StoreFault::Unavailable, .. } => "STORE_UNAVAILABLE",
            Kind::Store { fault: StoreFault::Mismatch, .. } => "STORE_MISMATCH",
            Kind::Store { fault: StoreFault::Invalid, .. } => "INVALID_STORE",
            Kind::Aborted => "ABORTED",
            Kind::Closed => "CLOSED",
            Kind::NoThreads { .. } => "NO_THREADS",
            Kind::Internal { .. } => "INTERNAL",
        }
    }

    /// Returns the field that is wrong, for input errors.
    pub fn path(&self) -> Option<&str> {
        match &self.0 {
            Kind::Invalid { path, .. } => Some(path),
            Kind::VectorLength { .. }
            | Kind::EmbedderUnavailable { .. }
            | Kind::Store { .. }
            | Kind::Aborted
            | Kind::Closed
            | Kind::NoThreads { .. }
            | Kind::Internal { .. } => None,
        }
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
