//! Calls of tools, and their results.

use std::sync::Arc;

use serde::{Serialize, Serializer, ser::SerializeMap};
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

use crate::json::{self, Canonical, Document, Kind, Value, json_of};

/// The answer of the assistant that a call belongs to. The calls of one answer share a turn.
pub type Turn = u32;

#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    pub name: String,
    pub input: CallInput,
    pub id: Option<String>,
    pub turn: Turn,
}

#[derive(Debug, Default, Clone, PartialEq)]
pub struct ToolResult {
    pub text: String,
    pub failed: bool,
    /// Whether it failed because a person refused the call, as the log says beside its text.
    pub refused: bool,
    /// The id of the call that it answers. Without one it answers the first call without an answer.
    pub id: Option<String>,
    pub name: Option<String>,
    /// Whether it is part of the answer that called, as that of a tool of the provider.
    pub is_within: bool,
}

impl Call {
    /// Returns a call as it is logged. A name that is missing or blank becomes `unknown`.
    pub fn new(name: Option<&str>, input: CallInput, id: Option<&str>, turn: Turn) -> Self {
        let name = name.filter(|name| !json::is_blank(name)).unwrap_or("unknown").to_owned();
        let id = id.filter(|id| !json::is_blank(id)).map(Into::into);
        Self { name, input, id, turn }
    }

    /// Returns the result as one of this call.
    pub fn answer(&self, result: ToolResult) -> ToolResult {
        ToolResult { id: self.id.clone(), name: Some(self.name.clone()), ..result }
    }
}

/// Returns the name of a tool in a namespace, or of an MCP server, as the model knows it.
pub fn qualified(namespace: &str, name: &str) -> String {
    format!("{}__{}", namespace.trim_end_matches('_'), name.trim_start_matches('_'))
}

/// The maximum depth of an input: it is nested in three other values, and JSON nests at most 127 deep.
const MAX_DEPTH: usize = 124;

/// The input of a call: an object, as JSON, and the number of values and names in it.
#[derive(Debug, Clone, Serialize)]
#[serde(transparent)]
pub struct CallInput {
    // Boxed, or it would be copied.
    json: Arc<Box<RawValue>>,
    #[serde(skip)]
    count: usize,
}

impl PartialEq for CallInput {
    fn eq(&self, other: &Self) -> bool {
        self.json() == other.json()
    }
}

/// Adds a member to the input of a call.
type Add<'a> = dyn FnMut(&str, Value) -> serde_json::Result<()> + 'a;

impl CallInput {
    /// Returns an object of recorded values, or with the member `raw` if they nest too deep.
    pub fn of<'d>(members: impl IntoIterator<Item = (&'d str, Value<'d>)>) -> Self {
        Self::of_each(|add| members.into_iter().try_for_each(|(name, value)| add(name, value)))
    }

    /// The same, of the members that `each` adds, which need not outlive the call.
    pub fn of_each(each: impl FnOnce(&mut Add) -> serde_json::Result<()>) -> Self {
        let (mut count, mut is_deep) = (1, false);
        let json = json::written(|out| {
            let mut serializer = serde_json::Serializer::new(out);
            let mut map = serializer.serialize_map(None)?;
            each(&mut |name, value| {
                count += 1 + value.count(usize::MAX);
                is_deep |= value.depth() >= MAX_DEPTH;
                map.serialize_entry(name, &value)
            })?;
            map.end()
        });
        let json = json.unwrap_or_default();
        if is_deep { Self::of_text("raw", &json) } else { Self::made(json, count) }
    }

    pub fn of_text(name: &str, text: &str) -> Self {
        Self::made(format!("{{{}:{}}}", json_of(name), json_of(text)), 3)
    }

    /// Returns `null` if there was no memory for its JSON.
    fn made(json: String, count: usize) -> Self {
        let json = RawValue::from_string(json).unwrap_or_else(|_| RawValue::NULL.to_owned());
        Self { json: json.into(), count }
    }

    /// Returns a recorded input as an object. Text that is not JSON, and values that nest too deep, become the
    /// member `raw`.
    pub fn recorded(input: Option<Value>) -> Self {
        let Some(input) = input else { return Self::of([]) };
        let Some(text) = input.as_str() else {
            return Self::of_value(input)
                .unwrap_or_else(|| Self::of_text("raw", &input.canonical()));
        };
        Self::of_json(text)
    }

    /// Returns an input that was recorded as text.
    pub fn of_json(text: &str) -> Self {
        if json::is_blank(text) {
            return Self::of([]);
        }
        let value = Document::parse(text).ok().and_then(|text| Self::of_value(text.root()));
        value.unwrap_or_else(|| Self::of_text("raw", text))
    }

    /// Returns `None` if the value nests too deep.
    fn of_value(value: Value) -> Option<Self> {
        match value.kind() {
            Kind::Null => Some(Self::of([])),
            Kind::Object(object) => (object.depth() <= MAX_DEPTH)
                .then(|| Self::made(object.to_json(), object.count(usize::MAX))),
            _ => (value.depth() < MAX_DEPTH).then(|| Self::of([("value", value)])),
        }
    }

    pub fn json(&self) -> &str {
        self.json.get()
    }

    /// Returns the number of values and names.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Returns the value, whose text has been read before.
    pub fn document(&self) -> Document<'_> {
        Document::parse(self.json()).unwrap_or_default()
    }

    /// Returns the hash of its canonical form.
    pub fn hash(&self) -> u64 {
        hash_of(self.document().root())
    }
}

/// Returns the hash of the canonical form of a value.
pub fn hash_of(value: Value) -> u64 {
    let mut hash = Sha256::new();
    // Writing to a hash never fails.
    let _ = json::write_canonical(&Canonical::of(value), &mut hash);
    u64::from_le_bytes(hash.finalize().first_chunk().copied().unwrap_or_default())
}
