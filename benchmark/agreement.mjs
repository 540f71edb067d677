import { mapValues } from "./sides.mjs";

/** How far apart two float32 implementations may be. */
export const EXACT_TOLERANCE = 1e-4;

/** How far a score may be from the exact one in the fast precision: 0.35 times 0.017 in novelty. */
export const FAST_TOLERANCE = 0.006;

/** Two scores of one trace that differ. */
export class Disagreement extends Error {}

/** How far a side may be from what a float32 implementation says. */
export function toleranceOf(side) {
	if (side === "fast") return FAST_TOLERANCE;
	return side === "q8" ? Number.POSITIVE_INFINITY : EXACT_TOLERANCE;
}

/** Who is held against whom. */
const PAIRS = [
	["exact", "typescript"],
	["fast", "exact"],
	["q8", "typescript"],
	["transformers4", "typescript"],
];

/** Holds numbers against each other, and remembers the greatest differences. */
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
