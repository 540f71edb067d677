/** Many traces: in order, side by side, with bounded memory. */

const { checkOptions, invalidOption } = require("./options.js");
const { onAbort } = require("./signals.js");

/** Calls in flight at once: enough to keep every core busy, few enough to stop soon. */
const IN_FLIGHT = 64;

const OPTIONS = ["errors", "onProgress", "signal"];

function read(options = {}) {
	if (options === null || typeof options !== "object")
		throw invalidOption("options", "an object", String(options));
	checkOptions(options, OPTIONS);
	const { errors = "reject", onProgress, signal } = options;
	if (errors !== "reject" && errors !== "collect")
		throw invalidOption("errors", '"reject" or "collect"', String(errors));
	if (onProgress !== undefined && typeof onProgress !== "function")
		throw invalidOption("onProgress", "a function", String(onProgress));
	return { errors, onProgress, signal };
}

function iterator(traces) {
	const make = traces?.[Symbol.asyncIterator] ?? traces?.[Symbol.iterator];
	if (typeof make !== "function" || typeof traces === "string")
		throw invalidOption(
			"traces",
			"an array or an iterable",
			traces === null ? "null" : typeof traces,
		);
	return make.call(traces);
}

/**
 * The scores of all traces, in order. The first failure ends it: what is in flight after that trace
 * is aborted, as if it had not been called. With `errors: "collect"` a failure takes the place of
 * the score instead.
 */
exports.evaluateAll = async function evaluateAll(scorer, traces, options) {
	const { errors, onProgress, signal } = read(options);
	const source = iterator(traces);
	const total = Array.isArray(traces) ? traces.length : undefined;
	const stop = new AbortController();
	const release = signal && onAbort(signal, () => stop.abort(signal.reason));
	const results = [];
	const inFlight = [];
	let done = 0;

	/** Waits for the oldest call; what follows it cannot be settled before. */
	async function settleOne() {
		const outcome = await inFlight.shift();
		if (signal?.aborted) throw signal.reason;
		if ("error" in outcome && errors === "reject") throw outcome.error;
		results.push("error" in outcome ? outcome.error : outcome.score);
		done += 1;
		onProgress?.({ done, total });
	}

	try {
		if (signal?.aborted) throw signal.reason;
		for (;;) {
			const { done: over, value } = await source.next();
			if (over) break;
			if (signal?.aborted) throw signal.reason;
			inFlight.push(
				scorer.evaluateValue(value, { signal: stop.signal }).then(
					(score) => ({ score }),
					(error) => ({ error }),
				),
			);
			if (inFlight.length >= IN_FLIGHT) await settleOne();
		}
		while (inFlight.length > 0) await settleOne();
		return results;
	} catch (error) {
		stop.abort();
		await source.return?.();
		throw error;
	} finally {
		release?.();
	}
};
