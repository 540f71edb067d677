//! Weights that were fitted to labels.

use crate::calibration::{Calibration, Dimension, Estimate, Fit, FitResult, Fitted};

use super::{
    super::{
        charts,
        text::{count, estimate, score, shown},
    },
    Table, four, list,
};

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
    let (verdict, tables) = match &fit.result {
        FitResult::Better(fitted) => (
            "The fitted weights order these traces better than the current ones.",
            tables(fit, fitted),
        ),
        FitResult::NoBetterThanCurrent(fitted) => (
            "Keep the current weights: as far as these labels can tell, no others order the traces better.",
            tables(fit, fitted),
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
        note: fit.without_outcome.then_some(match fit.result {
            FitResult::Better(_) => {
                "Labels are success here, so outcome confidence was left out; the profile above keeps its current weight."
            }
            FitResult::NoBetterThanCurrent(_) | FitResult::Refused(_) => {
                "Labels are success here, so outcome confidence was left out: the weights compare the other three only."
            }
        }),
        tables,
    }
}

fn tables(fit: &Fit, fitted: &Fitted) -> Vec<Table> {
    let weights = [&fit.current, &fitted.weights, &fitted.best].map(four);
    let row = |(place, dimension): (usize, Dimension)| {
        let mut row = vec![charts::name(dimension).to_owned()];
        row.extend(weights.iter().map(|weights| format!("{:.2}", weights[place])));
        row
    };
    let estimated = |name: &str, found: &Estimate| vec![name.to_owned(), estimate(found)];
    let plain = |name: &str, value: f64| vec![name.to_owned(), score(value)];
    vec![
        Table::new(
            &format!("Weights of {}", shown(&fit.profile)),
            &["dimension", "current", "fitted", "highest AUC"],
            (0..).zip(Dimension::ALL).map(row).collect(),
        ),
        Table::new(
            &format!("AUC of {} within folds that divide no group", shown(&fit.profile)),
            &["weights", "AUC"],
            vec![
                plain("current", fitted.current_auc),
                plain("fitted, on the traces that chose them", fitted.auc),
                estimated("chosen on other folds", &fitted.held_out_auc),
                estimated("improvement on other folds", &fitted.improvement),
            ],
        ),
    ]
}

/// The profiles that are better, as JavaScript.
pub(super) fn paste(found: &Calibration) -> Option<String> {
    let line = |fit: &Fit| {
        let [c, n, t, o] = four(&fit.recommended?);
        let name = serde_json::Value::from(&*fit.profile);
        // A plain member of this name would be the prototype.
        let name = if fit.profile == "__proto__" { format!("[{name}]") } else { name.to_string() };
        Some(format!(
            "    {name}: {{ complexity: {c}, novelty: {n}, toolDiversity: {t}, outcomeConfidence: {o} }},\n"
        ))
    };
    let lines: String = found.fits.iter().filter_map(line).collect();
    (!lines.is_empty()).then(|| format!("new Scorer({{\n  profiles: {{\n{lines}  }},\n}});"))
}
