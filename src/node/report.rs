//! What goes back to JavaScript: numbers, reports, errors, the status, one warning.

use std::{
    ptr,
    sync::atomic::{AtomicBool, Ordering},
};

use napi::{
    Env, Result,
    bindgen_prelude::{FnArgs, Function, JsObjectValue, Object, ToNapiValue},
    sys,
};
use napi_derive::napi;

use super::{call::Answer, settings, state::EnvState, view::Thrown};
use crate::{
    dimensions::{Dimensions, NoveltySource},
    embedder::{self, Runtime, State},
    error::Error,
    score::Score,
    scorer::{self, Outcome},
    threads,
    trace::ReadError,
    weights::Weights,
};

/// One number for each dimension: its value, or its weight.
#[napi(object)]
pub struct PerDimension {
    pub complexity: f64,
    pub novelty: f64,
    pub tool_diversity: f64,
    pub outcome_confidence: f64,
}

#[napi(object)]
pub struct OverrideReport {
    pub name: String,
    pub before: f64,
    pub after: f64,
}

#[napi(object, use_nullable = true)]
pub struct NoveltyReport {
    pub source: String,
    pub max_similarity: Option<f64>,
    pub reason: Option<String>,
}

#[napi(object)]
pub struct ScoreReport {
    pub score: f64,
    pub dimensions: PerDimension,
    pub weights: PerDimension,
    pub profile: String,
    pub overrides: Vec<OverrideReport>,
    pub novelty: NoveltyReport,
}

impl From<&Dimensions> for PerDimension {
    fn from(d: &Dimensions) -> Self {
        Self {
            complexity: d.complexity,
            novelty: d.novelty,
            tool_diversity: d.tool_diversity,
            outcome_confidence: d.outcome_confidence,
        }
    }
}

impl From<&Weights> for PerDimension {
    fn from(w: &Weights) -> Self {
        Self {
            complexity: w.complexity,
            novelty: w.novelty,
            tool_diversity: w.tool_diversity,
            outcome_confidence: w.outcome_confidence,
        }
    }
}

impl From<&NoveltySource> for NoveltyReport {
    fn from(source: &NoveltySource) -> Self {
        let (source, max_similarity, reason) = match source {
            NoveltySource::Cache { max_similarity } => ("cache", Some(*max_similarity), None),
            NoveltySource::EmptyCache => ("empty-cache", None, None),
            NoveltySource::NoEmbedder { reason } => ("no-embedder", None, Some(reason.to_string())),
        };
        Self { source: source.into(), max_similarity, reason }
    }
}

impl From<&Score> for ScoreReport {
    fn from(score: &Score) -> Self {
        Self {
            score: score.value,
            dimensions: (&score.dimensions).into(),
            weights: (&score.profile.weights).into(),
            profile: score.profile.domain.into(),
            overrides: score
                .overrides
                .iter()
                .map(|o| OverrideReport { name: o.name.into(), before: o.before, after: o.after })
                .collect(),
            novelty: score.novelty.source().into(),
        }
    }
}

/// The value that the promise of a call resolves to.
pub fn answer(env: &Env, outcome: &Outcome, answer: Answer) -> Result<sys::napi_value> {
    // SAFETY: on the thread of the environment, within a call from JavaScript.
    unsafe {
        match (outcome, answer) {
            (Outcome::Scored(score), Answer::Report) => {
                ScoreReport::to_napi_value(env.raw(), score.into())
            }
            (Outcome::Scored(Score { value, .. }) | Outcome::Value(value), _) => {
                f64::to_napi_value(env.raw(), *value)
            }
            (Outcome::WarmedUp(_), _) => {
                Status::to_napi_value(env.raw(), Status::of(env, EnvState::of(env)?)?)
            }
        }
    }
}

/// An error to throw at once, where there is no promise to reject.
pub fn thrown(error: Error) -> napi::Error {
    napi::Error::from_reason(error.to_string())
}

/// A JavaScript `Error` with `code` and, for bad input, `path`.
pub fn error(env: &Env, error: &Error) -> Result<sys::napi_value> {
    let mut object = env.create_error(thrown(error.clone()))?;
    object.set_named_property("code", error.code())?;
    if let Some(path) = error.path() {
        object.set_named_property("path", path)?;
    }
    Ok(napi::JsValue::raw(&object))
}

/// The value, or the error thrown out of the running function: ours as a JavaScript `Error` with
/// `code` and `path`, the caller's own as it is.
pub fn or_throw<T, E: Into<ReadError<Thrown>>>(
    env: &Env,
    result: std::result::Result<T, E>,
) -> Result<T> {
    result.or_else(|error| match error.into() {
        ReadError::Invalid(error) => Thrown(self::error(env, &error)?).rethrow(env),
        ReadError::Fault(thrown) => thrown.rethrow(env),
    })
}

/// Tells the user once in a process that novelty is neutral, and why.
pub fn warn_without_embedder(env: &Env, outcome: &Outcome) {
    static WARNED: AtomicBool = AtomicBool::new(false);
    let reason = match outcome {
        Outcome::Scored(score) => match score.novelty.source() {
            NoveltySource::NoEmbedder { reason } => reason.to_string(),
            _ => return,
        },
        Outcome::WarmedUp(Err(reason)) => reason.to_string(),
        _ => return,
    };
    if WARNED.swap(true, Ordering::Relaxed) {
        return;
    }
    // Somebody may have replaced `emitWarning` by what throws; the score matters more.
    if emit_warning(env, &reason).is_err() {
        forget_exception(env);
    }
}

fn emit_warning(env: &Env, reason: &str) -> Result<()> {
    let process: Object = env.get_global()?.get_named_property("process")?;
    let emit: Function<FnArgs<(String, &str, &str)>, ()> =
        process.get_named_property("emitWarning")?;
    let message = format!(
        "@knowledgepulse/scoring works without its embedder, so every novelty is 0.5: {reason}"
    );
    let arguments = (message, "KnowledgePulseWarning", "KNOWLEDGEPULSE_NO_EMBEDDER");
    emit.apply(process, arguments.into())
}

/// Clears the exception that a failed call may have left behind.
pub fn forget_exception(env: &Env) {
    let mut thrown = ptr::null_mut();
    // SAFETY: on the thread of the environment, within a call from JavaScript.
    unsafe { sys::napi_get_and_clear_last_exception(env.raw(), &mut thrown) };
}

#[napi(object, use_nullable = true)]
pub struct EmbedderStatus {
    pub mode: String,
    pub runtime: String,
    pub precision: String,
    pub state: String,
    pub reason: Option<String>,
    pub model: Option<String>,
    pub model_dir: String,
    pub library: Option<String>,
    pub library_version: Option<String>,
}

#[napi(object)]
pub struct Status {
    pub embedder: EmbedderStatus,
    pub threads: u32,
    pub pending: f64,
    pub cache_size: u32,
}

impl Status {
    /// How things stand in one environment. Never waits for a load.
    pub fn of(env: &Env, state: &EnvState) -> Result<Self> {
        let slot = or_throw(env, settings::current_embedder())?;
        let settings = slot.settings();
        let (name, reason, model) = match slot.state() {
            State::Idle => ("idle", None, None),
            State::Loading => ("loading", None, None),
            State::Ready { model } => ("ready", None, Some(model)),
            State::Unavailable { reason } => ("unavailable", Some(reason.to_string()), None),
        };
        let uses_library = settings.runtime == Runtime::OnnxRuntime;
        let loaded = embedder::loaded_library().filter(|_| uses_library);
        let mut cache =
            state.scorer.cache().lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        Ok(Self {
            embedder: EmbedderStatus {
                mode: settings::MODE.name(settings.mode).into(),
                runtime: settings::RUNTIME.name(settings.runtime).into(),
                precision: settings::PRECISION.name(settings.actual_precision()).into(),
                state: name.into(),
                reason,
                model,
                model_dir: settings.model_dir.display().to_string(),
                library: uses_library.then(|| settings.library.display().to_string()),
                library_version: loaded.map(|(_, version)| version.into()),
            },
            threads: threads::pool_threads() as u32,
            pending: state.outbox.expected() as f64,
            cache_size: cache.len(scorer::monotonic_clock()) as u32,
        })
    }
}
