//! A trace out of JSON, for Rust callers, tests and benchmarks.

use std::convert::Infallible;

use serde_json::Value;

use super::{ReadError, Trace, Type, View, read, view::quote};
use crate::{
    embedder::{LongText, Text},
    error::Result,
};

impl Trace {
    /// Reads a trace from JSON, whose text counts as far as the window reaches.
    ///
    /// # Errors
    ///
    /// `INVALID_TRACE` with the path of the first field that does not fit.
    pub fn from_json(value: &Value) -> Result<Self> {
        Self::from_json_with(value, LongText::Window)
    }

    /// As [`Trace::from_json`], with what counts of a `long` text.
    ///
    /// # Errors
    ///
    /// As [`Trace::from_json`].
    pub fn from_json_with(value: &Value, long: LongText) -> Result<Self> {
        read(&Some(value), long).map_err(|error| match error {
            ReadError::Invalid(error) => error,
            ReadError::Fault(never) => match never {},
        })
    }
}

/// `None` is what JavaScript calls `undefined`.
impl View for Option<&Value> {
    type Fault = Infallible;

    fn type_of(&self) -> Type {
        match self {
            None => Type::Undefined,
            Some(Value::Null) => Type::Null,
            Some(Value::Bool(_)) => Type::Boolean,
            Some(Value::Number(_)) => Type::Number,
            Some(Value::String(_)) => Type::String,
            Some(Value::Array(_) | Value::Object(_)) => Type::Object,
        }
    }

    fn is_array(&self) -> Result<bool, Infallible> {
        Ok(self.is_some_and(Value::is_array))
    }

    fn property(&self, name: &'static str) -> Result<Self, Infallible> {
        Ok(self.and_then(|value| value.get(name)))
    }

    fn length(&self) -> Result<u32, Infallible> {
        let length = self.and_then(Value::as_array).map_or(0, Vec::len);
        Ok(u32::try_from(length).unwrap_or(u32::MAX))
    }

    fn element(&self, index: u32) -> Result<Self, Infallible> {
        Ok(self.and_then(|value| value.get(index as usize)))
    }

    fn boolean(&self) -> Result<bool, Infallible> {
        Ok(self.and_then(Value::as_bool).unwrap_or_default())
    }

    fn number(&self) -> Result<f64, Infallible> {
        Ok(self.and_then(Value::as_f64).unwrap_or(f64::NAN))
    }

    fn string(&self) -> Result<String, Infallible> {
        Ok(self.and_then(Value::as_str).unwrap_or_default().to_owned())
    }

    fn append_to(&self, text: &mut Text) -> Result<(), Infallible> {
        text.push(self.and_then(Value::as_str).unwrap_or_default());
        Ok(())
    }

    fn describe(&self) -> String {
        match self {
            None => "undefined".into(),
            Some(Value::String(text)) => quote(text),
            Some(Value::Array(_)) => "an array".into(),
            Some(Value::Object(_)) => "an object".into(),
            Some(other) => other.to_string(),
        }
    }
}
