//! The distributions of scores and dimensions, in all traces and by domain.

use crate::{
    calibration::{
        Calibration, Dimension, DimensionDistribution, Distribution, DomainSummary, Summary,
    },
    row::Row,
};

use super::{
    Table,
    charts::{self, Chart},
    list, percentile, summaries,
    svg::{Markup, spark},
    text::{percent, score, sentence, shown},
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

pub(super) fn domain_tables(found: &Calibration) -> Vec<Table> {
    let percents = found.overall.score.iter().flat_map(|scores| &scores.percentiles);
    let percents: Vec<f64> = percents.map(|found| found.percent).collect();
    let mut columns = vec!["domain".to_owned(), "used".to_owned(), "lowest".to_owned()];
    columns.extend(percents.iter().map(|percent| format!("{percent} %")));
    columns.extend(["highest".to_owned(), "mean".to_owned()]);
    let row = |(name, summary): (String, &Summary)| {
        let mut row = vec![name, summary.n.to_string()];
        match &summary.score {
            Some(scores) => {
                row.push(score(scores.min));
                row.extend(percents.iter().map(|percent| score(percentile(scores, *percent))));
                row.extend([scores.max, scores.mean].map(score));
            }
            None => row.resize(columns.len(), "–".to_owned()),
        }
        row
    };
    let rows: Vec<_> = summaries(found).map(row).collect();
    let scores = Table::new("Percentiles of the score by domain", columns, rows);

    let row = |domain: &DomainSummary| {
        let (summary, weights) = (&domain.summary, &domain.weights);
        let constant = summary.constant_dimensions.iter().copied().map(charts::name);
        vec![
            shown(&domain.domain),
            summary.excluded.to_string(),
            percent(summary.success_share),
            summary.label_share.map_or_else(|| "–".to_owned(), percent),
            percent(summary.cut_share),
            shown(&domain.profile),
            weights.parts().map(|weight| weight.to_string()).join(" · "),
            list(constant),
        ]
    };
    let columns = [
        "domain",
        "excluded",
        "success",
        "positive labels",
        "cut texts",
        "profile",
        "weights C · N · T · O",
        "constant",
    ];
    let rows = found.domains.iter().map(row);
    vec![scores, Table::new("Traces and profiles of the domains", columns, rows)]
}

pub(super) fn dimension_charts(overall: &Summary) -> Vec<Chart> {
    let tops = overall.dimensions.iter().map(|of| charts::top(&of.distribution));
    let to = tops.fold(0.0, f64::max);
    let chart = |of: &DimensionDistribution| {
        let name = charts::name(of.dimension);
        charts::histogram(&sentence(name), name, &of.distribution, to, None)
    };
    overall.dimensions.iter().map(chart).collect()
}

pub(super) fn constant(overall: &Summary) -> Option<String> {
    let names = list(overall.constant_dimensions.iter().copied().map(charts::name));
    (!overall.constant_dimensions.is_empty())
        .then(|| format!("The same in all traces, so without effect on the order: {names}."))
}

pub(super) fn dimension_table(found: &Calibration) -> Table {
    let mut columns = vec!["domain".to_owned(), "score".to_owned()];
    columns.extend(Dimension::ALL.map(|dimension| charts::name(dimension).to_owned()));
    let cell = |name: &str, what: &str, of: Option<&Distribution>, threshold: Option<f64>| {
        let Some(of) = of else { return Markup::from("–".to_owned()) };
        let median = score(percentile(of, 50.0));
        let name = format!("Histogram of {what} from 0 to 1, {name}: median {median}");
        spark(&name, &of.histogram, threshold)
    };
    let row = |(name, summary): (String, &Summary)| {
        let mut row = vec![Markup::from(name.clone())];
        row.push(cell(&name, "score", summary.score.as_ref(), found.chosen()));
        row.extend(Dimension::ALL.map(|dimension| {
            let of = summary.dimensions.iter().find(|of| of.dimension == dimension);
            cell(&name, charts::name(dimension), of.map(|of| &of.distribution), None)
        }));
        row
    };
    let caption = "Histograms from 0 to 1 by domain, each scaled to its highest bar";
    Table::new(caption, columns, summaries(found).map(row))
}
