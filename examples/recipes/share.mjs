/** Wraps an agent, so that runs which are worth sharing are contributed. */
import { decide, forget } from "@knowledgepulse/scoring";

/** `traceOf` makes a trace of the result and the arguments; `contribute` shares it; `options` are those of decide. */
export function gate(agent, { traceOf, contribute, onError = console.error, ...options }) {
	async function offer(result, args) {
		const trace = await traceOf(result, ...args);
		const { accepted } = await decide(trace, options);
		// The memory is to hold what was contributed, and nothing else.
		if (accepted)
			await contribute(trace).catch((error) => forget(trace.id).then(() => onError(error)));
	}
	return async (...args) => {
		const result = await agent(...args);
		// The caller has the result at once, whatever becomes of the trace.
		offer(result, args).catch(onError);
		return result;
	};
}
