//! A reasoning trace as far as scoring needs it, valid by construction.
//!
//! A [`Trace`] comes out of [`read`], which looks at a foreign value through [`View`] and names the first
//! field that does not fit, or of [`Trace::new`], which takes what has its types already. Whoever holds a
//! `Trace` need not check it again. Its text goes to a [`std::fmt::Write`] of the caller's, so nothing here
//! knows what embeds it.

use std::{
    borrow::Cow,
    fmt::{self, Write},
    sync::Arc,
};

use crate::error::{Error, Invalid};

/// The types of steps that the protocol knows.
pub const KINDS: [&str; 4] = ["thought", "tool_call", "observation", "error_recovery"];

/// A longer id is ignored.
const MAX_ID_BYTES: usize = 1024;

/// One step of a trace, without its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// `type`; an unknown one counts as one more.
    pub kind: Cow<'static, str>,
    /// The name of the `tool`, if there is one. Those without a name count as one and the same.
    pub tool: Option<Option<Box<str>>>,
}

/// A valid trace: what the four dimensions and the overrides are computed from.
#[derive(Debug, Clone, PartialEq)]
pub struct Trace {
    domain: Box<str>,
    success: bool,
    confidence: f64,
    steps: Vec<Step>,
    id: Option<Arc<str>>,
}

impl Trace {
    /// Returns a trace of these parts, which are those of the same names; `None` unless `confidence` is in
    /// \[0, 1\]. An `id` of more than 1,024 bytes is ignored.
    ///
    /// ```
    /// use knowledgepulse_scoring::Trace;
    ///
    /// assert!(Trace::new("code".into(), true, 0.9, Vec::new(), None).is_some());
    /// assert!(Trace::new("code".into(), true, f64::NAN, Vec::new(), None).is_none());
    /// ```
    pub fn new(
        domain: Box<str>,
        success: bool,
        confidence: f64,
        steps: Vec<Step>,
        id: Option<String>,
    ) -> Option<Self> {
        let id = id.filter(|id| id.len() <= MAX_ID_BYTES).map(Into::into);
        (0.0..=1.0).contains(&confidence).then_some(Self { domain, success, confidence, steps, id })
    }

    /// Returns `id`, by which the trace can be found again; `None` unless it is a string of at most 1,024
    /// bytes.
    pub fn id(&self) -> Option<&Arc<str>> {
        self.id.as_ref()
    }

    /// Returns `metadata.task_domain`, which selects the weights.
    pub fn domain(&self) -> &str {
        &self.domain
    }

    /// Returns `metadata.success`.
    pub fn success(&self) -> bool {
        self.success
    }

    /// Returns `outcome.confidence`, in \[0, 1\].
    pub fn confidence(&self) -> f64 {
        self.confidence
    }

    /// Returns the steps in order.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// Returns how many steps are of type `error_recovery`.
    pub fn error_recoveries(&self) -> usize {
        self.steps.iter().filter(|step| &*step.kind == "error_recovery").count()
    }

    /// Returns how many distinct tool names occur over the steps that have a tool.
    pub fn unique_tools(&self) -> usize {
        distinct(self.steps.iter().filter_map(|step| step.tool.as_ref()))
    }

    /// Returns how many distinct step types occur.
    pub fn unique_types(&self) -> usize {
        distinct(self.steps.iter().map(|step| &step.kind))
    }
}

fn distinct<T: Ord>(items: impl Iterator<Item = T>) -> usize {
    // Most traces have a few steps, for which sorting is faster than hashing.
    let mut items: Vec<_> = items.collect();
    items.sort_unstable();
    items.dedup();
    items.len()
}

/// The types of JavaScript. JSON has six of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are JavaScript's")]
pub enum Type {
    Undefined,
    Null,
    Boolean,
    Number,
    String,
    Object,
    /// A function, a symbol or a bigint: never part of a trace.
    Other,
}

/// A value of some host (JavaScript, JSON) that may or may not have the shape of a trace.
///
/// The typed accessors are only called on a value whose [`View::type_of`] fits.
#[expect(clippy::missing_errors_doc, reason = "`Self::Error` says it for all methods")]
pub trait View: Sized {
    /// Why a value could not be read: it does not have the shape of a trace, or the host has thrown
    /// something, in a getter for instance.
    type Error: From<Error>;

    /// Returns the type of the value.
    fn type_of(&self) -> Type;
    /// Returns whether this is an array, a proxied one included.
    fn is_array(&self) -> Result<bool, Self::Error>;
    /// Returns the value of a property, `Undefined` when there is none.
    fn property(&self, name: &'static str) -> Result<Self, Self::Error>;
    /// Returns the length of an array.
    fn length(&self) -> Result<u32, Self::Error>;
    /// Returns an element of an array, `Undefined` for a hole.
    fn element(&self, index: u32) -> Result<Self, Self::Error>;
    /// Returns the value of a boolean.
    fn boolean(&self) -> Result<bool, Self::Error>;
    /// Returns the value of a number.
    fn number(&self) -> Result<f64, Self::Error>;
    /// Returns the string, each lone surrogate replaced by U+FFFD.
    fn string(&self) -> Result<String, Self::Error>;
    /// Writes the string to `text`, until that is full.
    fn write_to(&self, text: &mut TextWriter) -> Result<(), Self::Error>;
    /// Returns the value as an error message shows it: `42`, `"abc"`, `an array`.
    fn describe(&self) -> String;
}

/// Where the text of a trace goes: a [`Write`] that is full once it has refused something.
pub struct TextWriter<'a> {
    out: &'a mut dyn Write,
    is_full: bool,
}

impl<'a> TextWriter<'a> {
    /// Returns a writer to `out`.
    pub fn new(out: &'a mut dyn Write) -> Self {
        Self { out, is_full: false }
    }

    /// Returns whether further text makes no difference.
    pub fn is_full(&self) -> bool {
        self.is_full
    }

    /// Writes `text`, unless this is full.
    pub fn push(&mut self, text: &str) {
        self.is_full = self.is_full || self.out.write_str(text).is_err();
    }
}

/// How many characters of a value an error message shows.
const SHOWN: usize = 40;

/// Formats a string for an error message: quoted, cut after 40 characters.
pub fn quote(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{:?}…", &text[..end]),
        None => format!("{text:?}"),
    }
}

/// Reads a trace, touching each field that counts once and no other, and writes its text,
/// `objective + " " + contents.join(" ")`, to `text` until that refuses more.
///
/// # Errors
///
/// `INVALID_TRACE` names the first field that does not fit; what the host throws comes back as it is.
pub fn read<V: View>(root: &V, text: &mut impl Write) -> Result<Trace, V::Error> {
    let mut text = TextWriter::new(text);
    object(root, Place::Field("trace"))?;

    let metadata = object_at(root, "metadata")?;
    let domain = string_at(&metadata, "task_domain", Place::Field("metadata.task_domain"))?;
    let success = metadata.property("success")?;
    let success = match success.type_of() {
        Type::Boolean => success.boolean()?,
        _ => return invalid(&success, Place::Field("metadata.success"), "a boolean"),
    };

    let outcome = object_at(root, "outcome")?;
    let confidence = confidence(&outcome)?;

    let task = object_at(root, "task")?;
    let objective = task.property("objective")?;
    match objective.type_of() {
        Type::String => objective.write_to(&mut text)?,
        _ => return invalid(&objective, Place::Field("task.objective"), "a string"),
    }

    let list = root.property("steps")?;
    if list.type_of() != Type::Object || !list.is_array()? {
        return invalid(&list, Place::Field("steps"), "an array");
    }
    let steps =
        (0..list.length()?).map(|index| step(&list, index, &mut text)).collect::<Result<_, _>>()?;

    // Last, so that its getter does not run for a trace that is refused. An id is not checked: what is
    // not a string, or would fill the cache, is ignored.
    let id = root.property("id")?;
    let id = match id.type_of() {
        Type::String => Some(id.string()?),
        _ => None,
    };
    // It is `None` for a confidence that was refused above.
    Trace::new(domain.into_boxed_str(), success, confidence, steps, id)
        .ok_or_else(|| Error::internal("a trace that was read is not valid").into())
}

fn step<V: View>(list: &V, index: u32, text: &mut TextWriter) -> Result<Step, V::Error> {
    let value = list.element(index)?;
    object(&value, Place::Step(index, ""))?;
    let kind = string_at(&value, "type", Place::Step(index, ".type"))?;

    let content = value.property("content")?;
    text.push(" ");
    match content.type_of() {
        Type::String => content.write_to(text)?,
        Type::Undefined | Type::Null => {}
        _ => {
            let place = Place::Step(index, ".content");
            return invalid(&content, place, "a string, null or nothing");
        }
    }

    let tool = value.property("tool")?;
    let tool = match tool.type_of() {
        Type::Undefined | Type::Null => None,
        Type::Object => Some(tool_name(&tool, index)?),
        _ => {
            let place = Place::Step(index, ".tool");
            return invalid(&tool, place, "an object, null or nothing");
        }
    };
    // A known type takes no memory, which another thread would give back.
    let known = KINDS.iter().find(|known| **known == kind);
    Ok(Step { kind: known.map_or_else(|| kind.into(), |known| (*known).into()), tool })
}

fn tool_name<V: View>(tool: &V, step: u32) -> Result<Option<Box<str>>, V::Error> {
    let name = tool.property("name")?;
    match name.type_of() {
        Type::Undefined => Ok(None),
        Type::String => Ok(Some(name.string()?.into_boxed_str())),
        _ => invalid(&name, Place::Step(step, ".tool.name"), "a string"),
    }
}

fn confidence<V: View>(outcome: &V) -> Result<f64, V::Error> {
    let value = outcome.property("confidence")?;
    let number = if value.type_of() == Type::Number { value.number()? } else { f64::NAN };
    if (0.0..=1.0).contains(&number) {
        return Ok(number);
    }
    invalid(&value, Place::Field("outcome.confidence"), "a finite number in [0, 1]")
}

fn object_at<V: View>(parent: &V, name: &'static str) -> Result<V, V::Error> {
    let value = parent.property(name)?;
    object(&value, Place::Field(name))?;
    Ok(value)
}

fn object<V: View>(value: &V, place: Place) -> Result<(), V::Error> {
    match value.type_of() {
        Type::Object => Ok(()),
        _ => invalid(value, place, "an object"),
    }
}

fn string_at<V: View>(parent: &V, name: &'static str, place: Place) -> Result<String, V::Error> {
    let value = parent.property(name)?;
    match value.type_of() {
        Type::String => Ok(value.string()?),
        _ => invalid(&value, place, "a string"),
    }
}

fn invalid<T, V: View>(value: &V, place: Place, expected: &str) -> Result<T, V::Error> {
    Err(Error::invalid(Invalid::Trace, place, expected, value.describe()).into())
}

/// Where in the trace a value stands; only spelled out when something is wrong there.
#[derive(Clone, Copy)]
enum Place {
    Field(&'static str),
    Step(u32, &'static str),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field(path) => f.write_str(path),
            Self::Step(index, rest) => write!(f, "steps[{index}]{rest}"),
        }
    }
}
