//! A format of logs, and the output of its runs.

use std::collections::VecDeque;

use crate::{
    error::{Code, Error},
    events::Run,
    importer::InputReport,
    json::Value,
    trace::Imported,
};

/// The name of the format whose values are whole conversations.
pub const CONVERSATIONS: &str = "messages";

pub struct Format {
    pub name: &'static str,
    /// The domain of its runs, if the caller names none.
    pub domain: &'static str,
    pub fits: fn(Value) -> bool,
    pub open: fn() -> Box<dyn ReadRuns>,
}

/// Reads the values of one format in an input.
pub trait ReadRuns: Send {
    fn read(&mut self, value: Value, out: &mut Runs);

    fn finish(&mut self, _out: &mut Runs) {}
}

/// A format in which each value is a run.
impl<F: FnMut(Value, &mut Runs) + Send> ReadRuns for F {
    fn read(&mut self, value: Value, out: &mut Runs) {
        self(value, out);
    }
}

/// An item for [`Importer::next`](crate::Importer::next).
pub enum Pending {
    /// A run that is not a trace yet.
    Run(&'static Format, Box<Run>),
    Done(Box<Result<Imported, Error>>),
}

pub struct Runs<'a> {
    pub format: &'static Format,
    /// The index of the input.
    pub index: usize,
    pub is_stream: bool,
    /// The line of the value that is being read, from 1.
    pub line: u64,
    pub pending: &'a mut VecDeque<(usize, Pending)>,
    pub report: &'a mut InputReport,
}

impl Runs<'_> {
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

    pub fn done(&mut self, result: Result<Imported, Error>) {
        self.pending.push_back((self.index, Pending::Done(Box::new(result))));
    }

    pub fn skip(&mut self, reason: impl Into<String>) {
        self.report.skipped.add(reason);
    }

    pub fn too_large(&mut self, line: u64, found: &str) {
        self.skip("too_large");
        self.done(Err(Error::new(Code::TooLarge, &self.report.name, Some(line), found)));
    }
}
