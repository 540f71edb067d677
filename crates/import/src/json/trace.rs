//! Reads a trace from JSON: the one place where its fields are checked.

use std::fmt;

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

        let root = Field { value: Some(self), step: None, path: "trace" };
        root.check_object("an object")?;
        let metadata = root.get("metadata");
        metadata.check_object("an object")?;
        let domain = metadata.get("metadata.task_domain").string("a string")?;
        let success = metadata.get("metadata.success");
        let Some(Kind::Bool(success)) = success.kind() else {
            return Err(success.invalid("a boolean"));
        };

        let outcome = root.get("outcome");
        outcome.check_object("an object")?;
        let confidence = outcome.get("outcome.confidence");
        let number = confidence.value.and_then(Value::as_f64);
        let Some(confidence) = number.and_then(Confidence::new) else {
            return Err(confidence.invalid("a finite number in [0, 1]"));
        };

        let task = root.get("task");
        task.check_object("an object")?;
        push(task.get("task.objective").string("a string")?);

        let list = root.get("steps");
        let Some(elements) = list.value.and_then(Value::as_array) else {
            return Err(list.invalid("an array"));
        };
        let steps = steps(elements, &mut push)?;
        let id = root.get("id").value.and_then(Value::as_str);
        Ok(Trace::new(domain.into(), success, confidence, steps, id.map(Into::into)))
    }
}

fn steps(elements: Array, push: &mut impl FnMut(&str)) -> Result<Vec<Step>> {
    let step = |(index, value)| {
        let step = Field { value: Some(value), step: Some(index), path: "" };
        step.check_object("an object")?;
        let kind = step.get(".type").string("a string")?;

        let content = step.get(".content");
        push(" ");
        if !content.is_nothing() {
            push(content.string("a string, null or nothing")?);
        }

        let tool = step.get(".tool");
        if tool.is_nothing() {
            return Ok(Step::new(kind, None));
        }
        tool.check_object("an object, null or nothing")?;
        let name = tool.get(".tool.name");
        let name = name.value.map(|_| name.string("a string")).transpose()?;
        Ok(Step::new(kind, Some(name.map(Into::into))))
    };
    elements.iter().enumerate().map(step).collect()
}

/// A value, or what JavaScript calls `undefined`, and where it is.
struct Field<'d> {
    value: Option<Value<'d>>,
    /// The index of its step.
    step: Option<usize>,
    /// The rest of its path; the part after the last dot is its name.
    path: &'static str,
}

impl<'d> Field<'d> {
    fn get(&self, path: &'static str) -> Self {
        let name = path.rsplit('.').next().unwrap_or(path);
        Self { value: self.value.and_then(|value| value.get(name)), path, ..*self }
    }

    fn kind(&self) -> Option<Kind<'d>> {
        self.value.map(Value::kind)
    }

    fn is_nothing(&self) -> bool {
        self.value.is_none_or(Value::is_null)
    }

    /// An array is an object, too.
    fn check_object(&self, expected: &str) -> Result<()> {
        match self.kind() {
            Some(Kind::Array(_) | Kind::Object(_)) => Ok(()),
            _ => Err(self.invalid(expected)),
        }
    }

    fn string(&self, expected: &str) -> Result<&'d str> {
        self.value.and_then(Value::as_str).ok_or_else(|| self.invalid(expected))
    }

    fn invalid(&self, expected: &str) -> Error {
        let found = match (self.value, self.kind()) {
            (_, Some(Kind::String(text))) => quote(text),
            (_, Some(Kind::Array(_))) => "an array".into(),
            (_, Some(Kind::Object(_))) => "an object".into(),
            (Some(other), _) => other.to_json(),
            (None, _) => "undefined".into(),
        };
        let step = self.step.map(|index| format!("steps[{index}]")).unwrap_or_default();
        let place = step + self.path;
        Error::invalid(Invalid::Trace, place, expected, found)
    }
}
