//! A format of logs, and the output of its runs.

use std::{collections::VecDeque, sync::Arc};

use crate::{
    error::{Code, Error},
    events::{Run, Skipped},
    json::Value,
    trace::Imported,
};

/// The name of the format whose values are whole conversations.
pub const CONVERSATIONS: &str = "messages";

/// A format of logs.
pub struct Format {
    pub name: &'static str,
    /// The domain of its runs, if the caller names none.
    pub domain: &'static str,
    /// Returns whether an object of the input has this format.
    pub fits: fn(Value) -> bool,
    /// Returns a reader of one input.
    pub open: fn() -> Box<dyn ReadRuns>,
}

/// Reads the values of one format in an input.
pub trait ReadRuns: Send {
    /// Reads a value that begins at `line`.
    fn read(&mut self, value: Value, line: u64, out: &mut Runs);

    /// Ends the input.
    fn finish(&mut self, out: &mut Runs) {
        let _ = out;
    }
}

/// A format in which each value is a run.
impl<F: FnMut(Value, u64, &mut Runs) + Send> ReadRuns for F {
    fn read(&mut self, value: Value, line: u64, out: &mut Runs) {
        self(value, line, out);
    }
}

/// An item for [`Importer::next`](crate::Importer::next).
pub enum Pending {
    /// A run that is not a trace yet.
    Run(&'static Format, Box<Run>),
    Trace(Box<Imported>),
    Error(Error),
}

impl Pending {
    /// Returns whether the next value of the input may replace it; see [`Runs::conversation`].
    pub fn may_continue(&self) -> bool {
        matches!(self, Self::Run(format, _) if format.name == CONVERSATIONS)
    }
}

/// Takes the runs of an input.
pub struct Runs<'a> {
    pub format: &'static Format,
    /// The caller's name of the input.
    pub name: &'a Arc<str>,
    /// The index of the input.
    pub index: usize,
    /// Whether its traces do not wait for the next value.
    pub is_stream: bool,
    pub pending: &'a mut VecDeque<(usize, Pending)>,
    /// Counts of what belongs to no run.
    pub skipped: &'a mut Skipped,
}

impl Runs<'_> {
    /// Adds a run that is complete.
    pub fn run(&mut self, run: Run) {
        self.pending.push_back((self.index, Pending::Run(self.format, Box::new(run))));
    }

    /// Adds a complete conversation. It replaces the previous one of the input if it continues that one, as in
    /// logs of requests, and that one has not been taken.
    pub fn conversation(&mut self, run: Run) {
        match self.pending.back_mut() {
            Some((index, Pending::Run(format, previous)))
                if !self.is_stream
                    && *index == self.index
                    && format.name == CONVERSATIONS
                    && previous.events.len() < run.events.len()
                    && run.events.starts_with(&previous.events) =>
            {
                **previous = run;
                self.skip("continued");
            }
            _ => self.run(run),
        }
    }

    /// Adds a trace of the log.
    pub fn trace(&mut self, trace: Imported) {
        self.pending.push_back((self.index, Pending::Trace(Box::new(trace))));
    }

    /// Counts what belongs to no run.
    pub fn skip(&mut self, reason: impl Into<String>) {
        self.skipped.add(reason);
    }

    /// Adds the error of a run with too much of something.
    pub fn too_large(&mut self, line: u64, found: &str) {
        self.skip("too_large");
        self.error(Code::TooLarge, line, None, found);
    }

    /// Adds an error.
    pub fn error(&mut self, code: Code, line: u64, path: Option<&str>, found: &str) {
        let error = Error::new(code, self.name, Some(line), path, found);
        self.pending.push_back((self.index, Pending::Error(error)));
    }
}
