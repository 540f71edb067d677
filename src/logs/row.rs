//! A scored trace as a line of JSON.

use std::sync::Arc;

use knowledgepulse_calibrate::{Row, Source};
use knowledgepulse_import::{Origin, Provenance, Source as ImportSource};
use knowledgepulse_scoring::{Error, Score, Trace, embed::TextFacts};

use super::{Model, lines::Slot};
use crate::model::{Choice, Warning};

/// The most characters of the objective in a row.
const OBJECTIVE_CHARS: usize = 120;

/// What the row of a trace says, apart from its score.
pub struct Facts {
    provenance: Provenance,
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
        provenance: Provenance,
        trace: &Trace,
        objective: &str,
        created_at: String,
        group: Option<String>,
    ) -> Self {
        let end = objective.char_indices().nth(OBJECTIVE_CHARS);
        let end = end.map_or(objective.len(), |(at, _)| at);
        Self {
            provenance,
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
        let ImportSource { name, line } = &self.provenance.source;
        let row = Row {
            source: Some(Source { name: name.to_string(), line: *line }),
            id: self.id.as_deref().map(str::to_owned),
            group: self.group.clone(),
            domain: self.domain.clone(),
            created_at: self.created_at.clone(),
            score: score.value,
            dimensions: score.dimensions,
            overrides: score.overrides.iter().map(|fired| fired.name.to_owned()).collect(),
            nearest: nearest.and_then(|nearest| nearest.id.as_deref()).map(str::to_owned),
            similarity: nearest.map(|nearest| nearest.similarity),
            novelty_source: score.novelty.source().to_owned(),
            success: self.success,
            success_from: name_of(self.provenance.success_from),
            confidence: self.confidence,
            confidence_from: name_of(self.provenance.confidence_from),
            objective: Some(self.objective.clone()),
            steps: Some(self.steps as u64),
            tokens: text.as_ref().map(|text| text.tokens as u64),
            is_cut: text.as_ref().is_some_and(|text| text.is_cut),
            precision: text
                .as_ref()
                .map(|_| model.embedder.model.settings().precision.name().to_owned()),
            model_fingerprint: text.and_then(|_| model.fingerprint()).map(str::to_owned),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            label: None,
        };
        let mut line = Vec::with_capacity(640);
        if let Err(error) = serde_json::to_writer(&mut line, &row) {
            return self.failed(&Error::internal(error));
        }
        line.push(b'\n');
        Slot::Line(line, Warning::of_novelty(&model.embedder, &score.novelty))
    }

    pub fn failed(&self, error: &Error) -> Slot {
        Slot::Failed(failure_json(&self.provenance.source, error))
    }
}

/// Returns the name of an origin, as in JSON.
fn name_of(origin: Origin) -> Option<String> {
    serde_json::json!(origin).as_str().map(str::to_owned)
}

/// Returns the error of a trace that was read but could not be scored, as JSON.
pub fn failure_json(source: &ImportSource, error: &Error) -> String {
    let ImportSource { name, line } = source;
    let message = format!("{name}:{line}: {error}");
    serde_json::json!({ "code": error.code(), "source": name, "line": line, "message": message })
        .to_string()
}
