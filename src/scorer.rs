//! The native side of the JavaScript class `Scorer`.

use std::{
    num::NonZeroUsize,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use knowledgepulse_scoring::{
    Error, Id, Invalid, Scorer as Engine, VectorCache,
    cache::CacheOptions,
    scorer::{CallHandle, Input, Outcome, Query, Work, monotonic_clock},
    snapshot::{self, Pieces},
};
use knowledgepulse_workers::{CancelToken, WORKERS, fault};
use napi::{
    Env, Result,
    bindgen_prelude::{
        Buffer, BufferSlice, Either4, Float32Array, JavaScriptClassExt, Object, Unknown,
        Utf16String,
    },
};
use napi_derive::napi;
use serde_json::json;

use crate::{
    env::{EnvState, Outbox, Scorers, in_background},
    js::{
        or_throw, thrown, to_json,
        trace::{text, trace},
    },
    model::{self, Choice, Mode, ModelEmbedder, Warning},
    options::{ScorerConfig, read_scorer_options},
    vector_cache::VectorCache as LiveCache,
};

/// The kind of a call. `Evaluate`, `Peek`, `Again`, `Forget` and `Clear` resolve to a number, `Explain`, `PeekReport`,
/// `AgainReport` and `Decide` to a report as JSON, `Similar` to a list as JSON, `Embed` to a vector.
#[napi]
#[derive(Clone, Copy)]
pub enum CallKind {
    Evaluate,
    Explain,
    Peek,
    PeekReport,
    /// A peek that is compared only with what was added before its id.
    Again,
    AgainReport,
    Decide,
    Similar,
    Remember,
    Forget,
    Clear,
    Embed,
    WarmUp,
}

/// The default number of results of `Similar`.
const K: NonZeroUsize = NonZeroUsize::new(10).expect("not 0");

/// A copy of the bytes of a snapshot, because JavaScript may change the original at any time.
#[napi]
pub struct SnapshotPieces(Option<Pieces>);

#[napi]
impl SnapshotPieces {
    /// `source` names the snapshot in an error.
    #[napi(constructor, catch_unwind)]
    pub fn new(env: &Env, length: f64, source: String) -> Result<Self> {
        let (expected, found) = ("a snapshot that fits in memory", format!("{length} bytes"));
        let too_large = || Error::invalid(Invalid::Snapshot, source, expected, found);
        let pieces = Pieces::with_room(length as usize).ok_or_else(too_large);
        or_throw(env, pieces.map(|pieces| Self(Some(pieces))))
    }

    #[napi(catch_unwind)]
    pub fn push(&mut self, bytes: BufferSlice) {
        self.0.iter_mut().for_each(|pieces| pieces.push(&bytes));
    }
}

#[napi]
#[derive(Clone)]
pub struct Scorer {
    pub(crate) engine: Arc<Engine>,
    /// `None` for the embedder of the process.
    pub(crate) embedder: Option<Arc<ModelEmbedder>>,
}

#[napi]
impl Scorer {
    #[napi(constructor, catch_unwind)]
    pub fn new(env: &Env, options: Object) -> Result<Self> {
        let config = read_scorer_options(env, &options)?;
        or_throw(env, Self::with(config, None, &EnvState::of(env)?.scorers))
    }

    /// Resolves to a scorer with the cache of a snapshot, whose memory it takes over. `source` names it in errors.
    #[napi(catch_unwind)]
    pub fn restore<'env>(
        env: &'env Env,
        snapshot: &mut SnapshotPieces,
        options: Object<'env>,
        source: String,
    ) -> Result<Unknown<'env>> {
        let config = read_scorer_options(env, &options)?;
        let used_up = || napi::Error::from_reason("the snapshot is used up");
        let bytes = snapshot.0.take().ok_or_else(used_up)?;
        let scorers = EnvState::of(env)?.scorers.clone();
        let restore = move || Self::with(config, Some((&source, bytes)), &scorers);
        in_background(&WORKERS, env, restore)
    }

    /// Returns whether `value` is one, like `Failure::is`.
    #[napi]
    pub fn is(env: &Env, value: Unknown) -> Result<bool> {
        Self::instance_of(env, &value)
    }

    /// Submits a call. `head`, `text` and `confidence` are those of a trace, from `lib/trace.js`; for `Forget`,
    /// `head` is the id. `given` has the options of `Decide` and `Similar`. `handle` can then end the call. Throws for
    /// wrong arguments; later failures reject the promise.
    #[napi(catch_unwind)]
    pub fn call<'env>(
        &self,
        env: &'env Env,
        kind: CallKind,
        head: Utf16String,
        text: Unknown<'env>,
        confidence: f64,
        handle: Option<&mut Handle>,
        given: Object<'env>,
    ) -> Result<Unknown<'env>> {
        let read =
            AssertUnwindSafe(|| self.read_call(env, kind, (&head, confidence), &text, &given));
        let panicked = |_| Err(thrown(env, Error::internal("reading the call panicked")));
        let (work, embedder) = catch_unwind(read).unwrap_or_else(panicked)?;
        let available = embedder.available();
        let (promise, mut deferred) = Outbox::promise(env, true)?;
        let answer = move |env: &Env, outcome| {
            if let Some(warning) = Warning::of(&embedder, &outcome) {
                warning.emit(env);
            }
            Ok(match (kind, outcome) {
                (
                    CallKind::Explain
                    | CallKind::PeekReport
                    | CallKind::AgainReport
                    | CallKind::Decide,
                    Outcome::Scored(report),
                ) => Either4::A(to_json(&report)?),
                (_, Outcome::Found(found)) => Either4::A(to_json(&found)?),
                (_, Outcome::Scored(report)) => Either4::B(report.score.value),
                (_, Outcome::Removed(count)) => Either4::B(count as f64),
                (_, Outcome::Embedded(vector)) => Either4::C(Float32Array::new(vector.into_vec())),
                (_, Outcome::Remembered | Outcome::WarmedUp(_)) => Either4::D(()),
            })
        };
        let reply = Box::new(move |result| deferred.settle(result, answer));
        let call = self.engine.submit(work, available, reply);
        if let Some(handle) = handle {
            handle.call = call;
        }
        Ok(promise)
    }

    /// Returns whether the memory has the id of a trace.
    #[napi(catch_unwind)]
    pub fn knows(&self, env: &Env, head: Utf16String, confidence: f64) -> Result<bool> {
        let trace = or_throw(env, trace(&head, confidence))?;
        Ok(trace.id().is_some_and(|id| {
            self.engine.with_ids(|mut ids| Iterator::any(&mut ids, |known| known == id))
        }))
    }

    /// Decides on a trace by the bounds of its score. Returns as JSON the bounds, the threshold, and whether the
    /// trace is accepted; `null` if that needs a call of kind `Decide`.
    #[napi(catch_unwind)]
    pub fn judge(
        &self,
        env: &Env,
        head: Utf16String,
        confidence: f64,
        threshold: Option<f64>,
        needs_score: bool,
    ) -> Result<String> {
        let embedder = or_throw(env, self.embedder())?;
        let threshold = threshold.unwrap_or(embedder.threshold);
        let trace = or_throw(env, trace(&head, confidence))?;
        let (bounds, accepted) = or_throw(env, self.engine.judge(&trace, threshold, needs_score))?;
        Ok(json!({ "accepted": accepted, "bounds": bounds, "threshold": threshold }).to_string())
    }

    /// Resolves to the cache as bytes.
    #[napi(catch_unwind)]
    pub fn snapshot<'env>(&self, env: &'env Env) -> Result<Unknown<'env>> {
        let scorer = self.clone();
        let snapshot = move || {
            let fingerprint = scorer.embedder()?.fingerprint()?;
            Ok(Buffer::from(scorer.engine.snapshot(&fingerprint)))
        };
        in_background(&WORKERS, env, snapshot)
    }

    #[napi(catch_unwind)]
    pub fn cache(&self) -> Result<LiveCache> {
        let memory = self.engine.own_memory();
        let memory = memory.ok_or_else(|| napi::Error::from_reason("a store has no cache"))?;
        Ok(LiveCache::of(memory.clone()))
    }

    /// Returns the status as JSON: `ScoringStatus` of lib/types without budget and store. Never waits for a load or a
    /// search.
    #[napi(catch_unwind)]
    pub fn status(&self, env: &Env) -> Result<String> {
        let embedder = or_throw(env, self.embedder())?;
        let statistics = self.engine.statistics();
        let percentile = |share| Some(statistics.percentile(share)?.as_secs_f64() * 1000.0);
        let latency = percentile(0.5)
            .map(|p50| json!({ "p50": p50, "p90": percentile(0.9), "p99": percentile(0.99) }));
        let status = json!({
            "embedder": embedder.status(),
            "threads": self.engine.options().concurrency,
            "longText": embedder.long_text.name(),
            "threshold": embedder.threshold,
            "pending": statistics.pending(),
            "cacheSize": self.engine.cache_len(),
            "calls": {
                "answered": statistics.answered,
                "failed": statistics.failed,
                "aborted": statistics.aborted,
                "overBudget": statistics.over_budget,
            },
            "latencyMs": latency,
        });
        Ok(status.to_string())
    }

    #[napi(catch_unwind)]
    pub fn close(&self) {
        self.engine.close();
    }
}

impl Scorer {
    /// Returns a scorer on a store or with its own cache, continued from a snapshot if one is given with the name of
    /// its source. Adds it to `scorers`.
    fn with(
        config: ScorerConfig,
        snapshot: Option<(&str, Pieces)>,
        scorers: &Scorers,
    ) -> knowledgepulse_scoring::Result<Self> {
        let ScorerConfig { scorer: options, embedder, .. } = config;
        let decode = |(source, bytes)| {
            let fingerprint = embedder.fingerprint()?;
            Ok((snapshot::decode(source, bytes, &fingerprint)?, fingerprint))
        };
        let engine = match (config.requires_store, snapshot.map(decode).transpose()?) {
            (Some(is_required), snapshot) => {
                Engine::with_store(options, is_required, snapshot.map(|(snapshot, _)| snapshot))?
            }
            (None, None) => Engine::new(options),
            (None, Some((snapshot, fingerprint))) => {
                let stored = snapshot.options();
                let bounds = CacheOptions { vector_len: stored.vector_len, ..options.cache };
                let bounds = if config.has_cache { bounds } else { stored };
                let cache: VectorCache = snapshot.into_cache(bounds, monotonic_clock())?;
                Engine::with_cache(options, cache, Some(fingerprint))
            }
        };
        scorers.add(&engine);
        Ok(Self { engine, embedder: Some(embedder) })
    }

    /// Returns the embedder for calls from now on.
    pub fn embedder(&self) -> knowledgepulse_scoring::Result<Arc<ModelEmbedder>> {
        self.embedder.clone().map_or_else(model::embedder, Ok)
    }

    /// Returns the work of a call, and its embedder.
    fn read_call(
        &self,
        env: &Env,
        kind: CallKind,
        (head, confidence): (&[u16], f64),
        words: &Unknown,
        given: &Object,
    ) -> Result<(Work, Arc<ModelEmbedder>)> {
        fault::point("submit");
        let embedder = or_throw(env, self.embedder())?;
        // Without an embedder, nothing reads the text.
        let text = || match embedder.mode {
            Mode::Off => Ok(String::new()),
            Mode::Auto | Mode::Required => text(words, embedder.text_buffer()),
        };
        let input = || {
            let trace = or_throw(env, trace(head, confidence))?;
            Ok::<_, napi::Error>(Input { trace, text: text()?, before_own: false })
        };
        let work = match kind {
            CallKind::Evaluate | CallKind::Explain => Work::Score(input()?),
            CallKind::Peek | CallKind::PeekReport => Work::Peek(input()?),
            CallKind::Again | CallKind::AgainReport => {
                Work::Peek(Input { before_own: true, ..input()? })
            }
            CallKind::Decide => {
                let threshold = given.get("threshold")?.unwrap_or(embedder.threshold);
                Work::Decide(input()?, threshold)
            }
            CallKind::Similar => {
                let k = given.get::<u32>("k")?.and_then(|k| NonZeroUsize::new(k as usize));
                let at_least = given.get("atLeast")?.unwrap_or(-1.0);
                Work::Similar(Query { text: text()?, k: k.unwrap_or(K), at_least })
            }
            CallKind::Remember => Work::Remember(input()?),
            CallKind::Embed => Work::Embed(text()?),
            CallKind::Forget => Work::Forget(Id::new(String::from_utf16_lossy(head))),
            CallKind::Clear => Work::Clear,
            CallKind::WarmUp => Work::WarmUp,
        };
        Ok((work, embedder))
    }
}

/// Ends a call, or a calibration.
#[napi(js_name = "CallHandle")]
#[derive(Default)]
pub struct Handle {
    call: CallHandle,
    pub(crate) cancel: CancelToken,
}

#[napi]
impl Handle {
    #[napi(constructor)]
    pub fn new() -> Self {
        Self::default()
    }

    #[napi(catch_unwind)]
    pub fn abort(&self) -> bool {
        self.cancel.cancel();
        self.call.abort()
    }

    #[napi(catch_unwind)]
    pub fn end_budget(&self) -> bool {
        self.call.end_budget()
    }
}
