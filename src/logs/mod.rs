//! The JavaScript class `LogReader`, behind `importTraces` and `evaluateLogs`.
//!
//! ```text
//!  bytes ──► traces ──────────────────────────────────────► lines of JSON
//!                └──► calls of the scorer, in order ──► rows ──┘
//!  worker threads                                           JavaScript thread
//! ```
//!
//! JavaScript pushes a piece of input when [`Ready::wants_input`] asks for it, which is where back-pressure is
//! applied: a reader with room for lines ([`Lines::goes_on`]) reads on, any other waits until lines are taken.

mod lines;
mod row;

use std::{
    collections::HashSet,
    fmt::Write,
    sync::{
        Arc, Mutex, TryLockError,
        atomic::{AtomicU32, Ordering},
    },
};

use knowledgepulse_import::{
    self as import, Code, Document, Imported, ImportedTrace, Importer, Kind,
};
use knowledgepulse_scoring::{
    Id, Trace,
    embed::Text,
    scorer::{CallHandle, Held, Input, Outcome, Work},
};
use knowledgepulse_workers::{CancelToken, IMPORTS, lock};
use napi::{
    Env, Result,
    bindgen_prelude::{Buffer, Object, Uint8Array, Unknown},
};
use napi_derive::napi;

use self::{
    lines::{Lines, Slot},
    row::{failure_json, line_of},
};
use crate::{
    env::{EnvState, Outbox, spawn},
    js::to_json,
    model::ModelEmbedder,
    options::read_import_options,
    scorer::NativeScorer,
};

/// Reads inputs one after another. All methods return at once; reading takes place on worker threads.
#[napi]
pub struct LogReader {
    reader: Arc<Reading>,
}

#[napi]
impl LogReader {
    /// With `collects`, errors are lines; without, the first one ends reading. With a `scorer`, lines are rows,
    /// whose group is at the JSON pointer `group`; without, they are traces with their provenance. `known` is `"skip"`
    /// or `"again"` for traces whose ids are in the memory.
    #[napi(constructor, catch_unwind)]
    pub fn new(
        env: &Env,
        options: Object,
        collects: bool,
        scorer: Option<&NativeScorer>,
        peeks: Option<bool>,
        group: Option<String>,
        known: Option<String>,
    ) -> Result<Self> {
        let importer = Importer::new(read_import_options(env, &options)?);
        let cancel = importer.cancel_token();
        let lines = Lines::new(collects, scorer.is_some());
        let submitter = match scorer {
            Some(scorer) => Some(Submitter {
                scorer: scorer.clone(),
                work: if peeks == Some(true) { Work::Peek } else { Work::Score },
                group,
                embedder: scorer.embedder(env)?,
                submitting: Mutex::default(),
                skipped: (known.as_deref() == Some("skip")).then(Mutex::default),
                known: known.map(|_| Arc::default()),
            }),
            None => None,
        };
        let importer = Mutex::new(importer);
        let held = Mutex::new(Held::new(&EnvState::of(env)?.held));
        Ok(Self { reader: Arc::new(Reading { importer, held, cancel, lines, submitter }) })
    }

    #[napi(catch_unwind)]
    pub fn open(&self, name: String, is_stream: bool) {
        let mut importer = lock(&self.reader.importer);
        if is_stream { importer.open_stream(&name) } else { importer.open(&name) }
    }

    #[napi(catch_unwind)]
    pub fn push(&self, bytes: Uint8Array) {
        let bytes = bytes.to_vec();
        self.reader.run(move |importer| importer.push(&bytes));
    }

    #[napi(catch_unwind)]
    pub fn end(&self) {
        self.reader.run(Importer::end);
    }

    /// Ends an input that could not be read to its end. `code` is `INVALID_OPTION` or `UNREADABLE`.
    #[napi(catch_unwind)]
    pub fn fail(&self, code: String, message: String) {
        let code = if code == "INVALID_OPTION" { Code::InvalidOption } else { Code::Unreadable };
        self.reader.run(move |importer| importer.fail(code, message));
    }

    /// Ends reading after the lines of the pushed input.
    #[napi(catch_unwind)]
    pub fn finish(&self) {
        self.reader.lines.end_from(usize::MAX);
    }

    /// Resolves to the next [`Ready`] when there are lines, input is wanted, or reading has ended. Only one
    /// call at a time.
    #[napi(catch_unwind)]
    pub fn next<'env>(&self, env: &'env Env) -> Result<Unknown<'env>> {
        let (promise, deferred) = Outbox::promise(env, true)?;
        if self.reader.lines.wait(deferred) {
            self.reader.run(|_| {});
        }
        Ok(promise)
    }

    /// Ends reading, and aborts all pending calls, which leave the cache unchanged.
    #[napi(catch_unwind)]
    pub fn abort(&self) {
        self.reader.cancel.cancel();
        // Waits for a running submission; none follows.
        let _submitting =
            self.reader.submitter.as_ref().map(|submitter| lock(&submitter.submitting));
        self.reader.lines.end_from(0);
    }

    /// Returns the number of traces so far whose ids were in the memory, if it is looked for them.
    #[napi(catch_unwind)]
    pub fn known(&self) -> Option<u32> {
        Some(self.reader.submitter.as_ref()?.known.as_ref()?.load(Ordering::Relaxed))
    }

    /// Returns the reports on the inputs so far as JSON; `None` while a worker thread is reading.
    #[napi(catch_unwind)]
    pub fn report(&self) -> Result<Option<String>> {
        let importer = match self.reader.importer.try_lock() {
            Ok(importer) => importer,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return Ok(None),
        };
        to_json(&importer.reports()).map(Some)
    }
}

struct Reading {
    importer: Mutex<Importer>,
    /// What the importer holds.
    held: Mutex<Held>,
    cancel: CancelToken,
    lines: Arc<Lines>,
    /// Scores the traces, if rows are wanted.
    submitter: Option<Submitter>,
}

impl Reading {
    /// Runs `work` on a worker thread, and converts its traces to lines.
    fn run(self: &Arc<Self>, work: impl FnOnce(&mut Importer) + Send + 'static) {
        let (reader, lines) = (self.clone(), self.lines.clone());
        let read = move || {
            let mut importer = lock(&reader.importer);
            work(&mut importer);
            let is_read = reader.fill(&mut importer);
            lock(&reader.held).set(importer.held());
            Ok(is_read)
        };
        // The importer is unlocked first, so that the report covers the lines that JavaScript will take.
        spawn(&IMPORTS, read, move |is_read| lines.pause(is_read));
    }

    /// Turns traces and errors into lines while there is room. Returns whether none are left.
    fn fill(&self, importer: &mut Importer) -> bool {
        let failed = |error| Slot::Failed(serde_json::json!(error).to_string());
        while self.lines.goes_on() {
            let slot = match (importer.next(), &self.submitter) {
                (None, _) => return true,
                (Some(Ok(imported)), None) => {
                    imported.to_json().map_or_else(failed, |line| Slot::Line(line, None))
                }
                (Some(Ok(imported)), Some(submitter)) => {
                    match submitter.submit(imported, &self.lines) {
                        Ok(()) => continue,
                        Err(json) => Slot::Failed(json),
                    }
                }
                // It is in the report, and ends nothing: other inputs may have traces.
                (Some(Err(error)), _) if error.code == Code::NoTrace && !self.lines.collects => {
                    continue;
                }
                (Some(Err(error)), _) => failed(error),
            };
            self.lines.push(slot);
        }
        false
    }
}

struct Submitter {
    scorer: NativeScorer,
    work: fn(Input) -> Work,
    group: Option<String>,
    /// Embeds the texts of all traces; later `configure` calls do not affect it.
    embedder: Arc<ModelEmbedder>,
    /// Held while a call is submitted.
    submitting: Mutex<()>,
    /// The number of traces whose ids were known, if it is looked for them.
    known: Option<Arc<AtomicU32>>,
    /// If these get no lines, the ids in the memory before the first trace, and those of submitted traces. So it does not
    /// matter how many of these have been scored, or have left the memory.
    skipped: Option<Mutex<Option<HashSet<Id>>>>,
}

impl Submitter {
    /// Submits a trace, whose row becomes a line, unless it is skipped.
    ///
    /// # Errors
    ///
    /// The error in place of the row, as JSON.
    fn submit(&self, imported: Imported, lines: &Arc<Lines>) -> std::result::Result<(), String> {
        let Imported { trace: imported, provenance, .. } = imported;
        let mut text = self.embedder.text_buffer();
        let trace = imported
            .read(|part| text.write_str(part))
            .map_err(|error| failure_json(&provenance.source, &error))?;
        let known = self.known.clone();
        let count = move || known.inspect(|known| _ = known.fetch_add(1, Ordering::Relaxed));
        if self.skips(&trace) {
            count();
            return Ok(());
        }
        let group = self.group.as_deref().and_then(|pointer| group_of(&imported, pointer));
        let (created_at, objective) = (imported.created_at().into(), imported.objective());
        let text = Text::new(text.into_string(), objective.len());
        let line = line_of(provenance, &trace, objective, created_at, group);
        let _submitting = lock(&self.submitting);
        let slot = Slot::Call(CallHandle::default(), text.whole().len());
        let Some(number) = lines.push(slot) else { return Ok(()) };
        let (its_lines, embedder) = (lines.clone(), self.embedder.clone());
        let reply = move |result| {
            if matches!(&result, Ok(Outcome::Scored(report)) if report.is_known) {
                count();
            }
            its_lines.settle(number, line(result, &embedder));
        };
        let work = (self.work)(Input { trace, text, before_own: self.known.is_some() });
        let call = self.scorer.engine.submit(work, self.embedder.available(), Box::new(reply));
        lines.keep(number, call);
        Ok(())
    }

    /// Returns whether a trace is skipped. If not, those with its id are from now on.
    fn skips(&self, trace: &Trace) -> bool {
        let (Some(id), Some(skipped)) = (trace.id(), &self.skipped) else { return false };
        let mut ids = lock(skipped);
        !ids.get_or_insert_with(|| self.scorer.engine.ids()).insert(id.clone())
    }
}

/// Returns the group of a trace: the value at a JSON pointer, if it is a string, a number or a boolean.
fn group_of(trace: &ImportedTrace, pointer: &str) -> Option<String> {
    let document = Document::parse(trace.to_string()).ok()?;
    let value = document.root().pointer(pointer)?;
    match value.kind() {
        Kind::String(text) => Some(text.into()),
        Kind::Bool(_) | Kind::Number(_) => Some(value.to_json()),
        Kind::Null | Kind::Array(_) | Kind::Object(_) => None,
    }
}

/// The JavaScript class `Archive`, which decompresses rows as [`LogReader`] does logs.
#[napi]
#[derive(Default)]
pub struct Archive(import::Archive);

#[napi]
impl Archive {
    #[napi(constructor, catch_unwind)]
    pub fn new() -> Self {
        Self::default()
    }

    #[napi(catch_unwind)]
    pub fn push(&mut self, bytes: Uint8Array) {
        self.0.push(&bytes);
    }

    /// Returns the next bytes of the content; `None` if more input is needed, or with `is_end` if there is none.
    #[napi(catch_unwind)]
    pub fn next(&mut self, is_end: bool) -> Result<Option<Buffer>> {
        let next = self.0.next(is_end).transpose().map_err(napi::Error::from_reason)?;
        Ok(next.map(Buffer::from))
    }
}
