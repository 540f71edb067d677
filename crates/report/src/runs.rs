//! The page of runs: one HTML file, whose script searches and sorts them, and saves which to keep.

use askama::Template;
use knowledgepulse_scoring::{Error, Result};
use serde::{Deserialize, Serialize};

use crate::{
    Context,
    charts::coverage,
    text::{count, printable, sentence, shown},
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
    /// The coverage after each run, of runs that were selected. Default: none.
    #[serde(default)]
    coverage: Vec<f64>,
    /// Runs that are only named. Default: none.
    #[serde(default)]
    others: Vec<List>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Run {
    /// A number for each order, the greatest first; without a value, the run comes last.
    keys: Vec<Option<f64>>,
    /// What a label has; without it, the run cannot be labelled.
    id: Option<String>,
    score: String,
    title: String,
    facts: String,
    reasons: Vec<String>,
    /// What is shown on request. Default: nothing.
    #[serde(default)]
    lists: Vec<List>,
}

/// A list that is closed at first.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    name: String,
    /// A short mark, the text in full, and a note of each item.
    items: Vec<(String, String, String)>,
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

/// JSON without control characters that HTML forbids.
fn json(value: impl Serialize) -> String {
    let json = serde_json::json!(value).to_string();
    let mut escaped = String::with_capacity(json.len());
    for letter in json.chars() {
        match letter.is_control() {
            true => escaped += &format!("\\u{:04x}", u32::from(letter)),
            false => escaped.push(letter),
        }
    }
    escaped
}
