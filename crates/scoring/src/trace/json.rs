//! A trace from JSON.

use std::fmt;

use serde_json::Value;

use super::{TextWriter, Trace, Type, View, read, view::quote};
use crate::error::{Error, Result};

impl Trace {
    /// Reads a trace from JSON, and writes its text to `text` until that refuses more.
    ///
    /// ```
    /// use knowledgepulse_scoring::Trace;
    ///
    /// let json = serde_json::json!({
    ///     "metadata": { "task_domain": "code", "success": true },
    ///     "task": { "objective": "Find the race" },
    ///     "steps": [{ "type": "thought", "content": "It fails once in twenty runs" }],
    ///     "outcome": { "confidence": 0.9 },
    /// });
    /// let mut text = String::new();
    /// let trace = Trace::from_json(&json, &mut text)?;
    /// assert_eq!(text, "Find the race It fails once in twenty runs");
    /// assert_eq!(trace.domain(), "code");
    /// # Ok::<(), knowledgepulse_scoring::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// `INVALID_TRACE` with the path of the first field that does not fit.
    pub fn from_json(value: &Value, text: &mut impl fmt::Write) -> Result<Self> {
        read(&Some(value), text)
    }
}

/// `None` is what JavaScript calls `undefined`.
impl View for Option<&Value> {
    type Error = Error;

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

    fn is_array(&self) -> Result<bool> {
        Ok(self.is_some_and(Value::is_array))
    }

    fn property(&self, name: &'static str) -> Result<Self> {
        Ok(self.and_then(|value| value.get(name)))
    }

    fn length(&self) -> Result<u32> {
        let length = self.and_then(Value::as_array).map_or(0, Vec::len);
        Ok(u32::try_from(length).unwrap_or(u32::MAX))
    }

    fn element(&self, index: u32) -> Result<Self> {
        Ok(self.and_then(|value| value.get(index as usize)))
    }

    fn boolean(&self) -> Result<bool> {
        Ok(self.and_then(Value::as_bool).unwrap_or_default())
    }

    fn number(&self) -> Result<f64> {
        Ok(self.and_then(Value::as_f64).unwrap_or(f64::NAN))
    }

    fn string(&self) -> Result<String> {
        Ok(self.and_then(Value::as_str).unwrap_or_default().to_owned())
    }

    fn write_to(&self, text: &mut TextWriter) -> Result<()> {
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
