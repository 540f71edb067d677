/** Health and metrics of a scorer, for a probe and for OpenTelemetry. */
import { subscribe } from "node:diagnostics_channel";
import type { Scorer } from "@knowledgepulse/scoring";
import { metrics } from "@opentelemetry/api";

/** Why scores have no novelty of their own; `null` if they have. Loads the model, and asks the store again. */
export async function health(scorer: Scorer) {
	try {
		const { embedder, store } = await scorer.warmup();
		return embedder.reason ?? store?.reason ?? null;
	} catch (error) {
		return String(error);
	}
}

/** `failed` and `overBudget` should stay near 0; a growing `pending` means more calls than cores. */
export function observe(scorer: Scorer) {
	const meter = metrics.getMeter("@knowledgepulse/scoring");
	const scores = meter.createHistogram("knowledgepulse.score");
	subscribe("knowledgepulse.scoring.score", (event) => scores.record(Object(event).score));
	meter.createObservableCounter("knowledgepulse.calls").addCallback((calls) => {
		for (const [outcome, count] of Object.entries(scorer.status().calls))
			calls.observe(count, { outcome });
	});
	meter.createObservableGauge("knowledgepulse.pending").addCallback((pending) => {
		pending.observe(scorer.status().pending);
	});
}
