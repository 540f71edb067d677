import { mapValues } from "./sides.mjs";

/** Tolerance between two float32 implementations. */
export const EXACT_TOLERANCE = 1e-4;

/** Tolerance of the fast precision against the exact one: 0.35 times 0.017 in novelty. */
export const FAST_TOLERANCE = 0.006;

/** The error for two scores of one trace that differ. */
export class Disagreement extends Error {}

/** Returns the tolerance of a side against a float32 implementation. */
export function toleranceOf(side) {
	if (side === "fast") return FAST_TOLERANCE;
	return side === "q8" ? Number.POSITIVE_INFINITY : EXACT_TOLERANCE;
}

/** The sides that are compared with each other. */
const PAIRS = [
	["exact", "typescript"],
	["fast", "exact"],
	["q8", "typescript"],
	["transformers4", "typescript"],
];

/** Compares numbers, and remembers the greatest differences. */
export class Agreement {
	greatest = new Map();

	/**
	 * Compares two numbers for each of these places; `what` names whose, in order.
	 *
	 * @throws Disagreement at the first pair that is too far apart, or missing.
	 */
	check(what, places, values, others, tolerance) {
		let greatest = this.greatest.get(what) ?? 0;
		for (const [index, place] of places.entries()) {
			const value = values[index] ?? Number.NaN;
			const other = others[index] ?? Number.NaN;
			const difference = Math.abs(value - other);
			// Written so that NaN is a disagreement.
			if (!(difference <= tolerance)) {
				throw new Disagreement(`${what}: ${place} has ${value} and ${other}`);
			}
			greatest = Math.max(greatest, difference);
		}
		this.greatest.set(what, greatest);
	}

	/** Compares the scores of the sides with each other. */
	compare(name, ids, scores) {
		for (const [side, other] of PAIRS) {
			const ours = scores.get(side);
			const theirs = scores.get(other);
			if (ours === undefined || theirs === undefined) continue;
			const what = `${name}, ${side} against ${other}`;
			this.check(what, ids, ours, theirs, toleranceOf(side));
		}
	}

	/** {@link compare}, out of what holds scores. */
	compareBatches(name, ids, batches) {
		this.compare(
			name,
			ids,
			mapValues(batches, (batch) => batch.scores),
		);
	}

	/** The greatest difference of each comparison. */
	differences() {
		return Object.fromEntries(this.greatest);
	}
}
