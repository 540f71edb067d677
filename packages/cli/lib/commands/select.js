/** kp-score select */
const { once } = require("node:events");
const { mkdir, stat } = require("node:fs/promises");
const { dirname, join, relative, resolve, sep } = require("node:path");
const { PassThrough } = require("node:stream");
const { importTraces } = require("../engine.js");
const { InputError, cannot } = require("../exit.js");
const { isSelected } = require("../facts.js");
const { Job, sayError } = require("../job.js");
const { openFile, show } = require("../output.js");
const { legendOf, rowTable } = require("../row-table.js");
const { openAlone } = require("../scorer.js");
const { sourcesOf } = require("../sources.js");
const { count, style } = require("../terminal.js");

/** The number of characters of the objective in a row, as in those of `evaluateLogs`. */
const OBJECTIVE = 120;

function rowOf({ trace, provenance }) {
	const { id = null, metadata, outcome, steps, task } = trace;
	const { confidenceFrom, facts, source, successFrom } = provenance;
	return {
		source,
		id,
		domain: metadata.task_domain,
		createdAt: metadata.created_at ?? "",
		success: metadata.success,
		successFrom,
		confidence: outcome.confidence,
		confidenceFrom,
		objective: [...task.objective.slice(0, 2 * OBJECTIVE)].slice(0, OBJECTIVE).join(""),
		steps: steps.length,
		...(facts && { facts }),
	};
}

function scored(row, { score, dimensions, overrides, novelty }) {
	return {
		...row,
		score,
		dimensions,
		overrides: overrides.map(({ name }) => name),
		nearest: novelty.nearest,
		similarity: novelty.maxSimilarity,
		noveltySource: novelty.source,
	};
}

function commonFolder(paths) {
	const [first, ...others] = paths.map((path) => dirname(resolve(path)).split(sep));
	const isCommon = (part, at) => others.every((parts) => parts[at] === part);
	const end = first.findIndex((part, at) => !isCommon(part, at));
	return first.slice(0, end < 0 ? first.length : end).join(sep) || sep;
}

/** Copies logs to a folder, each to its path below the folder that has all of them. */
async function copyAll(sources, folder, job) {
	const start = commonFolder(sources.map(({ path }) => path));
	for (const { path, bytes } of sources) {
		const target = join(folder, relative(start, resolve(path)));
		await mkdir(dirname(target), { recursive: true }).catch((error) => {
			throw cannot("write", target, error);
		});
		const { mode } = await stat(path);
		const file = await openFile(target, { signal: job.signal, mode: mode & 0o777 });
		for await (const chunk of bytes()) await file.write(chunk);
		await file.commit();
	}
}

/** Writes the traces with these numbers, in this order. The sources are read again, because all traces may not fit into memory. */
async function writeTraces(numbers, file, job) {
	const wanted = new Map(numbers.map((number) => [number, undefined]));
	let number = 0;
	for await (const { trace, error } of importTraces(job)) {
		if (error) continue;
		if (wanted.has(number)) wanted.set(number, trace);
		number += 1;
	}
	for (const trace of wanted.values()) await file.write(`${JSON.stringify(trace)}\n`);
	await file.commit();
}

/** Selects among the traces of a job. Resolves to `{ remarks, rows, selected }`; `rows` come with their numbers among all traces. */
async function selectAmong(job, scorer) {
	const { options, signal } = job;
	const { count, threshold } = options;
	const traces = new PassThrough({ objectMode: true });
	const selecting = scorer.select(traces, { count, threshold, signal });
	// Its error is thrown below; it reads no more.
	selecting.catch(() => traces.destroy());
	const rows = [];
	let number = 0;
	const take = async (item) => {
		const row = rowOf(item);
		const isTaken = isSelected(row, options);
		if (isTaken) rows.push({ row, number });
		number += 1;
		if (!isTaken) return;
		if (!traces.destroyed && !traces.write(item.trace))
			await Promise.race([once(traces, "drain"), once(traces, "close")]);
		return !traces.destroyed;
	};
	const settings = { isNeeded: true, isShown: true, onError: sayError };
	const remarks = await job.each(importTraces(job), take, settings);
	traces.end();
	const selected = await selecting.catch((error) => {
		if (error !== signal.reason) throw error;
		return [];
	});
	return { remarks, rows, selected };
}

module.exports = async function select([args], given) {
	const { output: path, ...options } = { assumeSuccess: "true", ...given };
	const job = await Job.open(options, await sourcesOf(args));
	const stream = job.sources.find(({ isStream }) => isStream);
	if (stream && (path || options.copy))
		throw new InputError(`${stream.name} can be read only once: -o and --copy need files`);
	const file = path && (await openFile(path, job));
	const scorer = await openAlone(job);
	const { remarks, rows, selected } = await selectAmong(job, scorer);
	if (job.endedEarly(`after ${count(remarks.traces, "trace")}: nothing was selected`))
		return job.exitCode();
	const { output } = job;
	const lineOf = rowTable(output, { facts: options.facts });
	const chosen = selected.map(({ index, report }) => ({ ...rows[index], report }));
	for (const { row, report } of chosen) await show(output, scored(row, report), lineOf);
	await job.commit();
	const numbers = chosen.map(({ number }) => number);
	if (file) await writeTraces(numbers, file, job);
	const names = new Set(chosen.map(({ row }) => row.source.name));
	const logs = job.sources.filter(({ name }) => names.has(name));
	if (options.copy && logs.length > 0) await copyAll(logs, options.copy, job);
	job.note(`${style("bold", count(chosen.length, "run"))} of ${count(remarks.traces, "trace")}`);
	if (path) job.note(`traces: ${path}`);
	if (options.copy) job.note(`${count(logs.length, "log")} copied to ${options.copy}`);
	remarks.noteAssumed(output.isText && !options.facts ? "? " : "");
	if (output.isText && chosen.length > 0) job.note(style("dim", legendOf(options)));
	remarks.warnOfDomain();
	remarks.warnOfLosses("not considered");
	return job.exitCode();
};
