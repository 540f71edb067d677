//! A scored trace as a line of JSON.

use std::sync::Arc;

use knowledgepulse_import::{Error as ImportError, Source};
use knowledgepulse_scoring::{Error, Score, Trace, dimensions::Dimensions, embed::TextFacts};
use serde::Serialize;

use super::{Model, flow::Slot};
use crate::model::{Choice, Warning};

/// How many characters of the objective are in a row.
const OBJECTIVE_CHARS: usize = 120;

/// What a row says of its trace.
pub struct Facts {
    source: Source,
    id: Option<Arc<str>>,
    group: Option<String>,
    domain: String,
    created_at: String,
    success: bool,
    confidence: f64,
    objective: String,
    steps: usize,
}

impl Facts {
    pub fn of(
        source: Source,
        trace: &Trace,
        objective: &str,
        created_at: String,
        group: Option<String>,
    ) -> Self {
        let end = objective.char_indices().nth(OBJECTIVE_CHARS);
        let end = end.map_or(objective.len(), |(at, _)| at);
        Self {
            source,
            id: trace.id().cloned(),
            group,
            domain: trace.domain().into(),
            created_at,
            success: trace.success(),
            confidence: trace.confidence(),
            objective: objective[..end].into(),
            steps: trace.steps().len(),
        }
    }

    pub fn row(&self, score: &Score, text: Option<TextFacts>, model: &Model) -> Slot {
        let nearest = score.novelty.nearest();
        let row = Row {
            source: &self.source,
            id: self.id.as_deref(),
            group: self.group.as_deref(),
            domain: &self.domain,
            created_at: &self.created_at,
            score: score.value,
            dimensions: score.dimensions,
            overrides: score.overrides.iter().map(|fired| fired.name).collect(),
            nearest: nearest.and_then(|nearest| nearest.id.as_deref()),
            similarity: nearest.map(|nearest| nearest.similarity),
            novelty_source: score.novelty.source(),
            success: self.success,
            confidence: self.confidence,
            objective: &self.objective,
            steps: self.steps,
            tokens: text.as_ref().map(|text| text.tokens),
            is_cut: text.as_ref().is_some_and(|text| text.is_cut),
            precision: text.as_ref().map(|_| model.embedder.model.settings().precision.name()),
            model: text.and_then(|_| model.fingerprint()),
            version: env!("CARGO_PKG_VERSION"),
        };
        let mut line = Vec::with_capacity(640);
        if let Err(error) = serde_json::to_writer(&mut line, &row) {
            return self.failed(&Error::internal(error));
        }
        line.push(b'\n');
        Slot::Line(line, Warning::of_novelty(&model.embedder, &score.novelty))
    }

    pub fn failed(&self, error: &Error) -> Slot {
        Slot::Failed(failure_json(&self.source, error))
    }
}

/// A scored trace. `ScoreRow` in JavaScript, `Row` of the crate `knowledgepulse-calibrate`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Row<'a> {
    source: &'a Source,
    id: Option<&'a str>,
    group: Option<&'a str>,
    domain: &'a str,
    created_at: &'a str,
    score: f64,
    dimensions: Dimensions,
    overrides: Vec<&'static str>,
    nearest: Option<&'a str>,
    similarity: Option<f64>,
    novelty_source: &'static str,
    success: bool,
    confidence: f64,
    objective: &'a str,
    steps: usize,
    tokens: Option<usize>,
    is_cut: bool,
    precision: Option<&'static str>,
    model: Option<&'a str>,
    version: &'static str,
}

pub fn error_json(error: &ImportError) -> String {
    serde_json::json!(error).to_string()
}

/// A trace that was read, but could not be scored.
pub fn failure_json(source: &Source, error: &Error) -> String {
    let Source { name, line } = source;
    let message = format!("{name}:{line}: {error}");
    serde_json::json!({ "code": error.code(), "source": name, "line": line, "message": message })
        .to_string()
}
