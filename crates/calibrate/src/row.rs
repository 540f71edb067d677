//! One scored trace, as scoring writes it and calibration reads it: a line of `rows.jsonl`.

#![expect(missing_docs, reason = "the declarations of the public API document the fields")]

use knowledgepulse_scoring::{
    Error, Invalid, Result,
    error::number,
    score::{Fired, rule_names},
    weights::Dimensions,
};
use serde::{Deserialize, Serialize};

use crate::json::read_json;

const INVALID: Invalid = Invalid::Rows("INVALID_ROW");

/// One scored trace. In JSON its fields are in camelCase, and unknown ones are ignored.
/// `lib/types/logs.d.ts` documents the fields of `ScoreRow`, `calibrate.d.ts` the label.
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
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
    pub id: Option<String>,
    pub group: Option<String>,
    pub domain: String,
    #[serde(default)]
    pub created_at: String,
    pub score: f64,
    pub dimensions: Dimensions,
    #[serde(default)]
    pub overrides: Vec<String>,
    pub nearest: Option<String>,
    // Required: without it, no row would be compared with anything.
    #[serde(deserialize_with = "Option::deserialize")]
    pub similarity: Option<f64>,
    pub novelty_source: String,
    pub success: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub success_from: Option<String>,
    pub confidence: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confidence_from: Option<String>,
    pub objective: Option<String>,
    pub steps: Option<u64>,
    pub tokens: Option<u64>,
    #[serde(default)]
    pub is_cut: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub novelty: Option<String>,
    pub precision: Option<String>,
    pub model_fingerprint: Option<String>,
    #[serde(default)]
    pub version: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<bool>,
}

/// A place in a log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    pub name: String,
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

    /// Returns whether the log did not say whether the run succeeded.
    pub fn assumes_success(&self) -> bool {
        self.success_from.as_deref() == Some("assumed")
    }

    /// Fails with `INVALID_ROW` unless every value is in its range.
    fn check(&self, place: &str) -> Result<()> {
        let fail = |path, expected: &str, found| {
            Err(Error::invalid(INVALID, format!("{place}.{path}"), expected, found))
        };
        let dimensions = &self.dimensions;
        for (path, value) in [
            ("score", self.score),
            ("dimensions.complexity", dimensions.complexity),
            ("dimensions.novelty", dimensions.novelty),
            ("dimensions.toolDiversity", dimensions.tool_diversity),
            ("dimensions.outcomeConfidence", dimensions.outcome_confidence),
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
            let known: Vec<_> = rule_names().collect();
            let expected = format!("one of {}", known.join(", "));
            return fail("overrides", &expected, format!("{name:?}"));
        }
        Ok(())
    }
}
