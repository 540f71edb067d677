//! The search over the simplex.

use std::{array, collections::HashMap};

use knowledgepulse_scoring::weights::Weights;

use super::sample::{Concordance, Sample};

/// Weights in hundredths: complexity, novelty, toolDiversity, outcomeConfidence.
type Point = [u8; 4];

const WHOLE: u8 = 100;
const COARSE: u8 = 5;

/// The search for the best weights.
pub(super) struct Search<'a> {
    sample: &'a Sample<'a>,
    current: Weights,
    /// The upper bounds: [`WHOLE`], but 0 for outcomeConfidence if it is left out.
    highest: Point,
    pub(super) tried: HashMap<Point, Concordance>,
}

/// The weights chosen on the rows of some folds.
pub(super) struct Selection {
    pub(super) chosen: Candidate,
    pub(super) best: Candidate,
    /// The standard error of the difference between the AUCs.
    pub(super) standard_error: f64,
}

/// Weights, their distance from the current ones, how well they order the rows of each fold, and their AUC.
#[derive(Clone, Copy)]
pub(super) struct Candidate {
    pub(super) weights: Weights,
    distance: f64,
    concordance: Concordance,
    pub(super) auc: f64,
}

impl<'a> Search<'a> {
    pub(super) fn new(sample: &'a Sample<'a>, current: Weights, without_outcome: bool) -> Self {
        let highest = [WHOLE, WHOLE, WHOLE, if without_outcome { 0 } else { WHOLE }];
        Self { sample, current, highest, tried: HashMap::new() }
    }

    /// Chooses weights by the rows of all folds but the one that is held out.
    pub(super) fn select(&mut self, held_out: Option<usize>) -> Selection {
        let sample = self.sample;
        // The current weights need not be on the grid.
        let concordance = sample.concordance(&self.current);
        let auc = sample.auc(&concordance, held_out);
        let current = Candidate { weights: self.current, distance: 0.0, concordance, auc };
        let mut candidates = vec![current];
        candidates.extend(self.candidates(points(COARSE, [0; 4], self.highest), held_out));
        let coarse = best_of(&candidates[1..]).weights.parts();
        let center = coarse.map(|weight| (weight * f64::from(WHOLE)).round() as u8);
        // Up to the neighbours on the coarse grid.
        let low = center.map(|weight| weight.saturating_sub(COARSE));
        let high = array::from_fn(|place| (center[place] + COARSE).min(self.highest[place]));
        candidates.extend(self.candidates(points(1, low, high), held_out));
        // The current weights may be the best, and lie between the points.
        let best = best_of(&candidates);
        candidates.sort_by(|a, b| a.distance.total_cmp(&b.distance));

        let components = |of: &Candidate| sample.components(&of.weights, &of.concordance, held_out);
        let reference = components(&best);
        let groups = reference.len() as f64;
        let within = candidates.into_iter().find_map(|candidate| {
            let pairs = reference.iter().zip(components(&candidate));
            let squares: f64 = pairs.map(|(best, other)| (best - other).powi(2)).sum();
            let standard_error = (squares * groups / (groups - 1.0)).sqrt();
            (best.auc - candidate.auc <= standard_error).then_some((candidate, standard_error))
        });
        let (chosen, standard_error) = within.unwrap_or((best, 0.0));
        Selection { chosen, best, standard_error }
    }

    fn candidates(&mut self, points: Vec<Point>, held_out: Option<usize>) -> Vec<Candidate> {
        let (sample, current) = (self.sample, self.current.parts());
        let candidate = |point: Point| {
            let weights = Weights::new(point.map(|part| f64::from(part) / f64::from(WHOLE)));
            let concordance =
                *self.tried.entry(point).or_insert_with(|| sample.concordance(&weights));
            let squares = weights.parts().into_iter().zip(current).map(|(a, b)| (a - b).powi(2));
            let distance = squares.sum::<f64>().sqrt();
            Candidate { weights, distance, concordance, auc: sample.auc(&concordance, held_out) }
        };
        points.into_iter().map(candidate).collect()
    }
}

/// Returns the candidate with the highest AUC; of equal ones, the nearest to the current weights.
fn best_of(candidates: &[Candidate]) -> Candidate {
    let better = |a: Candidate, b: Candidate| {
        if b.auc > a.auc || (b.auc == a.auc && b.distance < a.distance) { b } else { a }
    };
    candidates[1..].iter().copied().fold(candidates[0], better)
}

/// Returns the points of the simplex at multiples of `step`, each weight between `low` and `high`.
fn points(step: u8, low: Point, high: Point) -> Vec<Point> {
    let range = |dimension: usize, rest: u8| {
        (low[dimension]..=high[dimension].min(rest)).step_by(usize::from(step))
    };
    let mut found = Vec::new();
    for complexity in range(0, WHOLE) {
        for novelty in range(1, WHOLE - complexity) {
            for tools in range(2, WHOLE - complexity - novelty) {
                let outcome = WHOLE - complexity - novelty - tools;
                if (low[3]..=high[3]).contains(&outcome) {
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
        let all = points(COARSE, [0; 4], [WHOLE; 4]);
        assert_eq!(all.len(), 1771);
        assert!(all.iter().all(|point| point.iter().sum::<u8>() == WHOLE));
        let around = points(1, [20, 30, 10, 20], [30, 40, 20, 30]);
        assert!(around.contains(&[25, 35, 15, 25]) && around.contains(&[20, 30, 20, 30]));
    }
}
