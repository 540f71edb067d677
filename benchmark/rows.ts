import { type BySide, mapValues } from "./sides.js";
import { median, quartiles } from "./statistics.js";

/** One measured quantity. */
export interface Row {
	case: string;
	metric: string;
	/** By side, or by vector store; one that was not measured is absent. */
	values: Record<string, number>;
	/** First divided by second, named `first/second`. */
	ratios: Record<string, number>;
	/** Of the values that were summed up: times of traces or processes, rates of batches. */
	quartiles?: Record<string, [number, number]>;
}

/** The row of a case with a metric. */
export function find(rows: readonly Row[], name: string, metric: string): Row | undefined {
	return rows.find((row) => row.case === name && row.metric === metric);
}

/** Who is divided by whom. */
export type Pairs = readonly (readonly [string, string])[];

export const SIDE_PAIRS: Pairs = [
	["exact", "typescript"],
	["fast", "typescript"],
];

export const STORE_PAIRS: Pairs = [
	["ours", "typescript"],
	["ours", "orama"],
	["ours", "usearch"],
];

export const SHARE_PAIRS: Pairs = [["measured", "peak"]];

/** A row of one value for each side. */
export function row(
	name: string,
	metric: string,
	values: ReadonlyMap<string, number>,
	pairs: Pairs = SIDE_PAIRS,
): Row {
	const ratios: Record<string, number> = {};
	for (const [first, second] of pairs) {
		const ratio = (values.get(first) ?? Number.NaN) / (values.get(second) ?? Number.NaN);
		if (!Number.isNaN(ratio)) ratios[`${first}/${second}`] = ratio;
	}
	return { case: name, metric, values: Object.fromEntries(values), ratios };
}

/** A row of medians, with quartiles. A side without any value is left out. */
export function medianRow(
	name: string,
	metric: string,
	values: ReadonlyMap<string, readonly number[]>,
	pairs?: Pairs,
): Row {
	const some = [...values].filter(([, list]) => list.length > 0);
	const medians = new Map(some.map(([who, list]) => [who, median(list)]));
	const spread = some.map(([who, list]) => [who, quartiles(list)]);
	const measured = row(name, metric, medians, pairs);
	return { ...measured, quartiles: Object.fromEntries(spread) };
}

/** Of everything that each side did, the numbers that `values` finds, in one list. */
export function collect<T>(done: BySide<readonly T[]>, values: (item: T) => readonly number[]) {
	return mapValues(done, (items) => items.flatMap(values));
}
