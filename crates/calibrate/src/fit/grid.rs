//! The search over the simplex.

use std::collections::HashMap;

use knowledgepulse_scoring::weights::Weights;

use super::{
    folds::FOLDS,
    sample::{Concordance, Sample},
};

/// Weights in hundredths: complexity, novelty, toolDiversity, outcomeConfidence.
type Point = [u8; 4];

const WHOLE: u8 = 100;
const COARSE: u8 = 5;

/// What has been tried.
pub(super) struct Search<'a> {
    sample: &'a Sample<'a>,
    current: Weights,
    /// Whether the weight of outcomeConfidence is 0.
    without_outcome: bool,
    coarse: Vec<Point>,
    tried: HashMap<Point, Concordance>,
}

/// What was chosen by the rows of some folds.
pub(super) struct Selection {
    pub(super) chosen: Weights,
    pub(super) best: Weights,
    /// Of the chosen one.
    pub(super) auc: f64,
    pub(super) best_auc: f64,
    /// Of the difference between the two.
    pub(super) standard_error: f64,
}

/// Weights, how far they are from the current ones, and their AUC.
struct Candidate {
    weights: Weights,
    distance: f64,
    auc: f64,
}

impl<'a> Search<'a> {
    pub(super) fn new(sample: &'a Sample<'a>, current: Weights, without_outcome: bool) -> Self {
        let coarse = points(COARSE, [0; 4], [WHOLE; 4], without_outcome);
        Self { sample, current, without_outcome, coarse, tried: HashMap::new() }
    }

    /// Returns how many points were tried so far.
    pub(super) fn tried(&self) -> usize {
        self.tried.len()
    }

    /// Chooses weights by the rows of `folds`.
    pub(super) fn select(&mut self, folds: [bool; FOLDS]) -> Selection {
        let sample = self.sample;
        let mut points = self.coarse.clone();
        let best = self.best_of(&points, folds);
        // As far as the next points of the coarse grid.
        let low = best.map(|weight| weight.saturating_sub(COARSE));
        let high = best.map(|weight| (weight + COARSE).min(WHOLE));
        points.extend(self::points(1, low, high, self.without_outcome));
        let best = weights(self.best_of(&points, folds));

        // The current weights need not be on the grid.
        let of_current = sample.concordance(&self.current);
        let current =
            Candidate { weights: self.current, distance: 0.0, auc: sample.auc(&of_current, folds) };
        let mut candidates = vec![current];
        candidates.extend(points.iter().map(|point| {
            let weights = weights(*point);
            let distance = self.distance(&weights);
            Candidate { weights, distance, auc: sample.auc(&self.concordance(*point), folds) }
        }));
        let highest = candidates.iter().map(|candidate| candidate.auc).fold(0.0, f64::max);
        // The current weights may be the best ones, between the points.
        let best = if candidates[0].auc >= highest { self.current } else { best };
        candidates.sort_by(|a, b| a.distance.total_cmp(&b.distance));

        let reference = sample.components(&best, folds);
        let groups = reference.len() as f64;
        let standard_error = |weights: &Weights| {
            let components = sample.components(weights, folds);
            let pairs = reference.iter().zip(components);
            let squares: f64 = pairs.map(|(best, other)| (best - other).powi(2)).sum();
            (squares * groups / (groups - 1.0)).sqrt()
        };
        let within = candidates.into_iter().find_map(|candidate| {
            let error = standard_error(&candidate.weights);
            (highest - candidate.auc <= error).then_some((candidate, error))
        });
        let (chosen, auc, standard_error) = within
            .map_or((best, highest, 0.0), |(chosen, error)| (chosen.weights, chosen.auc, error));
        Selection { chosen, best, auc, best_auc: highest, standard_error }
    }

    /// Returns the point with the highest AUC, of several the nearest to the current weights.
    fn best_of(&mut self, points: &[Point], folds: [bool; FOLDS]) -> Point {
        let mut best = ([0; 4], f64::NEG_INFINITY, f64::INFINITY);
        for point in points {
            let auc = self.sample.auc(&self.concordance(*point), folds);
            if auc < best.1 {
                continue;
            }
            let distance = self.distance(&weights(*point));
            if auc > best.1 || distance < best.2 {
                best = (*point, auc, distance);
            }
        }
        best.0
    }

    fn concordance(&mut self, point: Point) -> Concordance {
        let sample = self.sample;
        *self.tried.entry(point).or_insert_with(|| sample.concordance(&weights(point)))
    }

    /// The Euclidean distance to the current weights.
    fn distance(&self, weights: &Weights) -> f64 {
        let current = parts(&self.current);
        parts(weights).iter().zip(current).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
    }
}

fn parts(weights: &Weights) -> [f64; 4] {
    [weights.complexity, weights.novelty, weights.tool_diversity, weights.outcome_confidence]
}

fn weights(point: Point) -> Weights {
    let [complexity, novelty, tool_diversity, outcome_confidence] =
        point.map(|hundredths| f64::from(hundredths) / f64::from(WHOLE));
    Weights { complexity, novelty, tool_diversity, outcome_confidence }
}

/// Returns the points of the simplex at multiples of `step`, each weight between `low` and `high`.
fn points(step: u8, low: Point, high: Point, without_outcome: bool) -> Vec<Point> {
    let range = |dimension: usize, rest: u8| {
        (low[dimension]..=high[dimension].min(rest)).step_by(usize::from(step))
    };
    let mut found = Vec::new();
    for complexity in range(0, WHOLE) {
        for novelty in range(1, WHOLE - complexity) {
            for tools in range(2, WHOLE - complexity - novelty) {
                let outcome = WHOLE - complexity - novelty - tools;
                let fits = (low[3]..=high[3]).contains(&outcome);
                if fits && (outcome == 0 || !without_outcome) {
                    found.push([complexity, novelty, tools, outcome]);
                }
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_cover_the_simplex() {
        let all = points(COARSE, [0; 4], [WHOLE; 4], false);
        assert_eq!(all.len(), 1771);
        assert!(all.iter().all(|point| point.iter().sum::<u8>() == WHOLE));
        assert_eq!(points(COARSE, [0; 4], [WHOLE; 4], true).len(), 231);
        let around = points(1, [20, 30, 10, 20], [30, 40, 20, 30], false);
        assert!(around.contains(&[25, 35, 15, 25]) && around.contains(&[20, 30, 20, 30]));
        assert!(points(1, [95, 0, 0, 0], [100, 5, 5, 5], true).iter().all(|point| point[3] == 0));
    }
}
