//! Imports inputs piece by piece.

use std::{
    collections::{BTreeSet, VecDeque},
    iter, mem,
};

use knowledgepulse_scoring::trace::quote;
use knowledgepulse_workers::CancelToken;

use crate::{
    archive::Archive,
    assemble::trace_of,
    error::{Code, Error},
    format::{Format, FormatReader, Pending, Sink},
    formats::{detect, elements, format_names, is_distinct},
    imported::Imported,
    json::{Document, Members, Value},
    options::Options,
    provenance::Source,
    reader::{Reader, Text},
    report::InputReport,
    skipped::Skipped,
    unread,
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
    /// The bytes that were read since nothing was pending.
    unreturned: usize,
    reports: Vec<InputReport>,
    cancel: CancelToken,
}

#[derive(Default)]
struct Input {
    archive: Archive,
    /// The readers of what was found, in the order of their first values.
    readers: Vec<(&'static Format, Box<dyn FormatReader>)>,
    /// The index of the one that has the last value.
    last: usize,
    has_error: bool,
    is_cut: bool,
    known: u64,
    unknown: u64,
    /// The names of the first of those.
    unknown_names: BTreeSet<String>,
}

/// Returns what an input of a known format held that has given neither a trace nor an error. Runs that are left out as
/// the options say are known.
fn no_trace(report: &InputReport) -> Option<String> {
    let is_wanted = |(reason, _): (&str, u64)| reason != "success_unknown";
    let is_silent = report.traces == 0 && report.error_count == 0 && !report.formats.is_empty();
    let reasons = report.skipped.iter().map(|(reason, count)| format!("{reason} {count}"));
    let reasons = reasons.take(SHOWN_NAMES).collect::<Vec<_>>().join(", ");
    let held = if reasons.is_empty() { "nothing that is read".into() } else { reasons };
    (is_silent && report.skipped.iter().all(is_wanted)).then(|| {
        format!(
            "expected a run with an answer, found none in a log of {}: {held}",
            report.formats.join(", ")
        )
    })
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
        if let Some((reader, _)) = &mut self.input {
            reader.push(bytes);
        }
        self.unreturned += bytes.len();
        self.read(false);
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
        self.read(true);
        let Some((_, input)) = self.input.take() else { return };
        let Input { readers, has_error, known, unknown, unknown_names, .. } = input;
        if known > 0 && unknown > known {
            // The log of another tool, with some records like those of a format.
            let names = Vec::from_iter(unknown_names).join(", ");
            let all = known + unknown;
            let found = format!(
                "expected records of a known format, found {unknown} of {all} of none: {names}"
            );
            return self.add_error(Code::UnknownRecords, None, &found);
        }
        let names: Vec<_> = readers.iter().map(|(format, _)| format.name).collect();
        for (format, mut reader) in readers {
            reader.finish(&mut self.sink(format, 0));
        }
        let Some(report) = self.reports.last() else { return };
        if report.formats.is_empty() && !has_error && !names.contains(&unread::FORMAT.name) {
            let found = match &self.options.format {
                _ if report.skipped == Skipped::default() => {
                    "expected a log, found nothing: it is empty".to_owned()
                }
                Some(wanted) => {
                    let names = if names.is_empty() { "none".into() } else { names.join(", ") };
                    format!("expected a log of the format {wanted}, found {names}")
                }
                None => {
                    let names = format_names().join(", ");
                    format!("expected a log of one of the formats {names}, found none")
                }
            };
            return self.add_error(Code::UnknownFormat, None, &found);
        }
        self.pending.push_back((self.reports.len() - 1, Pending::End));
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
        if let Some((_, input)) = &mut self.input {
            input.archive = Archive::default();
            (input.has_error, input.is_cut) = (true, true);
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
                if self.input.is_none() {
                    self.unreturned = 0;
                }
                return None;
            };
            let report = self.reports.get_mut(index)?;
            let result = match pending {
                Pending::Done(result) => *result,
                Pending::End => match no_trace(report) {
                    Some(found) => Err(Error::new(Code::NoTrace, &report.name, None, &found)),
                    None => continue,
                },
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
            if self.pending.is_empty() {
                self.unreturned = 0;
            }
            return Some(result);
        }
    }

    /// Returns about how many bytes it holds: those of the input that no returned trace has.
    pub fn held(&self) -> usize {
        self.unreturned
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

    fn read(&mut self, is_end: bool) {
        let Some((mut reader, mut input)) = self.input.take() else { return };
        while let Some(Text { line, document, error }) = reader.next(is_end) {
            let values = document.iter().flat_map(Document::roots);
            values.for_each(|value| self.take(&mut input, value, line));
            if let Some((line, (code, found))) = error.filter(|_| !input.is_cut) {
                self.hand_over(&mut input);
                input.has_error = true;
                self.add_error(code, Some(line), &found);
            }
        }
        self.input = Some((reader, input));
    }

    /// Takes a value: for the session that is open, or else for the format that it has by its content.
    fn take(&mut self, input: &mut Input, value: Value, line: u64) {
        let Some(report) = self.reports.last_mut() else { return };
        let fits = |index, format: &Format| {
            index == input.last && is_distinct(format) && (format.fits)(value, value.text("type"))
        };
        let takes = |index: &usize| {
            let known = input.readers.get(*index);
            known.is_some_and(|(format, reader)| reader.takes(value) || fits(*index, format))
        };
        let open = iter::once(input.last).chain(0..input.readers.len()).find(takes);
        let index = if let Some(index) = open {
            index
        } else if let Some(elements) = elements(value) {
            return elements.iter().for_each(|element| self.take(input, element, line));
        } else if let Some(format) = detect(value) {
            let mut known = input.readers.iter();
            known.position(|(known, _)| known.name == format.name).unwrap_or_else(|| {
                input.readers.push((format, (format.open)()));
                input.readers.len() - 1
            })
        } else {
            input.unknown += 1;
            if input.unknown_names.len() < SHOWN_NAMES {
                let names = ["type", "role", "kind", "event", "method"];
                input.unknown_names.insert(quote(value.first_name(&names).unwrap_or("?")));
            }
            return report.skipped.add("unknown_record");
        };
        if mem::replace(&mut input.last, index) != index {
            self.hand_over(input);
        }
        let (format, reader) = &mut input.readers[index];
        let is_read = format.name != unread::FORMAT.name;
        let Some(report) = self.reports.last_mut() else { return };
        if is_read && self.options.format.as_ref().is_some_and(|wanted| wanted != format.name) {
            return report.skipped.add("unknown_record");
        }
        if is_read && !report.formats.contains(&format.name) {
            report.formats.push(format.name);
        }
        input.known += 1;
        reader.read(value, &mut self.sink(format, line));
    }

    /// Hands over all complete runs, so that they come before what follows in the input.
    fn hand_over(&mut self, input: &mut Input) {
        for (format, reader) in &mut input.readers {
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
