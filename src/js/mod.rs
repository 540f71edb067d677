//! What comes from JavaScript: values, traces and options; and errors on their way there.

mod error;
pub mod options;
mod suggest;
pub mod trace;
mod value;

pub use error::{Failure, failure_value, forget_exception, or_throw};
pub use suggest::suggest;
pub use value::{Read, ReadError, Type, Value};
