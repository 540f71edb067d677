//! The status of a scorer: `ScoringStatus` of index.d.ts.

use knowledgepulse_embedder::{BackendKind, LoadState, loaded_library};
use serde_json::{Value, json};

use crate::{
    bound::BoundScorer,
    choice::Choice,
    embedder::{Mode, ModelEmbedder},
};

/// Returns the status of a scorer. Never waits for a load or a search.
pub fn status(bound: &BoundScorer, embedder: &ModelEmbedder) -> Value {
    let BoundScorer { scorer, budget_ms, long_text, .. } = bound;
    let statistics = scorer.statistics();
    let percentile = |share| Some(statistics.percentile(share)?.as_secs_f64() * 1000.0);
    let latency = percentile(0.5)
        .map(|p50| json!({ "p50": p50, "p90": percentile(0.9), "p99": percentile(0.99) }));
    json!({
        "embedder": embedder_status(embedder),
        "threads": scorer.options().concurrency,
        "budgetMs": budget_ms,
        "longText": long_text.name(),
        "pending": statistics.pending(),
        "cacheSize": scorer.cache_len(),
        "calls": {
            "answered": statistics.answered,
            "failed": statistics.failed,
            "aborted": statistics.aborted,
            "overBudget": statistics.over_budget,
        },
        "latencyMs": latency,
    })
}

fn embedder_status(embedder: &ModelEmbedder) -> Value {
    let ModelEmbedder { mode, model, .. } = embedder;
    let settings = model.settings();
    let (state, reason, loaded) = match (mode, model.state()) {
        (Mode::Off, _) => ("unavailable", Some(ModelEmbedder::OFF.into()), None),
        (_, LoadState::Idle) => ("idle", None, None),
        (_, LoadState::Loading) => ("loading", None, None),
        (_, LoadState::Ready(embedder)) => ("ready", None, Some(embedder)),
        (_, LoadState::Failed { error, .. }) => ("unavailable", Some(error.to_string()), None),
    };
    let onnx_error = loaded.as_ref().and_then(|loaded| loaded.onnx_error());
    let backend = if onnx_error.is_some() { BackendKind::Native } else { settings.backend };
    let (library, version) = match backend {
        BackendKind::Onnx => (Some(settings.library.display().to_string()), loaded_library()),
        BackendKind::Native => (None, None),
    };
    json!({
        "mode": mode.name(),
        "backend": backend.name(),
        "precision": settings.precision.name(),
        "state": state,
        "reason": reason.or(onnx_error.map(ToString::to_string)),
        "model": loaded.as_ref().map(|loaded| embedder.name_of(loaded)),
        "modelFolder": settings.folder().display().to_string(),
        "dimensions": loaded.as_ref().map(|loaded| loaded.dimensions()),
        "maxTokens": loaded.as_ref().map(|loaded| loaded.max_tokens()),
        "library": library,
        "libraryVersion": version.map(|(_, version)| version),
    })
}
