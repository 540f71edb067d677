//! The result of a calibration: everything that a report or a terminal shows. Shares, rates and levels
//! are in \[0, 1\]; rows count from 1. `lib/types/calibrate.d.ts` documents the types and their fields.

#![expect(missing_docs, reason = "lib/types/calibrate.d.ts documents them")]

use knowledgepulse_scoring::weights::Weights;
use serde::{Deserialize, Serialize};

use crate::options::Options;

/// The result of a calibration. Serialised in camelCase, with finite numbers only.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    pub options: Options,
    pub rows: RowCounts,
    pub sources: Sources,
    pub threshold: Option<Threshold>,
    pub overall: Summary,
    pub domains: Vec<DomainSummary>,
    pub timeline: Vec<Block>,
    pub examples: Examples,
    pub labels: Option<Labels>,
    pub fits: Vec<Fit>,
    pub warnings: Vec<Warning>,
}

impl Calibration {
    /// Returns the threshold that was chosen or given, if there is one.
    pub fn chosen(&self) -> Option<f64> {
        self.threshold.as_ref()?.value
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RowCounts {
    pub total: usize,
    pub used: usize,
    pub uncompared: usize,
    pub first: usize,
    pub first_limit: usize,
    pub groups: usize,
    pub ungrouped: usize,
    pub labelled: usize,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Sources {
    pub model_fingerprints: Vec<String>,
    pub precisions: Vec<String>,
    pub versions: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    pub low: f64,
    pub high: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    pub value: f64,
    pub interval: Option<Interval>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Threshold {
    pub value: Option<f64>,
    pub interval: Option<Interval>,
    pub share: Estimate,
    pub accepted: usize,
    pub tied: usize,
    pub stricter_share: Option<f64>,
    pub looser_share: Option<f64>,
    pub precision: Option<Precision>,
}

/// The share of positive labels among the accepted labelled rows.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Precision {
    pub threshold: f64,
    pub precision: f64,
    pub interval: Interval,
    pub recall: f64,
    pub accepted: usize,
    pub effective: f64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Summary {
    pub n: usize,
    pub excluded: usize,
    pub cut_share: f64,
    /// Among the rows whose success is known.
    pub success_share: Option<f64>,
    pub label_share: Option<f64>,
    pub accepted: Vec<Accepted>,
    pub score: Option<Distribution>,
    pub dimensions: Vec<DimensionDistribution>,
    pub constant_dimensions: Vec<Dimension>,
    pub ecdf: Vec<EcdfPoint>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DomainSummary {
    pub domain: String,
    pub profile: String,
    pub weights: Weights,
    pub summary: Summary,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Accepted {
    pub threshold: f64,
    pub n: usize,
    pub share: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Dimension {
    Complexity,
    Novelty,
    ToolDiversity,
    OutcomeConfidence,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DimensionDistribution {
    pub dimension: Dimension,
    pub distribution: Distribution,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Distribution {
    pub min: f64,
    pub max: f64,
    pub mean: f64,
    pub percentiles: Vec<Percentile>,
    pub histogram: Vec<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Percentile {
    pub percent: f64,
    pub value: f64,
}

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
    pub highest: Vec<usize>,
    pub lowest: Vec<usize>,
    pub borderline: Vec<usize>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Labels {
    pub positives: usize,
    pub negatives: usize,
    pub groups: usize,
    pub intraclass_correlation: f64,
    pub auc: Estimate,
    pub average_precision: Estimate,
    pub roc: Vec<RocPoint>,
    pub roc_band: Vec<BandPoint>,
    pub precision_recall: Vec<PrecisionRecallPoint>,
    pub precision_recall_band: Vec<BandPoint>,
    pub deciles: Vec<Decile>,
    pub youden: OperatingPoint,
    pub best_f1: OperatingPoint,
    pub leakage: Leakage,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RocPoint {
    pub threshold: Option<f64>,
    pub false_positive_rate: f64,
    pub true_positive_rate: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct PrecisionRecallPoint {
    pub threshold: Option<f64>,
    pub precision: f64,
    pub recall: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct BandPoint {
    pub at: f64,
    pub low: f64,
    pub high: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Decile {
    pub from: f64,
    pub to: f64,
    pub n: usize,
    pub positives: usize,
    pub rate: f64,
    pub effective: f64,
    pub interval: Interval,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OperatingPoint {
    pub threshold: f64,
    pub value: f64,
    pub precision: f64,
    pub recall: f64,
    pub false_positive_rate: f64,
    pub share: f64,
}

/// Whether the labels merely repeat `success`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Leakage {
    pub agreement: f64,
    pub agreement_by_chance: f64,
    pub is_leak: bool,
    pub auc_without_outcome: Option<Estimate>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Fit {
    pub profile: String,
    pub domains: Vec<String>,
    pub n: usize,
    pub positives: usize,
    pub negatives: usize,
    pub groups: usize,
    pub current: Weights,
    pub without_outcome: bool,
    pub result: FitResult,
    pub recommended: Option<Weights>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "kebab-case")]
pub enum FitResult {
    Better(Fitted),
    NoBetterThanCurrent(Fitted),
    Refused { expected: String, found: String },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Fitted {
    pub weights: Weights,
    pub best: Weights,
    pub current_auc: f64,
    pub auc: f64,
    pub best_auc: f64,
    pub standard_error: f64,
    pub held_out_auc: Estimate,
    pub improvement: Estimate,
    pub tried: usize,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Warning {
    pub code: WarningCode,
    pub n: usize,
    pub message: String,
}

/// A reason to doubt the figures. `warnings.rs` has the conditions; two of their limits are `LEAK` in `labels.rs` and
/// `CLASS` in `fit/mod.rs`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WarningCode {
    LabelIsSuccess,
    OneClass,
    FewLabels,
    ConstantConfidence,
    DuplicateIds,
    DuplicateTexts,
    OneDomain,
    FewGroups,
    NoGroups,
    CutTexts,
    MixedSources,
    OtherProfiles,
    Degraded,
}
