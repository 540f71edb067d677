//! What happens in a run of an agent, whatever logged it.

use std::{
    collections::BTreeMap,
    fmt::{self, Write},
    hash::{DefaultHasher, Hasher},
    sync::Arc,
};

use serde::Serialize;

use crate::{
    json::{self, Array, Document, Kind, Members, Text, Value},
    trace::MAX_VALUES,
};

/// Which answer of the assistant a call belongs to. The calls of one answer share a turn.
pub type Turn = u32;

/// One event of a run.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// What a person says.
    Human(String),
    /// What the assistant says (`said`), or only thinks.
    Thought { text: String, said: bool },
    /// A call of a tool.
    Call(Call),
    /// What a tool gave back.
    Result(ToolResult),
}

/// A call of a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    pub name: String,
    pub input: Input,
    pub id: Option<String>,
    pub turn: Turn,
}

/// What a tool gave back.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolResult {
    /// The text of the result.
    pub text: String,
    /// Whether the tool failed.
    pub failed: bool,
    /// The id of the call that it answers. Without one it answers the first call without an answer.
    pub id: Option<String>,
    /// The name of the tool, if the log says it.
    pub name: Option<String>,
}

impl Event {
    /// What the assistant says.
    pub fn said(text: impl Into<String>) -> Self {
        Self::Thought { text: text.into(), said: true }
    }

    /// What the assistant thinks.
    pub fn reasoned(text: impl Into<String>) -> Self {
        Self::Thought { text: text.into(), said: false }
    }

    /// Returns about how many bytes the event has.
    pub fn size(&self) -> usize {
        let text = match self {
            Self::Human(text) | Self::Thought { text, .. } => text.len(),
            Self::Call(call) => call.name.len() + call.input.json.len(),
            Self::Result(result) => result.text.len(),
        };
        size_of::<Self>() + text
    }

    /// A result with neither id nor name.
    pub fn result(text: impl Into<String>, failed: bool) -> Self {
        Self::Result(ToolResult { text: text.into(), failed, id: None, name: None })
    }
}

impl Call {
    /// A call as a log has it. A name that is missing or blank is `unknown`.
    pub fn new(name: Option<&str>, input: Input, id: Option<&str>, turn: Turn) -> Self {
        let name = name.filter(|name| !json::is_blank(name)).unwrap_or("unknown").to_owned();
        let id = id.filter(|id| !json::is_blank(id)).map(Into::into);
        Self { name, input, id, turn }
    }
}

/// How deep an input nests at most: it stands below three others, and JSON nests 127 deep.
const MAX_DEPTH: usize = 124;

/// The input of a call: an object.
#[derive(Debug, Clone)]
pub struct Input {
    /// Its JSON, without white space.
    pub json: Arc<String>,
    /// How many values and names it is and has.
    pub values: usize,
    /// A hash of the canonical form, by which alike inputs are found.
    pub hash: u64,
}

impl PartialEq for Input {
    fn eq(&self, other: &Self) -> bool {
        self.json == other.json
    }
}

impl Input {
    /// Returns an input of these members.
    pub fn of<'a>(members: impl IntoIterator<Item = (&'a str, Value<'a>)>) -> Self {
        let mut members: Vec<_> = members.into_iter().collect();
        let mut json = Text::default();
        let is_written = write_object(&members, &mut json, Value::write);
        let counts = members.iter().map(|(_, value)| 1 + value.count(MAX_VALUES));
        let values = if is_written.is_ok() { 1 + counts.sum::<usize>() } else { MAX_VALUES + 1 };
        members.sort_by_key(|(name, _)| *name);
        let hash = hash_of(|out| write_object(&members, out, Value::write_canonical));
        Self { json: json.into_string().into(), values, hash }
    }

    /// Returns an input of a text.
    pub fn of_text(name: &str, text: &str) -> Self {
        let json = format!("{{{}:{}}}", json::quoted(name), json::quoted(text));
        let hash = hash_of(|out| out.write_str(&json));
        Self { json: json.into(), values: 3, hash }
    }

    /// Returns a recorded input as an object. A text that is no JSON, and what nests too deep for a trace
    /// that can be read again, stand in it as they are.
    pub fn recorded(input: Option<Value>) -> Self {
        let Some(input) = input else { return Self::of([]) };
        let Some(text) = input.as_str() else {
            return Self::of_value(input)
                .unwrap_or_else(|| Self::of_text("raw", &input.canonical()));
        };
        if json::is_blank(text) {
            return Self::of([]);
        }
        let document = Document::parse(text).ok();
        let value = document.as_ref().and_then(|document| Self::of_value(document.root()));
        value.unwrap_or_else(|| Self::of_text("raw", text))
    }

    /// Returns the input that a value is; `None` if it nests too deep.
    fn of_value(value: Value) -> Option<Self> {
        match value.kind() {
            Kind::Null => Some(Self::of([])),
            // Its run gives no trace: what takes much memory is not written.
            _ if value.count(MAX_VALUES + 1) > MAX_VALUES => Some(Self::too_large()),
            Kind::Object(object) => {
                object.nests_at_most(MAX_DEPTH).then(|| Self::of_object(object))
            }
            _ => value.nests_at_most(MAX_DEPTH - 1).then(|| Self::of([("value", value)])),
        }
    }

    fn of_object(object: Value) -> Self {
        let hash = hash_of(|out| object.write_canonical(out));
        Self { json: object.to_json().into(), values: object.count(usize::MAX), hash }
    }

    fn too_large() -> Self {
        Self { values: MAX_VALUES + 1, ..Self::of([]) }
    }
}

fn write_object<'d, W: Write>(
    members: &[(&str, Value<'d>)],
    out: &mut W,
    write: impl Fn(Value<'d>, &mut W) -> fmt::Result,
) -> fmt::Result {
    out.write_char('{')?;
    for (index, (name, value)) in members.iter().enumerate() {
        out.write_str(if index > 0 { "," } else { "" })?;
        json::write_string(name, out)?;
        out.write_char(':')?;
        write(*value, out)?;
    }
    out.write_char('}')
}

fn hash_of(write: impl FnOnce(&mut Hash) -> fmt::Result) -> u64 {
    let mut hash = Hash(DefaultHasher::new());
    // A hash takes everything.
    let _ = write(&mut hash);
    hash.0.finish()
}

/// Hashes what is written.
struct Hash(DefaultHasher);

impl Write for Hash {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.write(text.as_bytes());
        Ok(())
    }
}

/// A longer reason loses what the log has added to it.
const MAX_REASON_BYTES: usize = 80;
/// When there are as many reasons, new ones lose what the log has added to them.
const MAX_REASONS: usize = 1000;

/// What is not imported: counts by reason.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Skipped(BTreeMap<String, u64>);

impl Skipped {
    /// Counts one item; see [`Self::add_many`].
    pub fn add(&mut self, reason: impl Into<String>) {
        self.add_many(reason, 1);
    }

    /// Counts items. Of reasons that name what a log contains, very long or very many ones count as one.
    pub fn add_many(&mut self, reason: impl Into<String>, count: u64) {
        if count == 0 {
            return;
        }
        let mut reason = reason.into();
        let is_odd = reason.len() > MAX_REASON_BYTES || self.0.len() >= MAX_REASONS;
        if is_odd
            && !self.0.contains_key(&reason)
            && let Some((kind, _)) = reason.split_once(':')
        {
            reason = format!("{kind}:?");
        }
        *self.0.entry(reason).or_default() += count;
    }

    /// Adds other counts.
    pub fn merge(&mut self, other: Self) {
        for (reason, count) in other.0 {
            self.add_many(reason, count);
        }
    }

    /// Takes of each reason the larger count.
    pub fn max(&mut self, other: &Self) {
        for (reason, count) in &other.0 {
            let own = self.0.entry(reason.clone()).or_default();
            *own = (*own).max(*count);
        }
    }

    /// Returns whether nothing was skipped.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the reasons and their counts, sorted by reason.
    pub fn iter(&self) -> impl Iterator<Item = (&str, u64)> {
        self.0.iter().map(|(reason, count)| (reason.as_str(), *count))
    }
}

/// Where an objective comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ObjectiveFrom {
    /// The first thing that a person says.
    Human,
    /// A field of the format.
    Field,
    /// The name of the agent or of the run.
    Name,
    /// A command typed instead of a text.
    Command,
    /// A message that was copied from an earlier run.
    Copied,
    /// The option `objective`.
    Option,
    /// The log is a trace already.
    Own,
}

/// What a format knows of one run of an agent.
#[derive(Debug, Default)]
pub struct Run {
    /// The line at which its first record begins, from 1.
    pub line: u64,
    /// The id that the format has for it.
    pub key: Option<String>,
    /// The objective, if the format has a field for it.
    pub objective: Option<String>,
    /// What stands for the objective where no person says anything.
    pub fallback: Option<(String, ObjectiveFrom)>,
    /// Whether it succeeded, as somebody judged.
    pub label: Option<bool>,
    /// Whether it ended in order.
    pub status: Option<bool>,
    /// The confidence, in \[0, 1\], that the log states.
    pub confidence: Option<f64>,
    /// The logarithms of the probabilities of the tokens of its answers.
    pub logprobs: Logprobs,
    /// When it began, as [`crate::time::utc`] gives it.
    pub created_at: Option<String>,
    /// What happened, in order.
    pub events: Vec<Event>,
    /// What of it is not imported.
    pub skipped: Skipped,
}

impl Run {
    /// Returns the status that SWE-agent and its relatives log: `done` is the exit status of an agent that
    /// finished.
    pub fn status_of_exit(info: Option<Value>, done: &str) -> Option<bool> {
        info?.name("exit_status").map(|status| status == done)
    }
}

/// A mean of logarithms of probabilities.
#[derive(Debug, Clone, Copy, Default)]
pub struct Logprobs {
    sum: f64,
    count: u32,
}

impl Logprobs {
    /// Adds the `logprob`s of an array of tokens.
    pub fn add(&mut self, tokens: Option<Value>) {
        let tokens = tokens.and_then(Value::as_array).into_iter().flat_map(Array::iter);
        for token in tokens {
            self.push(token.member("logprob").unwrap_or(token));
        }
    }

    fn push(&mut self, logprob: Value) {
        if let Some(logprob) = logprob.as_f64() {
            self.sum += logprob;
            self.count += 1;
        }
    }

    /// Returns e to the power of the mean, rounded to 6 decimals; `None` if there are none.
    pub fn confidence(&self) -> Option<f64> {
        let mean = self.sum / f64::from(self.count);
        let confidence = (mean.exp().min(1.0) * 1e6).round() / 1e6;
        (self.count > 0).then_some(confidence)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn skipped_bounds_what_logs_add_to_reasons() {
        let mut skipped = Skipped::default();
        skipped.add(format!("part:{}", "x".repeat(1000)));
        for index in 0..5000 {
            skipped.add(format!("record:{index}"));
        }
        skipped.add("record:7");
        let counts: BTreeMap<_, _> = skipped.iter().collect();
        assert_eq!(counts.len(), MAX_REASONS + 1);
        assert_eq!((counts["part:?"], counts["record:7"], counts["record:?"]), (1, 2, 4001));
    }
}
