//! Sessions of Claude Code, and its output as a stream.

use std::collections::{BTreeMap, HashMap};

use super::open_runs::{Ids, OpenRuns};
use crate::{
    event::{Event, ObjectiveFrom, Run, Skipped, ToolResult, Turn},
    format::{Format, Output, ReadRuns},
    json::{self, Array, Members, Value},
    messages::{self, call_of_part, result_of_part},
    reader::MAX_BYTES,
    text, time,
};

/// The lines of a session file, their array, or `--output-format stream-json`.
pub(crate) const FORMAT: Format = Format {
    name: "claude-code",
    domain: "code",
    fits,
    adopts: false,
    open: || Box::new(Reader::default()),
};

/// Members that only records of sessions have.
const OWN: [&str; 6] = ["sessionId", "session_id", "uuid", "parentUuid", "leafUuid", "snapshot"];

fn fits(object: Value) -> bool {
    let Some(kind) = object.text("type") else { return object.list("loglines").is_some() };
    object.list("loglines").is_some()
        || (matches!(kind, "user" | "assistant") && object.has("message"))
        || OWN.iter().any(|name| object.has(name))
}

#[derive(Default)]
struct Reader {
    runs: OpenRuns<Session>,
    by_uuid: Ids,
    by_session: Ids,
    /// The run of the record before.
    last: Option<u32>,
}

impl ReadRuns for Reader {
    fn read(&mut self, value: Value, line: u64, out: &mut Output) {
        let records = value.list("loglines");
        let alone = records.is_none().then_some(value);
        for record in records.into_iter().flat_map(Array::iter).chain(alone) {
            match record.as_object() {
                Some(record) => self.read_record(record, line, out),
                None => out.skip("malformed"),
            }
        }
    }

    fn finish(&mut self, out: &mut Output) {
        for session in self.runs.close_all() {
            out.run(session.run);
        }
    }
}

impl Reader {
    fn read_record(&mut self, record: Value, line: u64, out: &mut Output) {
        let kind = record.text("type").unwrap_or("?");
        let uuid = record.name("uuid");
        let session = record.first_name(&["sessionId", "session_id"]);
        if !matches!(kind, "user" | "assistant") && uuid.is_none() && session.is_none() {
            return out.skip(format!("record:{kind}"));
        }

        let of_parent = ["parentUuid", "logicalParentUuid"]
            .iter()
            .find_map(|name| self.by_uuid.get(record.name(name)?));
        let known = of_parent.or_else(|| self.by_session.get(session?)).or_else(|| {
            let is_anonymous = uuid.is_none() && session.is_none();
            self.last.filter(|_| is_anonymous)
        });
        let number = known.unwrap_or_else(|| {
            let key = session.map(Into::into);
            let run = Run { line, key, ..Run::default() };
            let (number, closed) = self.runs.begin(Session { run, ..Session::default() });
            if let Some(closed) = closed {
                out.run(closed.run);
            }
            number
        });
        self.last = Some(number);
        if let Some(session) = session {
            self.by_session.insert(session, number);
        }
        let is_repeated =
            uuid.is_some_and(|uuid| self.by_uuid.insert(uuid, number) == Some(number));

        let Some(run) = self.runs.get(number) else { return out.skip("late") };
        run.read(record, kind, is_repeated);
        if run.size > MAX_BYTES {
            out.too_large(run.run.line);
            self.runs.close(number);
        }
    }
}

/// A run that is open.
#[derive(Default)]
struct Session {
    run: Run,
    size: usize,
    turns: Turn,
    /// The turns of the answers, by `message.id` or `uuid`.
    answers: HashMap<String, Answer>,
    /// Where the calls and results stand among the events.
    calls: Ids,
    results: Ids,
}

/// An answer of the assistant, which may come as several records.
struct Answer {
    turn: Turn,
    /// The places of its thoughts and texts among the events. None begins with another of its kind.
    thoughts: BTreeMap<(bool, String), usize>,
}

impl Session {
    fn read(&mut self, record: Value, kind: &str, is_repeated: bool) {
        if self.run.created_at.is_none() {
            self.run.created_at = record.member("timestamp").and_then(time::utc);
        }
        if self.run.key.is_none() {
            self.run.key = record.first_name(&["sessionId", "session_id"]).map(Into::into);
        }
        let message = record.object("message");
        let content = message.and_then(|message| message.member("content"));
        let is_true = |name| record.flag(name) == Some(true);
        let skipped = match kind {
            "result" => {
                if let Some(is_error) = record.flag("is_error") {
                    let subtype = record.text("subtype").unwrap_or("success");
                    self.run.status = Some(!is_error && subtype == "success");
                }
                Some(format!("record:{kind}"))
            }
            "user" | "assistant" => {
                let is_synthetic = is_true("isApiErrorMessage")
                    || message.is_some_and(|message| message.text("model") == Some("<synthetic>"));
                let is_sidechain =
                    is_true("isSidechain") || record.member("parent_tool_use_id").is_some();
                match content {
                    _ if is_repeated => Some("repeated"),
                    Some(content) if content.is_string() || content.is_array() => None,
                    _ => Some("malformed"),
                }
                .or(is_sidechain.then_some("sidechain"))
                .or(is_true("isCompactSummary").then_some("compact_summary"))
                .or(is_true("isMeta").then_some("meta"))
                .or(is_synthetic.then_some("synthetic"))
                .map(Into::into)
            }
            _ => Some(format!("record:{kind}")),
        };
        if let Some(reason) = skipped {
            self.run.skipped.add(reason);
            return;
        }
        let (Some(message), Some(content)) = (message, content) else { return };
        let array = content.as_array();
        let parts = array.into_iter().flat_map(Array::iter);
        let parts = parts.chain(array.is_none().then_some(content));
        let before = self.run.events.len();
        if kind == "assistant" {
            let id = message.name("id").or_else(|| record.name("uuid"));
            self.read_answer(parts, id);
        } else {
            self.read_user(parts);
        }
        self.size += self.run.events[before..].iter().map(Event::size).sum::<usize>();
    }

    fn read_answer<'d>(&mut self, parts: impl Iterator<Item = Value<'d>>, id: Option<&str>) {
        let next = self.turns;
        let mut own = Answer { turn: next, thoughts: BTreeMap::new() };
        let Self { run, answers, calls, results, .. } = self;
        let answer = match id {
            Some(id) => answers.entry(id.into()).or_insert(own),
            None => &mut own,
        };
        if answer.turn == next {
            self.turns += 1;
        }
        for part in parts {
            let kind = type_of(part);
            match kind {
                "text" | "thinking" => {
                    let text = text::of_part(part).unwrap_or_default();
                    add_thought(run, answer, text, kind == "text");
                }
                "tool_use" | "server_tool_use" | "mcp_tool_use" => {
                    let call = call_of_part(part, answer.turn);
                    let known = call.id.as_ref().and_then(|id| calls.get(id));
                    match known.and_then(|index| run.events.get_mut(index as usize)) {
                        Some(Event::Call(earlier)) => {
                            (earlier.name, earlier.input) = (call.name, call.input);
                            run.skipped.add("repeated");
                        }
                        _ => {
                            if let Some(id) = &call.id {
                                calls.insert(id, run.events.len() as u32);
                            }
                            run.events.push(Event::Call(call));
                        }
                    }
                }
                kind if messages::is_result_type(kind) => add_result(run, results, part, kind),
                kind => run.skipped.add(format!("part:{kind}")),
            }
        }
    }

    fn read_user<'d>(&mut self, parts: impl Iterator<Item = Value<'d>>) {
        let mut texts = Vec::new();
        for part in parts {
            match type_of(part) {
                "text" => {
                    let text = text::of_part(part).unwrap_or_default();
                    match read_human(&text, &mut self.run) {
                        Some(text) if json::is_blank(&text) => {}
                        Some(text) => texts.push(text),
                        None => {}
                    }
                }
                kind if messages::is_result_type(kind) => {
                    add_result(&mut self.run, &mut self.results, part, kind);
                }
                kind => self.run.skipped.add(format!("part:{kind}")),
            }
        }
        if !texts.is_empty() {
            self.run.events.push(Event::Human(texts.join("\n")));
        }
    }
}

fn type_of(part: Value<'_>) -> &str {
    if part.is_string() { "text" } else { part.text("type").unwrap_or("?") }
}

/// Adds what the assistant says or thinks. Streams repeat a text with what has been added to it.
fn add_thought(run: &mut Run, answer: &mut Answer, text: String, said: bool) {
    let Answer { thoughts, .. } = answer;
    let key = (said, text.clone());
    let next = thoughts.range(&key..).next();
    if next.is_some_and(|((next_said, next), _)| *next_said == said && next.starts_with(&text)) {
        run.skipped.add("repeated");
        return;
    }
    let earlier = thoughts.range(..&key).next_back();
    let begun = earlier.filter(|((said, earlier), _)| *said == key.0 && text.starts_with(earlier));
    let begun = begun.map(|(earlier, place)| (earlier.clone(), *place));
    let place = match begun {
        Some((earlier, place)) => {
            thoughts.remove(&earlier);
            run.events[place] = Event::Thought { text, said };
            run.skipped.add("repeated");
            place
        }
        None => {
            run.events.push(Event::Thought { text, said });
            run.events.len() - 1
        }
    };
    thoughts.insert(key, place);
}

fn add_result(run: &mut Run, results: &mut Ids, part: Value, kind: &str) {
    let mut result = result_of_part(part, kind, &mut run.skipped);
    result.text = without_reminders(result.text, &mut run.skipped);
    let known = result.id.as_ref().and_then(|id| results.get(id));
    match known.and_then(|index| run.events.get_mut(index as usize)) {
        Some(Event::Result(earlier)) => {
            (earlier.text, earlier.failed) = (result.text, result.failed);
            run.skipped.add("repeated");
        }
        _ => {
            if let Some(id) = &result.id {
                results.insert(id, run.events.len() as u32);
            }
            run.events.push(Event::Result(result));
        }
    }
}

/// What user messages hold that no person wrote, by how they begin.
const NOT_HUMAN: [(&str, &str); 13] = [
    ("<local-command-stdout>", "local_command"),
    ("<local-command-stderr>", "local_command"),
    ("<local-command-caveat>", "local_command"),
    ("<bash-input>", "local_command"),
    ("<bash-stdout>", "local_command"),
    ("<bash-stderr>", "local_command"),
    (
        "Caveat: The messages below were generated by the user while running local commands.",
        "local_command",
    ),
    ("<command-name>", "command"),
    ("<command-message>", "command"),
    ("[Request interrupted by user", "interruption"),
    ("Operation stopped by hook:", "hook"),
    ("<ide_opened_file>", "editor_context"),
    ("<ide_selection>", "editor_context"),
];

/// Returns what a person wrote; `None` if the text is something else.
fn read_human(text: &str, run: &mut Run) -> Option<String> {
    let beginning = text.trim_start_matches(['\t', '\n', '\u{b}', '\u{c}', '\r', ' ']);
    if beginning.starts_with("<task-notification>") {
        // An id that no call has: it answers none.
        let id = Some(String::new());
        let text = without_reminders(text.into(), &mut run.skipped);
        run.events.push(Event::Result(ToolResult { text, failed: false, id, name: None }));
        return None;
    }
    if let Some((_, reason)) = NOT_HUMAN.iter().find(|(begin, _)| beginning.starts_with(begin)) {
        run.skipped.add(*reason);
        if *reason == "command" && run.fallback.is_none() {
            run.fallback = command(text).map(|command| (command, ObjectiveFrom::Command));
        }
        return None;
    }
    Some(without_reminders(text.into(), &mut run.skipped))
}

/// Returns a command as one types it: its name and its arguments.
fn command(text: &str) -> Option<String> {
    let inside = |name: &str| -> Option<&str> {
        let (_, rest) = text.split_once(&format!("<{name}>"))?;
        let (inside, _) = rest.split_once(&format!("</{name}>"))?;
        Some(json::trimmed(inside)).filter(|inside| !inside.is_empty())
    };
    let words: Vec<_> = ["command-name", "command-args"].into_iter().filter_map(inside).collect();
    (!words.is_empty()).then(|| words.join(" "))
}

/// Cuts what the program told the model out of a text.
fn without_reminders(text: String, skipped: &mut Skipped) -> String {
    let mut rest = text.as_str();
    let mut kept = String::new();
    while let Some((before, reminder)) = rest.split_once("<system-reminder>")
        && let Some((_, after)) = reminder.split_once("</system-reminder>")
    {
        kept.push_str(before);
        rest = after;
        skipped.add("system_reminder");
    }
    if kept.is_empty() && rest.len() == text.len() { text } else { kept + rest }
}
