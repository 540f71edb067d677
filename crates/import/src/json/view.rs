//! Reads traces from values.

use std::{cell::Cell, fmt::Write};

use knowledgepulse_scoring::{
    Error, Result, Trace,
    trace::{TextWriter, Type, View, quote, read},
};

use super::{Array, Kind, Members, Value, value::Elements};

impl Value<'_> {
    /// Reads a trace, and writes its text to `text` until that refuses more.
    ///
    /// # Errors
    ///
    /// `INVALID_TRACE` with the path of the first invalid field.
    pub fn to_trace(self, text: &mut impl Write) -> Result<Trace> {
        read(&Field::new(Some(self)), text)
    }
}

/// A value, or JavaScript's `undefined`.
struct Field<'d> {
    value: Option<Value<'d>>,
    /// The index of the next element, and the elements from there on. Elements are read in order.
    next: Cell<Option<(u32, Elements<'d>)>>,
}

impl<'d> Field<'d> {
    fn new(value: Option<Value<'d>>) -> Self {
        Self { value, next: Cell::new(None) }
    }

    fn elements(&self) -> Option<Elements<'d>> {
        self.value.and_then(Value::as_array).map(Array::iter)
    }
}

impl View for Field<'_> {
    type Error = Error;

    fn type_of(&self) -> Type {
        match self.value.map(Value::kind) {
            None => Type::Undefined,
            Some(Kind::Null) => Type::Null,
            Some(Kind::Bool(_)) => Type::Boolean,
            Some(Kind::Number(_)) => Type::Number,
            Some(Kind::String(_)) => Type::String,
            Some(Kind::Array(_) | Kind::Object(_)) => Type::Object,
        }
    }

    fn is_array(&self) -> Result<bool> {
        Ok(self.value.is_some_and(Value::is_array))
    }

    fn property(&self, name: &'static str) -> Result<Self> {
        Ok(Self::new(self.value.and_then(|value| value.get(name))))
    }

    fn length(&self) -> Result<u32> {
        let length = self.elements().map_or(0, Iterator::count);
        Ok(u32::try_from(length).unwrap_or(u32::MAX))
    }

    fn element(&self, index: u32) -> Result<Self> {
        let known = self.next.take().filter(|(next, _)| *next == index).map(|(_, rest)| rest);
        let Some(mut rest) = known.or_else(|| self.elements()) else { return Ok(Self::new(None)) };
        let skipped = if known.is_some() { 0 } else { index };
        let element = rest.nth(skipped as usize);
        self.next.set(Some((index + 1, rest)));
        Ok(Self::new(element))
    }

    fn boolean(&self) -> Result<bool> {
        Ok(self.value.and_then(Value::as_bool).unwrap_or_default())
    }

    fn number(&self) -> Result<f64> {
        Ok(self.value.and_then(Value::as_f64).unwrap_or(f64::NAN))
    }

    fn string(&self) -> Result<String> {
        Ok(self.value.and_then(Value::as_str).unwrap_or_default().to_owned())
    }

    fn write_to(&self, text: &mut TextWriter) -> Result<()> {
        text.push(self.value.and_then(Value::as_str).unwrap_or_default());
        Ok(())
    }

    fn describe(&self) -> String {
        match self.value.map(|value| (value, value.kind())) {
            None => "undefined".into(),
            Some((_, Kind::String(text))) => quote(text),
            Some((_, Kind::Array(_))) => "an array".into(),
            Some((_, Kind::Object(_))) => "an object".into(),
            Some((other, _)) => other.to_string(),
        }
    }
}
