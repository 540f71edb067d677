//! Traces from values of `serde_json`, as tests write them.

use std::fmt;

use knowledgepulse_scoring::{
    Error, Result, Trace,
    trace::{TextWriter, Type, View, quote, read},
};
use serde_json::Value;

/// Reads a trace, and writes its text to `text` until that refuses more.
///
/// # Errors
///
/// `INVALID_TRACE` with the path of the first invalid field.
pub fn read_trace(value: &Value, text: &mut impl fmt::Write) -> Result<Trace> {
    read(&JsonView(Some(value)), text)
}

/// A value as a [`View`]. `None` is JavaScript's `undefined`.
#[derive(Clone, Copy)]
pub struct JsonView<'a>(pub Option<&'a Value>);

impl View for JsonView<'_> {
    type Error = Error;

    fn type_of(&self) -> Type {
        match self.0 {
            None => Type::Undefined,
            Some(Value::Null) => Type::Null,
            Some(Value::Bool(_)) => Type::Boolean,
            Some(Value::Number(_)) => Type::Number,
            Some(Value::String(_)) => Type::String,
            Some(Value::Array(_) | Value::Object(_)) => Type::Object,
        }
    }

    fn is_array(&self) -> Result<bool> {
        Ok(self.0.is_some_and(Value::is_array))
    }

    fn property(&self, name: &'static str) -> Result<Self> {
        Ok(Self(self.0.and_then(|value| value.get(name))))
    }

    fn length(&self) -> Result<u32> {
        let length = self.0.and_then(Value::as_array).map_or(0, Vec::len);
        Ok(u32::try_from(length).unwrap_or(u32::MAX))
    }

    fn element(&self, index: u32) -> Result<Self> {
        Ok(Self(self.0.and_then(|value| value.get(index as usize))))
    }

    fn boolean(&self) -> Result<bool> {
        Ok(self.0.and_then(Value::as_bool).unwrap_or_default())
    }

    fn number(&self) -> Result<f64> {
        Ok(self.0.and_then(Value::as_f64).unwrap_or(f64::NAN))
    }

    fn string(&self) -> Result<String> {
        Ok(self.0.and_then(Value::as_str).unwrap_or_default().to_owned())
    }

    fn write_to(&self, text: &mut TextWriter) -> Result<()> {
        text.push(self.0.and_then(Value::as_str).unwrap_or_default());
        Ok(())
    }

    fn describe(&self) -> String {
        match self.0 {
            None => "undefined".into(),
            Some(Value::String(text)) => quote(text),
            Some(Value::Array(_)) => "an array".into(),
            Some(Value::Object(_)) => "an object".into(),
            Some(other) => other.to_string(),
        }
    }
}
