//! Reads a trace from JSON: the one place where its fields are checked.

use std::fmt::{self, Display};

use knowledgepulse_scoring::{
    Error, Invalid, Result, Trace,
    trace::{Confidence, Step, quote},
};

use super::{Array, Kind, Members, Value};

impl<'d> Value<'d> {
    /// Reads the trace that this is, and passes its text, `objective + " " + contents.join(" ")`, to `write` until
    /// that refuses more.
    ///
    /// # Errors
    ///
    /// `INVALID_TRACE` with the path of the first field that does not fit.
    pub fn to_trace(self, mut write: impl FnMut(&str) -> fmt::Result) -> Result<Trace> {
        let mut is_full = false;
        let mut push = |part: &str| is_full = is_full || write(part).is_err();

        let root = read(Some(self), &"trace", "an object", container)?;
        let metadata = read(root.get("metadata"), &"metadata", "an object", container)?;
        let domain = metadata.get("task_domain");
        let domain = read(domain, &"metadata.task_domain", "a string", Value::as_str)?;
        let success = metadata.get("success");
        let success = read(success, &"metadata.success", "a boolean", Value::as_bool)?;

        let outcome = read(root.get("outcome"), &"outcome", "an object", container)?;
        let confidence = read(
            outcome.get("confidence"),
            &"outcome.confidence",
            "a finite number in [0, 1]",
            |value| Confidence::new(value.as_f64()?),
        )?;

        let task = read(root.get("task"), &"task", "an object", container)?;
        push(read(task.get("objective"), &"task.objective", "a string", Value::as_str)?);

        let steps = read(root.get("steps"), &"steps", "an array", Value::as_array)?;
        let steps = self::steps(steps, &mut push)?;
        let id = root.text("id");
        Ok(Trace::new(domain.into(), success, confidence, steps, id.map(Into::into)))
    }
}

fn steps(elements: Array, push: &mut impl FnMut(&str)) -> Result<Vec<Step>> {
    let step = |(index, value)| {
        let step = read(Some(value), &format_args!("steps[{index}]"), "an object", container)?;
        let place = format_args!("steps[{index}].type");
        let kind = read(step.get("type"), &place, "a string", Value::as_str)?;

        push(" ");
        if let Some(content) = step.member("content") {
            let place = format_args!("steps[{index}].content");
            push(read(Some(content), &place, "a string, null or nothing", Value::as_str)?);
        }

        let Some(tool) = step.member("tool") else { return Ok(Step::new(kind, None)) };
        let place = format_args!("steps[{index}].tool");
        let tool = read(Some(tool), &place, "an object, null or nothing", container)?;
        let place = format_args!("steps[{index}].tool.name");
        let name = tool.get("name").map(|name| read(Some(name), &place, "a string", Value::as_str));
        Ok(Step::new(kind, Some(name.transpose()?.map(Into::into))))
    };
    elements.iter().enumerate().map(step).collect()
}

/// An array is an object, too.
fn container(value: Value<'_>) -> Option<Value<'_>> {
    (value.is_object() || value.is_array()).then_some(value)
}

fn read<'d, T>(
    value: Option<Value<'d>>,
    place: &dyn Display,
    expected: &str,
    read: impl FnOnce(Value<'d>) -> Option<T>,
) -> Result<T> {
    value.and_then(read).ok_or_else(|| invalid(value, place, expected))
}

/// Returns the error of a value, or of what JavaScript calls `undefined`.
fn invalid(value: Option<Value>, place: &dyn Display, expected: &str) -> Error {
    let found = match value.map(|value| (value, value.kind())) {
        Some((_, Kind::String(text))) => quote(text),
        Some((_, Kind::Array(_))) => "an array".into(),
        Some((_, Kind::Object(_))) => "an object".into(),
        Some((other, _)) => other.to_json(),
        None => "undefined".into(),
    };
    Error::invalid(Invalid::Trace, place.to_string(), expected, found)
}
