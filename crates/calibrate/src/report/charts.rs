//! The charts of the report.

use crate::{
    calibration::{BandPoint, Block, Calibration, Decile, Distribution, EcdfPoint, Labels},
    row::Row,
};

use super::{
    percentile,
    svg::{Axis, Markup, Plot},
    text::{count, percent, round_percent, score},
};

/// The minimum number of rows in a block with percentiles; rows of smaller blocks are drawn as points.
const ROWS_FOR_PERCENTILES: usize = 10;

/// A chart with the texts above and below it.
pub(super) struct Chart {
    pub(super) title: String,
    pub(super) note: String,
    pub(super) svg: Markup,
    /// Class and name of each kind of line, if there are several.
    pub(super) keys: Vec<(&'static str, String)>,
}

impl Chart {
    fn new<const N: usize>(
        title: &str,
        note: String,
        plot: Plot,
        keys: [(&'static str, &str); N],
    ) -> Self {
        let keys = keys.map(|(class, name)| (class, name.to_owned())).into();
        Self { title: title.to_owned(), note, svg: plot.finish(), keys }
    }
}

fn rows(distribution: &Distribution) -> usize {
    distribution.histogram.iter().sum()
}

/// Returns the end of the axis for the shares in a histogram.
pub(super) fn top(distribution: &Distribution) -> f64 {
    let most = distribution.histogram.iter().copied().max().unwrap_or(0);
    round_up(most as f64 / rows(distribution).max(1) as f64)
}

/// Rounds up to 5 %, 10 %, 20 % … 100 %.
fn round_up(share: f64) -> f64 {
    if share <= 0.05 { 0.05 } else { ((share * 10.0 - 1e-9).ceil() / 10.0).clamp(0.1, 1.0) }
}

/// `what` is on the horizontal axis; `to` is the end of the vertical one.
pub(super) fn histogram(
    title: &str,
    what: &str,
    distribution: &Distribution,
    to: f64,
    threshold: Option<f64>,
) -> Chart {
    let note = summary(distribution);
    let name = format!("Histogram of {what}, {title}");
    let mut plot = Plot::new(&name, &note, Axis::unit(what), Axis::share("share of traces", to));
    let width = 1.0 / distribution.histogram.len().max(1) as f64;
    let n = rows(distribution).max(1);
    for (index, rows) in distribution.histogram.iter().enumerate() {
        let from = index as f64 * width;
        let share = *rows as f64 / n as f64;
        let title = format!(
            "{from:.2}–{:.2}: {} ({})",
            from + width,
            count(*rows, "trace"),
            percent(share)
        );
        plot.bar(from, from + width, share, &title);
    }
    plot.vertical_threshold(threshold);
    Chart::new(title, note, plot, [])
}

fn summary(distribution: &Distribution) -> String {
    let at = |percent| score(percentile(distribution, percent));
    format!(
        "{}, median {}, middle half {}–{}, range {}–{}",
        count(rows(distribution), "trace"),
        at(50.0),
        at(25.0),
        at(75.0),
        score(distribution.min),
        score(distribution.max)
    )
}

pub(super) fn ecdf(points: &[EcdfPoint], threshold: Option<f64>) -> Chart {
    let below = threshold.map(|threshold| {
        let below = points.iter().rev().find(|point| point.score < threshold);
        (threshold, below.map_or(0.0, |point| point.share))
    });
    let note = below.map_or_else(
        || "The share of traces with at most this score.".to_owned(),
        |(at, share)| format!("{} of the traces are below {}.", percent(share), score(at)),
    );
    let x = Axis::unit("score");
    let y = Axis::share("share of traces at or below the score", 1.0);
    let mut plot = Plot::new("Cumulative distribution of the score", &note, x, y);
    let mut steps = vec![(0.0, 0.0)];
    let mut share = 0.0;
    for point in points {
        steps.extend([(point.score, share), (point.score, point.share)]);
        share = point.share;
    }
    steps.push((1.0, share));
    // Before the curve, so that its casing does not cut it.
    plot.vertical_threshold(threshold);
    plot.line("line", steps);
    Chart::new("Cumulative distribution", note, plot, [])
}

/// Returns `None` for fewer than two rows.
pub(super) fn timeline(found: &Calibration, rows: &[Row]) -> Option<Chart> {
    let (blocks, cold) = (&found.timeline[..], found.rows.first_limit);
    let (first, last) = (blocks.first()?, blocks.last().filter(|block| block.last > 1)?);
    let to = last.last as f64;
    let middle = |block: &Block| f64::midpoint(block.first as f64, block.last as f64);
    let note = format!(
        "Median novelty {} at the beginning, {} at the end; median score {} and {}.",
        score(first.novelty_p50),
        score(last.novelty_p50),
        score(first.score_p50),
        score(last.score_p50)
    );
    let mut ticks: Vec<_> = [1.0, (to / 2.0).round(), to].map(|at| (at, format!("{at:.0}"))).into();
    ticks.dedup();
    let x = Axis { label: "trace, in the order of scoring", from: 1.0, to, ticks };
    let mut plot = Plot::new("Score and novelty over time", &note, x, Axis::unit("score, novelty"));
    if cold > 1 {
        plot.shade(1.0, cold as f64);
    }
    // A single block is drawn over its whole length.
    let places: Vec<(f64, &Block)> = match blocks {
        [only] => vec![(only.first as f64, only), (to, only)],
        blocks => blocks.iter().map(|block| (middle(block), block)).collect(),
    };
    let has_percentiles = first.last - first.first + 1 >= ROWS_FOR_PERCENTILES;
    if has_percentiles {
        let band = places.iter().map(|(at, block)| BandPoint {
            at: *at,
            low: block.score_p10,
            high: block.score_p90,
        });
        plot.band(&band.collect::<Vec<_>>());
    } else {
        (1..).zip(rows).for_each(|(number, row)| plot.row(f64::from(number), row.score));
    }
    plot.line("line", places.iter().map(|(at, block)| (*at, block.score_p50)));
    plot.line("second", places.iter().map(|(at, block)| (*at, block.novelty_p50)));
    if let Some(threshold) = found.chosen() {
        plot.horizontal("threshold", threshold, &format!("threshold {}", score(threshold)));
    }
    let spread =
        if has_percentiles { ("band", "10th to 90th percentile") } else { ("row", "scores") };
    let keys = [("line", "median score"), spread, ("second", "median novelty")];
    let mut chart = Chart::new("Over time", note, plot, keys);
    if cold > 1 {
        chart.keys.push(("shade", "cold start".to_owned()));
    }
    Some(chart)
}

pub(super) fn roc(labels: &Labels, level: f64) -> Chart {
    let note = format!("Area under the curve {}.", score(labels.auc.value));
    let x = Axis::unit("accepted of the negative (false-positive rate)");
    let y = Axis::unit("accepted of the positive (true-positive rate)");
    let mut plot = Plot::new("Receiver operating characteristic", &note, x, y);
    plot.band(&labels.roc_band);
    plot.line("reference", [(0.0, 0.0), (1.0, 1.0)]);
    plot.line(
        "line",
        labels.roc.iter().map(|point| (point.false_positive_rate, point.true_positive_rate)),
    );
    let youden = labels.youden;
    plot.point(
        "dot",
        (youden.false_positive_rate, youden.recall),
        &format!("best J at {}", score(youden.threshold)),
    );
    let interval = format!("interval at {}", round_percent(level));
    let keys = [("line", "score"), ("band", &*interval), ("reference", "chance")];
    Chart::new("ROC", note, plot, keys)
}

pub(super) fn precision_recall(found: &Calibration, labels: &Labels) -> Chart {
    let all = labels.positives + labels.negatives;
    let rate = labels.positives as f64 / all.max(1) as f64;
    let note = format!(
        "Average precision {}; accepting everything gives {}.",
        score(labels.average_precision.value),
        score(rate)
    );
    let x = Axis::unit("accepted of the positive (recall)");
    let y = Axis::unit("positive of the accepted (precision)");
    let mut plot = Plot::new("Precision and recall", &note, x, y);
    plot.band(&labels.precision_recall_band);
    plot.horizontal("reference", rate, "");
    // The first point accepts nothing, so its precision is only a convention.
    let points = labels.precision_recall.iter().filter(|point| point.threshold.is_some());
    plot.line("line", points.map(|point| (point.recall, point.precision)));
    let chosen = found.threshold.as_ref().filter(|threshold| threshold.value.is_some());
    if let Some(precision) = chosen.and_then(|threshold| threshold.precision) {
        let name = format!("threshold {}", score(precision.threshold));
        plot.point("chosen", (precision.recall, precision.precision), &name);
    }
    let interval = format!("interval at {}", round_percent(found.options.level));
    let keys = [("line", "score"), ("band", &*interval), ("reference", "accepting everything")];
    Chart::new("Precision and recall", note, plot, keys)
}

pub(super) fn deciles(deciles: &[Decile], level: f64) -> Chart {
    let note = deciles.first().zip(deciles.last()).map_or_else(String::new, |(first, last)| {
        format!(
            "{} positive in the lowest, {} in the highest.",
            percent(first.rate),
            percent(last.rate)
        )
    });
    let to = deciles.len() as f64 + 0.5;
    let ticks = (1..=deciles.len()).map(|place| (place as f64, place.to_string()));
    let x = Axis {
        label: "decile of the score, from the lowest",
        from: 0.5,
        to,
        ticks: ticks.collect(),
    };
    let name = format!("Label rate by decile, with intervals at {}", round_percent(level));
    let mut plot = Plot::new(&name, &note, x, Axis::share("positive labels", 1.0));
    for (place, decile) in (1..).zip(deciles) {
        let title = format!(
            "{}–{}: {} of {} ({})",
            score(decile.from),
            score(decile.to),
            decile.positives,
            decile.n,
            percent(decile.rate)
        );
        plot.interval(f64::from(place), decile.rate, decile.interval, &title);
    }
    Chart::new("Label rate by decile", note, plot, [])
}
