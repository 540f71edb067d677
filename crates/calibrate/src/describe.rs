//! Distributions of all rows, by domain and over time, and rows to look at.

use std::{cmp::Reverse, collections::BTreeMap};

use knowledgepulse_scoring::{Profiles, dimensions::Dimensions};

use crate::{
    calibration::{
        Accepted, Block, Dimension, DimensionDistribution, Distribution, DomainSummary, EcdfPoint,
        Examples, Percentile, Summary,
    },
    quantiles::{ascending, quantile},
    roc::thin,
    row::Row,
};

/// The thresholds that are always shown; 0.75 is the SDK's.
const THRESHOLDS: [f64; 3] = [0.5, 0.75, 0.8];
const PERCENTILES: [f64; 7] = [5.0, 10.0, 25.0, 50.0, 75.0, 90.0, 95.0];
const BINS: usize = 20;
const ECDF_POINTS: usize = 201;
const BLOCKS: usize = 50;
const EXAMPLES: usize = 10;
/// The tolerance for equal values.
const CONSTANT: f64 = 1e-12;

impl Dimension {
    /// All four, in the order of the formula.
    pub const ALL: [Self; 4] =
        [Self::Complexity, Self::Novelty, Self::ToolDiversity, Self::OutcomeConfidence];

    /// Returns the value of this dimension, in \[0, 1\].
    pub fn of(self, dimensions: &Dimensions) -> f64 {
        match self {
            Self::Complexity => dimensions.complexity,
            Self::Novelty => dimensions.novelty,
            Self::ToolDiversity => dimensions.tool_diversity,
            Self::OutcomeConfidence => dimensions.outcome_confidence,
        }
    }
}

/// Describes used rows. `excluded` is the number of those that are not given.
pub(crate) fn summary(rows: &[&Row], excluded: usize, chosen: Option<f64>) -> Summary {
    let n = rows.len();
    let count = |test: &dyn Fn(&Row) -> bool| rows.iter().filter(|row| test(row)).count();
    let share = |count: usize| count as f64 / n.max(1) as f64;
    let scores = ascending(rows.iter().map(|row| row.score));
    let labels: Vec<bool> = rows.iter().filter_map(|row| row.label).collect();
    let positives = labels.iter().filter(|label| **label).count();
    let mut thresholds = THRESHOLDS.to_vec();
    thresholds.extend(chosen.filter(|chosen| !THRESHOLDS.contains(chosen)));
    thresholds.sort_by(f64::total_cmp);
    let accepted = thresholds.into_iter().map(|threshold| {
        let n = count(&|row| row.score >= threshold);
        Accepted { threshold, n, share: share(n) }
    });
    let dimensions: Vec<_> = Dimension::ALL
        .into_iter()
        .filter_map(|dimension| {
            let values = ascending(rows.iter().map(|row| dimension.of(&row.dimensions)));
            Some(DimensionDistribution { dimension, distribution: distribution(&values)? })
        })
        .collect();
    let constant = |of: &&DimensionDistribution| {
        n > 1 && of.distribution.max - of.distribution.min <= CONSTANT
    };
    Summary {
        n,
        excluded,
        cut_share: share(count(&|row| row.is_cut)),
        success_share: share(count(&|row| row.success)),
        label_share: (!labels.is_empty()).then(|| positives as f64 / labels.len() as f64),
        accepted: accepted.collect(),
        score: distribution(&scores),
        constant_dimensions: dimensions.iter().filter(constant).map(|of| of.dimension).collect(),
        dimensions,
        ecdf: ecdf(&scores),
    }
}

/// Describes the rows of each domain, the largest domain first. `used` says which rows count.
pub(crate) fn domains(
    rows: &[Row],
    used: &[bool],
    chosen: Option<f64>,
    profiles: &Profiles,
) -> Vec<DomainSummary> {
    let mut found: BTreeMap<&str, (Vec<&Row>, usize)> = BTreeMap::new();
    for (row, used) in rows.iter().zip(used) {
        let (of_domain, excluded) = found.entry(&row.domain).or_default();
        if *used {
            of_domain.push(row);
        } else {
            *excluded += 1;
        }
    }
    let mut found: Vec<_> = found.into_iter().collect();
    found.sort_by_key(|(_, (rows, _))| Reverse(rows.len()));
    let describe = |(domain, (rows, excluded)): (&str, (Vec<&Row>, usize))| {
        let profile = profiles.for_domain(domain);
        DomainSummary {
            domain: domain.to_owned(),
            profile: profile.domain.into_owned(),
            weights: profile.weights,
            summary: summary(&rows, excluded, chosen),
        }
    };
    found.into_iter().map(describe).collect()
}

/// Describes values in ascending order; `None` if there are none.
fn distribution(sorted: &[f64]) -> Option<Distribution> {
    let (min, max) = (*sorted.first()?, *sorted.last()?);
    let mut histogram = vec![0; BINS];
    for value in sorted {
        histogram[((value * BINS as f64) as usize).min(BINS - 1)] += 1;
    }
    let percentile =
        |percent| Some(Percentile { percent, value: quantile(sorted, percent / 100.0)? });
    Some(Distribution {
        min,
        max,
        mean: sorted.iter().sum::<f64>() / sorted.len() as f64,
        percentiles: PERCENTILES.into_iter().filter_map(percentile).collect(),
        histogram,
    })
}

fn ecdf(sorted: &[f64]) -> Vec<EcdfPoint> {
    let n = sorted.len() as f64;
    let mut below = 0;
    let points = sorted.chunk_by(|a, b| a == b).map(|tied| {
        below += tied.len();
        EcdfPoint { score: tied[0], share: below as f64 / n }
    });
    thin(points, ECDF_POINTS)
}

/// Describes all rows in their order, in at most fifty blocks of equal length.
pub(crate) fn timeline(rows: &[Row]) -> Vec<Block> {
    let size = rows.len().div_ceil(BLOCKS).max(1);
    let block = |(index, rows): (usize, &[Row])| {
        let scores = ascending(rows.iter().map(|row| row.score));
        let novelty = ascending(rows.iter().map(|row| row.dimensions.novelty));
        Some(Block {
            first: index * size + 1,
            last: index * size + rows.len(),
            score_p10: quantile(&scores, 0.1)?,
            score_p50: quantile(&scores, 0.5)?,
            score_p90: quantile(&scores, 0.9)?,
            novelty_p50: quantile(&novelty, 0.5)?,
        })
    };
    rows.chunks(size).enumerate().filter_map(block).collect()
}

/// Returns the numbers of used rows to look at.
pub(crate) fn examples(rows: &[Row], used: &[bool], chosen: Option<f64>) -> Examples {
    let mut places: Vec<usize> = (0..rows.len()).filter(|place| used[*place]).collect();
    places.sort_by(|a, b| rows[*b].score.total_cmp(&rows[*a].score));
    let middle = chosen.or_else(|| places.get(places.len() / 2).map(|place| rows[*place].score));
    let numbers = |places: &mut dyn Iterator<Item = &usize>| {
        places.take(EXAMPLES).map(|place| place + 1).collect()
    };
    let (highest, lowest) = (numbers(&mut places.iter()), numbers(&mut places.iter().rev()));
    let distance = |place: usize| (rows[place].score - middle.unwrap_or_default()).abs();
    places.sort_by(|a, b| distance(*a).total_cmp(&distance(*b)).then(a.cmp(b)));
    Examples { highest, lowest, borderline: numbers(&mut places.iter()) }
}
