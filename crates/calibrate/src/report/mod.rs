//! The report: a calibration as one HTML file, which needs no network, no script and no other file.

mod charts;
mod distributions;
mod labels;
mod svg;
mod text;
mod threshold;
mod traces;

use std::iter::once;

use askama::Template;
use serde::{Deserialize, Serialize};

use crate::{
    calibration::{Calibration, Dimension, Distribution, Summary},
    error::{Result, read_json},
    options::Target,
    row::Row,
};

use self::{
    distributions::{
        DOMAINS, constant, dimension_charts, dimension_table, domain_charts, domain_tables,
        score_charts,
    },
    labels::{fit_view, label_view, paste},
    svg::Markup,
    text::{count, interval, percent, round_percent, score, sentence, shown},
    threshold::{accepted, threshold},
    traces::{label, name, nearest, traces},
};

/// What a report shows beyond the calibration. Every field has a default; in JSON the names are in
/// camelCase, and unknown ones are refused.
///
/// ```
/// use knowledgepulse_calibrate::report::Context;
///
/// let context = Context::from_json(r#"{ "settings": [["command", "kp-score calibrate runs.jsonl"]] }"#)?;
/// assert_eq!((&*context.title, &*context.language), ("Calibration of scores", "en"));
/// # Ok::<(), knowledgepulse_calibrate::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Context {
    /// The title. Default: `Calibration of scores`.
    pub title: String,
    /// The language of the objectives, as a BCP 47 tag. Default: `en`, like the rest of the report.
    pub language: String,
    /// Names and values for the table of settings: command, files, time. Default: none.
    pub settings: Vec<(String, String)>,
}

impl Default for Context {
    fn default() -> Self {
        Self {
            title: "Calibration of scores".to_owned(),
            language: "en".to_owned(),
            settings: Vec::new(),
        }
    }
}

impl Context {
    /// Reads a context from JSON.
    ///
    /// # Errors
    ///
    /// `INVALID_OPTION` with the field that is unknown or of another type.
    pub fn from_json(json: &str) -> Result<Self> {
        read_json(json)
    }
}

/// Returns the report of a calibration of `rows` as one HTML document. Texts are cut after 1,000
/// characters and escaped, and a policy in the document forbids scripts and requests.
///
/// # Errors
///
/// If formatting fails.
///
/// ```
/// use knowledgepulse_calibrate::{Options, Row, calibrate, report};
///
/// let line = r#"{ "id": "<script>", "domain": "airline", "score": 0.4, "noveltySource": "cache", "similarity": 0.6,
///     "dimensions": { "complexity": 0.3, "novelty": 0.4, "toolDiversity": 0.2, "outcomeConfidence": 0.9 },
///     "success": true, "confidence": 0.9 }"#;
/// let rows = [Row::from_json(line, 1)?];
/// let calibration = calibrate(&rows, &Options::default())?;
/// let html = report::html(&calibration, &rows, &report::Context::default())?;
/// assert!(html.starts_with("<!doctype html>") && !html.contains("<script"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn html(
    calibration: &Calibration,
    rows: &[Row],
    context: &Context,
) -> Result<String, askama::Error> {
    Report { found: calibration, rows, context }.render()
}

/// The whole document.
#[derive(Template)]
#[template(path = "report.html")]
struct Report<'a> {
    found: &'a Calibration,
    rows: &'a [Row],
    context: &'a Context,
}

struct Table {
    caption: String,
    columns: Vec<String>,
    rows: Vec<Vec<Markup>>,
}

impl Table {
    fn new<C: Into<Markup>>(
        caption: impl Into<String>,
        columns: impl IntoIterator<Item = impl Into<String>>,
        rows: impl IntoIterator<Item = Vec<C>>,
    ) -> Self {
        Self {
            caption: caption.into(),
            columns: columns.into_iter().map(Into::into).collect(),
            rows: rows.into_iter().map(|row| row.into_iter().map(Into::into).collect()).collect(),
        }
    }
}

fn lead(found: &Calibration) -> String {
    let rows = found.rows;
    let groups = if rows.ungrouped == rows.used {
        "none with a group".to_owned()
    } else {
        format!("in {}", count(rows.groups, "group"))
    };
    let mut lead = format!(
        "{} of {} used, in {}, {groups}.",
        rows.used,
        count(rows.total, "trace"),
        count(found.domains.len(), "domain"),
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
        // Labels that equal success say nothing about a score that contains success.
        let (auc, note) = match &labels.leakage.auc_without_outcome {
            Some(auc) => (auc, format!("without success; with it {}", score(labels.auc.value))),
            None => (&labels.auc, labels.auc.interval.map_or_else(String::new, interval)),
        };
        facts.push(("AUC", score(auc.value), note));
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

/// All domains together, then each domain.
fn summaries(found: &Calibration) -> impl Iterator<Item = (String, &Summary)> {
    let all = ("all domains".to_owned(), &found.overall);
    let each = found.domains.iter().map(|domain| (shown(&domain.domain), &domain.summary));
    // With one domain both are the same.
    once(all).filter(|_| found.domains.len() != 1).chain(each)
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
    let settings = [
        ("target", target(found)),
        ("fit", if options.fit { "yes" } else { "no" }.to_owned()),
        ("first rows excluded", first),
        ("level of intervals", round_percent(options.level)),
        ("bootstrap replicates", options.replicates.to_string()),
        ("seed", options.seed.to_string()),
        ("rows without a group", found.rows.ungrouped.to_string()),
        ("model", sources(&found.sources.model_fingerprints)),
        ("precision", sources(&found.sources.precisions)),
        ("version of the scorer", sources(&found.sources.versions)),
        ("version of the calibration", env!("CARGO_PKG_VERSION").to_owned()),
    ];
    rows.extend(settings.map(|(name, value)| vec![name.to_owned(), value]));
    Table::new("Settings of this report", ["setting", "value"], rows)
}
