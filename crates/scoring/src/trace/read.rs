//! The one place where a foreign value is checked.

use std::fmt;

use super::{KINDS, Step, TextWriter, Trace, Type, View};
use crate::error::{Error, Invalid};

/// Reads a trace, touching each field that counts once and no other, and writes its text,
/// `objective + " " + contents.join(" ")`, to `text` until that refuses more.
///
/// # Errors
///
/// `INVALID_TRACE` names the first field that does not fit; what the host throws comes back as it is.
pub fn read<V: View>(root: &V, text: &mut impl fmt::Write) -> Result<Trace, V::Error> {
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
