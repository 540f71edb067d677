/** kp-score explain */
const { accountOf } = require("../account.js");
const { callWithAll, toJson } = require("../engine.js");
const { InputError } = require("../exit.js");
const { Hints } = require("../hints.js");
const { Output, isTable } = require("../output.js");
const run = require("../run.js");
const { Session } = require("../session.js");
const { sourcesInOrder } = require("../sources.js");
const { fit, say, style } = require("../terminal.js");

/** As many as the memory of a scorer holds. */
const REMEMBERED = 1000;

/** The objectives of the last traces, by id. */
class Objectives {
	#byId = new Map();

	add({ id, task }) {
		if (id === undefined) return;
		this.#byId.delete(id);
		this.#byId.set(id, fit(task.objective, 120));
		if (this.#byId.size > REMEMBERED) this.#byId.delete(this.#byId.keys().next().value);
	}

	of(id) {
		return this.#byId.get(id);
	}
}

/** Ids that were asked for, whole or as their beginnings. */
class Wanted {
	#missing;
	#beginnings;

	constructor(ids) {
		// A table may have cut them.
		this.#missing = new Set(ids.map((id) => id.replace(/…$/, "")));
		this.#beginnings = [...this.#missing];
	}

	/** Whether an id is wanted, which has then been found. */
	take(id = "") {
		const found = this.#beginnings.filter((beginning) => id.startsWith(beginning));
		for (const beginning of found) this.#missing.delete(beginning);
		// Others may begin like it, unless it is the whole id.
		this.#beginnings = this.#beginnings.filter((beginning) => beginning !== id);
		return found.length > 0;
	}

	get isComplete() {
		return this.#beginnings.length === 0;
	}

	get missing() {
		return [...this.#missing];
	}
}

module.exports = async function explain([args], options) {
	const wanted = options.id && new Wanted(options.id);
	const stop = new run.Stop();
	const imported = run.importOptions(options);
	const sources = await sourcesInOrder(args, imported, stop);
	const output = await Output.open(options.output);
	let session;
	try {
		session = await Session.open(options);
		const isText = isTable(output, options);
		const call = (trace) => session.scorer.explainValue(trace);
		const explained = callWithAll(call, sources, { ...imported, stop: stop.signal });
		const isShown = !output.isTerminal || wanted !== undefined;
		const objectives = new Objectives();
		const hints = await Hints.open(options);
		let assumed = 0;
		let others = 0;
		const take = async (item, progress) => {
			if (output.isClosed) stop.end();
			const { error, trace, provenance, report } = item;
			if (error && (isText || wanted)) return say(style("red", error.message));
			if (error) return output.write(`${JSON.stringify(toJson(item))}\n`);
			const { source, successFrom, confidenceFrom, domainFrom } = provenance;
			if (successFrom === "assumed") assumed += 1;
			if (options.domain !== undefined && domainFrom === "own") others += 1;
			if (wanted === undefined || wanted.take(trace.id)) {
				hints.add(trace.metadata.task_domain);
				if (output.isTerminal) progress.stop();
				const nearest = objectives.of(report.novelty.nearest);
				await output.write(
					isText
						? accountOf({ trace, provenance, report, nearest }, output)
						: `${JSON.stringify({ source, id: trace.id ?? null, objective: trace.task.objective, successFrom, confidenceFrom, report })}\n`,
				);
			}
			objectives.add(trace);
			return !wanted?.isComplete;
		};
		const context = { sources, options, stop, isShown };
		const { traces, errors } = await run.each(explained, context, take);
		if (stop.isInterrupted) say(`interrupted after ${traces} traces`);
		else if (wanted?.missing.length > 0)
			throw new InputError(`no trace with the id ${wanted.missing.join(", ")} among ${traces}`);
		await run.commit(output, options);
		run.warnOfLosses(explained.report, "not explained", errors);
		run.noteAssumed(assumed, traces, options, run.notesFor(options));
		run.warnOfDomain(others, options);
		hints.warn();
		return stop.exitCode({ errors });
	} finally {
		await output.discard();
		await session?.close();
	}
};
