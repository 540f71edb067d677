/** kp-score explain */
const { accountOf } = require("../account.js");
const { callWithAll } = require("../engine.js");
const { InputError } = require("../exit.js");
const { show } = require("../output.js");
const { Job, sayError } = require("../job.js");
const { openScorer } = require("../scorer.js");
const { sourcesOf } = require("../sources.js");
const { fit, warn } = require("../terminal.js");

/** The number of traces in the memory of a scorer. */
const REMEMBERED = 1000;

/** Keeps the objectives of the last traces, by id. */
function keep(objectives, { id, task }) {
	if (typeof id !== "string") return;
	objectives.delete(id);
	objectives.set(id, fit(task.objective, 120));
	if (objectives.size > REMEMBERED) objectives.delete(objectives.keys().next().value);
}

/** The requested ids, or prefixes of ids. */
class Wanted {
	constructor(ids) {
		// A table may have shortened them.
		this.missing = new Set(ids.map((id) => id.replace(/…$/, "")));
		/** The requests that later traces may match: a prefix may match several, a whole id only one. */
		this.open = new Set(this.missing);
	}

	/** Whether an id is requested; marks it as found. */
	take(id) {
		if (typeof id !== "string") return false;
		const found = [...this.open].filter((beginning) => id.startsWith(beginning));
		for (const beginning of found) this.missing.delete(beginning);
		this.open.delete(id);
		return found.length > 0;
	}
}

module.exports = async function explain([args], given) {
	const options = { assumeSuccess: "true", ...given };
	const wanted = options.id && new Wanted(options.id);
	const job = await Job.open(options, await sourcesOf(args));
	const { output } = job;
	const { known, scorer } = await openScorer(job);
	const objectives = new Map();
	const hints = new Set();
	const take = async ({ trace, provenance, report }, stopProgress) => {
		if (wanted === undefined || wanted.take(trace.id)) {
			if (report.hint !== null) hints.add(report.hint);
			if (output.isTerminal) stopProgress();
			const { source, successFrom, confidenceFrom } = provenance;
			const { id = null, task } = trace;
			const row = { source, id, objective: task.objective, successFrom, confidenceFrom, report };
			const nearest = objectives.get(report.novelty.nearest);
			await show(output, row, () => accountOf({ trace, provenance, report, nearest }, output));
		}
		keep(objectives, trace);
		return wanted?.open.size !== 0;
	};
	const explained = callWithAll((trace) => scorer.explainValue(trace, { known }), job);
	const remarks = await job.each(explained, take, wanted && { isShown: true, onError: sayError });
	const { traces } = remarks;
	if (!job.endedEarly(`after ${traces} traces`) && wanted?.missing.size > 0)
		throw new InputError(`no trace with the id ${[...wanted.missing].join(", ")} among ${traces}`);
	await job.commit();
	remarks.warnOfLosses("not explained");
	remarks.noteAssumed();
	remarks.warnOfDomain();
	for (const hint of hints) warn(hint);
	return job.exitCode();
};
