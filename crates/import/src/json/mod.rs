//! JSON in a compact form, and its values.

mod document;
mod trace;
mod value;

use std::{collections::BTreeMap, io};

use serde::{Serialize, Serializer};

pub use document::{Document, MAX_TEXT, SyntaxError, Unread, grow};
pub use value::{Array, Kind, Members, Value, write_canonical};

/// The characters that make a text blank.
pub const BLANK: [char; 6] = ['\t', '\n', '\u{b}', '\u{c}', '\r', ' '];

/// Returns whether a text has only U+0009 to U+000D and U+0020.
pub fn is_blank(text: impl AsRef<[u8]>) -> bool {
    text.as_ref().iter().all(|byte| matches!(byte, b'\t'..=b'\r' | b' '))
}

/// Returns a text without leading and trailing blank characters.
pub fn trimmed(text: &str) -> &str {
    text.trim_matches(BLANK)
}

/// Text that grows in small steps, because it may take nearly all memory. Writing fails where there is none, and beyond
/// [`MAX_TEXT`], so that the text can be read again.
#[derive(Default)]
pub struct Buffer(Vec<u8>);

impl io::Write for Buffer {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        if self.0.len() + text.len() > MAX_TEXT {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        if !grow(&mut self.0, text.len()) {
            return Err(io::ErrorKind::OutOfMemory.into());
        }
        self.0.extend_from_slice(text);
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns the text that is written.
///
/// # Errors
///
/// Those of `write`.
pub fn written<E>(write: impl FnOnce(&mut Buffer) -> Result<(), E>) -> Result<String, E> {
    let mut out = Buffer::default();
    write(&mut out)?;
    out.0.shrink_to_fit();
    Ok(String::from_utf8(out.0).unwrap_or_default())
}

/// Returns a value as JSON without white space; an empty text if there is no memory for it.
pub fn json_of(value: impl Serialize) -> String {
    written(|out| serde_json::to_writer(out, &value)).unwrap_or_default()
}

/// Returns an object as JSON; an empty text if there is no memory for it.
pub fn object_of<'a>(members: impl IntoIterator<Item = (&'a str, impl Serialize)>) -> String {
    written(|out| serde_json::Serializer::new(out).collect_map(members)).unwrap_or_default()
}

/// A value that is made of recorded ones.
#[derive(Serialize)]
#[serde(untagged)]
pub enum Made<'d> {
    Text(&'d str),
    Value(Value<'d>),
    List(Vec<Self>),
    Object(BTreeMap<&'d str, Self>),
}
