//! Assembles the trace of a run.

use std::{collections::BTreeSet, mem};

use sha2::{Digest, Sha256};

use crate::{
    answers::answered_calls,
    chat::chat,
    error::{Code, Failure},
    events::Event,
    format::Format,
    imported::Imported,
    json::{self, MAX_TEXT, is_longer, json_of},
    limits::{MAX_VALUES, TOO_MANY_VALUES},
    options::{AssumeSuccess, Confidence, Options, UnreadCalls},
    provenance::{IMPORTER, Origin, Provenance, Source},
    run::Run,
    steps::{self, steps_of},
    trace::{ImportedTrace, Kept, Made, Metadata, Outcome, Task},
};

const SUCCESS_UNKNOWN: &str = "expected to know whether the run succeeded, found neither a label nor a \
                               status; set success or assumeSuccess";

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
    let size = run.size();
    let mut events = run.events.split_off(0);
    let all = events.len();
    events.retain(|event| match event {
        Event::Human(text) | Event::Thought { text, .. } => !json::is_blank(text),
        Event::System(_) | Event::Call(_) | Event::Result(_) => true,
    });
    run.skipped.add_many("empty_text", (all - events.len()) as u64);
    let calls = events.iter().filter_map(Event::call);
    if calls.clone().map(|call| call.input.count()).sum::<usize>() > MAX_VALUES {
        return Err((Code::TooLarge, TOO_MANY_VALUES.into()));
    }
    let rejects = match options.unread_calls {
        UnreadCalls::Skip => false,
        UnreadCalls::RejectAll => calls.count() == 0,
        UnreadCalls::RejectAny => true,
    };
    let unread: BTreeSet<_> = run.possible_calls.part_types().collect();
    if rejects && !unread.is_empty() {
        let types = unread.into_iter().take(SHOWN_TYPES).collect::<Vec<_>>().join(", ");
        let found = format!("expected calls of a known shape, found parts of the types {types}");
        return Err((Code::UnknownRecords, found));
    }
    let facts = mem::take(&mut run.facts);
    let answered = answered_calls(&events);
    let facts = facts.complete(&events, &answered, &run.skipped);
    let objective = objective_of(run, &events, options);
    // The event with the same text.
    let is_objective = |(objective, _): &(String, Origin)| {
        let objective = json::trimmed(objective);
        events
            .iter()
            .position(|event| event.human().is_some_and(|text| json::trimmed(text) == objective))
    };
    let said = objective.as_ref().and_then(is_objective);
    let wanted = objective.as_ref().filter(|_| options.messages);
    let chat = wanted.map(|(text, _)| chat(&events, &answered, (text, said), &run.given));
    let chat = chat.transpose()?;
    if let Some(said) = said {
        events.remove(said);
    }
    let summary = summary(&events);
    let steps = steps_of(events, answered);
    let mut none = |reason| {
        run.conversation.skipped.add(reason);
        Ok(None)
    };
    if steps.is_empty() {
        return none("no_steps");
    }
    let Some((objective, objective_from)) = objective else { return none("no_objective") };

    let key = run.key.clone().unwrap_or_else(|| steps::key(&objective, &steps));
    let id = trace_id(format.name, &key);
    let given = options.success.or_else(|| options.label_of(&id, run.key.as_deref()));
    let (success, success_from) = match (given, run.label, run.has_failed) {
        (Some(success), ..) => (success, Origin::Option),
        (_, Some(label), _) => (label, Origin::Label),
        (.., true) => (false, Origin::Status),
        (None, None, false) => match options.assume_success {
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

    let private = || "private".to_owned();
    let metadata = Metadata {
        created_at,
        task_domain: domain.to_owned(),
        success,
        quality_score: 0,
        visibility: options.visibility.clone().unwrap_or_else(private),
        privacy_level: options.privacy_level.clone().unwrap_or_else(private),
        framework: format.name,
    };
    let trace = Made {
        context: "https://openknowledgepulse.org/schema/v1",
        kind: "ReasoningTrace",
        id,
        metadata,
        task: Task { objective },
        steps,
        outcome: Outcome { result_summary: summary, confidence },
    };
    // A line of JavaScript has both.
    let rest = MAX_TEXT.saturating_sub(json_of((&run.key, &facts)).len());
    // A byte takes at most six, and what is around a text less than an event.
    if 8 * (size + trace.task.objective.len()) > rest && is_longer(&trace, rest) {
        return Err((Code::TooLarge, TOO_LONG.into()));
    }
    let trace = ImportedTrace(Kept::Made(trace.into()));
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
        facts: Some(facts),
    };
    Ok(Some(Imported { trace, chat, provenance }))
}

fn objective_of(run: &mut Run, events: &[Event], options: &Options) -> Option<(String, Origin)> {
    let given = options.objective.clone().map(|text| (text, Origin::Option));
    let field = run.objective.take().map(|text| (text, Origin::Field));
    let human = events.iter().position(|event| event.human().is_some());
    let instead = run.instead.take();
    // Whether a command was answered before a person said anything.
    let before = &events[..human.unwrap_or(events.len())];
    let is_answer = |event: &Event| matches!(event, Event::Thought { .. } | Event::Call(_));
    let is_first = matches!(instead, Some((_, Origin::Command))) && before.iter().any(is_answer);
    let human = human.and_then(|place| Some((events[place].human()?.clone(), Origin::Human)));
    let asked = if is_first { instead.or(human) } else { human.or(instead) };
    given.or(field).or(asked).or_else(|| run.fallback.take())
}

/// Returns the last answer of the assistant, or else the content of the last step that has one.
fn summary(events: &[Event]) -> String {
    let texts = events.iter().filter_map(|event| match event {
        Event::Thought { text, said } => Some((*said, text)),
        Event::Human(text) => Some((false, text)),
        Event::Result(result) => Some((false, &result.text)),
        Event::System(_) | Event::Call(_) => None,
    });
    // The last one of several.
    let best = texts.max_by_key(|(said, _)| *said);
    best.map(|(_, text)| text.chars().take(SUMMARY_CHARS).collect()).unwrap_or_default()
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
