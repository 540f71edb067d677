//! What a format is, and where its readers put runs.

use std::collections::VecDeque;

use crate::{
    error::{Code, Error},
    imported::Imported,
    json::Value,
    options::Options,
    report::InputReport,
    run::Run,
};

/// A format of logs.
pub struct Format {
    pub name: &'static str,
    /// The domain of its runs, if the caller names none.
    pub domain: &'static str,
    /// Returns whether an object or array has this format, by its content. Many formats look at its `type`, which is passed.
    pub fits: fn(Value, Option<&str>) -> bool,
    pub open: fn() -> Box<dyn FormatReader>,
}

impl Format {
    /// Returns a format of agents that work on code.
    pub const fn code(
        name: &'static str,
        fits: fn(Value, Option<&str>) -> bool,
        open: fn() -> Box<dyn FormatReader>,
    ) -> Self {
        Self { name, domain: "code", fits, open }
    }
}

/// Returns a new reader, for [`Format::open`].
pub fn open<R: FormatReader + Default + 'static>() -> Box<dyn FormatReader> {
    Box::<R>::default()
}

/// Reads the values of one format in an input.
pub trait FormatReader: Send {
    /// Returns whether a record is one of the session that is open, which is asked before any format. What other formats
    /// have as well is no reason: their records may follow.
    fn takes(&self, _record: Value) -> bool {
        false
    }

    /// Reads a value that it takes, or that fits its format.
    fn read(&mut self, value: Value, out: &mut Sink);

    /// Hands over the runs that are complete unless a later value continues them.
    fn hand_over(&mut self, _out: &mut Sink) {}

    fn finish(&mut self, _out: &mut Sink) {}
}

/// A format in which each value is a run.
impl<F: FnMut(Value, &mut Sink) + Send> FormatReader for F {
    fn read(&mut self, value: Value, out: &mut Sink) {
        self(value, out);
    }
}

/// An item for [`Importer::next`](crate::Importer::next).
pub enum Pending {
    /// A run that is not a trace yet.
    Run(&'static Format, Box<Run>),
    Done(Box<Result<Imported, Error>>),
    /// The end of the input.
    End,
}

/// Takes what readers find.
pub struct Sink<'a> {
    pub format: &'static Format,
    /// The index of the input.
    pub index: usize,
    pub is_stream: bool,
    pub options: &'a Options,
    /// The line of the value that is being read, from 1; 0 when the input has ended.
    pub line: u64,
    pub pending: &'a mut VecDeque<(usize, Pending)>,
    pub report: &'a mut InputReport,
}

impl Sink<'_> {
    /// Returns a run that begins at the value that is being read.
    pub fn begin(&self) -> Run {
        let mut run = Run { line: self.line, ..Run::default() };
        run.given.is_kept = self.options.messages;
        run
    }

    pub fn run(&mut self, run: Run) {
        if let Some(reason) = run.left_out {
            return self.skip(reason);
        }
        self.pending.push_back((self.index, Pending::Run(self.format, Box::new(run))));
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
