/** kp-score import */
const { importTraces } = require("../engine.js");
const run = require("../run.js");
const { count, say, style } = require("../terminal.js");

/** A summary of the sources, by format. */
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

module.exports = function importing([args], given) {
	const { dryRun } = given;
	// A survey shows all errors.
	const options = dryRun ? { ...given, errors: "collect" } : given;
	return run.overSources(args, options, undefined, async (context) => {
		const { isText, output, sources, stop } = context;
		const imported = importTraces(sources, context.imported);
		const remarks = new run.Remarks(options);
		const take = async ({ trace }) => {
			remarks.add({ domain: trace.metadata.task_domain });
			if (!dryRun) await output.write(`${JSON.stringify(trace)}\n`);
		};
		const shown = dryRun ? { isShown: true, onError: () => {} } : { onError: run.sayError };
		const { traces, errors } = await run.each(imported, { ...context, ...shown }, take);
		const { report } = imported;
		if (dryRun && isText) await output.write(textOf(report));
		else if (dryRun)
			for (const input of report.inputs) await output.write(`${JSON.stringify(input)}\n`);
		await run.commit(output, options);
		if (!output.isClosed) {
			const all = `${style("bold", count(traces, "trace"))} in ${count(sources.length, "source")}`;
			if (!dryRun) run.notesFor(options)(all);
			run.warnOfLosses(report, "left out", dryRun ? 0 : errors);
			remarks.warnOfDomain();
		}
		if (stop.isInterrupted) say(`interrupted after ${count(traces, "trace")}`);
		return stop.exitCode({ errors });
	});
};
