//! Traces to look at.

use crate::{calibration::Calibration, row::Row};

use super::text::{score, shown};

/// Rows with their numbers.
pub(super) struct TraceTable<'a> {
    pub(super) id: &'static str,
    pub(super) caption: String,
    pub(super) rows: Vec<(usize, &'a Row)>,
}

pub(super) fn traces<'a>(found: &Calibration, rows: &'a [Row]) -> [TraceTable<'a>; 3] {
    let table = |id, caption: String, numbers: &[usize]| {
        let row = |number: &usize| Some((*number, rows.get(number.checked_sub(1)?)?));
        TraceTable { id, caption, rows: numbers.iter().filter_map(row).collect() }
    };
    let middle = found.chosen().map_or_else(
        || "Borderline: nearest to the median score".to_owned(),
        |chosen| format!("Borderline: nearest to the threshold {}", score(chosen)),
    );
    let examples = &found.examples;
    [
        table("borderline", middle, &examples.borderline),
        table("highest", "Highest scores".to_owned(), &examples.highest),
        table("lowest", "Lowest scores".to_owned(), &examples.lowest),
    ]
}

pub(super) fn name(number: usize, row: &Row) -> String {
    row.id.as_deref().map_or_else(|| format!("trace {number}"), shown)
}

pub(super) fn nearest(row: &Row) -> String {
    let Some(similarity) = row.similarity else {
        return format!("none ({})", shown(&row.novelty_source));
    };
    let id = row.nearest.as_deref().map_or_else(|| "a trace without id".to_owned(), shown);
    format!("{id}, similarity {}", score(similarity))
}

pub(super) fn label(row: &Row) -> &'static str {
    match row.label {
        Some(true) => "positive",
        Some(false) => "negative",
        None => "–",
    }
}
