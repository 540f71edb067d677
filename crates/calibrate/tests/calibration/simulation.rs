//! Simulated labels: how well the fit and the intervals find a known truth.
//!
//! A long run repeats each simulation more often, and has more kinds of them.

use knowledgepulse_calibrate::{
    Options, Row, Target,
    calibration::{Estimate, FitResult, Fitted},
};
use knowledgepulse_scoring::weights::{Dimensions, Weights};
use knowledgepulse_test_support::{is_long_run, repeats};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::rows::{self, calibrate};

const TRACES: usize = 2000;

/// Seeds below this one were used to choose the method.
const FIRST_SEED: u64 = 5000;

/// The built-in profiles that labels are made from. The rows are of a domain with the default profile.
const TRUTHS: [(&str, [f64; 4]); 3] = [
    ("medical", [0.15, 0.20, 0.10, 0.55]),
    ("finance", [0.20, 0.25, 0.10, 0.45]),
    ("code", [0.20, 0.30, 0.30, 0.20]),
];
const CURRENT: [f64; 4] = [0.25, 0.35, 0.15, 0.25];

/// The log-odds of a positive label per unit of score, for clear labels with an AUC of about 0.9 and
/// noisy labels with an AUC of about 0.73.
const CLEAR: f64 = 14.0;
const NOISY: f64 = 6.0;

fn weights([c, n, d, o]: [f64; 4]) -> Weights {
    Weights { complexity: c, novelty: n, tool_diversity: d, outcome_confidence: o }
}

/// How rows get their labels.
#[derive(Clone, Copy)]
enum Labels {
    /// By the score of these weights, with the slope of the log-odds.
    By(Weights, f64),
    Random,
}

/// A standard normal number.
fn normal(random: &mut ChaCha8Rng) -> f64 {
    let (a, b): (f64, f64) = (random.random(), random.random());
    (-2.0 * (1.0 - a).ln()).sqrt() * (std::f64::consts::TAU * b).cos()
}

/// Makes rows like those of agents' runs: the runs of a task are a group, with similar demands, novelty
/// and judgements.
fn simulate(seed: u64, n: usize, labels: Labels) -> Vec<Row> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut rows = Vec::with_capacity(n);
    for group in 0.. {
        let (judged, familiar, demand) =
            (0.5 * normal(&mut random), 0.1 * normal(&mut random), random.random::<f64>());
        for _ in 0..random.random_range(1..=8) {
            if rows.len() == n {
                return rows;
            }
            let steps = 1 + (demand * 20.0 + 8.0 * random.random::<f64>()) as usize;
            let kinds = random.random_range(1..=4_usize).min(steps);
            let recoveries = if random.random_bool(0.25) { random.random_range(1..=4) } else { 0 };
            let tools = random.random_range(0..=6_usize).min(steps);
            let success = random.random_bool(0.65);
            let confidence = 0.5 + 0.5 * random.random::<f64>();
            let novelty = (0.4 + familiar + 0.15 * normal(&mut random)).clamp(0.0, 1.0);
            let recovery = if recoveries > 0 { 0.3 } else { 0.0 };
            let dimensions = Dimensions {
                complexity: (kinds as f64 / 8.0 + recovery + steps as f64 / 100.0).min(1.0),
                novelty,
                tool_diversity: (tools as f64 / steps as f64 * 3.0).min(1.0),
                outcome_confidence: confidence * if success { 1.0 } else { 0.3 },
            };
            let fired = [
                ("single-thought", steps == 1),
                ("error-recovery", recoveries > 2 && success),
                ("low-tool-diversity", tools == 1),
            ];
            let fired = fired.into_iter().filter(|(_, fires)| *fires);
            let mut row = Row {
                id: Some(format!("{seed}:{}", rows.len())),
                group: Some(format!("task {group}")),
                domain: "airline".to_owned(),
                dimensions,
                overrides: fired.map(|(name, _)| name.to_owned()).collect(),
                similarity: Some(1.0 - novelty),
                success,
                confidence,
                ..rows::row(1)
            };
            row.score = rows::score_by(&row, &weights(CURRENT));
            row.label = Some(match labels {
                Labels::By(truth, slope) => {
                    let odds = slope * (rows::score_by(&row, &truth) - 0.5) + judged;
                    random.random_bool(1.0 / (1.0 + (-odds).exp()))
                }
                Labels::Random => random.random_bool(0.5),
            });
            rows.push(row);
        }
    }
    rows
}

/// The AUC of weights on rows: how often a positive row has a higher score than a negative one, a tie
/// counting one half.
fn auc_by(rows: &[Row], weights: &Weights) -> f64 {
    let scores = |label| -> Vec<f64> {
        let labelled = rows.iter().filter(|row| row.label == Some(label));
        labelled.map(|row| rows::score_by(row, weights)).collect()
    };
    let (positives, mut negatives) = (scores(true), scores(false));
    negatives.sort_by(f64::total_cmp);
    let twice = |score: &f64| {
        negatives.partition_point(|other| other < score)
            + negatives.partition_point(|other| other <= score)
    };
    let won = positives.iter().map(twice).sum::<usize>() as f64 / 2.0;
    won / (positives.len() * negatives.len()) as f64
}

/// Fits the only profile that serves the rows. Returns whether it is better than the current one.
fn fit(rows: &[Row]) -> (bool, Fitted) {
    let options = Options { fit: true, ..Options::default() };
    match calibrate(rows, &options).unwrap().fits.remove(0).result {
        FitResult::Better(fitted) => (true, fitted),
        FitResult::NoBetterThanCurrent(fitted) => (false, fitted),
        refused @ FitResult::Refused { .. } => panic!("{refused:?}"),
    }
}

fn contains(estimate: &Estimate, value: f64) -> bool {
    estimate.interval.is_some_and(|interval| interval.low <= value && value <= interval.high)
}

/// Returns `all` in a long run, and otherwise the first of them.
fn kinds<T>(all: &[T]) -> &[T] {
    if is_long_run() { all } else { &all[..1] }
}

/// Rows for measuring, by which nothing was chosen.
fn population(labels: Labels) -> Vec<Row> {
    let n = if is_long_run() { 200_000 } else { 20_000 };
    simulate(1_000_000, n, labels)
}

#[test]
fn fit_recovers_known_weights() {
    let repetitions = repeats(2);
    for (name, truth) in kinds(&TRUTHS) {
        for slope in kinds(&[CLEAR, NOISY]) {
            let truth = weights(*truth);
            let labels = Labels::By(truth, *slope);
            let population = population(labels);
            let [of_truth, of_current] =
                [truth, weights(CURRENT)].map(|weights| auc_by(&population, &weights));
            // Intervals of the improvement that contain the improvement by the truth, and by the fitted weights.
            let (mut by_truth, mut by_fitted) = (0, 0);
            for seed in (FIRST_SEED..).take(repetitions) {
                let (_, fitted) = fit(&simulate(seed, TRACES, labels));
                let of_fitted = auc_by(&population, &fitted.weights);
                let loss = of_truth - of_fitted;
                assert!(loss.abs() <= 0.01, "{name}, slope {slope}, seed {seed}: {loss}");
                by_truth += usize::from(contains(&fitted.improvement, of_truth - of_current));
                by_fitted += usize::from(contains(&fitted.improvement, of_fitted - of_current));
            }
            let found = format!("{name}, slope {slope}: {by_truth}, {by_fitted} of {repetitions}");
            assert!(by_truth.min(by_fitted) >= 9 * repetitions / 10, "{found}");
        }
    }
}

#[test]
fn fit_finds_nothing_in_random_labels() {
    let repetitions = if is_long_run() { repeats(2) } else { 1 };
    let seeds = (FIRST_SEED..).take(repetitions);
    let found = seeds.filter(|seed| !fit(&simulate(*seed, TRACES, Labels::Random)).0).count();
    assert!(found >= (95 * repetitions).div_ceil(100), "{found} of {repetitions}");
}

#[test]
fn threshold_for_a_precision_has_it_on_other_rows() {
    let labels = Labels::By(weights(CURRENT), CLEAR);
    let population = population(labels);
    for (precision, n) in kinds(&[(0.8, 300), (0.8, 2000), (0.9, 2000)]) {
        let target = Some(Target::Precision(*precision));
        let options = Options { target, ..Options::default() };
        let (mut found, mut holds) = (0, 0);
        for seed in (FIRST_SEED..).take(repeats(20)) {
            let threshold = calibrate(&simulate(seed, *n, labels), &options).unwrap().threshold;
            let Some(value) = threshold.unwrap().value else { continue };
            let accepted: Vec<_> = population.iter().filter(|row| row.score >= value).collect();
            let positives = accepted.iter().filter(|row| row.label == Some(true)).count();
            found += 1;
            holds += usize::from(positives as f64 >= precision * accepted.len() as f64);
        }
        assert!(found > 0);
        assert!(holds as f64 >= 0.9 * found as f64, "{precision} by {n}: {holds} of {found}");
    }
}

/// The AUC and the share at 0.5 of the population are within the intervals.
#[test]
fn intervals_contain_the_truth() {
    let labels = Labels::By(weights(CURRENT), CLEAR);
    let (population, repetitions) = (population(labels), repeats(10));
    let truth = auc_by(&population, &weights(CURRENT));
    let accepted = population.iter().filter(|row| row.score >= 0.5).count();
    let share = accepted as f64 / population.len() as f64;
    let options = Options { target: Some(Target::Threshold(0.5)), ..Options::default() };
    for n in kinds(&[200, 2000]) {
        let (mut aucs, mut shares) = (0, 0);
        for seed in (FIRST_SEED..).take(repetitions) {
            let found = calibrate(&simulate(seed, *n, labels), &options).unwrap();
            aucs += usize::from(contains(&found.labels.unwrap().auc, truth));
            shares += usize::from(contains(&found.threshold.unwrap().share, share));
        }
        let found = format!("{n} rows: {aucs}, {shares} of {repetitions} intervals");
        assert!(aucs.min(shares) >= 9 * repetitions / 10, "{found}");
    }
}
