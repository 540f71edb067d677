//! The charts of scores and dimensions, in all traces and by domain.

use std::iter::once;

use crate::{
    calibration::{Calibration, Dimension, DimensionDistribution, Distribution, Summary},
    row::Row,
};

use super::{
    charts::{self, Chart},
    percentile,
    svg::{Markup, spark},
    text::{score, sentence, shown},
};

/// The number of domains with a chart. The tables have all domains.
pub(super) const DOMAINS: usize = 12;

pub(super) fn score_charts(found: &Calibration, rows: &[Row]) -> Vec<Chart> {
    let chosen = found.chosen();
    let mut made = Vec::new();
    if let Some(scores) = &found.overall.score {
        let to = charts::top(scores);
        made.push(charts::histogram("All domains", "score", scores, to, chosen));
        made.push(charts::ecdf(&found.overall.ecdf, chosen));
    }
    made.extend(charts::timeline(found, rows));
    made
}

/// Returns no chart if there is one domain, whose chart is that of all domains.
pub(super) fn domain_charts(found: &Calibration) -> Vec<Chart> {
    if found.domains.len() == 1 {
        return Vec::new();
    }
    let shown_domains = || {
        let domains = found.domains.iter().take(DOMAINS);
        domains.filter_map(|domain| Some((&domain.domain, domain.summary.score.as_ref()?)))
    };
    // One axis for all, so that they compare.
    let to = shown_domains().map(|(_, scores)| charts::top(scores)).fold(0.0, f64::max);
    shown_domains()
        .map(|(name, scores)| charts::histogram(&shown(name), "score", scores, to, found.chosen()))
        .collect()
}

pub(super) fn dimension_charts(overall: &Summary) -> Vec<Chart> {
    let tops = overall.dimensions.iter().map(|of| charts::top(&of.distribution));
    let to = tops.fold(0.0, f64::max);
    let chart = |of: &DimensionDistribution| {
        let name = of.dimension.name();
        charts::histogram(&sentence(name), name, &of.distribution, to, None)
    };
    overall.dimensions.iter().map(chart).collect()
}

/// Small histograms of the score and of the dimensions; `None` without rows.
pub(super) fn histograms(
    name: &str,
    summary: &Summary,
    threshold: Option<f64>,
) -> impl Iterator<Item = Option<Markup>> {
    let mark = |what: &str, of: Option<&Distribution>, threshold: Option<f64>| {
        let of = of?;
        let median = score(percentile(of, 50.0));
        let name = format!("Histogram of {what} from 0 to 1, {name}: median {median}");
        Some(spark(&name, &of.histogram, threshold))
    };
    let dimensions = Dimension::ALL.map(|dimension| {
        let of = summary.dimensions.iter().find(|of| of.dimension == dimension);
        mark(dimension.name(), of.map(|of| &of.distribution), None)
    });
    once(mark("score", summary.score.as_ref(), threshold)).chain(dimensions)
}
