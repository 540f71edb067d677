/** What this package needs of `@knowledgepulse/scoring`. */
const scoring = require("@knowledgepulse/scoring");
const { version } = require("@knowledgepulse/scoring/package.json");
const { inputOf } = require("./sources.js");

/** Calls in flight at once. */
const IN_FLIGHT = 64;

/** Calls `stop` when a signal is aborted, or at once if it is already. */
function onAbort(signal, stop) {
	if (signal.aborted) stop();
	else signal.addEventListener("abort", stop, { once: true });
}

/** See `importTraces` of the engine. */
const importTraces = (sources, options) => scoring.importTraces(sources.map(inputOf), options);

/**
 * The accounts of traces, in order: `{ trace, provenance, report }`, or `{ error }` with
 * `errors: "collect"`. After `stop()` no more is read, and what is being scored comes out.
 */
function explainAll(scorer, sources, { stop, ...options }) {
	const reading = new AbortController();
	const imported = importTraces(sources, { ...options, signal: reading.signal });
	onAbort(stop, () => reading.abort());

	async function next() {
		try {
			return await imported.next();
		} catch (error) {
			if (reading.signal.aborted) return { done: true };
			throw error;
		}
	}

	function settle(item) {
		if (item.error) return Promise.resolve(item);
		return scorer.explainValue(item.trace).then(
			(report) => ({ ...item, report }),
			(error) => ({ thrown: error }),
		);
	}

	async function* accounts() {
		const inFlight = [];
		async function oldest() {
			const outcome = await inFlight.shift();
			if (outcome.thrown) throw outcome.thrown;
			return outcome;
		}
		try {
			for (;;) {
				const read = reading.signal.aborted ? { done: true } : next();
				// A score does not wait for a slow input.
				while (
					inFlight.length > 0 &&
					(await Promise.race([inFlight[0].then(() => true), read])) === true
				)
					yield await oldest();
				const { done, value } = await read;
				if (done) break;
				inFlight.push(settle(value));
				if (inFlight.length >= IN_FLIGHT) yield await oldest();
			}
			while (inFlight.length > 0) yield await oldest();
		} catch (error) {
			while (inFlight.length > 0) yield await oldest();
			throw error;
		} finally {
			await imported.return();
		}
	}
	return Object.defineProperty(accounts(), "report", {
		get: () => imported.report,
	});
}

/** An error as it stands in NDJSON. */
function toJson(item) {
	if (!item.error) return item;
	const { code, source, line, path, message } = item.error;
	return { error: { code, source, line, path, message } };
}

/** The rows of all traces; see `evaluateJson`. `stop` is a signal that ends reading. */
function evaluate(scorer, sources, { stop, ...options }) {
	const evaluation = scorer.evaluateJson(sources.map(inputOf), options);
	// What has no score yet leaves no mark in the memory.
	onAbort(stop, () => evaluation.return().catch(() => {}));
	return evaluation;
}

module.exports = {
	Scorer: scoring.Scorer,
	calibrate: scoring.calibrate,
	calibrationReport: scoring.calibrationReport,
	evaluate,
	explainAll,
	importTraces,
	toJson,
	version,
};
