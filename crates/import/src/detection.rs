//! The formats: what tells them apart, what reads them, and where their runs go.

use std::{collections::VecDeque, sync::Arc};

use crate::{
    error::{Code, Error},
    events::{Run, Skipped},
    formats::{
        atif, claude_code, cline, codex, copilot_cli, cursor, gemini_cli, inspect, langfuse,
        langsmith, messages, mini_swe_agent, opencode, otel, pi, reasoning_trace,
        runs::{Session, SessionReader},
        swe_agent, tau,
    },
    json::{Array, Kind, Members, Value},
    reader::MAX_BYTES,
    steps::{Imported, TOO_MANY_VALUES},
};

/// A format of logs.
pub struct Format {
    pub name: &'static str,
    /// The domain of its runs, if the caller names none.
    pub domain: &'static str,
    /// Returns whether an object of the input has this format.
    fits: fn(Value) -> bool,
    /// Returns a reader of one input.
    pub open: fn() -> Box<dyn ReadRuns>,
}

const fn format(
    name: &'static str,
    domain: &'static str,
    fits: fn(Value) -> bool,
    open: fn() -> Box<dyn ReadRuns>,
) -> Format {
    Format { name, domain, fits, open }
}

fn open<R: ReadRuns + Default + 'static>() -> Box<dyn ReadRuns> {
    Box::<R>::default()
}

/// Opens a format whose records belong to sessions.
fn sessions<S: Session + 'static>() -> Box<dyn ReadRuns> {
    open::<SessionReader<S>>()
}

static GEMINI_CLI: Format =
    format("gemini-cli", "code", gemini_cli::fits, sessions::<gemini_cli::Session>);
static MESSAGES: Format = format("messages", "general", messages::fits, open::<messages::Reader>);
static MINI_SWE_AGENT: Format =
    format("mini-swe-agent", "code", mini_swe_agent::fits, || Box::new(mini_swe_agent::read));

/// All formats. The first one that fits a value counts.
static FORMATS: [&Format; 18] = [
    &format("reasoning-trace", "general", reasoning_trace::fits, || {
        Box::new(reasoning_trace::read)
    }),
    &format("atif", "general", atif::fits, || Box::new(atif::read)),
    &GEMINI_CLI,
    &format("opencode", "code", opencode::fits, open::<opencode::Reader>),
    &format("copilot-cli", "code", copilot_cli::fits, sessions::<copilot_cli::Session>),
    &format("cursor", "code", cursor::fits, sessions::<cursor::Session>),
    &format("cline", "code", cline::fits, || Box::new(cline::read)),
    &format("otel", "general", otel::fits, open::<otel::Reader>),
    &format("langsmith", "general", langsmith::fits, open::<langsmith::Reader>),
    &format("inspect", "general", inspect::fits, || Box::new(inspect::read)),
    &format("langfuse", "general", langfuse::fits, || Box::new(langfuse::read)),
    &MINI_SWE_AGENT,
    &format("swe-agent", "code", swe_agent::fits, || Box::new(swe_agent::read)),
    &format("tau", "customer_service", tau::fits, || Box::new(tau::read)),
    &format("codex", "code", codex::fits, sessions::<codex::Session>),
    &format("pi", "code", pi::fits, sessions::<pi::Session>),
    &format("claude-code", "code", claude_code::fits, open::<claude_code::Reader>),
    &MESSAGES,
];

/// Returns the names of all formats, in the order of detection.
pub fn format_names() -> Vec<&'static str> {
    FORMATS.iter().map(|format| format.name).collect()
}

/// Formats whose sessions have further records, which only their type tells apart.
const TYPED: [&str; 5] = ["codex", "copilot-cli", "cursor", "gemini-cli", "pi"];

/// Returns the format of a value of an input by its content. `previous` is the format of the value before, and
/// `has` returns whether there was a value of a format.
pub fn detect(
    value: Value,
    previous: Option<&'static Format>,
    has: impl Fn(&Format) -> bool,
) -> Option<&'static Format> {
    let object = match value.kind() {
        Kind::Array(elements) => {
            let first = elements.iter().find(|element| element.is_object())?;
            return messages::is_message(first).then(|| conversation_format(elements));
        }
        Kind::Object(object) => object,
        _ => return None,
    };
    match FORMATS.iter().find(|format| (format.fits)(object)) {
        Some(format) if format.name == MESSAGES.name => {
            Some(object.list("messages").map_or(*format, conversation_format))
        }
        Some(format) => Some(format),
        None if gemini_cli::is_change(object) && has(&GEMINI_CLI) => Some(&GEMINI_CLI),
        None => {
            previous.filter(|format| TYPED.contains(&format.name) && object.text("type").is_some())
        }
    }
}

fn conversation_format(messages: Array) -> &'static Format {
    if mini_swe_agent::is_conversation(messages) { &MINI_SWE_AGENT } else { &MESSAGES }
}

/// Reads those values of one input that have one format.
pub trait ReadRuns: Send {
    /// Reads a value that begins at `line`.
    fn read(&mut self, value: Value, line: u64, out: &mut Runs);

    /// Ends the input.
    fn finish(&mut self, out: &mut Runs) {
        let _ = out;
    }
}

/// A format whose values are runs by themselves.
impl<F: FnMut(Value, u64, &mut Runs) + Send> ReadRuns for F {
    fn read(&mut self, value: Value, line: u64, out: &mut Runs) {
        self(value, line, out);
    }
}

/// What [`Importer::next`](crate::Importer::next) takes.
pub enum Pending {
    /// A run that is not a trace yet.
    Run(&'static Format, Box<Run>),
    Trace(Box<Imported>),
    Error(Error),
}

impl Pending {
    /// Returns whether the next value of the input may take its place; see [`Runs::conversation`].
    pub fn may_continue(&self) -> bool {
        matches!(self, Self::Run(format, _) if format.name == MESSAGES.name)
    }
}

/// Takes the runs of an input.
pub struct Runs<'a> {
    pub format: &'static Format,
    /// The caller's name of the input.
    pub name: &'a Arc<str>,
    /// The index of the input.
    pub index: usize,
    /// Whether its traces do not wait for what follows.
    pub is_stream: bool,
    pub pending: &'a mut VecDeque<(usize, Pending)>,
    /// What belongs to no run.
    pub skipped: &'a mut Skipped,
}

impl Runs<'_> {
    /// Adds a run that is complete.
    pub fn run(&mut self, run: Run) {
        self.pending.push_back((self.index, Pending::Run(self.format, Box::new(run))));
    }

    /// Adds a conversation that is complete. If it goes on where the previous one of the input ends, as in logs
    /// of requests, it takes that one's place, unless that may have been taken.
    pub fn conversation(&mut self, run: Run) {
        match self.pending.back_mut() {
            Some((index, Pending::Run(format, previous)))
                if !self.is_stream
                    && *index == self.index
                    && format.name == MESSAGES.name
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

    /// Adds the error of a run with too much text.
    pub fn too_large(&mut self, line: u64) {
        let limit = MAX_BYTES >> 20;
        let found = format!("expected at most {limit} MiB of text in one run");
        self.skip("too_large");
        self.error(Code::TooLarge, line, None, &found);
    }

    /// Adds the error of a trace with too many values.
    pub fn too_many_values(&mut self, line: u64) {
        self.skip("too_large");
        self.error(Code::TooLarge, line, None, TOO_MANY_VALUES);
    }

    /// Adds an error.
    pub fn error(&mut self, code: Code, line: u64, path: Option<&str>, found: &str) {
        let error = Error::new(code, self.name, Some(line), path, found);
        self.pending.push_back((self.index, Pending::Error(error)));
    }
}
