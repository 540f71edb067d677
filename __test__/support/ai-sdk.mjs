/** Mock models of the AI SDK. */
import * as test from "ai/test";

const usage = {
	inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
	outputTokens: { total: 1, text: 1, reasoning: 0 },
};

/** A text of the model. */
export const says = (text) => ({ type: "text", text });

/** A call of a tool. */
export const calls = (toolCallId, toolName, input) => ({
	type: "tool-call",
	toolCallId,
	toolName,
	input: JSON.stringify(input),
});

/** The parts of a stream that amount to some content. */
function* chunks(content, finishReason) {
	yield { type: "stream-start", warnings: [] };
	for (const [id, part] of content.entries())
		if (part.type === "text") {
			yield { type: "text-start", id: `${id}` };
			yield { type: "text-delta", id: `${id}`, delta: part.text };
			yield { type: "text-end", id: `${id}` };
		} else yield part;
	yield { type: "finish", finishReason, usage };
}

/** A model of the class `Mock`, whose answers have these contents, one after another; the next one fails. */
export function mockOf(Mock, ...contents) {
	const next = () => {
		const content = contents.shift();
		if (!content) throw new Error("overloaded");
		const isCall = content.some(({ type }) => type === "tool-call");
		const reason = isCall ? "tool-calls" : "stop";
		return { content, finishReason: { unified: reason, raw: reason } };
	};
	return new Mock({
		doGenerate: async () => ({ ...next(), usage, warnings: [] }),
		doStream: async () => {
			const { content, finishReason } = next();
			const parts = [...chunks(content, finishReason)];
			return { stream: test.simulateReadableStream({ chunks: parts }) };
		},
	});
}

/** As {@link mockOf}, for version 6 of the AI SDK. */
export const modelOf = (...contents) => mockOf(test.MockLanguageModelV3, ...contents);
