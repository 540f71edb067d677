//! The formats of logs: how they are detected, and the output of their readers.

use std::collections::VecDeque;

use crate::{
    error::{Code, Error},
    events::Run,
    formats::{
        amp, atif, claude_code, cline, codex, copilot_cli, cursor, droid, gemini_cli, inspect,
        langfuse, langsmith, messages, mini_swe_agent, opencode, otel, pi, qwen_code,
        reasoning_trace,
        runs::{OpenRuns, Sessions},
        swe_agent, tau,
    },
    importer::InputReport,
    json::{Kind, Members, Value},
    trace::Imported,
};

/// The name of the format of chat messages.
const CONVERSATIONS: &str = "messages";

pub struct Format {
    pub name: &'static str,
    /// The domain of its runs, if the caller names none.
    pub domain: &'static str,
    pub fits: fn(Value) -> bool,
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

/// All formats. The first one that fits a value is used.
static FORMATS: [Format; 21] = [
    format("reasoning-trace", "general", reasoning_trace::fits, || Box::new(reasoning_trace::read)),
    format("atif", "general", atif::fits, || Box::new(atif::read)),
    format("gemini-cli", "code", gemini_cli::fits, open::<Sessions<gemini_cli::Session>>),
    format("opencode", "code", opencode::fits, open::<Sessions<opencode::Session>>),
    format("copilot-cli", "code", copilot_cli::fits, open::<Sessions<copilot_cli::Session>>),
    format("cursor", "code", cursor::fits, open::<Sessions<cursor::Session>>),
    format("amp", "code", amp::fits, || Box::new(amp::read)),
    format("droid", "code", droid::fits, open::<Sessions<droid::Session>>),
    format("qwen-code", "code", qwen_code::fits, open::<Sessions<qwen_code::Session>>),
    format("cline", "code", cline::fits, || Box::new(cline::read)),
    format("otel", "general", otel::fits, open::<OpenRuns<otel::Trace>>),
    format("langsmith", "general", langsmith::fits, open::<OpenRuns<langsmith::Trace>>),
    format("inspect", "general", inspect::fits, || Box::new(inspect::read)),
    format("langfuse", "general", langfuse::fits, open::<OpenRuns<langfuse::Trace>>),
    format("mini-swe-agent", "code", mini_swe_agent::fits, || Box::new(mini_swe_agent::read)),
    format("swe-agent", "code", swe_agent::fits, || Box::new(swe_agent::read)),
    format("tau", "customer_service", tau::fits, || Box::new(tau::read)),
    format("codex", "code", codex::fits, open::<Sessions<codex::Session>>),
    format("pi", "code", pi::fits, open::<Sessions<pi::Session>>),
    format("claude-code", "code", claude_code::fits, open::<claude_code::Reader>),
    format(CONVERSATIONS, "general", messages::fits, open::<messages::Reader>),
];

/// Returns the names of all formats, in the order of detection.
pub fn format_names() -> Vec<&'static str> {
    FORMATS.iter().map(|format| format.name).collect()
}

/// Formats whose sessions have further records, detected only by type.
const TYPED: [&str; 6] = ["codex", "copilot-cli", "cursor", "droid", "gemini-cli", "pi"];

/// Returns the format of a value by its content. `previous` is the format of the previous value, and `known` are the
/// names of the formats found in the input so far.
pub fn detect(
    value: Value,
    previous: Option<&'static Format>,
    known: &[&str],
) -> Option<&'static Format> {
    let named = |name| FORMATS.iter().find(|format| format.name == name);
    let found = match value.kind() {
        Kind::Array(elements) => {
            let first = elements.iter().find(|element| element.is_object())?;
            named(CONVERSATIONS).filter(|_| messages::is_message(first))
        }
        Kind::Object(object) => FORMATS.iter().find(|format| (format.fits)(object)).or_else(|| {
            if gemini_cli::is_change(object) && known.contains(&"gemini-cli") {
                return named("gemini-cli");
            }
            previous.filter(|format| TYPED.contains(&format.name) && object.text("type").is_some())
        }),
        _ => None,
    };
    match found?.name {
        CONVERSATIONS if mini_swe_agent::is_conversation(value) => named("mini-swe-agent"),
        _ => found,
    }
}

/// Reads the values of one format in an input.
pub trait ReadRuns: Send {
    fn read(&mut self, value: Value, out: &mut Runs);

    /// Returns whether an object belongs to the runs so far, whatever its format is by itself. `_is_next`: whether it
    /// follows another value of this format.
    fn claims(&self, _object: Value, _is_next: bool) -> bool {
        false
    }

    /// Hands over the runs that are complete unless a later value continues them.
    fn hand_over(&mut self, _out: &mut Runs) {}

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
    /// The line of the value that is being read, from 1; 0 when the input has ended.
    pub line: u64,
    pub pending: &'a mut VecDeque<(usize, Pending)>,
    pub report: &'a mut InputReport,
}

impl Runs<'_> {
    pub fn run(&mut self, run: Run) {
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
