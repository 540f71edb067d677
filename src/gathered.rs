//! A trace as `lib/gather.js` hands it over: a string with all that is short, and the text.

use knowledgepulse_embedder::LongText;
use knowledgepulse_scoring::{
    Error, Invalid, Trace,
    trace::{KINDS, Step, TextWriter, Type, View},
};
use napi::{Env, bindgen_prelude::Unknown};
use napi_derive::napi;

use crate::{
    embedder::ModelEmbedder,
    failure::Failure,
    view::{JsView, Read},
};

/// The error for a value in a trace that does not fit, as the engine's own reader throws it.
#[napi(catch_unwind)]
pub fn misfit(env: &Env, value: Unknown, expected: String, place: String) -> Failure {
    let found = JsView::new(env, value).describe();
    Failure::from(Error::invalid(Invalid::Trace, place, expected, found))
}

/// Returns the trace of a head; `None` for one that `lib/gather.js` does not make.
///
/// In code units: 1 for success or 0, the domain, the id, and for each step its type and the name of its
/// tool. A string is its length plus [`Head::RESERVED`] and its units. What is reserved stands for a type that is known, by
/// its place in [`KINDS`]; for no id or tool (0) or a tool without a name (1).
pub fn trace(units: &[u16], confidence: f64) -> Option<Trace> {
    let (success, rest) = units.split_first()?;
    let mut head = Head(rest);
    let Field::Text(domain) = head.field()? else { return None };
    let id = match head.field()? {
        Field::Text(id) => Some(id),
        Field::Reserved(_) => None,
    };
    let mut steps = Vec::new();
    while !head.0.is_empty() {
        let kind = match head.field()? {
            Field::Text(kind) => kind.into(),
            Field::Reserved(known) => (*KINDS.get(known)?).into(),
        };
        let tool = match head.field()? {
            Field::Text(name) => Some(Some(name.into_boxed_str())),
            Field::Reserved(Head::NONE) => None,
            Field::Reserved(_) => Some(None),
        };
        steps.push(Step { kind, tool });
    }
    Trace::new(domain.into_boxed_str(), *success == 1, confidence, steps, id)
}

/// What is left of a head.
struct Head<'a>(&'a [u16]);

enum Field {
    Reserved(usize),
    Text(String),
}

impl Head<'_> {
    const NONE: usize = 0;
    /// Below this a unit is no length.
    const RESERVED: usize = 4;

    fn field(&mut self) -> Option<Field> {
        let (first, rest) = self.0.split_first()?;
        let first = usize::from(*first);
        let Some(length) = first.checked_sub(Self::RESERVED) else {
            self.0 = rest;
            return Some(Field::Reserved(first));
        };
        let (text, rest) = rest.split_at_checked(length)?;
        self.0 = rest;
        // Faster by far than decoding, and nearly always enough.
        let ascii = || text.iter().map(|unit| *unit as u8).collect();
        Some(Field::Text(match text.iter().all(|unit| *unit < 0x80) {
            true => String::from_utf8(ascii()).unwrap_or_default(),
            false => String::from_utf16_lossy(text),
        }))
    }
}

/// Returns as much of a text as counts. A long one is an array of its beginning and the whole, which saves
/// copying it where the beginning fills the window. That may end with half a character, which fills nothing.
pub fn text(text: &JsView, embedder: &ModelEmbedder) -> Read<String> {
    if text.type_of() == Type::String {
        return text.string();
    }
    let (start, whole) = (text.element(0)?, text.element(1)?);
    let kept = |part: &JsView| -> Read<_> {
        let mut buffer = embedder.text_buffer();
        let mut writer = TextWriter::new(&mut buffer);
        part.write_to(&mut writer)?;
        Ok((writer.is_full(), buffer.into_string()))
    };
    match embedder.long_text {
        LongText::Window => match kept(&start)? {
            (true, text) => Ok(text),
            (false, _) => Ok(kept(&whole)?.1),
        },
        LongText::Whole => whole.string(),
    }
}
