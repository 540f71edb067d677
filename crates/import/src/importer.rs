//! The way of an input: bytes, values, formats, runs, traces.

use std::{
    collections::{BTreeSet, VecDeque},
    sync::Arc,
};

use knowledgepulse_scoring::trace::quote;
use knowledgepulse_tasks::CancelToken;
use serde::Serialize;

use crate::{
    error::{Code, Error},
    event::Skipped,
    format::{Format, Output, Pending, ReadRuns},
    formats,
    json::{Members, Value},
    options::Options,
    reader::{NO_MEMORY, Read, Reader},
    trace::{self, Imported, NoTrace, Source, TOO_MANY_VALUES},
};

const SUCCESS_UNKNOWN: &str = "expected to know whether the run succeeded, found neither a label nor a \
                               status; set assumeSuccess";

const UNKNOWN_CALLS: &str = "expected calls of a known shape, found only parts of the assistant that \
                             name calls or tools in another; report.skipped names them";

/// How many unknown records an error names.
const SHOWN_NAMES: usize = 5;

/// Returns what a record is called.
fn name_of(record: Value<'_>) -> &str {
    record.first_name(&["type", "role", "kind", "event", "method"]).unwrap_or("?")
}

/// How many errors of one input a report lists; all are counted.
const MAX_ERRORS: usize = 1000;

/// What became of the inputs of an importer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    /// The inputs, in order.
    pub inputs: Vec<InputReport>,
}

/// What became of one input.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
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
    /// The first thousand errors, in order.
    pub errors: Vec<Error>,
    /// How many errors there were.
    pub error_count: u64,
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
/// let mut importer = Importer::new(Options { assume_success, ..Options::default() });
/// importer.open("chat.jsonl");
/// importer.push(log);
/// importer.end();
/// let imported = importer.next().unwrap()?;
/// assert!(imported.trace.contains(r#""objective":"What is the time?""#));
/// assert_eq!(imported.provenance.format, "messages");
/// assert!(importer.next().is_none());
/// # Ok::<(), knowledgepulse_import::Error>(())
/// ```
pub struct Importer {
    options: Options,
    input: Option<Input>,
    pending: VecDeque<(usize, Pending)>,
    report: Report,
    cancel: CancelToken,
}

/// The input that is being read.
struct Input {
    name: Arc<str>,
    reader: Reader,
    formats: Vec<(&'static Format, Box<dyn ReadRuns>)>,
    previous: Option<&'static Format>,
    has_error: bool,
    /// How many values had a format.
    known: u64,
    /// How many had none.
    unknown: u64,
    /// What the first of them are called.
    unknown_names: BTreeSet<String>,
}

impl Importer {
    /// Returns an importer.
    pub fn new(options: Options) -> Self {
        let (input, pending, report, cancel) = Default::default();
        Self { options, input, pending, report, cancel }
    }

    /// Returns the token that ends the importer: it reads nothing more once that is cancelled.
    pub fn cancel_token(&self) -> CancelToken {
        self.cancel.clone()
    }

    /// Begins an input, after ending the one before.
    pub fn open(&mut self, name: &str) {
        self.end();
        let name: Arc<str> = name.into();
        self.report.inputs.push(InputReport { name: name.clone(), ..InputReport::default() });
        let reader = Reader::new(self.cancel.clone());
        let (formats, previous, has_error) = Default::default();
        let (known, unknown, unknown_names) = Default::default();
        self.input = Some(Input {
            name,
            reader,
            formats,
            previous,
            has_error,
            known,
            unknown,
            unknown_names,
        });
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
        if input.known > 0 && input.unknown > input.known {
            // The log of another tool, of which some records look like those of a format.
            let Input { name, known, unknown, unknown_names, .. } = input;
            let names = Vec::from_iter(unknown_names).join(", ");
            let all = known + unknown;
            let found = format!(
                "expected records of a known format, found {unknown} of {all} of none: {names}"
            );
            let error = Error::new(Code::UnknownRecords, &name, None, None, &found);
            self.pending.push_back((self.report.inputs.len() - 1, Pending::Error(error)));
            return;
        }
        for (format, mut reader) in std::mem::take(&mut input.formats) {
            reader.finish(&mut self.output(&input.name, format));
        }
        let Some(report) = self.report.inputs.last() else { return };
        if report.formats.is_empty() && !input.has_error {
            let names = formats::names().join(", ");
            let found = format!("expected a log of one of the formats {names}, found none");
            let error = Error::new(Code::UnknownFormat, &input.name, None, None, &found);
            self.pending.push_back((self.report.inputs.len() - 1, Pending::Error(error)));
        }
    }

    /// Returns the next trace or error; `None` if there is none without more of the input.
    #[expect(clippy::should_implement_trait, reason = "it goes on after None")]
    pub fn next(&mut self) -> Option<Result<Imported, Error>> {
        while let Some((index, pending)) = self.pending.pop_front() {
            if self.cancel.is_cancelled() {
                self.pending.clear();
                return None;
            }
            let report = self.report.inputs.get_mut(index)?;
            let result = match pending {
                Pending::Trace(imported) => Ok(*imported),
                Pending::Error(error) => Err(error),
                Pending::Run(format, run) => {
                    let line = run.line;
                    let source = Source { name: report.name.clone(), line };
                    let (code, skipped, found) =
                        match trace::of(*run, format.name, format.domain, source, &self.options) {
                            Ok(imported) => {
                                report.traces += 1;
                                return Some(Ok(imported));
                            }
                            Err(NoTrace::Skipped(reason, skipped)) => {
                                report.skipped.merge(skipped);
                                report.skipped.add(reason);
                                continue;
                            }
                            Err(NoTrace::SuccessUnknown(skipped)) => {
                                (Code::SuccessUnknown, skipped, SUCCESS_UNKNOWN)
                            }
                            Err(NoTrace::UnknownCalls(skipped)) => {
                                (Code::UnknownRecords, skipped, UNKNOWN_CALLS)
                            }
                            Err(NoTrace::NoMemory(skipped)) => {
                                report.skipped.add("too_large");
                                (Code::TooLarge, skipped, NO_MEMORY)
                            }
                            Err(NoTrace::TooManyValues(skipped)) => {
                                report.skipped.add("too_large");
                                (Code::TooLarge, skipped, TOO_MANY_VALUES)
                            }
                        };
                    report.skipped.merge(skipped);
                    Err(Error::new(code, &report.name, Some(line), None, found))
                }
            };
            match &result {
                Ok(_) => report.traces += 1,
                Err(error) => {
                    report.error_count += 1;
                    if report.errors.len() < MAX_ERRORS {
                        report.errors.push(error.clone());
                    }
                }
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
            Ok(value) => self.take(&mut input, value, line),
            Err(fault) => {
                input.has_error = true;
                let error = Error::new(fault.code, &input.name, Some(line), None, &fault.found);
                self.pending.push_back((self.report.inputs.len() - 1, Pending::Error(error)));
            }
        });
        input.reader = reader;
        self.input = Some(input);
    }

    /// Takes a value of the open input to its format.
    fn take(&mut self, input: &mut Input, value: Value, line: u64) {
        let Some(format) = formats::detect(value, input.previous) else {
            // Each element is a value by itself.
            let elements = value.as_array().filter(|list| list.iter().any(Value::is_object));
            return match elements {
                Some(elements) => {
                    elements.iter().for_each(|element| self.take(input, element, line));
                }
                None => {
                    input.unknown += 1;
                    if input.unknown_names.len() < SHOWN_NAMES {
                        input.unknown_names.insert(quote(name_of(value)));
                    }
                    self.skip_unknown();
                }
            };
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
            reader.read(value, line, &mut self.output(&input.name, format));
        }
    }

    /// Notes that the open input has a value of a format. Returns whether that is wanted.
    fn counts(&mut self, input: &mut Input, format: &'static Format) -> bool {
        if self.options.format.as_ref().is_some_and(|wanted| wanted != format.name) {
            return false;
        }
        input.previous = Some(format);
        input.known += 1;
        if let Some(report) = self.report.inputs.last_mut()
            && !report.formats.contains(&format.name)
        {
            report.formats.push(format.name);
        }
        true
    }

    fn output<'a>(&'a mut self, name: &'a Arc<str>, format: &'static Format) -> Output<'a> {
        let index = self.report.inputs.len() - 1;
        Output {
            format,
            name,
            index,
            pending: &mut self.pending,
            skipped: &mut self.report.inputs[index].skipped,
        }
    }

    fn skip_unknown(&mut self) {
        if let Some(report) = self.report.inputs.last_mut() {
            report.skipped.add("unknown_record");
        }
    }
}
