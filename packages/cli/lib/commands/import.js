/** kp-score import */
const { importTraces } = require("../engine.js");
const { Output, isTable } = require("../output.js");
const run = require("../run.js");
const { sourcesInOrder } = require("../sources.js");
const { count, say, style } = require("../terminal.js");

/** What is in the sources, by format, for people. */
function textOf({ inputs }) {
	const formats = new Map();
	for (const { formats: names, traces, errors } of inputs) {
		const name = names.join(", ") || "no known format";
		const { sources = 0, runs = 0 } = formats.get(name) ?? {};
		const unknown = errors.filter(({ code }) => code === "SUCCESS_UNKNOWN").length;
		formats.set(name, { sources: sources + 1, runs: runs + traces + unknown });
	}
	return [...formats]
		.map(([name, { sources, runs }]) => {
			const found = `${count(runs, "run")} in ${count(sources, "source")}`;
			return `${style("bold", name)}  ${found}\n`;
		})
		.join("");
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
		const context = {
			sources,
			options: { ...options, errors: known.errors },
			stop,
			isShown: dryRun || !output.isTerminal,
		};
		let others = 0;
		const take = async ({ error, trace, provenance }) => {
			if (output.isClosed) stop.end();
			if (options.domain !== undefined && provenance?.domainFrom === "own") others += 1;
			if (dryRun) return;
			if (error) say(style("red", error.message));
			else await output.write(`${JSON.stringify(trace)}\n`);
		};
		const { traces, errors } = await run.each(imported, context, take);
		const { report } = imported;
		if (dryRun && isTable(output, options)) await output.write(textOf(report));
		else if (dryRun)
			for (const input of report.inputs) await output.write(`${JSON.stringify(input)}\n`);
		await run.commit(output, options);
		if (!output.isClosed) {
			const all = `${style("bold", count(traces, "trace"))} in ${count(sources.length, "source")}`;
			if (!dryRun) run.notesFor(options)(all);
			run.warnOfLosses(report, "left out", dryRun ? 0 : errors);
			run.warnOfDomain(others, options);
		}
		if (stop.isInterrupted) say(`interrupted after ${count(traces, "trace")}`);
		return stop.exitCode({ errors });
	} finally {
		await output.discard();
	}
};
