/** kp-score explain */
const { InputError } = require("../exit.js");
const { accountOf } = require("../account.js");
const { explainAll, toJson } = require("../engine.js");
const { sourcesInOrder } = require("../order.js");
const { Progress, shareOf } = require("../progress.js");
const run = require("../run.js");
const { Session } = require("../session.js");
const { bytesOf } = require("../sources.js");
const { Stop } = require("../stop.js");
const { fit } = require("../style.js");
const { say, style } = require("../terminal.js");

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
	const stop = new Stop();
	const imported = run.importOptions(options);
	const sources = await sourcesInOrder(args, imported, stop);
	const output = await run.openOutput(options);
	let session;
	try {
		session = await Session.open(options);
		const isText = run.isTable(output, options);
		const accounts = explainAll(session.scorer, sources, { ...imported, stop: stop.signal });
		const bytes = bytesOf(sources);
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
					if (isText || wanted) say(style("red", item.error.message));
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
		} finally {
			progress.stop();
		}
		if (stop.isInterrupted) say(`interrupted after ${scored} traces`);
		else if (wanted?.size > 0)
			throw new InputError(`no trace with the id ${[...wanted].join(", ")} among ${scored}`);
		if (scored === 0 && errors === 0 && !stop.signal.aborted) throw run.noTraces(accounts.report);
		await run.commit(output, options);
		return run.exitCode(stop, { errors });
	} finally {
		await output.discard();
		await session?.close();
	}
};
