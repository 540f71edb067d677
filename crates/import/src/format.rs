//! What a format is, and what it is given: values to read, and where their runs go.

use std::{collections::VecDeque, fmt, sync::Arc};

use crate::{
    error::{Code, Error},
    event::{Run, Skipped},
    json::Value,
    trace::{Imported, TOO_MANY_VALUES},
};

/// A format of logs.
pub struct Format {
    /// Its name.
    pub(crate) name: &'static str,
    /// The domain of its runs, if the caller names none.
    pub(crate) domain: &'static str,
    /// Whether an object of the input is of this format.
    pub(crate) fits: fn(Value) -> bool,
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

/// What is to be taken by [`Importer::next`].
pub enum Pending {
    /// A run that is not yet a trace.
    Run(&'static Format, Box<Run>),
    /// A trace.
    Trace(Box<Imported>),
    /// An error.
    Error(Error),
}

/// Where the runs of an input go.
pub(crate) struct Output<'a> {
    pub(crate) format: &'static Format,
    /// The caller's name of the input.
    pub(crate) name: &'a Arc<str>,
    /// Which input of the importer it is.
    pub(crate) index: usize,
    pub(crate) pending: &'a mut VecDeque<(usize, Pending)>,
    pub(crate) skipped: &'a mut Skipped,
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

    /// Reports a trace with more than [`MAX_VALUES`] values.
    pub(crate) fn too_many_values(&mut self, line: u64) {
        self.skip("too_large");
        self.error(Code::TooLarge, line, None, TOO_MANY_VALUES);
    }

    /// Reports an error.
    pub(crate) fn error(&mut self, code: Code, line: u64, path: Option<&str>, found: &str) {
        let error = Error::new(code, self.name, Some(line), path, found);
        self.pending.push_back((self.index, Pending::Error(error)));
    }
}
