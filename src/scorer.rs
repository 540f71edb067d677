//! The native side of the JavaScript class `Scorer`.

use std::{
    num::NonZeroUsize,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Mutex},
};

use knowledgepulse_scoring::{
    Error, Id, Invalid, Scorer, VectorCache,
    cache::CacheOptions,
    embed::Text,
    scorer::{CallHandle, Held, Input, Outcome, Query, Work, monotonic_clock},
    select::{Candidate, Limits, Selection},
    snapshot::{self, Bytes},
};
use knowledgepulse_workers::{CancelToken, SELECTIONS, fault, lock};
use napi::{
    Env, Result,
    bindgen_prelude::{
        Buffer, BufferSlice, Either, Either4, Float32Array, JavaScriptClassExt, Object, Unknown,
    },
};
use napi_derive::napi;
use serde_json::json;

use crate::{
    env::{EnvState, Outbox, Scorers, in_background, spawn},
    js::{
        or_throw, thrown, to_json,
        trace::{Head, text_of, trace},
    },
    model::{Choice, Mode, ModelEmbedder, Warning},
    options::{ScorerConfig, read_scorer_options},
    settings,
    vector_cache::NativeCache,
};

/// The default number of results of `similar`.
const K: NonZeroUsize = NonZeroUsize::new(10).expect("not 0");

/// A selection. Its steps take it, and put it back unless they fail.
#[napi(js_name = "Selection")]
pub struct NativeSelection {
    scorer: NativeScorer,
    embedder: Arc<ModelEmbedder>,
    against_memory: bool,
    slot: Arc<Mutex<Slot>>,
}

/// A selection, and candidates that are added to it when all traces that were kept before have been, with their memory.
type Slot = Option<(Selection, Vec<Candidate>, Held)>;

#[napi]
impl NativeSelection {
    /// Embeds a trace and adds it, as one that was kept `before` or as a candidate. Must resolve before the first step.
    #[napi(catch_unwind)]
    pub fn embed<'a>(
        &self,
        env: &'a Env,
        head: Head,
        text: Unknown<'a>,
        objective: u32,
        before: bool,
        failed: bool,
        stands_for: Option<u32>,
        covers: Option<f64>,
        group: Option<u32>,
        handle: Option<&mut Handle>,
    ) -> Result<Unknown<'a>> {
        let read = |embedder: &ModelEmbedder| {
            let input = read_input(embedder, head, &text, objective)?;
            Ok(Work::Candidate(input, self.against_memory))
        };
        let slot = self.slot.clone();
        let add = move |one: Candidate| {
            let Some((selection, candidates, held)) = &mut *lock(&slot) else { return };
            held.add(one.memory());
            let number = stands_for.unwrap_or(1);
            let covers = covers.unwrap_or(f64::from(number));
            match before {
                true => selection.add_before(one),
                false => candidates.push(one.with(group, failed, number, covers)),
            }
        };
        self.scorer.submit_with(self.embedder.clone(), env, handle, false, read, add)
    }

    /// Does a step. Resolves to JSON: the progress, and at the end the selected traces.
    #[napi(catch_unwind)]
    pub fn advance<'env>(&self, env: &'env Env, handle: Option<&Handle>) -> Result<Unknown<'env>> {
        let cancel = handle.map(|handle| handle.cancel.clone()).unwrap_or_default();
        let (engine, slot) = (self.scorer.engine.clone(), self.slot.clone());
        let advance = move || {
            let check = || match cancel.is_cancelled() {
                true => Err(Error::aborted()),
                false => engine.check_open(),
            };
            check()?;
            let over = || Error::internal("the selection is over");
            let (mut selection, candidates, held) = lock(&slot).take().ok_or_else(over)?;
            candidates.into_iter().for_each(|one| selection.add(one));
            let progress = selection.advance(&check)?;
            let selected = selection.selected();
            if selected.is_none() {
                *lock(&slot) = Some((selection, Vec::new(), held));
            }
            Ok(json!({ "progress": progress, "selected": selected }).to_string())
        };
        let engine = self.scorer.engine.clone();
        in_background(&SELECTIONS, env, move || engine.during(advance))
    }

    /// Drops all traces, on another thread because there may be many.
    #[napi(catch_unwind)]
    pub fn end(&self) {
        if let Some(selection) = lock(&self.slot).take() {
            spawn(&SELECTIONS, move || Ok(selection), drop);
        }
    }
}

#[napi(js_name = "Scorer")]
#[derive(Clone)]
pub struct NativeScorer {
    pub(crate) engine: Arc<Scorer>,
    /// `None` for the embedder of the process.
    pub(crate) embedder: Option<Arc<ModelEmbedder>>,
}

#[napi]
impl NativeScorer {
    #[napi(constructor, catch_unwind)]
    pub fn new(env: &Env, options: Object) -> Result<Self> {
        let config = read_scorer_options(env, &options)?;
        or_throw(env, Self::with(config, None, &EnvState::of(env)?.scorers))
    }

    /// Resolves to a scorer with the cache of a snapshot: bytes, or the path of a file.
    #[napi(catch_unwind)]
    pub fn restore<'env>(
        env: &'env Env,
        snapshot: Either<BufferSlice<'env>, String>,
        options: Object<'env>,
    ) -> Result<Unknown<'env>> {
        let config = read_scorer_options(env, &options)?;
        config.embedder.find_library(|| EnvState::find_library(env));
        let (source, bytes) = match snapshot {
            // Copied, because JavaScript may change the bytes at any time.
            Either::A(bytes) => ("snapshot".into(), Some(Bytes::copy("snapshot", &bytes))),
            Either::B(path) => (path, None),
        };
        let state = EnvState::of(env)?;
        let mut held = Held::new(&state.held);
        held.set(bytes.iter().flatten().map(|bytes| bytes.len()).sum());
        state.tell_memory(env)?;
        let (scorers, lane) = (state.scorers.clone(), config.embedder.lane());
        let restore = move || {
            // Until the memory of the scorer holds them.
            let mut held = held;
            let bytes = bytes.unwrap_or_else(|| Bytes::read(&source))?;
            held.set(bytes.len());
            Self::with(config, Some((&source, bytes)), &scorers)
        };
        in_background(lane, env, restore)
    }

    /// Returns whether `value` is one, like `Failure::is`.
    #[napi]
    pub fn is(env: &Env, value: Unknown) -> Result<bool> {
        Self::instance_of(env, &value)
    }

    /// Resolves to the score of a trace, or with `reports` to JSON: whether its id was known, and its report. `remember` is
    /// whether it is added to the memory, or the least score for that; `again` is [`Input::before_own`].
    ///
    /// Here and below, `head`, `text` and `objective` are those of a trace, from `lib/trace.js`, and `handle`
    /// can end the call. Wrong arguments throw; later failures reject the promise.
    #[napi(catch_unwind)]
    pub fn score<'a>(
        &self,
        env: &'a Env,
        head: Head,
        text: Unknown<'a>,
        objective: u32,
        handle: Option<&mut Handle>,
        remember: Either<bool, f64>,
        again: bool,
        reports: bool,
    ) -> Result<Unknown<'a>> {
        self.submit(env, handle, reports, |embedder| {
            let input = read_input(embedder, head, &text, objective)?;
            let input = Input { before_own: again, ..input };
            Ok(match remember {
                Either::A(true) => Work::Score(input),
                Either::A(false) => Work::Peek(input),
                Either::B(least) => Work::Decide(input, least),
            })
        })
    }

    #[napi(catch_unwind)]
    pub fn remember<'a>(
        &self,
        env: &'a Env,
        head: Head,
        text: Unknown<'a>,
        objective: u32,
        handle: Option<&mut Handle>,
    ) -> Result<Unknown<'a>> {
        self.submit(env, handle, false, |embedder| {
            read_input(embedder, head, &text, objective).map(Work::Remember)
        })
    }

    /// Returns an empty selection with these limits.
    #[napi(catch_unwind)]
    pub fn selection(
        &self,
        env: &Env,
        count: Option<u32>,
        coverage: Option<f64>,
        per_group: Option<u32>,
        against_memory: bool,
    ) -> Result<NativeSelection> {
        let own = self.embedder(env)?;
        let embedder = own.for_selections.clone().unwrap_or_else(|| own.clone());
        if against_memory && embedder.novelty != own.novelty {
            let expected = "a scorer with the option novelty, whose cache can then be compared";
            let error = Error::invalid(Invalid::Option, "againstCache", expected, "none");
            return Err(thrown(env, error));
        }
        let most = |number: Option<u32>| number.map_or(usize::MAX, |number| number as usize);
        let limits = Limits {
            count: most(count),
            coverage: coverage.unwrap_or(f64::INFINITY),
            per_group: most(per_group),
        };
        let selection = Selection::new(limits, self.engine.options().profiles.clone());
        let held = Held::new(&EnvState::of(env)?.held);
        let slot = Arc::new(Mutex::new(Some((selection, Vec::new(), held))));
        Ok(NativeSelection { scorer: self.clone(), embedder, against_memory, slot })
    }

    /// Resolves to the most similar traces in the memory, as JSON.
    #[napi(catch_unwind)]
    pub fn similar<'a>(
        &self,
        env: &'a Env,
        text: Unknown<'a>,
        objective: Option<u32>,
        handle: Option<&mut Handle>,
        k: Option<u32>,
        at_least: Option<f64>,
    ) -> Result<Unknown<'a>> {
        self.submit(env, handle, false, |embedder| {
            let k = k.and_then(|k| NonZeroUsize::new(k as usize)).unwrap_or(K);
            let text = read_text(embedder, &text, objective)?;
            Ok(Work::Similar(Query { text, k, at_least: at_least.unwrap_or(-1.0) }))
        })
    }

    /// Resolves to the number of removed traces.
    #[napi(catch_unwind)]
    pub fn forget<'a>(
        &self,
        env: &'a Env,
        id: String,
        handle: Option<&mut Handle>,
    ) -> Result<Unknown<'a>> {
        self.submit(env, handle, false, |_| Ok(Work::Forget(Id::new(id))))
    }

    /// Resolves to the number of removed traces.
    #[napi(catch_unwind)]
    pub fn clear<'a>(&self, env: &'a Env, handle: Option<&mut Handle>) -> Result<Unknown<'a>> {
        self.submit(env, handle, false, |_| Ok(Work::Clear))
    }

    #[napi(catch_unwind)]
    pub fn embed<'a>(
        &self,
        env: &'a Env,
        text: Unknown<'a>,
        objective: Option<u32>,
        handle: Option<&mut Handle>,
    ) -> Result<Unknown<'a>> {
        self.submit(env, handle, false, |embedder| {
            read_text(embedder, &text, objective).map(Work::Embed)
        })
    }

    #[napi(catch_unwind)]
    pub fn warm_up<'a>(&self, env: &'a Env, handle: Option<&mut Handle>) -> Result<Unknown<'a>> {
        self.submit(env, handle, false, |_| Ok(Work::WarmUp))
    }

    /// Returns as JSON the bounds of the score of a trace, the threshold, and whether these reject the trace.
    #[napi(catch_unwind)]
    pub fn judge(
        &self,
        env: &Env,
        head: Head,
        threshold: Option<f64>,
        needs_score: bool,
    ) -> Result<String> {
        let embedder = self.embedder(env)?;
        let threshold = threshold.unwrap_or(embedder.threshold);
        let judged = self.engine.judge(&trace(head), threshold, needs_score);
        let (bounds, is_rejected) = or_throw(env, judged)?;
        let found = json!({ "bounds": bounds, "isRejected": is_rejected, "threshold": threshold });
        Ok(found.to_string())
    }

    /// Resolves to the cache as bytes, with the ages of its entries if `has_ages`.
    #[napi(catch_unwind)]
    pub fn snapshot<'env>(&self, env: &'env Env, has_ages: bool) -> Result<Unknown<'env>> {
        let (embedder, engine) = (self.embedder(env)?, self.engine.clone());
        let lane = embedder.lane();
        let snapshot = move || {
            let contents = engine.snapshot(&embedder.fingerprint()?);
            let contents = if has_ages { contents } else { contents.without_ages() };
            Ok(Buffer::from(contents.encode()))
        };
        in_background(lane, env, snapshot)
    }

    #[napi(catch_unwind)]
    pub fn cache(&self) -> Result<NativeCache> {
        let memory = self.engine.own_memory();
        let memory = memory.ok_or_else(|| napi::Error::from_reason("a store has no cache"))?;
        Ok(NativeCache { memory: memory.clone() })
    }

    /// Returns the status as JSON: `ScoringStatus` of lib/types without budget and store. Never waits for a load or a
    /// search.
    #[napi(catch_unwind)]
    pub fn status(&self, env: &Env) -> Result<String> {
        let embedder = self.embedder(env)?;
        let statistics = self.engine.statistics();
        let percentile = |share| Some(statistics.percentile(share)?.as_secs_f64() * 1000.0);
        let latency = percentile(0.5)
            .map(|p50| json!({ "p50": p50, "p90": percentile(0.9), "p99": percentile(0.99) }));
        let status = json!({
            "embedder": embedder.status(),
            "threads": self.engine.options().concurrency,
            "novelty": embedder.novelty.name(),
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

impl NativeScorer {
    /// Returns a scorer on a store or with its own cache, continued from a snapshot if one is given with the name of
    /// its source. Adds it to `scorers`.
    fn with(
        config: ScorerConfig,
        snapshot: Option<(&str, Bytes)>,
        scorers: &Scorers,
    ) -> knowledgepulse_scoring::Result<Self> {
        let ScorerConfig { scorer: options, embedder, .. } = config;
        let decode = |(source, bytes)| {
            let fingerprint = embedder.fingerprint()?;
            let dimensions = match embedder.mode {
                Mode::Off => embedder.known_dimensions(),
                Mode::Auto | Mode::Required => embedder.dimensions().ok(),
            };
            let model = (&*fingerprint, dimensions);
            Ok((snapshot::decode(source, bytes, model)?, fingerprint))
        };
        let engine = match (config.requires_store, snapshot.map(decode).transpose()?) {
            (Some(is_required), snapshot) => {
                Scorer::with_store(options, is_required, snapshot.map(|(snapshot, _)| snapshot))?
            }
            (None, None) => Scorer::new(options),
            (None, Some((snapshot, fingerprint))) => {
                let stored = snapshot.options();
                let bounds = CacheOptions { vector_len: stored.vector_len, ..options.cache };
                let bounds = if config.has_cache { bounds } else { stored };
                let cache: VectorCache = snapshot.into_cache(bounds, monotonic_clock())?;
                Scorer::with_cache(options, cache, Some(fingerprint))
            }
        };
        scorers.add(&engine);
        Ok(Self { engine, embedder: Some(embedder) })
    }

    /// Returns the embedder for calls from now on.
    pub fn embedder(&self, env: &Env) -> Result<Arc<ModelEmbedder>> {
        let shared = || {
            let embedder = settings::current(EnvState::variables(env)?, |now| now.embedder.clone());
            or_throw(env, embedder)
        };
        let embedder = self.embedder.clone().map_or_else(shared, Ok)?;
        embedder.find_library(|| EnvState::find_library(env));
        Ok(embedder)
    }

    /// Submits a call with the work that `read` returns. Returns its promise.
    fn submit<'env>(
        &self,
        env: &'env Env,
        handle: Option<&mut Handle>,
        reports: bool,
        read: impl FnOnce(&ModelEmbedder) -> Result<Work>,
    ) -> Result<Unknown<'env>> {
        self.submit_with(self.embedder(env)?, env, handle, reports, read, drop)
    }

    fn submit_with<'env>(
        &self,
        embedder: Arc<ModelEmbedder>,
        env: &'env Env,
        handle: Option<&mut Handle>,
        reports: bool,
        read: impl FnOnce(&ModelEmbedder) -> Result<Work>,
        select: impl FnOnce(Candidate) + Send + 'static,
    ) -> Result<Unknown<'env>> {
        let read = || {
            fault::point("submit");
            read(&embedder)
        };
        let panicked = |_| Err(thrown(env, Error::internal("reading the call panicked")));
        let work = catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(panicked)?;
        let available = embedder.available();
        let (promise, mut deferred) = Outbox::promise(env, true)?;
        let answer = move |env: &Env, outcome| {
            if let Some(warning) = Warning::of(&embedder, &outcome) {
                warning.emit(env);
            }
            Ok(match outcome {
                Outcome::Candidate(one) => {
                    select(*one);
                    Either4::D(())
                }
                Outcome::Scored(report) if reports => {
                    Either4::A(to_json(&(report.is_known, report))?)
                }
                Outcome::Scored(report) => Either4::B(report.score.value),
                Outcome::Found(found) => Either4::A(to_json(&found)?),
                Outcome::Removed(count) => Either4::B(count as f64),
                Outcome::Embedded(vector) => Either4::C(Float32Array::new(vector.into_vec())),
                Outcome::Remembered | Outcome::WarmedUp(_) => Either4::D(()),
            })
        };
        let reply = Box::new(move |result| deferred.settle(result, answer));
        let call = self.engine.submit(work, available, reply);
        if let Some(handle) = handle {
            handle.call = call;
        }
        Ok(promise)
    }
}

/// Reads a text whose first `objective` code units are its objective; `None` if it has no steps. Without an embedder, nothing
/// reads it.
fn read_text(embedder: &ModelEmbedder, text: &Unknown, objective: Option<u32>) -> Result<Text> {
    match embedder.mode {
        Mode::Off => Ok(Text::default()),
        Mode::Auto | Mode::Required => text_of(text, objective, embedder.text_buffer()),
    }
}

fn read_input(
    embedder: &ModelEmbedder,
    head: Head,
    text: &Unknown,
    objective: u32,
) -> Result<Input> {
    let text = read_text(embedder, text, Some(objective))?;
    Ok(Input { trace: trace(head), text, before_own: false })
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
