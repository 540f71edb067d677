//! The result of a calibration: everything that a report or a terminal shows. Shares, rates and levels
//! are in \[0, 1\]; rows count from 1.

#![expect(missing_docs, reason = "the names say the rest")]

use knowledgepulse_scoring::weights::Weights;
use serde::{Deserialize, Serialize};

use crate::options::Options;

/// The result of a calibration. Serialised in camelCase, with finite numbers only.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Calibration {
    /// The options that it was made with.
    pub options: Options,
    pub rows: RowCounts,
    /// The models and versions that the rows were scored with.
    pub sources: Sources,
    /// The threshold that was chosen or given; `None` without a target.
    pub threshold: Option<Threshold>,
    /// The used rows of all domains.
    pub overall: Summary,
    /// The used rows of each domain, the largest first.
    pub domains: Vec<DomainSummary>,
    /// All rows in the order of scoring, in blocks, to show how novelty falls as memory fills.
    pub timeline: Vec<Block>,
    /// Used rows to look at.
    pub examples: Examples,
    /// Statistics of scores and labels; `None` if there are no labels, or all are equal.
    pub labels: Option<Labels>,
    /// The fit of each profile that serves labelled rows; empty unless asked for.
    pub fits: Vec<Fit>,
    /// Reasons to doubt the figures.
    pub warnings: Vec<Warning>,
}

impl Calibration {
    /// Returns the threshold that was chosen or given, if there is one.
    pub(crate) fn chosen(&self) -> Option<f64> {
        self.threshold.as_ref()?.value
    }
}

/// The numbers of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RowCounts {
    pub total: usize,
    /// All but the cold start. Everything but the timeline is computed from these.
    pub used: usize,
    /// Excluded: compared with nothing, so their novelty is the neutral 0.5.
    pub uncompared: usize,
    /// Excluded: compared, but among the first rows.
    pub first: usize,
    /// The number of first rows that count as cold start.
    pub first_limit: usize,
    /// Groups among the used rows; each row without a group counts as one.
    pub groups: usize,
    /// Used rows without a group.
    pub ungrouped: usize,
    /// Used rows with a label.
    pub labelled: usize,
}

/// The models and versions that the rows were scored with: each value once, in order of appearance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Sources {
    pub model_fingerprints: Vec<String>,
    pub precisions: Vec<String>,
    pub versions: Vec<String>,
}

/// A two-sided confidence interval at the level of the options.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    pub low: f64,
    pub high: f64,
}

/// A value with its interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    pub value: f64,
    /// By bootstrap of groups; `None` if there are fewer than two groups.
    pub interval: Option<Interval>,
}

/// The threshold that was chosen or given. It accepts a row whose score is not below it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Threshold {
    /// The threshold; `None` if none reaches the target precision. A chosen one is the shortest decimal
    /// that accepts exactly the chosen rows.
    pub value: Option<f64>,
    /// The interval of the threshold for a target share; `None` for other targets.
    pub interval: Option<Interval>,
    /// The accepted share of the used rows.
    pub share: Estimate,
    /// The number of accepted used rows.
    pub accepted: usize,
    /// The number of accepted rows with the lowest accepted score, which are accepted only together.
    pub tied: usize,
    /// With a target share: the next smaller share that a threshold can have, if there is one.
    pub stricter_share: Option<f64>,
    /// With a target share: the next larger share that a threshold can have, if there is one.
    pub looser_share: Option<f64>,
    /// With labels: its precision, or, if no threshold reaches the target, that of the threshold with the
    /// highest lower bound.
    pub precision: Option<Precision>,
}

/// The share of positive labels among the accepted labelled rows.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Precision {
    pub threshold: f64,
    /// The positive share of the accepted rows.
    pub precision: f64,
    /// Wilson's interval at the effective sample size.
    pub interval: Interval,
    /// The accepted share of the positive rows.
    pub recall: f64,
    /// The number of accepted labelled rows.
    pub accepted: usize,
    /// The effective sample size: `accepted` over the design effect of the groups.
    pub effective: f64,
}

/// The distribution of scores and dimensions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Summary {
    /// The number of used rows. Without any, distributions are `None`.
    pub n: usize,
    /// Excluded rows.
    pub excluded: usize,
    /// The share of used rows whose text was cut.
    pub cut_share: f64,
    /// The share of used rows with `success`.
    pub success_share: f64,
    /// The positive share of the labels.
    pub label_share: Option<f64>,
    /// The shares accepted by the thresholds 0.5, 0.75, 0.8 and the chosen one, in ascending order.
    pub accepted: Vec<Accepted>,
    pub score: Option<Distribution>,
    /// The dimensions: complexity, novelty, toolDiversity, outcomeConfidence.
    pub dimensions: Vec<DimensionDistribution>,
    /// The dimensions with the same value in all rows, which do not affect the order.
    pub constant_dimensions: Vec<Dimension>,
    /// The cumulative distribution of the scores, in at most 201 points.
    pub ecdf: Vec<EcdfPoint>,
}

/// The used rows of one domain.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DomainSummary {
    pub domain: String,
    /// The name of its profile: the domain, or `default`.
    pub profile: String,
    pub weights: Weights,
    pub summary: Summary,
}

/// The share that a threshold accepts.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Accepted {
    pub threshold: f64,
    pub n: usize,
    pub share: f64,
}

/// One of the four dimensions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Dimension {
    Complexity,
    Novelty,
    ToolDiversity,
    OutcomeConfidence,
}

/// The distribution of one dimension.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DimensionDistribution {
    pub dimension: Dimension,
    pub distribution: Distribution,
}

/// The distribution of values in \[0, 1\].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Distribution {
    pub min: f64,
    pub max: f64,
    pub mean: f64,
    /// The percentiles 5, 10, 25, 50, 75, 90, 95.
    pub percentiles: Vec<Percentile>,
    /// The number of values in each of twenty bins of 0.05; 1 belongs to the last.
    pub histogram: Vec<usize>,
}

/// A percentile, interpolated as numpy's `linear` does (type 7 of Hyndman and Fan).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Percentile {
    pub percent: f64,
    pub value: f64,
}

/// A step of a cumulative distribution.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct EcdfPoint {
    pub score: f64,
    pub share: f64,
}

/// Consecutive rows: the numbers of the first and the last, and percentiles.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Block {
    pub first: usize,
    pub last: usize,
    pub score_p10: f64,
    pub score_p50: f64,
    pub score_p90: f64,
    pub novelty_p50: f64,
}

/// Numbers of rows to look at, at most ten of each kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Examples {
    /// The highest scores, highest first.
    pub highest: Vec<usize>,
    /// The lowest scores, lowest first.
    pub lowest: Vec<usize>,
    /// The scores nearest to the threshold, or to the median score without one, nearest first.
    pub borderline: Vec<usize>,
}

/// Statistics of scores and labels, over the used rows with a label.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Labels {
    pub positives: usize,
    pub negatives: usize,
    pub groups: usize,
    /// How similar the labels within a group are: the intraclass correlation, in \[0, 1\].
    pub intraclass_correlation: f64,
    /// The probability that a positive row has a higher score than a negative one; ties count one half.
    pub auc: Estimate,
    /// The mean precision over the steps of recall.
    pub average_precision: Estimate,
    /// The receiver operating characteristic, from the strictest threshold, in at most 201 points.
    pub roc: Vec<RocPoint>,
    /// The pointwise band of the true-positive rate, at 101 false-positive rates.
    pub roc_band: Vec<BandPoint>,
    /// Precision and recall, from the strictest threshold, in at most 201 points.
    pub precision_recall: Vec<PrecisionRecallPoint>,
    /// The pointwise band of the precision, at the recalls 0.01 … 1.
    pub precision_recall_band: Vec<BandPoint>,
    /// The label rate by decile of the score. A score is not a probability, so this is not a reliability
    /// diagram.
    pub deciles: Vec<Decile>,
    /// The threshold with the greatest Youden's J. For reference: chosen and measured on the same rows.
    pub youden: OperatingPoint,
    /// The threshold with the greatest F1. For reference: chosen and measured on the same rows.
    pub best_f1: OperatingPoint,
    /// Whether the labels merely repeat `success`, which the score contains.
    pub leakage: Leakage,
}

/// A point of the receiver operating characteristic.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RocPoint {
    /// Rows with this score or a higher one are accepted; `None` accepts none.
    pub threshold: Option<f64>,
    /// The accepted share of the negative rows.
    pub false_positive_rate: f64,
    /// The accepted share of the positive rows.
    pub true_positive_rate: f64,
}

/// A point of the precision–recall curve.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct PrecisionRecallPoint {
    /// Rows with this score or a higher one are accepted; `None`, for recall 0, accepts none.
    pub threshold: Option<f64>,
    /// The positive share of the accepted rows; 1 if none is accepted.
    pub precision: f64,
    /// The accepted share of the positive rows.
    pub recall: f64,
}

/// The interval of a curve at one place.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct BandPoint {
    /// The false-positive rate or the recall.
    pub at: f64,
    pub low: f64,
    pub high: f64,
}

/// Rows between two deciles of the score.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Decile {
    /// The lowest score among them.
    pub from: f64,
    /// The highest score among them.
    pub to: f64,
    /// The number of rows. It varies, and there may be fewer than ten deciles, as equal scores are in one.
    pub n: usize,
    pub positives: usize,
    /// `positives` over `n`.
    pub rate: f64,
    /// The effective sample size: `n` over the design effect of the groups.
    pub effective: f64,
    /// Wilson's interval of the rate at the effective sample size.
    pub interval: Interval,
}

/// Statistics of a threshold on labelled rows.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OperatingPoint {
    /// Rows with this score or a higher one are accepted.
    pub threshold: f64,
    /// Youden's J, or F1.
    pub value: f64,
    /// The positive share of the accepted rows.
    pub precision: f64,
    /// The accepted share of the positive rows: the true-positive rate.
    pub recall: f64,
    /// The accepted share of the negative rows.
    pub false_positive_rate: f64,
    /// The accepted share of the labelled rows.
    pub share: f64,
}

/// Whether the labels merely repeat `success`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Leakage {
    /// The share of labelled rows whose label equals `success`.
    pub agreement: f64,
    /// The expected share if labels and `success` were independent.
    pub agreement_by_chance: f64,
    /// Whether `agreement` is 0.95 or more.
    pub is_leak: bool,
    /// With a leak: the AUC of scores without the parts that depend on `success`: the dimension
    /// outcomeConfidence, whose weight goes to the others, and the override error-recovery.
    pub auc_without_outcome: Option<Estimate>,
}

/// The fit of one profile to the labels of the rows that it serves.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Fit {
    /// The domain of the rows, or their common profile if they are of several domains.
    pub profile: String,
    pub domains: Vec<String>,
    /// The number of labelled rows.
    pub n: usize,
    pub positives: usize,
    pub negatives: usize,
    pub groups: usize,
    /// The weights that the fit starts from: the profile's, without outcomeConfidence if there is a leak.
    pub current: Weights,
    /// Whether outcomeConfidence and the override error-recovery were left out, because the labels of
    /// these rows equal `success`. The weight of outcomeConfidence is 0 then: the weights compare the
    /// other three dimensions, and say nothing about how much the outcome should count.
    pub without_outcome: bool,
    pub result: FitResult,
    /// The weights to use for the profile, in steps of 0.0001 and with the sum 1; `None` unless they are
    /// better. If the outcome was left out of the fit, it keeps its current weight, and the fitted weights
    /// are scaled to the rest.
    pub recommended: Option<Weights>,
}

/// The outcome of a fit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "kebab-case")]
pub enum FitResult {
    /// The fitted weights order the rows better than the current ones.
    Better(Fitted),
    /// These labels show no improvement: keep the current profile.
    NoBetterThanCurrent(Fitted),
    /// There are too few rows.
    Refused { expected: String, found: String },
}

/// Fitted weights. Every AUC is over pairs within five folds that divide no group.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Fitted {
    /// The weights nearest to the current ones whose AUC is within one standard error of the best.
    pub weights: Weights,
    /// The weights with the highest AUC on these rows.
    pub best: Weights,
    /// The AUC of the current weights.
    pub current_auc: f64,
    /// The AUC of [`Self::weights`] on the rows that they were chosen by, which is too optimistic.
    pub auc: f64,
    /// The AUC of [`Self::best`] on the rows that they were chosen by, which is too optimistic.
    pub best_auc: f64,
    /// The standard error of the difference between the two.
    pub standard_error: f64,
    /// Cross-validated AUC: the AUC to expect on new rows. Its interval, like that of the improvement, is
    /// 1.5 times as wide as the bootstrap's, since weights of different folds were chosen by common rows.
    pub held_out_auc: Estimate,
    /// The improvement of `held_out_auc` over the current weights. "Better" means that its interval is above 0.
    pub improvement: Estimate,
    /// The number of tried points of the grid.
    pub tried: usize,
}

/// A reason to doubt the figures.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Warning {
    pub code: WarningCode,
    /// The number of rows or groups that it concerns.
    pub n: usize,
    pub message: String,
}

/// The reasons to doubt the figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WarningCode {
    /// Labels equal `success` in 95 % of the rows or more.
    LabelIsSuccess,
    /// All labels are equal.
    OneClass,
    /// There are fewer than 30 labels of a class.
    FewLabels,
    /// Every row has the same confidence.
    ConstantConfidence,
    /// Ids occur more than once.
    DuplicateIds,
    /// Some texts are equal to an earlier one for the model.
    DuplicateTexts,
    /// All rows are of one domain.
    OneDomain,
    /// There are fewer than 20 groups.
    FewGroups,
    /// No row has a group.
    NoGroups,
    /// The model saw only the beginning of 5 % of the texts or more.
    CutTexts,
    /// Rows are of several models, precisions or versions.
    MixedSources,
    /// Scores differ from what the profiles of the options give.
    OtherProfiles,
    /// Rows were compared with nothing because there was no embedder, no store or no time.
    Degraded,
}
