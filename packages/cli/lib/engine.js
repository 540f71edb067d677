/** The engine, as the commands use it. */
const scoring = require("@knowledgepulse/scoring");
const { version } = require("@knowledgepulse/scoring/package.json");

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
	const imported = importTraces(sources, { ...options, signal: stop });

	async function* explained() {
		/** What was imported and has not come out, in order. */
		const items = [];
		let failure;
		// An error that ends the import comes after the reports of the traces before it.
		async function* traces() {
			try {
				for await (const item of imported) {
					items.push(item);
					if (!item.error) yield item.trace;
				}
			} catch (error) {
				if (!stop.aborted) failure = error;
			}
		}
		for await (const report of scorer.explainValues(traces())) {
			while (items[0].error) yield items.shift();
			yield { ...items.shift(), report };
		}
		yield* items;
		if (failure) throw failure;
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
 * The rows of all traces in order, or `{ error }` with `errors: "collect"`; see `evaluateLogs`. After
 * `stop` is aborted, no more is read, and traces without a score do not enter the memory.
 */
function evaluate(scorer, sources, { stop, ...options }) {
	const evaluation = scorer.evaluateLogs(sources.map(inputOf), options);
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
