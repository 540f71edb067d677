//! The steps of a trace.

use serde::{Serialize, Serializer};
use sha2::{Digest, Sha256};

use crate::{
    call::{CallInput, Turn},
    events::Event,
    json::{Canonical, write_canonical},
};

/// A step of a trace.
#[derive(Debug, PartialEq, Serialize)]
pub struct Step {
    step_id: usize,
    #[serde(rename = "type")]
    pub kind: &'static str,
    #[serde(flatten)]
    pub content: Content,
}

#[derive(Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Content {
    Text { content: String },
    Call { tool: Tool, input: CallInput },
}

#[derive(Debug, PartialEq, Serialize)]
pub struct Tool {
    pub name: String,
}

/// Returns the steps of a run with these events, whose results answer these calls.
pub fn steps_of(events: Vec<Event>, answered: Vec<Option<usize>>) -> Vec<Step> {
    let mut answered = answered.into_iter();
    let mut turns = Vec::new();
    // The turn of the last failed call; `Some(None)` if the failed result belongs to no known call. The next
    // call of another turn recovers from it.
    let mut failed: Option<Option<Turn>> = None;
    let text = |kind, content| (kind, Content::Text { content });
    let events = events.into_iter().filter(|event| !matches!(event, Event::System(_)));
    let step = |(step_id, event)| {
        let (kind, content) = match event {
            Event::System(content) | Event::Human(content) => text("observation", content),
            Event::Thought { text: content, .. } => text("thought", content),
            Event::Call(call) => {
                turns.push(call.turn);
                let is_recovery = failed.take_if(|turn| *turn != Some(call.turn)).is_some();
                let kind = if is_recovery { "error_recovery" } else { "tool_call" };
                (kind, Content::Call { tool: Tool { name: call.name }, input: call.input })
            }
            Event::Result(result) => {
                let call = answered.next().flatten();
                if result.failed {
                    failed = Some(call.map(|call| turns[call]));
                }
                text("observation", result.text)
            }
        };
        Step { step_id, kind, content }
    };
    events.enumerate().map(step).collect()
}

/// Returns the key of a run without an id: a hash of its content in canonical form.
pub fn key(objective: &str, steps: &[Step]) -> String {
    let mut hash = Sha256::new();
    let steps: Vec<_> = steps.iter().map(Sorted::of).collect();
    // Writing to a hash never fails.
    let _ = write_canonical(&SortedRun { objective, steps }, &mut hash);
    format!("sha256:{:x}", hash.finalize())
}

/// What the key of a run is made of. Members are sorted.
#[derive(Serialize)]
struct SortedRun<'a> {
    objective: &'a str,
    steps: Vec<Sorted<'a>>,
}

#[derive(Serialize)]
struct Sorted<'a> {
    #[serde(flatten)]
    content: SortedContent<'a>,
    step_id: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<&'a Tool>,
    #[serde(rename = "type")]
    kind: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum SortedContent<'a> {
    Content(&'a str),
    #[serde(serialize_with = "canonical")]
    Input(&'a CallInput),
}

fn canonical<S: Serializer>(input: &CallInput, serializer: S) -> Result<S::Ok, S::Error> {
    Canonical::of(input.document().root()).serialize(serializer)
}

impl<'a> Sorted<'a> {
    fn of(step: &'a Step) -> Self {
        let (content, tool) = match &step.content {
            Content::Text { content } => (SortedContent::Content(content), None),
            Content::Call { tool, input } => (SortedContent::Input(input), Some(tool)),
        };
        Self { content, step_id: step.step_id, tool, kind: step.kind }
    }
}
