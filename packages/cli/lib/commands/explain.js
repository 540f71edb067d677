/** kp-score explain */
const { accountOf, explained } = require("../account.js");
const { callWithAll } = require("../engine.js");
const { InputError } = require("../exit.js");
const { show } = require("../output.js");
const { PREFIX } = require("../row-table.js");
const { Job } = require("../job.js");
const { eachRow, placed } = require("../rows.js");
const { openScorer, profilesOf } = require("../scorer.js");
const { sourcesOf } = require("../sources.js");
const { count, fit, warn } = require("../terminal.js");

/** The number of traces in the memory of a scorer. */
const REMEMBERED = 1000;

class Accounts {
	/** Those of the last traces, by id. */
	#objectives = new Map();
	#output;
	/** The ids, or prefixes of ids, that were not found; undefined for all runs. */
	#missing;
	/** Those that later traces may match: a prefix may match several, a whole id only one. */
	#open;

	constructor({ options, output }) {
		this.#output = output;
		// A table may have shortened them.
		this.#missing = options.id && new Set(options.id.map((id) => id.replace(/…$/, "")));
		this.#open = new Set(this.#missing);
	}

	/** Whether a run is wanted; marks it as found. */
	#take(id) {
		if (!this.#missing || typeof id !== "string") return !this.#missing;
		const found = [...this.#open].filter(
			(beginning) => id.startsWith(beginning) || id.startsWith(PREFIX + beginning),
		);
		for (const beginning of found) this.#missing.delete(beginning);
		this.#open.delete(id);
		return found.length > 0;
	}

	/** Shows a run, if it is wanted, as `row` or as the account of `made()`. Returns whether it is. */
	async show({ id, objective }, row, made) {
		const isWanted = this.#take(id);
		if (isWanted)
			await show(this.#output, row, () => {
				const account = made();
				const nearest = this.#objectives.get(account.report.novelty.nearest);
				return accountOf({ ...account, nearest }, this.#output);
			});
		if (typeof id === "string") this.#keep(id, objective);
		return isWanted;
	}

	#keep(id, objective) {
		const objectives = this.#objectives;
		objectives.delete(id);
		objectives.set(id, fit(objective ?? "", 120));
		if (objectives.size > REMEMBERED) objectives.delete(objectives.keys().next().value);
	}

	get isComplete() {
		return this.#missing !== undefined && this.#open.size === 0;
	}

	/** Fails if runs are missing `among` those that were read. */
	check(among) {
		const missing = [...(this.#missing ?? [])];
		if (missing.length > 0)
			throw new InputError(`no trace with the id ${missing.join(", ")} among ${among}`);
	}
}

async function explainLogs(logs, job, accounts) {
	const { options, output } = job;
	await job.read(logs);
	const { known, scorer } = await openScorer(job);
	const hints = new Set();
	const take = async ({ trace, provenance, report }, stopProgress) => {
		const { source, successFrom, confidenceFrom } = provenance;
		const { id = null, task } = trace;
		const { objective } = task;
		const row = { source, id, objective, successFrom, confidenceFrom, report };
		const isShown = await accounts.show({ id, objective }, row, () => {
			if (output.isTerminal) stopProgress();
			return { trace, provenance, report };
		});
		if (isShown && report.hint !== null) hints.add(report.hint);
		return !accounts.isComplete;
	};
	const explaining = callWithAll((trace) => scorer.explainValue(trace, { known }), job);
	const shown = options.id && { isShown: true, saysErrors: true };
	const remarks = await job.each(explaining, take, shown);
	const { traces } = remarks;
	if (!job.endedEarly(`after ${traces} traces`)) accounts.check(traces);
	await job.commit();
	remarks.warnOfLosses("not explained");
	remarks.noteAssumed();
	if (output.isText)
		job.note(
			`compared with the earlier runs in ${count(job.sources.length, "source")}: among others, novelty differs`,
		);
	remarks.warnOfDomain();
	for (const hint of hints) warn(hint);
	return job.exitCode();
}

module.exports = async function explain([args], given) {
	const sources = await sourcesOf(args);
	const job = await Job.open({ assumeSuccess: "true", ...given });
	const accounts = new Accounts(job);
	const profiles = await profilesOf(job);
	let rows = 0;
	const take = (row, place) => {
		rows += 1;
		return accounts.show(row, row, () => placed(place, () => explained(row, profiles)));
	};
	const code = await eachRow(sources, job, take, (logs) => explainLogs(logs, job, accounts));
	if (code !== undefined) return code;
	if (job.labels) warn("--labels is for logs: rows have their scores");
	if (!job.endedEarly(`after ${count(rows, "row")}`)) accounts.check(count(rows, "row"));
	await job.commit();
	return job.exitCode();
};
