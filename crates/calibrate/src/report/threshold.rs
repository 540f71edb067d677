//! The threshold: what it accepts, and how sure that is.

use crate::{
    calibration::{Calibration, Precision, Summary, Threshold},
    options::Target,
};

use super::{
    Table, summaries, target,
    text::{count, interval, percent, percent_interval, round_percent, score},
};

pub(super) fn threshold(found: &Calibration) -> Vec<String> {
    let Some(threshold) = &found.threshold else {
        return vec!["No target was set, so no threshold was chosen.".to_owned()];
    };
    let level = round_percent(found.options.level);
    let precision = threshold.precision.as_ref();
    let Some(value) = threshold.value else {
        let mut said = vec![format!("No threshold was found {}.", target(found))];
        said.extend(precision.map(|precision| {
            format!(
                "The highest lower bound is at {}: {}.",
                score(precision.threshold),
                how_precise(precision)
            )
        }));
        return said;
    };
    let mut said = vec![accepts(found, threshold, value)];
    said.extend(threshold.interval.map(|found| {
        format!(
            "Between samples of groups, the threshold varies within {} ({level}).",
            interval(found)
        )
    }));
    if threshold.tied > 1 {
        let tied = threshold.tied;
        said.push(format!(
            "{tied} accepted traces share the lowest accepted score: they are accepted only together."
        ));
    }
    let beside = [("below", threshold.stricter_share), ("above", threshold.looser_share)];
    let beside: Vec<_> = beside
        .into_iter()
        .filter_map(|(side, share)| Some(format!("{side} {}", percent(share?))))
        .collect();
    if !beside.is_empty() {
        said.push(format!("The nearest shares that a threshold can have: {}.", beside.join(", ")));
    }
    said.extend(precision.map(|precision| format!("With labels: {}.", how_precise(precision))));
    if matches!(found.options.target, Some(Target::Precision(_))) {
        said.push(
            "It was chosen and measured on the same traces: on new ones, precision can be lower."
                .to_owned(),
        );
    }
    said
}

fn accepts(found: &Calibration, threshold: &Threshold, value: f64) -> String {
    let around = threshold.share.interval.map_or_else(String::new, |around| {
        format!(
            " ({}, interval at {})",
            percent_interval(around),
            round_percent(found.options.level)
        )
    });
    format!(
        "The threshold {value}, {}, accepts {} of {}: {}{around}.",
        if is_given(found) {
            "which was given".to_owned()
        } else {
            format!("chosen {}", target(found))
        },
        threshold.accepted,
        count(found.rows.used, "trace"),
        percent(threshold.share.value)
    )
}

fn how_precise(precision: &Precision) -> String {
    format!(
        "{} of {} are positive ({}), which finds {} of all positive ones",
        percent(precision.precision),
        count(precision.accepted, "labelled accepted trace"),
        percent_interval(precision.interval),
        percent(precision.recall)
    )
}

pub(super) fn accepted(found: &Calibration) -> Table {
    let how = if is_given(found) { " (given)" } else { " (chosen)" };
    let thresholds = found.overall.accepted.iter().map(|accepted| {
        let is_chosen = found.chosen() == Some(accepted.threshold);
        format!("{}{}", score(accepted.threshold), if is_chosen { how } else { "" })
    });
    let columns = ["domain".to_owned(), "traces".to_owned()].into_iter().chain(thresholds);
    let row = |(name, summary): (String, &Summary)| {
        let shares = summary
            .accepted
            .iter()
            .map(|accepted| format!("{} ({})", percent(accepted.share), accepted.n));
        [name, summary.n.to_string()].into_iter().chain(shares).collect::<Vec<_>>()
    };
    let caption = "Accepted by thresholds: share and number of traces";
    Table::new(caption, columns, summaries(found).map(row))
}

fn is_given(found: &Calibration) -> bool {
    matches!(found.options.target, Some(Target::Threshold(_)))
}
