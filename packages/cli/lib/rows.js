/** The rows of sources: as they are, or from scoring the logs. */
const { evaluate } = require("./engine.js");
const { InputError } = require("./exit.js");
const { contentOf } = require("./lines.js");
const { inOrder } = require("./order.js");
const { Progress, shareOf } = require("./progress.js");
const run = require("./run.js");
const { Session } = require("./session.js");
const { bytesOf, sourcesOf } = require("./sources.js");
const { say, style } = require("./terminal.js");

/** Scores what is in logs, as `kp-score score` does. */
async function scoreAll(logs, { options, stop, take }) {
	const imported = run.importOptions(options);
	const sources = await inOrder(logs, imported, stop);
	const bytes = bytesOf(sources);
	const session = await Session.open(options);
	let progress;
	try {
		const evaluation = evaluate(session.scorer, sources, {
			...imported,
			...(options.group !== undefined && { group: options.group }),
			stop: stop.signal,
		});
		progress = new Progress(options.progress && !options.quiet, (scored) =>
			shareOf(evaluation.report, bytes, scored),
		);
		let errors = 0;
		let scored = 0;
		for await (const item of evaluation)
			if (item.error) {
				errors += 1;
				say(style("red", item.error.message));
			} else {
				scored += 1;
				progress.add();
				take(item);
			}
		if (scored === 0 && errors === 0 && !stop.signal.aborted) throw run.noTraces(evaluation.report);
		return errors;
	} finally {
		progress?.stop();
		await session.close();
	}
}

/** Hands each row of the sources that arguments name to `take`. Returns the number of errors. */
async function eachRow(args, { options, stop, take }) {
	const logs = [];
	let hasRows = false;
	try {
		for (const source of await sourcesOf(args)) {
			const { rows, traces } = await contentOf(source, stop.signal);
			if (traces) logs.push(traces);
			else
				for await (const row of rows) {
					hasRows = true;
					take(row);
					if (stop.signal.aborted) return 0;
				}
		}
	} catch (error) {
		if (stop.signal.aborted) return 0;
		throw error;
	}
	if (hasRows && logs.length > 0)
		throw new InputError(`expected rows or logs, found both: ${logs[0].name} has no rows`);
	return logs.length > 0 ? scoreAll(logs, { options, stop, take }) : 0;
}

module.exports = { eachRow };
