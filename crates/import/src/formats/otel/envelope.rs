//! Finds the spans and log records in OTLP/JSON, Tempo, Jaeger and single spans.

use std::fmt::{self, Write};

use super::super::spans::Span;
use super::attributes::{EventMessages, Recorded, is_kept};
use crate::{
    events::MAX_VALUES,
    json::{self, Document, Members, Value},
    time,
};

/// A part of a value.
pub(super) enum Item {
    /// A span, and the id of its trace.
    Span(String, Box<Recorded>),
    /// The messages of a log record, and the ids of its trace and span.
    Log(String, String, EventMessages),
    /// A part that is not imported, with the reason.
    Skipped(&'static str),
}

/// A part of a value. The error is that attributes have more than [`MAX_VALUES`] values, or that there is no
/// memory for them.
pub(super) type ReadItem = Result<Item, fmt::Error>;

/// Returns whether an object is a span by itself.
pub(super) fn is_span(value: Value) -> bool {
    value.text("name").is_some()
        && value.member("attributes").is_some()
        && trace_id(value).is_some()
}

/// Reads the spans and log records of a value.
pub(super) fn read(value: Value, mut each: impl FnMut(ReadItem)) {
    if is_span(value) {
        return each(span(value));
    }
    let whole = Some(value);
    let trace = value.member("trace");
    for (value, name) in [(whole, "resourceSpans"), (whole, "batches"), (trace, "resourceSpans")] {
        for resource in value.into_iter().flat_map(|value| value.elements(name)) {
            for scopes in ["scopeSpans", "instrumentationLibrarySpans"] {
                for scope in resource.elements(scopes) {
                    scope.elements("spans").for_each(|value| each(span(value)));
                }
            }
        }
    }
    for resource in value.elements("resourceLogs") {
        for scope in resource.elements("scopeLogs") {
            scope.elements("logRecords").for_each(|record| each(log(record)));
        }
    }
    for trace in value.elements("data") {
        trace.elements("spans").for_each(|value| each(jaeger(value)));
    }
}

/// Reads a span of OTLP, or a single one.
fn span(value: Value) -> ReadItem {
    let Some(object) = value.as_object() else { return Ok(Item::Skipped("malformed")) };
    let Some(trace) = trace_id(object) else { return Ok(Item::Skipped("malformed")) };
    let parent = object
        .first_name(&["parentSpanId", "parentId", "parent_id"])
        .or_else(|| object.object("parentSpanContext")?.name("spanId"));
    let times = ["startTimeUnixNano", "startTime", "start_time", "timestamp"];
    let status = object.object("status");
    let is_ok = || is_ok(status?.first(&["status_code", "code"])?);
    // `description` is Python's name of it.
    let message = status.and_then(|status| status.first_name(&["message", "description"]));
    let span = Span {
        id: id(object, &["spanId", "span_id", "id"]).map(Into::into),
        parent: parent.map(Into::into),
        name: object.text("name").unwrap_or_default().into(),
        start: object.first(&times).and_then(time::instant),
        status: is_ok(),
        message: message.map(Into::into),
        ..Span::default()
    };
    let mut recorded = Recorded { span, ..Recorded::default() };
    recorded.attributes = attributes(object.get("attributes"), is_kept)?;
    for event in value.elements("events") {
        let attributes = all_attributes(event.get("attributes"))?;
        let messages = EventMessages::of(event.text("name"), attributes.root(), None);
        recorded.events.extend(messages.unwrap_or_default());
    }
    Ok(Item::Span(trace, Box::new(recorded)))
}

/// Reads a span of Jaeger.
fn jaeger(value: Value) -> ReadItem {
    let Some(trace) = value.name("traceID") else { return Ok(Item::Skipped("malformed")) };
    let is_parent = |reference: &Value| reference.text("refType") == Some("CHILD_OF");
    let parent = value.elements("references").find(is_parent);
    let tags = all_attributes(value.get("tags"))?;
    let tags = tags.root();
    let is_error = tags.flag("error") == Some(true) || tags.text("error") == Some("true");
    let status = tags.member("otel.status_code").and_then(is_ok);
    let span = Span {
        id: value.name("spanID").map(Into::into),
        parent: parent.and_then(|parent| parent.name("spanID")).map(Into::into),
        name: value.text("operationName").unwrap_or_default().into(),
        start: value.member("startTime").and_then(time::instant),
        status: if is_error { Some(false) } else { status },
        message: tags.text("otel.status_description").map(Into::into),
        ..Span::default()
    };
    let mut recorded = Recorded { span, ..Recorded::default() };
    for log in value.elements("logs") {
        let fields = all_attributes(log.get("fields"))?;
        let messages = EventMessages::of(fields.root().text("event"), fields.root(), None);
        recorded.events.extend(messages.unwrap_or_default());
    }
    recorded.attributes = attributes(Some(tags), is_kept)?;
    Ok(Item::Span(normalised(trace), Box::new(recorded)))
}

/// Reads a log record.
fn log(record: Value) -> ReadItem {
    let attributes = all_attributes(record.get("attributes"))?;
    let attributes = attributes.root();
    let name = record.name("eventName").or_else(|| attributes.name("event.name"));
    let body = record.member("body").map(plain).transpose()?.map(Document::written);
    let sides = EventMessages::of(name, attributes, body.as_ref().map(Document::root));
    let ids = record
        .as_object()
        .and_then(|record| Some((trace_id(record)?, id(record, &["spanId", "span_id"])?)));
    match (ids, sides) {
        (Some((trace, span)), Some(sides)) => Ok(Item::Log(trace, span.into(), sides)),
        _ => Ok(Item::Skipped("other_log")),
    }
}

/// Returns an id of a span, which may be in its context.
fn id<'d>(span: Value<'d>, names: &[&str]) -> Option<&'d str> {
    let mut contexts = ["context", "spanContext"].into_iter().filter_map(|name| span.object(name));
    span.first_name(names).or_else(|| contexts.find_map(|context| context.first_name(names)))
}

fn trace_id(span: Value) -> Option<String> {
    id(span, &["traceId", "trace_id"]).map(normalised)
}

fn normalised(id: &str) -> String {
    let id = id.to_lowercase();
    id.strip_prefix("0x").map(Into::into).unwrap_or(id)
}

fn is_ok(code: Value) -> Option<bool> {
    match (code.as_integer(), code.as_str()) {
        (Some(1), _) | (_, Some("OK" | "STATUS_CODE_OK")) => Some(true),
        (Some(2), _) | (_, Some("ERROR" | "STATUS_CODE_ERROR")) => Some(false),
        _ => None,
    }
}

/// Returns attributes as plain JSON: those of an object, or of an array of keys and values.
fn attributes(value: Option<Value>, is_kept: impl Fn(&str) -> bool) -> Result<String, fmt::Error> {
    let mut json = json::Buffer::default();
    write_attributes(value, &is_kept, &mut json)?;
    Ok(json.into_string())
}

fn all_attributes(value: Option<Value>) -> Result<Document<'static>, fmt::Error> {
    attributes(value, |_| true).map(Document::written)
}

fn write_attributes(
    value: Option<Value>,
    is_kept: &dyn Fn(&str) -> bool,
    out: &mut json::Buffer,
) -> fmt::Result {
    let members = value.into_iter().flat_map(Value::members);
    let members = members.map(|(name, value)| (name, (value, false)));
    let pairs = value.and_then(Value::as_array).into_iter().flatten();
    let pairs = pairs.filter_map(|pair| Some((pair.text("key")?, (pair.get("value")?, true))));
    let kept = members.chain(pairs).filter(|(name, _)| is_kept(name));
    let mut room = MAX_VALUES;
    json::write_object(kept, out, |(value, is_wrapped), out| {
        room = room.checked_sub(value.count(room + 1)).ok_or(fmt::Error)?;
        if is_wrapped { write_plain(value, out) } else { write!(out, "{value}") }
    })
}

/// Returns the JSON of a value without OTLP's wrapper, if it has one.
fn plain(value: Value) -> Result<String, fmt::Error> {
    let mut json = json::Buffer::default();
    write_plain(value, &mut json)?;
    Ok(json.into_string())
}

fn write_plain(value: Value, out: &mut json::Buffer) -> fmt::Result {
    let Some(object) = value.as_object() else { return write!(out, "{value}") };
    let Some((kind, inner)) = object.members().next() else { return out.write_str("null") };
    match kind {
        "intValue" => match inner.as_str().and_then(|digits| digits.parse::<i64>().ok()) {
            Some(number) => write!(out, "{number}"),
            None => write!(out, "{inner}"),
        },
        "stringValue" | "boolValue" | "doubleValue" | "bytesValue" => write!(out, "{inner}"),
        "arrayValue" => json::write_list(['[', ']'], inner.elements("values"), out, write_plain),
        "kvlistValue" => write_attributes(inner.get("values"), &|_| true, out),
        _ => write!(out, "{value}"),
    }
}
