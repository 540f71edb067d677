//! Weights fitted to labels.
//!
//! The points of the simplex are tried at steps of 0.05, then at steps of 0.01 around the best. Each is
//! judged by its AUC over pairs within five folds. Of those within one standard error of the best, the
//! nearest to the current profile is taken. To tell an improvement from chance, this is repeated on
//! every four folds and measured on the fifth.

mod grid;
mod sample;

use std::{array, cmp::Reverse, collections::BTreeMap};

use knowledgepulse_scoring::weights::Weights;

use crate::{
    bootstrap::Bootstrap,
    calibration::{Fit, FitResult, Fitted},
    labels::{Labelled, without_outcome},
    row::Row,
};

use self::{
    grid::{Search, Selection},
    sample::{FOLDS, Sample, assign},
};

/// The number of rows of each class that a fit needs.
pub(crate) const CLASS: usize = 30;

/// The number of groups that a fit needs: two in each fold.
const GROUPS: usize = 2 * FOLDS;

/// Fits every profile that serves labelled rows.
pub(crate) fn fit(labelled: &Labelled, bootstrap: &Bootstrap) -> Vec<Fit> {
    let profiles = &bootstrap.options.profiles;
    let mut served: BTreeMap<String, Vec<&Row>> = BTreeMap::new();
    for row in &labelled.rows {
        let profile = profiles.for_domain(&row.domain).domain;
        served.entry(profile.into_owned()).or_default().push(row);
    }
    let mut served: Vec<_> = served.into_iter().collect();
    served.sort_by_key(|(_, rows)| Reverse(rows.len()));
    let fit = |(name, rows)| fit_profile(name, &Labelled::of(rows), bootstrap);
    served.into_iter().map(fit).collect()
}

fn fit_profile(name: String, rows: &Labelled, bootstrap: &Bootstrap) -> Fit {
    let (positives, negatives) = (rows.positives(), rows.negatives());
    let groups = rows.groups.count;
    let mut domains: Vec<String> = rows.rows.iter().map(|row| row.domain.clone()).collect();
    domains.sort_unstable();
    domains.dedup();
    let without = rows.leakage().is_leak;
    let profile = bootstrap.options.profiles.for_domain(&name).weights;
    let current = if without { without_outcome(&profile) } else { profile };
    let result = if positives < CLASS || negatives < CLASS || groups < GROUPS {
        FitResult::Refused {
            expected: format!("{CLASS} rows or more of each label, in {GROUPS} groups or more"),
            found: format!("{positives} positive and {negatives} negative in {groups} groups"),
        }
    } else {
        let folds = assign(&rows.labels, &rows.groups, bootstrap.options.seed);
        let sample = Sample::new(rows, without, &folds, bootstrap);
        search(&sample, &current, without)
    };
    let recommended = if let FitResult::Better(fitted) = &result {
        let outcome = if without { profile.outcome_confidence } else { 0.0 };
        Some(recommended(&fitted.weights, outcome))
    } else {
        None
    };
    Fit {
        profile: if let [domain] = &domains[..] { domain.clone() } else { name },
        domains,
        n: rows.rows.len(),
        positives,
        negatives,
        groups,
        current,
        without_outcome: without,
        recommended,
        result,
    }
}

/// Returns fitted weights in steps of 0.0001, scaled to leave room for the weight `outcome` of
/// outcomeConfidence if that was left out of the fit; otherwise `outcome` is 0.
fn recommended(weights: &Weights, outcome: f64) -> Weights {
    // Rounded down; the last weight is the rest to 1.
    let units = |weight: f64| (weight * (1.0 - outcome) * 1e4 + 1e-6).floor();
    let [c, n, t, _] = weights.parts().map(units);
    Weights::new([c, n, t, 1e4 - c - n - t].map(|units| units / 1e4))
}

fn search(sample: &Sample, current: &Weights, without: bool) -> FitResult {
    let mut search = Search::new(sample, *current, without);
    let Selection { chosen, best, standard_error } = search.select(None);
    let held_out = array::from_fn(|held_out| search.select(Some(held_out)).chosen.weights);
    let (held_out_auc, improvement) = sample.compare(held_out, *current);
    let fitted = Fitted {
        weights: chosen.weights,
        best: best.weights,
        current_auc: sample.auc(&sample.concordance(current), None),
        auc: chosen.auc,
        best_auc: best.auc,
        standard_error,
        held_out_auc,
        improvement,
        tried: search.tried.len(),
    };
    if improvement.interval.is_some_and(|interval| interval.low > 0.0) && chosen.weights != *current
    {
        FitResult::Better(fitted)
    } else {
        FitResult::NoBetterThanCurrent(fitted)
    }
}
