//! Reads a trace from JSON: the one place where its fields are checked.

use std::fmt::{self, Display};

use knowledgepulse_scoring::{
    Error, Invalid, Result, Trace,
    trace::{Confidence, Step, quote},
};

use crate::json::{Kind, Members, Value};

/// Reads the trace that a value is, and passes its text, `objective + " " + contents.join(" ")`, to `write` until
/// that refuses more.
///
/// # Errors
///
/// `INVALID_TRACE` with the path of the first field that does not fit.
pub fn read_trace(trace: Value, mut write: impl FnMut(&str) -> fmt::Result) -> Result<Trace> {
    let mut is_full = false;
    let mut push = |part: &str| is_full = is_full || write(part).is_err();

    let root = object(Some(trace), &"trace")?;
    let metadata = object(root.get("metadata"), &"metadata")?;
    let domain = string(metadata.get("task_domain"), &"metadata.task_domain")?;
    let success = metadata.get("success");
    let success = read(success, &"metadata.success", "a boolean", Value::as_bool)?;

    let outcome = object(root.get("outcome"), &"outcome")?;
    let confidence = outcome.get("confidence");
    let number = |value: Value| Confidence::new(value.as_f64()?);
    let expected = "a finite number in [0, 1]";
    let confidence = read(confidence, &"outcome.confidence", expected, number)?;

    let task = object(root.get("task"), &"task")?;
    push(string(task.get("objective"), &"task.objective")?);

    let steps = read(root.get("steps"), &"steps", "an array", Value::as_array)?;
    let steps = steps.enumerate().map(|(index, value)| step(index, value, &mut push));
    let steps = steps.collect::<Result<_>>()?;
    let id = root.text("id");
    Ok(Trace::new(domain.into(), success, confidence, steps, id.map(Into::into)))
}

fn step(index: usize, value: Value, push: &mut impl FnMut(&str)) -> Result<Step> {
    let step = object(Some(value), &format_args!("steps[{index}]"))?;
    let kind = string(step.get("type"), &format_args!("steps[{index}].type"))?;

    push(" ");
    if let Some(content) = step.member("content") {
        let place = format_args!("steps[{index}].content");
        push(read(Some(content), &place, "a string, null or nothing", Value::as_str)?);
    }

    let Some(tool) = step.member("tool") else { return Ok(Step::new(kind, None)) };
    let place = format_args!("steps[{index}].tool");
    let tool = read(Some(tool), &place, "an object, null or nothing", container)?;
    let place = format_args!("steps[{index}].tool.name");
    let name = tool.get("name").map(|name| string(Some(name), &place)).transpose()?;
    Ok(Step::new(kind, Some(name.map(Into::into))))
}

/// An array is an object, too.
fn container(value: Value<'_>) -> Option<Value<'_>> {
    (value.is_object() || value.is_array()).then_some(value)
}

fn object<'d>(value: Option<Value<'d>>, place: &dyn Display) -> Result<Value<'d>> {
    read(value, place, "an object", container)
}

fn string<'d>(value: Option<Value<'d>>, place: &dyn Display) -> Result<&'d str> {
    read(value, place, "a string", Value::as_str)
}

/// Reads a value. Errors call a missing one `undefined`, as JavaScript does.
fn read<'d, T>(
    value: Option<Value<'d>>,
    place: &dyn Display,
    expected: &str,
    read: impl FnOnce(Value<'d>) -> Option<T>,
) -> Result<T> {
    value.and_then(read).ok_or_else(|| {
        let found = value.map_or("undefined".into(), |value| match value.kind() {
            Kind::String(text) => quote(text),
            Kind::Array(_) => "an array".into(),
            Kind::Object(_) => "an object".into(),
            Kind::Null | Kind::Bool(_) | Kind::Number(_) => value.to_json(),
        });
        Error::invalid(Invalid::Trace, place.to_string(), expected, found)
    })
}
