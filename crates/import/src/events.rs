//! The events of a run of an agent, in any format.

use std::{
    borrow::Borrow,
    collections::{BTreeMap, HashMap, HashSet},
    ops::Deref,
    sync::Arc,
};

use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::json::{self, Document, Kind, Members, Value};

/// The answer of the assistant that a call belongs to. The calls of one answer share a turn.
pub type Turn = u32;

#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    Human(String),
    /// Text of the assistant: an answer (`said`) or reasoning.
    Thought {
        text: String,
        said: bool,
    },
    Call(Call),
    Result(ToolResult),
}

#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    pub name: String,
    pub input: CallInput,
    pub id: Option<String>,
    pub turn: Turn,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ToolResult {
    pub text: String,
    pub failed: bool,
    /// The id of the call that it answers. Without one it answers the first call without an answer.
    pub id: Option<String>,
    pub name: Option<String>,
}

impl Event {
    pub fn said(text: impl Into<String>) -> Self {
        Self::Thought { text: text.into(), said: true }
    }

    pub fn reasoned(text: impl Into<String>) -> Self {
        Self::Thought { text: text.into(), said: false }
    }

    pub fn human(&self) -> Option<&String> {
        if let Self::Human(text) = self { Some(text) } else { None }
    }

    pub fn call(&self) -> Option<&Call> {
        if let Self::Call(call) = self { Some(call) } else { None }
    }

    /// Returns whether events are alike in all members but the turn.
    fn is_like(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Call(own), Self::Call(other)) => {
                (&own.id, &own.name, &own.input) == (&other.id, &other.name, &other.input)
            }
            _ => self == other,
        }
    }

    /// Returns the approximate size in bytes.
    fn size(&self) -> usize {
        let size = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        let text = match self {
            Self::Human(text) | Self::Thought { text, .. } => text.len(),
            Self::Call(call) => call.name.len() + call.input.json.len() + size(&call.id),
            Self::Result(result) => result.text.len() + size(&result.id) + size(&result.name),
        };
        size_of::<Self>() + text
    }
}

/// Events, whose size is known whatever is added and replaced.
#[derive(Debug, Default)]
pub struct Events {
    list: Vec<Event>,
    size: usize,
}

impl Events {
    /// Returns the approximate size in bytes.
    pub fn size(&self) -> usize {
        self.size
    }

    pub fn push(&mut self, event: Event) {
        self.size += event.size();
        self.list.push(event);
    }

    /// Puts an event in place of another.
    pub fn replace(&mut self, place: usize, event: Event) {
        self.size += event.size();
        self.size -= self.list[place].size();
        self.list[place] = event;
    }

    /// Removes and returns the events from a place on.
    pub fn split_off(&mut self, place: usize) -> Vec<Event> {
        let events = self.list.split_off(place);
        self.size -= events.iter().map(Event::size).sum::<usize>();
        events
    }

    /// Returns whether the first events are like those of another run, and more follow.
    pub fn continues(&self, begun: &Self) -> bool {
        let first = self.list.get(..begun.len()).filter(|first| first.len() < self.len());
        first.is_some_and(|first| {
            first.iter().zip(&begun.list).all(|(own, other)| own.is_like(other))
        })
    }
}

impl Deref for Events {
    type Target = [Event];

    fn deref(&self) -> &[Event] {
        &self.list
    }
}

impl IntoIterator for Events {
    type Item = Event;
    type IntoIter = std::vec::IntoIter<Event>;

    fn into_iter(self) -> Self::IntoIter {
        self.list.into_iter()
    }
}

impl Extend<Event> for Events {
    fn extend<I: IntoIterator<Item = Event>>(&mut self, events: I) {
        events.into_iter().for_each(|event| self.push(event));
    }
}

impl Call {
    /// Returns a call as it is logged. A name that is missing or blank becomes `unknown`.
    pub fn new(name: Option<&str>, input: CallInput, id: Option<&str>, turn: Turn) -> Self {
        let name = name.filter(|name| !json::is_blank(name)).unwrap_or("unknown").to_owned();
        let id = id.filter(|id| !json::is_blank(id)).map(Into::into);
        Self { name, input, id, turn }
    }

    pub fn answer(&self, result: ToolResult) -> Event {
        let (id, name) = (self.id.clone(), Some(self.name.clone()));
        Event::Result(ToolResult { id, name, ..result })
    }
}

/// The maximum number of values and member names in the tool inputs of a run, or in a trace of the log: as
/// JavaScript objects they take many times the memory of the log.
pub const MAX_VALUES: usize = 1 << 20;

pub const TOO_MANY_VALUES: &str = "expected at most 1048576 values and names in the tool inputs of a run, in a trace or in the \
                                   attributes of a span, found more";

pub const TOO_MUCH_TEXT: &str = "expected at most 256 MiB of text in one run";

/// The maximum depth of an input: it is nested in three other values, and JSON nests at most 127 deep.
const MAX_DEPTH: usize = 124;

/// The input of a call: an object.
#[derive(Debug, Clone, PartialEq)]
pub struct CallInput {
    /// JSON without white space.
    pub json: Arc<String>,
}

impl CallInput {
    /// Returns an object of recorded values, or with the member `raw` if they nest too deep.
    pub fn of<'d>(members: impl IntoIterator<Item = (&'d str, Value<'d>)>) -> Self {
        let members: Vec<_> = members.into_iter().collect();
        let json = json::object_of(members.iter().copied());
        if members.iter().all(|(_, value)| value.depth() < MAX_DEPTH) {
            Self { json: json.into() }
        } else {
            Self::of_text("raw", &json)
        }
    }

    pub fn of_text(name: &str, text: &str) -> Self {
        Self { json: json::object_of([(name, text)]).into() }
    }

    /// Returns a recorded input as an object. Text that is not JSON, and values that nest too deep, become the
    /// member `raw`.
    pub fn recorded(input: Option<Value>) -> Self {
        let Some(input) = input else { return Self::of([]) };
        let Some(text) = input.as_str() else {
            return Self::of_value(input)
                .unwrap_or_else(|| Self::of_text("raw", &input.canonical()));
        };
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
            Kind::Object(object) => {
                (object.depth() <= MAX_DEPTH).then(|| Self { json: object.to_json().into() })
            }
            _ => (value.depth() < MAX_DEPTH).then(|| Self::of([("value", value)])),
        }
    }

    /// Returns the number of values and names of members.
    pub fn values(&self) -> usize {
        Document::written(&**self.json).root().count(usize::MAX)
    }

    /// Returns the hash of its canonical form.
    pub fn hash(&self) -> u64 {
        hash_of(Document::written(&**self.json).root())
    }
}

/// Returns the hash of the canonical form of a value.
pub fn hash_of(value: Value) -> u64 {
    let mut hash = Sha256::new();
    // Writing to a hash never fails.
    let _ = json::write_canonical(value, &mut hash);
    first_bits(hash)
}

pub fn first_bits(hash: Sha256) -> u64 {
    u64::from_le_bytes(hash.finalize().first_chunk().copied().unwrap_or_default())
}

/// A longer reason loses its part from the log.
const MAX_REASON_BYTES: usize = 80;
/// Beyond this many reasons, new ones lose their part from the log.
const MAX_REASONS: usize = 1000;

/// Counts of what is not imported, by reason.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Skipped(BTreeMap<String, u64>);

impl Skipped {
    /// Counts one item; see [`Self::add_many`].
    pub fn add(&mut self, reason: impl Into<String>) {
        self.add_many(reason, 1);
    }

    /// Counts items. Reasons with text of the log that are very long or very many count as one.
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

    /// Returns the objects in an array. Anything else but null counts as malformed.
    pub fn objects<'d>(
        &mut self,
        list: Option<Value<'d>>,
    ) -> impl Iterator<Item = Value<'d>> + use<'d> {
        let list = list.filter(|list| !list.is_null());
        let elements = list.and_then(Value::as_array);
        let others = elements.into_iter().flatten().filter(|element| !element.is_object());
        let others = others.chain(list.filter(|_| elements.is_none()));
        self.add_many("malformed", others.count() as u64);
        elements.into_iter().flatten().filter_map(Value::as_object)
    }

    /// Adds other counts.
    pub fn merge(&mut self, other: Self) {
        for (reason, count) in other.0 {
            self.add_many(reason, count);
        }
    }

    /// Raises the count of each reason to that in `other`, if it is lower.
    pub fn max(&mut self, other: &Self) {
        for (reason, count) in &other.0 {
            let own = self.0.entry(reason.clone()).or_default();
            *own = (*own).max(*count);
        }
    }

    /// Returns the reasons and their counts, sorted by reason.
    pub fn iter(&self) -> impl Iterator<Item = (&str, u64)> {
        self.0.iter().map(|(reason, count)| (reason.as_str(), *count))
    }
}

/// The origin of a value in a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// An option of the importer.
    Option,
    /// The log, which is a trace already.
    Own,
    /// The objective: the first text of a person.
    Human,
    /// The objective: a field of the format.
    Field,
    /// The objective: the name of the agent or of the run.
    Name,
    /// The objective: a typed command.
    Command,
    /// The objective: a message copied from an earlier run.
    Copied,
    /// The success: a judgement in the log.
    Label,
    /// The success: how the run ended.
    Status,
    /// The success: the option `assumeSuccess`.
    Assumed,
    /// The confidence: the log.
    Explicit,
    /// The confidence: the probabilities of the answers' tokens.
    Logprobs,
    /// The time: the log.
    Source,
    /// The time: unknown, so it is 1970-01-01T00:00:00.000Z.
    None,
    /// The domain: that of agents with this format.
    Format,
    /// The domain `general`, or the confidence 0.8 after success and 0.2 after failure.
    Default,
}

/// The turns of a run whose messages are being read.
#[derive(Debug, Default)]
pub struct Turns {
    pub next: Turn,
    /// The turn that continues with the next item of the assistant.
    pub open: Option<Turn>,
    /// Whether all messages belong to the open turn.
    pub is_answer: bool,
    /// Results that follow after the last part of their step.
    pub results: Events,
    tools: HashSet<String>,
    /// The ids of the calls that people were asked to approve, by the ids of the requests.
    requests: HashMap<String, String>,
    /// The ids of the calls that were refused.
    denied: HashSet<String>,
    /// Hashes of the parts with a time, because Mastra repeats some.
    parts: HashSet<u64>,
    /// The size of these texts and hashes in bytes.
    size: usize,
}

impl Turns {
    pub fn call(&mut self, call: &Call) {
        if !self.tools.contains(&call.name) {
            self.size += call.name.len();
            self.tools.insert(call.name.clone());
        }
        if let Some(id) = &call.id
            && self.denied.remove(id)
        {
            self.size -= id.len();
        }
    }

    pub fn is_tool(&self, name: &str) -> bool {
        self.tools.contains(name)
    }

    pub fn ask(&mut self, request: &str, call: &str) {
        self.size += request.len() + call.len();
        self.requests.insert(request.into(), call.into());
    }

    /// Returns the id of the call that a person was asked to approve.
    pub fn asked(&self, request: &str) -> Option<&String> {
        self.requests.get(request)
    }

    /// Remembers that a call was refused. Returns whether this is new.
    pub fn deny(&mut self, call: &str) -> bool {
        let is_new = self.denied.insert(call.into());
        self.size += if is_new { call.len() } else { 0 };
        is_new
    }

    /// Remembers a part. Returns whether it is new.
    pub fn add_part(&mut self, part: Value) -> bool {
        self.size += size_of::<u64>();
        self.parts.insert(hash_of(part))
    }
}

/// The data of one run of an agent.
#[derive(Debug, Default)]
pub struct Run {
    /// The line at which its first record begins, from 1.
    pub line: u64,
    pub key: Option<String>,
    /// The objective, if the format has a field for it.
    pub objective: Option<String>,
    /// The objective if no person says anything.
    pub fallback: Option<(String, Origin)>,
    /// Whether it succeeded, by someone's judgement.
    pub label: Option<bool>,
    /// Whether it ended in order.
    pub status: Option<bool>,
    /// The confidence in the log, in \[0, 1\].
    pub confidence: Option<f64>,
    pub logprobs: Logprobs,
    /// When it began, as [`crate::time::utc`] writes it.
    pub created_at: Option<String>,
    pub events: Events,
    pub skipped: Skipped,
    pub turns: Turns,
}

impl Run {
    pub fn at(line: u64) -> Self {
        Self { line, ..Self::default() }
    }

    /// Returns the approximate size in bytes of what it holds.
    pub fn size(&self) -> usize {
        let fallback = self.fallback.as_ref().map(|(text, _)| text);
        let texts = [self.key.as_ref(), self.objective.as_ref(), fallback].into_iter().flatten();
        let Turns { results, size, .. } = &self.turns;
        texts.map(String::len).sum::<usize>() + self.events.size() + results.size() + size
    }

    pub fn read_each<'d>(
        &mut self,
        list: Option<Value<'d>>,
        mut read: impl FnMut(&mut Self, Value<'d>),
    ) {
        self.skipped.objects(list).for_each(|object| read(self, object));
    }

    /// Adds the texts of a person as one event, if there are any.
    pub fn say_human(&mut self, texts: &[impl Borrow<str>]) {
        if !texts.is_empty() {
            self.events.push(Event::Human(texts.join("\n")));
        }
    }

    pub fn skip_as_part(&mut self, part: Value) {
        self.skipped.add(format!("part:{}", part.text("type").unwrap_or("?")));
    }

    /// Sets the status from the exit status that SWE-agent and its relatives log; that of success is `done`.
    pub fn read_exit_status(&mut self, value: Value, done: &str) {
        let status = value.object("info").name("exit_status");
        self.status = status.filter(|status| *status != done).map(|_| false);
    }
}

/// The mean of the logarithms of tokens' probabilities.
#[derive(Debug, Clone, Copy, Default)]
pub struct Logprobs {
    sum: f64,
    count: u32,
}

impl Logprobs {
    /// Adds an array of tokens with `logprob`, or of numbers.
    pub fn add(&mut self, tokens: Option<Value>) {
        for token in tokens.and_then(Value::as_array).into_iter().flatten() {
            if let Some(logprob) = token.member("logprob").unwrap_or(token).as_f64() {
                self.sum += logprob;
                self.count += 1;
            }
        }
    }

    /// Returns e to the power of the mean, rounded to 6 decimals; `None` without tokens.
    pub fn confidence(&self) -> Option<f64> {
        let mean = self.sum / f64::from(self.count);
        let confidence = (mean.exp().min(1.0) * 1e6).round() / 1e6;
        (self.count > 0).then_some(confidence)
    }
}
