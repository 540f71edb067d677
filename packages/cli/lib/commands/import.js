/** kp-score import */
const { InputError } = require("../exit.js");
const { importTraces } = require("../engine.js");
const { sourcesInOrder } = require("../order.js");
const { Progress, shareOf } = require("../progress.js");
const run = require("../run.js");
const { bytesOf } = require("../sources.js");
const { Stop } = require("../stop.js");
const { count, plain, tally } = require("../style.js");
const { say, style, warn } = require("../terminal.js");

/** What is in a source, as a person reads it. */
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

/** Imports all; `take` gets each item. Returns how many were traces and errors. */
async function readAll(imported, stop, take) {
	const counts = { traces: 0, errors: 0 };
	try {
		for await (const item of imported) {
			if (item.error) counts.errors += 1;
			else counts.traces += 1;
			await take(item);
			if (stop.signal.aborted) break;
		}
	} catch (error) {
		if (!stop.signal.aborted) throw error;
	}
	return counts;
}

module.exports = async function importing([args], options) {
	const { dryRun } = options;
	if (dryRun && options.output !== undefined)
		throw new InputError("--dry-run writes nothing: leave out --output");
	const note = run.notesFor(options);
	const stop = new Stop();
	// A survey shows all that is wrong.
	const known = run.importOptions({ ...options, ...(dryRun && { errors: "collect" }) });
	const sources = await sourcesInOrder(args, known, stop);
	const output = await run.openOutput(options);
	const bytes = bytesOf(sources);
	let progress;
	try {
		const imported = importTraces(sources, { ...known, signal: stop.signal });
		progress = new Progress(
			options.progress && !options.quiet && (dryRun || !output.isTerminal),
			(found) => shareOf(imported.report, bytes, found),
		);
		const { traces, errors } = await readAll(imported, stop, async (item) => {
			if (output.isClosed) stop.end();
			if (!item.error) progress.add();
			if (dryRun) return;
			if (item.error) {
				say(style("red", item.error.message));
			} else await output.write(`${JSON.stringify(item.trace)}\n`);
		});
		progress.stop();
		const { report } = imported;
		if (dryRun)
			for (const input of report.inputs)
				await output.write(
					run.isTable(output, options) ? textOf(input) : `${JSON.stringify(input)}\n`,
				);
		if (traces === 0 && errors === 0 && !stop.signal.aborted) throw run.noTraces(report);
		await run.commit(output, options);
		if (!output.isClosed) {
			const lost = run.lostOf(report);
			note(`${style("bold", count(traces, "trace"))} in ${count(sources.length, "source")}`);
			if (Object.keys(lost).length > 0) warn(`left out: ${tally(lost)}`);
			if (errors > 0) warn(`${count(errors, "error")}: ${tally(run.errorCodes(report))}`);
		}
		if (stop.isInterrupted) say(`interrupted after ${count(traces, "trace")}`);
		return run.exitCode(stop, { errors });
	} finally {
		progress?.stop();
		await output.discard();
	}
};
