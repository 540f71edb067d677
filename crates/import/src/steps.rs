//! The steps of a trace.

use std::io::Write;

use sha2::{Digest, Sha256};

use crate::{
    call::{CallInput, Turn},
    events::Event,
    json::{Build, Builder, Object, Unbuilt, json_of, write_canonical},
};

/// The steps of a trace, in order.
pub struct Steps(Vec<Step>);

struct Step {
    kind: &'static str,
    content: Content,
}

enum Content {
    Text(String),
    Call { tool: String, input: CallInput },
}

impl Steps {
    /// Returns the steps of a run with these events, whose results answer these calls.
    pub fn of(events: Vec<Event>, answered: Vec<Option<usize>>) -> Self {
        let mut answered = answered.into_iter();
        let mut turns = Vec::new();
        // The turn of the last failed call; `Some(None)` if the failed result belongs to no known call. The next
        // call of another turn recovers from it.
        let mut failed: Option<Option<Turn>> = None;
        let step = |event| match event {
            Event::System(text) | Event::Human(text) => {
                Step { kind: "observation", content: Content::Text(text) }
            }
            Event::Thought { text, .. } => Step { kind: "thought", content: Content::Text(text) },
            Event::Call(call) => {
                turns.push(call.turn);
                let is_recovery = failed.take_if(|turn| *turn != Some(call.turn)).is_some();
                let kind = if is_recovery { "error_recovery" } else { "tool_call" };
                Step { kind, content: Content::Call { tool: call.name, input: call.input } }
            }
            Event::Result(result) => {
                let call = answered.next().flatten();
                if result.failed {
                    failed = Some(call.map(|call| turns[call]));
                }
                Step { kind: "observation", content: Content::Text(result.text) }
            }
        };
        let events = events.into_iter().filter(|event| !matches!(event, Event::System(_)));
        Self(events.map(step).collect())
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the key of a run without an id: a hash of its content in canonical form.
    pub fn key(&self, objective: &str) -> String {
        let mut hash = Sha256::new();
        // Writing to a hash never fails.
        let _ = self.write_canonical(objective, &mut hash);
        format!("sha256:{:x}", hash.finalize())
    }

    fn write_canonical(&self, objective: &str, out: &mut impl Write) -> std::io::Result<()> {
        write!(out, r#"{{"objective":{},"steps":["#, json_of(objective))?;
        for (index, Step { kind, content }) in self.0.iter().enumerate() {
            let comma = if index > 0 { "," } else { "" };
            match content {
                Content::Text(text) => write!(out, r#"{comma}{{"content":{}"#, json_of(text))?,
                Content::Call { input, .. } => {
                    write!(out, r#"{comma}{{"input":"#)?;
                    write_canonical(input.value(), &mut *out)?;
                }
            }
            write!(out, r#","step_id":{index}"#)?;
            if let Content::Call { tool, .. } = content {
                write!(out, r#","tool":{{"name":{}}}"#, json_of(tool))?;
            }
            write!(out, r#","type":"{kind}"}}"#)?;
        }
        out.write_all(b"]}")
    }
}

impl Build for Steps {
    fn build(&self, out: &mut Builder) -> Result<(), Unbuilt> {
        out.array((0_u64..).zip(&self.0))
    }
}

impl Build for (u64, &Step) {
    fn build(&self, out: &mut Builder) -> Result<(), Unbuilt> {
        let (index, Step { kind, content }) = self;
        let (step_id, kind): ((&str, &dyn Build), _) = (("step_id", index), ("type", kind as _));
        match content {
            Content::Text(text) => Object(&[step_id, kind, ("content", text)]).build(out),
            Content::Call { tool, input } => {
                let tool = Object(&[("name", tool)]);
                Object(&[step_id, kind, ("tool", &tool), ("input", &input.value())]).build(out)
            }
        }
    }
}
