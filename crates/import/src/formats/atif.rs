//! ATIF, the trajectories of Harbor.

use crate::{
    event::{Event, ObjectiveFrom, Run, ToolResult},
    failure,
    format::{Format, Output, ReadRuns},
    json::{Array, Members, Value},
    messages::{Conversation, Message},
    text, time,
};

/// Trajectories of the versions 1.x.
pub(crate) const FORMAT: Format =
    Format { name: "atif", domain: "general", fits, adopts: false, open: || Box::new(Reader) };

fn fits(value: Value) -> bool {
    version(value).is_some() && value.list("steps").is_some()
}

/// Returns the version, as `v1.8`.
fn version(value: Value<'_>) -> Option<&str> {
    value.text("schema_version")?.strip_prefix("ATIF-")
}

fn is_supported(value: Value) -> bool {
    let major = version(value).and_then(|version| version.strip_prefix('v')?.split('.').next());
    major == Some("1") && value.list("steps").is_some()
}

struct Reader;

impl ReadRuns for Reader {
    fn read(&mut self, value: Value, line: u64, out: &mut Output) {
        if !is_supported(value) {
            return out.skip("unsupported_version");
        }
        let mut run = Run { line, key: key(value), ..Run::default() };
        let mut conversation = Conversation::default();
        let subagents = value.list("subagent_trajectories").map_or(0, Array::len);
        conversation.skipped.add_many("subagent", subagents as u64);
        for step in value.list("steps").into_iter().flat_map(Array::iter) {
            read_step(step, &mut run, &mut conversation);
        }
        // The trajectory that goes on with this one is a run of its own.
        if value.text("continued_trajectory_ref").is_some() {
            conversation.skipped.add("continuation");
        }
        let Conversation { events, skipped, .. } = conversation;
        out.run(Run { events, skipped, ..run });
    }
}

fn key(value: Value) -> Option<String> {
    let ids = ["session_id", "trajectory_id"].into_iter().filter_map(|id| value.name(id));
    let ids: Vec<_> = ids.collect();
    (!ids.is_empty()).then(|| ids.join("/"))
}

fn read_step(step: Value, run: &mut Run, conversation: &mut Conversation) {
    let Some(source) = step.text("source") else {
        return conversation.skipped.add("malformed");
    };
    if run.created_at.is_none() {
        run.created_at = step.member("timestamp").and_then(time::utc);
    }
    let user = Message::Content("user", step.member("message"));
    if step.flag("is_copied_context") == Some(true) {
        conversation.skipped.add("copied_context");
        if source == "user" && run.fallback.is_none() {
            let mut copied = Conversation::default();
            copied.read(user);
            run.fallback = copied.first_human().map(|text| (text, ObjectiveFrom::Copied));
        }
        return;
    }
    match source {
        "user" => conversation.read(user),
        "agent" => {
            run.logprobs.add(step.get("metrics").and_then(|metrics| metrics.get("logprobs")));
            conversation.read(Message::Step(step));
        }
        "system" => conversation.skipped.add("system"),
        _ => return conversation.skipped.add(format!("role:{source}")),
    }
    read_observation(step, conversation);
}

/// Reads the results of a step.
fn read_observation(step: Value, conversation: &mut Conversation) {
    let is_compaction =
        step.object("extra").is_some_and(|extra| extra.member("context_management").is_some());
    let results = step.object("observation").and_then(|observation| observation.list("results"));
    for result in results.into_iter().flat_map(Array::iter) {
        let skipped = &mut conversation.skipped;
        let content = result.member("content");
        if !result.is_object() {
            skipped.add("malformed");
        } else if is_compaction {
            skipped.add("compaction");
        } else if content.is_none() && result.member("subagent_trajectory_ref").is_some() {
            skipped.add("subagent_ref");
        } else {
            let content = content.map(|content| text::of(content, skipped)).unwrap_or_default();
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
