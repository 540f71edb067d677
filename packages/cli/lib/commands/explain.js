/** kp-score explain */
const { accountOf } = require("../account.js");
const { explainAll, toJson } = require("../engine.js");
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

module.exports = async function explain([args], options) {
	const wanted = options.id && new Set(options.id);
	const stop = new run.Stop();
	const imported = run.importOptions(options);
	const sources = await sourcesInOrder(args, imported, stop);
	const output = await Output.open(options.output);
	let session;
	try {
		session = await Session.open(options);
		const isText = isTable(output, options);
		const explained = explainAll(session.scorer, sources, { ...imported, stop: stop.signal });
		const isShown = !output.isTerminal || wanted !== undefined;
		const objectives = new Objectives();
		const hints = await Hints.open(options);
		const take = async (item, progress) => {
			if (output.isClosed) stop.end();
			const { error, trace, provenance, report } = item;
			if (error && (isText || wanted)) return say(style("red", error.message));
			if (error) return output.write(`${JSON.stringify(toJson(item))}\n`);
			if (wanted === undefined || wanted.delete(trace.id)) {
				const { source } = provenance;
				hints.add(trace.metadata.task_domain);
				if (output.isTerminal) progress.stop();
				const nearest = objectives.of(report.novelty.nearest);
				await output.write(
					isText
						? accountOf({ trace, source, report, nearest }, output)
						: `${JSON.stringify({ source, id: trace.id ?? null, objective: trace.task.objective, report })}\n`,
				);
			}
			objectives.add(trace);
			return wanted?.size !== 0;
		};
		const context = { sources, options, stop, isShown };
		const { traces, errors } = await run.each(explained, context, take);
		if (stop.isInterrupted) say(`interrupted after ${traces} traces`);
		else if (wanted?.size > 0)
			throw new InputError(`no trace with the id ${[...wanted].join(", ")} among ${traces}`);
		await run.commit(output, options);
		hints.warn();
		return stop.exitCode({ errors });
	} finally {
		await output.discard();
		await session?.close();
	}
};
