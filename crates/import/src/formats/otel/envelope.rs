//! The ways in which spans and log records are written down: OTLP/JSON, Tempo, Jaeger, and one span a
//! value.

use serde_json::Value;

use super::attributes::{Recorded, is_kept, messages_of_event};
use crate::{
    json::{Members, Object},
    spans::{Sides, Span},
    time,
};

/// What a value has.
pub(super) enum Item {
    /// A span, and the id of its trace.
    Span(String, Box<Recorded>),
    /// The messages of a log record, and the ids of its trace and span.
    Log(String, String, Sides),
    /// What is not imported, by its reason.
    Skipped(&'static str),
}

/// Returns whether an object is a span by itself.
pub(super) fn is_span(value: &Object) -> bool {
    value.text("name").is_some()
        && value.member("attributes").is_some()
        && trace_id(value).is_some()
}

/// Reads what a value has.
pub(super) fn read(value: &Value, mut each: impl FnMut(Item)) {
    let Some(object) = value.as_object() else { return };
    if is_span(object) {
        return each(span(value));
    }
    let trace = value.member("trace").unwrap_or(&Value::Null);
    for (value, name) in [(value, "resourceSpans"), (value, "batches"), (trace, "resourceSpans")] {
        for resource in elements(value, name) {
            for scopes in ["scopeSpans", "instrumentationLibrarySpans"] {
                for scope in elements(resource, scopes) {
                    elements(scope, "spans").for_each(|value| each(span(value)));
                }
            }
        }
    }
    for resource in elements(value, "resourceLogs") {
        for scope in elements(resource, "scopeLogs") {
            elements(scope, "logRecords").for_each(|record| each(log(record)));
        }
    }
    for trace in elements(value, "data") {
        elements(trace, "spans").for_each(|value| each(jaeger(value)));
    }
}

fn elements<'a>(value: &'a Value, name: &str) -> impl Iterator<Item = &'a Value> {
    value.list(name).into_iter().flatten()
}

/// Reads a span of OTLP, or one that stands by itself.
fn span(value: &Value) -> Item {
    let Some(object) = value.as_object() else { return Item::Skipped("malformed") };
    let Some(trace) = trace_id(object) else { return Item::Skipped("malformed") };
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
    recorded.attributes = attributes(object.get("attributes"), is_kept);
    for event in elements(value, "events") {
        let attributes = attributes(event.get("attributes"), |_| true);
        if let Some(sides) = messages_of_event(event.text("name"), &attributes, None) {
            recorded.add(sides);
        }
    }
    Item::Span(trace, Box::new(recorded))
}

/// Reads a span of Jaeger.
fn jaeger(value: &Value) -> Item {
    let Some(trace) = value.name("traceID") else { return Item::Skipped("malformed") };
    let is_parent = |reference: &&Value| reference.text("refType") == Some("CHILD_OF");
    let parent = elements(value, "references").find(is_parent);
    let tags = attributes(value.get("tags"), |_| true);
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
    for log in elements(value, "logs") {
        let fields = attributes(log.get("fields"), |_| true);
        if let Some(sides) = messages_of_event(fields.text("event"), &fields, None) {
            recorded.add(sides);
        }
    }
    recorded.attributes = tags.into_iter().filter(|(name, _)| is_kept(name)).collect();
    Item::Span(normalised(trace), Box::new(recorded))
}

/// Reads a log record.
fn log(record: &Value) -> Item {
    let attributes = attributes(record.get("attributes"), |_| true);
    let name = record.name("eventName").or_else(|| attributes.name("event.name"));
    let body = record.member("body").map(plain);
    let sides = messages_of_event(name, &attributes, body.as_ref());
    let ids = record
        .as_object()
        .and_then(|record| Some((trace_id(record)?, id(record, &["spanId", "span_id"])?)));
    match (ids, sides) {
        (Some((trace, span)), Some(sides)) => Item::Log(trace, span.into(), sides),
        _ => Item::Skipped("other_log"),
    }
}

/// Returns an id of a span, which may stand in its context.
fn id<'a>(span: &'a Object, names: &[&str]) -> Option<&'a str> {
    let mut contexts = ["context", "spanContext"].into_iter().filter_map(|name| span.object(name));
    span.first_name(names).or_else(|| contexts.find_map(|context| context.first_name(names)))
}

fn trace_id(span: &Object) -> Option<String> {
    id(span, &["traceId", "trace_id"]).map(normalised)
}

fn normalised(id: &str) -> String {
    let id = id.to_lowercase();
    id.strip_prefix("0x").map(Into::into).unwrap_or(id)
}

fn is_ok(code: &Value) -> Option<bool> {
    match (code.as_u64(), code.as_str()) {
        (Some(1), _) | (_, Some("OK" | "STATUS_CODE_OK")) => Some(true),
        (Some(2), _) | (_, Some("ERROR" | "STATUS_CODE_ERROR")) => Some(false),
        _ => None,
    }
}

/// Returns attributes as plain JSON: those of an object, or of an array of keys and values.
fn attributes(value: Option<&Value>, is_kept: impl Fn(&str) -> bool) -> Object {
    match value {
        Some(Value::Object(members)) => {
            let kept = members.iter().filter(|(name, _)| is_kept(name));
            kept.map(|(name, value)| (name.clone(), value.clone())).collect()
        }
        Some(Value::Array(pairs)) => {
            let kept = pairs.iter().filter_map(|pair| {
                let name = pair.text("key").filter(|name| is_kept(name))?;
                Some((name.to_owned(), plain(pair.get("value")?)))
            });
            kept.collect()
        }
        _ => Object::new(),
    }
}

/// Returns a value without the wrapper that OTLP puts around each; Jaeger has none.
fn plain(value: &Value) -> Value {
    let Value::Object(members) = value else { return value.clone() };
    let Some((kind, inner)) = members.iter().next() else { return Value::Null };
    match (kind.as_str(), inner) {
        ("intValue", Value::String(digits)) => {
            digits.parse::<i64>().map_or_else(|_| inner.clone(), Value::from)
        }
        ("stringValue" | "boolValue" | "intValue" | "doubleValue" | "bytesValue", _) => {
            inner.clone()
        }
        ("arrayValue", _) => Value::Array(elements(inner, "values").map(plain).collect()),
        ("kvlistValue", _) => Value::Object(attributes(inner.get("values"), |_| true)),
        _ => value.clone(),
    }
}
