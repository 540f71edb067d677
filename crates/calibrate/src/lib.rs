//! Chooses thresholds and weights from the scores of a user's traces.
//!
//! ```text
//!  rows ──► all but the cold start ──┬──► distributions, by domain
//!                                    ├──► threshold, for a share or a precision
//!                                    └──► with labels: ROC, precision and recall, deciles, leakage, fit
//! ```
//!
//! It works on [`Row`]s in the order of scoring, and knows no traces, models or JavaScript. A threshold
//! accepts a row whose score is not below it. Rows that were compared with nothing, and the first rows
//! after an empty memory, have an unusual novelty and are excluded ([`Calibration::rows`]). Intervals are
//! percentile intervals of a bootstrap that draws whole groups, because rows of one task or session
//! depend on each other; intervals of rates are Wilson's at the effective sample size.
//!
//! ```
//! use knowledgepulse_calibrate::{Options, Row, Target, calibrate};
//! use knowledgepulse_workers::CancelToken;
//!
//! let line = r#"{ "domain": "airline", "score": SCORE, "noveltySource": "cache", "similarity": 0.6,
//!     "dimensions": { "complexity": 0.3, "novelty": 0.4, "toolDiversity": 0.2, "outcomeConfidence": 0.9 },
//!     "success": true, "confidence": 0.9 }"#
//!     .replace('\n', " ");
//! let lines: Vec<_> = (0..100).map(|i| line.replace("SCORE", &format!("{}", f64::from(i) / 200.0))).collect();
//! let rows = Row::from_json_lines(&lines.join("\n"))?;
//! let options = Options { target: Some(Target::Share(0.2)), ..Options::default() };
//! let threshold = calibrate(&rows, &options, &CancelToken::default())?.threshold.unwrap();
//! assert_eq!((threshold.value, threshold.accepted), (Some(0.4), 20));
//! # Ok::<(), knowledgepulse_scoring::Error>(())
//! ```

#![forbid(unsafe_code)]

mod bootstrap;
pub mod calibration;
mod describe;
mod fit;
mod json;
mod labels;
pub mod options;
mod ranking;
mod roc;
mod row;
mod statistics;
mod threshold;
mod warnings;

pub use calibration::Calibration;
pub use json::read_json;
pub use options::{Options, Target};
pub use row::{Row, Source};

use knowledgepulse_scoring::{Error, Invalid, Result};
use knowledgepulse_workers::CancelToken;

use self::{bootstrap::Bootstrap, calibration::RowCounts, labels::Labelled, statistics::Groups};

/// Describes the scores of `rows`, which must be in the order of scoring, and, depending on the options, chooses a
/// threshold and fits weights to their labels.
///
/// # Errors
///
/// - `NO_ROWS`: there are none, or all of them are excluded as cold start.
/// - `NO_LABELS`: a target precision or a fit needs labels, and no used row has one; or the labels equal success that is
///   assumed.
/// - `ABORTED`: soon after a cancellation.
pub fn calibrate(rows: &[Row], options: &Options, cancel: &CancelToken) -> Result<Calibration> {
    let bootstrap = Bootstrap { options, cancel };
    let is_cold = rows.first().is_some_and(|row| !row.is_compared());
    let first_limit = options.first.unwrap_or(if is_cold { (rows.len() / 10).min(10) } else { 0 });
    let is_used = |(number, row): &(usize, &Row)| *number > first_limit && row.is_compared();
    let numbered: Vec<(usize, &Row)> = (1..).zip(rows).filter(is_used).collect();
    let used: Vec<&Row> = numbered.iter().map(|(_, row)| *row).collect();
    if used.is_empty() {
        let expected =
            format!("a row after the first {first_limit} that was compared with an earlier trace");
        let (expected, found) = match rows.len() {
            0 => ("rows", "none".to_owned()),
            count => (&*expected, format!("none among {count}")),
        };
        return Err(Error::invalid(Invalid::Rows("NO_ROWS"), "rows", expected, found));
    }
    let labelled = Labelled::of(used.iter().copied());
    let for_precision = matches!(options.target, Some(Target::Precision(_)));
    if labelled.rows.is_empty() && (for_precision || options.fit) {
        let option = if for_precision { "target.precision" } else { "fit" };
        return Err(Error::invalid(Invalid::Rows("NO_LABELS"), option, "rows with labels", "none"));
    }
    let assumed = labelled.rows.iter().filter(|row| row.assumes_success()).count();
    let has_both = labelled.positives() > 0 && labelled.negatives() > 0;
    if assumed > 0 && has_both && labelled.leakage().agreement >= 1.0 {
        let found = format!("success, which is assumed in {assumed} of {}", labelled.rows.len());
        let expected = "labels from outside of the logs";
        return Err(Error::invalid(Invalid::Rows("NO_LABELS"), "labels", expected, found));
    }

    let groups = Groups::of_rows(&used);
    let uncompared = rows.iter().filter(|row| !row.is_compared()).count();
    let counts = RowCounts {
        total: rows.len(),
        used: used.len(),
        uncompared,
        first: rows.len() - used.len() - uncompared,
        first_limit,
        groups: groups.count,
        ungrouped: used.iter().filter(|row| row.group.is_none()).count(),
        labelled: labelled.rows.len(),
    };
    let scores: Vec<f64> = used.iter().map(|row| row.score).collect();
    let threshold = options
        .target
        .map(|target| threshold::choose(target, &scores, &groups, &labelled, &bootstrap));
    let chosen = threshold.as_ref().and_then(|threshold| threshold.value);
    let sources = warnings::sources(rows);
    let calibration = Calibration {
        overall: describe::summary(&used, rows.len(), chosen),
        domains: describe::domains(rows, &used, chosen, &options.profiles),
        timeline: describe::timeline(rows),
        examples: describe::examples(numbered, chosen),
        labels: roc::judge(&labelled, &bootstrap),
        fits: if options.fit { fit::fit(&labelled, &bootstrap) } else { Vec::new() },
        warnings: warnings::warnings(rows, &used, &labelled, &counts, &sources, &options.profiles),
        options: options.clone(),
        rows: counts,
        sources,
        threshold,
    };
    // After a cancellation, it is meaningless.
    if cancel.is_cancelled() { Err(Error::aborted()) } else { Ok(calibration) }
}
