/** kp-score explain */
const { accountOf } = require("../account.js");
const { callWithAll } = require("../engine.js");
const { InputError } = require("../exit.js");
const run = require("../run.js");
const { fit, say, warn } = require("../terminal.js");

/** The number of traces in the memory of a scorer. */
const REMEMBERED = 1000;

/** Keeps the objectives of the last traces, by id. */
function keep(objectives, { id, task }) {
	if (id === undefined) return;
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
	take(id = "") {
		const found = [...this.open].filter((beginning) => id.startsWith(beginning));
		for (const beginning of found) this.missing.delete(beginning);
		this.open.delete(id);
		return found.length > 0;
	}
}

module.exports = function explain([args], options) {
	const wanted = options.id && new Wanted(options.id);
	return run.overSources(args, options, { saved: false }, async (context) => {
		const { imported, isText, output, session, sources, stop } = context;
		const call = (trace) => session.scorer.explainValue(trace);
		const explained = callWithAll(call, sources, imported);
		const objectives = new Map();
		const remarks = new run.Remarks(options);
		const hints = new Set();
		const take = async ({ trace, provenance, report }, progress) => {
			const { source, successFrom, confidenceFrom } = provenance;
			remarks.add({ domain: trace.metadata.task_domain, successFrom });
			if (wanted === undefined || wanted.take(trace.id)) {
				if (report.hint !== null) hints.add(report.hint);
				if (output.isTerminal) progress.stop();
				const nearest = objectives.get(report.novelty.nearest);
				await output.write(
					isText
						? accountOf({ trace, provenance, report, nearest }, output)
						: `${JSON.stringify({ source, id: trace.id ?? null, objective: trace.task.objective, successFrom, confidenceFrom, report })}\n`,
				);
			}
			keep(objectives, trace);
			return wanted?.open.size !== 0;
		};
		const shown = wanted && { isShown: true, onError: run.sayError };
		const { traces, errors } = await run.each(explained, { ...context, ...shown }, take);
		if (stop.isInterrupted) say(`interrupted after ${traces} traces`);
		else if (wanted?.missing.size > 0)
			throw new InputError(
				`no trace with the id ${[...wanted.missing].join(", ")} among ${traces}`,
			);
		await run.commit(output, options);
		run.warnOfLosses(explained.report, "not explained", errors);
		remarks.noteAssumed(run.notesFor(options));
		remarks.warnOfDomain();
		for (const hint of hints) warn(hint);
		return stop.exitCode({ errors });
	});
};
