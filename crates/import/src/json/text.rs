//! Blank text, and JSON text that is written.

use std::io;

use serde::Serialize;

/// The longest text of a document, in bytes.
pub const MAX_TEXT: usize = 1 << 28;

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

/// Text that grows in small steps, because it may take nearly all memory. Writing fails where there is none.
#[derive(Default)]
pub struct Buffer(Vec<u8>);

impl io::Write for Buffer {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
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

/// The number of elements up to which a list doubles.
const DOUBLED: usize = 1 << 14;

/// Returns by how much a list grows to have space for more elements. Doubling, the default, would waste memory on a
/// large line.
pub(super) fn growth(capacity: usize, length: usize, more: usize) -> usize {
    if capacity - length < more {
        more.max(if length < DOUBLED { length } else { length / 8 }).max(64)
    } else {
        0
    }
}

/// Reserves space for more elements. Returns whether there is memory for them.
pub fn grow<T>(list: &mut Vec<T>, more: usize) -> bool {
    list.capacity() - list.len() >= more
        || list.try_reserve_exact(growth(list.capacity(), list.len(), more)).is_ok()
}

/// Returns whether a value takes more bytes as JSON than a limit.
pub fn is_longer(value: &impl Serialize, limit: usize) -> bool {
    serde_json::to_writer(Left(limit), value).is_err()
}

/// The number of bytes that may still be written.
struct Left(usize);

impl io::Write for Left {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        self.0 = self.0.checked_sub(text.len()).ok_or(io::ErrorKind::FileTooLarge)?;
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
