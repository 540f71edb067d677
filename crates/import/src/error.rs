//! Errors of inputs.

use std::sync::Arc;

use serde::Serialize;

/// A stable code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Code {
    /// A line or document is not JSON.
    InvalidJson,
    /// A line is not UTF-8.
    InvalidUtf8,
    /// A reasoning trace cannot be scored.
    InvalidTrace,
    /// An input has nothing of a known format.
    UnknownFormat,
    /// Most records of an input, or all calls of a run, have no known format.
    UnknownRecords,
    /// An input of a known format has no run that gives a trace.
    NoTrace,
    /// A line, a document or a run exceeds a limit, or there is no memory for it.
    TooLarge,
    /// The log does not say whether a run succeeded, and the options do not say what to assume.
    SuccessUnknown,
    /// The caller could not read the whole input.
    Unreadable,
    /// The caller's input cannot be expressed as bytes.
    InvalidOption,
}

/// A code and the message without the line.
pub type Failure = (Code, String);

/// An error of an input. Displayed as `session.jsonl:128: invalid JSON at column 1008: …`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    /// The code.
    pub code: Code,
    /// The caller's name of the input.
    #[serde(rename = "source")]
    pub input: Arc<str>,
    /// The line, from 1, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// The place, what was expected there, and what was found.
    pub message: String,
    /// The invalid field of a trace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
}

impl Error {
    pub(crate) fn new(code: Code, input: &Arc<str>, line: Option<u64>, found: &str) -> Self {
        let place = line.map(|line| format!(":{line}")).unwrap_or_default();
        let message = format!("{input}{place}: {found}");
        Self { code, input: input.clone(), line, message, path: None }
    }
}
