//! Chat sessions of VS Code.
//!
//! | VS Code (Copilot Chat): `chatSessions`, as JSON and as lines | a session | an error of the last request |
//!
//! - sessions in the tests of agentsview and deja-vu | version 3; aea2eb12 | 2026-11-28 | written
//! - the log of changes, tool rounds and results | VS Code 1.109 on (03d43368), Copilot Chat 35bfd52a, `@vscode/prompt-tsx` 0.4 | 2026-11-28 | source

use std::{
    collections::{BTreeMap, HashMap},
    mem,
};

use serde::Serialize;
use serde_json::value::RawValue;

use crate::prelude::*;

pub const FORMAT: Format = Format::code("vscode-chat", fits, || {
    sessions(Rules {
        begins: |_, record, _| {
            is_session(record).then(|| snapshot(record).unwrap_or(record).name("sessionId"))
        },
        takes: |_, record, _| record.list("k").is_some() && kind(record).is_some(),
        ..Rules::of(|session: &mut Session, record, _| session.add(record))
    })
});

const UNSENT: &str = "expected a log of a known format, found a chat session of VS Code of which no request was sent";
/// The names of the counts of tokens in answers of OpenAI.
pub const USAGE: [&str; 4] =
    ["prompt_tokens", "completion_tokens", "prompt_tokens_details/cached_tokens", ""];

fn fits(object: Value, kind: Option<&str>) -> bool {
    kind.is_none() && is_session(object)
}

fn is_session(object: Value) -> bool {
    let session = snapshot(object).unwrap_or(object);
    session.list("requests").is_some()
        && (session.has("responderUsername") || session.has("creationDate"))
}

/// Returns the session with which a log of changes begins.
fn snapshot(record: Value<'_>) -> Option<Value<'_>> {
    record.object("v").filter(|_| kind(record) == Some(0))
}

fn kind(record: Value) -> Option<i128> {
    record.get("kind")?.as_integer()
}

#[derive(Default)]
pub struct Session {
    log: Option<Node>,
    size: usize,
}

impl Session {
    fn add(&mut self, record: Value) {
        let value = record.get("v");
        let mut node = |value: Option<Value>| {
            let json = raw(value);
            self.size += json.get().len() + size_of::<Node>();
            Node::Text(json)
        };
        let Some(path) = record.list("k") else {
            return self.log = Some(node(snapshot(record).or(Some(record))));
        };
        let place = self.log.as_mut().and_then(|log| log.at(path));
        match (place, kind(record)) {
            (Some(place), Some(2)) => {
                place.open();
                let Node::List(list) = place else { return };
                let end = record.get("i").and_then(Value::as_integer);
                list.truncate(end.and_then(|end| end.try_into().ok()).unwrap_or(usize::MAX));
                let elements = value.and_then(Value::as_array).into_iter().flatten();
                list.extend(elements.map(|element| node(Some(element))));
            }
            (Some(place), _) => *place = node(value),
            (None, _) => {}
        }
    }
}

impl State for Session {
    fn size(&self) -> usize {
        self.size
    }

    fn end(self, mut run: Run, out: &mut Sink) {
        let json = json::json_of(self.log);
        let Ok(document) = Document::parse(json) else { return out.skip("malformed") };
        let session = document.root();
        let is_sent = |request: Value| {
            ["timestamp", "result", "modelState"].iter().any(|name| request.member(name).is_some())
        };
        if !session.elements("requests").any(is_sent) {
            let error = Error::new(Code::UnknownFormat, &out.report.name, Some(run.line), UNSENT);
            return out.done(Err(error));
        }
        run.created_at = session.member("creationDate").and_then(time::utc);
        let folder = session.name("workingDirectory").and_then(|uri| uri.strip_prefix("file://"));
        run.facts.place(folder, None);
        let requests = run.skipped.objects(session.get("requests"));
        requests.for_each(|request| read(request, &mut run));
        out.run(run);
    }
}

/// JSON that later lines change. What they have not changed is text.
#[derive(Serialize)]
#[serde(untagged)]
enum Node {
    Text(Box<RawValue>),
    List(Vec<Node>),
    Object(BTreeMap<String, Node>),
}

impl Node {
    /// Makes nodes of the elements or members.
    fn open(&mut self) {
        let Self::Text(json) = self else { return };
        let json = json.get();
        let Ok(document) = Document::parse(json) else { return };
        let value = document.root();
        let node = |value: Value| Self::Text(raw(value));
        let count = value.as_array().map_or_else(|| value.members().count(), Iterator::count);
        // Nodes of small values would take many times their text.
        if json.len() > 1024 && json.len() / 16 < count {
            return;
        }
        *self = match value.as_array() {
            Some(elements) => Self::List(elements.map(node).collect()),
            None if value.is_object() => {
                let members = value.members().map(|(name, value)| (name.into(), node(value)));
                Self::Object(members.collect())
            }
            None => return,
        };
    }

    /// Returns the node at a path, whose last member may be new.
    fn at(&mut self, path: Array) -> Option<&mut Self> {
        path.into_iter().try_fold(self, |node, step| {
            let begin = if step.is_string() { '{' } else { '[' };
            if matches!(node, Self::Text(json) if json.get().starts_with(begin)) {
                node.open();
            }
            match (node, step.as_str()) {
                (Self::Object(members), Some(name)) => {
                    Some(members.entry(name.into()).or_insert_with(|| Self::List(Vec::new())))
                }
                (Self::List(list), None) => list.get_mut(usize::try_from(step.as_integer()?).ok()?),
                _ => None,
            }
        })
    }
}

/// Returns a value as JSON; `null` if there is no memory for it.
fn raw(value: impl Serialize) -> Box<RawValue> {
    RawValue::from_string(json::json_of(value)).unwrap_or_else(|_| RawValue::NULL.to_owned())
}

/// Reads a request and its answer.
fn read(request: Value, run: &mut Run) {
    run.end_turn();
    let text = request.object("message").text("text").unwrap_or_default();
    if request.flag("isSystemInitiated") == Some(true) {
        run.skipped.add("context");
    } else if !json::is_blank(text) {
        run.say_human(&[text]);
        run.facts.collected.is_person = true;
    }
    run.facts.at(request.member("timestamp"), true);
    let result = request.object("result");
    let metadata = result.object("metadata");
    run.facts.model(metadata.name("resolvedModel").or_else(|| request.name("modelId")));
    let rounds = metadata.list("toolCallRounds").filter(|rounds| !rounds.is_empty());
    let of_round = |round: Value| Tokens::of(round.object("usage"), USAGE);
    if rounds.into_iter().flatten().all(|round| of_round(round).is_none()) {
        let tokens = |of, output| Tokens::of(of, ["promptTokens", output, "", ""]);
        let of_request = || tokens(Some(request), "completionTokens");
        run.facts.add(tokens(metadata, "outputTokens").or_else(of_request));
    }
    // Those of the calls that are here: a log may have many others.
    let calls = rounds.into_iter().flatten().flat_map(|round| round.elements("toolCalls"));
    let mut results: HashMap<_, _> =
        calls.filter_map(|call| Some((call.text("id")?, None))).collect();
    for (id, result) in metadata.object("toolCallResults").into_iter().flat_map(Value::members) {
        results.entry(id).and_modify(|place| *place = Some(result));
    }
    for round in rounds.into_iter().flatten() {
        read_round(round, &results, run);
    }
    let ends_with_calls =
        |round: Value| round.list("toolCalls").is_some_and(|calls| !calls.is_empty());
    let last = rounds.and_then(|rounds| rounds.into_iter().last());
    read_response(request, rounds.is_some(), last.is_none_or(ends_with_calls), run);
    let end = request.object("modelState").member("completedAt");
    run.facts.at(end.or_else(|| request.member("responseTimestamp")), false);
    let state = request.object("modelState").get("value").and_then(Value::as_integer);
    let is_stopped = state == Some(2) || request.flag("isCanceled") == Some(true);
    run.facts.interruptions += u64::from(is_stopped);
    run.has_failed = !is_stopped && (state == Some(3) || result.object("errorDetails").is_some());
}

/// Reads an answer of the model, with the results of its calls.
fn read_round(round: Value, results: &HashMap<&str, Option<Value>>, run: &mut Run) {
    run.facts.add(Tokens::of(round.object("usage"), USAGE).map(Tokens::without_cache));
    let turn = run.next_turn();
    let thinking = round.object("thinking").get("text");
    let texts = thinking.map(|text| text.as_array().unwrap_or_else(|| text.alone()));
    let texts = texts.into_iter().flatten().filter_map(Value::as_str).collect::<String>();
    let said = round.text("response").unwrap_or_default();
    for event in [Event::reasoned(texts), Event::said(said)] {
        if !matches!(&event, Event::Thought { text, .. } if text.is_empty()) {
            run.events.push(event);
        }
    }
    run.read_each(round.get("toolCalls"), |run, part| {
        let call = call_of_part(part, turn);
        let result = call.id.as_deref().and_then(|id| *results.get(id)?).map(|result| {
            let mut text = String::new();
            result.elements("content").for_each(|part| add_text(part, &mut text));
            Output { text, failed: None }.into_result(None)
        });
        run.call_with_result(call, result);
    });
    run.end_step();
}

/// Adds the text of a result: of a part, or of the nodes of `@vscode/prompt-tsx`.
fn add_text(part: Value, all: &mut String) {
    if let Some(text) = part.text("value").or_else(|| part.text("text")) {
        if part.flag("lineBreakBefore") == Some(true) && !all.is_empty() {
            all.push('\n');
        }
        *all += text;
    }
    part.object("value").object("node").into_iter().for_each(|node| add_text(node, all));
    part.elements("children").for_each(|node| add_text(node, all));
}

/// Reads what was shown. `has_rounds`: whether calls and thoughts were read before; `is_last`: whether the last text was not.
fn read_response(request: Value, has_rounds: bool, is_last: bool, run: &mut Run) {
    let mut said = String::new();
    for part in request.elements("response") {
        let text = part.text("value").or_else(|| part.object("value").text("value"));
        match (part.text("kind").unwrap_or("markdownContent"), text) {
            ("markdownContent", Some(text)) => said += text,
            ("inlineReference", _) => said += &name_of(part),
            ("thinking" | "toolInvocationSerialized", _) if has_rounds => said.clear(),
            (kind @ ("thinking" | "toolInvocationSerialized"), text) => {
                say(&mut said, run);
                match text.filter(|_| kind == "thinking") {
                    Some(text) => run.events.push(Event::reasoned(text)),
                    None if kind == "thinking" => run.skipped.add("empty_text"),
                    None => read_invocation(part, run),
                }
            }
            (kind, _) => run.skipped.add_part(kind),
        }
    }
    if is_last {
        say(&mut said, run);
    }
}

fn say(said: &mut String, run: &mut Run) {
    if !json::is_blank(&*said) {
        run.events.push(Event::said(mem::take(said)));
    }
    said.clear();
}

fn name_of(reference: Value) -> String {
    let place = reference.object("inlineReference");
    let path = place.name("path").or_else(|| place.object("uri").name("path")).unwrap_or_default();
    let name = reference.name("name").or_else(|| place.name("name"));
    name.unwrap_or_else(|| path.rsplit('/').next().unwrap_or_default()).into()
}

/// Reads a call as it was shown, which has no arguments but those of some tools.
fn read_invocation(part: Value, run: &mut Run) {
    let data = part.object("toolSpecificData");
    let details = part.object("resultDetails");
    let command = data.object("commandLine").get("original").or_else(|| data.get("command"));
    let input = match command {
        Some(command) => CallInput::of([("command", command)]),
        None => CallInput::recorded(data.get("rawInput").or_else(|| details.get("input"))),
    };
    let turn = run.turn();
    let call = Call::new(part.name("toolId"), input, part.name("toolCallId"), turn);
    let texts = details.elements("output").filter_map(|output| output.text("value"));
    let output = data.object("terminalCommandOutput").text("text").map(Into::into);
    let output =
        output.or_else(|| details.list("output").map(|_| texts.collect::<Vec<_>>().join("\n")));
    let failed = has_failed(data.object("terminalCommandState").get("exitCode"));
    let failed = failed.or_else(|| details.flag("isError"));
    let result = output.map(|text| Output { text, failed }.into_result(None));
    run.call_with_result(call, result);
    run.end_step();
    run.end_turn();
}
