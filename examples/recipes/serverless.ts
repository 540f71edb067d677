/**
 * A short-lived function: the model is loaded while the instance starts, and a call that takes too long is
 * scored without novelty instead of failing. To compare traces between instances, add a store
 * (docs/stores.md).
 */
import { Scorer } from "@knowledgepulse/scoring";

const scorer = new Scorer({ budgetMs: 500, threads: 1 });
await scorer.warmup();

export async function handler({ body }: { body: string }) {
	const { score, novelty } = await scorer.explainValue(JSON.parse(body));
	return { statusCode: 200, body: JSON.stringify({ score, novelty: novelty.source }) };
}
