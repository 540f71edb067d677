//! Traces of the KnowledgePulse protocol. They are read from JSON in one place, where their fields are checked.

use std::fmt::{self, Display};

use knowledgepulse_scoring::{
    Error, Invalid, Result, Trace,
    trace::{Confidence, Steps, quote},
};
use serde::Serialize;

use crate::{
    json::{Document, Kind, Members, Value, json_of},
    steps::{self, Content},
};

const CONFIDENCE: &str = "a finite number in [0, 1]";

/// A trace, which as JSON is one of the protocol.
#[derive(Debug, PartialEq, Serialize)]
pub struct ImportedTrace(pub(crate) Kept);

#[derive(Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Kept {
    /// A trace of the log.
    Own(Document<'static>),
    Made(Box<Made>),
}

/// A trace that is made of a run.
#[derive(Debug, PartialEq, Serialize)]
pub struct Made {
    #[serde(rename = "@context")]
    pub context: &'static str,
    #[serde(rename = "@type")]
    pub kind: &'static str,
    pub id: String,
    pub metadata: Metadata,
    pub task: Task,
    pub steps: Vec<steps::Step>,
    pub outcome: Outcome,
}

#[derive(Debug, PartialEq, Serialize)]
pub struct Metadata {
    pub created_at: String,
    pub task_domain: String,
    pub success: bool,
    pub quality_score: u64,
    pub visibility: String,
    pub privacy_level: String,
    pub framework: &'static str,
}

#[derive(Debug, PartialEq, Serialize)]
pub struct Task {
    pub objective: String,
}

#[derive(Debug, PartialEq, Serialize)]
pub struct Outcome {
    pub result_summary: String,
    pub confidence: f64,
}

impl ImportedTrace {
    /// Returns what scoring needs, and passes the text to `write` as [`read_trace`] does.
    ///
    /// # Errors
    ///
    /// Those of [`read_trace`], for a trace of the log.
    pub fn read(&self, mut write: impl FnMut(&str) -> fmt::Result) -> Result<Trace> {
        let made = match &self.0 {
            Kept::Own(trace) => return read_trace(trace.root(), write),
            Kept::Made(made) => made,
        };
        let texts = made.steps.iter().flat_map(|step| match &step.content {
            Content::Text { content } => [" ", content],
            Content::Call { .. } => [" ", ""],
        });
        // What is written after an error would be cut off.
        let _ = [&*made.task.objective].into_iter().chain(texts).try_for_each(&mut write);
        let steps = made.steps.iter().map(|step| match &step.content {
            Content::Text { .. } => (step.kind, None),
            Content::Call { tool, .. } => (step.kind, Some(Some(&*tool.name))),
        });
        let confidence = made.outcome.confidence;
        let confidence = Confidence::new(confidence)
            .ok_or_else(|| invalid(&"outcome.confidence", CONFIDENCE, confidence.to_string()))?;
        let Metadata { task_domain, success, .. } = &made.metadata;
        let id = Some(made.id.clone());
        Ok(Trace::new((**task_domain).into(), *success, confidence, Steps::of(steps), id))
    }

    /// Returns the objective.
    pub fn objective(&self) -> &str {
        match &self.0 {
            Kept::Own(trace) => trace.root().object("task").text("objective").unwrap_or_default(),
            Kept::Made(made) => &made.task.objective,
        }
    }

    /// Returns `metadata.created_at`.
    pub fn created_at(&self) -> &str {
        match &self.0 {
            Kept::Own(trace) => {
                trace.root().object("metadata").text("created_at").unwrap_or_default()
            }
            Kept::Made(made) => &made.metadata.created_at,
        }
    }
}

/// As JSON without white space.
impl Display for ImportedTrace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&json_of(self))
    }
}

/// Reads the trace that a value is, and passes its text, `objective + " " + contents.join(" ")`, to `write` until
/// that refuses more.
///
/// # Errors
///
/// `INVALID_TRACE` with the path of the first field that does not fit.
pub fn read_trace(trace: Value, mut write: impl FnMut(&str) -> fmt::Result) -> Result<Trace> {
    let mut is_full = false;
    let mut push = |part: &str| is_full = is_full || write(part).is_err();

    let root = object(Some(trace), &"trace")?;
    let metadata = object(root.get("metadata"), &"metadata")?;
    let domain = string(metadata.get("task_domain"), &"metadata.task_domain")?;
    let success = metadata.get("success");
    let success = read(success, &"metadata.success", "a boolean", Value::as_bool)?;

    let outcome = object(root.get("outcome"), &"outcome")?;
    let confidence = outcome.get("confidence");
    let number = |value: Value| Confidence::new(value.as_f64()?);
    let confidence = read(confidence, &"outcome.confidence", CONFIDENCE, number)?;

    let task = object(root.get("task"), &"task")?;
    push(string(task.get("objective"), &"task.objective")?);

    let steps = read(root.get("steps"), &"steps", "an array", Value::as_array)?;
    let steps = steps.enumerate().map(|(index, value)| step(index, value, &mut push));
    let steps = Steps::of(steps.collect::<Result<Vec<_>>>()?);
    let id = root.text("id");
    Ok(Trace::new(domain.into(), success, confidence, steps, id.map(Into::into)))
}

/// Reads the type of a step, and the name of its tool.
fn step<'d>(
    index: usize,
    value: Value<'d>,
    push: &mut impl FnMut(&str),
) -> Result<(&'d str, Option<Option<&'d str>>)> {
    let step = object(Some(value), &format_args!("steps[{index}]"))?;
    let kind = string(step.get("type"), &format_args!("steps[{index}].type"))?;

    push(" ");
    if let Some(content) = step.member("content") {
        let place = format_args!("steps[{index}].content");
        push(read(Some(content), &place, "a string, null or nothing", Value::as_str)?);
    }

    let Some(tool) = step.member("tool") else { return Ok((kind, None)) };
    let place = format_args!("steps[{index}].tool");
    let tool = read(Some(tool), &place, "an object, null or nothing", container)?;
    let place = format_args!("steps[{index}].tool.name");
    let name = tool.get("name").map(|name| string(Some(name), &place)).transpose()?;
    Ok((kind, Some(name)))
}

/// An array is an object, too.
fn container(value: Value<'_>) -> Option<Value<'_>> {
    (value.is_object() || value.is_array()).then_some(value)
}

fn object<'d>(value: Option<Value<'d>>, place: &dyn Display) -> Result<Value<'d>> {
    read(value, place, "an object", container)
}

fn string<'d>(value: Option<Value<'d>>, place: &dyn Display) -> Result<&'d str> {
    read(value, place, "a string", Value::as_str)
}

/// Reads a value. Errors call a missing one `undefined`, as JavaScript does.
fn read<'d, T>(
    value: Option<Value<'d>>,
    place: &dyn Display,
    expected: &str,
    read: impl FnOnce(Value<'d>) -> Option<T>,
) -> Result<T> {
    value.and_then(read).ok_or_else(|| {
        let found = value.map_or("undefined".into(), |value| match value.kind() {
            Kind::String(text) => quote(text),
            Kind::Array(_) => "an array".into(),
            Kind::Object(_) => "an object".into(),
            Kind::Null | Kind::Bool(_) | Kind::Number(_) => value.to_json(),
        });
        invalid(place, expected, found)
    })
}

fn invalid(place: &dyn Display, expected: &str, found: String) -> Error {
    Error::invalid(Invalid::Trace, place.to_string(), expected, found)
}
