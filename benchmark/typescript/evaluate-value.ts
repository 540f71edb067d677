/**
 * The TypeScript way of scoring: transformers.js for the embedding, plain loops for the rest.
 *
 * It is the rival in the benchmark, and what the oracle in oracle.ts scores with. Input is not
 * validated, and a missing model makes scoring fail instead of setting novelty to 0.5, so that a
 * comparison cannot succeed without the model.
 */

import type { ReasoningTrace } from "@knowledgepulse/scoring";
import { embed, importLibrary, useLibrary, useModel } from "./embedder.js";
import { profilesWith, scoreOf, UNKNOWN_NOVELTY } from "./score.js";
import { Scorer } from "./scorer.js";
import { VectorCache } from "./vector-cache.js";

export { importLibrary, useLibrary, useModel, VectorCache };

const scorer = new Scorer({ embed });
const profiles = profilesWith();

/** Scores a trace after all those of earlier calls; the result is in [0, 1]. */
export function evaluateValue(trace: ReasoningTrace): Promise<number> {
	return scorer.evaluateValue(trace);
}

/** Loads the model and lets it work once, so that the first score does not have to. */
export async function warmup(): Promise<void> {
	await embed("warm up");
}

/** The score that a trace has where there is no embedder. The cache is left alone. */
export function evaluateWithoutEmbedder(trace: ReasoningTrace): number {
	return scoreOf(trace, UNKNOWN_NOVELTY, profiles);
}

/** The live cache behind {@link evaluateValue}. */
export function _getLocalCache(): VectorCache {
	return scorer.cache;
}
