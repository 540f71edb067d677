//! A trace as `lib/trace.js` passes it: the head, a string with all short fields, and the text.

use std::fmt::Write;

use knowledgepulse_embedder::TextBuffer;
use knowledgepulse_scoring::{
    Error, Trace,
    embed::Text,
    trace::{Confidence, KINDS, Step},
};
use napi::{
    Result,
    bindgen_prelude::{JsObjectValue, JsValue, Unknown},
    check_status, sys,
};

/// Reads a trace from its head.
///
/// A head has code units: 1 for success or 0, the domain, the id, and for each step its type and the name of
/// its tool. A string is its length plus [`Head::RESERVED`] and its units, or [`Head::LONG`], its length in two
/// units, and its units. Instead of a string, a known type is its index in [`KINDS`], a missing id or tool is
/// 0, and a tool without a name is 1.
pub fn trace(head: &[u16], confidence: f64) -> std::result::Result<Trace, Error> {
    let parse = || {
        let (success, rest) = head.split_first()?;
        let mut head = Head(rest);
        let domain = head.field(String::from_utf16_lossy)?.ok()?;
        let id = head.field(String::from_utf16_lossy)?.ok();
        let mut steps = Vec::new();
        while !head.0.is_empty() {
            let kind = match head.field(compared)? {
                Ok(kind) => kind.into(),
                Err(known) => (*KINDS.get(known)?).into(),
            };
            let tool = match head.field(compared)? {
                Ok(name) => Some(Some(name.into_boxed_str())),
                Err(Head::NONE) => None,
                Err(_) => Some(None),
            };
            steps.push(Step { kind, tool });
        }
        let confidence = Confidence::new(confidence)?;
        Some(Trace::new(domain.into_boxed_str(), *success == 1, confidence, steps, id))
    };
    parse().ok_or_else(|| Error::internal("the fields of a trace could not be read"))
}

/// Converts a name that is only compared, and not ASCII: a character of another plane for each unit, so that names stay
/// distinct if they have lone surrogates.
fn compared(name: &[u16]) -> String {
    name.iter().filter_map(|unit| char::from_u32(0x1_0000 | u32::from(*unit))).collect()
}

/// The rest of a head.
struct Head<'a>(&'a [u16]);

impl<'a> Head<'a> {
    const NONE: usize = 0;
    const LONG: usize = 4;
    /// Smaller units are not lengths.
    const RESERVED: usize = 5;

    fn unit(&mut self) -> Option<usize> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(usize::from(*first))
    }

    /// Takes a string, or the unit instead of one as an error. `None` if the head has ended.
    fn field(
        &mut self,
        convert: fn(&[u16]) -> String,
    ) -> Option<std::result::Result<String, usize>> {
        let length = match self.unit()? {
            Self::LONG => (self.unit()? << 16) | self.unit()?,
            reserved @ ..Self::LONG => return Some(Err(reserved)),
            length => length - Self::RESERVED,
        };
        let (text, rest): (&'a [u16], _) = self.0.split_at_checked(length)?;
        self.0 = rest;
        // Far faster than decoding, and nearly always sufficient.
        let ascii = || text.iter().map(|unit| *unit as u8).collect();
        Some(Ok(match text.iter().all(|unit| *unit < 0x80) {
            true => String::from_utf8(ascii()).unwrap_or_default(),
            false => convert(text),
        }))
    }
}

/// Returns as much of a text as `buffer` takes. A long text is an array-like of pieces; a short one is a
/// string, which is copied whole. Its objective is its first `objective` code units, by default all.
pub fn text_of(text: &Unknown, objective: Option<u32>, buffer: TextBuffer) -> Result<Text> {
    let text = string_of(text, buffer)?;
    let Some(mut units) = objective else { return Ok(text.into()) };
    let fits = |c: &char| {
        let rest = units.checked_sub(c.len_utf16() as u32);
        rest.map(|rest| units = rest).is_some()
    };
    let objective = text.chars().take_while(fits).map(char::len_utf8).sum();
    Ok(Text::new(text, objective))
}

fn string_of(text: &Unknown, mut buffer: TextBuffer) -> Result<String> {
    // One call for a short string, unlike napi's own conversion, which asks for the length first.
    let mut whole = String::new();
    let read = read_pieces(text, |piece| {
        whole.push_str(piece);
        true
    });
    if read.is_ok() {
        return Ok(whole);
    }
    let pieces = text.coerce_to_object()?;
    for index in 0..pieces.get::<u32>("length")?.unwrap_or(0) {
        let mut is_full = false;
        read_pieces(&pieces.get_element(index)?, |piece| {
            is_full = buffer.write_str(piece).is_err();
            !is_full
        })?;
        if is_full {
            break;
        }
    }
    Ok(buffer.into_string())
}

/// Passes a string to `more` in increasingly large pieces until it returns `false`.
fn read_pieces(string: &Unknown, mut more: impl FnMut(&str) -> bool) -> Result<()> {
    /// Room for a character of four bytes that did not fit.
    const SLACK: usize = 4;
    let (env, value) = (string.value().env, string.raw());
    let mut buffer = vec![0; 2048];
    let mut done = 0;
    loop {
        let (start, room) = (buffer.as_mut_ptr().cast(), buffer.len());
        let mut copied = 0;
        // SAFETY: environment and handle belong to the running call; the length is the buffer's.
        check_status!(unsafe {
            sys::napi_get_value_string_utf8(env, value, start, room, &mut copied)
        })?;
        // Node-API ends the string with NUL.
        let complete = copied + 1 + SLACK <= buffer.len();
        // The end of an incomplete copy may be half a character: read it again.
        let usable = if complete { copied } else { copied.saturating_sub(2 * SLACK) };
        let mut chunks = buffer[done..usable.max(done)].utf8_chunks();
        let text = chunks.next().map_or("", |chunk| chunk.valid());
        done += text.len();
        if !more(text) || complete {
            return Ok(());
        }
        buffer = vec![0; buffer.len() * 4];
    }
}
