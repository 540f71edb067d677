//! From the events of a run to a trace of the protocol.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    hash::Hash,
    io::{self, Write},
    mem,
};

use sha2::{Digest, Sha256};

use crate::{
    error::{Code, Failure},
    events::{CallInput, Event, MAX_VALUES, Origin, Run, TOO_MANY_VALUES, ToolResult, Turn},
    format::Format,
    json::{self, Buffer, Document, MAX_TEXT, json_of},
    options::{AssumeSuccess, Confidence, Options, UnreadCalls},
    reader::NO_MEMORY,
    trace::{IMPORTER, Imported, Provenance, Source},
};

const SUCCESS_UNKNOWN: &str = "expected to know whether the run succeeded, found neither a label nor a \
                               status; set assumeSuccess";

const TOO_LONG: &str = "expected at most 256 MiB of JSON in one trace, found more";

/// The most types of parts that an error names.
const SHOWN_TYPES: usize = 5;

/// The most characters of the last answer in the summary.
const SUMMARY_CHARS: usize = 2000;

/// Returns the trace of a run. `Ok(None)`: there is none, and the reason has been added to `run.skipped`. Without a
/// trace, `run.skipped` stays complete.
pub fn trace_of(
    run: &mut Run,
    format: &Format,
    source: Source,
    options: &Options,
) -> Result<Option<Imported>, Failure> {
    let mut events = run.events.split_off(0);
    let all = events.len();
    events.retain(|event| match event {
        Event::Human(text) | Event::Thought { text, .. } => !json::is_blank(text),
        Event::Call(_) | Event::Result(_) => true,
    });
    run.skipped.add_many("empty_text", (all - events.len()) as u64);
    let calls = events.iter().filter_map(Event::call);
    let inputs = calls.clone().map(|call| &call.input);
    // Each value takes a byte at least.
    if inputs.clone().map(|input| input.json.len()).sum::<usize>() > MAX_VALUES
        && inputs.map(CallInput::values).sum::<usize>() > MAX_VALUES
    {
        return Err((Code::TooLarge, TOO_MANY_VALUES.into()));
    }
    let rejects = match options.unread_calls {
        UnreadCalls::Skip => false,
        UnreadCalls::RejectAll => calls.count() == 0,
        UnreadCalls::RejectAny => true,
    };
    let unread = run.skipped.iter().filter_map(|(reason, _)| unread_call(reason)).take(SHOWN_TYPES);
    let unread: Vec<_> = unread.collect();
    if rejects && !unread.is_empty() {
        let types = unread.join(", ");
        let found = format!("expected calls of a known shape, found parts of the types {types}");
        return Err((Code::UnknownRecords, found));
    }
    let objective = take_objective(run, &mut events, options);
    let summary = summary(&events);
    let steps = json::written(|out| write_steps(events, out)).map_err(too_large)?;
    let mut none = |reason| {
        run.skipped.add(reason);
        Ok(None)
    };
    if steps == "[]" {
        return none("no_steps");
    }
    let Some((objective, objective_from)) = objective else { return none("no_objective") };

    let (success, success_from) = match (options.success, run.label, run.status) {
        (Some(success), ..) => (success, Origin::Option),
        (_, Some(label), _) => (label, Origin::Label),
        (.., Some(status)) => (status, Origin::Status),
        (None, None, None) => match options.assume_success {
            Some(AssumeSuccess::Always(success)) => (success, Origin::Assumed),
            Some(AssumeSuccess::Skip) => return none("success_unknown"),
            None => return Err((Code::SuccessUnknown, SUCCESS_UNKNOWN.into())),
        },
    };
    let (confidence, confidence_from) = match (options.confidence, run.confidence) {
        (Some(Confidence::Given(confidence)), _) => (confidence, Origin::Option),
        (_, Some(confidence)) => (confidence, Origin::Explicit),
        (confidence, None) => match run.logprobs.confidence().filter(|_| confidence.is_some()) {
            Some(confidence) => (confidence, Origin::Logprobs),
            // As the SDK's own capture sets it.
            None => (if success { 0.8 } else { 0.2 }, Origin::Default),
        },
    };
    let (created_at, created_at_from) = match (run.created_at.take(), &options.created_at) {
        (Some(time), _) => (time, Origin::Source),
        (None, Some(time)) => (time.clone(), Origin::Option),
        (None, None) => ("1970-01-01T00:00:00.000Z".into(), Origin::None),
    };
    let (domain, domain_from) = match (&options.domain, format.domain) {
        (Some(domain), _) => (domain.as_str(), Origin::Option),
        (None, "general") => ("general", Origin::Default),
        (None, domain) => (domain, Origin::Format),
    };

    let key = run.key.clone().unwrap_or_else(|| key(&objective, &steps));
    let trace = json::written(|out| write!(
        out,
        r#"{{"@context":"https://openknowledgepulse.org/schema/v1","@type":"ReasoningTrace","id":{},"metadata":{{"created_at":{},"task_domain":{},"success":{success},"quality_score":0,"visibility":{},"privacy_level":{},"framework":{}}},"task":{{"objective":{}}},"steps":{steps},"outcome":{{"result_summary":{},"confidence":{}}}}}"#,
        json_of(trace_id(format.name, &key)),
        json_of(&created_at),
        json_of(domain),
        json_of(options.visibility.as_deref().unwrap_or("private")),
        json_of(options.privacy_level.as_deref().unwrap_or("private")),
        json_of(format.name),
        json_of(&objective),
        json_of(&summary),
        json_of(confidence),
    ))
    .map_err(too_large)?;
    // A line of JavaScript has both.
    if trace.len() + json_of(&run.key).len() > MAX_TEXT {
        return Err((Code::TooLarge, TOO_LONG.into()));
    }
    let provenance = Provenance {
        importer: IMPORTER,
        format: format.name,
        source,
        key: run.key.take(),
        objective_from,
        success_from,
        confidence_from,
        created_at_from,
        domain_from,
        skipped: mem::take(&mut run.skipped),
    };
    Ok(Some(Imported { trace: trace.into(), provenance }))
}

/// Returns the failure to write a trace.
fn too_large(error: io::Error) -> Failure {
    let is_long = error.kind() == io::ErrorKind::FileTooLarge;
    (Code::TooLarge, if is_long { TOO_LONG } else { NO_MEMORY }.into())
}

/// Returns the type of a part that was skipped, if by its name it is a call.
fn unread_call(reason: &str) -> Option<&str> {
    let kind = reason.strip_prefix("part:")?;
    let lower = kind.to_ascii_lowercase();
    let is_answer = ["output", "result", "response"].iter().any(|end| lower.ends_with(end));
    let is_other = ["mcp_list_tools", "tool-approval-request", "tool_reference"].contains(&&*lower);
    (!is_answer && !is_other && (lower.contains("call") || lower.contains("tool"))).then_some(kind)
}

/// Returns the key of a run without an id: a hash of its content in canonical form.
fn key(objective: &str, steps: &str) -> String {
    let mut hash = Sha256::new();
    let content = format!(r#"{{"objective":{},"steps":{steps}}}"#, json_of(objective));
    // Writing to a hash never fails.
    let _ = json::write_canonical(Document::written(content).root(), &mut hash);
    format!("sha256:{:x}", hash.finalize())
}

/// Returns the objective of a run, and removes the event with the same text.
fn take_objective(
    run: &mut Run,
    events: &mut Vec<Event>,
    options: &Options,
) -> Option<(String, Origin)> {
    let given = options.objective.clone().map(|text| (text, Origin::Option));
    let field = run.objective.take().map(|text| (text, Origin::Field));
    let human = || Some((events.iter().find_map(Event::human)?.clone(), Origin::Human));
    let (objective, from) = given.or(field).or_else(human).or_else(|| run.fallback.take())?;
    let is_objective = |text: &String| json::trimmed(text) == json::trimmed(&objective);
    let said = events.iter().position(|event| event.human().is_some_and(is_objective));
    if let Some(said) = said {
        events.remove(said);
    }
    Some((objective, from))
}

/// Returns the last answer of the assistant, or else the content of the last step that has one.
fn summary(events: &[Event]) -> String {
    let texts = events.iter().filter_map(|event| match event {
        Event::Thought { text, said } => Some((*said, text)),
        Event::Human(text) => Some((false, text)),
        Event::Result(result) => Some((false, &result.text)),
        Event::Call(_) => None,
    });
    // The last one of several.
    let best = texts.max_by_key(|(said, _)| *said);
    best.map(|(_, text)| text.chars().take(SUMMARY_CHARS).collect()).unwrap_or_default()
}

fn write_steps(events: Vec<Event>, out: &mut Buffer) -> io::Result<()> {
    let mut calls = Calls::default();
    // The turn of the last failed call; `Some(None)` if the failed result belongs to no known call. The next
    // call of another turn recovers from it.
    let mut failed: Option<Option<Turn>> = None;
    out.write_all(b"[")?;
    for (index, event) in events.into_iter().enumerate() {
        let comma = if index > 0 { "," } else { "" };
        write!(out, r#"{comma}{{"step_id":{index},"type":"#)?;
        let (kind, text) = match event {
            Event::Human(text) => ("observation", text),
            Event::Thought { text, .. } => ("thought", text),
            Event::Call(call) => {
                calls.add(call.id, &call.name, call.turn);
                let is_recovery = failed.take_if(|turn| *turn != Some(call.turn)).is_some();
                let kind = if is_recovery { "error_recovery" } else { "tool_call" };
                let (name, input) = (json_of(&call.name), call.input.json);
                write!(out, r#""{kind}","tool":{{"name":{name}}},"input":{input}}}"#)?;
                continue;
            }
            Event::Result(result) => {
                let turn = calls.answer(&result);
                if result.failed {
                    failed = Some(turn);
                }
                ("observation", result.text)
            }
        };
        write!(out, r#""{kind}","content":"#)?;
        serde_json::to_writer(&mut *out, &text)?;
        out.write_all(b"}")?;
    }
    out.write_all(b"]")
}

/// Calls that wait for something, each under several keys.
#[derive(Default)]
pub struct Waiting<K> {
    calls: HashMap<K, VecDeque<usize>>,
    taken: HashSet<usize>,
}

impl<K: Eq + Hash> Waiting<K> {
    pub fn add(&mut self, call: usize, keys: impl IntoIterator<Item = K>) {
        for key in keys {
            self.calls.entry(key).or_default().push_back(call);
        }
    }

    pub fn has(&self, key: &K) -> bool {
        self.calls.contains_key(key)
    }

    /// Takes the first call under any of these keys.
    pub fn take(&mut self, keys: impl IntoIterator<Item = K>) -> Option<usize> {
        let mut first: Option<usize> = None;
        for key in keys {
            let Some(calls) = self.calls.get_mut(&key) else { continue };
            while calls.front().is_some_and(|call| self.taken.contains(call)) {
                calls.pop_front();
            }
            first = first.into_iter().chain(calls.front().copied()).min();
        }
        self.taken.extend(first);
        first
    }
}

/// The calls so far, each with the value that its result gets.
#[derive(Default)]
pub struct Calls<T> {
    values: Vec<T>,
    by_id: HashMap<String, usize>,
    /// By name and all together.
    waiting: Waiting<Option<String>>,
}

impl<T: Copy> Calls<T> {
    pub fn add(&mut self, id: Option<String>, name: &str, value: T) {
        let index = self.values.len();
        self.values.push(value);
        self.by_id.extend(id.map(|id| (id, index)));
        self.waiting.add(index, [None, Some(name.into())]);
    }

    /// Returns the value of the call that a result answers: the latest one with its id; without an id the
    /// first one without an answer, and with its name if it has one.
    pub fn answer(&mut self, result: &ToolResult) -> Option<T> {
        let call = match &result.id {
            Some(id) => *self.by_id.get(id)?,
            None => self.waiting.take([result.name.clone()])?,
        };
        self.waiting.taken.insert(call);
        Some(self.values[call])
    }
}

/// Returns the id of a trace: a UUID of version 8 (RFC 9562) from the format and the key.
fn trace_id(format: &str, key: &str) -> String {
    let name = format!("knowledgepulse-import\n{IMPORTER}\n{format}\n{key}");
    let mut bytes: [u8; 16] = Sha256::digest(name).first_chunk().copied().unwrap_or_default();
    bytes[6] = bytes[6] & 0x0f | 0x80;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex = bytes.map(|byte| format!("{byte:02x}")).concat();
    let [a, b, c, d, e] = [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]];
    format!("kp:trace:{a}-{b}-{c}-{d}-{e}")
}
