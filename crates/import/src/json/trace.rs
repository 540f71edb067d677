//! Reads a trace from JSON: the one place where its fields are checked.

use std::fmt::{self, Display};

use knowledgepulse_scoring::{
    Error, Invalid, Result, Trace,
    trace::{Confidence, Step, quote},
};

use super::{Array, Kind, Members, Value};

impl<'d> Value<'d> {
    /// Reads the trace that this is, and writes its text, `objective + " " + contents.join(" ")`, to `text` until
    /// that refuses more.
    ///
    /// # Errors
    ///
    /// `INVALID_TRACE` with the path of the first field that does not fit.
    pub fn to_trace(self, text: &mut impl fmt::Write) -> Result<Trace> {
        let mut is_full = false;
        let mut push = |part: &str| is_full = is_full || text.write_str(part).is_err();

        let root = Some(self);
        check_object(root, &"trace", "an object")?;
        let metadata = root.get("metadata");
        check_object(metadata, &"metadata", "an object")?;
        let domain = string(metadata.get("task_domain"), &"metadata.task_domain", "a string")?;
        let Some(success) = metadata.flag("success") else {
            return Err(invalid(metadata.get("success"), &"metadata.success", "a boolean"));
        };

        let outcome = root.get("outcome");
        check_object(outcome, &"outcome", "an object")?;
        let confidence = outcome.get("confidence");
        let Some(confidence) = confidence.and_then(Value::as_f64).and_then(Confidence::new) else {
            let expected = "a finite number in [0, 1]";
            return Err(invalid(confidence, &"outcome.confidence", expected));
        };

        let task = root.get("task");
        check_object(task, &"task", "an object")?;
        push(string(task.get("objective"), &"task.objective", "a string")?);

        let Some(elements) = root.list("steps") else {
            return Err(invalid(root.get("steps"), &"steps", "an array"));
        };
        let steps = steps(elements, &mut push)?;
        let id = root.text("id");
        Ok(Trace::new(domain.into(), success, confidence, steps, id.map(Into::into)))
    }
}

fn steps(elements: Array, push: &mut impl FnMut(&str)) -> Result<Vec<Step>> {
    let step = |(index, value)| {
        let step = Some(value);
        check_object(step, &format_args!("steps[{index}]"), "an object")?;
        let kind = string(step.get("type"), &format_args!("steps[{index}].type"), "a string")?;

        push(" ");
        if let Some(content) = step.member("content") {
            let place = format_args!("steps[{index}].content");
            push(string(Some(content), &place, "a string, null or nothing")?);
        }

        let Some(tool) = step.member("tool") else { return Ok(Step::new(kind, None)) };
        let place = format_args!("steps[{index}].tool");
        check_object(Some(tool), &place, "an object, null or nothing")?;
        let place = format_args!("steps[{index}].tool.name");
        let name = tool.get("name").map(|name| string(Some(name), &place, "a string"));
        Ok(Step::new(kind, Some(name.transpose()?.map(Into::into))))
    };
    elements.iter().enumerate().map(step).collect()
}

/// An array is an object, too.
fn check_object(value: Option<Value>, place: &dyn Display, expected: &str) -> Result<()> {
    match value.map(Value::kind) {
        Some(Kind::Array(_) | Kind::Object(_)) => Ok(()),
        _ => Err(invalid(value, place, expected)),
    }
}

fn string<'d>(value: Option<Value<'d>>, place: &dyn Display, expected: &str) -> Result<&'d str> {
    value.and_then(Value::as_str).ok_or_else(|| invalid(value, place, expected))
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
