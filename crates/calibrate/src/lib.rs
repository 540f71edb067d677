//! Chooses thresholds and weights by the scores of one's own traces.
//!
//! ```text
//!  rows ──► all but the cold start ──┬──► distributions, by domain
//!                                    ├──► threshold, for a share or a precision
//!                                    └──► with labels: ROC, precision and recall, deciles, leakage, fit
//! ```
//!
//! It works on [`Row`]s, in the order of scoring, and knows no traces, models or JavaScript. A row is
//! accepted by a threshold where its score is not below it. Rows that were compared with nothing, and
//! the first rows of an empty memory, have a novelty that later ones do not; they are excluded
//! ([`RowCounts`]). Intervals are percentile intervals of a bootstrap that draws whole groups, because
//! rows of one task or session depend on each other; those of rates are Wilson's, at the number of
//! independent rows that the rows are worth.
//!
//! ```
//! use knowledgepulse_calibrate::{Options, Row, Target, calibrate};
//!
//! let line = r#"{ "domain": "airline", "score": SCORE, "noveltySource": "cache", "similarity": 0.6,
//!     "dimensions": { "complexity": 0.3, "novelty": 0.4, "toolDiversity": 0.2, "outcomeConfidence": 0.9 },
//!     "success": true, "confidence": 0.9 }"#
//!     .replace('\n', " ");
//! let lines: Vec<_> = (0..100).map(|i| line.replace("SCORE", &format!("{}", f64::from(i) / 200.0))).collect();
//! let rows = Row::from_json_lines(&lines.join("\n"))?;
//! let options = Options { target: Some(Target::Share(0.2)), ..Options::default() };
//! let threshold = calibrate(&rows, &options)?.threshold.unwrap();
//! assert_eq!((threshold.value, threshold.accepted), (Some(0.4), 20));
//! # Ok::<(), knowledgepulse_calibrate::Error>(())
//! ```

#![forbid(unsafe_code)]

mod bootstrap;
pub mod calibration;
mod deciles;
mod describe;
pub mod error;
mod fit;
mod json;
mod leakage;
pub mod options;
mod quantiles;
pub mod report;
mod roc;
mod row;
mod threshold;
mod warnings;
mod wilson;

pub use calibration::Calibration;
#[doc(no_inline)]
pub use calibration::RowCounts;
pub use error::{Error, Result};
pub use options::{Options, Target};
pub use quantiles::quantile;
pub use roc::{auc, average_precision, precision_recall_curve, roc_curve};
pub use row::Row;
pub use wilson::wilson;

use knowledgepulse_workers::CancelToken;

use self::{
    bootstrap::{Bootstrap, Groups},
    calibration::{Estimate, Labels, Leakage},
    leakage::{Agreement, without_outcome, without_success},
    roc::{Ranking, thin},
    threshold::Labelled,
};

/// How many points a curve has at most.
const CURVE: usize = 201;

/// Describes the scores of `rows`, which are in the order of scoring, chooses a threshold, and fits
/// weights to their labels, as far as the options ask for it.
///
/// # Errors
///
/// - `INVALID_ROW`: a value of a row is out of its range.
/// - `INVALID_OPTION`: an option is.
/// - `NO_ROWS`: there are none, or all of them are excluded as cold start.
/// - `NO_LABELS`: a target precision or a fit is asked for, and no used row has a label.
pub fn calibrate(rows: &[Row], options: &Options) -> Result<Calibration> {
    let calibration = calibrate_until(&CancelToken::default(), rows, options)?;
    Ok(calibration.expect("nobody cancels it"))
}

/// Does what [`calibrate`] does; `None` after a cancellation, which ends it soon.
///
/// # Errors
///
/// As [`calibrate`].
pub fn calibrate_until(
    cancel: &CancelToken,
    rows: &[Row],
    options: &Options,
) -> Result<Option<Calibration>> {
    options.check()?;
    rows.iter().zip(1..).try_for_each(|(row, number)| row.check(number))?;
    let Options { replicates, level, seed, .. } = *options;
    let bootstrap = Bootstrap { replicates, level, seed, cancel };

    let first_limit = first_limit(rows, options);
    let is_used: Vec<bool> = rows
        .iter()
        .enumerate()
        .map(|(place, row)| place >= first_limit && row.is_compared())
        .collect();
    let used: Vec<&Row> =
        rows.iter().zip(&is_used).filter_map(|(row, used)| used.then_some(row)).collect();
    if rows.is_empty() {
        return Err(Error::rows("rows", "none"));
    }
    if used.is_empty() {
        let expected =
            format!("a row after the first {first_limit} that was compared with an earlier trace");
        return Err(Error::rows(expected, format!("none among {}", rows.len())));
    }
    let labelled: Vec<&Row> = used.iter().copied().filter(|row| row.label.is_some()).collect();
    check_labels(&labelled, options)?;

    let groups = Groups::new(used.iter().map(|row| row.group.as_deref()));
    let uncompared = rows.iter().filter(|row| !row.is_compared()).count();
    let counts = RowCounts {
        total: rows.len(),
        used: used.len(),
        uncompared,
        first: rows.len() - used.len() - uncompared,
        first_limit,
        groups: groups.count(),
        ungrouped: used.iter().filter(|row| row.group.is_none()).count(),
        labelled: labelled.len(),
    };

    let scores: Vec<f64> = used.iter().map(|row| row.score).collect();
    let label_scores: Vec<f64> = labelled.iter().map(|row| row.score).collect();
    let labels: Vec<bool> = labelled.iter().map(|row| row.label == Some(true)).collect();
    let label_groups = Groups::new(labelled.iter().map(|row| row.group.as_deref()));
    let of_labels = Labelled { scores: &label_scores, labels: &labels, groups: &label_groups };
    let threshold = options
        .target
        .map(|target| threshold::choose(target, &scores, &groups, &of_labels, &bootstrap));
    let chosen = threshold.as_ref().and_then(|threshold| threshold.value);

    let sources = warnings::sources(rows);
    let calibration = Calibration {
        overall: describe::summary(&used, rows.len() - used.len(), chosen),
        domains: describe::domains(rows, &is_used, chosen, &options.profiles),
        timeline: describe::timeline(rows),
        examples: describe::examples(rows, &is_used, chosen),
        labels: judge(&labelled, &of_labels, options, &bootstrap),
        fits: if options.fit { fit::fit(&labelled, options, &bootstrap) } else { Vec::new() },
        warnings: warnings::warnings(rows, &used, &counts, &sources, &options.profiles),
        options: options.clone(),
        rows: counts,
        sources,
        threshold,
    };
    Ok((!cancel.is_cancelled()).then_some(calibration))
}

/// How many of the first rows count as cold start. See [`Options::first`].
fn first_limit(rows: &[Row], options: &Options) -> usize {
    let is_cold = rows.first().is_some_and(|row| !row.is_compared());
    options.first.unwrap_or(if is_cold { (rows.len() / 10).min(10) } else { 0 })
}

fn check_labels(labelled: &[&Row], options: &Options) -> Result<()> {
    let needed = match options.target {
        Some(Target::Precision(_)) => Some("target.precision"),
        Some(Target::Threshold(_) | Target::Share(_)) | None => options.fit.then_some("fit"),
    };
    match needed {
        Some(option) if labelled.is_empty() => {
            Err(Error::labels(option, "rows with labels", "none"))
        }
        Some(_) | None => Ok(()),
    }
}

/// Judges the scores by the labels; `None` unless there are both.
fn judge(
    rows: &[&Row],
    labelled: &Labelled,
    options: &Options,
    bootstrap: &Bootstrap,
) -> Option<Labels> {
    let Labelled { scores, labels, groups } = labelled;
    let ranking = Ranking::new(scores, labels)?;
    let curves = ranking.curves(groups, bootstrap);
    let (youden, best_f1) = ranking.best();
    let positives = labels.iter().filter(|label| **label).count();
    let agreement = Agreement::of(labels.iter().copied().zip(rows.iter().map(|row| row.success)));
    let auc_without_outcome = || -> Option<Estimate> {
        let scores: Vec<f64> = rows
            .iter()
            .map(|row| {
                let weights = options.profiles.for_domain(&row.domain).weights;
                // The overrides have been checked.
                without_success(row).score_by(&without_outcome(&weights)).unwrap_or(row.score)
            })
            .collect();
        Some(Ranking::new(&scores, labels)?.auc(groups, bootstrap))
    };
    Some(Labels {
        positives,
        negatives: labels.len() - positives,
        groups: groups.count(),
        intraclass_correlation: wilson::intraclass_correlation(labels, groups),
        auc: curves.auc,
        average_precision: curves.average_precision,
        roc: thin(roc_curve(scores, labels), CURVE),
        roc_band: curves.roc_band,
        precision_recall: thin(precision_recall_curve(scores, labels), CURVE),
        precision_recall_band: curves.precision_recall_band,
        deciles: deciles::deciles(labelled, bootstrap.level),
        youden,
        best_f1,
        leakage: Leakage {
            agreement: agreement.share,
            agreement_by_chance: agreement.by_chance,
            is_leak: agreement.is_leak(),
            auc_without_outcome: if agreement.is_leak() { auc_without_outcome() } else { None },
        },
    })
}
