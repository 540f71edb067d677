//! One scored trace, as calibration sees it: a line of `rows.jsonl`.

use knowledgepulse_scoring::{
    dimensions::Dimensions,
    error::number,
    overrides::{self, Fired},
    weights::Weights,
};
use serde::{Deserialize, Serialize};

use crate::{
    error::{Error, Result},
    json::{self, Unfit},
};

/// One scored trace. In JSON its fields are in camelCase; unknown ones are ignored, so that rows may
/// carry more.
///
/// ```
/// use knowledgepulse_calibrate::Row;
///
/// let line = r#"{
///     "id": "kp:trace:1", "group": "session-7", "domain": "code", "createdAt": "2026-01-05T08:00:00Z",
///     "score": 0.585,
///     "dimensions": { "complexity": 0.4, "novelty": 0.5, "toolDiversity": 0.75, "outcomeConfidence": 0.9 },
///     "overrides": [], "nearest": null, "similarity": null, "noveltySource": "empty-cache",
///     "success": true, "confidence": 0.9, "tokens": 120, "isCut": false,
///     "precision": "exact", "model": "all-MiniLM-L6-v2", "version": "0.1.0"
/// }"#;
/// let row = Row::from_json(line, 1)?;
/// assert!(!row.is_compared());
/// assert_eq!(row.label, None);
/// # Ok::<(), knowledgepulse_calibrate::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Row {
    /// The id of the trace.
    #[serde(default)]
    pub id: Option<String>,
    /// What makes rows dependent on each other: task or session. A row without one is a group of its
    /// own.
    #[serde(default)]
    pub group: Option<String>,
    /// `metadata.task_domain`, which selects the weights.
    pub domain: String,
    /// When the trace was made, as the trace has it. Not read: the rows are in the order of scoring.
    #[serde(default)]
    pub created_at: String,
    /// The score, in \[0, 1\].
    pub score: f64,
    /// The dimensions that the score is made of, each in \[0, 1\].
    pub dimensions: Dimensions,
    /// The names of the rules that fired.
    #[serde(default)]
    pub overrides: Vec<String>,
    /// The id of the nearest trace, where it has one.
    #[serde(default)]
    pub nearest: Option<String>,
    /// The cosine similarity to the nearest trace, in \[-1, 1\]; `None` where the trace was compared
    /// with nothing, so that its novelty is the neutral 0.5.
    #[serde(default)]
    pub similarity: Option<f64>,
    /// What the novelty rests on: `cache`, `empty-cache`, `given`, `store`, `no-store`, `no-embedder`
    /// or `over-budget`.
    pub novelty_source: String,
    /// `metadata.success`.
    pub success: bool,
    /// `outcome.confidence`, in \[0, 1\].
    pub confidence: f64,
    /// `task.objective`, or its beginning: what a person knows the trace by.
    #[serde(default)]
    pub objective: Option<String>,
    /// The length of the text in tokens, before any cut.
    #[serde(default)]
    pub tokens: Option<u64>,
    /// Whether the model saw only the beginning of the text.
    #[serde(default)]
    pub is_cut: bool,
    /// The precision of the model.
    #[serde(default)]
    pub precision: Option<String>,
    /// The fingerprint of the model.
    #[serde(default)]
    pub model: Option<String>,
    /// The version of the scorer.
    #[serde(default)]
    pub version: String,
    /// Whether the trace was worth sharing, by someone's judgement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<bool>,
}

/// How far a cosine of unit vectors in float32 may leave \[-1, 1\].
const SIMILARITY_TOLERANCE: f64 = 1e-5;

impl Row {
    /// Reads a row from JSON. `row` is its number, from 1, for the error.
    ///
    /// # Errors
    ///
    /// `INVALID_ROW` with the field where the JSON is none of a row, or a value is out of its range.
    pub fn from_json(json: &str, row: usize) -> Result<Self> {
        let read: Self = json::read(json).map_err(|Unfit { path, expected, found }| {
            Error::row_field(row, path, expected, found)
        })?;
        read.check(row)?;
        Ok(read)
    }

    /// Reads rows from lines of JSON. Blank lines are skipped; they count for the numbers of errors.
    ///
    /// # Errors
    ///
    /// Those of [`Row::from_json`], for the first line that is no row.
    pub fn from_json_lines(text: &str) -> Result<Vec<Self>> {
        let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
        lines.map(|(index, line)| Self::from_json(line, index + 1)).collect()
    }

    /// Returns whether the novelty comes from a comparison, and is not the neutral 0.5.
    pub fn is_compared(&self) -> bool {
        self.similarity.is_some()
    }

    /// Returns the score that other weights would give: the weighted sum corrected by the overrides of
    /// the row, which do not depend on weights.
    ///
    /// # Errors
    ///
    /// The first override that is not known.
    pub fn score_by(&self, weights: &Weights) -> Result<f64, &str> {
        let fired = Fired::named(self.overrides.iter().map(String::as_str))?;
        Ok(fired.correct(weights.apply(&self.dimensions).clamp(0.0, 1.0)))
    }

    /// Fails with `INVALID_ROW` unless every value is in its range.
    pub(crate) fn check(&self, row: usize) -> Result<()> {
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
                return Err(Error::row_field(row, path, "a number in [0, 1]", number(value)));
            }
        }
        if let Some(value) = self.similarity
            && (value.is_nan() || value.abs() > 1.0 + SIMILARITY_TOLERANCE)
        {
            let expected = "a number in [-1, 1] or null";
            return Err(Error::row_field(row, "similarity", expected, number(value)));
        }
        if let Err(name) = Fired::named(self.overrides.iter().map(String::as_str)) {
            let known: Vec<_> = overrides::names().collect();
            let expected = format!("one of {}", known.join(", "));
            return Err(Error::row_field(row, "overrides", expected, format!("{name:?}")));
        }
        Ok(())
    }
}
