//! What comes from JavaScript: values, traces and options; and errors on their way there.

mod error;
pub mod options;
mod suggest;
pub mod trace;
mod value;

pub use error::{Failure, failure_value, forget_exception, or_throw};
pub use suggest::suggest;
pub use value::{Read, ReadError, Value};

/// Returns JSON, which JavaScript parses: setters on prototypes do not see it, and the objects belong to the
/// realm of the caller.
pub fn to_json(value: &impl serde::Serialize) -> napi::Result<String> {
    serde_json::to_string(value).map_err(|error| napi::Error::from_reason(error.to_string()))
}
