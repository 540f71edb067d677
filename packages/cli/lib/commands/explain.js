/** kp-score explain */
const { InputError } = require("../exit.js");
const { accountOf } = require("../account.js");
const { explainAll, toJson } = require("../engine.js");
const { Progress, shareOf } = require("../progress.js");
const run = require("../run.js");
const { Session } = require("../session.js");
const { bytesOf, sourcesOf } = require("../sources.js");
const { Stop } = require("../stop.js");

/** As many as the memory of a scorer holds. */
const REMEMBERED = 1000;

/** The objectives of the last traces, by id. */
class Objectives {
	#byId = new Map();

	add({ id, task }) {
		if (id === undefined) return;
		this.#byId.delete(id);
		this.#byId.set(id, task.objective.slice(0, 120));
		if (this.#byId.size > REMEMBERED) this.#byId.delete(this.#byId.keys().next().value);
	}

	of(id) {
		return this.#byId.get(id);
	}
}

module.exports = async function explain([args], options) {
	const output = new run.Output();
	const messages = run.notes(options);
	const sources = await sourcesOf(args);
	const wanted = options.id && new Set(options.id);
	const session = await Session.open(options);
	try {
		const stop = new Stop();
		const isText = run.isTable(output, options);
		const accounts = explainAll(session.scorer, sources, {
			...run.importOptions(options),
			stop: stop.signal,
		});
		const bytes = await bytesOf(sources);
		const progress = new Progress(
			options.progress && !options.quiet && (!output.isTerminal || wanted !== undefined),
			(explained) => shareOf(accounts.report, bytes, explained),
		);
		const objectives = new Objectives();
		let errors = 0;
		let scored = 0;
		try {
			for await (const item of accounts) {
				if (item.error) {
					errors += 1;
					if (isText || wanted) messages.say(messages.style("red", item.error.message));
					else await output.write(`${JSON.stringify(toJson(item))}\n`);
					continue;
				}
				const { trace, provenance, report } = item;
				scored += 1;
				progress.add();
				if (wanted === undefined || wanted.delete(trace.id)) {
					const { source } = provenance;
					if (output.isTerminal) progress.stop();
					const nearest = objectives.of(report.novelty.nearest);
					await output.write(
						isText
							? accountOf({ trace, source, report, nearest }, output)
							: `${JSON.stringify({ source, id: trace.id ?? null, objective: trace.task.objective, report })}\n`,
					);
				}
				objectives.add(trace);
				if (wanted?.size === 0 || output.isClosed) stop.end();
				if (wanted?.size === 0) break;
			}
			await output.flush();
		} finally {
			progress.stop();
		}
		if (stop.isInterrupted) messages.say(`interrupted after ${scored} traces`);
		else if (wanted?.size > 0)
			throw new InputError(`no trace with the id ${[...wanted].join(", ")} among ${scored}`);
		if (scored === 0 && errors === 0 && !stop.signal.aborted) throw run.noTraces(accounts.report);
		return run.exitCode(stop, { errors });
	} finally {
		await session.close();
	}
};
