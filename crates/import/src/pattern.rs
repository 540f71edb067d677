//! Regular expressions of the importers.

use regex::Regex;

pub fn regex(expression: &str) -> Regex {
    Regex::new(expression).expect("a valid expression")
}
