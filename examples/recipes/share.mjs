/** Wraps an agent, and contributes the runs worth sharing. */
import { decide, forget } from "@knowledgepulse/scoring";

/** `traceOf` makes a trace of the result and the arguments; `contribute` shares it; `options` are those of decide. */
export function gate(agent, { traceOf, contribute, onError = console.error, ...options }) {
	async function offer(result, args) {
		const trace = await traceOf(result, ...args);
		const { accepted } = await decide(trace, options);
		// The memory must contain only contributed traces.
		if (accepted)
			await contribute(trace).catch((error) => forget(trace.id).then(() => onError(error)));
	}
	return async (...args) => {
		const result = await agent(...args);
		// The caller gets the result at once, without waiting for the trace.
		offer(result, args).catch(onError);
		return result;
	};
}
