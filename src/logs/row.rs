//! A scored trace as a line of JSON.

use knowledgepulse_calibrate::{Row, Source};
use knowledgepulse_import::{Origin, Provenance, RunFacts, Source as ImportSource};
use knowledgepulse_scoring::{Error, Result, Trace, scorer::Outcome};
use serde::Serialize;

use super::lines::Slot;
use crate::model::{Choice, ModelEmbedder, NoveltyKind, Warning};

/// The maximum length of the objective in a row, in characters.
const OBJECTIVE_CHARS: usize = 120;

/// A row, and what calibration does not read.
#[derive(Serialize)]
struct Line {
    #[serde(flatten)]
    row: Row,
    key: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    facts: Option<RunFacts>,
}

/// Returns a function from the result of a trace to its line.
pub fn line_of(
    provenance: Provenance,
    trace: &Trace,
    objective: &str,
    created_at: String,
    group: Option<String>,
) -> impl FnOnce(Result<Outcome>, &ModelEmbedder) -> Slot + Send + use<> {
    let id = trace.id().map(|id| id.to_string());
    let (domain, steps) = (trace.domain().to_owned(), trace.steps().count);
    let (success, confidence) = (trace.success(), trace.confidence());
    let objective = objective.chars().take(OBJECTIVE_CHARS).collect();
    move |result, embedder| {
        let failed = |error: &Error| Slot::Failed(failure_json(&provenance.source, error));
        let warning = result.as_ref().ok().and_then(|outcome| Warning::of(embedder, outcome));
        let report = match result {
            Ok(Outcome::Scored(report)) => report,
            Ok(_) => return failed(&Error::internal("expected a score")),
            Err(error) => return failed(&error),
        };
        let (score, nearest) = (&report.score, report.score.novelty.nearest());
        let (text, kind) = (report.text.as_ref(), embedder.novelty);
        let precision = embedder.model.settings.precision.name();
        let row = Row {
            source: Some(Source {
                name: provenance.source.name.to_string(),
                line: provenance.source.line,
            }),
            id,
            group,
            domain,
            created_at,
            score: score.value,
            dimensions: score.dimensions,
            overrides: score.overrides.iter().map(|fired| fired.name.to_owned()).collect(),
            nearest: nearest.and_then(|nearest| nearest.id.as_deref()).map(str::to_owned),
            similarity: nearest.map(|nearest| nearest.similarity),
            novelty_source: score.novelty.source().to_owned(),
            success,
            success_from: name_of(provenance.success_from),
            confidence,
            confidence_from: name_of(provenance.confidence_from),
            objective: Some(objective),
            steps: Some(steps as u64),
            tokens: text.map(|text| text.tokens as u64),
            is_cut: text.is_some_and(|text| text.is_cut),
            novelty: text.filter(|_| kind != NoveltyKind::Text).map(|_| kind.name().to_owned()),
            precision: text.filter(|_| kind != NoveltyKind::Words).map(|_| precision.to_owned()),
            model_fingerprint: text.and_then(|_| Some(embedder.fingerprint().ok()?.to_string())),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            label: None,
        };
        match serde_json::to_string(&Line { row, key: provenance.key, facts: provenance.facts }) {
            Ok(line) => Slot::Line(line, warning),
            Err(error) => failed(&Error::internal(error)),
        }
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
