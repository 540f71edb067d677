//! JSON in a compact form, and its values.

mod document;
mod trace;
mod value;

use std::{fmt, io};

pub use document::{Document, MAX_TEXT, Unread, grow};
pub use value::{Array, Kind, Members, Number, Value};

/// The characters that make a text blank.
pub const BLANK: [char; 6] = ['\t', '\n', '\u{b}', '\u{c}', '\r', ' '];

/// Returns whether a text has only U+0009 to U+000D and U+0020.
pub fn is_blank(text: &str) -> bool {
    text.chars().all(|character| BLANK.contains(&character))
}

/// Returns a text without leading and trailing blank characters.
pub fn trimmed(text: &str) -> &str {
    text.trim_matches(BLANK)
}

/// Text that grows in small steps, because it may take nearly all memory. Writing fails where there is none.
#[derive(Default)]
pub struct Buffer(Vec<u8>);

impl Buffer {
    pub fn into_string(mut self) -> String {
        self.0.shrink_to_fit();
        String::from_utf8(self.0).unwrap_or_default()
    }
}

impl fmt::Write for Buffer {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if !grow(&mut self.0, text.len()) {
            return Err(fmt::Error);
        }
        self.0.extend_from_slice(text.as_bytes());
        Ok(())
    }
}

/// Hands over what is written, and never fails.
pub struct Sink<F>(pub F);

impl<F: FnMut(&str)> fmt::Write for Sink<F> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        (self.0)(text);
        Ok(())
    }
}

/// Writes a string as JSON, with the escapes that ECMAScript writes.
///
/// # Errors
///
/// Those of `out`.
pub fn write_string(text: &str, out: &mut impl fmt::Write) -> fmt::Result {
    /// Takes pieces of text, which `serde_json` never cuts within a character.
    struct Pieces<'a, W>(&'a mut W);
    impl<W: fmt::Write> io::Write for Pieces<'_, W> {
        fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
            let text = std::str::from_utf8(piece).map_err(io::Error::other)?;
            self.0.write_str(text).map_err(io::Error::other)?;
            Ok(piece.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    serde_json::to_writer(Pieces(out), text).map_err(|_| fmt::Error)
}

/// Returns a string as JSON.
pub fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    // Writing to a string never fails.
    let _ = write_string(text, &mut out);
    out
}

/// Writes items between brackets, with commas.
///
/// # Errors
///
/// Those of `write`.
pub fn write_list<T, W: fmt::Write>(
    brackets: [char; 2],
    items: impl IntoIterator<Item = T>,
    out: &mut W,
    mut write: impl FnMut(T, &mut W) -> fmt::Result,
) -> fmt::Result {
    out.write_char(brackets[0])?;
    for (index, item) in items.into_iter().enumerate() {
        out.write_str(if index > 0 { "," } else { "" })?;
        write(item, out)?;
    }
    out.write_char(brackets[1])
}

/// Writes an object.
///
/// # Errors
///
/// Those of `write`.
pub fn write_object<'a, T, W: fmt::Write>(
    members: impl IntoIterator<Item = (&'a str, T)>,
    out: &mut W,
    mut write: impl FnMut(T, &mut W) -> fmt::Result,
) -> fmt::Result {
    write_list(['{', '}'], members, out, |(name, value), out| {
        write_string(name, out)?;
        out.write_char(':')?;
        write(value, out)
    })
}

/// Returns an object of members that are JSON already.
pub fn object_of<'a>(members: impl IntoIterator<Item = (&'a str, impl AsRef<str>)>) -> String {
    let mut out = String::new();
    // Writing to a string never fails.
    let _ = write_object(members, &mut out, |json, out| fmt::Write::write_str(out, json.as_ref()));
    out
}
