//! One scored trace, as scoring writes it and calibration reads it: a line of `rows.jsonl`.

use knowledgepulse_scoring::{
    Error, Invalid, Result,
    dimensions::Dimensions,
    error::number,
    overrides::{self, Fired},
};
use serde::{Deserialize, Serialize};

use crate::json::read_json;

const INVALID: Invalid = Invalid::Rows("INVALID_ROW");

/// One scored trace. In JSON its fields are in camelCase, and unknown ones are ignored.
///
/// ```
/// use knowledgepulse_calibrate::Row;
///
/// let line = r#"{
///     "source": { "name": "runs.jsonl", "line": 3 }, "id": "kp:trace:1", "group": "session-7",
///     "domain": "code", "createdAt": "2026-01-05T08:00:00Z", "score": 0.585,
///     "dimensions": { "complexity": 0.4, "novelty": 0.5, "toolDiversity": 0.75, "outcomeConfidence": 0.9 },
///     "overrides": [], "nearest": null, "similarity": null, "noveltySource": "empty-cache",
///     "success": true, "confidence": 0.9, "objective": "Find the flaky test", "steps": 12,
///     "tokens": 120, "isCut": false, "precision": "exact", "modelFingerprint": "5c1f…",
///     "version": "0.1.0"
/// }"#;
/// let row = Row::from_json(line, 1)?;
/// assert!(!row.is_compared());
/// assert_eq!(row.label, None);
/// # Ok::<(), knowledgepulse_scoring::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Row {
    /// Where the trace begins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
    /// The id of the trace.
    pub id: Option<String>,
    /// The task or session whose rows depend on each other. A row without one is its own group.
    pub group: Option<String>,
    /// `metadata.task_domain`, which selects the weights.
    pub domain: String,
    /// `metadata.created_at`. Calibration ignores it: rows are in the order of scoring.
    #[serde(default)]
    pub created_at: String,
    /// The score, in \[0, 1\].
    pub score: f64,
    /// The dimensions that the score is made of, each in \[0, 1\].
    pub dimensions: Dimensions,
    /// The names of the rules that fired.
    #[serde(default)]
    pub overrides: Vec<String>,
    /// The id of the nearest trace, if it has one.
    pub nearest: Option<String>,
    /// The cosine similarity to the nearest trace, in \[-1, 1\]; `None` if the trace was compared with
    /// nothing, so that its novelty is the neutral 0.5.
    pub similarity: Option<f64>,
    /// Where the novelty comes from: `cache`, `empty-cache`, `given`, `store`, `no-store`,
    /// `no-embedder` or `over-budget`.
    pub novelty_source: String,
    /// `metadata.success`.
    pub success: bool,
    /// Where `success` comes from: `label`, `status`, `assumed`, `option` or `own`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub success_from: Option<String>,
    /// `outcome.confidence`, in \[0, 1\].
    pub confidence: f64,
    /// Where `confidence` comes from: `explicit`, `option`, `logprobs`, `default` or `own`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confidence_from: Option<String>,
    /// The beginning of `task.objective`.
    pub objective: Option<String>,
    /// The number of steps.
    pub steps: Option<u64>,
    /// The number of tokens that the model has seen; `None` without an embedding.
    pub tokens: Option<u64>,
    /// Whether the model has seen only the beginning of the text.
    #[serde(default)]
    pub is_cut: bool,
    /// The precision of the model; `None` without an embedding.
    pub precision: Option<String>,
    /// The fingerprint of the model; `None` without an embedding.
    pub model_fingerprint: Option<String>,
    /// The version of the scorer.
    #[serde(default)]
    pub version: String,
    /// Whether the trace was worth sharing, by someone's judgement.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<bool>,
}

/// A place in a log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// The name of the log.
    pub name: String,
    /// The line, from 1.
    pub line: u64,
}

/// The tolerance of the cosine of unit vectors in float32.
const SIMILARITY_TOLERANCE: f64 = 1e-5;

impl Row {
    /// Reads a row from JSON. `number` is its number, from 1, for the error.
    ///
    /// # Errors
    ///
    /// `INVALID_ROW` with the field if the JSON is not a row or a value is out of its range.
    pub fn from_json(json: &str, number: usize) -> Result<Self> {
        let place = format!("rows[{}]", number - 1);
        let row: Self = read_json(json, INVALID, &place)?;
        row.check(&place)?;
        Ok(row)
    }

    /// Reads rows from lines of JSON. Blank lines are skipped, but counted for the numbers of errors.
    ///
    /// # Errors
    ///
    /// As [`Row::from_json`], for the first invalid line.
    pub fn from_json_lines(text: &str) -> Result<Vec<Self>> {
        let lines = text.lines().zip(1..).filter(|(line, _)| !line.trim().is_empty());
        lines.map(|(line, number)| Self::from_json(line, number)).collect()
    }

    /// Returns whether the novelty comes from a comparison, and is not the neutral 0.5.
    pub fn is_compared(&self) -> bool {
        self.similarity.is_some()
    }

    /// Fails with `INVALID_ROW` unless every value is in its range.
    fn check(&self, place: &str) -> Result<()> {
        let fail = |path, expected: &str, found| {
            Err(Error::invalid(INVALID, format!("{place}.{path}"), expected, found))
        };
        let Dimensions { complexity, novelty, tool_diversity, outcome_confidence } =
            self.dimensions;
        for (path, value) in [
            ("score", self.score),
            ("dimensions.complexity", complexity),
            ("dimensions.novelty", novelty),
            ("dimensions.toolDiversity", tool_diversity),
            ("dimensions.outcomeConfidence", outcome_confidence),
            ("confidence", self.confidence),
        ] {
            if !(0.0..=1.0).contains(&value) {
                return fail(path, "a number in [0, 1]", number(value));
            }
        }
        let is_beyond = |value: &f64| value.abs() > 1.0 + SIMILARITY_TOLERANCE;
        if let Some(value) = self.similarity.filter(is_beyond) {
            return fail("similarity", "a number in [-1, 1] or null", number(value));
        }
        if let Err(name) = Fired::named(self.overrides.iter().map(String::as_str)) {
            let known: Vec<_> = overrides::names().collect();
            let expected = format!("one of {}", known.join(", "));
            return fail("overrides", &expected, format!("{name:?}"));
        }
        Ok(())
    }
}
