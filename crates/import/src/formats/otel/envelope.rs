//! Finds the spans and log records in OTLP/JSON, Tempo, Jaeger and single spans.

use jiff::{SignedDuration, Timestamp};

use super::{
    attributes::{is_kept, place, said},
    flat::{Flat, add_nested, flat},
    wrapper::{Attribute, add, members},
};
use crate::{
    chat::is_given,
    limits::MAX_VALUES,
    prelude::*,
    spans::{Recorded, Said},
};

/// The spans of a page of Phoenix, as its API and its clients return it.
const PAGES: [&str; 2] = ["data", "spans"];

/// Returns whether a value is a page of spans.
pub(super) fn is_page(value: Value) -> bool {
    PAGES.iter().any(|name| value.list(name).and_then(Array::first).is_some_and(is_span))
}

pub(super) fn is_span(value: Value) -> bool {
    value.text("name").is_some()
        && value.member("attributes").is_some()
        && trace_id(value).is_some()
}

/// Returns the spans of a value, or the value if it is a span itself.
pub(super) fn spans(value: Value<'_>) -> impl Iterator<Item = Value<'_>> {
    let is_single = is_span(value);
    let (single, whole) = (is_single.then_some(value), (!is_single).then_some(value));
    let all = ["resourceSpans", "batches"].into_iter().flat_map(move |name| whole.elements(name));
    let resources = all.chain(whole.member("trace").elements("resourceSpans"));
    let scopes = resources.flat_map(|resource| {
        let names = ["scopeSpans", "instrumentationLibrarySpans"].into_iter();
        names.flat_map(move |name| resource.elements(name))
    });
    let of_jaeger = whole.elements("data");
    let inside = scopes.chain(of_jaeger).flat_map(|scope| scope.elements("spans"));
    let of_phoenix = PAGES.into_iter().flat_map(move |name| whole.elements(name));
    single.into_iter().chain(inside).chain(of_phoenix.filter(|value| is_span(*value)))
}

/// Returns the log records of a value.
pub(super) fn logs(value: Value<'_>) -> impl Iterator<Item = Value<'_>> {
    let resources = value.elements("resourceLogs");
    let scopes = resources.flat_map(|resource| resource.elements("scopeLogs"));
    scopes.flat_map(|scope| scope.elements("logRecords"))
}

/// Returns a span of OTLP or of Jaeger, or a single one, and the id of its trace; `None` if it has no trace id.
pub(super) fn span(value: Value, keeps_given: bool) -> Result<Option<(String, Recorded)>, Full> {
    let Some(trace) = trace_id(value) else { return Ok(None) };
    let is_parent = |reference: &Value| reference.text("refType") == Some("CHILD_OF");
    let parent = value
        .first_name(&["parentSpanId", "parentId", "parent_id", "parent_span_id"])
        .or_else(|| value.object("parentSpanContext").name("spanId"))
        .or_else(|| value.elements("references").find(is_parent).name("spanID"));
    let times = ["startTimeUnixNano", "startTime", "start_time", "timestamp"];
    let ends = ["endTimeUnixNano", "endTime", "end_time"];
    // Jaeger has the status in the attributes.
    let tag = |name| members(value.get("tags")).filter(|tag| tag.0 == name).last()?.1.recorded();
    let is_true = |error: Value| error.as_bool() == Some(true) || error.as_str() == Some("true");
    let status = value.object("status");
    let code = status.first(&["status_code", "code"]).or_else(|| tag("otel.status_code"));
    let code = code.or_else(|| value.member("status_code"));
    // `description` is Python's name of it.
    let message = status.first_name(&["message", "description"]);
    let message = message.or_else(|| value.name("status_message"));
    let start = value.first(&times).and_then(time::instant);
    // Jaeger has microseconds in place of the end.
    let duration = value.get("duration").filter(|_| value.has("spanID"));
    let after = |start: Timestamp| {
        let duration = duration?.as_integer()?.try_into().ok()?;
        start.checked_add(SignedDuration::from_micros(duration)).ok()
    };
    let dropped = value.get("droppedAttributesCount").and_then(Value::as_integer);
    let recorded = members(value.get("attributes").or(value.get("tags")));
    let given = |name| keeps_given && is_given(name);
    // Some record events as an attribute.
    let (listed, kept): (Vec<_>, Vec<_>) = recorded
        .filter(|(name, _)| *name == "events" || is_kept(name) || given(name))
        .partition(|(name, _)| *name == "events");
    let mut span = Recorded {
        // `id` is that of a database where there is another, as in Phoenix.
        id: id(value, &SPAN_ID).or(value.name("id")).map(comparable),
        parent: parent.map(comparable),
        name: value.text("name").or(value.text("operationName")).unwrap_or_default().into(),
        start,
        end: value.first(&ends).and_then(time::instant).or_else(|| after(start?)),
        has_failed: tag("error").is_some_and(is_true) || code.is_some_and(is_error_code),
        message: message.or_else(|| tag("otel.status_description")?.as_str()).map(Into::into),
        attributes: attributes(&kept)?,
        dropped: dropped.and_then(|count| count.try_into().ok()).unwrap_or(0),
        ..Recorded::default()
    };
    for event in value.elements("events").chain(value.elements("logs")) {
        let read = |attributes: Value| {
            said(event.text("name").or(attributes.text("event")), attributes, None)
        };
        let fields = event.get("attributes").or(event.get("fields"));
        // Plain ones need no copy.
        let said = match fields.and_then(Value::as_object) {
            Some(attributes) => read(attributes),
            None => read(all_attributes(fields)?.root()),
        };
        span.events.extend(said.into_iter().flatten());
    }
    let listed = attributes(&listed)?;
    let listed = listed.root().member("events").and_then(|events| events.decoded().as_array());
    let listed = listed.into_iter().flatten();
    let said = listed.filter_map(|event| said(event.text("event.name"), event, None)).flatten();
    let is_new = |said: &Said| !span.events.iter().any(|known| known.side == said.side);
    let said: Vec<_> = said.filter(is_new).collect();
    span.events.extend(said);
    Ok(Some((trace, span)))
}

/// Returns a log record as a span that has only its messages, and the id of its trace; `None` if it has none or no span.
pub(super) fn log(record: Value, line: u64) -> Result<Option<(String, Recorded)>, Full> {
    let attributes = all_attributes(record.get("attributes"))?;
    let attributes = attributes.root();
    let name = record.name("eventName").or_else(|| attributes.name("event.name"));
    let body = record.member("body").map(Attribute::Wrapped);
    let built = Document::build(|index| match body.filter(|body| body.recorded().is_none()) {
        Some(body) => add(index, body),
        None => index.push_null(),
    })?;
    let body = body.map(|body| body.recorded().unwrap_or(built.root()));
    let said = said(name, attributes, body);
    let start = record.first(&["timeUnixNano", "observedTimeUnixNano"]).and_then(time::instant);
    let span = id(record, &SPAN_ID).map(comparable).zip(said);
    let span = span.map(|(id, events)| Recorded {
        line,
        id: Some(id),
        start,
        events,
        ..Recorded::default()
    });
    Ok(trace_id(record).zip(span))
}

const SPAN_ID: [&str; 3] = ["spanId", "span_id", "spanID"];

/// Returns an id of a span, which may be in its context.
fn id<'d>(span: Value<'d>, names: &[&str]) -> Option<&'d str> {
    let mut contexts = ["context", "spanContext"].into_iter().filter_map(|name| span.object(name));
    span.first_name(names).or_else(|| contexts.find_map(|context| context.first_name(names)))
}

fn trace_id(span: Value) -> Option<String> {
    let id = comparable(id(span, &["traceId", "trace_id", "traceID"])?);
    Some(id.strip_prefix("0x").map(Into::into).unwrap_or(id))
}

/// Returns an id as it is compared: hexadecimal digits in lower case, but not Base64.
fn comparable(id: &str) -> String {
    let mut digits = id.strip_prefix("0x").unwrap_or(id).bytes();
    if digits.all(|digit| digit.is_ascii_hexdigit()) { id.to_lowercase() } else { id.into() }
}

fn is_error_code(code: Value) -> bool {
    code.as_integer() == Some(2) || matches!(code.as_str(), Some("ERROR" | "STATUS_CODE_ERROR"))
}

/// Returns attributes as plain JSON. The error is that they have more than [`MAX_VALUES`] values, or that there is no
/// memory for them.
fn attributes(all: &[(&str, Attribute)]) -> Result<Document<'static>, Full> {
    check_count(all.iter().copied())?;
    let mut flattened: Vec<_> = all.iter().copied().filter_map(flat).collect();
    flattened.sort_by(|(a, _), (b, _)| a.cmp(b));
    let places = flattened.chunk_by(|(a, _), (b, _)| a[0] == b[0]);
    let places = places.map(|messages| (messages[0].0[0].1, Member::Flat(messages)));
    let others = all.iter().filter(|(name, _)| place(name).is_none());
    let members = others.map(|(name, attribute)| (*name, Member::Other(*attribute)));
    Document::build(|index| {
        index.object(members.chain(places), |index, member| match member {
            Member::Flat(messages) => add_nested(index, messages, 1),
            Member::Other(attribute) => add(index, attribute),
        })
    })
}

/// Fails if attributes have more than [`MAX_VALUES`] values.
fn check_count<'d>(all: impl Iterator<Item = (&'d str, Attribute<'d>)>) -> Result<(), Full> {
    let values = all.map(|(_, Attribute::Plain(value) | Attribute::Wrapped(value))| value);
    let mut counts = values.map(|value| value.count(MAX_VALUES + 1));
    counts.try_fold(MAX_VALUES, usize::checked_sub).map(drop).ok_or(Full)
}

enum Member<'a, 'd> {
    Flat(&'a [Flat<'d>]),
    Other(Attribute<'d>),
}

/// Returns the attributes of an event or a log record as plain JSON, as [`attributes`] does.
fn all_attributes(value: Option<Value>) -> Result<Document<'static>, Full> {
    check_count(members(value))?;
    Document::build(|index| index.object(members(value), add))
}
