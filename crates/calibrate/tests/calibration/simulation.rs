//! Simulated labels: how well the fit and the intervals find a known truth.
//!
//! A long run repeats each simulation more often, and has more kinds of them. The figures:
//! `KP_TRUST=10 cargo test -p knowledgepulse-calibrate --test calibration simulation -- --nocapture`

use std::io::{Write, stdout};

use knowledgepulse_calibrate::{
    Options, Row, Target,
    calibration::{Estimate, FitResult, Fitted},
};
use knowledgepulse_scoring::{dimensions::Dimensions, weights::Weights};
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
        FitResult::Refused(refusal) => panic!("{refusal:?}"),
    }
}

fn contains(estimate: &Estimate, value: f64) -> bool {
    estimate.interval.is_some_and(|interval| interval.low <= value && value <= interval.high)
}

/// The results of fits to labels by known weights.
#[derive(Debug, Default)]
struct Recovery {
    /// Fits with the result "better".
    better: usize,
    /// Fits whose AUC on other rows is within 0.01 of the truth's.
    near: usize,
    /// Intervals of the improvement that contain the improvement by the truth, and by the fitted weights.
    contain_truth: usize,
    contain_fitted: usize,
    /// The difference between the AUC of the truth and of the fitted weights: the mean, the worst.
    mean_loss: f64,
    worst_loss: f64,
}

fn recover(truth: Weights, slope: f64, repetitions: usize, population: &[Row]) -> Recovery {
    let [of_truth, of_current] = [truth, weights(CURRENT)].map(|w| auc_by(population, &w));
    let mut found = Recovery::default();
    for seed in (FIRST_SEED..).take(repetitions) {
        let (better, fitted) = fit(&simulate(seed, TRACES, Labels::By(truth, slope)));
        let of_fitted = auc_by(population, &fitted.weights);
        let loss = of_truth - of_fitted;
        found.better += usize::from(better);
        found.near += usize::from(loss.abs() <= 0.01);
        found.contain_truth += usize::from(contains(&fitted.improvement, of_truth - of_current));
        found.contain_fitted += usize::from(contains(&fitted.improvement, of_fitted - of_current));
        found.mean_loss += loss / repetitions as f64;
        found.worst_loss = found.worst_loss.max(loss);
    }
    let _ =
        writeln!(stdout(), "AUC of the truth {of_truth:.4}, current {of_current:.4}: {found:?}");
    found
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
            let _ = write!(stdout(), "{name}, slope {slope}: ");
            let truth = weights(*truth);
            let population = population(Labels::By(truth, *slope));
            let found = recover(truth, *slope, repetitions, &population);
            assert_eq!(found.near, repetitions, "{name}");
            let most = 9 * repetitions / 10;
            assert!(found.contain_truth >= most && found.contain_fitted >= most, "{name}");
        }
    }
}

#[test]
fn fit_finds_nothing_in_random_labels() {
    let repetitions = if is_long_run() { repeats(2) } else { 1 };
    let seeds = (FIRST_SEED..).take(repetitions);
    let found = seeds.filter(|seed| !fit(&simulate(*seed, TRACES, Labels::Random)).0).count();
    let _ = writeln!(
        stdout(),
        "random labels: no better than the current profile in {found} of {repetitions}"
    );
    assert!(found >= (95 * repetitions).div_ceil(100));
}

/// Returns how many thresholds for a target precision were found, and how many have it on other rows.
fn precision_holds(
    target: f64,
    n: usize,
    repetitions: usize,
    population: &[Row],
) -> (usize, usize) {
    let options = Options { target: Some(Target::Precision(target)), ..Options::default() };
    let (mut found, mut holds) = (0, 0);
    for seed in (FIRST_SEED..).take(repetitions) {
        let rows = simulate(seed, n, Labels::By(weights(CURRENT), CLEAR));
        let threshold = calibrate(&rows, &options).unwrap().threshold.unwrap();
        let Some(value) = threshold.value else { continue };
        let labels = population.iter().filter(|row| row.score >= value).map(|row| row.label);
        let (mut accepted, mut positives) = (0, 0);
        labels.for_each(|label| {
            accepted += 1;
            positives += usize::from(label == Some(true));
        });
        found += 1;
        holds += usize::from(f64::from(positives as u32) >= target * f64::from(accepted));
    }
    (found, holds)
}

#[test]
fn threshold_for_a_precision_has_it_on_other_rows() {
    let population = population(Labels::By(weights(CURRENT), CLEAR));
    for (target, n) in kinds(&[(0.8, 300), (0.8, 2000), (0.9, 2000)]) {
        let (found, holds) = precision_holds(*target, *n, repeats(20), &population);
        assert!(found > 0);
        let _ = writeln!(stdout(), "precision {target} by {n} rows: {holds} of {found} hold");
        assert!(holds as f64 >= 0.9 * found as f64);
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
        let _ = writeln!(
            stdout(),
            "{n} rows: AUC in {aucs}, share in {shares} of {repetitions} intervals"
        );
        let most = 9 * repetitions / 10;
        assert!(aucs >= most && shares >= most);
    }
}
