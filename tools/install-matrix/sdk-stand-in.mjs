/**
 * Stands in for the SDK, which is published as one bundled file that imports transformers.js when it first
 * scores; sdk.mjs builds it. It scores with the oracle of the tests.
 */
import { Scorer } from "../../__test__/oracle/scorer.mjs";

let loading;

/** Without transformers.js or its model there is no embedding, and novelty is 0.5. */
async function load() {
	try {
		const { pipeline } = await import("@huggingface/transformers");
		return await pipeline("feature-extraction", "Xenova/all-MiniLM-L6-v2");
	} catch {
		return undefined;
	}
}

async function embed(text) {
	loading ??= load();
	const extractor = await loading;
	const output = await extractor?.(text, { pooling: "mean", normalize: true });
	return output?.data;
}

const scorer = new Scorer({ embed });

export const evaluateValue = (trace) => scorer.evaluateValue(trace);

/** Captures a trace with its score. */
export class KPCapture {
	async capture(trace) {
		const quality_score = await evaluateValue(trace);
		return { ...trace, metadata: { ...trace.metadata, quality_score } };
	}
}
