/** Scores many traces concurrently and in order, with bounded memory. */
const { setImmediate } = require("node:timers/promises");
const { check, kinds, oneOf, readOptions } = require("./options.js");
const { ignore, onAbort } = require("./signals.js");

/** Calls in flight at once: enough to keep every core busy, few enough to stop soon. */
const IN_FLIGHT = 64;

const { action, errors, flag, signal } = kinds;
const known = oneOf("score", "again");
const OPTIONS = { errors, known, onProgress: action, remember: flag, signal };

function iteratorOf(traces) {
	const make = traces?.[Symbol.asyncIterator] ?? traces?.[Symbol.iterator];
	const isIterable = typeof make === "function" && typeof traces !== "string";
	check(isIterable, "traces", "an array or an iterable", traces);
	return make.call(traces);
}

/**
 * Returns the results of `call(trace, { known, remember, signal })` for all traces, in order. The first failure ends
 * it and aborts the later calls; with `errors: "collect"`, `{ error }` replaces that result. A pending source
 * delays neither results nor an abort.
 */
exports.inOrder = function inOrder(call, traces, options = {}) {
	const total = Array.isArray(traces) ? traces.length : undefined;
	return results(call, iteratorOf(traces), total, readOptions(options, OPTIONS));
};

async function* results(call, source, total, { errors, known, onProgress, remember, signal }) {
	const stop = new AbortController();
	const options = { known, remember, signal: stop.signal };
	/** Calls in order whose outcomes have not been taken. */
	const inFlight = [];
	/** @type {(value?: any) => void} */
	let wake = ignore;
	let failure;
	let isOpen = true;
	let isAsked = false;
	let requested = 0;
	let done = 0;

	/** Requests a trace from the source, and makes the call. */
	async function ask() {
		isAsked = true;
		try {
			requested += 1;
			// Without an embedder, nothing else would let the event loop run.
			if (requested % IN_FLIGHT === 0) await setImmediate();
			const item = await source.next();
			isAsked = false;
			isOpen = !item.done;
			if (isOpen) begin(item.value);
		} catch (error) {
			isOpen = false;
			failure ??= { error };
		}
		wake();
	}

	function begin(trace) {
		const flight = { outcome: undefined };
		inFlight.push(flight);
		const settle = (outcome) => {
			flight.outcome = outcome;
			wake();
		};
		call(trace, options).then(
			(value) => settle({ value }),
			(error) => settle({ error }),
		);
	}

	const release = onAbort(signal, () => {
		failure ??= { error: signal.reason };
		stop.abort(signal.reason);
		wake();
	});
	try {
		while (failure || isOpen || inFlight.length > 0) {
			if (failure) throw failure.error;
			if (isOpen && !isAsked && inFlight.length < IN_FLIGHT) ask();
			const outcome = inFlight[0]?.outcome;
			if (outcome === undefined) {
				await new Promise((resolve) => {
					wake = resolve;
				});
				continue;
			}
			inFlight.shift();
			const isFailed = "error" in outcome;
			if (isFailed && errors !== "collect") throw outcome.error;
			done += 1;
			onProgress?.({ done, total });
			yield isFailed ? outcome : outcome.value;
		}
	} finally {
		release();
		stop.abort();
		if (isOpen) {
			const ended = Promise.resolve(source.return?.()).catch(ignore);
			// A pending source ends after its next item, which may never come.
			if (!isAsked) await ended;
		}
	}
}
