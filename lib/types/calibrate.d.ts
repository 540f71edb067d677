import type { ScoreRow } from "./logs.js";
import type { ScoringWeights } from "./report.js";
import type { ScorerOptions } from "./scorer.js";

type ScoredFields = "domain" | "score" | "dimensions" | "noveltySource" | "success" | "confidence";

/** A scored trace for {@link calibrate}: a {@link ScoreRow}, or what is needed of one. */
export interface CalibrationRow
	extends Pick<ScoreRow, ScoredFields>,
		Partial<Omit<ScoreRow, ScoredFields>> {
	/** Whether the trace was worth sharing, by someone's judgement. */
	label?: boolean;
}

/** Options of {@link calibrate}. */
export interface CalibrateOptions {
	/**
	 * What the threshold is chosen for: the share of rows to accept, in (0, 1], or with labels the share of
	 * positive ones among the accepted, in (0, 1), by its lower confidence bound; `threshold`, in [0, 1],
	 * chooses none, and evaluates this one. Default: none is chosen.
	 */
	target?: { share: number } | { precision: number } | { threshold: number } | undefined;
	/** Whether weights are fitted to the labels. Default: `false`. */
	fit?: boolean | undefined;
	/**
	 * How many of the first rows are excluded as cold start. Default: a tenth, at most 10, where the first row
	 * was compared with nothing, else 0. Rows that were compared with nothing are excluded in any case.
	 */
	first?: number | undefined;
	/** The level of confidence of all intervals, in [0.5, 0.999]. Default: 0.95. */
	level?: number | undefined;
	/** How many bootstrap replicates are drawn, from 100 to 10,000. Default: 1,000. */
	replicates?: number | undefined;
	/** The seed of the bootstrap and the folds: the same input gives the same result. Default: 0. */
	seed?: number | undefined;
	/** The profiles that the rows were scored by, as for {@link ScorerOptions}. */
	profiles?: Record<string, ScoringWeights> | undefined;
	/** Ends the calibration, which rejects with the reason of the signal. */
	signal?: AbortSignal | undefined;
}

/** A confidence interval at the level of the options. */
export interface CalibrationInterval {
	low: number;
	high: number;
}

/**
 * A value with its interval, by a bootstrap of groups; `null` where there are fewer than two groups.
 */
export interface CalibrationEstimate {
	value: number;
	interval: CalibrationInterval | null;
}

/** The distribution of values in [0, 1]. */
export interface CalibrationDistribution {
	min: number;
	max: number;
	mean: number;
	/** The percentiles 5, 10, 25, 50, 75, 90 and 95, interpolated linearly. */
	percentiles: { percent: number; value: number }[];
	/** How many values are in each of twenty bins of 0.05; 1 belongs to the last. */
	histogram: number[];
}

/** The scores of the used rows, of all domains or of one. */
export interface CalibrationSummary {
	/** How many used rows. */
	n: number;
	excluded: number;
	/** The share of rows of which the model saw only the beginning. */
	cutShare: number;
	successShare: number;
	/** The share of positive labels; `null` without labels. */
	labelShare: number | null;
	/** The share that each threshold accepts: 0.5, 0.75, 0.8, and the chosen one. */
	accepted: { threshold: number; n: number; share: number }[];
	/** `null` without rows. */
	score: CalibrationDistribution | null;
	dimensions: {
		dimension: keyof ScoringWeights;
		distribution: CalibrationDistribution;
	}[];
	/** The dimensions that are the same in all rows. */
	constantDimensions: (keyof ScoringWeights)[];
	/** The cumulative distribution of the scores, in at most 201 points. */
	ecdf: { score: number; share: number }[];
}

/** The threshold that was chosen or given. It accepts the rows whose score is not below it. */
export interface CalibrationThreshold {
	/** `null` where none reaches the target precision. */
	value: number | null;
	/** Where the threshold for a target share varies between samples. */
	interval: CalibrationInterval | null;
	share: CalibrationEstimate;
	/** How many of the used rows it accepts. */
	accepted: number;
	/** How many accepted rows have the lowest accepted score: they come in only together. */
	tied: number;
	/** With a target share: the next smaller share that a threshold can have. */
	stricterShare: number | null;
	/** With a target share: the next larger share that a threshold can have. */
	looserShare: number | null;
	/** With labels: the share of positive ones among the accepted. */
	precision: {
		threshold: number;
		precision: number;
		interval: CalibrationInterval;
		recall: number;
		accepted: number;
		/** To how many independent rows these are worth. */
		effective: number;
	} | null;
}

/** What a threshold does to labelled rows. */
export interface CalibrationPoint {
	threshold: number;
	/** Youden's J, or F1. */
	value: number;
	precision: number;
	recall: number;
	falsePositiveRate: number;
	share: number;
}

/** What the labels say of the scores. */
export interface CalibrationLabels {
	positives: number;
	negatives: number;
	groups: number;
	/** How alike the labels of a group are, in [0, 1]. */
	intraclassCorrelation: number;
	/** How often a positive row has a higher score than a negative one; a tie counts one half. */
	auc: CalibrationEstimate;
	averagePrecision: CalibrationEstimate;
	/** In at most 201 points, from the strictest threshold; `null` accepts none. */
	roc: {
		threshold: number | null;
		falsePositiveRate: number;
		truePositiveRate: number;
	}[];
	/** The interval of the true-positive rate at false-positive rates. */
	rocBand: ({ at: number } & CalibrationInterval)[];
	/** In at most 201 points, from the strictest threshold; `null` accepts none. */
	precisionRecall: {
		threshold: number | null;
		precision: number;
		recall: number;
	}[];
	/** The interval of the precision at recalls. */
	precisionRecallBand: ({ at: number } & CalibrationInterval)[];
	/** The label rate by decile of the score. A score is no probability. */
	deciles: {
		from: number;
		to: number;
		n: number;
		positives: number;
		rate: number;
		effective: number;
		/** Wilson's. */
		interval: CalibrationInterval;
	}[];
	youden: CalibrationPoint;
	bestF1: CalibrationPoint;
	/** Whether the labels say anything but `success`, which the score contains. */
	leakage: {
		/** The share of rows whose label is `success`. */
		agreement: number;
		agreementByChance: number;
		/** Whether `agreement` is 0.95 or more. */
		isLeak: boolean;
		/** With a leak: the AUC of scores without what contains `success`. */
		aucWithoutOutcome: CalibrationEstimate | null;
	};
}

/**
 * Weights fitted to the labels of the rows that one profile serves. An AUC is that of pairs within five
 * folds, none of which divides a group.
 */
export interface CalibrationFit {
	/** The domain that it is for, or the profile that it replaces where that serves several. */
	profile: string;
	domains: string[];
	n: number;
	positives: number;
	negatives: number;
	groups: number;
	/** Where the fit starts. */
	current: ScoringWeights;
	/** Whether `outcomeConfidence` was left out, because the labels are `success`. */
	withoutOutcome: boolean;
	result:
		| {
				outcome: "better" | "no-better-than-current";
				/** The nearest to the current ones within one standard error of the best. */
				weights: ScoringWeights;
				best: ScoringWeights;
				currentAuc: number;
				/** On the rows that the weights were chosen by: too high, as `bestAuc` is. */
				auc: number;
				bestAuc: number;
				standardError: number;
				/** On folds that the weights were not chosen by: what to expect of new rows. */
				heldOutAuc: CalibrationEstimate;
				/** Of `heldOutAuc` over the current weights. "better": its interval is above 0. */
				improvement: CalibrationEstimate;
				tried: number;
		  }
		| { outcome: "refused"; expected: string; found: string };
	/** The weights to use for the profile; `null` unless they are better. */
	recommended: ScoringWeights | null;
}

/** What {@link calibrate} has found. Shares and rates are in [0, 1], and rows count from 1. */
export interface Calibration {
	/** What was asked. */
	options: Omit<Required<CalibrateOptions>, "target" | "first" | "profiles"> & {
		target: NonNullable<CalibrateOptions["target"]> | null;
		first: number | null;
	};
	rows: {
		total: number;
		/** All but the cold start. */
		used: number;
		/** Excluded: compared with nothing. */
		uncompared: number;
		/** Excluded: among the first rows. */
		first: number;
		firstLimit: number;
		groups: number;
		ungrouped: number;
		labelled: number;
	};
	/** What the rows were scored with. */
	sources: { modelFingerprints: string[]; precisions: string[]; versions: string[] };
	/** `null` without a target. */
	threshold: CalibrationThreshold | null;
	overall: CalibrationSummary;
	/** The largest first. */
	domains: {
		domain: string;
		profile: string;
		weights: ScoringWeights;
		summary: CalibrationSummary;
	}[];
	/** All rows in the order of scoring, in blocks. */
	timeline: {
		first: number;
		last: number;
		scoreP10: number;
		scoreP50: number;
		scoreP90: number;
		noveltyP50: number;
	}[];
	/** The numbers of at most ten rows each. */
	examples: { highest: number[]; lowest: number[]; borderline: number[] };
	/** `null` without labels, or where all are alike. */
	labels: CalibrationLabels | null;
	/** Empty unless `fit` was asked for. */
	fits: CalibrationFit[];
	/** What makes the figures doubtful; `code` is such as `"label-is-success"` or `"few-groups"`. */
	warnings: { code: string; n: number; message: string }[];
}

/**
 * Describes the scores of rows, which are in the order of scoring, chooses a threshold, and fits weights
 * to labels, as far as the options ask for it. Works off the event loop, and needs no model.
 * @param rows At least one that was compared with an earlier trace. Those of the same `group` (task,
 * session) depend on each other: intervals come from a bootstrap that draws whole groups.
 * @throws Rejects with `"INVALID_ROW"`, `"INVALID_OPTION"`, `"NO_ROWS"` where none is left, or `"NO_LABELS"`
 * where a target precision or `fit` needs some.
 * @example
 * ```ts
 * import { calibrate } from "@knowledgepulse/scoring/calibrate";
 * import { evaluateLogs } from "@knowledgepulse/scoring/logs";
 * const rows = [];
 * for await (const row of evaluateLogs("traces.jsonl")) rows.push(row);
 * const { threshold } = await calibrate(rows, { target: { share: 0.2 } });
 * console.log(threshold?.value, threshold?.share);
 * ```
 */
export function calibrate(
	rows: Iterable<CalibrationRow>,
	options?: CalibrateOptions,
): Promise<Calibration>;

/**
 * Returns a calibration as one HTML document, which needs no network, no script and no other file.
 * @param calibration What {@link calibrate} has found in `rows`.
 * @param options `title`, `language` of the objectives (BCP 47; default: `"en"`), and `settings` to show.
 * @throws Rejects with `"INVALID_OPTION"` or `"INVALID_ROW"`.
 * @example
 * ```ts
 * import { writeFile } from "node:fs/promises";
 * import { type CalibrationRow, calibrate, calibrationReport } from "@knowledgepulse/scoring/calibrate";
 * const write = async (rows: CalibrationRow[]) =>
 *   writeFile("report.html", await calibrationReport(await calibrate(rows), rows));
 * ```
 */
export function calibrationReport(
	calibration: Calibration,
	rows: Iterable<CalibrationRow>,
	options?: {
		title?: string;
		language?: string;
		settings?: Record<string, string>;
	},
): Promise<string>;
