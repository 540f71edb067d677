//! Numbers and text for people.

use knowledgepulse_calibrate::calibration::{Estimate, Interval};

/// The number of characters of a text that are shown.
const TEXT: usize = 1000;

/// Three decimals, with a minus sign rather than a hyphen.
pub(crate) fn score(value: f64) -> String {
    format!("{value:.3}").replace('-', "−")
}

pub(crate) fn range(from: f64, to: f64) -> String {
    format!("{}–{}", score(from), score(to))
}

/// One decimal, with a non-breaking space before the sign.
pub(crate) fn percent(share: f64) -> String {
    format!("{:.1}\u{a0}%", share * 100.0)
}

/// A percentage with all its decimals, for options.
pub(crate) fn round_percent(share: f64) -> String {
    format!("{}\u{a0}%", (share * 1e6).round() / 1e4)
}

/// The text with its first letter in upper case.
pub(crate) fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().iter().flat_map(|first| first.to_uppercase()).chain(letters).collect()
}

/// `1 trace`, `2 traces`.
pub(crate) fn count(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

pub(crate) fn interval(interval: &Interval) -> String {
    format!("{} to {}", score(interval.low), score(interval.high))
}

pub(crate) fn percent_interval(interval: &Interval) -> String {
    format!("{} to {}", percent(interval.low), percent(interval.high))
}

/// A value with its interval, if there is one.
pub(crate) fn estimate(estimate: &Estimate) -> String {
    let value = score(estimate.value);
    let around = estimate.interval.as_ref();
    around.map_or(value.clone(), |around| format!("{value} ({})", interval(around)))
}

/// A trace's text without control characters that HTML forbids.
pub(crate) fn printable(text: &str) -> String {
    let is_printable = |letter: &char| !letter.is_control() || matches!(letter, '\n' | '\t');
    text.chars().filter(is_printable).collect()
}

/// The first thousand characters of a trace's text.
pub(crate) fn shown(text: &str) -> String {
    let mut shown = printable(text);
    if let Some((end, _)) = shown.char_indices().nth(TEXT) {
        shown.truncate(end);
        shown.push('…');
    }
    shown
}
