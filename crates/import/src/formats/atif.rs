//! ATIF, the trajectories of Harbor.

use serde_json::{Value, json};

use crate::{
    event::{Event, ObjectiveFrom, Run, ToolResult},
    failure,
    format::{Format, Output, ReadRuns},
    json::{self, Members, Object},
    messages::Conversation,
    reader::MAX_BYTES,
    text, time,
};

/// Trajectories of the versions 1.x.
pub(crate) const FORMAT: Format =
    Format { name: "atif", domain: "general", fits, adopts: false, open: || Box::new(Reader) };

/// How many continuations of one trajectory are read.
const MAX_CONTINUATIONS: usize = 100;

fn fits(value: &Object) -> bool {
    version(value).is_some() && value.list("steps").is_some()
}

/// Returns the version, as `v1.8`.
fn version(value: &impl Members) -> Option<&str> {
    value.text("schema_version")?.strip_prefix("ATIF-")
}

fn is_supported(value: &Value) -> bool {
    let major = version(value).and_then(|version| version.strip_prefix('v')?.split('.').next());
    major == Some("1") && value.list("steps").is_some()
}

struct Reader;

impl ReadRuns for Reader {
    fn read(&mut self, value: Value, line: u64, out: &mut Output) {
        if out.is_merged(continuation) {
            return out.skip("continuation_merged");
        }
        if !is_supported(&value) {
            return out.skip("unsupported_version");
        }
        let run = Run { line, key: key(&value), ..Run::default() };
        let mut trajectory = Trajectory { run, ..Trajectory::default() };
        trajectory.read(&value);
        let mut next = continuation(&value);
        for _ in 0..MAX_CONTINUATIONS {
            let document = next.as_deref().and_then(|path| out.sibling(path));
            let Some(document) = document.filter(is_supported) else { break };
            trajectory.read(&document);
            next = continuation(&document);
            if trajectory.size > MAX_BYTES {
                return out.too_large(line);
            }
        }
        if next.is_some() {
            trajectory.run.skipped.add("continuation_missing");
        }
        let Trajectory { mut run, conversation, .. } = trajectory;
        run.skipped.merge(conversation.skipped);
        out.run(Run { events: conversation.events, ..run });
    }
}

fn key(value: &Value) -> Option<String> {
    let ids = ["session_id", "trajectory_id"].into_iter().filter_map(|id| value.name(id));
    let ids: Vec<_> = ids.collect();
    (!ids.is_empty()).then(|| ids.join("/"))
}

/// Returns the path of the trajectory that continues this one.
fn continuation(value: &Value) -> Option<String> {
    value.text("continued_trajectory_ref").filter(|_| is_supported(value)).map(Into::into)
}

/// A run with what its steps have said so far.
#[derive(Default)]
struct Trajectory {
    run: Run,
    conversation: Conversation,
    /// How many bytes the events have.
    size: usize,
}

impl Trajectory {
    fn read(&mut self, value: &Value) {
        let subagents = value.list("subagent_trajectories").map_or(0, Vec::len);
        self.conversation.skipped.add_many("subagent", subagents as u64);
        for step in value.list("steps").into_iter().flatten() {
            let begin = self.conversation.events.len();
            self.read_step(step);
            let events = self.conversation.events.iter().skip(begin);
            self.size += events.map(Event::size).sum::<usize>();
        }
    }

    fn read_step(&mut self, step: &Value) {
        let Self { run, conversation, .. } = self;
        let Some(source) = step.text("source") else {
            return conversation.skipped.add("malformed");
        };
        if run.created_at.is_none() {
            run.created_at = step.member("timestamp").and_then(time::utc);
        }
        if step.flag("is_copied_context") == Some(true) {
            conversation.skipped.add("copied_context");
            if source == "user" && run.fallback.is_none() {
                run.fallback = human(step).map(|text| (text, ObjectiveFrom::Copied));
            }
            return;
        }
        match source {
            "user" => conversation.read(&user_message(step)),
            "agent" => {
                run.logprobs.add(step.get("metrics").and_then(|metrics| metrics.get("logprobs")));
                conversation.read(&agent_message(step));
            }
            "system" => conversation.skipped.add("system"),
            _ => return conversation.skipped.add(format!("role:{source}")),
        }
        read_observation(step, conversation);
    }
}

/// Reads the results of a step.
fn read_observation(step: &Value, conversation: &mut Conversation) {
    let is_compaction =
        step.object("extra").is_some_and(|extra| extra.member("context_management").is_some());
    let results = step.object("observation").and_then(|observation| observation.list("results"));
    for result in results.into_iter().flatten() {
        let skipped = &mut conversation.skipped;
        let content = result.member("content");
        if !result.is_object() {
            skipped.add("malformed");
        } else if is_compaction {
            skipped.add("compaction");
        } else if content.is_none() && result.member("subagent_trajectory_ref").is_some() {
            skipped.add("subagent_ref");
        } else {
            let content = text::of(content.unwrap_or(&Value::Null), skipped);
            let flag = failure::flag(result).or(content.failed);
            conversation.events.push(Event::Result(ToolResult {
                failed: flag.unwrap_or_else(|| failure::in_text(&content.text)),
                text: content.text,
                id: result.name("source_call_id").map(Into::into),
                name: None,
            }));
        }
    }
}

fn user_message(step: &Value) -> Value {
    json!({ "role": "user", "content": step.member("message") })
}

fn agent_message(step: &Value) -> Value {
    let calls = step.list("tool_calls").into_iter().flatten().map(|call| match call {
        Value::Object(call) => json!({
            "id": call.member("tool_call_id"),
            "name": call.member("function_name"),
            "arguments": call.member("arguments"),
        }),
        other => other.clone(),
    });
    json!({
        "role": "assistant",
        "reasoning_content": step.member("reasoning_content"),
        "content": step.member("message"),
        "tool_calls": calls.collect::<Vec<_>>(),
    })
}

/// Returns what a user step says.
fn human(step: &Value) -> Option<String> {
    let mut conversation = Conversation::default();
    conversation.read(&user_message(step));
    conversation.events.into_iter().find_map(|event| match event {
        Event::Human(text) if !json::is_blank(&text) => Some(text),
        _ => None,
    })
}
