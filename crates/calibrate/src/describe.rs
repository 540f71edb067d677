//! Distributions of all rows, by domain and over time, and rows to look at.

use std::{cmp::Reverse, collections::BTreeMap};

use knowledgepulse_scoring::{Profiles, weights::Dimensions};

use crate::{
    calibration::{
        Accepted, Block, Dimension, DimensionDistribution, Distribution, DomainSummary, EcdfPoint,
        Examples, Percentile, Summary,
    },
    roc::thin,
    row::Row,
    statistics::{ascending, quantile},
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

    /// Returns the name for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Complexity => "complexity",
            Self::Novelty => "novelty",
            Self::ToolDiversity => "tool diversity",
            Self::OutcomeConfidence => "outcome confidence",
        }
    }
}

/// Describes the `used` rows; `all` is the number of rows, used or not.
pub(crate) fn summary(used: &[&Row], all: usize, chosen: Option<f64>) -> Summary {
    let n = used.len();
    let count = |test: &dyn Fn(&Row) -> bool| used.iter().filter(|row| test(row)).count();
    let share = |count: usize| count as f64 / n.max(1) as f64;
    let scores = ascending(used.iter().map(|row| row.score));
    let known: Vec<&&Row> = used.iter().filter(|row| !row.assumes_success()).collect();
    let successes = known.iter().filter(|row| row.success).count();
    let labels: Vec<bool> = used.iter().filter_map(|row| row.label).collect();
    let positives = count(&|row| row.label == Some(true));
    let mut thresholds = THRESHOLDS.to_vec();
    thresholds.extend(chosen.filter(|chosen| !THRESHOLDS.contains(chosen)));
    thresholds.sort_by(f64::total_cmp);
    let accepted = thresholds.into_iter().map(|threshold| {
        let n = count(&|row| row.score >= threshold);
        Accepted { threshold, n, share: share(n) }
    });
    let describe = |dimension: Dimension| {
        let values = ascending(used.iter().map(|row| dimension.of(&row.dimensions)));
        Some(DimensionDistribution { dimension, distribution: distribution(&values)? })
    };
    let dimensions: Vec<_> = Dimension::ALL.into_iter().filter_map(describe).collect();
    let is_constant = |of: &Distribution| n > 1 && of.max - of.min <= CONSTANT;
    let constant = dimensions.iter().filter(|of| is_constant(&of.distribution));
    Summary {
        n,
        excluded: all - n,
        cut_share: share(count(&|row| row.is_cut)),
        success_share: (!known.is_empty()).then(|| successes as f64 / known.len() as f64),
        label_share: (!labels.is_empty()).then(|| positives as f64 / labels.len() as f64),
        accepted: accepted.collect(),
        score: distribution(&scores),
        constant_dimensions: constant.map(|of| of.dimension).collect(),
        dimensions,
        ecdf: ecdf(&scores),
    }
}

/// Describes the rows of each domain, the largest domain first. `used` are the used ones.
pub(crate) fn domains(
    rows: &[Row],
    used: &[&Row],
    chosen: Option<f64>,
    profiles: &Profiles,
) -> Vec<DomainSummary> {
    let mut found: BTreeMap<&str, (Vec<&Row>, usize)> = BTreeMap::new();
    for row in rows {
        found.entry(&row.domain).or_default().1 += 1;
    }
    for row in used {
        found.entry(&row.domain).or_default().0.push(row);
    }
    let mut found: Vec<_> = found.into_iter().collect();
    found.sort_by_key(|(_, (used, _))| Reverse(used.len()));
    let describe = |(domain, (used, all)): (&str, (Vec<&Row>, usize))| {
        let profile = profiles.for_domain(domain);
        DomainSummary {
            domain: domain.to_owned(),
            profile: profile.domain.into_owned(),
            weights: profile.weights,
            summary: summary(&used, all, chosen),
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

/// Returns the numbers of rows to look at, among one or more.
pub(crate) fn examples(mut numbered: Vec<(usize, &Row)>, chosen: Option<f64>) -> Examples {
    numbered.sort_by(|(_, a), (_, b)| b.score.total_cmp(&a.score));
    let middle = chosen.unwrap_or(numbered[numbered.len() / 2].1.score);
    let numbers = |rows: &mut dyn Iterator<Item = &(usize, &Row)>| {
        rows.take(EXAMPLES).map(|(number, _)| *number).collect()
    };
    let (highest, lowest) = (numbers(&mut numbered.iter()), numbers(&mut numbered.iter().rev()));
    let distance = |row: &Row| (row.score - middle).abs();
    numbered
        .sort_by(|(a, row), (b, other)| distance(row).total_cmp(&distance(other)).then(a.cmp(b)));
    Examples { highest, lowest, borderline: numbers(&mut numbered.iter()) }
}
