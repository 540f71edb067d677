//! How things stand, for JavaScript.

use std::sync::PoisonError;

use napi::{Env, Result};
use napi_derive::napi;

use super::{
    report::{milliseconds, or_throw},
    scorer::Owned,
    settings,
};
use crate::embedder::{self, Runtime, State};

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
pub struct CallCounts {
    pub answered: f64,
    pub failed: f64,
    pub aborted: f64,
    pub over_budget: f64,
}

/// Milliseconds.
#[napi(object)]
pub struct Latency {
    pub p50: f64,
    pub p90: f64,
    pub p99: f64,
}

#[napi(object, use_nullable = true)]
pub struct Status {
    pub embedder: EmbedderStatus,
    pub threads: u32,
    pub budget_ms: Option<f64>,
    pub long_text: String,
    pub pending: f64,
    pub cache_size: u32,
    pub calls: CallCounts,
    pub latency_ms: Option<Latency>,
}

impl Status {
    /// How things stand with a scorer. Never waits for a load.
    pub fn of(env: &Env, owned: &Owned) -> Result<Self> {
        let embedder = or_throw(env, owned.embedder())?;
        let settings = embedder.settings();
        let (name, reason, model) = match embedder.state() {
            State::Idle => ("idle", None, None),
            State::Loading => ("loading", None, None),
            State::Ready { model } => ("ready", None, Some(model)),
            State::Unavailable { reason } => ("unavailable", Some(reason.to_string()), None),
        };
        let uses_library = settings.runtime == Runtime::OnnxRuntime;
        let loaded = embedder::loaded_library().filter(|_| uses_library);
        let scorer = &owned.scorer;
        let statistics = scorer.statistics();
        let percentile = |share| statistics.percentile(share).map(milliseconds);
        let latency_ms = match (percentile(0.5), percentile(0.9), percentile(0.99)) {
            (Some(p50), Some(p90), Some(p99)) => Some(Latency { p50, p90, p99 }),
            _ => None,
        };
        let now = scorer.now();
        let cache_size =
            scorer.cache().lock().unwrap_or_else(PoisonError::into_inner).len(now) as u32;
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
            threads: scorer.options().threads as u32,
            budget_ms: scorer.options().budget.map(milliseconds),
            long_text: settings::LONG_TEXT.name(scorer.options().long_text).into(),
            pending: statistics.pending() as f64,
            cache_size,
            calls: CallCounts {
                answered: statistics.answered as f64,
                failed: statistics.failed as f64,
                aborted: statistics.aborted as f64,
                over_budget: statistics.over_budget as f64,
            },
            latency_ms,
        })
    }
}
