//! Sessions of Claude Code, and its output as a stream.
//!
//! | Claude Code: session files, `--output-format stream-json`, exports with `loglines` | a session, with those that resume it | an error of the `result` record of stream-json, an API error at the end |
//!
//! - sessions of Entire, in the tests of claude-code-log and claude-code-transcripts | 2.1.12; 394f81fa, a641071a, cad133d9 | 2026-11-22 | captured
//! - stream-json | | 2026-11-22 | written
//! - queued prompts, messages of other agents | 2.1.62 to 2.1.181 | 2026-11-26 | written
//! - channels, notices, forks, sessions that go on in a copy, advisers, errors at the end | 2.1.80 to 2.1.283 | 2026-11-29 | written

use std::collections::BTreeMap;

use crate::{
    messages::{is_result_type, result_of_part},
    prelude::*,
};

/// Members that only records of sessions have.
const OWN: [&str; 5] = ["sessionId", "uuid", "parentUuid", "leafUuid", "snapshot"];

pub const FORMAT: Format = Format::code("claude-code", fits, open::<Records>);

fn fits(object: Value, kind: Option<&str>) -> bool {
    let is_record = |kind| match kind {
        "user" | "assistant" if object.has("message") => !object.object("message").has("parts"),
        // Other tools have a stream with this member too.
        "system" | "result" | "stream_event" if object.has("session_id") => true,
        _ => OWN.iter().any(|name| object.has(name)),
    };
    object.list("loglines").is_some() || kind.is_some_and(is_record)
}

/// The names of the counts of tokens.
pub const USAGE: [&str; 4] =
    ["input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"];

#[derive(Default)]
pub struct Records {
    runs: Interleaved<Session>,
    by_uuid: Ids,
    /// The run of the previous record.
    last: Option<u32>,
    /// The last session that a record has named.
    session: String,
}

impl FormatReader for Records {
    fn takes(&self, record: Value) -> bool {
        let session = record.first_name(&["sessionId", "session_id"]);
        session == Some(&*self.session) && fits(record, record.text("type"))
    }

    fn read(&mut self, value: Value, out: &mut Sink) {
        let lines = value.get("loglines").filter(|lines| lines.is_array());
        let own = lines.is_none().then_some(value);
        for record in out.report.skipped.objects(lines).chain(own) {
            let kind = record.text("type").unwrap_or("?");
            let uuid = record.name("uuid");
            let session = record.first_name(&["sessionId", "session_id"]);
            if !matches!(kind, "user" | "assistant") && uuid.is_none() && session.is_none() {
                out.report.skipped.add_record(kind);
                continue;
            }

            let of_parent = ["parentUuid", "logicalParentUuid"]
                .iter()
                .find_map(|name| self.by_uuid.get(record.name(name)?));
            // Sessions that were cleaned have no ids at all.
            let is_alone = uuid.is_some() && !self.session.is_empty();
            let of_previous = self.last.filter(|_| session.is_none() && !is_alone);
            let known = of_parent.or_else(|| self.runs.ids.get(session?)).or(of_previous);
            let number = known.unwrap_or_else(|| self.runs.begin(session, out));
            self.last = Some(number);
            if let Some(session) = session {
                self.runs.ids.insert(session, number);
                if session != self.session {
                    self.session = session.into();
                }
            }
            let is_repeated =
                uuid.is_some_and(|uuid| self.by_uuid.insert(uuid, number) == Some(number));

            self.runs.add(number, out, |session, run, _| {
                let time = record.member("timestamp");
                run.record(time, |run| session.read(record, kind, is_repeated, run));
            });
        }
    }

    fn finish(&mut self, out: &mut Sink) {
        self.runs.end_all(out);
    }
}

/// The origins of notices about tasks.
const NOTICES: [&str; 2] = ["task-notification", "agent-notification"];

#[derive(Default)]
struct Session {
    /// The places among the events of the texts (`true`) and thoughts of turns.
    thoughts: BTreeMap<Thought, usize>,
    /// The size of these in bytes.
    size: usize,
}

type Thought = (Turn, bool, String);

impl State for Session {
    fn size(&self) -> usize {
        self.size
    }
}

impl Session {
    fn read(&mut self, record: Value, kind: &str, is_repeated: bool, run: &mut Run) {
        run.harness = Harness::Claude;
        run.facts.collected.launchers = &["Agent", "Task"];
        if run.facts.cwd.is_none() || run.facts.branch.is_none() {
            run.facts.place(record.name("cwd"), record.name("gitBranch"));
        }
        // A fork begins with the records of another session.
        if let Some(session) = record.first_name(&["sessionId", "session_id"])
            && run.key.as_deref() != Some(session)
        {
            run.key = Some(session.into());
        }
        if kind == "result" {
            read_end(record, run);
        }
        // What a person types while the agent works.
        let queued = record.object("attachment").filter(|attachment| {
            kind == "attachment" && attachment.text("type") == Some("queued_command")
        });
        if kind == "continued-in" {
            // The conversation goes on in a copy of this session.
            return run.skipped.add("continuation");
        }
        if !matches!(kind, "user" | "assistant") && queued.is_none() {
            return run.skipped.add_record(kind);
        }
        if is_repeated {
            return run.skipped.add("repeated");
        }
        let message = record.object("message");
        let content = queued.member("prompt").or_else(|| message.member("content"));
        let content = content.filter(|value| value.is_string() || value.is_array());
        let Some(content) = content else { return run.skipped.add("malformed") };
        let model = message.text("model");
        let is_true = |name| record.flag(name) == Some(true);
        let origin = queued.object("origin").or_else(|| record.object("origin")).text("kind");
        // As in the output as a stream.
        let is_meta =
            is_true("isMeta") || is_true("isSynthetic") || queued.flag("isMeta") == Some(true);
        let reasons = [
            ("sidechain", is_true("isSidechain") || record.member("parent_tool_use_id").is_some()),
            ("compact_summary", is_true("isCompactSummary")),
            ("meta", is_meta && origin != Some("channel")),
            ("synthetic", is_true("isApiErrorMessage") || model == Some("<synthetic>")),
        ];
        if let Some((reason, _)) = reasons.into_iter().find(|(_, applies)| *applies) {
            if reason == "compact_summary" {
                let texts = parts(Some(content)).filter(|(kind, _)| *kind == "text");
                let text = joined(texts.filter_map(|(_, part)| text_of_part(part)));
                run.note_summary(text.unwrap_or_default());
            } else {
                run.skipped.add(reason);
                run.has_failed |= is_true("isApiErrorMessage");
            }
        } else if kind == "assistant" {
            run.has_failed = false;
            let id = message.name("id").or_else(|| record.name("uuid"));
            let turn = run.turn_of(id);
            run.facts.model(model);
            let tokens = tokens(message.object("usage"), run);
            run.facts.set(turn, tokens);
            self.read_answer(content, turn, run);
        } else {
            let result = record.object("toolUseResult");
            run.facts.calls_of_subagent(result.get("totalToolUseCount"));
            let mode = queued.text("commandMode").filter(|mode| NOTICES.contains(mode));
            let is_notice = mode.or(origin).is_some_and(|origin| NOTICES.contains(&origin));
            let read = |run: &mut Conversation, kind: &str, part: Value| match kind {
                "text" => run.notice(text_of_part(part).unwrap_or_default()),
                kind if is_result_type(kind) => add_result(part, kind, run),
                kind => run.skipped.add_part(kind),
            };
            if is_notice {
                parts(Some(content)).for_each(|(kind, part)| read(run, kind, part));
            } else {
                run.read_user_by(Some(content), read);
            }
        }
    }

    fn read_answer(&mut self, content: Value, turn: Turn, run: &mut Run) {
        for (kind, part) in parts(Some(content)) {
            match kind {
                "text" | "thinking" => {
                    let text = text_of_part(part).unwrap_or_default();
                    self.add_thought((turn, kind == "text", text), run);
                }
                "tool_use" | "server_tool_use" | "mcp_tool_use" => {
                    let is_repeated = run.put(Event::Call(call_of_part(part, turn)));
                    run.skipped.add_many("repeated", is_repeated.into());
                }
                kind if is_result_type(kind) => add_result(part, kind, run),
                kind => run.skip_unknown(kind, part),
            }
        }
    }

    /// Adds a text or thought. Streams repeat it as it grows.
    fn add_thought(&mut self, thought: Thought, run: &mut Run) {
        let (turn, said, text) = &thought;
        if text.is_empty() {
            // Is no beginning of another.
            return run.skipped.add("empty_text");
        }
        let is_of_turn = |other: &Thought| (other.0, other.1) == (*turn, *said);
        // A record repeats those before it, and never itself.
        let is_earlier = |(_, place): &(&Thought, &usize)| **place < run.begun;
        let next = self.thoughts.range(&thought..).next().filter(is_earlier);
        if next.is_some_and(|(next, _)| is_of_turn(next) && next.2.starts_with(text)) {
            return run.skipped.add("repeated");
        }
        let event = Event::Thought { text: text.clone(), said: *said };
        let begun = self.thoughts.range(..&thought).next_back().filter(is_earlier);
        let begun = begun.map(|(begun, _)| begun.clone());
        let begun = begun.filter(|begun| is_of_turn(begun) && text.starts_with(&begun.2));
        self.size += text.len();
        let place = match begun.and_then(|begun| self.thoughts.remove_entry(&begun)) {
            Some((begun, place)) => {
                self.size -= begun.2.len();
                run.events.replace(place, event);
                run.skipped.add("repeated");
                place
            }
            None => {
                run.events.push(event);
                run.events.len() - 1
            }
        };
        self.thoughts.insert(thought, place);
    }
}

/// Returns the tokens of an answer: also those of its adviser, and of an attempt in whose place another model answered,
/// which its totals lack.
fn tokens(usage: Option<Value>, run: &mut Run) -> Option<Tokens> {
    let is = |step: &Value, kind| step.text("type") == Some(kind);
    let steps = usage.elements("iterations");
    let has_fallback = steps.clone().any(|step| is(&step, "fallback_message"));
    let others = steps
        .filter(|step| is(step, "advisor_message") || (has_fallback && is(step, "message")))
        .inspect(|step| run.facts.model(step.name("model")));
    let others = others.filter_map(|step| Tokens::of(Some(step), USAGE));
    Tokens::of(usage, USAGE).into_iter().chain(others).reduce(Tokens::plus)
}

/// Reads how the session of a stream ended.
pub fn read_end(result: Value, run: &mut Run) {
    if let Some(is_error) = result.flag("is_error") {
        run.has_failed = is_error || result.text("subtype").unwrap_or("success") != "success";
    }
}

fn add_result(part: Value, kind: &str, run: &mut Conversation) {
    let result = result_of_part(part, kind, &mut run.skipped);
    let result = run.judged(result);
    let is_repeated = run.put(Event::Result(result));
    run.skipped.add_many("repeated", is_repeated.into());
}
