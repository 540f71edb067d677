//! What makes the figures of a calibration doubtful.

use std::collections::{BTreeSet, HashSet};

use knowledgepulse_scoring::Profiles;

use crate::{
    calibration::{RowCounts, Sources, Warning, WarningCode},
    fit::CLASS,
    leakage::Agreement,
    row::Row,
};

/// From which similarity on texts are taken for one: what float32 leaves of 1.
const SAME_TEXT: f64 = 1.0 - 1e-6;
const FEW_GROUPS: usize = 20;
const CUT_SHARE: f64 = 0.05;
/// How far a score may be from the one that its profile gives.
const SCORE_TOLERANCE: f64 = 1e-9;

/// Returns each value once, in order of appearance.
pub(crate) fn sources(rows: &[Row]) -> Sources {
    let once = |value: &dyn Fn(&Row) -> Option<&String>| {
        let mut seen = HashSet::new();
        rows.iter().filter_map(value).filter(|value| seen.insert(*value)).cloned().collect()
    };
    Sources {
        models: once(&|row| row.model.as_ref()),
        precisions: once(&|row| row.precision.as_ref()),
        versions: once(&|row| Some(&row.version).filter(|version| !version.is_empty())),
    }
}

/// Returns what is doubtful, in the order of [`WarningCode`]. `used` are the used ones of `all`.
pub(crate) fn warnings(
    all: &[Row],
    used: &[&Row],
    counts: &RowCounts,
    sources: &Sources,
    profiles: &Profiles,
) -> Vec<Warning> {
    let mut found = Vec::new();
    let mut warn = |code, n, message| found.push(Warning { code, n, message });

    let pairs: Vec<_> = used.iter().filter_map(|row| Some((row.label?, row.success))).collect();
    let agreement = Agreement::of(pairs.iter().copied());
    if agreement.is_leak() {
        let message = format!(
            "the labels equal `success` in {:.1} % of the labelled rows, and the score contains `success`: \
             what orders these rows well need not order by anything else",
            agreement.share * 100.0
        );
        warn(WarningCode::LabelIsSuccess, pairs.len(), message);
    }
    let positives = pairs.iter().filter(|pair| pair.0).count();
    let fewest = positives.min(pairs.len() - positives);
    if !pairs.is_empty() && fewest == 0 {
        let all = if positives == 0 { "negative" } else { "positive" };
        let message =
            format!("all {} labels are {all}: there is nothing to tell apart", pairs.len());
        warn(WarningCode::OneClass, pairs.len(), message);
    } else if !pairs.is_empty() && fewest < CLASS {
        let message = format!(
            "{positives} positive and {} negative labels: with fewer than {CLASS} of each, intervals are \
             wide and too optimistic",
            pairs.len() - positives
        );
        warn(WarningCode::FewLabels, fewest, message);
    }
    if let [first, rest @ ..] = used
        && !rest.is_empty()
        && rest.iter().all(|row| row.confidence == first.confidence)
    {
        let message = format!(
            "every row has the confidence {}: outcomeConfidence says no more than `success`",
            first.confidence
        );
        warn(WarningCode::ConstantConfidence, used.len(), message);
    }
    let mut ids = HashSet::new();
    let repeated =
        all.iter().filter_map(|row| row.id.as_deref()).filter(|id| !ids.insert(*id)).count();
    if repeated > 0 {
        let message = format!("rows with the id of an earlier one: {repeated}");
        warn(WarningCode::DuplicateIds, repeated, message);
    }
    let same = used.iter().filter(|row| row.similarity.is_some_and(|s| s >= SAME_TEXT)).count();
    if same > 0 {
        let message = format!(
            "rows with the text of an earlier one, as far as the model sees it: {same}; they have no \
             novelty, and are not independent"
        );
        warn(WarningCode::DuplicateTexts, same, message);
    }
    let domains: BTreeSet<_> = used.iter().map(|row| &*row.domain).collect();
    if let (Some(domain), 1) = (domains.first(), domains.len()) {
        let message =
            format!("all rows are of the domain {domain:?}: nothing here holds for another");
        warn(WarningCode::OneDomain, used.len(), message);
    }
    if counts.groups < FEW_GROUPS {
        let message = format!(
            "number of groups: {}; with fewer than {FEW_GROUPS}, intervals by bootstrap are too narrow",
            counts.groups
        );
        warn(WarningCode::FewGroups, counts.groups, message);
    }
    if counts.ungrouped == counts.used {
        let message = "no row has a group: the intervals hold if rows are independent, which novelty and \
                       repeated tasks make unlikely";
        warn(WarningCode::NoGroups, counts.ungrouped, message.to_owned());
    }
    let cut = used.iter().filter(|row| row.is_cut).count();
    if cut as f64 >= CUT_SHARE * used.len() as f64 && cut > 0 {
        let message = format!(
            "the model saw only the beginning of {:.1} % of the texts",
            100.0 * cut as f64 / used.len() as f64
        );
        warn(WarningCode::CutTexts, cut, message);
    }
    let several = [
        ("models", &sources.models),
        ("precisions", &sources.precisions),
        ("versions", &sources.versions),
    ];
    for (what, values) in several.into_iter().filter(|(_, values)| values.len() > 1) {
        let message = format!("rows of several {what}: {}", values.join(", "));
        warn(WarningCode::MixedSources, values.len(), message);
    }
    let differs = |row: &&&Row| {
        let expected = row.score_by(&profiles.for_domain(&row.domain).weights);
        expected.is_ok_and(|expected| (expected - row.score).abs() > SCORE_TOLERANCE)
    };
    let others = used.iter().filter(differs).count();
    if others > 0 {
        let message = format!(
            "rows with a score that the given profiles do not give: {others}; fitting starts from these \
             profiles, everything else is about the scores of the rows"
        );
        warn(WarningCode::OtherProfiles, others, message);
    }
    let degraded =
        |row: &&Row| matches!(&*row.novelty_source, "no-embedder" | "no-store" | "over-budget");
    let degraded = all.iter().filter(degraded).count();
    if degraded > 0 {
        let message = format!(
            "rows compared with nothing for want of an embedder, a store or time, and excluded: \
             {degraded}"
        );
        warn(WarningCode::Degraded, degraded, message);
    }
    found
}
