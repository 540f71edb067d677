//! Reads bytes into JSON values, with the line at which each begins.

use std::{mem, ops::Range};

use knowledgepulse_scoring::trace::quote;
use knowledgepulse_workers::CancelToken;

use crate::{
    error::{Code, Failure},
    json::{self, Document, SyntaxError, Unread, Value},
    limits::NO_MEMORY,
    unread::{FOUND_SQLITE, SQLITE},
};

pub const MAX_BYTES: usize = json::MAX_TEXT;

/// The most bytes of memory that are kept for the next line after a large one.
const KEPT: usize = 4 << 20;

/// More bytes of a line than an error message shows.
const SHOWN: usize = 256;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

const ZIP: &[u8] = b"PK\x03\x04";
const FOUND_ZIP: &str = "expected JSON, found a ZIP archive; unpack it, or export a log of Inspect with `inspect log dump`";

/// A text of the input.
pub struct Text<'t> {
    /// The line at which it begins, from 1.
    pub line: u64,
    /// Its values; `None` if it cannot be parsed.
    pub document: Option<Document<'t>>,
    /// The error after these, and its line.
    pub error: Option<(u64, Failure)>,
}

/// Reads the texts of one input, given piece by piece: lines, which may have several values, or documents of several lines.
#[derive(Default)]
pub struct Reader {
    state: State,
    /// Input of which the first `begin` bytes are read. The rest begins at `line`.
    buffer: Vec<u8>,
    begin: usize,
    /// 0 until the first bytes have been checked.
    line: u64,
    /// The number of bytes of the buffer that were searched.
    scanned: usize,
    utf16: Option<Utf16>,
    has_no_memory: bool,
    cancel: CancelToken,
}

#[derive(Default)]
enum State {
    /// No value so far.
    #[default]
    Beginning,
    Lines,
    /// In a line that is too large, and skipped.
    WithinLine,
    Documents(Brackets),
    /// An error has ended the reading of documents.
    Ended,
}

impl Reader {
    pub fn new(cancel: CancelToken) -> Self {
        Self { cancel, ..Self::default() }
    }

    pub fn push(&mut self, bytes: &[u8]) {
        if matches!(self.state, State::Ended) || self.cancel.is_cancelled() {
            return;
        }
        // A line that arrives in many pieces is not moved for each.
        if self.begin > 0 {
            self.buffer.drain(..self.begin);
            self.buffer.shrink_to(self.buffer.len().max(KEPT));
            self.scanned -= self.begin.min(self.scanned);
            self.begin = 0;
        }
        // UTF-8 has at most three bytes where UTF-16 has two, and a few that were kept.
        let room = if self.utf16.is_some() { bytes.len() / 2 * 3 + 9 } else { bytes.len() };
        self.has_no_memory = !json::grow(&mut self.buffer, room);
        match &mut self.utf16 {
            _ if self.has_no_memory => {}
            Some(utf16) => utf16.decode(bytes, false, &mut self.buffer),
            None => self.buffer.extend_from_slice(bytes),
        }
    }

    /// Returns the line of what is not read yet, from 1.
    pub fn line(&self) -> u64 {
        self.line.max(1)
    }

    /// Returns the next text that is complete. `is_end`: whether no more bytes follow.
    pub fn next(&mut self, is_end: bool) -> Option<Text<'_>> {
        if self.cancel.is_cancelled() || matches!(self.state, State::Ended) {
            self.buffer = Vec::new();
            return None;
        }
        let is_line = !matches!(self.state, State::Documents(_));
        let (line, found) = match self.begin_input(is_end)? {
            Ok(()) if is_line => self.next_line(is_end)?,
            Ok(()) => self.next_document(is_end)?,
            Err(failure) => (self.line(), Err(failure)),
        };
        let is_line = !matches!(self.state, State::Documents(_));
        let mut text = match found {
            Ok(place) => read_text(line, &self.buffer[place], is_line, &self.cancel),
            Err(failure) => Text { line, document: None, error: Some((line, failure)) },
        };
        match self.state {
            State::Documents(_) if text.error.is_some() => self.state = State::Ended,
            State::Beginning if text.document.iter().flat_map(Document::roots).any(is_record) => {
                self.state = State::Lines;
            }
            State::Beginning => {
                if let Some((_, (Code::InvalidJson, found))) = &mut text.error {
                    *found += "; text before a log must be removed";
                }
            }
            _ => {}
        }
        Some(text)
    }

    /// Looks at the first bytes. Returns `None` if there are too few.
    fn begin_input(&mut self, is_end: bool) -> Option<Result<(), Failure>> {
        if self.line == 0 {
            let may_be =
                |begin: &[u8]| self.buffer.len() < begin.len() && begin.starts_with(&self.buffer);
            if !is_end && (self.buffer.len() < ZIP.len() || may_be(SQLITE)) {
                return None;
            }
            self.line = 1;
            let others =
                [(ZIP, Code::InvalidJson, FOUND_ZIP), (SQLITE, Code::UnknownFormat, FOUND_SQLITE)];
            let mut others = others.into_iter();
            if let Some((_, code, found)) =
                others.find(|(begin, ..)| self.buffer.starts_with(begin))
            {
                self.state = State::Ended;
                return Some(Err((code, found.into())));
            }
            self.utf16 = Utf16::of(&self.buffer);
            if self.utf16.is_some() {
                let bytes = mem::take(&mut self.buffer);
                self.push(&bytes[2..]);
            }
            if self.buffer.starts_with(BYTE_ORDER_MARK) {
                self.begin = BYTE_ORDER_MARK.len();
                self.scanned = self.begin;
            }
        }
        if self.has_no_memory {
            self.state = State::Ended;
            return Some(Err((Code::TooLarge, NO_MEMORY.into())));
        }
        if let Some(utf16) = self.utf16.as_mut().filter(|_| is_end) {
            utf16.decode(&[], true, &mut self.buffer);
        }
        Some(Ok(()))
    }

    /// Returns the place of the next line with text, or of the first document.
    fn next_line(&mut self, is_end: bool) -> Option<Found> {
        loop {
            let begin = self.begin;
            let length = self.buffer.len();
            let end = memchr::memchr(b'\n', &self.buffer[self.scanned..]);
            let end = end.map(|end| self.scanned + end);
            let Some(end) = end.or((is_end && begin < length).then_some(length)) else {
                self.scanned = length;
                if matches!(self.state, State::WithinLine) {
                    self.begin = length;
                } else if length - begin > MAX_BYTES {
                    (self.state, self.begin) = (State::WithinLine, length);
                    return Some((self.line, Err(too_large("line"))));
                }
                return None;
            };
            let text = &self.buffer[begin..end];
            let is_blank = text.len() <= MAX_BYTES && json::is_blank(text);
            if !is_blank
                && matches!(self.state, State::Beginning)
                && begins_document(text, &self.cancel)
            {
                self.state = State::Documents(Brackets::default());
                self.scanned = begin;
                return self.next_document(is_end);
            }
            let line = self.line;
            // A document may begin on the line of a text of which only the end of the line is lost.
            let bracket = memchr::memchr(b'{', text).filter(|at| text[*at..].trim_ascii() == b"{");
            if let Some(at) = bracket.filter(|_| matches!(self.state, State::Beginning)) {
                self.begin = begin + at;
                self.scanned = self.begin;
                return Some((line, Ok(begin..self.begin)));
            }
            self.line += 1;
            self.begin = length.min(end + 1);
            self.scanned = self.begin;
            if matches!(self.state, State::WithinLine) {
                self.state = State::Lines;
            } else if !is_blank {
                return Some((line, Ok(begin..end)));
            }
        }
    }

    /// Returns the place of the next document.
    fn next_document(&mut self, is_end: bool) -> Option<Found> {
        let State::Documents(brackets) = &mut self.state else { return None };
        if brackets.depth == 0 {
            let blank = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
            let length = self.buffer[self.begin..].iter().take_while(|byte| blank(byte)).count();
            self.line += lines(&self.buffer[self.begin..self.begin + length]);
            self.begin += length;
            self.scanned = self.scanned.max(self.begin);
            let rest = &self.buffer[self.begin..];
            if !matches!(rest.first()?, b'{' | b'[') {
                let length = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
                if length == rest.len() && length < SHOWN && !is_end {
                    // The message does not depend on where the pieces end.
                    return None;
                }
                let shown = quote(&String::from_utf8_lossy(&rest[..length.min(SHOWN)]));
                let found = format!("expected an object or an array, found {shown}");
                return Some((self.line, Err((Code::InvalidJson, found))));
            }
        }
        let length = brackets.find_end(&self.buffer[self.scanned..]);
        self.scanned = length.map_or(self.buffer.len(), |length| self.scanned + length);
        let place = self.begin..self.scanned;
        if length.is_none() && !is_end && place.len() <= MAX_BYTES {
            return None;
        }
        let line = self.line;
        self.line += lines(&self.buffer[place.clone()]);
        self.begin = self.scanned;
        Some((line, Ok(place)))
    }
}

/// The line and the place of a text in the buffer.
type Found = (u64, Result<Range<usize>, Failure>);

/// A decoder of UTF-16, as Windows PowerShell writes it into files.
struct Utf16 {
    unit: fn([u8; 2]) -> u16,
    /// The beginning of a character.
    begun: Vec<u8>,
}

impl Utf16 {
    /// Returns the decoder for text that begins with this byte order mark.
    fn of(bytes: &[u8]) -> Option<Self> {
        let unit = match bytes {
            [0xff, 0xfe, ..] => u16::from_le_bytes,
            [0xfe, 0xff, ..] => u16::from_be_bytes,
            _ => return None,
        };
        Some(Self { unit, begun: Vec::new() })
    }

    /// Appends text as UTF-8, with U+FFFD for lone surrogates.
    fn decode(&mut self, bytes: &[u8], is_end: bool, out: &mut Vec<u8>) {
        self.begun.extend_from_slice(bytes);
        let units = self.begun.chunks_exact(2).map(|unit| (self.unit)([unit[0], unit[1]]));
        let is_half = |unit: u16| !is_end && (0xd800..0xdc00).contains(&unit);
        let count = units.len() - usize::from(units.clone().next_back().is_some_and(is_half));
        for character in char::decode_utf16(units.take(count)) {
            let character = character.unwrap_or(char::REPLACEMENT_CHARACTER);
            out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
        }
        self.begun.drain(..2 * count);
    }
}

/// Finds the end of a document, at which all brackets are closed. Whether they match is checked by parsing.
#[derive(Default)]
struct Brackets {
    depth: usize,
    is_in_string: bool,
    is_escaped: bool,
}

impl Brackets {
    /// Returns the number of bytes up to the end of the document; `None` if more are needed.
    fn find_end(&mut self, bytes: &[u8]) -> Option<usize> {
        let mut place = 0;
        while let Some(byte) = bytes.get(place) {
            place += 1;
            match byte {
                _ if self.is_escaped => self.is_escaped = false,
                b'"' => self.is_in_string = !self.is_in_string,
                b'\\' => self.is_escaped = self.is_in_string,
                _ if self.is_in_string => {
                    let rest = &bytes[place..];
                    place += memchr::memchr2(b'"', b'\\', rest).unwrap_or(rest.len());
                }
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' => {
                    self.depth -= 1;
                    if self.depth == 0 {
                        return Some(place);
                    }
                }
                _ => {}
            }
        }
        None
    }
}

/// Returns whether the first line with text begins a document of several lines: the line alone ends too soon. Any other
/// line, such as one whose beginning was cut off, is only a line.
fn begins_document(line: &[u8], cancel: &CancelToken) -> bool {
    let text = line.trim_ascii_start();
    matches!(text.first(), Some(b'{' | b'[')) && line.len() <= MAX_BYTES && {
        let (_, unread) = Document::read(String::from_utf8_lossy(text), true, cancel);
        matches!(unread, Some(Unread::Syntax(SyntaxError { is_cut: true, .. })))
    }
}

/// Reads a line, which may have several values, or a document, which begins at a line.
fn read_text<'t>(line: u64, bytes: &'t [u8], is_line: bool, cancel: &CancelToken) -> Text<'t> {
    let failed = |line_of_error, failure| Text {
        line,
        document: None,
        error: Some((line_of_error, failure)),
    };
    if bytes.len() > MAX_BYTES {
        return failed(line, too_large(if is_line { "line" } else { "document" }));
    }
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let valid = error.valid_up_to();
            let found = format!("expected UTF-8, found another byte after {valid} bytes");
            return failed(line + lines(&bytes[..valid]), (Code::InvalidUtf8, found));
        }
    };
    let (document, unread) = Document::read(text.into(), is_line, cancel);
    let error = match unread {
        None | Some(Unread::Cancelled) => None,
        Some(Unread::TooLarge) => Some((line, (Code::TooLarge, NO_MEMORY.into()))),
        Some(Unread::Syntax(SyntaxError { line: from_first, column, message, .. })) => {
            let place = if column > 0 { format!(" at column {column}") } else { String::new() };
            let found = format!("invalid JSON{place}: {message}");
            Some((line + from_first - 1, (Code::InvalidJson, found)))
        }
    };
    Text { line, document: Some(document), error }
}

fn is_record(value: Value) -> bool {
    value.is_object() || value.as_array().is_some()
}

fn lines(bytes: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', bytes).count() as u64
}

fn too_large(what: &str) -> Failure {
    let found = format!("expected at most {} MiB, found a longer {what}", MAX_BYTES >> 20);
    (Code::TooLarge, found)
}
