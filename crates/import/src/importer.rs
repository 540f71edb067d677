//! The way of an input: bytes, values, formats, runs, traces.

use std::{collections::VecDeque, path::PathBuf, sync::Arc};

use serde::Serialize;
use serde_json::Value;

use crate::{
    error::{Code, Error},
    event::Skipped,
    format::{Continued, Format, Output, Pending, Place, ReadRuns},
    formats,
    options::Options,
    own::{Own, OwnOptions, OwnReader},
    reader::{Parsed, Read, Reader},
    trace::{self, Imported, NoTrace, Source},
};

/// What became of the inputs of an importer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    /// The inputs, in order.
    pub inputs: Vec<InputReport>,
}

/// What became of one input.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct InputReport {
    /// The caller's name of it.
    pub name: Arc<str>,
    /// The names of the formats found, in the order of their first records.
    pub formats: Vec<&'static str>,
    /// How many bytes of it were read.
    pub bytes: u64,
    /// How many traces it gave.
    pub traces: u64,
    /// What belongs to no trace, by reason.
    pub skipped: Skipped,
    /// The errors, in order.
    pub errors: Vec<Error>,
}

/// What an importer gives.
pub enum Item {
    /// A trace.
    Imported(Box<Imported>),
    /// A trace that the input has, after [`Importer::read_own`].
    Own(Source, Box<Own>),
}

/// Imports inputs one after another, each piece by piece.
///
/// ```
/// use knowledgepulse_import::{AssumeSuccess, Importer, Options};
///
/// let log = br#"{"role": "user", "content": "What is the time?"}
/// {"role": "assistant", "content": "Noon."}
/// "#;
/// let assume_success = Some(AssumeSuccess::Always(true));
/// let mut importer = Importer::new(Options { assume_success, ..Options::default() }, Vec::new());
/// importer.open("chat.jsonl", None);
/// importer.push(log);
/// importer.end();
/// let imported = importer.next().unwrap()?;
/// assert_eq!(imported.trace["task"]["objective"], "What is the time?");
/// assert_eq!(imported.provenance.format, "messages");
/// assert!(importer.next().is_none());
/// # Ok::<(), knowledgepulse_import::Error>(())
/// ```
pub struct Importer {
    options: Options,
    continued: Continued,
    input: Option<Input>,
    pending: VecDeque<(usize, Pending)>,
    report: Report,
    own: Option<Arc<OwnReader>>,
}

/// The input that is being read.
struct Input {
    place: Place,
    reader: Reader,
    formats: Vec<(&'static Format, Box<dyn ReadRuns>)>,
    previous: Option<&'static Format>,
    has_error: bool,
}

impl Importer {
    /// Returns an importer. `files` are the inputs that will be files: one of them may continue another,
    /// and then gives no trace of its own.
    pub fn new(options: Options, files: Vec<PathBuf>) -> Self {
        let continued = Continued { files, ..Continued::default() };
        let (input, pending, report, own) = Default::default();
        Self { options, continued, input, pending, report, own }
    }

    /// Has lines that are traces already read as [`Item::Own`], where that makes no difference.
    pub fn read_own(&mut self, options: OwnOptions) {
        self.own = Some(Arc::new(OwnReader::new(options)));
    }

    /// Begins an input, after ending the one before. `path` is for an input that is a file.
    pub fn open(&mut self, name: &str, path: Option<PathBuf>) {
        self.end();
        let name: Arc<str> = name.into();
        let (formats, bytes, traces, skipped, errors) = Default::default();
        self.report.inputs.push(InputReport {
            name: name.clone(),
            formats,
            bytes,
            traces,
            skipped,
            errors,
        });
        let (formats, previous, has_error) = Default::default();
        let mut reader = Reader::default();
        reader.own = self.own.clone();
        let place = Place { name, path };
        self.input = Some(Input { place, reader, formats, previous, has_error });
    }

    /// Reads a piece of the input, cut anywhere.
    pub fn push(&mut self, bytes: &[u8]) {
        if let Some(report) = self.report.inputs.last_mut() {
            report.bytes += bytes.len() as u64;
        }
        self.read(|reader, each| reader.push(bytes, each));
    }

    /// Ends the input.
    pub fn end(&mut self) {
        self.read(|reader, each| reader.finish(each));
        let Some(mut input) = self.input.take() else { return };
        for (format, mut reader) in std::mem::take(&mut input.formats) {
            reader.finish(&mut self.output(&input.place, format));
        }
        let Some(report) = self.report.inputs.last() else { return };
        if report.formats.is_empty() && !input.has_error {
            let names = formats::names().join(", ");
            let found = format!("expected a log of one of the formats {names}, found none");
            let error = Error::new(Code::UnknownFormat, &input.place.name, None, None, &found);
            self.pending.push_back((self.report.inputs.len() - 1, Pending::Error(error)));
        }
    }

    /// Returns the next trace or error; `None` if there is none without more of the input. Not for use after
    /// [`Importer::read_own`].
    #[expect(clippy::should_implement_trait, reason = "it goes on after None")]
    pub fn next(&mut self) -> Option<Result<Imported, Error>> {
        loop {
            match self.next_item()? {
                Ok(Item::Imported(imported)) => return Some(Ok(*imported)),
                Ok(Item::Own(..)) => {}
                Err(error) => return Some(Err(error)),
            }
        }
    }

    /// Returns the next item as [`Importer::next`] does.
    pub fn next_item(&mut self) -> Option<Result<Item, Error>> {
        while let Some((index, pending)) = self.pending.pop_front() {
            let report = self.report.inputs.get_mut(index)?;
            let result = match pending {
                Pending::Trace(imported) => Ok(Item::Imported(imported)),
                Pending::Own(source, own) => Ok(Item::Own(source, own)),
                Pending::Error(error) => Err(error),
                Pending::Run(format, run) => {
                    let line = run.line;
                    let source = Source { name: report.name.clone(), line };
                    match trace::of(*run, format.name, format.domain, source, &self.options) {
                        Ok(imported) => Ok(Item::Imported(Box::new(imported))),
                        Err(NoTrace::Skipped(reason, skipped)) => {
                            report.skipped.merge(skipped);
                            report.skipped.add(reason);
                            continue;
                        }
                        Err(NoTrace::SuccessUnknown(skipped)) => {
                            report.skipped.merge(skipped);
                            let found = "expected to know whether the run succeeded, found neither \
                                         a label nor a status; set assumeSuccess";
                            let code = Code::SuccessUnknown;
                            Err(Error::new(code, &report.name, Some(line), None, found))
                        }
                    }
                }
            };
            match &result {
                Ok(_) => report.traces += 1,
                Err(error) => report.errors.push(error.clone()),
            }
            return Some(result);
        }
        None
    }

    /// Returns what became of the inputs so far; complete when the last one has ended and nothing is left
    /// to be taken.
    pub fn report(&self) -> &Report {
        &self.report
    }

    /// Has the reader of the open input read.
    fn read(&mut self, read: impl FnOnce(&mut Reader, &mut dyn FnMut(u64, Read))) {
        let Some(mut input) = self.input.take() else { return };
        let mut reader = std::mem::take(&mut input.reader);
        read(&mut reader, &mut |line, value| match value {
            Ok(Parsed::Value(value)) => self.take(&mut input, value, line),
            Ok(Parsed::Own(own)) => self.take_own(&mut input, own, line),
            Err(fault) => {
                input.has_error = true;
                let error =
                    Error::new(fault.code, &input.place.name, Some(line), None, &fault.found);
                self.pending.push_back((self.report.inputs.len() - 1, Pending::Error(error)));
            }
        });
        input.reader = reader;
        self.input = Some(input);
    }

    /// Takes a value of the open input to its format.
    fn take(&mut self, input: &mut Input, value: Value, line: u64) {
        let format = match formats::detect(&value, input.previous) {
            Some(format) => format,
            // Each element is a value by itself.
            None if value.as_array().is_some_and(|list| list.iter().any(Value::is_object)) => {
                if let Value::Array(elements) = value {
                    elements.into_iter().for_each(|element| self.take(input, element, line));
                }
                return;
            }
            None => return self.skip_unknown(),
        };
        if !self.counts(input, format) {
            return self.skip_unknown();
        }
        let known = input.formats.iter().position(|(known, _)| known.name == format.name);
        let known = known.unwrap_or_else(|| {
            input.formats.push((format, (format.open)()));
            input.formats.len() - 1
        });
        if let Some((_, reader)) = input.formats.get_mut(known) {
            reader.read(value, line, &mut self.output(&input.place, format));
        }
    }

    /// Takes a trace that the open input has.
    fn take_own(&mut self, input: &mut Input, own: Box<Own>, line: u64) {
        if !self.counts(input, formats::own()) {
            return self.skip_unknown();
        }
        let source = Source { name: input.place.name.clone(), line };
        self.pending.push_back((self.report.inputs.len() - 1, Pending::Own(source, own)));
    }

    /// Notes that the open input has a value of a format. Returns whether that is wanted.
    fn counts(&mut self, input: &mut Input, format: &'static Format) -> bool {
        if self.options.format.as_ref().is_some_and(|wanted| wanted != format.name) {
            return false;
        }
        input.previous = Some(format);
        if let Some(report) = self.report.inputs.last_mut()
            && !report.formats.contains(&format.name)
        {
            report.formats.push(format.name);
        }
        true
    }

    fn output<'a>(&'a mut self, place: &'a Place, format: &'static Format) -> Output<'a> {
        let index = self.report.inputs.len() - 1;
        Output {
            format,
            place,
            index,
            pending: &mut self.pending,
            skipped: &mut self.report.inputs[index].skipped,
            continued: &mut self.continued,
        }
    }

    fn skip_unknown(&mut self) {
        if let Some(report) = self.report.inputs.last_mut() {
            report.skipped.add("unknown_record");
        }
    }
}
