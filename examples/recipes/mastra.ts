/**
 * A scorer of Mastra, for `scorers` of an agent and for `runEvals`:
 *
 *     new Agent({ …, scorers: { value: { scorer: value, sampling: { type: "ratio", rate: 1 } } } });
 */
import { evaluateValue } from "@knowledgepulse/scoring";
import { fromMessages } from "@knowledgepulse/scoring/logs";
import { createScorer } from "@mastra/core/evals";

export const value = createScorer({
	id: "value",
	description: "How much a run adds to what is known",
	type: "agent",
}).generateScore(async ({ run: { input, output } }) => {
	const messages = [...(input?.inputMessages ?? []), ...output];
	return evaluateValue(await fromMessages(messages, { assumeSuccess: true }));
});
