//! Lines that are traces of the protocol, read without what scoring does not need.
//!
//! Such a line gives what it gives as a value; whatever is unusual about one is left to that way.

use std::{borrow::Cow, fmt};

use knowledgepulse_scoring::{
    Error, Trace,
    trace::{TextWriter, Type, View, read},
};
use serde::{
    Deserializer,
    de::{DeserializeSeed, MapAccess, SeqAccess, Visitor},
};
use serde_json::{Number, Value};

/// A trace that the input has, as far as scoring and its row need it.
#[derive(Debug, Clone, PartialEq)]
pub struct Own {
    /// The trace.
    pub trace: Trace,
    /// As much of its text as was asked for.
    pub text: String,
    /// `task.objective`.
    pub objective: String,
    /// `metadata.created_at`, if it is a string.
    pub created_at: Option<String>,
    /// What [`group_of`] gives for [`OwnOptions::group`].
    pub group: Option<String>,
}

/// Takes the text of a trace: calls the function with a writer, and returns what was written.
pub type TakeText = dyn Fn(&mut dyn FnMut(&mut dyn fmt::Write)) -> String + Send + Sync;

/// Returns the group of a trace: what is at a JSON pointer, if it is a string, a number or a boolean.
///
/// ```
/// use knowledgepulse_import::group_of;
///
/// let trace = serde_json::json!({ "metadata": { "session": 5 } });
/// assert_eq!(group_of(&trace, "/metadata/session").as_deref(), Some("5"));
/// assert_eq!(group_of(&trace, "/metadata"), None);
/// ```
pub fn group_of(trace: &Value, pointer: &str) -> Option<String> {
    match trace.pointer(pointer)? {
        Value::String(text) => Some(text.clone()),
        Value::Bool(value) => Some(value.to_string()),
        Value::Number(number) => Some(number.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// What is read of a line that is a trace.
pub struct OwnOptions {
    /// What takes its text.
    pub take_text: Box<TakeText>,
    /// A JSON pointer (RFC 6901). Default: none.
    pub group: Option<String>,
}

/// Reads lines that are traces.
pub(crate) struct OwnReader {
    take_text: Box<TakeText>,
    /// The names of the group's pointer.
    group: Option<Vec<String>>,
}

/// The members that count. At any depth, because others of the same name do no harm.
const COUNTING: [&str; 15] = [
    "@type",
    "id",
    "metadata",
    "task",
    "steps",
    "outcome",
    "task_domain",
    "success",
    "created_at",
    "objective",
    "type",
    "content",
    "tool",
    "name",
    "confidence",
];

/// The type of such traces, which stands in their lines.
const TYPE: &str = "ReasoningTrace";

impl OwnReader {
    pub fn new(options: OwnOptions) -> Self {
        let OwnOptions { take_text, group } = options;
        let name = |name: &str| name.replace("~1", "/").replace("~0", "~");
        let group = group.map(|pointer| pointer.split('/').skip(1).map(name).collect());
        Self { take_text, group }
    }

    /// Returns the trace of a line; `None` unless it is one that can be scored.
    pub fn read(&self, line: &[u8]) -> Option<Box<Own>> {
        memchr::memmem::find(line, TYPE.as_bytes())?;
        let line = std::str::from_utf8(line).ok()?;
        let counting = Counting(self.group.as_deref().unwrap_or_default());
        let mut source = serde_json::Deserializer::from_str(line);
        let root = counting.deserialize(&mut source).ok()?;
        source.end().ok()?;
        if root.get("@type")?.text()? != TYPE {
            return None;
        }
        if matches!(root.get("steps"), Some(Lite::Array(steps)) if steps.is_empty()) {
            return None;
        }
        let mut trace = None;
        let take = &mut |mut text: &mut dyn fmt::Write| {
            trace = read(&Seen(Some(&root)), &mut text).ok();
        };
        let text = (self.take_text)(take);
        let created_at = root.get("metadata").and_then(|metadata| metadata.get("created_at"));
        let group = |names: &Vec<String>| names.iter().try_fold(&root, |at, name| at.child(name));
        Some(Box::new(Own {
            trace: trace?,
            text,
            objective: root.get("task")?.get("objective")?.text()?.to_owned(),
            created_at: created_at.and_then(Lite::text).map(Into::into),
            group: self.group.as_ref().and_then(group).and_then(Lite::name),
        }))
    }
}

/// A value of a line, without members that do not count.
enum Lite<'a> {
    Null,
    Boolean(bool),
    Number(Number),
    Text(Cow<'a, str>),
    Array(Vec<Lite<'a>>),
    Object(Vec<(&'a str, Lite<'a>)>),
}

impl<'a> Lite<'a> {
    /// Returns a member: the last one of its name.
    fn get(&self, name: &str) -> Option<&Lite<'a>> {
        let Self::Object(members) = self else { return None };
        members.iter().rev().find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Returns what a name in a JSON pointer stands for.
    fn child(&self, name: &str) -> Option<&Lite<'a>> {
        match self {
            // As `serde_json` reads an index.
            Self::Array(_) if name.starts_with('+') || (name.starts_with('0') && name != "0") => {
                None
            }
            Self::Array(elements) => elements.get(name.parse::<usize>().ok()?),
            _ => self.get(name),
        }
    }

    /// Returns the value as [`group_of`] does.
    fn name(&self) -> Option<String> {
        match self {
            Self::Text(text) => Some(text.clone().into_owned()),
            Self::Boolean(value) => Some(value.to_string()),
            Self::Number(number) => Some(number.to_string()),
            Self::Null | Self::Array(_) | Self::Object(_) => None,
        }
    }
}

/// The members that count, beside [`COUNTING`].
#[derive(Clone, Copy)]
struct Counting<'a>(&'a [String]);

impl<'a> Counting<'a> {
    fn find(self, name: &str) -> Option<&'a str> {
        let known = COUNTING.iter().copied().find(|known| *known == name);
        known.or_else(|| self.0.iter().map(String::as_str).find(|known| *known == name))
    }
}

impl<'de> DeserializeSeed<'de> for Counting<'de> {
    type Value = Lite<'de>;

    fn deserialize<D: Deserializer<'de>>(self, source: D) -> Result<Self::Value, D::Error> {
        source.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Counting<'de> {
    type Value = Lite<'de>;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Lite::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Self::Value, E> {
        Ok(Lite::Boolean(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Self::Value, E> {
        Ok(Lite::Number(value.into()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Self::Value, E> {
        Ok(Lite::Number(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Self::Value, E> {
        Ok(Number::from_f64(value).map_or(Lite::Null, Lite::Number))
    }

    fn visit_borrowed_str<E>(self, value: &'de str) -> Result<Self::Value, E> {
        Ok(Lite::Text(Cow::Borrowed(value)))
    }

    fn visit_str<E>(self, value: &str) -> Result<Self::Value, E> {
        Ok(Lite::Text(Cow::Owned(value.into())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut elements = Vec::new();
        while let Some(element) = list.next_element_seed(self)? {
            elements.push(element);
        }
        Ok(Lite::Array(elements))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::with_capacity(6);
        while let Some(name) = map.next_key_seed(Name(self))? {
            match name {
                Some(name) => members.push((name, map.next_value_seed(self)?)),
                None => map.next_value_seed(Checked)?,
            }
        }
        Ok(Lite::Object(members))
    }
}

/// The name of a member, if it counts.
struct Name<'a>(Counting<'a>);

impl<'a, 'de> DeserializeSeed<'de> for Name<'a> {
    type Value = Option<&'a str>;

    fn deserialize<D: Deserializer<'de>>(self, source: D) -> Result<Self::Value, D::Error> {
        source.deserialize_str(self)
    }
}

impl<'a> Visitor<'_> for Name<'a> {
    type Value = Option<&'a str>;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E>(self, value: &str) -> Result<Self::Value, E> {
        Ok(self.0.find(value))
    }
}

/// A value that does not count, but has to be as valid as one that does: an `IgnoredAny` takes
/// numbers, strings and depths that a value refuses.
struct Checked;

impl<'de> DeserializeSeed<'de> for Checked {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, source: D) -> Result<(), D::Error> {
        source.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Checked {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while list.next_element_seed(Checked)?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while map.next_key_seed(Checked)?.is_some() {
            map.next_value_seed(Checked)?;
        }
        Ok(())
    }
}

/// A value as a trace is read from it. Only valid ones count, so nothing has to be described.
struct Seen<'v>(Option<&'v Lite<'v>>);

impl View for Seen<'_> {
    type Error = Error;

    fn type_of(&self) -> Type {
        match self.0 {
            None => Type::Undefined,
            Some(Lite::Null) => Type::Null,
            Some(Lite::Boolean(_)) => Type::Boolean,
            Some(Lite::Number(_)) => Type::Number,
            Some(Lite::Text(_)) => Type::String,
            Some(Lite::Array(_) | Lite::Object(_)) => Type::Object,
        }
    }

    fn is_array(&self) -> Result<bool, Error> {
        Ok(matches!(self.0, Some(Lite::Array(_))))
    }

    fn property(&self, name: &'static str) -> Result<Self, Error> {
        Ok(Self(self.0.and_then(|value| value.get(name))))
    }

    fn length(&self) -> Result<u32, Error> {
        let Some(Lite::Array(elements)) = self.0 else { return Ok(0) };
        Ok(u32::try_from(elements.len()).unwrap_or(u32::MAX))
    }

    fn element(&self, index: u32) -> Result<Self, Error> {
        let Some(Lite::Array(elements)) = self.0 else { return Ok(Self(None)) };
        Ok(Self(elements.get(index as usize)))
    }

    fn boolean(&self) -> Result<bool, Error> {
        Ok(matches!(self.0, Some(Lite::Boolean(true))))
    }

    fn number(&self) -> Result<f64, Error> {
        let Some(Lite::Number(number)) = self.0 else { return Ok(f64::NAN) };
        Ok(number.as_f64().unwrap_or(f64::NAN))
    }

    fn string(&self) -> Result<String, Error> {
        Ok(self.0.and_then(Lite::text).unwrap_or_default().to_owned())
    }

    fn write_to(&self, text: &mut TextWriter) -> Result<(), Error> {
        text.push(self.0.and_then(Lite::text).unwrap_or_default());
        Ok(())
    }

    fn describe(&self) -> String {
        String::new()
    }
}
