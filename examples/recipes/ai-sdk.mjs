/**
 * Scores a run of the AI SDK when it ends, and a stored conversation of useChat:
 *
 *     streamText({ model, tools, messages, onFinish: scoring(messages, console.log) }); // AI SDK 7: onEnd
 *     await scoreChat(await loadChat(id));
 */
import { evaluateValue } from "@knowledgepulse/scoring";
import { fromMessages } from "@knowledgepulse/scoring/logs";

/** Returns a callback that calls `record` with the score of the run that answers the messages. */
export function scoring(messages, record) {
	return async ({ response, responseMessages, finishReason }) => {
		// `response` has the messages of all steps in AI SDK 5 and 6, and those of the last step in 7.
		const answers = responseMessages ?? response.messages;
		// Only means that the model finished. You may know better whether its answer is right.
		const success = finishReason === "stop";
		const trace = await fromMessages([...messages, ...answers], { success });
		record(await evaluateValue(trace));
	};
}

/** Returns the score of a conversation in UI messages. */
export async function scoreChat(messages) {
	return evaluateValue(await fromMessages(messages, { assumeSuccess: true }));
}
