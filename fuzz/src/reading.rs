//! What reading a trace must come to, and what must have been looked at for it.

use std::{cell::RefCell, collections::HashMap, fmt};

use knowledgepulse_scoring::{
    Error, Trace,
    trace::{Type, read},
};
use serde_json::json;

use crate::value::{Fault, Log, Look, Seen, Thrown, Value};

/// What a field may be.
#[derive(Clone, Copy)]
enum Kind {
    Object,
    Array,
    Boolean,
    String,
    Confidence,
    StringOrNothing,
    ObjectOrNothing,
    StringOrUndefined,
    /// Only looked into when it is a string.
    Id,
}

/// The fields in the order in which they are read, each after the one it lies in.
const HEAD: [(&str, &str, Kind); 8] = [
    ("", "metadata", Kind::Object),
    ("metadata", "task_domain", Kind::String),
    ("metadata", "success", Kind::Boolean),
    ("", "outcome", Kind::Object),
    ("outcome", "confidence", Kind::Confidence),
    ("", "task", Kind::Object),
    ("task", "objective", Kind::String),
    ("", "steps", Kind::Array),
];
const STEP: [(&str, &str, Kind); 4] = [
    ("", "type", Kind::String),
    ("", "content", Kind::StringOrNothing),
    ("", "tool", Kind::ObjectOrNothing),
    ("tool", "name", Kind::StringOrUndefined),
];
const TAIL: [(&str, &str, Kind); 1] = [("", "id", Kind::Id)];

/// A trace whose id has more bytes has none.
const LONGEST_ID: usize = 1024;

/// The names of all fields.
pub const NAMES: [&str; 13] = [
    "metadata",
    "task_domain",
    "success",
    "outcome",
    "confidence",
    "task",
    "objective",
    "steps",
    "type",
    "content",
    "tool",
    "name",
    "id",
];

impl Kind {
    fn expected(self) -> &'static str {
        match self {
            Self::Object => "an object",
            Self::Array => "an array",
            Self::Boolean => "a boolean",
            Self::String | Self::StringOrUndefined => "a string",
            Self::Confidence => "a finite number in [0, 1]",
            Self::StringOrNothing => "a string, null or nothing",
            Self::ObjectOrNothing => "an object, null or nothing",
            Self::Id => "anything",
        }
    }

    fn fits(self, kind: Type) -> bool {
        match self {
            Self::Object | Self::Array => kind == Type::Object,
            Self::Boolean => kind == Type::Boolean,
            Self::String => kind == Type::String,
            Self::Confidence => kind == Type::Number,
            Self::StringOrNothing => matches!(kind, Type::String | Type::Null | Type::Undefined),
            Self::ObjectOrNothing => matches!(kind, Type::Object | Type::Null | Type::Undefined),
            Self::StringOrUndefined => matches!(kind, Type::String | Type::Undefined),
            Self::Id => true,
        }
    }
}

/// Why a value is no trace.
#[derive(Debug, PartialEq)]
pub enum Refusal {
    Invalid { path: String, expected: &'static str, found: String },
    Fault(Fault),
}

impl From<Fault> for Refusal {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invalid { path, expected, found } => {
                write!(f, "{path}: expected {expected}, got {found}")
            }
            Self::Fault(fault) => write!(f, "fault {fault}"),
        }
    }
}

/// Looks at a value as the tables say.
#[derive(Default)]
struct Walk {
    log: Log,
}

impl Walk {
    fn look<T>(&mut self, at: &Value, look: Look, found: Result<T, Fault>) -> Result<T, Fault> {
        self.log.push((at.address(), look));
        found
    }

    fn check(&mut self, value: &Value, kind: Kind, path: &str) -> Result<(), Refusal> {
        let fits = kind.fits(value.type_of())
            && match (kind, value) {
                (Kind::Array, _) => self.look(value, Look::IsArray, value.as_object().is_array)?,
                (Kind::Id, _) if value.type_of() != Type::String => true,
                (_, Value::Broken(_, fault)) => self.look(value, Look::Contents, Err(*fault))?,
                (Kind::Confidence, Value::Number(number)) => {
                    self.look(value, Look::Contents, Ok(*number >= 0.0 && *number <= 1.0))?
                }
                (_, Value::String(_) | Value::Boolean(_)) => {
                    self.look(value, Look::Contents, Ok(true))?
                }
                _ => true,
            };
        if fits {
            return Ok(());
        }
        let (path, found) = (path.to_owned(), value.describe());
        Err(Refusal::Invalid { path, expected: kind.expected(), found })
    }

    fn fields(
        &mut self,
        root: &Value,
        place: &str,
        fields: &[(&str, &'static str, Kind)],
    ) -> Result<(), Refusal> {
        let mut known = HashMap::from([("", root)]);
        for (parent, name, kind) in fields {
            // Nothing lies in what is absent.
            let Some(object) = known.get(parent).filter(|at| at.type_of() == Type::Object) else {
                continue;
            };
            let found = object.as_object().property(name);
            let value = self.look(object, Look::Property(name), found)?;
            let path = [place, parent, name].map(str::to_owned);
            let path: Vec<_> = path.into_iter().filter(|part| !part.is_empty()).collect();
            self.check(value, *kind, &path.join("."))?;
            known.insert(name, value);
        }
        Ok(())
    }

    fn trace(&mut self, root: &Value) -> Result<Plain, Refusal> {
        self.check(root, Kind::Object, "trace")?;
        self.fields(root, "", &HEAD)?;
        let list = root.at("steps");
        let length = self.look(list, Look::Length, list.as_object().length)?;
        let mut steps = Vec::new();
        for index in 0..length {
            let found = list.as_object().element(index);
            let step = self.look(list, Look::Element(index), found)?;
            let place = format!("steps[{index}]");
            self.check(step, Kind::Object, &place)?;
            self.fields(step, &place, &STEP)?;
            steps.push(step);
        }
        self.fields(root, "", &TAIL)?;
        Ok(Plain::of(root, &steps))
    }
}

/// What counts of a valid trace.
#[derive(Debug, Clone, PartialEq)]
pub struct Plain {
    /// As JSON, with nothing else in it.
    pub trace: serde_json::Value,
    pub text: String,
}

impl Plain {
    fn of(root: &Value, steps: &[&Value]) -> Self {
        let text = |value: &Value| match value {
            Value::String(text) => Some(text.clone()),
            _ => None,
        };
        let tool = |value: &Value| match value.at("tool") {
            tool @ Value::Object(_) => match text(tool.at("name")) {
                Some(name) => json!({ "name": name }),
                None => json!({}),
            },
            _ => json!(null),
        };
        let step = |step: &&Value| json!({ "type": text(step.at("type")), "tool": tool(step) });
        let Value::Number(confidence) = root.at("outcome").at("confidence") else {
            panic!("{root:?} passed without a number")
        };
        let metadata = root.at("metadata");
        let mut texts = vec![text(root.at("task").at("objective")).unwrap_or_default()];
        texts.extend(steps.iter().map(|step| text(step.at("content")).unwrap_or_default()));
        Self {
            trace: json!({
                "id": text(root.at("id")).filter(|id| id.len() <= LONGEST_ID),
                "metadata": {
                    "task_domain": text(metadata.at("task_domain")),
                    "success": *metadata.at("success") == Value::Boolean(true),
                },
                "steps": steps.iter().map(step).collect::<Vec<_>>(),
                "outcome": { "confidence": confidence },
            }),
            text: texts.join(" "),
        }
    }
}

/// What reading `value` must come to, and what is looked at until then.
pub fn expect(value: &Value) -> (Result<Plain, Refusal>, Log) {
    let mut walk = Walk::default();
    let outcome = walk.trace(value);
    (outcome, walk.log)
}

/// Takes so many bytes of a text, and refuses more.
pub struct Limited {
    text: String,
    room: usize,
    is_full: bool,
}

impl Limited {
    /// Returns one that does not take the end of `whole`.
    pub fn before_the_end_of(whole: &str) -> Self {
        Self { text: String::new(), room: whole.len() * 3 / 4, is_full: false }
    }
}

impl fmt::Write for Limited {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        assert!(!self.is_full, "{text:?} was written after a refusal");
        let taken = text.floor_char_boundary(self.room);
        self.text += &text[..taken];
        self.room -= taken;
        self.is_full = taken < text.len();
        if self.is_full { Err(fmt::Error) } else { Ok(()) }
    }
}

/// Reads `value` as the engine does, and compares everything.
pub fn check(value: &Value) -> Option<(Trace, Plain)> {
    let (log, mut text) = (RefCell::default(), String::new());
    let found = read(&Seen { value, log: &log }, &mut text);
    let (expected, looks) = expect(value);
    assert_eq!(log.into_inner(), looks, "what was looked at");
    match (found, expected) {
        (Ok(trace), Ok(plain)) => {
            compare(&trace, &text, &plain);
            let log = RefCell::default();
            let mut limited = Limited::before_the_end_of(&plain.text);
            let again = read(&Seen { value, log: &log }, &mut limited);
            assert_eq!(again.as_ref(), Ok(&trace), "with less of its text");
            assert_eq!(log.into_inner(), looks, "what was looked at");
            assert!(plain.text.starts_with(&limited.text), "{:?}", limited.text);
            Some((trace, plain))
        }
        (Err(Thrown::Fault(found)), Err(Refusal::Fault(expected))) => {
            assert_eq!(found, expected, "the fault");
            None
        }
        (Err(Thrown::Invalid(error)), Err(refusal @ Refusal::Invalid { .. })) => {
            refused(&error, &refusal);
            assert_eq!(error.to_string(), refusal.to_string());
            None
        }
        (found, expected) => panic!("{found:?} for {expected:?}"),
    }
}

/// Compares code, path and what was expected.
pub fn refused(error: &Error, refusal: &Refusal) {
    let Refusal::Invalid { path, expected, .. } = refusal else {
        panic!("{error} for {refusal:?}")
    };
    assert_eq!((error.code(), error.path()), ("INVALID_TRACE", Some(&path[..])), "{error}");
    let start = format!("{path}: expected {expected}, got ");
    assert!(error.to_string().starts_with(&start), "{error} for {start}");
}

/// Compares a trace and its text with what counts of it.
pub fn compare(trace: &Trace, text: &str, plain: &Plain) {
    let expected = &plain.trace;
    let confidence = expected["outcome"]["confidence"].as_f64().map(f64::to_bits);
    assert_eq!(Some(trace.domain()), expected["metadata"]["task_domain"].as_str());
    assert_eq!(Some(trace.success()), expected["metadata"]["success"].as_bool());
    assert_eq!(Some(trace.confidence().to_bits()), confidence);
    assert_eq!(trace.id().map(|id| &**id), expected["id"].as_str());
    assert_eq!(Some(trace.steps().len()), expected["steps"].as_array().map(Vec::len));
    assert_eq!(text, plain.text);
}
