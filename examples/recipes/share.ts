/** Wraps an agent, and contributes the runs worth sharing, without what `clean` removes, if no secret is left. */
import { type DecideOptions, decide, forget } from "@knowledgepulse/scoring";
import type { ImportedTrace } from "@knowledgepulse/scoring/logs";
import { lintSource } from "@secretlint/core";
import { creator as rule } from "@secretlint/secretlint-rule-preset-recommend";

const RULES = [{ id: "@secretlint/secretlint-rule-preset-recommend", rule }];

/** How runs become traces, and where these go. The other options are those of `decide`. */
export interface Sharing<Args extends unknown[], Result> extends DecideOptions {
	/** Makes a trace of a result and the arguments, for example with `fromMessages`. */
	traceOf(result: Result, ...args: Args): ImportedTrace | Promise<ImportedTrace>;
	/** Returns a text without secrets and personal data, for example `cleanPii(text).cleaned` of the SDK. */
	clean(text: string): string;
	/** Shares the trace. */
	contribute(trace: ImportedTrace): Promise<unknown>;
	/** Is called with what goes wrong after the agent has answered. Default: `console.error`. */
	onError?: (error: unknown) => void;
}

/** Returns a trace that everybody may see. */
export function shared(trace: ImportedTrace, clean: (text: string) => string): ImportedTrace {
	const cleaned = <Value>(value: Value): Value =>
		JSON.parse(JSON.stringify(value), (_, part) => (typeof part === "string" ? clean(part) : part));
	return {
		...trace,
		metadata: { ...trace.metadata, visibility: "network", privacy_level: "aggregated" },
		task: cleaned(trace.task),
		// The types of steps are no texts.
		steps: trace.steps.map(({ type, ...step }) => ({ ...cleaned(step), type })),
		outcome: cleaned(trace.outcome),
	};
}

/** Rejects if Secretlint finds a secret in a text of the trace, or fails. */
async function refuseSecrets(trace: ImportedTrace) {
	const texts: string[] = [];
	JSON.stringify(trace, (_, part) => (typeof part === "string" ? texts.push(part) : part));
	const content = texts.join("\n");
	const source = { filePath: trace.id, content, contentType: "text" as const };
	const { messages } = await lintSource({ source, options: { config: { rules: RULES } } });
	const found = new Set(messages.map(({ ruleId }) => ruleId));
	if (found.size > 0) throw new Error(`${trace.id} has secrets: ${[...found].join(", ")}`);
}

export function gate<Args extends unknown[], Result>(
	agent: (...args: Args) => Promise<Result>,
	{ traceOf, clean, contribute, onError = console.error, ...options }: Sharing<Args, Result>,
) {
	async function offer(result: Result, args: Args) {
		const trace = shared(await traceOf(result, ...args), clean);
		await refuseSecrets(trace);
		const { accepted } = await decide(trace, options);
		// The memory must contain only contributed traces.
		if (accepted)
			await contribute(trace).catch((error) => forget(trace.id).then(() => onError(error)));
	}
	return async (...args: Args): Promise<Result> => {
		const result = await agent(...args);
		// The caller gets the result at once, without waiting for the trace.
		offer(result, args).catch(onError);
		return result;
	};
}
