//! What a calibration found: everything that a report or a terminal shows. Shares, rates and levels are
//! in \[0, 1\]; rows count from 1.

use knowledgepulse_scoring::weights::Weights;
use serde::{Deserialize, Serialize};

use crate::{
    error::{Error, Result},
    json::{self, Unfit},
    options::Options,
};

/// What a calibration found. Serialised in camelCase, without numbers that JSON does not have.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Calibration {
    /// What was asked.
    pub options: Options,
    /// Which rows there were, and which were used.
    pub rows: RowCounts,
    /// What the rows were scored with.
    pub sources: Sources,
    /// The threshold that was chosen or given; `None` where no target was.
    pub threshold: Option<Threshold>,
    /// The used rows of all domains.
    pub overall: Summary,
    /// The used rows of each domain, the largest first.
    pub domains: Vec<DomainSummary>,
    /// All rows in the order of scoring, in blocks: does novelty fall as memory fills?
    pub timeline: Vec<Block>,
    /// Used rows to look at.
    pub examples: Examples,
    /// What the labels say of the scores; `None` where there are none, or all are alike.
    pub labels: Option<Labels>,
    /// The fit of each profile that serves labelled rows; empty where none was asked for.
    pub fits: Vec<Fit>,
    /// What makes the figures doubtful.
    pub warnings: Vec<Warning>,
}

impl Calibration {
    /// Reads a calibration from its JSON.
    ///
    /// # Errors
    ///
    /// `INVALID_OPTION` with the field that does not fit.
    pub fn from_json(json: &str) -> Result<Self> {
        json::read(json).map_err(|Unfit { path, expected, found }| {
            let dot = if path.is_empty() { "" } else { "." };
            Error::option(format!("calibration{dot}{path}"), expected, found)
        })
    }
}

/// Which rows there were, and which were used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RowCounts {
    /// All rows.
    pub total: usize,
    /// Those that everything but the timeline rests on: all but the cold start.
    pub used: usize,
    /// Excluded: compared with nothing, so that the novelty is the neutral 0.5.
    pub uncompared: usize,
    /// Excluded: compared, but among the first rows.
    pub first: usize,
    /// How many first rows count as cold start.
    pub first_limit: usize,
    /// Groups among the used rows, those of a single row without a group included.
    pub groups: usize,
    /// Used rows without a group.
    pub ungrouped: usize,
    /// Used rows with a label.
    pub labelled: usize,
}

/// What the rows were scored with: each value once, in order of appearance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the names are those of the fields of a row")]
pub struct Sources {
    pub models: Vec<String>,
    pub precisions: Vec<String>,
    pub versions: Vec<String>,
}

/// A two-sided confidence interval at the level of the options.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Interval {
    pub low: f64,
    pub high: f64,
}

/// A value with its interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The value.
    pub value: f64,
    /// By bootstrap of groups; `None` where there are fewer than two groups.
    pub interval: Option<Interval>,
}

/// The threshold that was chosen or given. A row is accepted where its score is not below it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Threshold {
    /// The threshold; `None` where none reaches the target precision. A chosen one is the shortest
    /// decimal that accepts just the rows it should.
    pub value: Option<f64>,
    /// Where the threshold for a target share varies between samples; `None` for other targets.
    pub interval: Option<Interval>,
    /// The share of the used rows that it accepts.
    pub share: Estimate,
    /// How many of the used rows it accepts.
    pub accepted: usize,
    /// How many accepted rows have the lowest accepted score: they come in only together.
    pub tied: usize,
    /// With the target of a share: the nearest share below that a threshold can have, and above.
    /// `None` where there is none.
    pub stricter_share: Option<f64>,
    /// See [`Self::stricter_share`].
    pub looser_share: Option<f64>,
    /// With labels: how good it is. With the target of a precision that none reaches, the point with
    /// the highest lower bound.
    pub precision: Option<Precision>,
}

/// The share of positive labels among the accepted labelled rows.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Precision {
    /// The threshold that it belongs to.
    pub threshold: f64,
    /// Positive and accepted, of all accepted.
    pub precision: f64,
    /// Wilson's interval at the effective number of rows.
    pub interval: Interval,
    /// Positive and accepted, of all positive.
    pub recall: f64,
    /// Labelled rows that are accepted.
    pub accepted: usize,
    /// To how many independent rows these are worth: `accepted` over the design effect of the groups.
    pub effective: f64,
}

/// The distribution of scores and dimensions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Summary {
    /// How many used rows. The distributions are `None` for none.
    pub n: usize,
    /// Excluded rows.
    pub excluded: usize,
    /// The share of used rows of which the model saw only the beginning.
    pub cut_share: f64,
    /// The share with `success`.
    pub success_share: f64,
    /// The share of positive labels, of those with a label.
    pub label_share: Option<f64>,
    /// The share that each threshold accepts: 0.5, 0.75, 0.8, and the chosen one.
    pub accepted: Vec<Accepted>,
    /// The scores.
    pub score: Option<Distribution>,
    /// The dimensions: complexity, novelty, toolDiversity, outcomeConfidence.
    pub dimensions: Vec<DimensionDistribution>,
    /// The dimensions that have one value in all rows, and therefore order nothing.
    pub constant_dimensions: Vec<Dimension>,
    /// The cumulative distribution of the scores, in at most 201 points.
    pub ecdf: Vec<EcdfPoint>,
}

/// The used rows of one domain.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DomainSummary {
    /// The domain.
    pub domain: String,
    /// The name of its profile: the domain, or `default`.
    pub profile: String,
    /// The weights of that profile.
    pub weights: Weights,
    /// The distributions.
    pub summary: Summary,
}

/// The share that a threshold accepts.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Accepted {
    pub threshold: f64,
    pub n: usize,
    pub share: f64,
}

/// One of the four dimensions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the names say it")]
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
    /// Which.
    pub dimension: Dimension,
    /// Its values.
    pub distribution: Distribution,
}

/// The distribution of values in \[0, 1\].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Distribution {
    /// The least value.
    pub min: f64,
    /// The greatest value.
    pub max: f64,
    /// The mean.
    pub mean: f64,
    /// The percentiles 5, 10, 25, 50, 75, 90, 95.
    pub percentiles: Vec<Percentile>,
    /// How many values are in each of twenty bins of 0.05; 1 belongs to the last.
    pub histogram: Vec<usize>,
}

/// A percentile, interpolated as numpy's `linear` does (type 7 of Hyndman and Fan).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Percentile {
    /// Which, in \[0, 100\].
    pub percent: f64,
    /// Its value.
    pub value: f64,
}

/// A step of a cumulative distribution.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct EcdfPoint {
    /// The score.
    pub score: f64,
    /// The share of rows with this score or a lower one.
    pub share: f64,
}

/// Consecutive rows.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Block {
    /// The number of the first row.
    pub first: usize,
    /// The number of the last row.
    pub last: usize,
    /// The 10th percentile of the scores.
    pub score_p10: f64,
    /// Their median.
    pub score_p50: f64,
    /// Their 90th percentile.
    pub score_p90: f64,
    /// The median novelty.
    pub novelty_p50: f64,
}

/// Numbers of rows to look at, at most ten of each.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Examples {
    /// With the highest scores, from the highest.
    pub highest: Vec<usize>,
    /// With the lowest scores, from the lowest.
    pub lowest: Vec<usize>,
    /// Nearest to the threshold, or to the median score where there is none, from the nearest.
    pub borderline: Vec<usize>,
}

/// What the labels say of the scores. All of it rests on the used rows with a label.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Labels {
    /// Positive ones.
    pub positives: usize,
    /// Negative ones.
    pub negatives: usize,
    /// Groups.
    pub groups: usize,
    /// How alike the labels of a group are: the intraclass correlation, in \[0, 1\].
    pub intraclass_correlation: f64,
    /// How often a positive row has a higher score than a negative one, a tie counting one half.
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
    /// The label rate by decile of the score. A score is no probability, so this is no reliability
    /// diagram.
    pub deciles: Vec<Decile>,
    /// Where Youden's J is greatest. For reference: chosen and measured on the same rows.
    pub youden: OperatingPoint,
    /// Where F1 is greatest. For reference: chosen and measured on the same rows.
    pub best_f1: OperatingPoint,
    /// Whether the labels say anything but `success`, which the score contains.
    pub leakage: Leakage,
}

/// A point of the receiver operating characteristic.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RocPoint {
    /// Rows with this score or a higher one are accepted; `None` accepts none.
    pub threshold: Option<f64>,
    /// Accepted negative rows, of all negative ones.
    pub false_positive_rate: f64,
    /// Accepted positive rows, of all positive ones.
    pub true_positive_rate: f64,
}

/// A point of the precision–recall curve.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct PrecisionRecallPoint {
    /// Rows with this score or a higher one are accepted; `None`, for recall 0, accepts none.
    pub threshold: Option<f64>,
    /// Positive among the accepted; 1 where none is accepted.
    pub precision: f64,
    /// Accepted among the positive.
    pub recall: f64,
}

/// A band around a curve, at one place.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct BandPoint {
    /// The false-positive rate or the recall.
    pub at: f64,
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// Rows between two deciles of the score.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Decile {
    /// The lowest score among them.
    pub from: f64,
    /// The highest score among them.
    pub to: f64,
    /// How many; rows of one score are in one decile, so this varies, and there may be fewer than ten.
    pub n: usize,
    /// How many of them are positive.
    pub positives: usize,
    /// `positives` of `n`.
    pub rate: f64,
    /// To how many independent rows these are worth: `n` over the design effect of the groups.
    pub effective: f64,
    /// Wilson's interval of the rate at `effective` rows.
    pub interval: Interval,
}

/// What a threshold does to labelled rows.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OperatingPoint {
    /// Rows with this score or a higher one are accepted.
    pub threshold: f64,
    /// Youden's J, or F1.
    pub value: f64,
    /// Positive among the accepted.
    pub precision: f64,
    /// Accepted among the positive: the true-positive rate.
    pub recall: f64,
    /// Accepted among the negative.
    pub false_positive_rate: f64,
    /// Accepted among the labelled.
    pub share: f64,
}

/// Whether the labels say anything but `success`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Leakage {
    /// The share of labelled rows whose label is `success`.
    pub agreement: f64,
    /// The share to expect if labels and `success` were independent.
    pub agreement_by_chance: f64,
    /// Whether `agreement` is 0.95 or more: the labels then are `success`, or nearly.
    pub is_leak: bool,
    /// With a leak: the AUC of scores without what contains `success`, which is the dimension
    /// outcomeConfidence (its weight shared out over the others) and the override error-recovery.
    pub auc_without_outcome: Option<Estimate>,
}

/// The fit of one profile to the labels of the rows that it serves.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Fit {
    /// What the fitted profile is called: the one domain that it is for, or the profile that it
    /// replaces where that serves several.
    pub profile: String,
    /// The domains of its rows.
    pub domains: Vec<String>,
    /// Labelled rows.
    pub n: usize,
    /// Positive ones.
    pub positives: usize,
    /// Negative ones.
    pub negatives: usize,
    /// Groups.
    pub groups: usize,
    /// The weights that the fit starts from: those of the profile, or with a leak the same without
    /// outcomeConfidence.
    pub current: Weights,
    /// Whether outcomeConfidence and the override error-recovery were left out, because the labels of
    /// these rows are `success`. The weights then have 0 for outcomeConfidence: they say how the other
    /// three compare, and nothing of how much the outcome should count.
    pub without_outcome: bool,
    /// What came of it.
    pub result: FitResult,
    /// The weights to use for the profile, in steps of 0.0001 and with the sum 1; `None` unless they are
    /// better. Where the outcome was left out of the fit, it keeps its current weight, and the fitted
    /// weights share out the rest.
    pub recommended: Option<Weights>,
}

/// What came of a fit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "kebab-case")]
pub enum FitResult {
    /// The fitted weights order the rows better than the current ones.
    Better(Fitted),
    /// They do not, as far as these labels can tell: keep the current profile.
    NoBetterThanCurrent(Fitted),
    /// There are too few rows.
    Refused(Refusal),
}

/// Why nothing was fitted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// What is needed.
    pub expected: String,
    /// What there is.
    pub found: String,
}

/// Fitted weights. Every AUC is that of pairs within five folds, none of which divides a group.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Fitted {
    /// The weights nearest to the current ones whose AUC is within one standard error of the best.
    pub weights: Weights,
    /// The weights of the highest AUC on these rows.
    pub best: Weights,
    /// The AUC of the current weights.
    pub current_auc: f64,
    /// The AUC of [`Self::weights`], on the rows that they were chosen by: too high.
    pub auc: f64,
    /// The AUC of [`Self::best`], on the rows that they were chosen by: too high.
    pub best_auc: f64,
    /// The standard error of the difference between the two.
    pub standard_error: f64,
    /// The AUC of weights on folds that they were not chosen by: what to expect on new rows. The
    /// interval, as that of the improvement, is 1.5 times as wide as the bootstrap's, since the folds
    /// share the rows that weights were chosen by.
    pub held_out_auc: Estimate,
    /// How much that is above the AUC of the current weights. "Better" means that its interval is
    /// above 0.
    pub improvement: Estimate,
    /// How many points of the grid were tried.
    pub tried: usize,
}

/// Something that makes figures doubtful.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Warning {
    /// What.
    pub code: WarningCode,
    /// How many rows or groups it concerns.
    pub n: usize,
    /// In a sentence.
    pub message: String,
}

/// What makes figures doubtful.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WarningCode {
    /// Labels agree with `success` in 95 % of the rows or more.
    LabelIsSuccess,
    /// Labels are all alike.
    OneClass,
    /// There are fewer than 30 labels of a class.
    FewLabels,
    /// Every row has the same confidence.
    ConstantConfidence,
    /// Ids occur more than once.
    DuplicateIds,
    /// Texts that the model cannot tell from an earlier one.
    DuplicateTexts,
    /// All rows are of one domain.
    OneDomain,
    /// There are fewer than 20 groups.
    FewGroups,
    /// No row has a group.
    NoGroups,
    /// The model saw only the beginning of 5 % of the texts or more.
    CutTexts,
    /// Rows of several models, precisions or versions.
    MixedSources,
    /// Scores that the profiles of the options do not give.
    OtherProfiles,
    /// Rows without a comparison for another reason than an empty memory: no embedder, no store, no
    /// time.
    Degraded,
}
