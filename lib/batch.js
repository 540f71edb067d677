/** Makes calls for many traces concurrently and in order, with bounded memory. */
const { setImmediate } = require("node:timers/promises");
const { check, kinds, oneOf, readOptions } = require("./options.js");
const { onAbort, untilClosed } = require("./signals.js");
const { Waiter } = require("./waiter.js");

/** Calls in flight at once: enough to keep every core busy, few enough to stop soon. */
const IN_FLIGHT = 64;

const { action, errors, flag, signal, traces } = kinds;
const known = oneOf("score", "again");
const OPTIONS = { errors, known, onProgress: action, remember: flag, signal };

function iteratorOf(list) {
	check(traces.fits(list), "traces", traces.expected, list);
	return (list[Symbol.asyncIterator] ?? list[Symbol.iterator]).call(list);
}

/**
 * Returns the results of `call(trace, { known, remember, signal })` for all traces, in order. The first failure ends
 * it and aborts the later calls; with `errors: "collect"`, `{ error }` replaces that result. A pending source
 * delays neither results nor an abort, also of the signal `closing`.
 */
exports.inOrder = function inOrder(call, traces, options = {}, closing = undefined) {
	const total = Array.isArray(traces) ? traces.length : undefined;
	const waiter = new Waiter();
	const given = { ...readOptions(options, OPTIONS), closing };
	return waiter.iterator(results(waiter, call, iteratorOf(traces), total, given));
};

async function* results(
	waiter,
	call,
	source,
	total,
	{ closing, errors, known, onProgress, remember, signal },
) {
	const options = { known, remember, signal: waiter.signal };
	/** The tasks of calls, in order. */
	const inFlight = [];
	/** The task of requesting the next item. */
	let asking;
	let isOpen = true;
	let requested = 0;
	let done = 0;

	async function next() {
		requested += 1;
		// Without an embedder, nothing else would let the event loop run.
		if (requested % IN_FLIGHT === 0) await setImmediate();
		return source.next();
	}

	async function outcomeOf(trace) {
		try {
			return { value: await call(trace, options) };
		} catch (error) {
			return { error };
		}
	}

	const releases = [signal, closing].map((end) => onAbort(end, () => waiter.fail(end.reason)));
	try {
		for (;;) {
			waiter.throwIfFailed();
			if (asking?.isDone) {
				const item = asking.value;
				asking = undefined;
				isOpen = !item.done;
				if (isOpen) inFlight.push(waiter.start(() => outcomeOf(item.value)));
			}
			if (!isOpen && inFlight.length === 0) return;
			if (isOpen && !asking && inFlight.length < IN_FLIGHT) asking = waiter.start(next);
			if (!inFlight[0]?.isDone) {
				await waiter.wait();
				continue;
			}
			const outcome = inFlight.shift().value;
			const isFailed = "error" in outcome;
			if (isFailed && errors !== "collect") throw outcome.error;
			done += 1;
			onProgress?.({ done, total });
			yield isFailed ? outcome : outcome.value;
		}
	} finally {
		// Ends the calls in flight.
		waiter.fail(undefined);
		if (isOpen && !asking?.hasFailed && !asking?.value?.done) {
			const closed = (async () => source.return?.())();
			// A pending source ends after its next item, which may never come.
			await untilClosed(asking?.isDone === false ? AbortSignal.abort() : signal, closed);
		}
		for (const release of releases) release();
	}
}
