//! The report: a calibration as one HTML file, which needs no network, no script and no other file.

mod charts;
mod svg;
mod text;
mod view;

use askama::Template;
use serde::{Deserialize, Serialize};

use crate::{
    calibration::Calibration,
    error::{Error, Result},
    json::{self, Unfit},
    row::Row,
};

use self::view::Report;

/// What a report says beyond the calibration. Every field has a default; in JSON the names are in
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
    /// The language of the objectives, as a BCP 47 tag. Default: `en`, as the rest.
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
        json::read(json)
            .map_err(|Unfit { path, expected, found }| Error::option(path, expected, found))
    }
}

/// Returns the report of a calibration of `rows` as one HTML document. Of each text the first 1,000
/// characters are shown. All text is escaped, and a policy
/// in the document forbids scripts and requests.
///
/// # Errors
///
/// A value does not format.
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
    Report::new(calibration, rows, context).render()
}
