// A CommonJS module gets its types by the "require" condition of the package.

import scoring = require("@knowledgepulse/scoring");

async function main(trace: scoring.ReasoningTrace): Promise<void> {
	const score: number = await scoring.evaluateValue(trace);
	const status: scoring.ScoringStatus = await scoring.warmup();
	const precision: "exact" | "fast" = status.embedder.precision;
	scoring.configure({ precision });
	const cache: scoring.VectorCache = scoring._getLocalCache();
	cache.add(new Float32Array([score]));
	// @ts-expect-error nothing of this name
	scoring.close();
}

export = main;
