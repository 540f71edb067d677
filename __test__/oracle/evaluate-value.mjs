/**
 * `evaluateValue` as the TypeScript SDK does it: transformers.js for the embedding, plain loops for the
 * rest. The benchmark compares the addon with it. Input is not validated. Without the model, scoring
 * fails instead of using novelty 0.5, so that no comparison succeeds without the model.
 */

import { embed, importLibrary } from "./embedder.mjs";
import { profilesWith, Scorer, scoreOf, UNKNOWN_NOVELTY } from "./scorer.mjs";

export { importLibrary };

const scorer = new Scorer({ embed });
const profiles = profilesWith();

/** Returns the score of a trace, in [0, 1], after those of all earlier calls. */
export function evaluateValue(trace) {
	return scorer.evaluateValue(trace);
}

/** Loads the model and runs it once, before the first score. */
export async function warmup() {
	await embed("warm up");
}

/** Returns the score of a trace without an embedder. Leaves the cache unchanged. */
export function evaluateWithoutEmbedder(trace) {
	return scoreOf(trace, UNKNOWN_NOVELTY, profiles);
}

/** The live cache behind {@link evaluateValue}. */
export function _getLocalCache() {
	return scorer.cache;
}
