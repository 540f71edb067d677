//! Traces from JavaScript, and errors to it.

mod error;
pub mod trace;

pub use error::{failure_value, forget_exception, or_throw, shown, thrown};

/// Returns JSON for JavaScript to parse, so that setters on prototypes do not run, and the objects belong to
/// the caller's realm.
pub fn to_json(value: &impl serde::Serialize) -> napi::Result<String> {
    serde_json::to_string(value).map_err(|error| napi::Error::from_reason(error.to_string()))
}
