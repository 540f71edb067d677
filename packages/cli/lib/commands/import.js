/** kp-score import */
const { importTraces } = require("../engine.js");
const { Output, isTable } = require("../output.js");
const run = require("../run.js");
const { sourcesInOrder } = require("../sources.js");
const { count, plain, say, style, tally } = require("../terminal.js");

/** The contents of a source for people. */
function textOf({ name, formats, traces, skipped, errors }) {
	const found = formats.length > 0 ? formats.join(", ") : "no known format";
	const lines = [
		`${style("bold", plain(name))}  ${count(traces, "trace")}  ${style("dim", found)}`,
	];
	if (Object.keys(skipped).length > 0) lines.push(style("dim", `  skipped: ${tally(skipped)}`));
	for (const { message } of errors.slice(0, 3)) lines.push(style("red", `  ${plain(message)}`));
	if (errors.length > 3)
		lines.push(style("red", `  and ${count(errors.length - 3, "error")} more`));
	return `${lines.join("\n")}\n`;
}

module.exports = async function importing([args], options) {
	const { dryRun } = options;
	const stop = new run.Stop();
	// A survey shows all errors.
	const known = run.importOptions({ ...options, ...(dryRun && { errors: "collect" }) });
	const sources = await sourcesInOrder(args, known, stop);
	const output = await Output.open(options.output);
	try {
		const imported = importTraces(sources, { ...known, signal: stop.signal });
		const context = { sources, options, stop, isShown: dryRun || !output.isTerminal };
		const { traces, errors } = await run.each(imported, context, async ({ error, trace }) => {
			if (output.isClosed) stop.end();
			if (dryRun) return;
			if (error) say(style("red", error.message));
			else await output.write(`${JSON.stringify(trace)}\n`);
		});
		const { report } = imported;
		const textFor = isTable(output, options) ? textOf : (input) => `${JSON.stringify(input)}\n`;
		if (dryRun) for (const input of report.inputs) await output.write(textFor(input));
		await run.commit(output, options);
		if (!output.isClosed) {
			run.notesFor(options)(
				`${style("bold", count(traces, "trace"))} in ${count(sources.length, "source")}`,
			);
			run.warnOfLosses(report, "left out", errors);
		}
		if (stop.isInterrupted) say(`interrupted after ${count(traces, "trace")}`);
		return stop.exitCode({ errors });
	} finally {
		await output.discard();
	}
};
