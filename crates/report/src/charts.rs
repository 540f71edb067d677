//! The charts of the report.

use std::iter::once;

use knowledgepulse_calibrate::{
    Calibration, Row,
    calibration::{
        BandPoint, Block, Decile, Dimension, Distribution, EcdfPoint, Labels, Summary, Threshold,
    },
};

use crate::{
    percentile,
    svg::{Axis, Markup, Plot, spark},
    text::{count, percent, range, round_percent, score, sentence, shown},
};

/// The number of domains with a chart. The tables have all domains.
pub(crate) const DOMAINS: usize = 12;

/// The minimum number of rows in a block with percentiles; rows of smaller blocks are drawn as points.
const ROWS_FOR_PERCENTILES: usize = 10;

/// A chart with the texts above and below it.
pub(crate) struct Chart {
    pub(crate) title: String,
    pub(crate) note: String,
    pub(crate) svg: Markup,
    /// Class and name of each kind of line, if there are several.
    pub(crate) keys: Vec<(&'static str, String)>,
}

impl Chart {
    fn new(title: &str, note: String, plot: Plot, keys: &[(&'static str, &str)]) -> Self {
        let keys = keys.iter().map(|(class, name)| (*class, (*name).to_owned())).collect();
        Self { title: title.to_owned(), note, svg: plot.finish(), keys }
    }
}

pub(crate) fn score_charts(found: &Calibration, rows: &[Row]) -> Vec<Chart> {
    let chosen = found.chosen();
    let mut charts = Vec::new();
    if let Some(scores) = &found.overall.score {
        charts = histograms(vec![("All domains".to_owned(), "score", scores)], chosen);
        charts.push(ecdf(&found.overall.ecdf, chosen));
    }
    charts.extend(timeline(found, rows));
    charts
}

pub(crate) fn domain_charts(found: &Calibration) -> Vec<Chart> {
    // The chart of a single domain is that of all domains.
    let shown_domains = if found.domains.len() == 1 { 0 } else { DOMAINS };
    let scores = found.domains.iter().take(shown_domains).filter_map(|domain| {
        Some((shown(&domain.domain), "score", domain.summary.score.as_ref()?))
    });
    histograms(scores.collect(), found.chosen())
}

pub(crate) fn dimension_charts(overall: &Summary) -> Vec<Chart> {
    let of_each = overall.dimensions.iter().map(|of| {
        let name = of.dimension.name();
        (sentence(name), name, &of.distribution)
    });
    histograms(of_each.collect(), None)
}

/// Draws histograms with the same vertical axis, so that they can be compared. Each item is a title, the label of the
/// horizontal axis, and the distribution.
fn histograms(
    distributions: Vec<(String, &str, &Distribution)>,
    threshold: Option<f64>,
) -> Vec<Chart> {
    let bins = distributions.iter().flat_map(|(_, _, distribution)| {
        let all = rows(distribution);
        distribution.histogram.iter().map(move |bin| share(*bin, all))
    });
    let highest = bins.fold(0.0, f64::max);
    // 5 %, 10 %, 20 % … 100 %.
    let tenths = (highest * 10.0 - 1e-9).ceil().clamp(1.0, 10.0);
    let top = if highest <= 0.05 { 0.05 } else { tenths / 10.0 };
    let histogram = |(title, what, distribution): (String, &str, &Distribution)| {
        let note = summary(distribution);
        let name = format!("Histogram of {what}, {title}");
        let y = Axis::share("share of traces", top);
        let mut plot = Plot::new(&name, &note, Axis::unit(what), y);
        let (width, all) = (1.0 / distribution.histogram.len().max(1) as f64, rows(distribution));
        for (index, bin) in distribution.histogram.iter().enumerate() {
            let (from, share) = (index as f64 * width, share(*bin, all));
            let to = from + width;
            let rows = count(*bin, "trace");
            plot.bar(from, to, share, &format!("{from:.2}–{to:.2}: {rows} ({})", percent(share)));
        }
        plot.vertical_threshold(threshold);
        Chart::new(&title, note, plot, &[])
    };
    distributions.into_iter().map(histogram).collect()
}

fn rows(of: &Distribution) -> usize {
    of.histogram.iter().copied().fold(0, usize::saturating_add)
}

/// Returns the share of the rows of one bin among all rows.
fn share(bin: usize, all: usize) -> f64 {
    bin as f64 / all.max(1) as f64
}

/// Draws small histograms of the score and of the dimensions; `None` without rows.
pub(crate) fn sparks(
    name: &str,
    summary: &Summary,
    threshold: Option<f64>,
) -> impl Iterator<Item = Option<Markup>> {
    let mark = |what: &str, of: Option<&Distribution>, threshold: Option<f64>| {
        let of = of?;
        let median = score(percentile(of, 50.0));
        let name = format!("Histogram of {what} from 0 to 1, {name}: median {median}");
        Some(spark(&name, &of.histogram, threshold))
    };
    let dimensions = Dimension::ALL.map(|dimension| {
        let of = summary.dimensions.iter().find(|of| of.dimension == dimension);
        mark(dimension.name(), of.map(|of| &of.distribution), None)
    });
    once(mark("score", summary.score.as_ref(), threshold)).chain(dimensions)
}

fn summary(of: &Distribution) -> String {
    let [low, median, high] = [25.0, 50.0, 75.0].map(|percent| score(percentile(of, percent)));
    let (rows, range) = (count(rows(of), "trace"), range(of.min, of.max));
    format!("{rows}, median {median}, middle half {low}–{high}, range {range}")
}

fn ecdf(points: &[EcdfPoint], threshold: Option<f64>) -> Chart {
    let note = if let Some(at) = threshold {
        let below = points.iter().rfind(|point| point.score < at).map_or(0.0, |point| point.share);
        format!("{} of the traces are below {}.", percent(below), score(at))
    } else {
        "The share of traces with at most this score.".to_owned()
    };
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
    Chart::new("Cumulative distribution", note, plot, &[])
}

/// Returns `None` for fewer than two rows.
fn timeline(found: &Calibration, rows: &[Row]) -> Option<Chart> {
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
    let x = Axis::numbers("trace, in the order of scoring", 1.0, to);
    let mut plot = Plot::new("Score and novelty over time", &note, x, Axis::unit("score, novelty"));
    if cold > 1 {
        plot.shade(1.0, cold as f64);
    }
    // A single block is drawn over its whole length.
    let places: Vec<(f64, &Block)> = match blocks {
        [only] => vec![(only.first as f64, only), (to, only)],
        blocks => blocks.iter().map(|block| (middle(block), block)).collect(),
    };
    let spread = if first.last - first.first + 1 >= ROWS_FOR_PERCENTILES {
        let band = places.iter().map(|(at, block)| BandPoint {
            at: *at,
            low: block.score_p10,
            high: block.score_p90,
        });
        plot.band(&band.collect::<Vec<_>>());
        ("band", "10th to 90th percentile")
    } else {
        for (number, row) in (1..).zip(rows) {
            // A line without a length is a dot.
            plot.line("row", [(f64::from(number), row.score); 2]);
        }
        ("row", "scores")
    };
    plot.line("line", places.iter().map(|(at, block)| (*at, block.score_p50)));
    plot.line("second", places.iter().map(|(at, block)| (*at, block.novelty_p50)));
    if let Some(threshold) = found.chosen() {
        plot.horizontal("threshold", threshold, &format!("threshold {}", score(threshold)));
    }
    let mut keys = vec![("line", "median score"), spread, ("second", "median novelty")];
    if cold > 1 {
        keys.push(("shade", "cold start"));
    }
    Some(Chart::new("Over time", note, plot, &keys))
}

/// Draws the coverage after each of the kept runs; `None` for fewer than two.
pub(crate) fn coverage(after: &[f64]) -> Option<Chart> {
    let [_, .., last] = *after else { return None };
    let half = after.iter().take_while(|share| **share < last / 2.0).count() + 1;
    let kept = after.len();
    let note = format!("{kept} runs cover {}; half of that, the first {half}.", percent(last));
    let x = Axis::numbers("kept runs", 0.0, kept as f64);
    let mut plot = Plot::new("Coverage", &note, x, Axis::share("coverage", 1.0));
    plot.line("line", once((0.0, 0.0)).chain((1..).map(f64::from).zip(after.iter().copied())));
    Some(Chart::new("Coverage", note, plot, &[]))
}

pub(crate) fn roc(labels: &Labels, level: f64) -> Chart {
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
    let name = format!("best J at {}", score(youden.threshold));
    plot.point("dot", (youden.false_positive_rate, youden.recall), &name);
    let interval = format!("interval at {}", round_percent(level));
    let keys = [("line", "score"), ("band", &*interval), ("reference", "chance")];
    Chart::new("ROC", note, plot, &keys)
}

pub(crate) fn precision_recall(found: &Calibration, labels: &Labels) -> Chart {
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
    if let Some(Threshold { value: Some(_), precision: Some(precision), .. }) = &found.threshold {
        let name = format!("threshold {}", score(precision.threshold));
        plot.point("chosen", (precision.recall, precision.precision), &name);
    }
    let interval = format!("interval at {}", round_percent(found.options.level));
    let keys = [("line", "score"), ("band", &*interval), ("reference", "accepting everything")];
    Chart::new("Precision and recall", note, plot, &keys)
}

pub(crate) fn deciles(deciles: &[Decile], level: f64) -> Chart {
    let note = deciles.first().zip(deciles.last()).map_or_else(String::new, |(first, last)| {
        format!(
            "{} positive in the lowest, {} in the highest.",
            percent(first.rate),
            percent(last.rate)
        )
    });
    let to = deciles.len() as f64 + 0.5;
    let ticks = (1..=deciles.len()).map(|place| (place as f64, place.to_string())).collect();
    let x = Axis { label: "decile of the score, from the lowest", from: 0.5, to, ticks };
    let name = format!("Label rate by decile, with intervals at {}", round_percent(level));
    let mut plot = Plot::new(&name, &note, x, Axis::share("positive labels", 1.0));
    for (place, decile) in (1..).zip(deciles) {
        let Decile { from, to, n, positives, rate, interval, .. } = *decile;
        let title = format!("{}: {positives} of {n} ({})", range(from, to), percent(rate));
        plot.interval(f64::from(place), rate, interval, &title);
    }
    Chart::new("Label rate by decile", note, plot, &[])
}
