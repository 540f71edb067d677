import type { ScoreRow } from "./logs.js";
import type { ScoringWeights } from "./report.js";
import type { ScorerOptions } from "./scorer.js";

type ScoredFields =
	| "domain"
	| "score"
	| "dimensions"
	| "similarity"
	| "noveltySource"
	| "success"
	| "confidence";

/** A scored trace for {@link calibrate}: a {@link ScoreRow}, or its required fields. */
export interface CalibrationRow
	extends Pick<ScoreRow, ScoredFields>,
		Partial<Omit<ScoreRow, ScoredFields>> {
	/** Whether the trace was worth sharing, by someone's judgement. */
	label?: boolean | undefined;
}

/** Options of {@link calibrate}. */
export interface CalibrateOptions {
	/**
	 * How to choose the threshold. `share`: the share of rows to accept, in (0, 1]. `precision`: the lower
	 * confidence bound of the share of positive labels among the accepted, in (0, 1). `threshold`: this one, in
	 * [0, 1]. Default: none.
	 */
	target?: { share: number } | { precision: number } | { threshold: number } | undefined;
	/** Whether weights are fitted to the labels. Default: `false`. */
	fit?: boolean | undefined;
	/**
	 * The number of first rows to exclude as cold start. Default: a tenth, at most 10, if the first row was
	 * compared with nothing, else 0. Rows that were compared with nothing are always excluded.
	 */
	first?: number | undefined;
	/** The level of confidence of all intervals, two-sided, in [0.5, 0.999]. Default: 0.95. */
	level?: number | undefined;
	/** The number of bootstrap replicates, from 100 to 10,000. Default: 1,000. */
	replicates?: number | undefined;
	/** The seed of the bootstrap and the folds. Default: 0. */
	seed?: number | undefined;
	/**
	 * The profiles that the rows were scored by, as of {@link ScorerOptions}. Default: the protocol's.
	 */
	profiles?: Record<string, ScoringWeights> | undefined;
	/** Ends the calibration, which rejects with the reason of the signal. */
	signal?: AbortSignal | undefined;
}

/** A confidence interval at the level of the options. */
export interface CalibrationInterval {
	low: number;
	high: number;
}

/** A value with its interval, by a bootstrap of groups; `null` for fewer than two groups. */
export interface CalibrationEstimate {
	value: number;
	interval: CalibrationInterval | null;
}

/** The distribution of values in [0, 1]. */
export interface CalibrationDistribution {
	min: number;
	max: number;
	mean: number;
	/** The percentiles 5, 10, 25, 50, 75, 90 and 95, interpolated linearly (type 7). */
	percentiles: { percent: number; value: number }[];
	/** How many values are in each of twenty bins of 0.05; 1 belongs to the last. */
	histogram: number[];
}

/** The scores of the used rows, of all domains or of one. */
export interface CalibrationSummary {
	/** Used rows. */
	n: number;
	excluded: number;
	/** The share of rows whose text was cut. */
	cutShare: number;
	/** Among the rows whose log says whether they succeeded; `null` if none does. */
	successShare: number | null;
	/** The share of positive labels; `null` without labels. */
	labelShare: number | null;
	/** The share that each threshold accepts: 0.5, 0.75, 0.8, and the chosen one, in ascending order. */
	accepted: { threshold: number; n: number; share: number }[];
	/** `null` without rows. */
	score: CalibrationDistribution | null;
	dimensions: {
		dimension: keyof ScoringWeights;
		distribution: CalibrationDistribution;
	}[];
	/** The dimensions that are the same in all rows, and so do not affect the order. */
	constantDimensions: (keyof ScoringWeights)[];
	/** The cumulative distribution of the scores, in at most 201 points. */
	ecdf: { score: number; share: number }[];
}

/** The threshold that was chosen or given. It accepts scores equal to or above it. */
export interface CalibrationThreshold {
	/**
	 * A chosen one is the shortest decimal that accepts exactly the chosen rows; `null` if none reaches the
	 * target precision.
	 */
	value: number | null;
	/** The interval of the threshold for a target share. */
	interval: CalibrationInterval | null;
	/** The share of the used rows that it accepts. */
	share: CalibrationEstimate;
	/** Used rows that it accepts. */
	accepted: number;
	/** Accepted rows with the lowest accepted score, which no threshold separates. */
	tied: number;
	/** With a target share: the next smaller and the next larger one that a threshold can have. */
	stricterShare: number | null;
	looserShare: number | null;
	/**
	 * With labels: the share of positive ones among the accepted labelled rows. If no threshold reaches the
	 * target precision, that of the threshold with the highest lower bound.
	 */
	precision: {
		threshold: number;
		precision: number;
		/** Wilson's interval at the effective sample size. */
		interval: CalibrationInterval;
		/** The accepted share of the positive rows. */
		recall: number;
		/** Accepted labelled rows. */
		accepted: number;
		/** The effective sample size: `accepted` over the design effect of the groups. */
		effective: number;
	} | null;
}

/** Statistics of a threshold on the labelled rows by which it was chosen. */
export interface CalibrationPoint {
	threshold: number;
	/** Youden's J, or F1. */
	value: number;
	precision: number;
	/** The accepted share of the positive rows. */
	recall: number;
	falsePositiveRate: number;
	/** The accepted share of the labelled rows. */
	share: number;
}

/** Statistics of scores and labels, over the used rows with a label. */
export interface CalibrationLabels {
	positives: number;
	negatives: number;
	groups: number;
	/** The similarity of labels within a group: the intraclass correlation, in [0, 1]. */
	intraclassCorrelation: number;
	/** The probability that a positive row has a higher score than a negative one; ties count one half. */
	auc: CalibrationEstimate;
	/** The mean precision over the steps of recall. */
	averagePrecision: CalibrationEstimate;
	/** In at most 201 points, from the strictest threshold; `null` accepts none. */
	roc: {
		threshold: number | null;
		falsePositiveRate: number;
		truePositiveRate: number;
	}[];
	/** The pointwise interval of the true-positive rate at 101 false-positive rates. */
	rocBand: ({ at: number } & CalibrationInterval)[];
	/** As `roc`; the precision of none is 1. */
	precisionRecall: {
		threshold: number | null;
		precision: number;
		recall: number;
	}[];
	/** The pointwise interval of the precision at the recalls 0.01 to 1. */
	precisionRecallBand: ({ at: number } & CalibrationInterval)[];
	/**
	 * The label rate by decile of the score. Equal scores are in one decile, so `n` varies, and there may be
	 * fewer than ten.
	 */
	deciles: {
		/** The lowest and the highest score among them. */
		from: number;
		to: number;
		n: number;
		positives: number;
		rate: number;
		/** As of {@link CalibrationThreshold.precision}. */
		effective: number;
		interval: CalibrationInterval;
	}[];
	/** The thresholds with the greatest Youden's J and the greatest F1. */
	youden: CalibrationPoint;
	bestF1: CalibrationPoint;
	/** Whether the labels merely repeat `success`, which the score contains. */
	leakage: {
		/** The share of rows whose label equals `success`. */
		agreement: number;
		/** The expected share if labels and `success` were independent. */
		agreementByChance: number;
		/** Whether `agreement` is 0.95 or more. */
		isLeak: boolean;
		/**
		 * With a leak: the AUC of scores without the dimension `outcomeConfidence`, whose weight goes to the
		 * others, and without the override `error-recovery`.
		 */
		aucWithoutOutcome: CalibrationEstimate | null;
	};
}

/**
 * Weights fitted to the labels of the rows of one profile. AUCs count pairs within five folds; no group is
 * split between folds.
 */
export interface CalibrationFit {
	/** The domain of the rows, or their common profile if they are of several domains. */
	profile: string;
	domains: string[];
	/** Labelled rows. */
	n: number;
	positives: number;
	negatives: number;
	groups: number;
	/** The weights that the fit starts from: the profile's, without `outcomeConfidence` if there is a leak. */
	current: ScoringWeights;
	/**
	 * Whether `outcomeConfidence` and the override `error-recovery` were left out, because the labels equal
	 * `success`. The result then says nothing about how much the outcome should count.
	 */
	withoutOutcome: boolean;
	result:
		| {
				outcome: "better" | "no-better-than-current";
				/** The weights nearest to the current ones within one standard error of the best. */
				weights: ScoringWeights;
				/** The weights with the highest AUC on these rows. */
				best: ScoringWeights;
				currentAuc: number;
				/** On the rows that the weights were fitted to, so too high, like `bestAuc`. */
				auc: number;
				bestAuc: number;
				/** Of the difference between the two. */
				standardError: number;
				/**
				 * The cross-validated AUC, to expect on new rows. Its interval and that of `improvement` are
				 * 1.5 times as wide as the bootstrap's, since folds share rows.
				 */
				heldOutAuc: CalibrationEstimate;
				/**
				 * The improvement of `heldOutAuc` over the current weights; `"better"` if its interval is
				 * above 0.
				 */
				improvement: CalibrationEstimate;
				/** Tried points of the grid. */
				tried: number;
		  }
		| { outcome: "refused"; expected: string; found: string };
	/**
	 * The weights to use for the profile, in steps of 0.0001; `null` unless they are better. If the outcome
	 * was left out, it keeps its current weight, and the fitted weights are scaled to the rest.
	 */
	recommended: ScoringWeights | null;
}

/** The result of {@link calibrate}. Shares and rates are in [0, 1], row numbers start at 1. */
export interface Calibration {
	/** The options in effect. */
	options: Omit<Required<CalibrateOptions>, "target" | "first" | "profiles"> & {
		target: NonNullable<CalibrateOptions["target"]> | null;
		first: number | null;
	};
	rows: {
		total: number;
		/** All but the cold start. Everything but the timeline is computed from these. */
		used: number;
		/** Excluded: compared with nothing, so their novelty is the neutral 0.5. */
		uncompared: number;
		/** Excluded: compared, but among the first rows. */
		first: number;
		/** First rows that count as cold start. */
		firstLimit: number;
		/** Groups among the used rows; each row without a group counts as one. */
		groups: number;
		/** Used rows without a group; `labelled`: those with a label. */
		ungrouped: number;
		labelled: number;
	};
	/** The models, precisions and versions that scored the rows: each once, in order of appearance. */
	sources: { modelFingerprints: string[]; precisions: string[]; versions: string[] };
	/** `null` without a target. */
	threshold: CalibrationThreshold | null;
	overall: CalibrationSummary;
	/** The largest first. */
	domains: {
		domain: string;
		/** The domain, or `"default"`. */
		profile: string;
		weights: ScoringWeights;
		summary: CalibrationSummary;
	}[];
	/** All rows in the order of scoring, in blocks: how novelty falls as memory fills. */
	timeline: {
		first: number;
		last: number;
		scoreP10: number;
		scoreP50: number;
		scoreP90: number;
		noveltyP50: number;
	}[];
	/**
	 * The numbers of at most ten rows each; `borderline`: nearest to the threshold, or else to the median.
	 */
	examples: { highest: number[]; lowest: number[]; borderline: number[] };
	/** `null` without labels, or if all are equal. */
	labels: CalibrationLabels | null;
	/** Empty unless `fit` is set. */
	fits: CalibrationFit[];
	/**
	 * Reasons to doubt the figures, with a `code` such as `"few-groups"`, and the number of rows or groups.
	 */
	warnings: { code: string; n: number; message: string }[];
}

/**
 * Describes the scores of rows in scoring order and, depending on the options, chooses a threshold and fits
 * weights to labels. Runs off the event loop and needs no model.
 * @param rows At least one must have been compared with an earlier trace. Rows of the same `group` (task,
 * session) depend on each other: the bootstrap draws whole groups.
 * @throws Rejects with `"INVALID_ROW"`, `"INVALID_OPTION"`, `"NO_ROWS"` if none is left, or `"NO_LABELS"` if
 * a target precision or `fit` needs labels, or if the labels are success that was assumed.
 * @example
 * ```ts
 * import { calibrate } from "@knowledgepulse/scoring/calibrate";
 * import { evaluateLogs } from "@knowledgepulse/scoring/logs";
 * const rows = [];
 * for await (const row of evaluateLogs("traces.jsonl")) rows.push(row);
 * const { threshold } = await calibrate(rows, { target: { share: 0.2 } });
 * ```
 */
export function calibrate(
	rows: Iterable<CalibrationRow>,
	options?: CalibrateOptions,
): Promise<Calibration>;

/**
 * Returns a calibration as one self-contained HTML document, without scripts.
 * @param calibration The result of {@link calibrate} for `rows`.
 * @param options `title`, `language` of the objectives (BCP 47; default: `"en"`), and `settings` to show.
 * @throws Rejects with `"INVALID_OPTION"` or `"INVALID_ROW"`.
 * @example
 * ```ts
 * import { type CalibrationRow, calibrate, calibrationReport } from "@knowledgepulse/scoring/calibrate";
 * const html = async (rows: CalibrationRow[]) => calibrationReport(await calibrate(rows), rows);
 * ```
 */
export function calibrationReport(
	calibration: Calibration,
	rows: Iterable<CalibrationRow>,
	options?: {
		title?: string | undefined;
		language?: string | undefined;
		settings?: Record<string, string> | undefined;
	},
): Promise<string>;
