//! Reads bytes into JSON values, with the line at which each begins.

use std::mem;

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

pub type Each<'a> = &'a mut dyn FnMut(u64, Result<Value, Failure>);

/// Reads the values of one input, given piece by piece.
#[derive(Default)]
pub struct Reader {
    state: State,
    /// Input that is not read yet. It begins at `line`.
    buffer: Vec<u8>,
    /// 0 until the first bytes have been checked.
    line: u64,
    /// The number of bytes of the buffer that were searched.
    scanned: usize,
    utf16: Option<Utf16>,
    cancel: CancelToken,
}

#[derive(Default)]
enum State {
    /// Only blank lines so far.
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

    pub fn push(&mut self, bytes: &[u8], each: Each) {
        if matches!(self.state, State::Ended) || self.cancel.is_cancelled() {
            return;
        }
        // UTF-8 has at most three bytes where UTF-16 has two, and a few that were kept.
        let room = if self.utf16.is_some() { bytes.len() / 2 * 3 + 9 } else { bytes.len() };
        if !json::grow(&mut self.buffer, room) {
            self.buffer = Vec::new();
            self.state = State::Ended;
            return each(self.line(), Err((Code::TooLarge, NO_MEMORY.into())));
        }
        match &mut self.utf16 {
            Some(utf16) => utf16.decode(bytes, false, &mut self.buffer),
            None => self.buffer.extend_from_slice(bytes),
        }
        self.read(false, each);
    }

    pub fn finish(&mut self, each: Each) {
        if let Some(utf16) = &mut self.utf16 {
            utf16.decode(&[], true, &mut self.buffer);
        }
        self.read(true, each);
        self.buffer = Vec::new();
    }

    /// Returns the line of what is not read yet, from 1.
    pub fn line(&self) -> u64 {
        self.line.max(1)
    }

    fn read(&mut self, is_end: bool, each: Each) {
        if self.line == 0 {
            let may_be =
                |begin: &[u8]| self.buffer.len() < begin.len() && begin.starts_with(&self.buffer);
            if !is_end && (self.buffer.len() < ZIP.len() || may_be(SQLITE)) {
                return;
            }
            self.line = 1;
            let others =
                [(ZIP, Code::InvalidJson, FOUND_ZIP), (SQLITE, Code::UnknownFormat, FOUND_SQLITE)];
            if let Some((_, code, found)) =
                others.into_iter().find(|(begin, ..)| self.buffer.starts_with(begin))
            {
                self.state = State::Ended;
                self.buffer = Vec::new();
                return each(1, Err((code, found.into())));
            }
            self.utf16 = Utf16::of(&self.buffer);
            if self.utf16.is_some() {
                let bytes = mem::take(&mut self.buffer);
                return self.push(&bytes[2..], each);
            }
            if self.buffer.starts_with(BYTE_ORDER_MARK) {
                self.buffer.drain(..BYTE_ORDER_MARK.len());
            }
        }
        let buffer = mem::take(&mut self.buffer);
        let begin = self.read_lines(&buffer, is_end, each);
        let read = self.read_documents(&buffer, begin, is_end, each);
        self.buffer = buffer;
        // A line that arrives in many pieces is not moved for each.
        if read > 0 {
            self.buffer.drain(..read);
            self.buffer.shrink_to(self.buffer.len().max(KEPT));
            self.scanned -= read.min(self.scanned);
        }
    }

    /// Reads lines up to the first document. Returns their length in bytes.
    fn read_lines(&mut self, buffer: &[u8], is_end: bool, each: Each) -> usize {
        if matches!(self.state, State::Documents(_) | State::Ended) {
            return 0;
        }
        let from = self.scanned;
        let ends = memchr::memchr_iter(b'\n', &buffer[from..]).map(|end| from + end);
        let mut begin = 0;
        for end in ends.chain(is_end.then_some(buffer.len())) {
            let line = &buffer[begin..end];
            if matches!(self.state, State::WithinLine) {
                self.state = State::Lines;
            } else if line.len() > MAX_BYTES || !json::is_blank(line) {
                if matches!(self.state, State::Beginning) && begins_document(line, &self.cancel) {
                    self.state = State::Documents(Brackets::default());
                    self.scanned = begin;
                    return begin;
                }
                self.state = State::Lines;
                read_text(self.line, line, true, &self.cancel, each);
            }
            self.line += 1;
            begin = buffer.len().min(end + 1);
        }
        self.scanned = buffer.len();
        if matches!(self.state, State::WithinLine) {
            return buffer.len();
        }
        if buffer.len() - begin <= MAX_BYTES {
            return begin;
        }
        each(self.line, Err(too_large("line")));
        self.state = State::WithinLine;
        buffer.len()
    }

    /// Reads documents from `at` on. Returns the end of the last one.
    fn read_documents(&mut self, buffer: &[u8], mut at: usize, is_end: bool, each: Each) -> usize {
        let State::Documents(brackets) = &mut self.state else { return at };
        loop {
            if brackets.depth == 0 {
                let blank = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
                let length = buffer[at..].iter().take_while(|byte| blank(byte)).count();
                self.line += lines(&buffer[at..at + length]);
                at += length;
                self.scanned = self.scanned.max(at);
                let Some(first) = buffer.get(at) else { return at };
                if !matches!(first, b'{' | b'[') {
                    let rest = &buffer[at..];
                    let length = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
                    if length == rest.len() && length < SHOWN && !is_end {
                        // The message does not depend on where the pieces end.
                        return at;
                    }
                    let shown = quote(&String::from_utf8_lossy(&rest[..length.min(SHOWN)]));
                    let found = format!("expected an object or an array, found {shown}");
                    each(self.line, Err((Code::InvalidJson, found)));
                    break;
                }
            }
            let length = brackets.find_end(&buffer[self.scanned..]);
            self.scanned = length.map_or(buffer.len(), |length| self.scanned + length);
            if length.is_none() && !is_end && buffer.len() - at <= MAX_BYTES {
                return at;
            }
            let document = &buffer[at..self.scanned];
            if !read_text(self.line, document, false, &self.cancel, each) {
                break;
            }
            self.line += lines(document);
            at = self.scanned;
        }
        self.state = State::Ended;
        buffer.len()
    }
}

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
        for (index, byte) in bytes.iter().enumerate() {
            match byte {
                _ if self.is_escaped => self.is_escaped = false,
                b'"' => self.is_in_string = !self.is_in_string,
                b'\\' => self.is_escaped = self.is_in_string,
                _ if self.is_in_string => {}
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' => {
                    self.depth -= 1;
                    if self.depth == 0 {
                        return Some(index + 1);
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

/// Reads a line, which may have several values, or a document, which begins at a line. Returns whether all of it could
/// be read.
fn read_text(line: u64, bytes: &[u8], is_line: bool, cancel: &CancelToken, each: Each) -> bool {
    if bytes.len() > MAX_BYTES {
        each(line, Err(too_large(if is_line { "line" } else { "document" })));
        return false;
    }
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let valid = error.valid_up_to();
            let found = format!("expected UTF-8, found another byte after {valid} bytes");
            each(line + lines(&bytes[..valid]), Err((Code::InvalidUtf8, found)));
            return false;
        }
    };
    if cancel.is_cancelled() {
        return false;
    }
    let (document, unread) = Document::read(text.into(), is_line, cancel);
    document.roots().for_each(|value| each(line, Ok(value)));
    match &unread {
        None | Some(Unread::Cancelled) => {}
        Some(Unread::TooLarge) => each(line, Err((Code::TooLarge, NO_MEMORY.into()))),
        Some(Unread::Syntax(SyntaxError { line: from_first, column, message, .. })) => {
            let place = if *column > 0 { format!(" at column {column}") } else { String::new() };
            let found = format!("invalid JSON{place}: {message}");
            each(line + from_first - 1, Err((Code::InvalidJson, found)));
        }
    }
    unread.is_none()
}

fn lines(bytes: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', bytes).count() as u64
}

fn too_large(what: &str) -> Failure {
    let found = format!("expected at most {} MiB, found a longer {what}", MAX_BYTES >> 20);
    (Code::TooLarge, found)
}
