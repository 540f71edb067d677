//! What the template shows: sentences, tables, charts.

mod distributions;
mod fits;
mod labels;
mod threshold;
mod traces;

use std::iter::once;

use askama::Template;
use knowledgepulse_scoring::weights::Weights;

use crate::{
    calibration::{Calibration, Distribution, Summary},
    options::Target,
    row::Row,
};

use self::{
    distributions::{
        DOMAINS, constant, dimension_charts, dimension_table, domain_charts, domain_tables,
        score_charts,
    },
    fits::{FitView, fit_view, paste},
    labels::{LabelView, label_view},
    threshold::{accepted, threshold},
    traces::{TraceTable, traces},
};

use super::{
    Context,
    charts::Chart,
    svg::Svg,
    text::{count, interval, percent, round_percent, score, sentence, shown},
};

/// The whole document.
#[derive(Template)]
#[template(path = "report.html")]
pub(super) struct Report<'a> {
    title: &'a str,
    language: &'a str,
    lead: String,
    facts: Vec<(&'static str, String, String)>,
    warnings: Vec<String>,
    threshold: Vec<String>,
    accepted: Table,
    score: Vec<Chart>,
    domain_scores: Vec<Chart>,
    more_domains: usize,
    domain_tables: Vec<Table>,
    dimensions: Vec<Chart>,
    constant: Option<String>,
    dimension_table: Table,
    labels: Option<LabelView>,
    no_labels: &'static str,
    fits: Vec<FitView>,
    paste: Option<String>,
    traces: Vec<TraceTable>,
    settings: Table,
}

struct Table {
    caption: String,
    columns: Vec<String>,
    rows: Vec<Vec<Cell>>,
}

enum Cell {
    Text(String),
    Svg(Svg),
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl Table {
    fn new(caption: &str, columns: &[&str], rows: Vec<Vec<String>>) -> Self {
        Self {
            caption: caption.to_owned(),
            columns: columns.iter().map(ToString::to_string).collect(),
            rows: rows.into_iter().map(|row| row.into_iter().map(Cell::from).collect()).collect(),
        }
    }
}

impl<'a> Report<'a> {
    pub(super) fn new(found: &'a Calibration, rows: &[Row], context: &'a Context) -> Self {
        let chosen = found.threshold.as_ref().and_then(|threshold| threshold.value);
        let paste = paste(found);
        Self {
            title: &context.title,
            language: &context.language,
            lead: lead(found),
            facts: facts(found),
            warnings: found.warnings.iter().map(|warning| sentence(&warning.message)).collect(),
            threshold: threshold(found),
            accepted: accepted(found),
            score: score_charts(found, chosen),
            domain_scores: domain_charts(found, chosen),
            more_domains: found.domains.len().saturating_sub(DOMAINS),
            domain_tables: domain_tables(found),
            dimensions: dimension_charts(&found.overall),
            constant: constant(&found.overall),
            dimension_table: dimension_table(found, chosen),
            labels: found.labels.as_ref().map(|labels| label_view(found, labels)),
            no_labels: if found.rows.labelled == 0 {
                "The rows have no labels, so nothing is known of how well the score finds what is worth sharing."
            } else {
                "All labels are alike, so nothing is known of how well the score tells them apart."
            },
            fits: found.fits.iter().map(fit_view).collect(),
            paste,
            traces: traces(found, rows, chosen),
            settings: settings(found, context),
        }
    }
}

fn lead(found: &Calibration) -> String {
    let rows = found.rows;
    let mut lead = format!(
        "{} of {} used, in {} and {}.",
        rows.used,
        count(rows.total, "trace"),
        count(found.domains.len(), "domain"),
        count(rows.groups, "group"),
    );
    let excluded = rows.uncompared + rows.first;
    if excluded > 0 {
        lead.push_str(&format!(
            " Excluded as cold start: {} compared with nothing, and {} more among the first {}.",
            rows.uncompared, rows.first, rows.first_limit
        ));
    }
    lead
}

fn facts(found: &Calibration) -> Vec<(&'static str, String, String)> {
    let mut facts = Vec::new();
    if let Some(threshold) = &found.threshold {
        let value = threshold.value.map_or_else(|| "none".to_owned(), score);
        facts.push(("Threshold", value, target(found)));
        let of = format!("{} of {}", threshold.accepted, found.rows.used);
        facts.push(("Accepted", percent(threshold.share.value), of));
    }
    if let Some(scores) = &found.overall.score {
        let range = format!("{}–{}", score(scores.min), score(scores.max));
        facts.push(("Median score", score(percentile(scores, 50.0)), range));
    }
    if let Some(labels) = &found.labels {
        let around = labels.auc.interval.map_or_else(String::new, interval);
        facts.push(("AUC", score(labels.auc.value), around));
    }
    let cut = percent(found.overall.cut_share);
    facts.push(("Cut texts", cut, "the model saw only the beginning".to_owned()));
    facts
}

fn percentile(distribution: &Distribution, percent: f64) -> f64 {
    let found = distribution.percentiles.iter().find(|found| found.percent == percent);
    found.map_or(distribution.mean, |found| found.value)
}

fn target(found: &Calibration) -> String {
    match found.options.target {
        Some(Target::Threshold(_)) => "given".to_owned(),
        Some(Target::Share(share)) => format!("to accept {}", round_percent(share)),
        Some(Target::Precision(precision)) => {
            format!("for a precision of {}", round_percent(precision))
        }
        None => "none".to_owned(),
    }
}

/// All domains together, then each.
fn summaries(found: &Calibration) -> impl Iterator<Item = (String, &Summary)> {
    let all = ("all domains".to_owned(), &found.overall);
    let each = found.domains.iter().map(|domain| (shown(&domain.domain), &domain.summary));
    // With one domain both are the same.
    once(all).filter(|_| found.domains.len() != 1).chain(each)
}

fn four(weights: &Weights) -> [f64; 4] {
    [weights.complexity, weights.novelty, weights.tool_diversity, weights.outcome_confidence]
}

fn list<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<_> = names.collect();
    if names.is_empty() { "–".to_owned() } else { names.join(", ") }
}

fn settings(found: &Calibration, context: &Context) -> Table {
    let options = &found.options;
    let sources = |values: &[String]| shown(&list(values.iter().map(String::as_str)));
    let first = options.first.map_or_else(
        || format!("{} (by default)", found.rows.first_limit),
        |first| first.to_string(),
    );
    let mut rows: Vec<Vec<String>> =
        context.settings.iter().map(|(name, value)| vec![shown(name), shown(value)]).collect();
    let own = [
        ("target", target(found)),
        ("fit", if options.fit { "yes" } else { "no" }.to_owned()),
        ("first rows excluded", first),
        ("level of intervals", round_percent(options.level)),
        ("bootstrap replicates", options.replicates.to_string()),
        ("seed", options.seed.to_string()),
        ("rows without a group", found.rows.ungrouped.to_string()),
        ("model", sources(&found.sources.models)),
        ("precision", sources(&found.sources.precisions)),
        ("version of the scorer", sources(&found.sources.versions)),
        ("version of the calibration", env!("CARGO_PKG_VERSION").to_owned()),
    ];
    rows.extend(own.map(|(name, value)| vec![name.to_owned(), value]));
    Table::new("What made this report", &["setting", "value"], rows)
}
