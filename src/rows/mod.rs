//! The JavaScript class `TraceEvaluator`, behind `evaluateJson`: bytes to traces to rows.
//!
//! ```text
//!  bytes ──► traces ──► calls of the scorer, in order ──► slots ──► lines of JSON
//!  queue                worker threads                    window    JavaScript thread
//! ```

mod flow;
mod row;

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use knowledgepulse_import::{Document, Imported, Importer, Kind, Value};
use knowledgepulse_scoring::{
    Error, Invalid,
    scorer::{Input, Outcome, Work},
    trace::quote,
};
use napi::{
    Env, Result,
    bindgen_prelude::{Uint8Array, Unknown},
};
use napi_derive::napi;

use self::{
    flow::Flow,
    row::{Facts, error_json, failure_json},
};
use crate::{
    env::{EnvState, in_queue},
    import::FedImporter,
    js::or_throw,
    model::ModelEmbedder,
    scorer::Scorer,
};

/// Scores the traces of inputs one after another.
#[napi]
pub struct TraceEvaluator {
    importer: FedImporter,
    submitter: Arc<Submitter>,
}

#[napi]
impl TraceEvaluator {
    /// `group` is a JSON pointer. With `collects`, errors are rows.
    #[napi(constructor, catch_unwind)]
    pub fn new(
        env: &Env,
        scorer: &Scorer,
        options: Unknown,
        peeks: bool,
        group: Option<String>,
        collects: bool,
    ) -> Result<Self> {
        let importer = FedImporter::new(env, options)?;
        if let Some(group) = group.as_deref().filter(|group| !is_pointer(group)) {
            let expected = "a JSON pointer, such as \"/metadata/session_id\"";
            let error = Error::invalid(Invalid::Option, "group", expected, quote(group));
            or_throw(env, Err(error))?;
        }
        let scorer = scorer.clone();
        let embedder = or_throw(env, scorer.embedder())?;
        let work = if peeks { Work::Peek } else { Work::Score };
        let flow = Flow::new(collects);
        let model = Arc::new(Model { embedder, fingerprint: OnceLock::new() });
        let submitting = Mutex::default();
        let submitter = Submitter { scorer, work, group, flow, model, submitting };
        Ok(Self { importer, submitter: Arc::new(submitter) })
    }

    /// Begins an input.
    #[napi(catch_unwind)]
    pub fn open(&self, name: String) {
        self.importer.lock().open(&name);
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
        self.submitter.flow.fail(error);
    }

    /// Nothing follows.
    #[napi(catch_unwind)]
    pub fn finish(&self) {
        self.submitter.flow.finish();
    }

    /// Ends the calls that have no result yet; they leave no mark in the cache.
    #[napi(catch_unwind)]
    pub fn abort(&self) {
        self.importer.cancel();
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
    scorer: Scorer,
    work: fn(Input) -> Work,
    group: Option<String>,
    flow: Arc<Flow>,
    model: Arc<Model>,
    /// Held while a call is made.
    submitting: Mutex<()>,
}

impl Submitter {
    /// Submits traces until the window is full, or no trace is left. Returns whether it is full.
    fn fill(&self, importer: &mut Importer) -> bool {
        while !self.flow.is_full() {
            let read = match importer.next() {
                None => return false,
                Some(Ok(imported)) => self.read(imported),
                Some(Err(error)) => Err(error_json(&error)),
            };
            match read {
                Ok((input, facts)) => self.submit(input, facts),
                Err(error) => self.flow.fail(error),
            }
        }
        true
    }

    /// Returns what a trace gives to score, or the error in place of its row as JSON.
    fn read(&self, imported: Imported) -> std::result::Result<(Input, Facts), String> {
        let Imported { trace: json, provenance } = imported;
        let failed = |error| failure_json(&provenance.source, &error);
        let document = Document::parse(&*json)
            .map_err(|_| failed(Error::internal("the trace cannot be read again")))?;
        let value = document.root();
        let mut text = self.model.embedder.text_buffer();
        let trace = value.to_trace(&mut text).map_err(failed)?;
        let text_at = |at: &str| value.pointer(at).and_then(Value::as_str).unwrap_or("");
        let group = self.group.as_deref().and_then(|pointer| group_of(value, pointer));
        let created_at = text_at("/metadata/created_at").into();
        let objective = text_at("/task/objective");
        let facts = Facts::of(provenance.source.clone(), &trace, objective, created_at, group);
        Ok((Input { trace, text: text.into_string() }, facts))
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
        let call = self.scorer.engine.submit((self.work)(input), embedder, Box::new(reply));
        self.flow.keep(number, call);
    }
}

/// Returns the group of a trace: what is at a JSON pointer, if it is a string, a number or a boolean.
fn group_of(trace: Value, pointer: &str) -> Option<String> {
    let value = trace.pointer(pointer)?;
    match value.kind() {
        Kind::String(text) => Some(text.into()),
        Kind::Bool(_) | Kind::Number(_) => Some(value.to_string()),
        Kind::Null | Kind::Array(_) | Kind::Object(_) => None,
    }
}
