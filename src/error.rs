//! What can go wrong, each with a stable code and, for bad input, the place.

use std::{fmt, path::Path};

/// Result with this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of the engine. The kind is private; [`Error::code`] is the stable contract.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error(Kind);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Kind {
    Invalid { code: &'static str, path: String, expected: String, found: String },
    Dimensions { expected: usize, found: usize },
    EmbedderUnavailable { reason: String },
    Closed,
    Aborted,
    File { path: String, doing: &'static str, reason: String },
    Internal { message: String },
}

impl Error {
    /// A trace that cannot be scored: `path` is the field, as one would write it in JavaScript.
    pub fn invalid_trace(
        path: impl ToString,
        expected: impl ToString,
        found: impl ToString,
    ) -> Self {
        Self::invalid("INVALID_TRACE", path, expected, found)
    }

    /// An option that a constructor or a settings call cannot take.
    pub fn invalid_option(
        path: impl ToString,
        expected: impl ToString,
        found: impl ToString,
    ) -> Self {
        Self::invalid("INVALID_OPTION", path, expected, found)
    }

    /// A vector element that is not a finite number, or something that is no vector at all.
    pub fn invalid_vector(
        path: impl ToString,
        expected: impl ToString,
        found: impl ToString,
    ) -> Self {
        Self::invalid("INVALID_VECTOR", path, expected, found)
    }

    /// Bytes that are no snapshot for us: `place` is where they come from, and where in them.
    pub fn invalid_snapshot(
        place: impl ToString,
        expected: impl ToString,
        found: impl ToString,
    ) -> Self {
        Self::invalid("INVALID_SNAPSHOT", place, expected, found)
    }

    /// A snapshot file that the system does not let us read or write: `doing` says which.
    pub fn snapshot_io(path: &Path, doing: &'static str, reason: impl ToString) -> Self {
        let path = path.display().to_string();
        Self(Kind::File { path, doing, reason: reason.to_string() })
    }

    fn invalid(
        code: &'static str,
        path: impl ToString,
        expected: impl ToString,
        found: impl ToString,
    ) -> Self {
        Self(Kind::Invalid {
            code,
            path: path.to_string(),
            expected: expected.to_string(),
            found: found.to_string(),
        })
    }

    /// A vector of another length than the cache holds.
    pub fn dimensions(expected: usize, found: usize) -> Self {
        Self(Kind::Dimensions { expected, found })
    }

    /// The embedder is required but cannot be had.
    pub fn embedder_unavailable(reason: impl ToString) -> Self {
        Self(Kind::EmbedderUnavailable { reason: reason.to_string() })
    }

    /// The scorer was closed, because its JavaScript environment is ending.
    pub fn closed() -> Self {
        Self(Kind::Closed)
    }

    /// The caller has given the call up.
    pub fn aborted() -> Self {
        Self(Kind::Aborted)
    }

    /// A defect of the engine, a caught panic for instance.
    pub fn internal(message: impl ToString) -> Self {
        Self(Kind::Internal { message: message.to_string() })
    }

    /// `INVALID_TRACE`, `INVALID_OPTION`, `INVALID_VECTOR`, `INVALID_SNAPSHOT`, `SNAPSHOT_IO`,
    /// `EMBEDDER_UNAVAILABLE`, `CLOSED`, `ABORTED` or `INTERNAL`.
    pub fn code(&self) -> &'static str {
        match &self.0 {
            Kind::Invalid { code, .. } => code,
            Kind::Dimensions { .. } => "INVALID_VECTOR",
            Kind::EmbedderUnavailable { .. } => "EMBEDDER_UNAVAILABLE",
            Kind::Closed => "CLOSED",
            Kind::Aborted => "ABORTED",
            Kind::File { .. } => "SNAPSHOT_IO",
            Kind::Internal { .. } => "INTERNAL",
        }
    }

    /// The field that is wrong, for input errors; the file, where the system refuses it.
    pub fn path(&self) -> Option<&str> {
        match &self.0 {
            Kind::Invalid { path, .. } | Kind::File { path, .. } => Some(path),
            _ => None,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Invalid { path, expected, found, .. } => {
                write!(f, "{path}: expected {expected}, got {found}")
            }
            Kind::Dimensions { expected, found } => {
                write!(f, "Expected {expected} dimensions, got {found}")
            }
            Kind::EmbedderUnavailable { reason } => {
                write!(f, "the embedder is required but not available: {reason}")
            }
            Kind::Aborted => f.write_str("the call was aborted"),
            Kind::Closed => f.write_str("the scorer is closed"),
            Kind::File { path, doing, reason } => write!(f, "cannot {doing} {path}: {reason}"),
            Kind::Internal { message } => {
                write!(f, "internal error in the scoring engine: {message}")
            }
        }
    }
}

impl std::error::Error for Error {}

/// A number as error messages show it, in the manner of JavaScript: `0.5`, `1e300`, `Infinity`.
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
