//! Reasons to doubt the figures of a calibration.

use std::collections::HashSet;

use knowledgepulse_scoring::Profiles;

use crate::{
    calibration::{RowCounts, Sources, Warning, WarningCode},
    fit::CLASS,
    labels::{Labelled, fired},
    row::Row,
};

/// The similarity from which texts count as equal: 1 up to rounding in float32.
const SAME_TEXT: f64 = 1.0 - 1e-6;
const FEW_GROUPS: usize = 20;
const CUT_SHARE: f64 = 0.05;
/// Tolerance between a score and that of its profile.
const SCORE_TOLERANCE: f64 = 1e-9;

/// Returns each value once, in order of appearance.
pub(crate) fn sources(rows: &[Row]) -> Sources {
    let once = |value: &dyn Fn(&Row) -> Option<&String>| {
        let mut seen = HashSet::new();
        rows.iter().filter_map(value).filter(|value| seen.insert(*value)).cloned().collect()
    };
    Sources {
        model_fingerprints: once(&|row| row.model_fingerprint.as_ref()),
        precisions: once(&|row| row.precision.as_ref()),
        versions: once(&|row| Some(&row.version).filter(|version| !version.is_empty())),
    }
}

/// Returns the warnings in the order of [`WarningCode`]. `used` are the used rows of `all`.
pub(crate) fn warnings(
    all: &[Row],
    used: &[&Row],
    labelled: &Labelled,
    counts: &RowCounts,
    sources: &Sources,
    profiles: &Profiles,
) -> Vec<Warning> {
    let mut found = Vec::new();
    let mut warn_if = |doubtful, code, n, message| {
        if doubtful {
            found.push(Warning { code, n, message });
        }
    };
    let of_used = |test: &dyn Fn(&Row) -> bool| used.iter().filter(|row| test(row)).count();

    let (leakage, labels) = (labelled.leakage(), labelled.labels.len());
    let message = format!(
        "the labels equal success in {:.1} % of the labelled rows, and the score contains success: \
         the results may not hold for other labels",
        leakage.agreement * 100.0
    );
    warn_if(leakage.is_leak, WarningCode::LabelIsSuccess, labels, message);
    let (positives, negatives) = (labelled.positives(), labelled.negatives());
    let fewest = positives.min(negatives);
    let alike = if positives == 0 { "negative" } else { "positive" };
    let message = format!("all {labels} labels are {alike}: there is nothing to tell apart");
    warn_if(labels > 0 && fewest == 0, WarningCode::OneClass, labels, message);
    let message = format!(
        "{positives} positive and {negatives} negative labels: with fewer than {CLASS} of each, \
         intervals are wide and too optimistic"
    );
    warn_if((1..CLASS).contains(&fewest), WarningCode::FewLabels, fewest, message);
    let (confidence, domain) = (used[0].confidence, &used[0].domain);
    let is_constant = used.len() > 1 && used.iter().all(|row| row.confidence == confidence);
    let message = format!(
        "every row has the confidence {confidence}: outcomeConfidence depends on success only"
    );
    warn_if(is_constant, WarningCode::ConstantConfidence, used.len(), message);
    let ids: Vec<&String> = all.iter().filter_map(|row| row.id.as_ref()).collect();
    let repeated = ids.len() - ids.iter().collect::<HashSet<_>>().len();
    let message = format!("rows with the id of an earlier one: {repeated}");
    warn_if(repeated > 0, WarningCode::DuplicateIds, repeated, message);
    let same = of_used(&|row| row.similarity.is_some_and(|similarity| similarity >= SAME_TEXT));
    let message = format!(
        "rows with the text of an earlier one, as far as the model sees it: {same}; they have no \
         novelty, and are not independent"
    );
    warn_if(same > 0, WarningCode::DuplicateTexts, same, message);
    let is_one_domain = used.iter().all(|row| row.domain == *domain);
    let message =
        format!("all rows are of the domain {domain:?}: the results may not hold for others");
    warn_if(is_one_domain, WarningCode::OneDomain, used.len(), message);
    let groups = counts.groups;
    let message = format!(
        "number of groups: {groups}; with fewer than {FEW_GROUPS}, intervals by bootstrap are too \
         narrow"
    );
    warn_if(groups < FEW_GROUPS, WarningCode::FewGroups, groups, message);
    let ungrouped = counts.ungrouped;
    let message = String::from(
        "no row has a group: the intervals hold if rows are independent, which novelty and repeated \
         tasks make unlikely",
    );
    warn_if(ungrouped == counts.used, WarningCode::NoGroups, ungrouped, message);
    let cut = of_used(&|row| row.is_cut);
    let share = cut as f64 / used.len() as f64;
    let message =
        format!("the model saw only the beginning of {:.1} % of the texts", 100.0 * share);
    warn_if(share >= CUT_SHARE, WarningCode::CutTexts, cut, message);
    for (what, values) in [
        ("models", &sources.model_fingerprints),
        ("precisions", &sources.precisions),
        ("versions", &sources.versions),
    ] {
        let message = format!("rows of several {what}: {}", values.join(", "));
        warn_if(values.len() > 1, WarningCode::MixedSources, values.len(), message);
    }
    let others = of_used(&|row| {
        let weights = profiles.for_domain(&row.domain).weights;
        let expected = fired(row, false).correct(weights.apply(&row.dimensions));
        (expected - row.score).abs() > SCORE_TOLERANCE
    });
    let message = format!(
        "rows whose score differs from what the given profiles give: {others}; fitting starts from \
         these profiles, everything else is about the scores of the rows"
    );
    warn_if(others > 0, WarningCode::OtherProfiles, others, message);
    let is_degraded =
        |row: &&Row| matches!(&*row.novelty_source, "no-embedder" | "no-store" | "over-budget");
    let degraded = all.iter().filter(is_degraded).count();
    let message =
        format!("rows excluded because there was no embedder, no store or no time: {degraded}");
    warn_if(degraded > 0, WarningCode::Degraded, degraded, message);
    found
}
