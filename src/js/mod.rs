//! Values and traces from JavaScript, and errors to it.

mod error;
mod scalars;
mod suggest;
pub mod trace;
mod value;

pub use error::{failure_value, forget_exception, or_throw, thrown};
pub use scalars::{alternatives, boolean, integer, invalid, number_in, string};
pub use suggest::suggest;
pub use value::Value;

/// Returns JSON for JavaScript to parse, so that setters on prototypes do not run, and the objects belong to
/// the caller's realm.
pub fn to_json(value: &impl serde::Serialize) -> napi::Result<String> {
    serde_json::to_string(value).map_err(|error| napi::Error::from_reason(error.to_string()))
}
