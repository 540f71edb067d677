//! The steps of a trace.

use serde::{Serialize, Serializer, ser::SerializeMap};
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
    #[derive(Serialize)]
    struct Run<'a> {
        objective: &'a str,
        steps: Vec<Sorted<'a>>,
    }
    let mut hash = Sha256::new();
    let steps = steps.iter().map(Sorted).collect();
    // Writing to a hash never fails.
    let _ = write_canonical(&Run { objective, steps }, &mut hash);
    format!("sha256:{:x}", hash.finalize())
}

/// A step with sorted members.
struct Sorted<'a>(&'a Step);

impl Serialize for Sorted<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(Step { step_id, kind, content }) = self;
        let mut map = serializer.serialize_map(None)?;
        match content {
            Content::Text { content } => map.serialize_entry("content", content)?,
            Content::Call { input, .. } => {
                map.serialize_entry("input", &Canonical::of(input.document().root()))?;
            }
        }
        map.serialize_entry("step_id", step_id)?;
        if let Content::Call { tool, .. } = content {
            map.serialize_entry("tool", tool)?;
        }
        map.serialize_entry("type", kind)?;
        map.end()
    }
}
