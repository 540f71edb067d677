/** Shared by the commands: sources, output, warnings and progress. */
const { until } = require("@knowledgepulse/scoring/internal/signals");
const { claimOutput, isStandardOutput } = require("./claims.js");
const { Exit, InputError, Interrupted } = require("./exit.js");
const { Choice } = require("./facts.js");
const { Labels } = require("./labels.js");
const { Output, openFile, show } = require("./output.js");
const { inOrder } = require("./sources.js");
const { count, hint, percent, say, showProgress, style, tally, warn } = require("./terminal.js");

/** The reasons for skipping a whole run. */
const LOST = `late malformed no_objective no_samples no_steps success_unknown too_large
	unknown_record unsupported_version`.split(/\s+/);

/** The share from which nearly all texts count as cut. */
const MOSTLY = 0.95;

const skippedIn = (inputs) => inputs.flatMap(({ skipped }) => Object.entries(skipped));

/** Shows the counts of whole runs; a log of a sub-agent alone is a file of its own kind. */
function lostOf(inputs) {
	const isOfSubagent = ({ skipped, traces }) => traces === 0 && skipped.sidechain > 0;
	const files = inputs.filter(isOfSubagent);
	const others = inputs.filter((each) => !isOfSubagent(each));
	const lost = tally(skippedIn(others).filter(([reason]) => LOST.includes(reason)));
	const subagents = files.length > 0 ? count(files.length, "sub-agent file") : "";
	const answered = lost.replace(/no_steps (\d+(?:,\d{3})*)/, "$1 without an answer");
	return [subagents, answered].filter(Boolean).join(", ");
}

/**
 * Returns the share of finished runs, if the sizes of the sources are known. The source that is being read has runs as
 * large as those before its place, and each one after it has as many as those before it. `inputs` count runs already when
 * they are read. Bytes would not tell: a long run takes no more time than a short one.
 */
function shareOf(inputs, sources, finished) {
	if (inputs.length === 0) return 0;
	if (sources.some(({ size }) => size === undefined)) return undefined;
	const ended = inputs.slice(0, -1).reduce((sum, { traces }) => sum + traces, 0);
	const { bytes, traces } = inputs.at(-1);
	const { size } = sources[inputs.length - 1];
	const current = bytes < size && bytes > 0 ? (traces * size) / bytes : traces;
	const each = inputs.length > 1 ? ended / (inputs.length - 1) : Math.max(current, 1);
	const expected = ended + current + (sources.length - inputs.length) * each;
	return expected > 0 ? Math.min(finished / expected, 1) : 0;
}

/** Shows the first error of each kind in a source; at the end, how many more there were. */
class Errors {
	#counts = new Map();

	show({ code, message, source }) {
		const kind = `${code} in ${source}`;
		const before = this.#counts.get(kind) ?? 0;
		this.#counts.set(kind, before + 1);
		if (before === 0) say(style("red", message));
	}

	end() {
		for (const [kind, all] of this.#counts)
			if (all > 1) say(style("dim", `${count(all - 1, "more error")}: ${kind}`));
	}
}

/** Counts the traces and errors that were read, and warns of what they have in common. */
class Remarks {
	#options;
	#assumed = 0;
	#embedded = 0;
	#cut = 0;
	#domains = new Map();
	traces = 0;
	errors = 0;
	/** The number of runs that the memory had, scored or not, and the reports on the inputs; known in the end. */
	known = 0;
	inputs = [];

	constructor(options) {
		this.#options = options;
	}

	add(item) {
		const { successFrom } = item.provenance ?? item;
		const domain = item.trace?.metadata.task_domain ?? item.domain;
		this.traces += 1;
		if (successFrom === "assumed") this.#assumed += 1;
		if (typeof item.tokens === "number") this.#embedded += 1;
		if (item.isCut) this.#cut += 1;
		this.#domains.set(domain, (this.#domains.get(domain) ?? 0) + 1);
	}

	/** How many runs were assumed to have succeeded or failed; empty if none. */
	get assumedText() {
		if (this.#assumed === 0) return "";
		const assumed = this.#options.assumeSuccess === "false" ? "failure" : "success";
		return `${assumed} assumed for ${this.#assumed} of ${count(this.traces, "run")}, whose logs do not say it (--assume-success)`;
	}

	noteAssumed(mark = "") {
		if (this.assumedText && !this.#options.quiet) say(`${mark}${this.assumedText}`);
	}

	/** Warns of runs with their own domain, which `--domain` does not change. */
	warnOfDomain() {
		const { domain } = this.#options;
		const others = this.traces - (this.#domains.get(domain) ?? 0);
		if (domain === undefined || others === 0) return;
		const traces = count(others, "reasoning trace");
		warn(`--domain ${domain} does not apply to ${traces} with a domain`);
	}

	/** Warns if texts were cut; with `isOfMost`, only if nearly all were. */
	warnOfTexts(scorer, isOfMost = false) {
		const share = this.#cut / this.#embedded;
		if (this.#cut === 0 || (isOfMost && share < MOSTLY)) return;
		const { maxTokens } = scorer.status().embedder;
		const hint =
			share >= MOSTLY && !this.#options.novelty ? "; --novelty run compares whole runs" : "";
		warn(
			`${this.#cut} of ${count(this.#embedded, "text")} (${percent(share)}) were cut: the model saw the first ${maxTokens} tokens${hint}`,
		);
	}

	/** Warns of domains with default weights that resemble another domain. */
	warnOfNames(profiles) {
		const { scoreWith } = require("@knowledgepulse/scoring");
		const others = { task: { objective: "" }, steps: [], outcome: { confidence: 0 } };
		for (const domain of this.#domains.keys()) {
			const trace = { ...others, metadata: { task_domain: domain, success: true } };
			const { hint } = scoreWith(trace, { maxSimilarity: null }, { profiles });
			if (hint !== null) warn(hint);
		}
	}

	/** Warns of runs that were left out, and as {@link warnOfErrors}. */
	warnOfLosses(what, shown) {
		const { inputs } = this;
		const lost = lostOf(inputs);
		if (lost !== "") warn(`${what}: ${lost}`);
		this.warnOfErrors(shown);
	}

	/** Warns of errors by code; shows the first one if none was `shown`. */
	warnOfErrors(shown = this.errors) {
		const { inputs } = this;
		const known = inputs.flatMap((input) => input.errors);
		const errors = known.filter(({ code }) => code !== "NO_TRACE");
		if (errors.length === 0) return;
		const before = errors.length - known.length;
		const all = inputs.reduce((sum, { errorCount }) => sum + errorCount, before);
		warn(`${count(all, "error")}: ${tally(errors.map(({ code }) => [code, 1]))}`);
		const [{ code, message }] = errors;
		if (shown === 0 && !hint(code)) say(`${style("dim", "the first:")} ${message}`);
	}
}

/** Codes of errors in the contents of a source. */
const OF_CONTENTS =
	"INVALID_JSON INVALID_TRACE INVALID_UTF8 TOO_LARGE UNKNOWN_FORMAT UNKNOWN_RECORDS".split(" ");

/** Whether an error means that an input is not a log. */
function isNoLog({ code, line }, { formats, traces }) {
	// Most records are of another kind, although some look like those of a format.
	if (code === "UNKNOWN_RECORDS") return traces === 0 && (line ?? null) === null;
	return OF_CONTENTS.includes(code) && formats.length === 0;
}

/** What a command line asks for. The first Ctrl-C aborts its signal, which everything awaits; a second one ends the process. */
class Job extends AbortController {
	#errors = 0;
	#found;
	/** Whether runs were left unread, so that nothing is known of some labels. */
	#isPartly = false;
	/** The logs that are read, which of their runs are selected, their labels if there are any, and where the results are written. */
	sources;
	choice;
	labels;
	output;
	#onSignal = (name) => {
		process.off("SIGINT", this.#onSignal).off("SIGTERM", this.#onSignal);
		this.abort(new Interrupted(name));
	};

	constructor(options) {
		super();
		this.options = options;
		process.on("SIGINT", this.#onSignal).on("SIGTERM", this.#onSignal);
	}

	/**
	 * Opens the output, a file by `open`, for sources if given. They are found first, while a signal ends the process.
	 */
	static async open(options, sources = undefined, open = openFile) {
		const job = new Job(options);
		if (sources) await job.read(sources);
		job.labels = await Labels.of(job);
		const { table } = options;
		const output = options.output === "-" ? undefined : options.output;
		const isFile = output !== undefined && !isStandardOutput(output);
		if (!isFile) claimOutput("standard output", 1);
		job.output =
			output === undefined
				? new Output(process.stdout, { ...options, signal: job.signal })
				: await open(output, { signal: job.signal, table }, job);
		return job;
	}

	async read(sources) {
		const { progress, quiet } = this.options;
		let done = 0;
		const stopProgress = showProgress(progress && !quiet, () => ({ done, total: sources.length }));
		const onRead = (count) => {
			done = count;
		};
		this.sources = await inOrder(sources, this.signal, onRead).finally(stopProgress);
		this.choice = new Choice(this.options, this.sources);
		const found = this.sources.filter(({ isFound }) => isFound);
		this.#found = new Set(found.map(({ name }) => name));
	}

	until(promise) {
		return until(this.signal, promise);
	}

	/** Whether an error is passed over: without `--errors` all that is wrong with a file in a folder, else only that it is no log. */
	#isPassedOver(error, items) {
		const { code, source } = error;
		// What was found instead is said at the end.
		if (code === "NO_TRACE") return true;
		if (!this.#found.has(source)) return false;
		if (this.options.errors === undefined) return [...OF_CONTENTS, "UNREADABLE"].includes(code);
		// Not before, because the report is as long as the list of files.
		const input = items.report.inputs.find(({ name }) => name === source);
		return isNoLog(error, input);
	}

	/** Leaves the files of folders that are not logs out of the sources. Returns the inputs of the others. */
	#leaveOut({ inputs }) {
		const isOther = ({ errors: [error], name, ...input }) =>
			error !== undefined && this.#found.has(name) && isNoLog(error, input);
		const others = inputs
			.filter(isOther)
			.map(({ name }) => name)
			.sort();
		const names = new Set(others);
		this.sources = this.sources.filter(({ name }) => !names.has(name));
		if (others.length > 0) {
			const files = count(others.length, "file");
			warn(`skipped ${files} without a log of an agent, such as ${others[0]}`);
		}
		return inputs.filter((input) => !isOther(input));
	}

	note(text) {
		if (!this.options.quiet) say(text);
	}

	/**
	 * Calls `take` with each item of the sources until it returns false, or until the reader of the output has closed
	 * it, unless all are needed (`isNeeded`). Errors that `--errors` asks for are passed to `onError`, or shown beside
	 * tables and with `saysErrors`, or else written as NDJSON. Shows progress if `isShown`.
	 * @throws {InputError} if there are neither traces nor errors.
	 */
	async each(
		items,
		take,
		{ isNeeded, isShown = !this.output.isTerminal, saysErrors, onError } = {},
	) {
		const { options, output, sources } = this;
		const write = ({ code, source, line, path, message }) =>
			show(output, { error: { code, source, line, path, message } });
		const errors = new Errors();
		const tell = onError ?? (saysErrors || output.isText ? (error) => errors.show(error) : write);
		const remarks = new Remarks(options);
		const isWanted = options.progress && !options.quiet && isShown;
		const stopProgress = showProgress(isWanted, () => {
			const { traces } = remarks;
			const { inputs, known = 0 } = items.report;
			return { traces, share: shareOf(inputs, sources, traces + known) };
		});
		try {
			for await (const item of items) {
				const { error } = item;
				if (error && this.#isPassedOver(error, items)) continue;
				if (error && options.errors !== "collect")
					throw Object.assign(new Error(error.message), error);
				this.#isPartly = output.isClosed && !isNeeded;
				if (this.#isPartly) break;
				if (error) {
					remarks.errors += 1;
					await tell(error);
					continue;
				}
				remarks.add(item);
				const { id, key } = item.provenance ? { ...item.provenance, ...item.trace } : item;
				this.labels?.use({ id, key });
				this.#isPartly = (await take(item, stopProgress)) === false;
				if (this.#isPartly) break;
			}
		} catch (error) {
			if (error !== this.signal.reason) throw error;
		} finally {
			stopProgress();
			errors.end();
		}
		this.#errors += remarks.errors;
		const { report } = items;
		remarks.known = report.known ?? 0;
		if (remarks.known > 0) this.#isPartly = true;
		remarks.inputs = this.#leaveOut(report);
		const isAny = remarks.traces > 0 || remarks.errors > 0 || remarks.known > 0;
		if (isAny || output.isClosed || this.signal.aborted) return remarks;
		remarks.warnOfErrors();
		const skipped = lostOf(remarks.inputs) || tally(skippedIn(remarks.inputs));
		throw new InputError(
			`no traces in ${count(sources.length, "source")}${skipped && ` (skipped: ${skipped})`}`,
		);
	}

	/** Completes the output, and reports its file. @throws {InputError} if there are labels, and none is of a run. */
	async commit() {
		if (!this.#isPartly && !this.signal.aborted) this.labels?.check();
		const path = await this.output.commit();
		if (path !== undefined) this.note(`written to ${path}`);
	}

	/** Whether the user has interrupted the job; then says what it has done. */
	endedEarly(done) {
		const { aborted, reason } = this.signal;
		if (aborted) reason.message = `interrupted ${done}`;
		return aborted;
	}

	/** Returns the exit code, or throws after an interrupt. Shows `text` if a limit is not met; errors take precedence. */
	exitCode(isMet = true, text = undefined) {
		this.choice?.warn();
		if (!isMet) say(`${style("red", "gate not met:")} ${text}`);
		this.signal.throwIfAborted();
		if (this.#errors > 0) return Exit.INPUT;
		return isMet ? Exit.OK : Exit.GATE;
	}
}

module.exports = { Job, shareOf };
