/**
 * Scores a run of the AI SDK when it ends, and a stored conversation of useChat:
 *
 *     streamText({ model, tools, messages, onFinish: scoring(messages, console.log) }); // AI SDK 7: onEnd
 *     await scoreChat(await loadChat(id));
 */
import { evaluateValue } from "@knowledgepulse/scoring";
import { fromMessages } from "@knowledgepulse/scoring/logs";

/** What both callbacks are called with. */
interface Finish {
	finishReason: string;
	/** Has the messages of all steps in AI SDK 5 and 6, and those of the last step in 7. */
	response: { messages: readonly object[] };
	/** The messages of all steps in AI SDK 7. */
	responseMessages?: readonly object[];
}

/** Returns a callback that calls `record` with the score of the run that answers the messages. */
export function scoring(
	messages: readonly object[],
	record: (score: number) => void,
	onError: (error: unknown) => void = console.error,
) {
	return async ({ finishReason, response, responseMessages }: Finish): Promise<void> => {
		try {
			const answers = responseMessages ?? response.messages;
			// Only means that the model finished. You may know better whether its answer is right.
			const success = finishReason === "stop";
			record(await evaluateValue(await fromMessages([...messages, ...answers], { success })));
		} catch (error) {
			// The AI SDK ignores what its callbacks throw.
			onError(error);
		}
	};
}

/** Returns the score of a conversation in UI messages. */
export async function scoreChat(messages: readonly object[]): Promise<number> {
	return evaluateValue(await fromMessages(messages, { assumeSuccess: true }));
}
