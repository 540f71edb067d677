//! The page of all runs: one HTML file, whose script searches and sorts them.

use askama::Template;
use knowledgepulse_scoring::{Error, Result};
use serde::Deserialize;

use super::{
    Context,
    text::{count, sentence, shown},
};

/// The number of runs that are shown at first. Browsers are slow with thousands.
const FIRST: usize = 200;

/// What a page shows. All of it is text, which is cut and escaped as in a report.
#[derive(Debug, Deserialize, Template)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[template(path = "runs.html")]
pub struct Page {
    context: Context,
    /// Marks the script of the page as the only one that may run: an unpredictable text.
    nonce: String,
    /// The name, the value and a note of each figure in the header.
    figures: Vec<(String, String, String)>,
    /// Paragraphs in the header.
    notes: Vec<String>,
    /// The names of the orders.
    orders: Vec<String>,
    /// The runs in the first order.
    runs: Vec<Run>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Run {
    /// A number for each order, the greatest first; without a value, the run comes last.
    keys: Vec<Option<f64>>,
    score: String,
    title: String,
    facts: String,
    reasons: Vec<String>,
}

impl Page {
    /// Returns the page as an HTML document.
    ///
    /// # Errors
    ///
    /// `INTERNAL` if formatting fails.
    pub fn html(&self) -> Result<String> {
        self.render().map_err(Error::internal)
    }
}

/// Returns numbers as JSON.
fn json(keys: &[Option<f64>]) -> String {
    serde_json::json!(keys).to_string()
}
