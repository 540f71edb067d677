//! The JavaScript class `TraceEvaluator`, behind `evaluateJson`: bytes to traces to rows.
//!
//! ```text
//!  bytes ──► traces ──► calls of the scorer, in order ──► slots ──► lines of JSON
//!  queue                worker threads                    window    JavaScript thread
//! ```
//!
//! Without an embedder no score depends on another: traces are scored on the way, without calls.

mod flow;
mod row;

use std::{
    fmt, iter,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
};

use knowledgepulse_import::{
    Error as ImportError, Imported, Importer, Item, Own, OwnOptions, group_of,
};
use knowledgepulse_scoring::{
    Error, Invalid, Trace,
    scorer::{Input, Outcome, Work},
    trace::quote,
};
use knowledgepulse_tasks::map;
use napi::{
    Env, Result,
    bindgen_prelude::{Uint8Array, Unknown},
};
use napi_derive::napi;
use serde_json::Value;

use self::{
    flow::{Flow, Slot},
    row::{Facts, error_json, failure_json},
};
use crate::{
    Full,
    bound::BoundScorer,
    embedder::ModelEmbedder,
    env::{EnvState, in_queue},
    failure::or_throw,
    import::FedImporter,
    scorer::Scorer,
};

/// So many traces are scored together where no call is needed.
const BATCH: usize = 512;

/// So many of them are worth a thread.
const FOR_A_THREAD: usize = 64;

/// Scores the traces of inputs one after another.
#[napi]
pub struct TraceEvaluator {
    importer: FedImporter,
    submitter: Arc<Submitter>,
}

#[napi]
impl TraceEvaluator {
    /// `files` are the inputs that are files, `group` is a JSON pointer. With `collects`, errors are rows.
    #[napi(constructor, catch_unwind)]
    pub fn new(
        env: &Env,
        scorer: &Scorer,
        options: Unknown,
        files: Vec<String>,
        peeks: bool,
        group: Option<String>,
        collects: bool,
    ) -> Result<Self> {
        let importer = FedImporter::new(env, options, files)?;
        if let Some(group) = group.as_deref().filter(|group| !is_pointer(group)) {
            let expected = "a JSON pointer, such as \"/metadata/session_id\"";
            let error = Error::invalid(Invalid::Option, "group", expected, quote(group));
            or_throw(env, Err(error))?;
        }
        let bound = scorer.bound.clone();
        let embedder = or_throw(env, bound.embedder())?;
        let absence = bound.scorer.absence(&*embedder);
        let reader = absence.is_none().then(|| embedder.clone());
        let take_text = Box::new(move |write: &mut dyn FnMut(&mut dyn fmt::Write)| {
            if let Some(embedder) = &reader {
                let mut text = embedder.text_buffer();
                write(&mut text);
                return text.into_string();
            }
            write(&mut Full);
            String::new()
        });
        importer.lock().read_own(OwnOptions { take_text, group: group.clone() });
        let work = if peeks { Work::Peek } else { Work::Score };
        let flow = Flow::new(collects);
        let model = Arc::new(Model { embedder, fingerprint: OnceLock::new() });
        let submitting = Mutex::default();
        let submitter = Submitter { bound, work, absence, group, flow, model, submitting };
        Ok(Self { importer, submitter: Arc::new(submitter) })
    }

    /// Begins an input; `path` is that of a file.
    #[napi(catch_unwind)]
    pub fn open(&self, name: String, path: Option<String>) {
        self.importer.lock().open(&name, path.map(Into::into));
    }

    /// Reads a piece of the input. Resolves as `next` does.
    #[napi(catch_unwind)]
    pub fn push<'env>(&self, env: &'env Env, bytes: Uint8Array) -> Result<Unknown<'env>> {
        let bytes = bytes.to_vec();
        self.run(env, move |importer| importer.push(&bytes))
    }

    /// Ends the input. Resolves as `next` does.
    #[napi(catch_unwind)]
    pub fn end<'env>(&self, env: &'env Env) -> Result<Unknown<'env>> {
        self.run(env, Importer::end)
    }

    /// Submits further traces. Resolves to whether there are more than the window takes.
    #[napi(catch_unwind)]
    pub fn next<'env>(&self, env: &'env Env) -> Result<Unknown<'env>> {
        self.run(env, |_| {})
    }

    /// Takes the error of an input that cannot be read, as JSON.
    #[napi(catch_unwind)]
    pub fn fail(&self, error: String) {
        self.submitter.flow.add(vec![Slot::Failed(error)]);
    }

    /// Nothing follows.
    #[napi(catch_unwind)]
    pub fn finish(&self) {
        self.submitter.flow.finish();
    }

    /// Ends the calls that have no result yet; they leave no mark in the cache.
    #[napi(catch_unwind)]
    pub fn abort(&self) {
        // No call is made after it.
        let _submitting = lock(&self.submitter.submitting);
        self.submitter.flow.end(0);
    }

    /// Resolves to the next [`Rows`], when there are some or nothing follows. One call at a time.
    #[napi(catch_unwind)]
    pub fn rows<'env>(&self, env: &'env Env) -> Result<Unknown<'env>> {
        let (promise, deferred) = EnvState::of(env)?.outbox.promise(env)?;
        self.submitter.flow.wait(deferred);
        Ok(promise)
    }

    /// What became of the inputs so far, as JSON; `null` while a call is under way, which may take long.
    #[napi(catch_unwind)]
    pub fn report(&self) -> Result<Option<String>> {
        self.importer.report()
    }

    /// Does `work` off the event loop, and then submits traces.
    fn run<'env>(
        &self,
        env: &'env Env,
        work: impl FnOnce(&mut Importer) + Send + 'static,
    ) -> Result<Unknown<'env>> {
        let (importer, submitter) = (self.importer.clone(), self.submitter.clone());
        in_queue(env, move || {
            let mut importer = importer.lock();
            work(&mut importer);
            Ok(submitter.fill(&mut importer))
        })
    }
}

fn is_pointer(text: &str) -> bool {
    text.is_empty() || text.starts_with('/')
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What embeds the texts of all traces, whatever is configured meanwhile.
struct Model {
    embedder: Arc<ModelEmbedder>,
    fingerprint: OnceLock<Option<String>>,
}

impl Model {
    fn fingerprint(&self) -> Option<&str> {
        self.fingerprint.get_or_init(|| self.embedder.fingerprint().ok()).as_deref()
    }
}

/// Takes traces from an importer to a scorer.
struct Submitter {
    bound: BoundScorer,
    work: fn(Input) -> Work,
    /// Why no trace needs a call, if none does.
    absence: Option<Arc<str>>,
    group: Option<String>,
    flow: Arc<Flow>,
    model: Arc<Model>,
    /// Held while a call is made.
    submitting: Mutex<()>,
}

impl Submitter {
    /// Submits traces until the window is full, or no trace is left. Returns whether it is full.
    fn fill(&self, importer: &mut Importer) -> bool {
        let mut has_more = true;
        while has_more && !self.flow.is_full() {
            if let Some(reason) = &self.absence {
                let items: Vec<_> = iter::from_fn(|| importer.next_item()).take(BATCH).collect();
                has_more = items.len() == BATCH;
                self.flow.add(map(items, FOR_A_THREAD, |item| self.score(item, reason)));
            } else if let Some(item) = importer.next_item() {
                match self.read(item) {
                    Ok((input, facts)) => self.submit(input, facts),
                    Err(slot) => self.flow.add(vec![slot]),
                }
            } else {
                has_more = false;
            }
        }
        has_more
    }

    /// Returns what becomes of an item whose score needs no call.
    fn score(&self, item: Found, reason: &Arc<str>) -> Slot {
        let (input, facts) = match self.read(item) {
            Ok(read) => read,
            Err(slot) => return slot,
        };
        match self.bound.scorer.score_without_embedding(&input.trace, reason.clone()) {
            Ok(score) => facts.row(&score, None, &self.model),
            Err(error) => facts.failed(&error),
        }
    }

    /// Returns what an item gives to score, or what is in place of a row.
    fn read(&self, item: Found) -> std::result::Result<(Input, Facts), Slot> {
        match item {
            Ok(Item::Own(source, own)) => {
                let Own { trace, text, objective, created_at, group } = *own;
                let created_at = created_at.unwrap_or_default();
                let facts = Facts::of(source, &trace, &objective, created_at, group);
                Ok((Input { trace, text }, facts))
            }
            Ok(Item::Imported(imported)) => {
                let Imported { trace: value, provenance } = *imported;
                let mut text = self.model.embedder.text_buffer();
                let trace = Trace::from_json(&value, &mut text)
                    .map_err(|error| Slot::Failed(failure_json(&provenance.source, &error)))?;
                let text_at = |at: &str| value.pointer(at).and_then(Value::as_str).unwrap_or("");
                let group = self.group.as_deref().and_then(|pointer| group_of(&value, pointer));
                let created_at = text_at("/metadata/created_at").into();
                let objective = text_at("/task/objective");
                let facts = Facts::of(provenance.source, &trace, objective, created_at, group);
                Ok((Input { trace, text: text.into_string() }, facts))
            }
            Err(error) => Err(Slot::Failed(error_json(&error))),
        }
    }

    fn submit(&self, input: Input, facts: Facts) {
        let _submitting = lock(&self.submitting);
        let bytes = input.text.len();
        let Some(number) = self.flow.begin(bytes) else { return };
        let (flow, model) = (self.flow.clone(), self.model.clone());
        let reply = move |result| {
            let slot = match result {
                Ok(Outcome::Scored(report)) => facts.row(&report.score, report.text, &model),
                Ok(_) => facts.failed(&Error::internal("expected a score")),
                Err(error) => facts.failed(&error),
            };
            flow.settle(number, bytes, slot);
        };
        let embedder = self.model.embedder.clone();
        let call = self.bound.scorer.submit((self.work)(input), embedder, Box::new(reply));
        self.flow.keep(number, call);
    }
}

/// What an importer gives.
type Found = std::result::Result<Item, ImportError>;
