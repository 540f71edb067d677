//! The scores judged by labels, and weights fitted to labels.

use crate::calibration::{
    Calibration, Decile, Dimension, Fit, FitResult, Fitted, Labels, OperatingPoint,
};

use super::{
    Table,
    charts::{self, Chart},
    list,
    text::{count, estimate, percent, percent_interval, score, shown},
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
            "{} positive and {} negative labels in {}; intraclass correlation of the labels {}.",
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
            "Labels equal success in {} of the traces; by chance it would be {}.",
            percent(leakage.agreement),
            percent(leakage.agreement_by_chance)
        ),
    ];
    let leak = leakage.is_leak.then(|| {
        let without = leakage.auc_without_outcome.as_ref();
        let without = without.map_or_else(|| "unknown".to_owned(), estimate);
        format!(
            "The labels equal success, or nearly, and the score contains success. Without it, the AUC is {without}."
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
        ["best", "threshold", "value", "precision", "recall", "false positives", "accepted"],
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
        ["decile", "scores", "traces", "effective", "positive", "rate", "interval"],
        (1..).zip(&labels.deciles).map(decile),
    );
    let charts = vec![
        charts::roc(labels, found.options.level),
        charts::precision_recall(found, labels),
        charts::deciles(&labels.deciles, found.options.level),
    ];
    LabelView { facts, leak, charts, points, deciles }
}

pub(super) struct FitView {
    pub(super) name: String,
    pub(super) verdict: String,
    pub(super) note: Option<&'static str>,
    pub(super) tables: Vec<Table>,
}

pub(super) fn fit_view(fit: &Fit) -> FitView {
    let served = format!(
        "They are {} ({} positive, {} negative) in {}; domains: {}",
        count(fit.n, "labelled trace"),
        fit.positives,
        fit.negatives,
        count(fit.groups, "group"),
        list(fit.domains.iter().map(String::as_str))
    );
    let (verdict, note, fitted) = match &fit.result {
        FitResult::Better(fitted) => (
            "The fitted weights order these traces better than the current ones.",
            "Labels equal success here, so outcome confidence was left out; the profile above keeps its current weight.",
            fitted,
        ),
        FitResult::NoBetterThanCurrent(fitted) => (
            "Keep the current weights: these labels show no weights that order the traces better.",
            "Labels equal success here, so outcome confidence was left out: the weights compare the other three only.",
            fitted,
        ),
        FitResult::Refused(refusal) => {
            let verdict =
                format!("Not fitted: expected {}, found {}.", refusal.expected, refusal.found);
            return FitView { name: shown(&fit.profile), verdict, note: None, tables: Vec::new() };
        }
    };
    FitView {
        name: shown(&fit.profile),
        verdict: format!("{verdict} {served}."),
        note: fit.without_outcome.then_some(note),
        tables: tables(fit, fitted),
    }
}

fn tables(fit: &Fit, fitted: &Fitted) -> Vec<Table> {
    let weights = [fit.current, fitted.weights, fitted.best].map(|weights| weights.parts());
    let row = |(place, dimension): (usize, Dimension)| {
        let mut row = vec![charts::name(dimension).to_owned()];
        row.extend(weights.iter().map(|weights| format!("{:.2}", weights[place])));
        row
    };
    let aucs = [
        ("current", score(fitted.current_auc)),
        ("fitted, on the traces that chose them", score(fitted.auc)),
        ("cross-validated", estimate(&fitted.held_out_auc)),
        ("cross-validated improvement", estimate(&fitted.improvement)),
    ];
    let normalised =
        if fit.without_outcome { ", normalised without outcome confidence" } else { "" };
    vec![
        Table::new(
            format!("Weights of {}{normalised}", shown(&fit.profile)),
            ["dimension", "current", "fitted", "highest AUC"],
            (0..).zip(Dimension::ALL).map(row),
        ),
        Table::new(
            format!("AUC of {} within folds that divide no group", shown(&fit.profile)),
            ["weights", "AUC"],
            aucs.map(|(name, auc)| vec![name.to_owned(), auc]),
        ),
    ]
}

/// The profiles that are better, as JavaScript.
pub(super) fn paste(found: &Calibration) -> Option<String> {
    let line = |fit: &Fit| {
        let [c, n, t, o] = fit.recommended?.parts();
        let name = serde_json::Value::from(&*fit.profile);
        // A plain member with this name would set the prototype.
        let name = if fit.profile == "__proto__" { format!("[{name}]") } else { name.to_string() };
        Some(format!(
            "    {name}: {{ complexity: {c}, novelty: {n}, toolDiversity: {t}, outcomeConfidence: {o} }},\n"
        ))
    };
    let lines: String = found.fits.iter().filter_map(line).collect();
    (!lines.is_empty()).then(|| format!("new Scorer({{\n  profiles: {{\n{lines}  }},\n}});"))
}
