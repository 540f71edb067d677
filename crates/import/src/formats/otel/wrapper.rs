//! Attributes, which OTLP has in wrappers such as `{ "intValue": "1" }`.

use crate::prelude::*;

#[derive(Clone, Copy)]
pub(super) enum Attribute<'d> {
    Plain(Value<'d>),
    /// In OTLP's wrapper, if it has one.
    Wrapped(Value<'d>),
}

/// Returns the attributes of an object, or of an array of keys and values.
pub(super) fn members<'d>(
    value: Option<Value<'d>>,
) -> impl Iterator<Item = (&'d str, Attribute<'d>)> + Clone {
    let plain = value.into_iter().flat_map(Value::members);
    let plain = plain.map(|(name, value)| (name, Attribute::Plain(value)));
    let pairs = value.and_then(Value::as_array).into_iter().flatten();
    let wrapped =
        |pair: Value<'d>| Some((pair.text("key")?, Attribute::Wrapped(pair.get("value")?)));
    plain.chain(pairs.filter_map(wrapped))
}

impl<'d> Attribute<'d> {
    pub(super) fn is_null(self) -> bool {
        let (Self::Plain(value) | Self::Wrapped(value)) = self;
        self.recorded().map_or_else(|| value.members().next().is_none(), Value::is_null)
    }

    /// Returns the value, if it is in the log without wrappers in it.
    pub(super) fn recorded(self) -> Option<Value<'d>> {
        let value = match self {
            Self::Wrapped(value) if value.is_object() => value,
            Self::Plain(value) | Self::Wrapped(value) => return Some(value),
        };
        match value.members().next()? {
            ("arrayValue" | "kvlistValue", _) => None,
            ("intValue", inner) if inner.is_string() => None,
            ("stringValue" | "intValue" | "boolValue" | "doubleValue" | "bytesValue", inner) => {
                Some(inner)
            }
            _ => Some(value),
        }
    }
}

/// Adds an attribute without its wrapper.
pub(super) fn add(index: &mut Index, attribute: Attribute) -> Result<(), Full> {
    if let Some(value) = attribute.recorded() {
        return index.copy(value);
    }
    let (Attribute::Plain(value) | Attribute::Wrapped(value)) = attribute;
    match value.members().next() {
        None => index.push_null(),
        Some(("arrayValue", inner)) => {
            index.array(inner.elements("values").map(Attribute::Wrapped), add)
        }
        Some(("kvlistValue", inner)) => index.object(members(inner.get("values")), add),
        Some((_, inner)) => match inner.as_str().and_then(|digits| digits.parse().ok()) {
            Some(number) => index.push_signed(number),
            None => index.copy(inner),
        },
    }
}
