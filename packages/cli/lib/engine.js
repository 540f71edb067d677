/** Imports and scores the sources of commands. */
const { inOrder } = require("@knowledgepulse/scoring/internal/batch");
const { onAbort } = require("@knowledgepulse/scoring/internal/signals");
const logs = require("@knowledgepulse/scoring/logs");
const { projectOf } = require("./places.js");

/** A source as `importTraces` takes it. */
function inputOf({ name, path, bytes }) {
	if (path === undefined) return { name, data: bytes() };
	// A name that begins like JSON would be read as text.
	return /^\s*[[{]/.test(path) ? `./${path}` : path;
}

/** By default errors are allowed in files of a folder, but not in named files. */
const errorsOf = (sources, errors) =>
	errors ?? (sources.some(({ isFound }) => isFound) ? "collect" : "reject");

/** Imports sources until `stop` is aborted; see `importTraces`. */
const importTraces = (sources, { stop, errors, ...others }) => {
	const options = { ...others, signal: stop, errors: errorsOf(sources, errors) };
	return logs.importTraces(sources.map(inputOf), options);
};

/**
 * Yields `{ trace, provenance, report }` for all traces in order, where `report` is the result of `call`, a
 * method of a scorer; with `errors: "collect"`, `{ error }` without delay, unlike `explainValues`, which takes
 * only traces. After `stop` is aborted, nothing more is read, and pending results are still yielded.
 */
function callWithAll(call, sources, options) {
	const imported = importTraces(sources, options);
	// A failure is an item, so that it comes after the results of earlier traces.
	const failed = (error) =>
		options.stop.aborted ? { done: true } : { value: { failure: { error } } };
	const items = {
		[Symbol.asyncIterator]: () => items,
		return: () => imported.return(),
		next: () => imported.next().catch(failed),
	};
	const called = async (item) => {
		if (item.failure) throw item.failure.error;
		return item.error ? item : { ...item, report: await call(item.trace) };
	};
	return Object.defineProperty(inOrder(called, items), "report", { get: () => imported.report });
}

/** A row of `evaluateLogs`; without `--group`, sessions of Claude Code are grouped by project. */
function rowOf(line, group) {
	const row = JSON.parse(line);
	if (group === undefined && row.source) row.group = projectOf(row.source.name);
	return row;
}

/**
 * Yields the rows of all traces in order, or `{ error }` with `errors: "collect"`; see `evaluateLogs`. After
 * `stop` is aborted, nothing more is read, and unscored traces do not enter the memory.
 */
function evaluate(scorer, sources, { stop, errors, ...others }) {
	const options = { ...others, errors: errorsOf(sources, errors) };
	const evaluation = scorer.evaluateLogs(sources.map(inputOf), options);
	onAbort(stop, () => evaluation.return().catch(() => {}));

	// In chunks, so that finished rows are yielded when reading ends.
	async function* rows() {
		for await (const lines of evaluation.lines())
			for (const line of lines.toString().split("\n"))
				if (line !== "") yield rowOf(line, options.group);
	}
	return Object.defineProperty(rows(), "report", { get: () => evaluation.report });
}

module.exports = { callWithAll, evaluate, importTraces };
