/** The engine, as the commands use it. */
const scoring = require("@knowledgepulse/scoring");
const { version } = require("@knowledgepulse/scoring/package.json");

/** Calls in flight at once. */
const IN_FLIGHT = 64;

/** A source as `importTraces` takes it. */
function inputOf({ name, path, bytes }) {
	if (path === undefined) return { name, data: bytes() };
	// A name that begins like JSON would be taken as text.
	return /^\s*[[{]/.test(path) ? `./${path}` : path;
}

/** Calls `stop` when a signal is aborted, or at once if it is already. */
function onAbort(signal, stop) {
	if (signal.aborted) stop();
	else signal.addEventListener("abort", stop, { once: true });
}

/** Imports sources; see `importTraces`. */
const importTraces = (sources, options) => scoring.importTraces(sources.map(inputOf), options);

/**
 * The reports of all traces in order: `{ trace, provenance, report }`, or `{ error }` with
 * `errors: "collect"`. After `stop` is aborted, no more is read, and what is being scored comes out.
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

	async function* explained() {
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
	return Object.defineProperty(explained(), "report", { get: () => imported.report });
}

/** An item as it is in NDJSON. */
function toJson(item) {
	if (!item.error) return item;
	const { code, source, line, path, message } = item.error;
	return { error: { code, source, line, path, message } };
}

/**
 * The rows of all traces in order, or `{ error }` with `errors: "collect"`; see `evaluateJson`. After
 * `stop` is aborted, no more is read, and traces without a score do not enter the memory.
 */
function evaluate(scorer, sources, { stop, ...options }) {
	const evaluation = scorer.evaluateJson(sources.map(inputOf), options);
	onAbort(stop, () => evaluation.return().catch(() => {}));

	// By chunks: what has been scored when reading ends comes out.
	async function* rows() {
		for await (const lines of evaluation.lines())
			for (const line of lines.toString().split("\n")) if (line !== "") yield JSON.parse(line);
	}
	return Object.defineProperty(rows(), "report", { get: () => evaluation.report });
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
