/** How far apart two scores of one trace may be. */
const TOLERANCE = 1e-4;

/** Two scores of one trace that differ. */
export class Disagreement extends Error {}

/** Holds scores against each other, and remembers the greatest differences. */
export class Agreement {
	private readonly greatest = new Map<string, number>();

	/**
	 * Compares two scores of each of the traces with these ids; `what` names whose, in order.
	 *
	 * @throws Disagreement at the first pair that is too far apart, or missing.
	 */
	check(
		what: string,
		ids: readonly string[],
		scores: readonly (number | undefined)[],
		others: readonly (number | undefined)[],
		tolerance = TOLERANCE,
	): void {
		let greatest = this.greatest.get(what) ?? 0;
		for (const [index, id] of ids.entries()) {
			const score = scores[index] ?? Number.NaN;
			const other = others[index] ?? Number.NaN;
			const difference = Math.abs(score - other);
			// Written so that NaN is a disagreement.
			if (!(difference <= tolerance)) {
				throw new Disagreement(`${what}: ${id} scores ${score} and ${other}`);
			}
			greatest = Math.max(greatest, difference);
		}
		this.greatest.set(what, greatest);
	}

	/** The greatest difference of each comparison. */
	differences(): Record<string, number> {
		return Object.fromEntries(this.greatest);
	}
}
