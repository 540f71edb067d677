//! Weights fitted to labels.
//!
//! The points of the simplex are tried at steps of 0.05, then at steps of 0.01 around the best. Each is
//! judged by its AUC over pairs within five folds, and of those within one standard error of the best
//! the nearest to the current profile is taken. The same is done on every four folds and judged on the
//! fifth, which is what tells an improvement from an accident of choosing among thousands.

mod folds;
mod grid;
mod sample;

use knowledgepulse_scoring::weights::Weights;

use crate::{
    bootstrap::{Bootstrap, Groups},
    calibration::{Fit, FitResult, Fitted, Refusal},
    leakage::{Agreement, without_outcome, without_success},
    options::Options,
    row::Row,
};

use self::{
    folds::{FOLDS, assign},
    grid::{Search, Selection},
    sample::Sample,
};

/// How many rows of each class a fit needs.
pub(crate) const CLASS: usize = 30;

/// How many groups a fit needs: two in each fold.
const GROUPS: usize = 2 * FOLDS;

/// Fits every profile that serves some of the labelled `rows`.
pub(crate) fn fit(rows: &[&Row], options: &Options, bootstrap: &Bootstrap) -> Vec<Fit> {
    let mut served: Vec<(Weights, String, Vec<&Row>)> = Vec::new();
    for row in rows {
        let profile = options.profiles.for_domain(&row.domain);
        match served.iter_mut().find(|(_, name, _)| *name == profile.domain) {
            Some((.., rows)) => rows.push(row),
            None => served.push((profile.weights, profile.domain.into_owned(), vec![row])),
        }
    }
    served.sort_by(|a, b| b.2.len().cmp(&a.2.len()).then(a.1.cmp(&b.1)));
    let fit = |(current, name, rows): (Weights, String, Vec<&Row>)| {
        fit_profile(current, name, &rows, bootstrap)
    };
    served.into_iter().map(fit).collect()
}

fn fit_profile(current: Weights, name: String, rows: &[&Row], bootstrap: &Bootstrap) -> Fit {
    let labels: Vec<bool> = rows.iter().map(|row| row.label == Some(true)).collect();
    let positives = labels.iter().filter(|label| **label).count();
    let groups = Groups::new(rows.iter().map(|row| row.group.as_deref()));
    let mut domains: Vec<String> = rows.iter().map(|row| row.domain.clone()).collect();
    domains.sort_unstable();
    domains.dedup();
    let pairs = labels.iter().copied().zip(rows.iter().map(|row| row.success));
    let without = Agreement::of(pairs).is_leak();
    let outcome = current.outcome_confidence;
    let current = if without { without_outcome(&current) } else { current };
    let mut fit = Fit {
        profile: if let [domain] = &domains[..] { domain.clone() } else { name },
        domains,
        n: rows.len(),
        positives,
        negatives: rows.len() - positives,
        groups: groups.count(),
        current,
        without_outcome: without,
        result: FitResult::Refused(Refusal {
            expected: format!("{CLASS} rows or more of each label, in {GROUPS} groups or more"),
            found: format!(
                "{positives} positive and {} negative in {} groups",
                rows.len() - positives,
                groups.count()
            ),
        }),
        recommended: None,
    };
    if fit.positives < CLASS || fit.negatives < CLASS || fit.groups < GROUPS {
        return fit;
    }
    let folds = assign(&labels, &groups, bootstrap.seed);
    let rows: Vec<_> = rows
        .iter()
        .map(|row| if without { without_success(row) } else { std::borrow::Cow::Borrowed(*row) })
        .collect();
    let taken = rows.iter().map(|row| &**row);
    let sample = Sample::new(taken, &labels, &groups, &folds, bootstrap.cancel);
    fit.result = search(&sample, &current, without, bootstrap);
    if let FitResult::Better(fitted) = &fit.result {
        fit.recommended = Some(recommended(&fitted.weights, without.then_some(outcome)));
    }
    fit
}

/// Returns fitted weights as they are to be used; `outcome` is the weight to keep, where the outcome was
/// left out of the fit.
fn recommended(weights: &Weights, outcome: Option<f64>) -> Weights {
    let scale = 1.0 - outcome.unwrap_or(0.0);
    // Rounded down, so that the last weight is what is missing to 1.
    let units = |weight: f64| (weight * scale * 1e4 + 1e-6).floor();
    let [c, n, t] = [weights.complexity, weights.novelty, weights.tool_diversity].map(units);
    Weights {
        complexity: c / 1e4,
        novelty: n / 1e4,
        tool_diversity: t / 1e4,
        outcome_confidence: (1e4 - c - n - t) / 1e4,
    }
}

fn search(sample: &Sample, current: &Weights, without: bool, bootstrap: &Bootstrap) -> FitResult {
    let mut search = Search::new(sample, *current, without);
    let Selection { chosen, best, auc, best_auc, standard_error } = search.select([true; FOLDS]);
    let held_out: Vec<Weights> = (0..FOLDS)
        .map(|held_out| {
            let mut folds = [true; FOLDS];
            folds[held_out] = false;
            search.select(folds).chosen
        })
        .collect();
    let held_out: Vec<(Weights, Weights)> =
        held_out.into_iter().map(|weights| (weights, *current)).collect();
    let (held_out_auc, improvement) = sample.compare(&held_out, bootstrap);
    let fitted = Fitted {
        weights: chosen,
        best,
        current_auc: sample.auc(&sample.concordance(current), [true; FOLDS]),
        auc,
        best_auc,
        standard_error,
        held_out_auc,
        improvement,
        tried: search.tried(),
    };
    if improvement.interval.is_some_and(|interval| interval.low > 0.0) && chosen != *current {
        FitResult::Better(fitted)
    } else {
        FitResult::NoBetterThanCurrent(fitted)
    }
}
