/**
 * Scores a run of the OpenAI Agents SDK:
 *
 *     const result = await run(agent, "How is the weather in Rome?");
 *     await scoreRun(result); // a stream: after `await result.completed`
 */
import { evaluateValue } from "@knowledgepulse/scoring";
import { fromMessages } from "@knowledgepulse/scoring/logs";

/** What the SDK's `RunResult` and `StreamedRunResult` have. */
interface Result {
	history: readonly object[];
	finalOutput?: unknown;
}

/** Returns the score of a result. */
export async function scoreRun({ history, finalOutput }: Result): Promise<number> {
	// A run that waits for an approval has no output yet.
	const success = finalOutput !== undefined;
	return evaluateValue(await fromMessages(history, { success }));
}
