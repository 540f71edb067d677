//! What labels say of the score.

use crate::calibration::{Calibration, Decile, Labels, OperatingPoint};

use super::{
    super::{
        charts::{self, Chart},
        text::{count, estimate, percent, percent_interval, score},
    },
    Table,
};

pub(super) struct LabelView {
    pub(super) facts: Vec<String>,
    pub(super) leak: Option<String>,
    pub(super) charts: Vec<Chart>,
    pub(super) points: Table,
    pub(super) deciles: Table,
}

pub(super) fn label_view(found: &Calibration, labels: &Labels) -> LabelView {
    let leakage = &labels.leakage;
    let facts = vec![
        format!(
            "{} positive and {} negative labels in {}; the labels of a group are alike by {} (intraclass correlation).",
            labels.positives,
            labels.negatives,
            count(labels.groups, "group"),
            score(labels.intraclass_correlation)
        ),
        format!(
            "AUC {}: how often a positive trace has a higher score than a negative one. Average precision {}.",
            estimate(&labels.auc),
            estimate(&labels.average_precision)
        ),
        format!(
            "Labels agree with success in {} of the traces; by chance it would be {}.",
            percent(leakage.agreement),
            percent(leakage.agreement_by_chance)
        ),
    ];
    let leak = leakage.is_leak.then(|| {
        let without = leakage.auc_without_outcome.as_ref();
        let without = without.map_or_else(|| "unknown".to_owned(), estimate);
        format!(
            "The labels are success, or nearly, and the score contains success. Without what contains it, the AUC is {without}."
        )
    });
    let point = |name: &str, point: &OperatingPoint| {
        let mut row = vec![name.to_owned(), score(point.threshold), score(point.value)];
        let shares = [point.precision, point.recall, point.false_positive_rate, point.share];
        row.extend(shares.map(percent));
        row
    };
    let points = Table::new(
        "Thresholds for reference, chosen and measured on the same traces",
        &["best", "threshold", "value", "precision", "recall", "false positives", "accepted"],
        vec![point("Youden’s J", &labels.youden), point("F1", &labels.best_f1)],
    );
    let decile = |(place, decile): (usize, &Decile)| {
        vec![
            place.to_string(),
            format!("{}–{}", score(decile.from), score(decile.to)),
            decile.n.to_string(),
            format!("{:.1}", decile.effective),
            decile.positives.to_string(),
            percent(decile.rate),
            percent_interval(decile.interval),
        ]
    };
    let deciles = Table::new(
        "Label rate by decile of the score",
        &["decile", "scores", "traces", "effective", "positive", "rate", "interval"],
        (1..).zip(&labels.deciles).map(decile).collect(),
    );
    let charts = vec![
        charts::roc(labels),
        charts::precision_recall(found, labels),
        charts::deciles(&labels.deciles, found.options.level),
    ];
    LabelView { facts, leak, charts, points, deciles }
}
