import type { Side } from "./scorers.js";

/** One measured quantity. */
export interface Row {
	case: string;
	metric: string;
	ours: number;
	typescript: number;
	/** Ours divided by theirs. */
	ratio: number;
	/** Of the values that were summed up: times of traces or processes, rates of batches. */
	quartiles?: Record<Side, [number, number]>;
}

/** A row from the values of both sides. */
export function row(
	name: string,
	metric: string,
	values: Record<Side, number>,
	quartiles?: Record<Side, [number, number]>,
): Row {
	const { ours, typescript } = values;
	const measured = { case: name, metric, ours, typescript };
	const ratio = ours / typescript;
	return quartiles ? { ...measured, ratio, quartiles } : { ...measured, ratio };
}

/** Something for each side. */
export function bySide<T>(value: (side: Side) => T): Record<Side, T> {
	return { ours: value("ours"), typescript: value("typescript") };
}
