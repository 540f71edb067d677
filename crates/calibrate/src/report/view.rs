//! What the template shows: sentences, tables, charts.

use askama::Template;
use knowledgepulse_scoring::weights::Weights;

use crate::{
    calibration::{
        Calibration, Dimension, Distribution, Estimate, Fit, FitResult, Labels, OperatingPoint,
        Precision, Summary, Threshold,
    },
    options::Target,
    row::Row,
};

use super::{
    Context,
    charts::{self, Chart},
    svg::{Svg, spark},
    text::{
        count, estimate, interval, percent, percent_interval, round_percent, score, sentence, shown,
    },
};

/// How many domains have a chart of their own; the tables have all.
const DOMAINS: usize = 12;

/// The whole document.
#[derive(Template)]
#[template(path = "report.html")]
pub(super) struct Report<'a> {
    title: &'a str,
    language: &'a str,
    lead: String,
    facts: Vec<(&'static str, String, String)>,
    warnings: Vec<String>,
    threshold: Vec<String>,
    accepted: Table,
    score: Vec<Chart>,
    domain_scores: Vec<Chart>,
    more_domains: usize,
    domain_tables: Vec<Table>,
    dimensions: Vec<Chart>,
    constant: Option<String>,
    dimension_table: Table,
    labels: Option<LabelView>,
    no_labels: &'static str,
    fits: Vec<FitView>,
    paste: Option<String>,
    traces: Vec<TraceTable>,
    settings: Table,
}

struct Table {
    caption: String,
    columns: Vec<String>,
    rows: Vec<Vec<Cell>>,
}

enum Cell {
    Text(String),
    Svg(Svg),
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl Table {
    fn new(caption: &str, columns: &[&str], rows: Vec<Vec<String>>) -> Self {
        Self {
            caption: caption.to_owned(),
            columns: columns.iter().map(ToString::to_string).collect(),
            rows: rows.into_iter().map(|row| row.into_iter().map(Cell::from).collect()).collect(),
        }
    }
}

struct LabelView {
    facts: Vec<String>,
    leak: Option<String>,
    charts: Vec<Chart>,
    points: Table,
    deciles: Table,
}

struct FitView {
    name: String,
    verdict: String,
    note: Option<&'static str>,
    tables: Vec<Table>,
}

struct TraceTable {
    id: &'static str,
    caption: String,
    traces: Vec<TraceView>,
}

struct TraceView {
    number: usize,
    score: String,
    name: String,
    domain: String,
    objective: Option<String>,
    nearest: String,
    overrides: String,
    is_cut: bool,
    dimensions: Vec<String>,
    success: &'static str,
    label: &'static str,
}

impl<'a> Report<'a> {
    pub(super) fn new(found: &'a Calibration, rows: &[Row], context: &'a Context) -> Self {
        let chosen = found.threshold.as_ref().and_then(|threshold| threshold.value);
        let paste = paste(found);
        Self {
            title: &context.title,
            language: &context.language,
            lead: lead(found),
            facts: facts(found),
            warnings: found.warnings.iter().map(|warning| sentence(&warning.message)).collect(),
            threshold: threshold(found),
            accepted: accepted(found),
            score: score_charts(found, chosen),
            domain_scores: domain_charts(found, chosen),
            more_domains: found.domains.len().saturating_sub(DOMAINS),
            domain_tables: domain_tables(found),
            dimensions: dimension_charts(&found.overall),
            constant: constant(&found.overall),
            dimension_table: dimension_table(found, chosen),
            labels: found.labels.as_ref().map(|labels| label_view(found, labels)),
            no_labels: if found.rows.labelled == 0 {
                "The rows have no labels, so nothing is known of how well the score finds what is worth sharing."
            } else {
                "All labels are alike, so nothing is known of how well the score tells them apart."
            },
            fits: found.fits.iter().map(fit_view).collect(),
            paste,
            traces: traces(found, rows, chosen),
            settings: settings(found, context),
        }
    }
}

fn lead(found: &Calibration) -> String {
    let rows = found.rows;
    let mut lead = format!(
        "{} of {} used, in {} and {}.",
        rows.used,
        count(rows.total, "trace"),
        count(found.domains.len(), "domain"),
        count(rows.groups, "group"),
    );
    let excluded = rows.uncompared + rows.first;
    if excluded > 0 {
        lead.push_str(&format!(
            " Excluded as cold start: {} compared with nothing, and {} more among the first {}.",
            rows.uncompared, rows.first, rows.first_limit
        ));
    }
    lead
}

fn facts(found: &Calibration) -> Vec<(&'static str, String, String)> {
    let mut facts = Vec::new();
    if let Some(threshold) = &found.threshold {
        let value = threshold.value.map_or_else(|| "none".to_owned(), score);
        facts.push(("Threshold", value, target(found)));
        let of = format!("{} of {}", threshold.accepted, found.rows.used);
        facts.push(("Accepted", percent(threshold.share.value), of));
    }
    if let Some(scores) = &found.overall.score {
        let range = format!("{}–{}", score(scores.min), score(scores.max));
        facts.push(("Median score", score(percentile(scores, 50.0)), range));
    }
    if let Some(labels) = &found.labels {
        let around = labels.auc.interval.map_or_else(String::new, interval);
        facts.push(("AUC", score(labels.auc.value), around));
    }
    let cut = percent(found.overall.cut_share);
    facts.push(("Cut texts", cut, "the model saw only the beginning".to_owned()));
    facts
}

fn percentile(distribution: &Distribution, percent: f64) -> f64 {
    let found = distribution.percentiles.iter().find(|found| found.percent == percent);
    found.map_or(distribution.mean, |found| found.value)
}

fn target(found: &Calibration) -> String {
    match found.options.target {
        Some(Target::Threshold(_)) => "given".to_owned(),
        Some(Target::Share(share)) => format!("to accept {}", round_percent(share)),
        Some(Target::Precision(precision)) => {
            format!("for a precision of {}", round_percent(precision))
        }
        None => "none".to_owned(),
    }
}

fn threshold(found: &Calibration) -> Vec<String> {
    let Some(threshold) = &found.threshold else {
        return vec!["No target was set, so no threshold was chosen.".to_owned()];
    };
    let level = round_percent(found.options.level);
    let precision = threshold.precision.as_ref();
    let Some(value) = threshold.value else {
        let mut said = vec![format!("No threshold was found {}.", target(found))];
        said.extend(precision.map(|precision| {
            format!(
                "The highest lower bound is at {}: {}.",
                score(precision.threshold),
                how_precise(precision)
            )
        }));
        return said;
    };
    let mut said = vec![accepts(found, threshold, value)];
    said.extend(threshold.interval.map(|found| {
        format!(
            "Between samples of groups the threshold varies within {} ({level}).",
            interval(found)
        )
    }));
    if threshold.tied > 1 {
        let tied = threshold.tied;
        said.push(format!(
            "{tied} accepted traces share the lowest accepted score: they come in only together."
        ));
    }
    let beside = [("below", threshold.stricter_share), ("above", threshold.looser_share)];
    let beside: Vec<_> = beside
        .into_iter()
        .filter_map(|(side, share)| Some(format!("{side} {}", percent(share?))))
        .collect();
    if !beside.is_empty() {
        said.push(format!("The nearest shares that a threshold can have: {}.", beside.join(", ")));
    }
    said.extend(precision.map(|precision| format!("With labels: {}.", how_precise(precision))));
    said
}

fn accepts(found: &Calibration, threshold: &Threshold, value: f64) -> String {
    let around = threshold.share.interval.map_or_else(String::new, |around| {
        format!(
            " ({}, interval at {})",
            percent_interval(around),
            round_percent(found.options.level)
        )
    });
    format!(
        "The threshold {value}, {}, accepts {} of {}: {}{around}.",
        match found.options.target {
            Some(Target::Threshold(_)) => "which was given".to_owned(),
            Some(Target::Share(_) | Target::Precision(_)) | None => {
                format!("chosen {}", target(found))
            }
        },
        threshold.accepted,
        count(found.rows.used, "trace"),
        percent(threshold.share.value)
    )
}

fn how_precise(precision: &Precision) -> String {
    format!(
        "{} of {} are positive ({}), which finds {} of all positive ones",
        percent(precision.precision),
        count(precision.accepted, "labelled accepted trace"),
        percent_interval(precision.interval),
        percent(precision.recall)
    )
}

/// All domains together, then each.
fn summaries(found: &Calibration) -> impl Iterator<Item = (String, &Summary)> {
    let all = ("all domains".to_owned(), &found.overall);
    let each = found.domains.iter().map(|domain| (shown(&domain.domain), &domain.summary));
    // With one domain both are the same.
    std::iter::once(all).filter(|_| found.domains.len() != 1).chain(each)
}

fn accepted(found: &Calibration) -> Table {
    let chosen = found.threshold.as_ref().and_then(|threshold| threshold.value);
    let how = match found.options.target {
        Some(Target::Threshold(_)) => " (given)",
        Some(Target::Share(_) | Target::Precision(_)) | None => " (chosen)",
    };
    let thresholds = found.overall.accepted.iter().map(|accepted| {
        let is_chosen = chosen == Some(accepted.threshold);
        format!("{}{}", score(accepted.threshold), if is_chosen { how } else { "" })
    });
    let columns = ["domain".to_owned(), "traces".to_owned()].into_iter().chain(thresholds);
    let row = |(name, summary): (String, &Summary)| {
        let shares = summary
            .accepted
            .iter()
            .map(|accepted| Cell::Text(format!("{} ({})", percent(accepted.share), accepted.n)));
        [name, summary.n.to_string()].map(Cell::from).into_iter().chain(shares).collect()
    };
    Table {
        caption: "Accepted by thresholds: share and number of traces".to_owned(),
        columns: columns.collect(),
        rows: summaries(found).map(row).collect(),
    }
}

fn score_charts(found: &Calibration, chosen: Option<f64>) -> Vec<Chart> {
    let mut made = Vec::new();
    if let Some(scores) = &found.overall.score {
        let to = charts::top(scores);
        made.push(charts::histogram("All domains", "score", scores, to, chosen));
        made.push(charts::ecdf(&found.overall.ecdf, chosen));
    }
    made.extend(charts::timeline(&found.timeline, found.rows.first_limit, chosen));
    made
}

/// None where there is one domain: its chart is that of all.
fn domain_charts(found: &Calibration, chosen: Option<f64>) -> Vec<Chart> {
    if found.domains.len() == 1 {
        return Vec::new();
    }
    let shown_domains = || {
        let domains = found.domains.iter().take(DOMAINS);
        domains.filter_map(|domain| Some((&domain.domain, domain.summary.score.as_ref()?)))
    };
    // One axis for all, so that they compare.
    let to = shown_domains().map(|(_, scores)| charts::top(scores)).fold(0.0, f64::max);
    shown_domains()
        .map(|(name, scores)| charts::histogram(&shown(name), "score", scores, to, chosen))
        .collect()
}

fn domain_tables(found: &Calibration) -> Vec<Table> {
    let percents = found.overall.score.iter().flat_map(|scores| &scores.percentiles);
    let percents: Vec<f64> = percents.map(|found| found.percent).collect();
    let mut columns = vec!["domain".to_owned(), "used".to_owned(), "lowest".to_owned()];
    columns.extend(percents.iter().map(|percent| format!("{percent} %")));
    columns.extend(["highest".to_owned(), "mean".to_owned()]);
    let row = |(name, summary): (String, &Summary)| {
        let mut row = vec![name, summary.n.to_string()];
        match &summary.score {
            Some(scores) => {
                row.push(score(scores.min));
                row.extend(percents.iter().map(|percent| score(percentile(scores, *percent))));
                row.extend([scores.max, scores.mean].map(score));
            }
            None => row.resize(columns.len(), "–".to_owned()),
        }
        row.into_iter().map(Cell::from).collect()
    };
    let rows = summaries(found).map(row).collect();
    let scores = Table { caption: "Percentiles of the score by domain".to_owned(), columns, rows };

    let row = |domain: &crate::calibration::DomainSummary| {
        let (summary, weights) = (&domain.summary, &domain.weights);
        let constant = summary.constant_dimensions.iter().copied().map(charts::name);
        vec![
            shown(&domain.domain),
            summary.excluded.to_string(),
            percent(summary.success_share),
            summary.label_share.map_or_else(|| "–".to_owned(), percent),
            percent(summary.cut_share),
            shown(&domain.profile),
            four(weights).map(|weight| weight.to_string()).join(" · "),
            list(constant),
        ]
    };
    let columns = [
        "domain",
        "excluded",
        "success",
        "positive labels",
        "cut texts",
        "profile",
        "weights C · N · T · O",
        "constant",
    ];
    let rows = found.domains.iter().map(row).collect();
    vec![scores, Table::new("Traces and profiles of the domains", &columns, rows)]
}

fn four(weights: &Weights) -> [f64; 4] {
    [weights.complexity, weights.novelty, weights.tool_diversity, weights.outcome_confidence]
}

fn list<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<_> = names.collect();
    if names.is_empty() { "–".to_owned() } else { names.join(", ") }
}

fn dimension_charts(overall: &Summary) -> Vec<Chart> {
    let tops = overall.dimensions.iter().map(|of| charts::top(&of.distribution));
    let to = tops.fold(0.0, f64::max);
    let chart = |of: &crate::calibration::DimensionDistribution| {
        let name = charts::name(of.dimension);
        charts::histogram(&sentence(name), name, &of.distribution, to, None)
    };
    overall.dimensions.iter().map(chart).collect()
}

fn constant(overall: &Summary) -> Option<String> {
    let names = list(overall.constant_dimensions.iter().copied().map(charts::name));
    (!overall.constant_dimensions.is_empty())
        .then(|| format!("One value in all traces, so it orders nothing: {names}."))
}

fn dimension_table(found: &Calibration, chosen: Option<f64>) -> Table {
    let mut columns = vec!["domain".to_owned(), "score".to_owned()];
    columns.extend(Dimension::ALL.map(|dimension| charts::name(dimension).to_owned()));
    let cell = |name: &str, what: &str, of: Option<&Distribution>, threshold: Option<f64>| {
        of.map_or_else(
            || Cell::Text("–".to_owned()),
            |of| {
                let median = score(percentile(of, 50.0));
                let name = format!("Histogram of {what} from 0 to 1, {name}: median {median}");
                Cell::Svg(spark(&name, &of.histogram, threshold))
            },
        )
    };
    let row = |(name, summary): (String, &Summary)| {
        let mut row = vec![Cell::Text(name.clone())];
        row.push(cell(&name, "score", summary.score.as_ref(), chosen));
        row.extend(Dimension::ALL.map(|dimension| {
            let of = summary.dimensions.iter().find(|of| of.dimension == dimension);
            cell(&name, charts::name(dimension), of.map(|of| &of.distribution), None)
        }));
        row
    };
    Table {
        caption: "Histograms from 0 to 1 by domain, each as high as its own highest bar".to_owned(),
        columns,
        rows: summaries(found).map(row).collect(),
    }
}

fn label_view(found: &Calibration, labels: &Labels) -> LabelView {
    let leakage = &labels.leakage;
    let facts = vec![
        format!(
            "{} positive and {} negative labels in {}; the labels of a group are alike by {} (intraclass correlation).",
            labels.positives,
            labels.negatives,
            count(labels.groups, "group"),
            score(labels.intraclass_correlation)
        ),
        format!(
            "AUC {}: how often a positive trace has a higher score than a negative one. Average precision {}.",
            estimate(&labels.auc),
            estimate(&labels.average_precision)
        ),
        format!(
            "Labels agree with success in {} of the traces; by chance it would be {}.",
            percent(leakage.agreement),
            percent(leakage.agreement_by_chance)
        ),
    ];
    let leak = leakage.is_leak.then(|| {
        let without = leakage.auc_without_outcome.as_ref();
        let without = without.map_or_else(|| "unknown".to_owned(), estimate);
        format!(
            "The labels are success, or nearly, and the score contains success. Without what contains it, the AUC is {without}."
        )
    });
    let point = |name: &str, point: &OperatingPoint| {
        let mut row = vec![name.to_owned(), score(point.threshold), score(point.value)];
        let shares = [point.precision, point.recall, point.false_positive_rate, point.share];
        row.extend(shares.map(percent));
        row
    };
    let points = Table::new(
        "Thresholds for reference, chosen and measured on the same traces",
        &["best", "threshold", "value", "precision", "recall", "false positives", "accepted"],
        vec![point("Youden’s J", &labels.youden), point("F1", &labels.best_f1)],
    );
    let decile = |(place, decile): (usize, &crate::calibration::Decile)| {
        vec![
            place.to_string(),
            format!("{}–{}", score(decile.from), score(decile.to)),
            decile.n.to_string(),
            format!("{:.1}", decile.effective),
            decile.positives.to_string(),
            percent(decile.rate),
            percent_interval(decile.interval),
        ]
    };
    let deciles = Table::new(
        "Label rate by decile of the score",
        &["decile", "scores", "traces", "effective", "positive", "rate", "interval"],
        (1..).zip(&labels.deciles).map(decile).collect(),
    );
    let charts = vec![
        charts::roc(labels),
        charts::precision_recall(found, labels),
        charts::deciles(&labels.deciles, found.options.level),
    ];
    LabelView { facts, leak, charts, points, deciles }
}

fn fit_view(fit: &Fit) -> FitView {
    let served = format!(
        "They are {} ({} positive, {} negative) in {}; domains: {}",
        count(fit.n, "labelled trace"),
        fit.positives,
        fit.negatives,
        count(fit.groups, "group"),
        list(fit.domains.iter().map(String::as_str))
    );
    let (verdict, tables) = match &fit.result {
        FitResult::Better(fitted) => (
            "The fitted weights order these traces better than the current ones.",
            tables(fit, fitted),
        ),
        FitResult::NoBetterThanCurrent(fitted) => (
            "Keep the current weights: as far as these labels can tell, no others order the traces better.",
            tables(fit, fitted),
        ),
        FitResult::Refused(refusal) => {
            let verdict =
                format!("Not fitted: expected {}, found {}.", refusal.expected, refusal.found);
            return FitView { name: shown(&fit.profile), verdict, note: None, tables: Vec::new() };
        }
    };
    FitView {
        name: shown(&fit.profile),
        verdict: format!("{verdict} {served}."),
        note: fit.without_outcome.then_some(match fit.result {
            FitResult::Better(_) => {
                "Labels are success here, so outcome confidence was left out; the profile above keeps its current weight."
            }
            FitResult::NoBetterThanCurrent(_) | FitResult::Refused(_) => {
                "Labels are success here, so outcome confidence was left out: the weights compare the other three only."
            }
        }),
        tables,
    }
}

fn tables(fit: &Fit, fitted: &crate::calibration::Fitted) -> Vec<Table> {
    let weights = [&fit.current, &fitted.weights, &fitted.best].map(four);
    let row = |(place, dimension): (usize, Dimension)| {
        let mut row = vec![charts::name(dimension).to_owned()];
        row.extend(weights.iter().map(|weights| format!("{:.2}", weights[place])));
        row
    };
    let estimated = |name: &str, found: &Estimate| vec![name.to_owned(), estimate(found)];
    let plain = |name: &str, value: f64| vec![name.to_owned(), score(value)];
    vec![
        Table::new(
            &format!("Weights of {}", shown(&fit.profile)),
            &["dimension", "current", "fitted", "highest AUC"],
            (0..).zip(Dimension::ALL).map(row).collect(),
        ),
        Table::new(
            &format!("AUC of {} within folds that divide no group", shown(&fit.profile)),
            &["weights", "AUC"],
            vec![
                plain("current", fitted.current_auc),
                plain("fitted, on the traces that chose them", fitted.auc),
                estimated("chosen on other folds", &fitted.held_out_auc),
                estimated("improvement on other folds", &fitted.improvement),
            ],
        ),
    ]
}

/// The profiles that are better, as JavaScript.
fn paste(found: &Calibration) -> Option<String> {
    let line = |fit: &Fit| {
        let [c, n, t, o] = four(&fit.recommended?);
        let name = serde_json::Value::from(&*fit.profile);
        // A plain member of this name would be the prototype.
        let name = if fit.profile == "__proto__" { format!("[{name}]") } else { name.to_string() };
        Some(format!(
            "    {name}: {{ complexity: {c}, novelty: {n}, toolDiversity: {t}, outcomeConfidence: {o} }},\n"
        ))
    };
    let lines: String = found.fits.iter().filter_map(line).collect();
    (!lines.is_empty()).then(|| format!("new Scorer({{\n  profiles: {{\n{lines}  }},\n}});"))
}

fn traces(found: &Calibration, rows: &[Row], chosen: Option<f64>) -> Vec<TraceTable> {
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

fn settings(found: &Calibration, context: &Context) -> Table {
    let options = &found.options;
    let sources = |values: &[String]| shown(&list(values.iter().map(String::as_str)));
    let first = options.first.map_or_else(
        || format!("{} (by default)", found.rows.first_limit),
        |first| first.to_string(),
    );
    let mut rows: Vec<Vec<String>> =
        context.settings.iter().map(|(name, value)| vec![shown(name), shown(value)]).collect();
    let own = [
        ("target", target(found)),
        ("fit", if options.fit { "yes" } else { "no" }.to_owned()),
        ("first rows excluded", first),
        ("level of intervals", round_percent(options.level)),
        ("bootstrap replicates", options.replicates.to_string()),
        ("seed", options.seed.to_string()),
        ("rows without a group", found.rows.ungrouped.to_string()),
        ("model", sources(&found.sources.models)),
        ("precision", sources(&found.sources.precisions)),
        ("version of the scorer", sources(&found.sources.versions)),
        ("version of the calibration", env!("CARGO_PKG_VERSION").to_owned()),
    ];
    rows.extend(own.map(|(name, value)| vec![name.to_owned(), value]));
    Table::new("What made this report", &["setting", "value"], rows)
}
