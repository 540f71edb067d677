/** Imports and scores the sources of a job. */
const { onAbort } = require("@knowledgepulse/scoring/internal/signals");
const { groupOf } = require("./facts.js");

const inputOf = ({ name, path, data }) => path ?? { name, data };

const ASSUMED = { true: true, false: false, skip: "skip" };

/** The options of an import. With a folder, errors are items, because some of its files may be no logs. */
const importOptions = ({ sources, options: { from, assumeSuccess, domain, errors }, labels }) => ({
	assumeSuccess: ASSUMED[assumeSuccess],
	domain,
	errors: sources.some(({ isFound }) => isFound) ? "collect" : (errors ?? "reject"),
	format: from,
	labels: labels?.success,
});

/** Imports sources until the signal is aborted, with messages if they are asked for; see `importTraces`. */
function importTraces(job) {
	const { importTraces, toMessages } = require("@knowledgepulse/scoring/logs");
	const read = job.options.as === "messages" ? toMessages : importTraces;
	return read(job.sources.map(inputOf), { ...importOptions(job), signal: job.signal });
}

/**
 * Yields `{ trace, provenance, report }` for all traces in order, where `report` is the result of `call`, a
 * method of a scorer; with `errors: "collect"`, `{ error }` without delay, unlike `explainValues`, which takes
 * only traces. After an abort, nothing more is read, and pending results are still yielded.
 */
function callWithAll(call, job) {
	const { inOrder } = require("@knowledgepulse/scoring/internal/batch");
	const imported = importTraces(job);
	// A failure is an item, so that it comes after the results of earlier traces.
	const failed = (error) =>
		job.signal.aborted ? { done: true } : { value: { failure: { error } } };
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

const withGroup = (row, group) =>
	group === undefined && row.source ? { ...row, group: groupOf(row) } : row;

/**
 * Yields the rows of all traces in order, or `{ error }` with `errors: "collect"`; see `evaluateLogs`. Without
 * `--group`, runs are grouped by project. After an abort, nothing more is read, and unscored
 * traces do not enter the memory. `known` is for runs that the memory has.
 */
function evaluate(scorer, job, known) {
	const { sources, options, signal } = job;
	const { group } = options;
	const settings = { ...importOptions(job), group, known };
	const evaluation = scorer.evaluateLogs(sources.map(inputOf), settings);
	onAbort(signal, () => evaluation.return().catch(() => {}));

	// In chunks, so that finished rows are yielded when reading ends.
	async function* rows() {
		for await (const lines of evaluation.lines())
			for (const line of lines.toString().split("\n").slice(0, -1)) {
				yield withGroup(JSON.parse(line), group);
			}
	}
	return Object.defineProperty(rows(), "report", { get: () => evaluation.report });
}

module.exports = { callWithAll, evaluate, importTraces, withGroup };
