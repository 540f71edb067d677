/** The rows of sources: as they are, or from scoring the logs. */
const { evaluate } = require("./engine.js");
const { contentOf } = require("./lines.js");
const run = require("./run.js");
const { Session } = require("./session.js");

/** Hands each row to `take`. Returns the number of errors. */
async function eachRow(source, { options, stop, take }) {
	const { rows, traces } = await contentOf(source);
	if (rows) {
		for await (const row of rows) {
			take(row);
			if (stop.signal.aborted) break;
		}
		return 0;
	}
	const session = await Session.open(options);
	try {
		return await scoreEach(session, traces, { options, stop, take });
	} finally {
		await session.close();
	}
}

/** Scores what is in a source of traces. */
async function scoreEach(session, source, { options, stop, take }) {
	const { style, say } = run.notes(options);
	let errors = 0;
	let scored = 0;
	const evaluation = evaluate(session.scorer, [source], {
		...run.importOptions(options),
		...(options.group !== undefined && { group: options.group }),
		stop: stop.signal,
	});
	for await (const item of evaluation) {
		if (item.error) {
			errors += 1;
			say(style("red", item.error.message));
		} else {
			scored += 1;
			take(item);
		}
	}
	if (scored === 0 && errors === 0 && !stop.signal.aborted) throw run.noTraces(evaluation.report);
	return errors;
}

module.exports = { eachRow, scoreEach };
