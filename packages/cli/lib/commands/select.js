/** kp-score select */
const { existsSync } = require("node:fs");
const { mkdir, stat } = require("node:fs/promises");
const { dirname, join, relative, resolve, sep } = require("node:path");
const { InputError, cannot } = require("../exit.js");
const { Job } = require("../job.js");
const { openFile, show } = require("../output.js");
const { legendOf, rowTable } = require("../row-table.js");
const { openScorer } = require("../scorer.js");
const { Selection, keptEarlier, scored } = require("../selection.js");
const { open, sourcesOf } = require("../sources.js");
const { Spool } = require("../spool.js");
const { count, grouped, jsonLine, percent, style, tally } = require("../terminal.js");
const { Writer, isMessages, traceOf } = require("../written.js");

function commonFolder(paths) {
	const [first, ...others] = paths.map((path) => dirname(resolve(path)).split(sep));
	const isCommon = (part, at) => others.every((parts) => parts[at] === part);
	const end = first.findIndex((part, at) => !isCommon(part, at));
	return first.slice(0, end < 0 ? first.length : end).join(sep) || sep;
}

/** Copies logs to a folder, each to its path below the folder that has all of them. */
async function copyAll(sources, folder, job) {
	const start = commonFolder(sources.map(({ path }) => path));
	for (const { path } of sources) {
		const target = join(folder, relative(start, resolve(path)));
		await mkdir(dirname(target), { recursive: true }).catch((error) => {
			throw cannot("write", target, error);
		});
		const { mode } = await stat(path);
		const file = await openFile(target, { signal: job.signal, mode: mode & 0o777 });
		for await (const chunk of open(path)) await file.write(chunk);
		await file.commit();
	}
}

async function writePage(file, selection, kept, { rows, dropped, notes }) {
	const { DETAILED, keptPage, stepsOf } = require("../page.js");
	const entries = [];
	for (const [place, each] of kept.entries()) {
		const steps = place < DETAILED ? stepsOf((await selection.itemOf(each)).trace) : {};
		const members = each.members.map(({ index, similarity }) => ({
			row: selection.rows[index],
			similarity,
		}));
		entries.push({ ...each, row: rows[place], members, ...steps });
	}
	if (kept.length > 0 || !file.isThere)
		await file.write(await keptPage({ kept: entries, dropped, notes }));
	return file.commit();
}

function checkOptions({ as, count, coverage, group, labels, output, perGroup, redact }) {
	const need = (given, text) => {
		if (!given) throw new InputError(text);
	};
	need(count ?? coverage, "--count or --coverage is needed: how many runs, or how much of all?");
	need(as !== "messages" || output, "--as messages needs -o: the file of the messages");
	need(redact !== true || output, "--redact needs -o: the file without secrets");
	need(output !== "-", "-o -: standard output has the rows; name a file for the traces");
	need(!perGroup || group || !labels, "--per-group with --labels needs --group: which column?");
	need(!group || perGroup, "--group needs --per-group: how many runs of a group?");
}

module.exports = async function select([args], given) {
	const novelty = process.env.KNOWLEDGEPULSE_SCORING_NOVELTY || "run";
	// A store is for scores.
	const options = { assumeSuccess: "true", novelty, store: "", ...given };
	checkOptions(options);
	const { copy, dropped, html, memory, output: path } = options;
	const job = await Job.open({ ...options, output: undefined }, await sourcesOf(args, copy));
	if (copy && job.sources.some(({ isStream }) => isStream))
		throw new InputError("--copy needs files: a stream is no file");
	const writer = path && (await Writer.open(options));
	// One after the other, so that what is open is closed if one fails.
	const file = path && (await openFile(path, job));
	const page = html && (await openFile(html, { signal: job.signal, hasPart: false }));
	const rest = dropped && (await openFile(dropped, job));
	const spool = path || html || memory ? await Spool.open() : undefined;
	const earlier = await keptEarlier(job);
	// What is only shown may still be judged.
	const isFinal = Boolean(path ?? copy);
	const { scorer, save } = await openScorer(job, {
		saved: isFinal,
		memory: memory && (isFinal || existsSync(memory)) ? memory : null,
	});
	const { reason, state } = scorer.status().embedder;
	if (options.embedder === "off" || state === "unavailable")
		throw new InputError(`without vectors nothing can be selected: ${reason ?? "--embedder off"}`);
	const selection = new Selection(job, { spool, earlier });
	const { remarks, kept } = await selection.choose(scorer);
	if (job.endedEarly(`after ${count(remarks.traces, "trace")}: nothing was selected`))
		return job.exitCode();
	const { output } = job;
	const lineOf = rowTable(output, { facts: options.facts, isKept: true });
	const rows = kept.map((each) => scored(selection.rows[each.index], each));
	for (const row of rows) await show(output, row, lineOf);
	await job.commit();
	for (const each of file ? kept : []) {
		if (job.signal.aborted) break;
		const { report, standsFor, covers } = each;
		const more = { score: report.score, standsFor };
		await file.write(await writer.lineOf({ ...(await selection.itemOf(each)), more, covers }));
	}
	const written = await file?.commit();
	if (job.endedEarly("while it wrote: the memory stays as it was")) return job.exitCode();
	const { stood, others } = selection.dropped(kept);
	for (const { row, ...why } of rest ? [...stood, ...others] : [])
		await rest.write(jsonLine({ ...row, ...why }));
	await rest?.commit(kept.length > 0);
	const names = new Set(rows.map(({ source }) => source.name));
	const logs = job.sources.filter(({ name }) => names.has(name));
	if (copy && logs.length > 0) await copyAll(logs, copy, job);
	for (const each of memory && isFinal ? kept : [])
		await scorer.remember(traceOf(await selection.itemOf(each)));
	await save();
	const covered = percent(kept.at(-1)?.coverage ?? 0);
	const over = kept[0]?.measuredOver ?? Number.POSITIVE_INFINITY;
	const considered = selection.rows.length;
	const sample = over < considered ? ` of a sample of ${count(over, "run")}` : "";
	const all = considered < remarks.traces ? ` of the ${grouped(considered)} considered` : "";
	const sumOf = (all) => all.reduce((sum, { standsFor = 1 }) => sum + standsFor, 0);
	const of = sumOf(selection.rows);
	const weighed =
		of > considered ? `, they stand for ${grouped(sumOf(kept))} of ${grouped(of)}` : "";
	const notes = [
		`${style("bold", count(kept.length, "run"))} of ${count(remarks.traces, "trace")}: coverage ${covered}${sample || all}${weighed}`,
		selection.left.length > 0
			? `not considered: ${tally(selection.left.map(({ reason }) => [reason.replace(/:.*/, ""), 1]))}`
			: "",
		written ? `${isMessages(options) ? "messages" : "traces"}: ${written}` : "",
		writer?.text ?? "",
		copy ? `${count(logs.length, "log")} copied to ${copy}` : "",
		memory &&
			(isFinal
				? `${memory} has them: later sets add what they do not cover`
				: `${memory} was only read: -o, or --copy, adds what is kept`),
	];
	for (const note of notes.filter(Boolean)) job.note(note);
	if (page) {
		const assumed = [notes[1], remarks.assumedText].filter(Boolean);
		const place = await writePage(page, selection, kept, { rows, dropped: others, notes: assumed });
		if (place) job.note(`page: ${place}`);
	}
	remarks.noteAssumed(output.isText && !options.facts ? "? " : "");
	if (output.isText && kept.length > 0)
		job.note(style("dim", legendOf({ ...options, isKept: true })));
	selection.warnOfRare(kept);
	remarks.warnOfDomain();
	remarks.warnOfLosses("not considered");
	return job.exitCode();
};
