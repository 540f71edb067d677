/** One memory for each tenant, so that tenants do not affect each other's scores. */
import { type ReasoningTrace, Scorer } from "@knowledgepulse/scoring";

const scorers = new Map<string, Scorer>();

/** Returns the score of a tenant's trace. All scorers share one loaded model; each cache has up to 1.6 MB. */
export function score(tenant: string, trace: ReasoningTrace): Promise<number> {
	let scorer = scorers.get(tenant);
	if (!scorer) {
		scorer = new Scorer();
		scorers.set(tenant, scorer);
	}
	return scorer.evaluateValue(trace);
}
