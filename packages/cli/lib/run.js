/** Shared by the commands: sources, output, warnings and progress. */
const { constants } = require("node:os");
const { scoreWith } = require("@knowledgepulse/scoring");
const { Exit, InputError } = require("./exit.js");
const { Output } = require("./output.js");
const { inOrder, isInFolder, sourcesOf } = require("./sources.js");
const { count, hint, percent, say, showProgress, style, tally, warn } = require("./terminal.js");

/** The reasons for skipping a whole run. */
const LOST = `late malformed no_objective no_samples no_steps success_unknown too_large
	unknown_record unsupported_version`.split(/\s+/);

/** The share from which nearly all texts count as cut. */
const MOSTLY = 0.95;

/** The counts of skipped parts of the inputs, by reason. */
const skippedIn = ({ inputs }) => inputs.flatMap(({ skipped }) => Object.entries(skipped));

/** Shows the counts of whole runs. */
const lostOf = (skipped) => tally(skipped.filter(([reason]) => LOST.includes(reason)));

/**
 * Returns the completed share of sources, from their size in bytes, if known, and the number of finished traces.
 * `inputs` count traces already when they are read.
 */
function shareOf(inputs, size, traces) {
	if (Number.isNaN(size)) return undefined;
	const sum = (name) => inputs.reduce((total, input) => total + input[name], 0);
	const found = sum("traces");
	return found === 0 || size === 0 ? 0 : Math.min(1, (sum("bytes") / size) * (traces / found));
}

/** Shows an error of an item. */
const sayError = ({ message }) => say(style("red", message));

/** Counts the traces and errors that were read, and warns of what they have in common. */
class Remarks {
	#options;
	#items;
	#assumed = 0;
	#embedded = 0;
	#cut = 0;
	#domains = new Map();
	traces = 0;
	errors = 0;

	constructor(options, items) {
		this.#options = options;
		this.#items = items;
	}

	/** Takes a row, or an item of an import. */
	add(item) {
		const { successFrom } = item.provenance ?? item;
		const domain = item.trace?.metadata.task_domain ?? item.domain;
		this.traces += 1;
		if (successFrom === "assumed") this.#assumed += 1;
		if (typeof item.tokens === "number") this.#embedded += 1;
		if (item.isCut) this.#cut += 1;
		this.#domains.set(domain, (this.#domains.get(domain) ?? 0) + 1);
	}

	/** Notes the number of runs whose success was assumed. */
	noteAssumed() {
		const { assumeSuccess, quiet } = this.#options;
		if (this.#assumed === 0 || quiet) return;
		const assumed = assumeSuccess === "false" ? "failure" : "success";
		say(
			`${assumed} assumed for ${this.#assumed} of ${count(this.traces, "run")}, whose logs do not say it (--assume-success)`,
		);
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
		const isRule = share >= MOSTLY && !this.#options.longText;
		const hint = isRule ? "; --long-text whole embeds all of them" : "";
		warn(
			`${this.#cut} of ${count(this.#embedded, "text")} (${percent(share)}) were cut: the model saw the first ${maxTokens} tokens${hint}`,
		);
	}

	/** Warns of domains with default weights that resemble another domain. */
	warnOfNames(profiles) {
		const others = { task: { objective: "" }, steps: [], outcome: { confidence: 0 } };
		for (const domain of this.#domains.keys()) {
			const trace = { ...others, metadata: { task_domain: domain, success: true } };
			const { hint } = scoreWith(trace, { maxSimilarity: null }, { profiles });
			if (hint !== null) warn(hint);
		}
	}

	/** Warns of runs that were left out, and of errors by code; shows the first one if none was shown. */
	warnOfLosses(what, shown = this.errors) {
		const { report } = this.#items;
		const lost = lostOf(skippedIn(report));
		if (lost !== "") warn(`${what}: ${lost}`);
		const errors = report.inputs.flatMap((input) => input.errors);
		if (errors.length === 0) return;
		const all = report.inputs.reduce((sum, { errorCount }) => sum + errorCount, 0);
		warn(`${count(all, "error")}: ${tally(errors.map(({ code }) => [code, 1]))}`);
		const [{ code, message }] = errors;
		if (shown === 0 && !hint(code)) say(`${style("dim", "the first:")} ${message}`);
	}
}

/** A run of a command. The first Ctrl-C aborts it, which ends reading; a second one ends the process. */
class Run extends AbortController {
	#errors = 0;
	/** The logs that are read, and where the results are written. */
	sources;
	output;
	/** The signal by which the user has interrupted the run. */
	interrupted;
	#onSignal = (name) => {
		this.interrupted = name;
		process.off("SIGINT", this.#onSignal).off("SIGTERM", this.#onSignal);
		this.abort();
	};

	constructor(options) {
		super();
		this.options = options;
		process.on("SIGINT", this.#onSignal).on("SIGTERM", this.#onSignal);
	}

	/** Opens the output, and before it the sources in `args`, if given. */
	static async open(options, args = undefined) {
		const run = new Run(options);
		run.sources = args && (await inOrder(await sourcesOf(args), run));
		run.output = await Output.open(options);
		return run;
	}

	/** Writes a note to standard error, unless `--quiet` is set. */
	note(text) {
		if (!this.options.quiet) say(text);
	}

	/**
	 * Calls `take` with each item of the sources until it returns false, or until the reader of the output has closed
	 * it, unless all are needed (`isNeeded`). Errors that `--errors` asks for are passed to `onError`, or by default
	 * shown beside tables, or written as NDJSON. Shows progress if `isShown`.
	 * @throws {InputError} if there are neither traces nor errors.
	 */
	async each(items, take, { isNeeded, isShown = !this.output.isTerminal, onError } = {}) {
		const { options, output, sources } = this;
		const write = ({ code, source, line, path, message }) =>
			output.write(`${JSON.stringify({ error: { code, source, line, path, message } })}\n`);
		const show = onError ?? (output.isText ? sayError : write);
		const size = sources.reduce((total, source) => total + (source.size ?? Number.NaN), 0);
		const isPassedOver = isInFolder(sources);
		const remarks = new Remarks(options, items);
		const isWanted = options.progress && !options.quiet && isShown;
		const stopProgress = showProgress(isWanted, () => {
			const { traces } = remarks;
			return { traces, share: shareOf(items.report.inputs, size, traces) };
		});
		try {
			for await (const item of items) {
				const { error } = item;
				if (error && options.errors === undefined) {
					if (isPassedOver(error)) continue;
					throw Object.assign(new Error(error.message), error);
				}
				if (output.isClosed && !isNeeded) this.abort();
				if (error) {
					remarks.errors += 1;
					await show(error);
					continue;
				}
				remarks.add(item);
				if ((await take(item, stopProgress)) === false) break;
			}
		} catch (error) {
			if (error !== this.signal.reason) throw error;
		} finally {
			stopProgress();
		}
		this.#errors += remarks.errors;
		if (remarks.traces > 0 || remarks.errors > 0 || this.signal.aborted) return remarks;
		const all = skippedIn(items.report);
		const skipped = lostOf(all) || tally(all);
		throw new InputError(
			`no traces in ${count(sources.length, "source")}${skipped && ` (skipped: ${skipped})`}`,
		);
	}

	/** Completes the output, and reports its file. */
	async commit() {
		await this.output.commit();
		const { output } = this.options;
		if (output !== undefined) this.note(`written to ${output}`);
	}

	/** Returns the exit code. If a limit is not met, shows `text`; errors take precedence over it. */
	exitCode(isMet = true, text = undefined) {
		if (!isMet) say(`${style("red", "gate not met:")} ${text}`);
		if (this.interrupted) return Exit.SIGNAL + constants.signals[this.interrupted];
		if (this.#errors > 0) return Exit.INPUT;
		return isMet ? Exit.OK : Exit.GATE;
	}
}

module.exports = { Run, sayError };
