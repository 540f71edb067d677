//! Sessions of Claude Code, and its output as a stream.
//!
//! | Claude Code: session files, `--output-format stream-json`, exports with `loglines` | a session, with those that resume it | an error of the `result` record of stream-json |
//!
//! - sessions of Entire, in the tests of claude-code-log and claude-code-transcripts | 2.1.12; 394f81fa, a641071a, cad133d9 | 2026-11-22 | captured
//! - stream-json | | 2026-11-22 | written
//! - queued prompts, messages of other agents | 2.1.62 to 2.1.181 | 2026-11-26 | written
//! - channels, notices, forks, sessions that go on in a copy, advisers | 2.1.80 to 2.1.283 | 2026-11-28 | written

use std::{collections::BTreeMap, mem};

use super::prelude::*;
use crate::{
    call::Turn,
    format::{FormatReader, open},
    messages::{is_result_type, parts, result_of_part},
    sessions::Interleaved,
    text::{elements, without},
};

/// Members that only records of sessions have.
const OWN: [&str; 5] = ["sessionId", "uuid", "parentUuid", "leafUuid", "snapshot"];

pub const FORMAT: Format =
    Format { name: "claude-code", domain: "code", fits, open: open::<Records> };

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

/// The tags and the origins of notices about tasks.
const NOTICES: [&str; 2] = ["task-notification", "agent-notification"];

#[derive(Default)]
struct Session {
    /// The places among the events of the texts (`true`) and thoughts of turns, none of which is a prefix of another.
    thoughts: BTreeMap<Thought, usize>,
    /// The size of these in bytes.
    size: usize,
    /// Whether a person said something.
    is_asked: bool,
}

type Thought = (Turn, bool, String);

impl sessions::Session for Session {
    fn size(&self) -> usize {
        self.size
    }
}

impl Session {
    fn read(&mut self, record: Value, kind: &str, is_repeated: bool, run: &mut Run) {
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
            run.skipped.add(reason);
            if reason == "compact_summary" && run.fallback.is_none() {
                let texts = parts(Some(content)).filter(|(kind, _)| *kind == "text");
                let texts: Vec<_> = texts.filter_map(|(_, part)| text_of_part(part)).collect();
                let text = Some(texts.join("\n")).filter(|text| !json::is_blank(text));
                run.fallback = text.map(|text| (text, Origin::Copied));
            }
        } else if kind == "assistant" {
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
            self.read_user(content, mode.or(origin), run);
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
        let next = self.thoughts.range(&thought..).next().map(|(next, _)| next);
        if next.is_some_and(|next| is_of_turn(next) && next.2.starts_with(text)) {
            return run.skipped.add("repeated");
        }
        let event = Event::Thought { text: text.clone(), said: *said };
        let begun = self.thoughts.range(..&thought).next_back().map(|(begun, _)| begun);
        let begun = begun.filter(|begun| is_of_turn(begun) && text.starts_with(&begun.2)).cloned();
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

    /// Reads what a person wrote, or the origin of the message did.
    fn read_user(&mut self, content: Value, origin: Option<&str>, run: &mut Run) {
        let mut texts = Vec::new();
        let mut is_first = true;
        for (kind, part) in parts(Some(content)) {
            match kind {
                "text" => {
                    let text = text_of_part(part).unwrap_or_default();
                    let is_first = mem::take(&mut is_first) && run.events.is_empty();
                    let text = match origin {
                        Some(origin) if NOTICES.contains(&origin) => read_notice(&text, run),
                        // What a person wrote in another program.
                        Some("channel") => {
                            Some(inside_tags(&["channel"], &text, "\n").unwrap_or(text))
                        }
                        _ => read_human(&text, is_first, run),
                    };
                    texts.extend(text.filter(|text| !json::is_blank(text)));
                }
                kind if is_result_type(kind) => add_result(part, kind, run),
                kind => run.skipped.add_part(kind),
            }
        }
        if !texts.is_empty() && !mem::replace(&mut self.is_asked, true) {
            let is_command = matches!(run.fallback, Some((_, Origin::Command)));
            run.is_command_first = is_command && has_answer(run);
        }
        run.say_human(&texts);
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

fn add_result(part: Value, kind: &str, run: &mut Run) {
    let mut result = result_of_part(part, kind, &mut run.skipped);
    result.text = without_reminders(result.text, &mut run.skipped);
    let is_repeated = run.put(Event::Result(result));
    run.skipped.add_many("repeated", is_repeated.into());
}

/// The beginnings of texts in user messages that no person wrote, and the reasons to skip those.
const NOT_HUMAN: [(&str, &str); 14] = [
    ("<tick>", "meta"),
    ("<local-command-stdout>", "local_command"),
    ("<local-command-stderr>", "local_command"),
    ("<local-command-caveat>", "local_command"),
    ("<bash-input>", "local_command"),
    ("<bash-stdout>", "local_command"),
    ("<bash-stderr>", "local_command"),
    ("Caveat: The messages below were generated by the user while running", "local_command"),
    ("<command-name>", "command"),
    ("<command-message>", "command"),
    ("[Request interrupted by user", "interruption"),
    ("Operation stopped by hook:", "hook"),
    ("<ide_opened_file>", "editor_context"),
    ("<ide_selection>", "editor_context"),
];

/// The tags of messages of other agents.
const AGENTS: [&str; 3] = ["teammate-message", "agent-message", "cross-session-message"];

/// Returns what is inside the elements with these tags.
fn inside_tags(tags: &[&str], text: &str, separator: &str) -> Option<String> {
    let inside = elements(tags, text).map(|message| json::trimmed(message.inside));
    let inside: Vec<_> = inside.filter(|inside| !inside.is_empty()).collect();
    (!inside.is_empty()).then(|| inside.join(separator))
}

/// Returns the text of a person; `None` if nobody wrote it. `is_first`: whether nothing comes before it in the run.
fn read_human(text: &str, is_first: bool, run: &mut Run) -> Option<String> {
    let beginning = text.trim_start_matches(json::BLANK);
    let tag = beginning.strip_prefix('<').unwrap_or_default();
    let is_of_agent = AGENTS.iter().any(|name| tag.starts_with(name));
    // The task of a member of a team is its objective.
    if is_of_agent
        && is_first
        && let Some(task) = inside_tags(&AGENTS, text, "\n")
    {
        run.facts.collected.of_agents += 1;
        return Some(task);
    }
    if is_of_agent || NOTICES.iter().any(|name| tag.starts_with(name)) {
        return read_notice(text, run);
    }
    if let Some((begin, reason)) = NOT_HUMAN.iter().find(|(begin, _)| beginning.starts_with(begin))
    {
        run.skipped.add(*reason);
        run.facts.collected.is_person |= *reason == "command" || *begin == "<bash-input>";
        let is_known = matches!(run.fallback, Some((_, Origin::Command)));
        // A command that was not answered was no question, such as one that sets the model.
        if *reason == "command" && !(is_known && has_answer(run)) {
            // As it is typed.
            let command = inside_tags(&["command-name", "command-args"], text, " ");
            run.fallback = command.map(|command| (command, Origin::Command));
        }
        return None;
    }
    Some(without_reminders(text.into(), &mut run.skipped))
}

/// Returns whether the assistant said or did something.
fn has_answer(run: &Run) -> bool {
    let is_answer = |event: &Event| matches!(event, Event::Thought { .. } | Event::Call(_));
    run.events.iter().any(is_answer)
}

/// Adds a text of the program or of another agent, as a result that answers no call.
fn read_notice(text: &str, run: &mut Run) -> Option<String> {
    let text = without_reminders(text.into(), &mut run.skipped);
    // No call has this id.
    let id = Some(String::new());
    run.events.push(Event::Result(ToolResult { text, id, ..ToolResult::default() }));
    None
}

/// Removes the reminders of the program to the model.
pub fn without_reminders(text: String, skipped: &mut Skipped) -> String {
    without(&["system-reminder"], text, "system_reminder", skipped)
}
