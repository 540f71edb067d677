/**
 * Stands in for the SDK, which is published as one bundled file that imports transformers.js when it first
 * scores; sdk.mjs builds it. It scores with the oracle of the tests.
 */
import { Scorer } from "../../__test__/oracle/scorer.mjs";

let loading;

async function embed(text) {
	const { pipeline } = await import("@huggingface/transformers");
	loading ??= pipeline("feature-extraction", "Xenova/all-MiniLM-L6-v2");
	const extractor = await loading;
	return (await extractor(text, { pooling: "mean", normalize: true })).data;
}

const scorer = new Scorer({ embed });

export const evaluateValue = (trace) => scorer.evaluateValue(trace);
