//! Traces to look at.

use crate::{
    calibration::{Calibration, Dimension},
    row::{Row, Source},
};

use super::text::{score, shown};

pub(super) struct TraceTable {
    pub(super) id: &'static str,
    pub(super) caption: String,
    pub(super) traces: Vec<TraceView>,
}

pub(super) struct TraceView {
    pub(super) number: usize,
    pub(super) score: String,
    pub(super) name: String,
    pub(super) place: Option<String>,
    pub(super) domain: String,
    pub(super) objective: Option<String>,
    pub(super) nearest: String,
    pub(super) overrides: String,
    pub(super) is_cut: bool,
    pub(super) dimensions: Vec<String>,
    pub(super) success: &'static str,
    pub(super) label: &'static str,
}

pub(super) fn traces(found: &Calibration, rows: &[Row], chosen: Option<f64>) -> Vec<TraceTable> {
    let table = |id, caption: String, numbers: &[usize]| {
        let trace = |number: &usize| {
            let row = rows.get(number.checked_sub(1)?)?;
            Some(trace(*number, row))
        };
        TraceTable { id, caption, traces: numbers.iter().filter_map(trace).collect() }
    };
    let middle = chosen.map_or_else(
        || "Borderline: nearest to the median score".to_owned(),
        |chosen| format!("Borderline: nearest to the threshold {}", score(chosen)),
    );
    let examples = &found.examples;
    vec![
        table("borderline", middle, &examples.borderline),
        table("highest", "Highest scores".to_owned(), &examples.highest),
        table("lowest", "Lowest scores".to_owned(), &examples.lowest),
    ]
}

fn trace(number: usize, row: &Row) -> TraceView {
    let nearest = row.similarity.map(|similarity| {
        let id = row.nearest.as_deref().map_or_else(|| "a trace without id".to_owned(), shown);
        format!("{id}, similarity {}", score(similarity))
    });
    TraceView {
        number,
        score: score(row.score),
        name: row.id.as_deref().map_or_else(|| format!("trace {number}"), shown),
        place: row.source.as_ref().map(|Source { name, line }| shown(&format!("{name}:{line}"))),
        domain: shown(&row.domain),
        objective: row.objective.as_deref().map(shown),
        nearest: nearest.unwrap_or_else(|| format!("none ({})", shown(&row.novelty_source))),
        overrides: shown(&row.overrides.join(", ")),
        is_cut: row.is_cut,
        dimensions: Dimension::ALL.map(|dimension| score(dimension.of(&row.dimensions))).into(),
        success: if row.success { "yes" } else { "no" },
        label: match row.label {
            Some(true) => "positive",
            Some(false) => "negative",
            None => "–",
        },
    }
}
