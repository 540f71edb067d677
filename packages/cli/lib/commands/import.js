/** kp-score import */
const { importTraces } = require("../engine.js");
const { Job } = require("../job.js");
const { sourcesOf } = require("../sources.js");
const { count, jsonLine, style } = require("../terminal.js");
const { Writer } = require("../written.js");

function textOf(inputs) {
	const formats = new Map();
	for (const { formats: names, traces, errors } of inputs) {
		const name = names.join(", ") || "no known format";
		const { sources = 0, runs = 0 } = formats.get(name) ?? {};
		const unknown = errors.filter(({ code }) => code === "SUCCESS_UNKNOWN").length;
		formats.set(name, { sources: sources + 1, runs: runs + traces + unknown });
	}
	const lines = [...formats].map(
		([name, { sources, runs }]) =>
			`${style("bold", name)}  ${count(runs, "run")} in ${count(sources, "source")}\n`,
	);
	return lines.join("");
}

module.exports = async function importing([args], given) {
	const { dryRun } = given;
	// A survey shows all errors, and needs no options.
	const options = dryRun ? { assumeSuccess: "true", ...given, errors: "collect" } : given;
	const job = await Job.open(options, await sourcesOf(args));
	const { output } = job;
	const writer = await Writer.open(options);
	const imported = importTraces(job);
	const take = async (item) => {
		if (!dryRun) await output.write(await writer.lineOf(item));
	};
	const shown = dryRun ? { isShown: true, onError: () => {} } : { saysErrors: true };
	const remarks = await job.each(imported, take, shown);
	const { inputs } = remarks;
	if (dryRun && output.isText) await output.write(textOf(inputs));
	else if (dryRun) for (const input of inputs) await output.write(jsonLine(input));
	await job.commit();
	const traces = count(remarks.traces, "trace");
	if (!output.isClosed) {
		if (!dryRun) job.note(`${style("bold", traces)} in ${count(job.sources.length, "source")}`);
		if (writer.text) job.note(writer.text);
		if (dryRun) remarks.noteAssumed();
		remarks.warnOfLosses("left out", dryRun ? 0 : remarks.errors);
		remarks.warnOfDomain();
	}
	job.endedEarly(`after ${traces}`);
	return job.exitCode();
};
