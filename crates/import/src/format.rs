//! What a format is, and what it is given: values to read, and where their runs go.

use std::{
    collections::{HashSet, VecDeque},
    fmt,
    fs::{File, Metadata},
    io::Read,
    path::{Path, PathBuf},
    sync::Arc,
};

use serde_json::Value;

use crate::{
    error::{Code, Error},
    event::{Run, Skipped},
    json::{self, Object},
    own::Own,
    trace::{Imported, Source},
};

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

/// Where an input comes from.
pub struct Place {
    /// The caller's name of it.
    pub name: Arc<str>,
    /// Its path, if it is a file.
    pub path: Option<PathBuf>,
}

/// What is to be taken by [`Importer::next`].
pub enum Pending {
    /// A run that is not yet a trace.
    Run(&'static Format, Box<Run>),
    /// A trace.
    Trace(Box<Imported>),
    /// A trace, as far as scoring needs it.
    Own(Source, Box<Own>),
    /// An error.
    Error(Error),
}

/// Files that continue others.
#[derive(Default)]
pub struct Continued {
    /// The inputs that are files, until somebody asks which of them continue others.
    pub files: Vec<PathBuf>,
    /// Those that do.
    pub paths: HashSet<PathBuf>,
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
