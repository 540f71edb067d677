/** The engine, as the commands use it. */
const scoring = require("@knowledgepulse/scoring");
const { calibrate, calibrationReport } = require("@knowledgepulse/scoring/calibrate");
const logs = require("@knowledgepulse/scoring/logs");
const { version } = require("@knowledgepulse/scoring/package.json");
const { projectOf } = require("./places.js");

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

/** Unless it is set, a log of a folder may have errors, and one that was named may not. */
const errorsOf = (sources, errors) =>
	errors ?? (sources.some(({ isFound }) => isFound) ? "collect" : "reject");

/** Imports sources; see `importTraces`. */
const importTraces = (sources, { errors, ...options }) =>
	logs.importTraces(sources.map(inputOf), { ...options, errors: errorsOf(sources, errors) });

/**
 * What `call`, a method of a scorer, returns for all traces in order, and errors as they come (`explainValues`
 * takes only traces, so it would hold them back): `{ trace, provenance, report }`, or `{ error }` with
 * `errors: "collect"`. After `stop` is aborted, no more is read, and what is being scored comes out.
 */
function callWithAll(call, sources, { stop, ...options }) {
	const imported = importTraces(sources, { ...options, signal: stop });

	async function next() {
		try {
			return await imported.next();
		} catch (error) {
			if (stop.aborted) return { done: true };
			throw error;
		}
	}

	async function called(item) {
		if (item.error) return item;
		return { ...item, report: await call(item.trace) };
	}

	async function* results() {
		const inFlight = [];
		try {
			for (;;) {
				const read = stop.aborted ? { done: true } : next();
				// A score does not wait for a slow input.
				const isSettled = () =>
					inFlight[0].then(
						() => true,
						() => true,
					);
				while (inFlight.length > 0 && (await Promise.race([isSettled(), read])) === true)
					yield await inFlight.shift();
				const { done, value } = await read;
				if (done) break;
				inFlight.push(called(value));
				// Its turn to be awaited comes later.
				inFlight.at(-1).catch(() => {});
				if (inFlight.length >= IN_FLIGHT) yield await inFlight.shift();
			}
			while (inFlight.length > 0) yield await inFlight.shift();
		} catch (error) {
			while (inFlight.length > 0) yield await inFlight.shift();
			throw error;
		} finally {
			await imported.return();
		}
	}
	return Object.defineProperty(results(), "report", { get: () => imported.report });
}

/** An item as it is in NDJSON. */
function toJson(item) {
	if (!item.error) return item;
	const { code, source, line, path, message } = item.error;
	return { error: { code, source, line, path, message } };
}

/** A row of `evaluateLogs`; without `--group`, sessions of Claude Code are grouped by project. */
function rowOf(line, group) {
	const row = JSON.parse(line);
	if (group === undefined && row.source) row.group = projectOf(row.source.name);
	return row;
}

/**
 * The rows of all traces in order, or `{ error }` with `errors: "collect"`; see `evaluateLogs`. After
 * `stop` is aborted, no more is read, and traces without a score do not enter the memory.
 */
function evaluate(scorer, sources, { stop, errors, ...others }) {
	const options = { ...others, errors: errorsOf(sources, errors) };
	const evaluation = scorer.evaluateLogs(sources.map(inputOf), options);
	onAbort(stop, () => evaluation.return().catch(() => {}));

	// By chunks: what has been scored when reading ends comes out.
	async function* rows() {
		for await (const lines of evaluation.lines())
			for (const line of lines.toString().split("\n"))
				if (line !== "") yield rowOf(line, options.group);
	}
	return Object.defineProperty(rows(), "report", { get: () => evaluation.report });
}

module.exports = {
	Scorer: scoring.Scorer,
	calibrate,
	calibrationReport,
	evaluate,
	callWithAll,
	importTraces,
	toJson,
	version,
};
