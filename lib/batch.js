/** Many traces: in order, side by side, with bounded memory. */

const { setImmediate } = require("node:timers/promises");
const { checkOptions, invalidOption } = require("./options.js");
const { onAbort, until } = require("./signals.js");

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

function ignore() {}

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
	let isReading = false;

	/** Waits for a call and those before it: a trace that is invalid rejects at once. */
	async function settle(call, before) {
		const [{ status, value, reason }] = await Promise.allSettled([call, before]);
		if (stop.signal.aborted) return;
		const failed = status === "rejected";
		if (failed && errors === "reject") return stop.abort(reason);
		results.push(failed ? reason : value);
		try {
			onProgress?.({ done: results.length, total });
		} catch (error) {
			stop.abort(error);
		}
	}

	/** The next item; a source may take as long as it likes. */
	async function next() {
		isReading = true;
		const item = await until(stop.signal, Promise.resolve(source.next()));
		isReading = false;
		return item;
	}

	try {
		if (signal?.aborted) throw signal.reason;
		for (let read = 1; ; read++) {
			const { done, value } = await next();
			if (done) break;
			const call = scorer.evaluateValue(value, { signal: stop.signal });
			inFlight.push(settle(call, inFlight.at(-1)));
			if (inFlight.length >= IN_FLIGHT) await until(stop.signal, inFlight.shift());
			// Without an embedder, nothing else would let timers and sockets have their turn.
			if (read % IN_FLIGHT === 0) await setImmediate();
		}
		await until(stop.signal, Promise.all(inFlight));
		return results;
	} catch (error) {
		stop.abort(error);
		const ended = Promise.resolve(source.return?.()).catch(ignore);
		// A source that is asked for an item ends after that, which may be never.
		if (!isReading) await ended;
		throw error;
	} finally {
		release?.();
	}
};
