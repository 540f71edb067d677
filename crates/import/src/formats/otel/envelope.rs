//! Finds the spans and log records in OTLP/JSON, Tempo, Jaeger and single spans.

use serde::{Serialize, Serializer, ser::Error as _};

use super::{
    super::spans::Span,
    Log,
    attributes::{event_messages, is_kept},
};
use crate::{
    events::MAX_VALUES,
    json::{Document, Members, Value, written},
    time,
};

pub(super) fn is_span(value: Value) -> bool {
    value.text("name").is_some()
        && value.member("attributes").is_some()
        && trace_id(value).is_some()
}

/// A span or a log record, as it is in the input.
pub(super) enum Record<'d> {
    Span(Value<'d>),
    Log(Value<'d>),
}

/// Returns the spans and log records of a value, or the value if it is a span itself.
pub(super) fn records(value: Value<'_>) -> impl Iterator<Item = Record<'_>> {
    let is_single = is_span(value);
    let (single, whole) = (is_single.then_some(value), (!is_single).then_some(value));
    let all = ["resourceSpans", "batches"].into_iter().flat_map(move |name| whole.elements(name));
    let resources = all.chain(whole.member("trace").elements("resourceSpans"));
    let scopes = resources.flat_map(|resource| {
        let names = ["scopeSpans", "instrumentationLibrarySpans"].into_iter();
        names.flat_map(move |name| resource.elements(name))
    });
    let spans = single.into_iter().chain(scopes.flat_map(|scope| scope.elements("spans")));
    let scopes = whole.elements("resourceLogs").flat_map(|resource| resource.elements("scopeLogs"));
    let logs = scopes.flat_map(|scope| scope.elements("logRecords"));
    let of_jaeger = whole.elements("data").flat_map(|trace| trace.elements("spans"));
    spans.map(Record::Span).chain(logs.map(Record::Log)).chain(of_jaeger.map(Record::Span))
}

/// Returns a span of OTLP or of Jaeger, or a single one, and the id of its trace; `None` if it has no trace id.
/// Fails if attributes have more than [`MAX_VALUES`] values, or if there is no memory for them.
pub(super) fn span(value: Value) -> serde_json::Result<Option<(String, Span)>> {
    let Some(trace) = trace_id(value) else { return Ok(None) };
    let is_parent = |reference: &Value| reference.text("refType") == Some("CHILD_OF");
    let parent = value
        .first_name(&["parentSpanId", "parentId", "parent_id"])
        .or_else(|| value.object("parentSpanContext").name("spanId"))
        .or_else(|| value.elements("references").find(is_parent).name("spanID"));
    let times = ["startTimeUnixNano", "startTime", "start_time", "timestamp"];
    // Those of Jaeger, which has the status in them.
    let tags = all_attributes(value.get("tags"))?;
    let tags = tags.root();
    let is_error = tags.flag("error") == Some(true) || tags.text("error") == Some("true");
    let status = value.object("status");
    let code = status.first(&["status_code", "code"]).or_else(|| tags.member("otel.status_code"));
    // `description` is Python's name of it.
    let message = status.first_name(&["message", "description"]);
    let mut span = Span {
        id: id(value, &["spanId", "span_id", "id", "spanID"]).map(Into::into),
        parent: parent.map(Into::into),
        name: value.text("name").or(value.text("operationName")).unwrap_or_default().into(),
        start: value.first(&times).and_then(time::instant),
        status: if is_error { Some(false) } else { code.and_then(is_ok) },
        message: message.or(tags.text("otel.status_description")).map(Into::into),
        json: attributes(value.get("attributes").or(Some(tags)), is_kept)?,
        ..Span::default()
    };
    for event in value.elements("events").chain(value.elements("logs")) {
        let read = |attributes: Value| {
            let name = event.text("name").or(attributes.text("event"));
            event_messages(name, attributes, None)
        };
        let fields = event.get("attributes").or(event.get("fields"));
        // Plain ones need no copy.
        let messages = match fields.and_then(Value::as_object) {
            Some(attributes) => read(attributes),
            None => read(all_attributes(fields)?.root()),
        };
        span.add_events(messages.unwrap_or_default());
    }
    Ok(Some((trace, span)))
}

/// Returns a log record and the id of its trace; `None` if it has no messages or no span. Fails as [`span`] does.
pub(super) fn log(record: Value) -> serde_json::Result<Option<(String, Log)>> {
    let attributes = all_attributes(record.get("attributes"))?;
    let attributes = attributes.root();
    let name = record.name("eventName").or_else(|| attributes.name("event.name"));
    let plain = |body| written(|out| serde_json::to_writer(out, &Attribute::Wrapped(body)));
    let body = record.member("body").map(plain).transpose()?.map(Document::written);
    let sides = event_messages(name, attributes, body.as_ref().map(Document::root));
    let span = id(record, &["spanId", "span_id"]).map(Into::into);
    Ok(trace_id(record).zip(span.zip(sides)))
}

/// Returns an id of a span, which may be in its context.
fn id<'d>(span: Value<'d>, names: &[&str]) -> Option<&'d str> {
    let mut contexts = ["context", "spanContext"].into_iter().filter_map(|name| span.object(name));
    span.first_name(names).or_else(|| contexts.find_map(|context| context.first_name(names)))
}

fn trace_id(span: Value) -> Option<String> {
    let id = id(span, &["traceId", "trace_id", "traceID"])?.to_lowercase();
    Some(id.strip_prefix("0x").unwrap_or(&id).into())
}

fn is_ok(code: Value) -> Option<bool> {
    match (code.as_integer(), code.as_str()) {
        (Some(1), _) | (_, Some("OK" | "STATUS_CODE_OK")) => Some(true),
        (Some(2), _) | (_, Some("ERROR" | "STATUS_CODE_ERROR")) => Some(false),
        _ => None,
    }
}

/// Returns attributes as plain JSON: those of an object, or of an array of keys and values.
fn attributes(value: Option<Value>, is_kept: impl Fn(&str) -> bool) -> serde_json::Result<String> {
    let kept = members(value).filter(|(name, _)| is_kept(name));
    let values = kept.clone().map(|(_, Attribute::Plain(value) | Attribute::Wrapped(value))| value);
    let mut counts = values.map(|value| value.count(MAX_VALUES + 1));
    if counts.try_fold(MAX_VALUES, usize::checked_sub).is_none() {
        return Err(serde_json::Error::custom("too many values"));
    }
    written(|out| serde_json::Serializer::new(out).collect_map(kept))
}

fn all_attributes(value: Option<Value>) -> serde_json::Result<Document<'static>> {
    attributes(value, |_| true).map(Document::written)
}

#[derive(Clone, Copy)]
enum Attribute<'d> {
    Plain(Value<'d>),
    /// In OTLP's wrapper, if it has one.
    Wrapped(Value<'d>),
}

/// Returns the attributes of an object, or of an array of keys and values.
fn members<'d>(value: Option<Value<'d>>) -> impl Iterator<Item = (&'d str, Attribute<'d>)> + Clone {
    let plain = value.into_iter().flat_map(Value::members);
    let plain = plain.map(|(name, value)| (name, Attribute::Plain(value)));
    let pairs = value.and_then(Value::as_array).into_iter().flatten();
    let wrapped =
        |pair: Value<'d>| Some((pair.text("key")?, Attribute::Wrapped(pair.get("value")?)));
    plain.chain(pairs.filter_map(wrapped))
}

/// As JSON without the wrapper.
impl Serialize for Attribute<'_> {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        let value = match self {
            Self::Wrapped(value) if value.is_object() => value,
            Self::Plain(value) | Self::Wrapped(value) => return value.serialize(out),
        };
        let Some((kind, inner)) = value.members().next() else { return out.serialize_unit() };
        match kind {
            "intValue" => match inner.as_str().and_then(|digits| digits.parse::<i64>().ok()) {
                Some(number) => out.serialize_i64(number),
                None => inner.serialize(out),
            },
            "stringValue" | "boolValue" | "doubleValue" | "bytesValue" => inner.serialize(out),
            "arrayValue" => out.collect_seq(inner.elements("values").map(Attribute::Wrapped)),
            "kvlistValue" => out.collect_map(members(inner.get("values"))),
            _ => value.serialize(out),
        }
    }
}
