//! Pages, each one HTML file, which needs no network and no other file: the report of a calibration, without a script, and
//! [the runs](runs) of a scoring or a selection.

#![forbid(unsafe_code)]

mod charts;
pub mod runs;
mod svg;
mod text;

use std::{borrow::Borrow, iter::once};

use askama::Template;
use knowledgepulse_calibrate::{
    Calibration, Row, Target,
    calibration::{Dimension, Distribution, Fit, FitResult, Summary},
};
use knowledgepulse_scoring::{Error, Result, weights::Weights};
use serde::{Deserialize, Serialize};

use self::{
    charts::{
        DOMAINS, deciles, dimension_charts, domain_charts, precision_recall, roc, score_charts,
        sparks,
    },
    text::{
        count, estimate, interval, percent, percent_interval, range, round_percent, score,
        sentence, shown,
    },
};

/// What a report shows beyond the calibration. Every field has a default; in JSON the names are in
/// camelCase, and unknown ones are refused.
///
/// ```
/// use knowledgepulse_calibrate::read_json;
/// use knowledgepulse_report::Context;
/// use knowledgepulse_scoring::Invalid;
///
/// let json = r#"{ "settings": [["command", "kp-score calibrate runs.jsonl"]] }"#;
/// let context: Context = read_json(json, Invalid::Option, "")?;
/// assert_eq!((&*context.title, &*context.language), ("Calibration of scores", "en"));
/// # Ok::<(), knowledgepulse_scoring::Error>(())
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

/// Returns the report of a calibration of `rows` as one HTML document. Texts are cut after 1,000
/// characters and escaped, and a policy in the document forbids scripts and requests.
///
/// # Errors
///
/// `INTERNAL` if formatting fails.
///
/// ```
/// use knowledgepulse_calibrate::{Options, Row, calibrate};
/// use knowledgepulse_workers::CancelToken;
///
/// let line = r#"{ "id": "<script>", "domain": "airline", "score": 0.4, "noveltySource": "cache", "similarity": 0.6,
///     "dimensions": { "complexity": 0.3, "novelty": 0.4, "toolDiversity": 0.2, "outcomeConfidence": 0.9 },
///     "success": true, "confidence": 0.9 }"#;
/// let rows = [Row::from_json(line, 1)?];
/// let calibration = calibrate(&rows, &Options::default(), &CancelToken::default())?;
/// let html = knowledgepulse_report::html(&calibration, &rows, &Default::default())?;
/// assert!(html.starts_with("<!doctype html>") && !html.contains("<script"));
/// # Ok::<(), knowledgepulse_scoring::Error>(())
/// ```
pub fn html(calibration: &Calibration, rows: &[Row], context: &Context) -> Result<String> {
    Report { found: calibration, rows, context }.render().map_err(Error::internal)
}

/// The whole document.
#[derive(Template)]
#[template(path = "report.html")]
struct Report<'a> {
    found: &'a Calibration,
    rows: &'a [Row],
    context: &'a Context,
}

fn percentile(distribution: &Distribution, percent: f64) -> f64 {
    let found = distribution.percentiles.iter().find(|found| found.percent == percent);
    found.map_or(distribution.mean, |found| found.value)
}

fn target(found: &Calibration) -> String {
    match found.options.target {
        Some(Target::Threshold(_)) => "given".to_owned(),
        Some(Target::Share(at)) => format!("to accept {}", round_percent(at)),
        Some(Target::Precision(at)) => format!("for a precision of {}", round_percent(at)),
        None => "none".to_owned(),
    }
}

fn is_given(found: &Calibration) -> bool {
    matches!(found.options.target, Some(Target::Threshold(_)))
}

/// All domains together, then each domain.
fn summaries(found: &Calibration) -> impl Iterator<Item = (String, &Summary)> {
    let all = ("all domains".to_owned(), &found.overall);
    let each = found.domains.iter().map(|domain| (shown(&domain.domain), &domain.summary));
    // With one domain both are the same.
    once(all).filter(|_| found.domains.len() != 1).chain(each)
}

fn list<S: Borrow<str>>(names: &[S]) -> String {
    if names.is_empty() { "–".to_owned() } else { names.join(", ") }
}

/// The figures of a row of the table of percentiles.
fn figures(of: &Distribution) -> impl Iterator<Item = f64> {
    let percentiles = of.percentiles.iter().map(|found| found.value);
    once(of.min).chain(percentiles).chain([of.max, of.mean])
}

fn weights(weights: &Weights) -> String {
    weights.parts().map(|weight| weight.to_string()).join(" · ")
}

/// The names of the dimensions that are the same in all rows.
fn constant(summary: &Summary) -> String {
    let names = summary.constant_dimensions.iter().map(|dimension| dimension.name());
    list(&names.collect::<Vec<_>>())
}

/// The profiles that are better, as JavaScript.
fn paste(found: &Calibration) -> Option<String> {
    let line = |fit: &Fit| {
        let [c, n, t, o] = fit.recommended?.parts();
        let name = serde_json::Value::from(&*fit.profile);
        // As a plain member it would set the prototype.
        let name = if fit.profile == "__proto__" { format!("[{name}]") } else { name.to_string() };
        Some(format!(
            "    {name}: {{ complexity: {c}, novelty: {n}, toolDiversity: {t}, outcomeConfidence: {o} }},\n"
        ))
    };
    let lines: String = found.fits.iter().filter_map(line).collect();
    (!lines.is_empty()).then(|| format!("new Scorer({{\n  profiles: {{\n{lines}  }},\n}});"))
}

/// The caption of the rows in the middle.
fn borderline(found: &Calibration) -> String {
    found.chosen().map_or_else(
        || "Borderline: nearest to the median score".to_owned(),
        |chosen| format!("Borderline: nearest to the threshold {}", score(chosen)),
    )
}

/// The rows with these numbers, from 1.
fn numbered<'a>(numbers: &'a [usize], rows: &'a [Row]) -> impl Iterator<Item = (usize, &'a Row)> {
    numbers.iter().filter_map(|number| Some((*number, rows.get(number.checked_sub(1)?)?)))
}
