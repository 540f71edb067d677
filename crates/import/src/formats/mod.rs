//! The formats: each one file here, and one line in [`FORMATS`].

mod atif;
mod claude_code;
mod codex;
mod inspect;
mod langfuse;
mod messages;
mod mini_swe_agent;
mod open_runs;
mod otel;
mod pi;
mod reasoning_trace;
mod sessions;
mod swe_agent;
mod tau;

use std::{
    collections::{HashSet, VecDeque},
    fmt,
    fs::{File, Metadata},
    io::Read,
    path::{Path, PathBuf},
};

use serde_json::Value;

use crate::{
    error::{Code, Error},
    event::{Run, Skipped},
    importer::{Continued, Pending, Place},
    json::{self, Object},
    trace::Imported,
};

/// All formats, in the order in which a value is compared with them.
pub const FORMATS: &[&Format] = &[
    &reasoning_trace::FORMAT,
    &atif::FORMAT,
    &otel::FORMAT,
    &inspect::FORMAT,
    &langfuse::FORMAT,
    &mini_swe_agent::FORMAT,
    &swe_agent::FORMAT,
    &tau::FORMAT,
    &codex::FORMAT,
    &pi::FORMAT,
    &claude_code::FORMAT,
    &messages::FORMAT,
];

/// A format of logs.
pub struct Format {
    /// Its name.
    pub(crate) name: &'static str,
    /// The domain of its runs, if the caller names none.
    pub(crate) domain: &'static str,
    /// Whether an object of the input is of this format.
    pub(crate) fits: fn(&Object) -> bool,
    /// Whether undetected objects with a `type` that follow its records belong to it.
    pub(crate) adopts: bool,
    /// Begins an input.
    pub(crate) open: fn() -> Box<dyn ReadRuns>,
}

impl Format {
    /// Returns the format of this name.
    pub fn by_name(name: &str) -> Option<&'static Self> {
        FORMATS.iter().copied().find(|format| format.name == name)
    }

    /// Returns all formats, in the order in which a value is compared with them.
    pub fn all() -> &'static [&'static Self] {
        FORMATS
    }

    /// Returns the name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Returns the format of a value of an input: by its content, and `previous` is the format of the
    /// value before it.
    pub(crate) fn detect(value: &Value, previous: Option<&'static Self>) -> Option<&'static Self> {
        let object = match value {
            Value::Array(elements) => {
                let first = elements.iter().find(|element| element.is_object())?;
                let is_conversation = crate::messages::is_message(first);
                return is_conversation.then(|| conversation_format(elements));
            }
            Value::Object(object) => object,
            _ => return None,
        };
        let fits = |format: &&'static Self| (format.fits)(object);
        match FORMATS.iter().copied().find(fits) {
            Some(format) if std::ptr::eq(format, &messages::FORMAT) => {
                let conversation = object.get("messages").and_then(Value::as_array);
                Some(conversation.map_or(format, |messages| conversation_format(messages)))
            }
            Some(format) => Some(format),
            None => previous
                .filter(|format| format.adopts && object.get("type").is_some_and(Value::is_string)),
        }
    }
}

/// Returns the format of a conversation: mini-swe-agent's are told by the commands in their texts.
fn conversation_format(messages: &[Value]) -> &'static Format {
    match mini_swe_agent::is_conversation(messages) {
        true => &mini_swe_agent::FORMAT,
        false => &messages::FORMAT,
    }
}

impl fmt::Debug for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// Reads the values of one input that were detected as one format.
pub(crate) trait ReadRuns: Send {
    /// Reads a value, which begins at `line`.
    fn read(&mut self, value: Value, line: u64, out: &mut Output);

    /// The input has ended.
    fn finish(&mut self, out: &mut Output) {
        let _ = out;
    }
}

/// Where the runs of an input go.
pub(crate) struct Output<'a> {
    pub(crate) format: &'static Format,
    pub(crate) place: &'a Place,
    /// Which input of the importer it is.
    pub(crate) index: usize,
    pub(crate) pending: &'a mut VecDeque<(usize, Pending)>,
    pub(crate) skipped: &'a mut Skipped,
    pub(crate) continued: &'a mut Continued,
}

impl Output<'_> {
    /// Hands over a run that is closed.
    pub(crate) fn run(&mut self, run: Run) {
        self.pending.push_back((self.index, Pending::Run(self.format, Box::new(run))));
    }

    /// Hands over a trace that was one already.
    pub(crate) fn trace(&mut self, trace: Imported) {
        self.pending.push_back((self.index, Pending::Trace(Box::new(trace))));
    }

    /// Counts what belongs to no run.
    pub(crate) fn skip(&mut self, reason: impl Into<String>) {
        self.skipped.add(reason);
    }

    /// Returns the counts of what belongs to no run.
    pub(crate) fn skipped(&mut self) -> &mut Skipped {
        self.skipped
    }

    /// Reports a run whose text is too large.
    pub(crate) fn too_large(&mut self, line: u64) {
        self.skip("too_large");
        let limit = crate::reader::MAX_BYTES >> 20;
        self.error(
            Code::TooLarge,
            line,
            None,
            &format!("expected at most {limit} MiB of text in one run"),
        );
    }

    /// Reports an error.
    pub(crate) fn error(&mut self, code: Code, line: u64, path: Option<&str>, found: &str) {
        let error = Error::new(code, &self.place.name, Some(line), path, found);
        self.pending.push_back((self.index, Pending::Error(error)));
    }

    /// Returns the JSON document with this path, relative to the input. If it is an input of its own, that
    /// one gives nothing. `None` if it cannot be read, or the input is no file.
    pub(crate) fn sibling(&mut self, reference: &str) -> Option<Value> {
        let path = sibling_path(self.place.path.as_ref()?, reference)?;
        let value = read_document(&path)?;
        self.continued.paths.insert(path);
        Some(value)
    }

    /// Returns whether this input continues another one, before or after it. `continuation` returns the path
    /// by which a document names what continues it.
    pub(crate) fn is_merged(&mut self, continuation: fn(&Value) -> Option<String>) -> bool {
        let Some(own) = self.place.path.as_ref().and_then(|path| path.canonicalize().ok()) else {
            return false;
        };
        for file in std::mem::take(&mut self.continued.files) {
            let mut seen: HashSet<_> = file.canonicalize().ok().into_iter().collect();
            let mut next = Some(file).filter(|file| may_be_continued(file));
            while let Some(file) = next.take() {
                let reference = read_document(&file).and_then(|document| continuation(&document));
                next = reference.and_then(|reference| sibling_path(&file, &reference));
                next = next.filter(|next| seen.insert(next.clone()));
                self.continued.paths.extend(next.clone());
            }
        }
        self.continued.paths.contains(&own)
    }
}

/// Returns whether a file may name another one that continues it. Only ATIF's do, and say early what they
/// are; other inputs are not read twice.
fn may_be_continued(path: &Path) -> bool {
    let mut beginning = Vec::new();
    let read = File::open(path).and_then(|file| file.take(4096).read_to_end(&mut beginning));
    read.is_ok() && memchr::memmem::find(&beginning, b"ATIF-").is_some()
}

/// Returns the path of another file in the folder of a file, or below. A log must not make others be read.
fn sibling_path(path: &Path, reference: &str) -> Option<PathBuf> {
    let folder = path.parent()?.canonicalize().ok()?;
    let sibling = folder.join(reference).canonicalize().ok()?;
    sibling.starts_with(folder).then_some(sibling)
}

fn read_document(path: &Path) -> Option<Value> {
    let size = path.metadata().ok().filter(Metadata::is_file)?.len();
    if size > crate::reader::MAX_BYTES as u64 {
        return None;
    }
    let text = String::from_utf8(std::fs::read(path).ok()?).ok()?;
    json::parse(text.trim_start_matches('\u{feff}')).ok()
}
