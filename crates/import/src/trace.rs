//! From the events of a run to a trace of the protocol.

use std::{
    collections::{HashMap, VecDeque},
    fmt::{self, Write},
    sync::Arc,
};

use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::{
    event::{Event, ObjectiveFrom, Run, Skipped, ToolResult, Turn},
    json::{self, Document, Text, quoted},
    options::{AssumeSuccess, Options},
};

/// The version of the rules. It changes when other traces come out of the same log.
pub const IMPORTER: u32 = 1;

/// How many values and names of members a trace has at most: in the tool inputs of a run, or in all of a trace
/// that is in the log.
/// More would take many times the memory of the log, once JavaScript has them.
pub const MAX_VALUES: usize = 1 << 20;

/// What the error of a trace with more values says.
pub const TOO_MANY_VALUES: &str = "expected at most 1048576 values and names in the tool inputs of a run, in a trace or in the \
                                   attributes of a span, found more";

/// How many characters of the last answer are its summary.
const SUMMARY_CHARS: usize = 2000;

/// A trace of the KnowledgePulse protocol, and where its values come from.
#[derive(Debug, Clone, PartialEq)]
pub struct Imported {
    /// The trace, as JSON of the protocol.
    pub trace: Box<str>,
    /// Where its values come from.
    pub provenance: Provenance,
}

impl Imported {
    /// Returns the trace and its provenance as JSON.
    pub fn to_json(&self) -> String {
        let provenance = serde_json::to_string(&self.provenance).unwrap_or_default();
        format!(r#"{{"trace":{},"provenance":{provenance}}}"#, self.trace)
    }
}

/// Where the values of a trace come from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Provenance {
    /// The version of the rules: [`IMPORTER`].
    pub importer: u32,
    /// The name of the format.
    pub format: &'static str,
    /// The place in the input.
    pub source: Source,
    /// The format's id of the run; `None` where the id of the trace is made of its content.
    pub key: Option<String>,
    /// Where the objective comes from.
    pub objective_from: ObjectiveFrom,
    /// Where `success` comes from.
    pub success_from: SuccessFrom,
    /// Where the confidence comes from.
    pub confidence_from: ConfidenceFrom,
    /// Where the time comes from.
    pub created_at_from: CreatedAtFrom,
    /// Where the domain comes from.
    pub domain_from: DomainFrom,
    /// What of the run is not imported.
    pub skipped: Skipped,
}

/// A place in an input.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Source {
    /// The caller's name of the input.
    pub name: Arc<str>,
    /// The line, from 1, at which the first record of the run begins.
    pub line: u64,
}

/// Where `success` comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SuccessFrom {
    /// Somebody's judgement in the log.
    Label,
    /// How the run ended.
    Status,
    /// The option `assumeSuccess`.
    Assumed,
    /// The option `success`.
    Option,
    /// The log is a trace already.
    Own,
}

/// Where the confidence comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ConfidenceFrom {
    /// The log.
    Explicit,
    /// The probabilities of the tokens of the answers.
    Logprobs,
    /// 0.8 after success, 0.2 after failure.
    Default,
    /// The log is a trace already.
    Own,
}

/// Where the time comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CreatedAtFrom {
    /// The log.
    Source,
    /// The option `createdAt`.
    Option,
    /// Nowhere: it is 1970-01-01T00:00:00.000Z.
    None,
}

/// Where the domain comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum DomainFrom {
    /// The option `domain`.
    Option,
    /// What agents of the format do.
    Format,
    /// Nowhere: it is `general`.
    Default,
    /// The log is a trace already.
    Own,
}

/// Why a run gives no trace.
pub enum NoTrace {
    /// It is skipped for this reason.
    Skipped(&'static str, Skipped),
    /// It is not known whether it succeeded.
    SuccessUnknown(Skipped),
    /// The assistant's calls have no known shape.
    UnknownCalls(Skipped),
    /// There is no memory for it.
    NoMemory(Skipped),
    /// Its tool inputs have more than [`MAX_VALUES`] values.
    TooManyValues(Skipped),
}

/// Returns the trace of a run.
pub fn of(
    mut run: Run,
    format: &'static str,
    format_domain: &'static str,
    source: Source,
    options: &Options,
) -> Result<Imported, NoTrace> {
    let mut skipped = std::mem::take(&mut run.skipped);
    run.events.retain(|event| {
        let is_empty = match event {
            Event::Human(text) | Event::Thought { text, .. } => json::is_blank(text),
            Event::Call(_) | Event::Result(_) => false,
        };
        if is_empty {
            skipped.add("empty_text");
        }
        !is_empty
    });
    let values = run.events.iter().map(|event| match event {
        Event::Call(call) => call.input.values,
        _ => 0,
    });
    if values.sum::<usize>() > MAX_VALUES {
        return Err(NoTrace::TooManyValues(skipped));
    }
    let has_calls = run.events.iter().any(|event| matches!(event, Event::Call(_)));
    let is_call = |(reason, _): (&str, u64)| {
        reason.strip_prefix("part:").is_some_and(|kind| {
            let kind = kind.to_ascii_lowercase();
            kind.contains("call") || kind.contains("tool")
        })
    };
    if !has_calls && skipped.iter().any(is_call) {
        return Err(NoTrace::UnknownCalls(skipped));
    }
    let objective = take_objective(&mut run, options);
    let summary = summary(&run.events);
    let Ok(steps) = steps(run.events) else {
        return Err(NoTrace::NoMemory(skipped));
    };
    if steps == "[]" {
        return Err(NoTrace::Skipped("no_steps", skipped));
    }
    let Some((objective, objective_from)) = objective else {
        return Err(NoTrace::Skipped("no_objective", skipped));
    };

    let (success, success_from) = match (options.success, run.label, run.status) {
        (Some(success), ..) => (success, SuccessFrom::Option),
        (_, Some(label), _) => (label, SuccessFrom::Label),
        (.., Some(status)) => (status, SuccessFrom::Status),
        (None, None, None) => match options.assume_success {
            Some(AssumeSuccess::Always(success)) => (success, SuccessFrom::Assumed),
            Some(AssumeSuccess::Skip) => return Err(NoTrace::Skipped("success_unknown", skipped)),
            None => return Err(NoTrace::SuccessUnknown(skipped)),
        },
    };
    let logprobs = run.logprobs.confidence().filter(|_| options.use_logprobs);
    let (confidence, confidence_from) = match (run.confidence, logprobs) {
        (Some(confidence), _) => (confidence, ConfidenceFrom::Explicit),
        (None, Some(confidence)) => (confidence, ConfidenceFrom::Logprobs),
        // As the SDK's own capture sets it.
        (None, None) => (if success { 0.8 } else { 0.2 }, ConfidenceFrom::Default),
    };
    let (created_at, created_at_from) = match (run.created_at, &options.created_at) {
        (Some(time), _) => (time, CreatedAtFrom::Source),
        (None, Some(time)) => (time.clone(), CreatedAtFrom::Option),
        (None, None) => ("1970-01-01T00:00:00.000Z".into(), CreatedAtFrom::None),
    };
    let (domain, domain_from) = match (&options.domain, format_domain) {
        (Some(domain), _) => (domain.as_str(), DomainFrom::Option),
        (None, "general") => ("general", DomainFrom::Default),
        (None, domain) => (domain, DomainFrom::Format),
    };

    let key = run.key.clone().unwrap_or_else(|| key(&objective, &steps));
    let mut trace = Text::default();
    let written = write!(
        trace,
        r#"{{"@context":"https://openknowledgepulse.org/schema/v1","@type":"ReasoningTrace","id":{},"metadata":{{"created_at":{},"task_domain":{},"success":{success},"quality_score":0,"visibility":{},"privacy_level":{},"framework":{}}},"task":{{"objective":{}}},"steps":{steps},"outcome":{{"result_summary":{},"confidence":{}}}}}"#,
        quoted(&trace_id(format, &key)),
        quoted(&created_at),
        quoted(domain),
        quoted(&options.visibility),
        quoted(&options.privacy_level),
        quoted(format),
        quoted(&objective),
        quoted(&summary),
        serde_json::json!(confidence),
    );
    if written.is_err() {
        return Err(NoTrace::NoMemory(skipped));
    }
    let trace = trace.into_string().into();
    let provenance = Provenance {
        importer: IMPORTER,
        format,
        source,
        key: run.key,
        objective_from,
        success_from,
        confidence_from,
        created_at_from,
        domain_from,
        skipped,
    };
    Ok(Imported { trace, provenance })
}

/// Returns the key of a run without an id: a hash of its content in canonical form.
fn key(objective: &str, steps: &str) -> String {
    /// Hashes what is written.
    struct Hash(Sha256);
    impl Write for Hash {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            self.0.update(text);
            Ok(())
        }
    }
    let mut hash = Hash(Sha256::new());
    hash.0.update(format!(r#"{{"objective":{},"steps":"#, quoted(objective)));
    if let Ok(steps) = Document::parse(steps) {
        // A hash takes everything.
        let _ = steps.root().write_canonical(&mut hash);
    }
    hash.0.update("}");
    format!("sha256:{:x}", hash.0.finalize())
}

/// Takes the objective out of a run: the text, and the event that says the same.
fn take_objective(run: &mut Run, options: &Options) -> Option<(String, ObjectiveFrom)> {
    let field = options
        .objective
        .clone()
        .map(|objective| (objective, ObjectiveFrom::Option))
        .or_else(|| Some((run.objective.take()?, ObjectiveFrom::Field)));
    if let Some((objective, from)) = field {
        let said = run.events.iter().position(|event| match event {
            Event::Human(text) => json::trimmed(text) == json::trimmed(&objective),
            _ => false,
        });
        if let Some(said) = said {
            run.events.remove(said);
        }
        return Some((objective, from));
    }
    match run.events.iter().position(|event| matches!(event, Event::Human(_))) {
        Some(first) => match run.events.remove(first) {
            Event::Human(objective) => Some((objective, ObjectiveFrom::Human)),
            _ => None,
        },
        None => run.fallback.take(),
    }
}

/// Returns what the assistant said last, or else the content of the last step that has one.
fn summary(events: &[Event]) -> String {
    let said = events.iter().rev().find_map(|event| match event {
        Event::Thought { text, said: true } => Some(text),
        _ => None,
    });
    let content = || {
        events.iter().rev().find_map(|event| match event {
            Event::Human(text) | Event::Thought { text, .. } => Some(text),
            Event::Result(result) => Some(&result.text),
            Event::Call(_) => None,
        })
    };
    said.or_else(content).map(|text| text.chars().take(SUMMARY_CHARS).collect()).unwrap_or_default()
}

/// Returns the steps of a run as JSON.
fn steps(events: Vec<Event>) -> Result<String, fmt::Error> {
    let mut calls = Calls::default();
    // The turn whose failure the next call of another turn recovers from.
    let mut failed: Option<Failure> = None;
    let mut json = Text::default();
    json.write_char('[')?;
    for (index, event) in events.into_iter().enumerate() {
        let comma = if index > 0 { "," } else { "" };
        write!(json, r#"{comma}{{"step_id":{index},"type":"#)?;
        let (kind, text) = match event {
            Event::Human(text) => ("observation", text),
            Event::Thought { text, .. } => ("thought", text),
            Event::Call(call) => {
                calls.add(call.id, &call.name, call.turn);
                let is_recovery =
                    failed.take_if(|failed| *failed != Failure::Of(call.turn)).is_some();
                let kind = if is_recovery { "error_recovery" } else { "tool_call" };
                let (name, input) = (quoted(&call.name), call.input.json);
                write!(json, r#""{kind}","tool":{{"name":{name}}},"input":{input}}}"#)?;
                continue;
            }
            Event::Result(result) => {
                let turn = calls.answer(&result);
                if result.failed {
                    failed = Some(turn.map_or(Failure::OfNoCall, Failure::Of));
                }
                ("observation", result.text)
            }
        };
        write!(json, r#""{kind}","content":"#)?;
        json::write_string(&text, &mut json)?;
        json.write_char('}')?;
    }
    json.write_char(']')?;
    Ok(json.into_string())
}

/// What has failed.
#[derive(PartialEq, Eq)]
enum Failure {
    /// A call of this turn.
    Of(Turn),
    /// What answers no known call.
    OfNoCall,
}

/// The calls so far, to be found by the results that answer them. `T` is what is known of each.
#[derive(Default)]
pub struct Calls<T> {
    known: Vec<T>,
    answered: Vec<bool>,
    by_id: HashMap<String, usize>,
    waiting: VecDeque<usize>,
    waiting_by_name: HashMap<String, VecDeque<usize>>,
}

impl<T: Copy> Calls<T> {
    /// Adds a call.
    pub fn add(&mut self, id: Option<String>, name: &str, known: T) {
        let index = self.known.len();
        self.known.push(known);
        self.answered.push(false);
        if let Some(id) = id {
            self.by_id.insert(id, index);
        }
        self.waiting.push_back(index);
        self.waiting_by_name.entry(name.into()).or_default().push_back(index);
    }

    /// Returns what is known of the call that a result answers: the latest one with its id, or without an
    /// id the first one, of its name if it has one, that has no answer yet.
    pub fn answer(&mut self, result: &ToolResult) -> Option<T> {
        let call = match (&result.id, &result.name) {
            (Some(id), _) => self.by_id.get(id).copied(),
            (None, Some(name)) => {
                first_waiting(self.waiting_by_name.get_mut(name)?, &self.answered)
            }
            (None, None) => first_waiting(&mut self.waiting, &self.answered),
        }?;
        self.answered[call] = true;
        Some(self.known[call])
    }
}

fn first_waiting(waiting: &mut VecDeque<usize>, answered: &[bool]) -> Option<usize> {
    while waiting.front().is_some_and(|call| answered[*call]) {
        waiting.pop_front();
    }
    waiting.front().copied()
}

/// Returns the id of a trace: a UUID of version 8 (RFC 9562), made of the format and the key.
fn trace_id(format: &str, key: &str) -> String {
    let name = format!("knowledgepulse-import\n{IMPORTER}\n{format}\n{key}");
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&Sha256::digest(name)[..16]);
    bytes[6] = bytes[6] & 0x0f | 0x80;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex = bytes.map(|byte| format!("{byte:02x}")).concat();
    let [a, b, c, d, e] = [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]];
    format!("kp:trace:{a}-{b}-{c}-{d}-{e}")
}
