//! Imports inputs piece by piece.

use std::collections::{BTreeSet, VecDeque};

use knowledgepulse_scoring::trace::quote;
use knowledgepulse_workers::CancelToken;

use crate::{
    archive::Archive,
    assemble::trace_of,
    error::{Code, Error},
    format::{Format, FormatReader, Pending, Sink},
    formats::{detect, format_names},
    imported::Imported,
    json::{Members, Value},
    options::Options,
    provenance::Source,
    reader::{Each, Reader},
    report::InputReport,
    skipped::Skipped,
    unread::named,
};

/// The most unknown records that an error names.
const SHOWN_NAMES: usize = 5;

/// The most errors of one input that a report lists. All are counted.
const MAX_ERRORS: usize = 1000;

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
/// assert!(imported.to_json()?.contains(r#""objective":"What is the time?""#));
/// assert_eq!(imported.provenance.format, "messages");
/// assert!(importer.next().is_none());
/// # Ok::<(), knowledgepulse_import::Error>(())
/// ```
#[derive(Default)]
pub struct Importer {
    options: Options,
    input: Option<(Reader, Input)>,
    /// Whether its traces do not wait for the next value.
    is_stream: bool,
    pending: VecDeque<(usize, Pending)>,
    reports: Vec<InputReport>,
    cancel: CancelToken,
}

#[derive(Default)]
struct Input {
    archive: Archive,
    /// The readers of `report.formats`, in the same order.
    formats: Vec<(&'static Format, Box<dyn FormatReader>)>,
    previous: Option<&'static Format>,
    has_error: bool,
    known: u64,
    unknown: u64,
    /// The names of the first of those.
    unknown_names: BTreeSet<String>,
    /// What the first of those is that is known, with the way to import it.
    unread: Option<&'static str>,
}

impl Input {
    /// Returns the format of the runs that an object continues. `is_known`: whether it fits a format by itself.
    fn continued(&self, value: Value, is_known: bool) -> Option<&'static Format> {
        let object = value.as_object()?;
        let is_next = |format: &Format| self.previous.is_some_and(|last| last.name == format.name);
        let mut formats = self.formats.iter();
        let continues = |(format, reader): &&(&'static Format, Box<dyn FormatReader>)| {
            reader.continues(object, is_next(format), is_known)
        };
        formats.find(continues).map(|(format, _)| *format)
    }
}

impl Importer {
    /// Returns an importer.
    pub fn new(options: Options) -> Self {
        Self { options, ..Self::default() }
    }

    /// Returns a token whose cancellation ends the importer.
    pub fn cancel_token(&self) -> CancelToken {
        self.cancel.clone()
    }

    /// Ends the previous input, and begins another that is known to end, such as a file. A conversation is returned
    /// when no further value can continue it.
    pub fn open(&mut self, name: &str) {
        self.end();
        self.is_stream = false;
        self.reports.push(InputReport { name: name.into(), ..InputReport::default() });
        self.input = Some((Reader::new(self.cancel.clone()), Input::default()));
    }

    /// Ends the previous input, and begins another whose traces are returned without waiting for the next value.
    pub fn open_stream(&mut self, name: &str) {
        self.open(name);
        self.is_stream = true;
    }

    /// Takes a piece of the input, cut anywhere. Compressed data is decompressed by [`Importer::next`].
    pub fn push(&mut self, bytes: &[u8]) {
        match &mut self.input {
            Some((_, input)) if !input.archive.is_plain() => input.archive.push(bytes),
            _ => self.read_bytes(bytes),
        }
    }

    fn read_bytes(&mut self, bytes: &[u8]) {
        if let (Some(report), Some(_)) = (self.reports.last_mut(), &self.input) {
            report.bytes += bytes.len() as u64;
        }
        self.read(|reader, each| reader.push(bytes, each));
    }

    /// Reads some of the pushed bytes that are not read yet. Returns whether there were any.
    fn read_pushed(&mut self, is_end: bool) -> bool {
        let Some((reader, input)) = &mut self.input else { return false };
        if self.cancel.is_cancelled() {
            return false;
        }
        match input.archive.next(is_end) {
            None => return false,
            Some(Ok(bytes)) => self.read_bytes(&bytes),
            Some(Err(found)) => {
                let line = reader.line();
                self.cut();
                self.add_error(Code::Unreadable, Some(line), &found);
            }
        }
        true
    }

    /// Ends the input.
    pub fn end(&mut self) {
        while self.read_pushed(true) {}
        self.read(|reader, each| reader.finish(each));
        let Some((_, input)) = self.input.take() else { return };
        let Input { formats, has_error, known, unknown, unknown_names, unread, .. } = input;
        if known > 0 && unknown > known {
            // The log of another tool, with some records like those of a format.
            let names = Vec::from_iter(unknown_names).join(", ");
            let all = known + unknown;
            let found = format!(
                "expected records of a known format, found {unknown} of {all} of none: {names}"
            );
            return self.add_error(Code::UnknownRecords, None, &found);
        }
        for (format, mut reader) in formats {
            reader.finish(&mut self.sink(format, 0));
        }
        let Some(report) = self.reports.last() else { return };
        if report.formats.is_empty() && !has_error {
            let found = if report.skipped == Skipped::default() {
                "expected a log, found nothing: it is empty".to_owned()
            } else if let Some(found) = unread {
                format!("expected a log of a known format, found {found}")
            } else {
                let names = format_names().join(", ");
                format!("expected a log of one of the formats {names}, found none")
            };
            self.add_error(Code::UnknownFormat, None, &found);
        }
    }

    /// Ends the input with an error of the caller, who could not read all of it.
    pub fn fail(&mut self, code: Code, message: String) {
        while self.read_pushed(false) {}
        self.cut();
        let Some(report) = self.reports.last() else { return };
        let error = Error { code, input: report.name.clone(), line: None, message, path: None };
        self.pending.push_back((self.reports.len() - 1, Pending::Done(Err(error).into())));
    }

    /// Ends the input where an error ends it. A value cut off there is not another error.
    fn cut(&mut self) {
        self.read(|reader, each| {
            reader.finish(&mut |line, value| {
                if value.is_ok() {
                    each(line, value);
                }
            });
        });
        if let Some((_, input)) = &mut self.input {
            input.archive = Archive::default();
            input.has_error = true;
            self.end();
        }
    }

    /// Returns the next trace or error; `None` if more input is needed.
    #[expect(clippy::should_implement_trait, reason = "it goes on after None")]
    pub fn next(&mut self) -> Option<Result<Imported, Error>> {
        loop {
            if self.cancel.is_cancelled() {
                self.pending.clear();
            }
            let Some((index, pending)) = self.pending.pop_front() else {
                if self.read_pushed(false) {
                    continue;
                }
                return None;
            };
            let report = self.reports.get_mut(index)?;
            let result = match pending {
                Pending::Done(result) => *result,
                Pending::Run(format, mut run) => {
                    let line = run.line;
                    let source = Source { name: report.name.clone(), line };
                    let made = trace_of(&mut run, format, source, &self.options);
                    report.skipped.merge(run.conversation.skipped);
                    let Some(made) = made.transpose() else { continue };
                    made.map_err(|(code, found)| {
                        if code == Code::TooLarge {
                            report.skipped.add("too_large");
                        }
                        Error::new(code, &report.name, Some(line), &found)
                    })
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
    }

    /// Returns the reports on the inputs so far, in order. They are complete when the last input has ended and
    /// [`Importer::next`] has returned `None`.
    pub fn reports(&self) -> &[InputReport] {
        &self.reports
    }

    fn add_error(&mut self, code: Code, line: Option<u64>, found: &str) {
        let index = self.reports.len() - 1;
        let error = Error::new(code, &self.reports[index].name, line, found);
        self.pending.push_back((index, Pending::Done(Err(error).into())));
    }

    fn read(&mut self, read: impl FnOnce(&mut Reader, Each)) {
        let Some((mut reader, mut input)) = self.input.take() else { return };
        read(&mut reader, &mut |line, value| match value {
            Ok(value) => self.take(&mut input, value, line),
            Err((code, found)) => {
                self.hand_over(&mut input);
                input.has_error = true;
                self.add_error(code, Some(line), &found);
            }
        });
        self.input = Some((reader, input));
    }

    fn take(&mut self, input: &mut Input, value: Value, line: u64) {
        let Some(report) = self.reports.last_mut() else { return };
        let detected = detect(value);
        let Some(format) = input.continued(value, detected.is_some()).or(detected) else {
            // Each element is a value by itself.
            if let Some(elements) = value.as_array()
                && elements.iter().any(Value::is_object)
            {
                return elements.iter().for_each(|element| self.take(input, element, line));
            }
            input.unknown += 1;
            input.unread = input.unread.or_else(|| named(value));
            if input.unknown_names.len() < SHOWN_NAMES {
                let names = ["type", "role", "kind", "event", "method"];
                input.unknown_names.insert(quote(value.first_name(&names).unwrap_or("?")));
            }
            return report.skipped.add("unknown_record");
        };
        if self.options.format.as_ref().is_some_and(|wanted| wanted != format.name) {
            return report.skipped.add("unknown_record");
        }
        if input.previous.is_some_and(|previous| previous.name != format.name) {
            self.hand_over(input);
        }
        input.previous = Some(format);
        input.known += 1;
        let Some(report) = self.reports.last_mut() else { return };
        let index = report.formats.iter().position(|name| *name == format.name);
        let index = index.unwrap_or_else(|| {
            report.formats.push(format.name);
            input.formats.push((format, (format.open)()));
            input.formats.len() - 1
        });
        input.formats[index].1.read(value, &mut self.sink(format, line));
    }

    /// Hands over all complete runs, so that they come before what follows in the input.
    fn hand_over(&mut self, input: &mut Input) {
        for (format, reader) in &mut input.formats {
            reader.hand_over(&mut self.sink(format, 0));
        }
    }

    fn sink(&mut self, format: &'static Format, line: u64) -> Sink<'_> {
        let Self { options, is_stream, pending, reports, .. } = self;
        let index = reports.len() - 1;
        let report = &mut reports[index];
        Sink { format, index, is_stream: *is_stream, options, line, pending, report }
    }
}
