//! What goes back to JavaScript: numbers, reports, errors, the status, one warning.

use std::{
    ptr,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use napi::{
    Env, JsValue, Property, Result,
    bindgen_prelude::{FnArgs, Function, JsObjectValue, Object, ToNapiValue},
    check_status, sys,
};
use napi_derive::napi;

use super::{call::Answer, status::Status, view::Thrown};
use crate::{
    dimensions::{Dimensions, NoveltySource},
    embedder::TextFacts,
    error::Error,
    scorer::{Account, Outcome, Times},
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
    pub nearest: Option<String>,
    pub reason: Option<String>,
}

#[napi(object)]
pub struct TextReport {
    pub tokens: u32,
    pub windows: u32,
    pub is_cut: bool,
    pub is_remembered: bool,
}

/// Milliseconds.
#[napi(object)]
pub struct TimesReport {
    pub total: f64,
    pub queue: f64,
    pub tokenize: f64,
    pub infer: f64,
    pub turn: f64,
    pub cache: f64,
}

#[napi(object, use_nullable = true)]
pub struct ScoreReport {
    pub score: f64,
    pub dimensions: PerDimension,
    pub weights: PerDimension,
    pub profile: String,
    pub overrides: Vec<OverrideReport>,
    pub novelty: NoveltyReport,
    pub text: Option<TextReport>,
    pub times: TimesReport,
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
        let none = |source: &str| Self {
            source: source.into(),
            max_similarity: None,
            nearest: None,
            reason: None,
        };
        match source {
            NoveltySource::Cache { max_similarity, nearest } => Self {
                max_similarity: Some(*max_similarity),
                nearest: nearest.as_deref().map(Into::into),
                ..none("cache")
            },
            NoveltySource::EmptyCache => none("empty-cache"),
            NoveltySource::NoEmbedder { reason } => {
                Self { reason: Some(reason.to_string()), ..none("no-embedder") }
            }
            NoveltySource::OverBudget => none("over-budget"),
        }
    }
}

impl From<TextFacts> for TextReport {
    fn from(TextFacts { tokens, windows, is_cut, is_remembered }: TextFacts) -> Self {
        Self { tokens: tokens as u32, windows: windows as u32, is_cut, is_remembered }
    }
}

impl From<Times> for TimesReport {
    fn from(Times { total, queue, tokenize, infer, turn, cache }: Times) -> Self {
        let [total, queue, tokenize, infer, turn, cache] =
            [total, queue, tokenize, infer, turn, cache].map(milliseconds);
        Self { total, queue, tokenize, infer, turn, cache }
    }
}

pub fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

impl From<&Account> for ScoreReport {
    fn from(Account { score, text, times }: &Account) -> Self {
        Self {
            score: score.value,
            dimensions: (&score.dimensions).into(),
            weights: (&score.profile.weights).into(),
            profile: score.profile.domain.clone().into(),
            overrides: score
                .overrides
                .iter()
                .map(|o| OverrideReport { name: o.name.into(), before: o.before, after: o.after })
                .collect(),
            novelty: score.novelty.source().into(),
            text: text.map(Into::into),
            times: (*times).into(),
        }
    }
}

/// The value that the promise of a call resolves to.
pub fn answer(env: &Env, outcome: &Outcome, answer: &Answer) -> Result<sys::napi_value> {
    // SAFETY: on the thread of the environment, within a call from JavaScript.
    unsafe {
        match (outcome, answer) {
            (Outcome::Scored(account), Answer::Report) => {
                ScoreReport::to_napi_value(env.raw(), (&**account).into())
            }
            (Outcome::Scored(account), _) => f64::to_napi_value(env.raw(), account.score.value),
            (Outcome::Value(value), _) => f64::to_napi_value(env.raw(), *value),
            (Outcome::WarmedUp(_), Answer::Status(owned)) => {
                Status::to_napi_value(env.raw(), Status::of(env, owned)?)
            }
            (Outcome::WarmedUp(_) | Outcome::Remembered, _) => <()>::to_napi_value(env.raw(), ()),
        }
    }
}

/// An error to throw at once, where there is no promise to reject.
pub fn thrown(error: Error) -> napi::Error {
    napi::Error::from_reason(error.to_string())
}

/// A JavaScript `Error` with `code` and, for bad input, `path`. They are defined, not assigned: a
/// setter on a prototype has no say in it.
pub fn error(env: &Env, error: &Error) -> Result<sys::napi_value> {
    let message = env.create_string(error.to_string())?;
    let mut raw = ptr::null_mut();
    // SAFETY: on the thread of the environment, within a call from JavaScript; no code is given.
    check_status!(unsafe {
        sys::napi_create_error(env.raw(), ptr::null_mut(), message.raw(), &mut raw)
    })?;
    let property = |name, value: &str| {
        Property::new().with_utf8_name(name).and_then(|p| p.with_napi_value(env, value))
    };
    let mut properties = vec![property("code", error.code())?];
    if let Some(path) = error.path() {
        properties.push(property("path", path)?);
    }
    Object::from_raw(env.raw(), raw).define_properties(&properties)?;
    Ok(raw)
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
        Outcome::Scored(account) => match account.score.novelty.source() {
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
