//! Regular expressions of the importers.

use std::sync::LazyLock;

use regex::Regex;

/// An expression that is compiled when it is first used.
pub type Pattern = LazyLock<Regex>;

pub fn regex(expression: &str) -> Regex {
    Regex::new(expression).expect("a valid expression")
}
