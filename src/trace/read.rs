//! The one place where a trace is checked.

use std::fmt;

use super::{Confidence, Step, Tool, Trace, Type, View};
use crate::{
    embedder::{LongText, Text},
    error::Error,
};

/// A longer id is none.
const MAX_ID_BYTES: usize = 1024;

/// Why a value could not be read.
#[derive(Debug, PartialEq, Eq)]
pub enum ReadError<F> {
    /// The value has not the shape that it should have; the error names the place.
    Invalid(Error),
    /// The host failed while it was read, a throwing getter for instance.
    Fault(F),
}

impl<F> From<F> for ReadError<F> {
    fn from(fault: F) -> Self {
        Self::Fault(fault)
    }
}

/// Reads a trace, touching each field that counts once and no other. Of its text it keeps what
/// counts of a `long` one.
///
/// # Errors
///
/// [`ReadError::Invalid`] names the first field that does not fit.
pub fn read<V: View>(root: &V, long: LongText) -> Result<Trace, ReadError<V::Fault>> {
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
    let mut text = Text::new(long);
    let objective = task.property("objective")?;
    match objective.type_of() {
        Type::String => objective.append_to(&mut text)?,
        _ => return invalid(&objective, Place::Field("task.objective"), "a string"),
    }

    let list = root.property("steps")?;
    if list.type_of() != Type::Object || !list.is_array()? {
        return invalid(&list, Place::Field("steps"), "an array");
    }
    let steps =
        (0..list.length()?).map(|index| step(&list, index, &mut text)).collect::<Result<_, _>>()?;

    // Last, so that no getter of it runs for a trace that is refused. What an id is, is not for us
    // to judge: anything else than a string is none, and so is one that would fill the cache.
    let id = root.property("id")?;
    let id = match id.type_of() {
        Type::String => Some(id.string()?).filter(|id| id.len() <= MAX_ID_BYTES),
        _ => None,
    };
    let id = id.map(Into::into);

    Ok(Trace { domain: domain.into_boxed_str(), success, confidence, steps, text, id })
}

fn step<V: View>(list: &V, index: u32, text: &mut Text) -> Result<Step, ReadError<V::Fault>> {
    let value = list.element(index)?;
    object(&value, Place::Step(index, ""))?;
    let kind = string_at(&value, "type", Place::Step(index, ".type"))?;

    let content = value.property("content")?;
    text.push(" ");
    match content.type_of() {
        Type::String => content.append_to(text)?,
        Type::Undefined | Type::Null => {}
        _ => {
            let place = Place::Step(index, ".content");
            return invalid(&content, place, "a string, null or nothing");
        }
    }

    let tool = value.property("tool")?;
    let tool = match tool.type_of() {
        Type::Undefined | Type::Null => None,
        Type::Object => Some(Tool { name: tool_name(&tool, index)? }),
        _ => {
            let place = Place::Step(index, ".tool");
            return invalid(&tool, place, "an object, null or nothing");
        }
    };
    Ok(Step { kind: kind.into(), tool })
}

fn tool_name<V: View>(tool: &V, step: u32) -> Result<Option<Box<str>>, ReadError<V::Fault>> {
    let name = tool.property("name")?;
    match name.type_of() {
        Type::Undefined => Ok(None),
        Type::String => Ok(Some(name.string()?.into_boxed_str())),
        _ => invalid(&name, Place::Step(step, ".tool.name"), "a string"),
    }
}

fn confidence<V: View>(outcome: &V) -> Result<Confidence, ReadError<V::Fault>> {
    let value = outcome.property("confidence")?;
    let number = match value.type_of() {
        Type::Number => Confidence::new(value.number()?),
        _ => None,
    };
    match number {
        Some(confidence) => Ok(confidence),
        None => invalid(&value, Place::Field("outcome.confidence"), "a finite number in [0, 1]"),
    }
}

fn object_at<V: View>(parent: &V, name: &'static str) -> Result<V, ReadError<V::Fault>> {
    let value = parent.property(name)?;
    object(&value, Place::Field(name))?;
    Ok(value)
}

fn object<V: View>(value: &V, place: Place) -> Result<(), ReadError<V::Fault>> {
    match value.type_of() {
        Type::Object => Ok(()),
        _ => invalid(value, place, "an object"),
    }
}

fn string_at<V: View>(
    parent: &V,
    name: &'static str,
    place: Place,
) -> Result<String, ReadError<V::Fault>> {
    let value = parent.property(name)?;
    match value.type_of() {
        Type::String => Ok(value.string()?),
        _ => invalid(&value, place, "a string"),
    }
}

fn invalid<T, V: View>(value: &V, place: Place, expected: &str) -> Result<T, ReadError<V::Fault>> {
    Err(ReadError::Invalid(Error::invalid_trace(place, expected, value.describe())))
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
