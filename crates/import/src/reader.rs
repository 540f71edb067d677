//! Reads bytes into JSON values, with the line at which each begins.

use std::mem;

use knowledgepulse_workers::CancelToken;

use crate::{
    error::Code,
    json::{self, Document, Unread, Value},
};

pub const MAX_BYTES: usize = json::MAX_TEXT;

pub const NO_MEMORY: &str = "expected memory for it, found too little";

/// The most bytes of memory that are kept for the next line after a large one.
const KEPT: usize = 4 << 20;

/// More bytes of a line than an error message shows.
const SHOWN: usize = 256;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The beginnings of files with logs in another form, and the advice for those.
const OTHERS: [(&[u8], &str); 3] = [
    (b"\x1f\x8b", "gzip data; decompress it first"),
    (b"PK\x03\x04", "a ZIP archive; unpack it, or export a log of Inspect with `inspect log dump`"),
    (b"\x28\xb5\x2f\xfd", "Zstandard data; decompress it first"),
];

const LONGEST_MAGIC: usize = 4;

/// `INVALID_JSON`, `INVALID_UTF8` or `TOO_LARGE`, and the message without the line.
pub type ReadError = (Code, String);

pub type Each<'a> = &'a mut dyn FnMut(u64, Result<Value, ReadError>);

/// Reads the values of one input, given piece by piece.
#[derive(Default)]
pub struct Reader {
    state: State,
    /// Input that is not read yet. It begins at `line`.
    buffer: Vec<u8>,
    line: u64,
    /// The number of bytes of the buffer that were searched.
    scanned: usize,
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
        if !json::grow(&mut self.buffer, bytes.len()) {
            self.buffer = Vec::new();
            self.state = State::Ended;
            return each(self.line.max(1), Err(no_memory()));
        }
        self.buffer.extend_from_slice(bytes);
        self.read(false, each);
    }

    pub fn finish(&mut self, each: Each) {
        self.read(true, each);
        self.buffer = Vec::new();
    }

    fn read(&mut self, is_end: bool, each: Each) {
        if matches!(self.state, State::Beginning) && !self.begin(is_end, each) {
            return;
        }
        let buffer = mem::take(&mut self.buffer);
        let read = match &mut self.state {
            State::Beginning => 0,
            State::Lines | State::WithinLine => self.read_lines(&buffer, is_end, each),
            State::Documents(_) => self.read_documents(&buffer, is_end, each),
            State::Ended => buffer.len(),
        };
        self.buffer = buffer;
        self.buffer.drain(..read);
        self.buffer.shrink_to(self.buffer.len().max(KEPT));
        self.scanned -= read.min(self.scanned);
    }

    /// Decides whether the input is read by lines. Returns whether that is known.
    fn begin(&mut self, is_end: bool, each: Each) -> bool {
        if self.line == 0 {
            if self.buffer.len() < LONGEST_MAGIC && !is_end {
                return false;
            }
            if let Some((_, what)) = OTHERS.iter().find(|(magic, _)| self.buffer.starts_with(magic))
            {
                let found = format!("expected JSON, found {what}");
                each(1, Err((Code::InvalidJson, found)));
                self.state = State::Ended;
                return true;
            }
            if self.buffer.starts_with(BYTE_ORDER_MARK) {
                self.buffer.drain(..BYTE_ORDER_MARK.len());
            }
            self.line = 1;
        }
        let mut begin = 0;
        let is_known = loop {
            let from = begin.max(self.scanned);
            let found = memchr::memchr(b'\n', &self.buffer[from..]);
            let end = match found {
                Some(found) => from + found,
                None if is_end || self.buffer.len() - begin > MAX_BYTES => self.buffer.len(),
                None => {
                    self.scanned = self.buffer.len();
                    break false;
                }
            };
            if let Some(is_line) = is_line(&self.buffer[begin..end], &self.cancel) {
                self.scanned = begin;
                self.state =
                    if is_line { State::Lines } else { State::Documents(Brackets::default()) };
                break true;
            }
            if found.is_none() {
                break false;
            }
            begin = end + 1;
            self.line += 1;
        };
        self.buffer.drain(..begin);
        self.scanned = self.scanned.saturating_sub(begin);
        is_known
    }

    /// Reads lines. Returns their length in bytes.
    fn read_lines(&mut self, buffer: &[u8], is_end: bool, each: Each) -> usize {
        let from = self.scanned;
        let ends = memchr::memchr_iter(b'\n', &buffer[from..]).map(|end| from + end);
        let mut begin = 0;
        for end in ends.chain(is_end.then_some(buffer.len())) {
            if matches!(self.state, State::WithinLine) {
                self.state = State::Lines;
            } else {
                read_text(self.line, &buffer[begin..end], true, &self.cancel, each);
            }
            self.line += 1;
            begin = buffer.len().min(end + 1);
        }
        self.scanned = buffer.len();
        if buffer.len() - begin > MAX_BYTES || matches!(self.state, State::WithinLine) {
            if matches!(self.state, State::Lines) {
                each(self.line, Err(too_large("line")));
                self.state = State::WithinLine;
            }
            return buffer.len();
        }
        begin
    }

    /// Reads documents. Returns their length in bytes.
    fn read_documents(&mut self, buffer: &[u8], is_end: bool, each: Each) -> usize {
        let State::Documents(brackets) = &mut self.state else { return 0 };
        let mut begin = 0;
        loop {
            if brackets.depth == 0 {
                let blank = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
                let length = buffer[begin..].iter().take_while(|byte| blank(byte)).count();
                self.line += lines(&buffer[begin..begin + length]);
                begin += length;
                self.scanned = self.scanned.max(begin);
                match buffer.get(begin) {
                    None => return begin,
                    Some(b'{' | b'[') => {}
                    Some(_) => {
                        let rest = &buffer[begin..];
                        let rest = &rest[..rest.len().min(SHOWN)];
                        let line = rest.split(|byte| *byte == b'\n').next().unwrap_or(rest);
                        if line.len() == rest.len() && rest.len() < SHOWN && !is_end {
                            // The message does not depend on where the pieces end.
                            return begin;
                        }
                        let found = format!(
                            "expected an object or an array, found {}",
                            knowledgepulse_scoring::trace::quote(&String::from_utf8_lossy(line))
                        );
                        each(self.line, Err((Code::InvalidJson, found)));
                        break;
                    }
                }
            }
            let (end, is_whole) = match brackets.find_end(&buffer[self.scanned..]) {
                Some(length) => (self.scanned + length, true),
                None => (buffer.len(), false),
            };
            self.scanned = end;
            if !is_whole && !is_end && end - begin <= MAX_BYTES {
                return begin;
            }
            let document = &buffer[begin..end];
            if !read_text(self.line, document, false, &self.cancel, each) {
                break;
            }
            self.line += lines(document);
            begin = end;
        }
        self.state = State::Ended;
        buffer.len()
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
            if self.is_in_string {
                match byte {
                    _ if mem::take(&mut self.is_escaped) => {}
                    b'\\' => self.is_escaped = true,
                    b'"' => self.is_in_string = false,
                    _ => {}
                }
                continue;
            }
            match byte {
                b'"' => self.is_in_string = true,
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

/// Returns whether the first line consists of complete values; `None` if it is blank.
fn is_line(line: &[u8], cancel: &CancelToken) -> Option<bool> {
    if line.len() > MAX_BYTES {
        return Some(true);
    }
    let line = String::from_utf8_lossy(line);
    (!json::is_blank(&line)).then(|| Document::read(line.as_ref().into(), true, cancel).1.is_none())
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
            each(line + lines(&bytes[..error.valid_up_to()]), Err(invalid_utf8(&error)));
            return false;
        }
    };
    if cancel.is_cancelled() || json::is_blank(text) {
        return !cancel.is_cancelled();
    }
    let (document, unread) = Document::read(text.into(), is_line, cancel);
    document.roots().for_each(|value| each(line, Ok(value)));
    match &unread {
        None | Some(Unread::Cancelled) => {}
        Some(Unread::TooLarge) => each(line, Err(no_memory())),
        Some(Unread::Syntax(error)) => {
            each(line + error.line().saturating_sub(1) as u64, Err(invalid_json(error)));
        }
    }
    unread.is_none()
}

fn lines(bytes: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', bytes).count() as u64
}

fn invalid_json(error: &serde_json::Error) -> ReadError {
    // `serde_json` ends its messages with the place in the text that it was given.
    let message = error.to_string();
    let message = message.split(" at line ").next().unwrap_or_default();
    let found = match error.column() {
        0 => format!("invalid JSON: {message}"),
        column => format!("invalid JSON at column {column}: {message}"),
    };
    (Code::InvalidJson, found)
}

fn invalid_utf8(error: &std::str::Utf8Error) -> ReadError {
    let found = format!("expected UTF-8, found another byte after {} bytes", error.valid_up_to());
    (Code::InvalidUtf8, found)
}

fn no_memory() -> ReadError {
    (Code::TooLarge, NO_MEMORY.into())
}

fn too_large(what: &str) -> ReadError {
    let found = format!("expected at most {} MiB, found a longer {what}", MAX_BYTES >> 20);
    (Code::TooLarge, found)
}
