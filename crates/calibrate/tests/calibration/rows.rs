//! Rows for the tests.

use knowledgepulse_calibrate::{Calibration, Options, Row};
use knowledgepulse_scoring::{
    Profiles, Result,
    score::Fired,
    weights::{Dimensions, Weights},
};
use knowledgepulse_workers::CancelToken;

/// A valid row whose values vary with its number.
pub fn row(number: usize) -> Row {
    let vary = |prime: usize| (number * prime % 101) as f64 / 101.0;
    let success = !number.is_multiple_of(3);
    let confidence = 0.5 + vary(13) / 2.0;
    let novelty = 0.05 + 0.9 * vary(37);
    let mut row = Row {
        source: None,
        id: Some(format!("t{number}")),
        group: Some(format!("g{}", number / 4)),
        domain: if number.is_multiple_of(5) { "code" } else { "finance" }.to_owned(),
        created_at: String::new(),
        score: 0.0,
        dimensions: Dimensions {
            complexity: vary(7),
            novelty,
            tool_diversity: vary(53),
            outcome_confidence: confidence * if success { 1.0 } else { 0.3 },
        },
        overrides: Vec::new(),
        nearest: None,
        similarity: Some(1.0 - novelty),
        novelty_source: "cache".to_owned(),
        success,
        success_from: None,
        confidence,
        confidence_from: None,
        objective: None,
        steps: None,
        tokens: Some(100),
        is_cut: false,
        novelty: None,
        precision: Some("exact".to_owned()),
        model_fingerprint: Some("m".to_owned()),
        version: "0.1.0".to_owned(),
        label: Some(number.is_multiple_of(2)),
    };
    row.score = scored(&row);
    row
}

/// The score of a row by the weights of its domain.
pub fn scored(row: &Row) -> f64 {
    score_by(row, &Profiles::default().for_domain(&row.domain).weights)
}

/// The score of a row by other weights.
pub fn score_by(row: &Row, weights: &Weights) -> f64 {
    let fired = Fired::named(row.overrides.iter().map(String::as_str)).unwrap();
    fired.correct(weights.apply(&row.dimensions))
}

pub fn calibrate(rows: &[Row], options: &Options) -> Result<Calibration> {
    knowledgepulse_calibrate::calibrate(rows, options, &CancelToken::default())
}
