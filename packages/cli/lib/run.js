/** Shared by the commands: sources, output, warnings and progress. */
const { constants } = require("node:os");
const { scoreWith } = require("@knowledgepulse/scoring");
const { Exit, InputError } = require("./exit.js");
const { Output, isTable } = require("./output.js");
const { openSession } = require("./session.js");
const { bytesOf, isInFolder, sourcesInOrder } = require("./sources.js");
const { Progress, count, hint, percent, say, style, tally, warn } = require("./terminal.js");

/** Ends reading. The first Ctrl-C ends the run in order, a second one immediately. */
class Stop extends AbortController {
	#interrupted;
	#onSignal = (name) => {
		this.#interrupted = name;
		process.off("SIGINT", this.#onSignal).off("SIGTERM", this.#onSignal);
		this.abort();
	};

	constructor() {
		super();
		process.on("SIGINT", this.#onSignal).on("SIGTERM", this.#onSignal);
	}

	/** Whether the user has interrupted the run. */
	get isInterrupted() {
		return this.#interrupted !== undefined;
	}

	/** The final exit code; errors take precedence over an unmet limit. */
	exitCode({ errors = 0, gate = true } = {}) {
		if (this.isInterrupted) return Exit.SIGNAL + constants.signals[this.#interrupted];
		if (errors > 0) return Exit.INPUT;
		return gate ? Exit.OK : Exit.GATE;
	}
}

/** The reasons for skipping a whole run. */
const LOST = new Set(
	`late malformed no_objective no_samples no_steps success_unknown too_large unknown_record
	unsupported_version`.split(/\s+/),
);

/** The share from which nearly all texts count as cut. */
const MOSTLY = 0.95;

const ASSUMED = { true: true, false: false, skip: "skip" };

/** The options of an import, see `engine.importTraces`. */
const importOptions = ({ from, assumeSuccess, domain, errors }, stop) => ({
	stop: stop.signal,
	errors,
	domain,
	format: from,
	assumeSuccess: ASSUMED[assumeSuccess],
});

/** A trace of a domain. */
const traceOf = (domain) => ({
	metadata: { task_domain: domain, success: true },
	task: { objective: "" },
	steps: [],
	outcome: { confidence: 0 },
});

/** Collects warnings about scored runs. */
class Remarks {
	#options;
	#runs = 0;
	#assumed = 0;
	#embedded = 0;
	#cut = 0;
	#domains = new Map();

	constructor(options) {
		this.#options = options;
	}

	/** Takes a run: a row, or the same fields. */
	add({ domain, successFrom, isCut = false, tokens = null }) {
		this.#runs += 1;
		if (successFrom === "assumed") this.#assumed += 1;
		if (tokens !== null) this.#embedded += 1;
		if (isCut) this.#cut += 1;
		this.#domains.set(domain, (this.#domains.get(domain) ?? 0) + 1);
	}

	/** Notes the number of runs whose success was assumed. */
	noteAssumed(note) {
		if (this.#assumed === 0) return;
		const assumed = this.#options.assumeSuccess === "false" ? "failure" : "success";
		note(
			`${assumed} assumed for ${this.#assumed} of ${count(this.#runs, "run")}, whose logs do not say it (--assume-success)`,
		);
	}

	/** Warns of runs with their own domain, which `--domain` does not change. */
	warnOfDomain() {
		const { domain } = this.#options;
		const others = this.#runs - (this.#domains.get(domain) ?? 0);
		if (domain !== undefined && others > 0)
			warn(
				`--domain ${domain} does not apply to ${count(others, "reasoning trace")} with a domain`,
			);
	}

	/** Warns if the model saw only the beginning of a share of the texts. */
	warnOfTexts(scorer, from = 0) {
		const share = this.#cut / this.#embedded;
		if (this.#cut === 0 || share < from) return;
		const { maxTokens } = scorer.status().embedder;
		const isRule = share >= MOSTLY && !this.#options.longText;
		const hint = isRule ? "; --long-text whole embeds all of them" : "";
		warn(
			`${this.#cut} of ${count(this.#embedded, "text")} (${percent(share)}) were cut: the model saw the first ${maxTokens} tokens${hint}`,
		);
	}

	/** Warns of domains with default weights that resemble another domain. */
	warnOfNames(profiles) {
		for (const domain of this.#domains.keys()) {
			const { hint } = scoreWith(traceOf(domain), { maxSimilarity: null }, { profiles });
			if (hint !== null) warn(hint);
		}
	}
}

/** Returns a function that writes a note to standard error, unless `--quiet` is set. */
const notesFor =
	({ quiet }) =>
	(text) => {
		if (!quiet) say(text);
	};

/** Returns whether a requested limit is met; shows a message if not. */
function isMet(gate, text) {
	if (!gate) say(`${style("red", "gate not met:")} ${text}`);
	return gate;
}

/** Shows an error of an item. */
const sayError = ({ message }) => say(style("red", message));

/** Writes an error of an item as a line of NDJSON. */
const writeError =
	(output) =>
	({ code, source, line, path, message }) =>
		output.write(`${JSON.stringify({ error: { code, source, line, path, message } })}\n`);

/** Returns the result of `work` for the sources in the arguments, the output, and with `scoring` an open session. */
async function overSources(args, options, scoring, work) {
	const stop = new Stop();
	const imported = importOptions(options, stop);
	const sources = await sourcesInOrder(args, imported);
	const output = await Output.open(options.output);
	const session = scoring && (await openSession(options, scoring));
	const isText = isTable(output, options);
	const onError = isText ? sayError : writeError(output);
	const isShown = !output.isTerminal;
	const opened = { options, stop, imported, sources, output, session };
	return work({ ...opened, isText, onError, isShown });
}

/** Completes the output, and reports its file. */
async function commit(output, options) {
	await output.commit();
	if (options.output !== undefined) notesFor(options)(`written to ${options.output}`);
}

/** Counts skipped parts of the inputs, by reason. */
function skippedOf({ inputs }) {
	const all = {};
	for (const { skipped } of inputs)
		for (const [reason, n] of Object.entries(skipped)) all[reason] = (all[reason] ?? 0) + n;
	return all;
}

/** The counts of whole runs. */
const lostOf = (skipped) =>
	Object.fromEntries(Object.entries(skipped).filter(([reason]) => LOST.has(reason)));

/** Warns of runs that were left out, and of errors by code. */
function warnOfLosses(report, what, errors) {
	const lost = tally(lostOf(skippedOf(report)));
	if (lost !== "") warn(`${what}: ${lost}`);
	const found = report.inputs.flatMap((input) => input.errors);
	if (found.length === 0) return;
	const all = report.inputs.reduce((sum, { errorCount }) => sum + errorCount, 0);
	const codes = {};
	for (const { code } of found) codes[code] = (codes[code] ?? 0) + 1;
	warn(`${count(all, "error")}: ${tally(codes)}`);
	// Errors in files of folders were not shown individually.
	const [{ code, message }] = found;
	if (errors === 0 && !hint(code)) say(`${style("dim", "the first:")} ${message}`);
}

/**
 * Returns the completed share of sources, from their size and the number of finished traces. `report` counts traces
 * already when they are read.
 */
function shareOf({ inputs }, bytes, traces) {
	if (bytes === undefined) return undefined;
	const sum = (name) => inputs.reduce((total, input) => total + input[name], 0);
	const found = sum("traces");
	return found === 0 || bytes === 0 ? 0 : Math.min(1, (sum("bytes") / bytes) * (traces / found));
}

/**
 * Calls `take` with each item of sources until it returns false, or until the reader of the output has closed it,
 * unless all are needed (`isNeeded`). Calls `onError` for errors that `--errors` asks for. Shows progress if `isShown`.
 * Returns the numbers of traces and errors.
 * @throws {InputError} if there are neither.
 */
async function each(
	items,
	{ sources, options, stop, output, isNeeded, isShown = true, onError = sayError },
	take,
) {
	const bytes = bytesOf(sources);
	const isPassedOver = isInFolder(sources);
	const counts = { traces: 0, errors: 0 };
	const progress = new Progress(options.progress && !options.quiet && isShown, (traces) =>
		shareOf(items.report, bytes, traces),
	);
	try {
		for await (const item of items) {
			if (item.error && options.errors === undefined) {
				if (isPassedOver(item.error)) continue;
				throw Object.assign(new Error(item.error.message), item.error);
			}
			if (output?.isClosed && !isNeeded) stop.abort();
			if (item.error) {
				counts.errors += 1;
				await onError(item.error);
				continue;
			}
			counts.traces += 1;
			progress.add();
			if ((await take(item, progress)) === false) break;
		}
	} catch (error) {
		if (error !== stop.signal.reason) throw error;
	} finally {
		progress.stop();
	}
	if (counts.traces > 0 || counts.errors > 0 || stop.signal.aborted) return counts;
	const all = skippedOf(items.report);
	const skipped = tally(lostOf(all)) || tally(all);
	throw new InputError(
		`no traces in ${count(sources.length, "source")}${skipped && ` (skipped: ${skipped})`}`,
	);
}

module.exports = {
	MOSTLY,
	Remarks,
	Stop,
	commit,
	each,
	importOptions,
	isMet,
	notesFor,
	overSources,
	sayError,
	warnOfLosses,
};
