/** kp-score score */
const { InputError } = require("../exit.js");
const { evaluate, toJson } = require("../engine.js");
const { recordOf } = require("../otel-file.js");
const { sourcesInOrder } = require("../order.js");
const { FileOutput } = require("../output.js");
const { Progress, shareOf } = require("../progress.js");
const run = require("../run.js");
const { RowTable } = require("../row-table.js");
const { Session } = require("../session.js");
const { bytesOf } = require("../sources.js");
const { Statistics } = require("../statistics.js");
const { Stop } = require("../stop.js");
const { count, duration, percent, tally } = require("../style.js");
const { say, style, warn } = require("../terminal.js");

/** Writes rows as they come, in the form that is wanted. */
async function writeAll(evaluation, { output, table, events, options, onRows }) {
	const { threshold } = options;
	// Lines go through as they are, unless something has to be known of the rows.
	if (!table && !events) {
		for await (const lines of evaluation.lines()) {
			onRows({ lines });
			await output.write(lines);
		}
		return;
	}
	for await (const item of evaluation) {
		onRows({ item });
		if (!item.error) await events?.write(recordOf(item, threshold));
		await output.write(table ? table.lineOf(item) : `${JSON.stringify(toJson(item))}\n`);
	}
}

function summary(statistics, report, { threshold, ms }, note) {
	const { scored, cut, embedded } = statistics;
	const at = (share) => statistics.quantile(share).toFixed(3);
	const scores = `: median ${at(0.5)}, 90th percentile ${at(0.9)}, maximum ${statistics.max.toFixed(3)}`;
	note(`${style("bold", count(scored, "trace"))} in ${duration(ms)}${scored > 0 ? scores : ""}`);
	if (threshold !== undefined && scored > 0)
		note(
			`${statistics.accepted} of ${scored} (${percent(statistics.share)}) score ${threshold} or more`,
		);
	if (cut > 0)
		warn(
			`${cut} of ${count(embedded, "text")} (${percent(cut / embedded)}) were cut: the model saw the first 512 tokens`,
		);
	if (statistics.uncompared > 0)
		note(
			style(
				"dim",
				`* ${statistics.uncompared} with a novelty of 0.5, because they were compared with nothing`,
			),
		);
	const lost = run.lostOf(report);
	if (Object.keys(lost).length > 0) warn(`not scored: ${tally(lost)}`);
	if (statistics.errors > 0)
		warn(`${count(statistics.errors, "error")}: ${tally(run.errorCodes(report))}`);
}

module.exports = async function score([args], options) {
	const { threshold, minShare, emitOtel } = options;
	if (minShare !== undefined && threshold === undefined)
		throw new InputError("--min-share needs --threshold: the share of runs that score how much?");
	const stop = new Stop();
	const imported = run.importOptions(options);
	const sources = await sourcesInOrder(args, imported, stop);
	const output = await run.openOutput(options);
	let events;
	let session;
	try {
		events = emitOtel && (await FileOutput.open(emitOtel));
		session = await Session.open(options, { saved: true });
		const began = performance.now();
		const table = run.isTable(output, options) ? new RowTable(output, options) : undefined;
		const statistics = new Statistics(threshold);
		const evaluation = evaluate(session.scorer, sources, {
			...imported,
			...(options.group !== undefined && { group: options.group }),
			stop: stop.signal,
		});
		const bytes = bytesOf(sources);
		const progress = new Progress(
			options.progress && !options.quiet && !output.isTerminal,
			(scored) => shareOf(evaluation.report, bytes, scored),
		);
		const isAsked = minShare !== undefined || events || options.memory;
		const onRows = ({ lines, item }) => {
			if (lines) progress.add(statistics.addLines(lines));
			else if (item.error) {
				statistics.errors += 1;
				if (table) say(style("red", item.error.message));
			} else {
				statistics.add(item);
				if (table && item.similarity === null) statistics.uncompared += 1;
				progress.add();
			}
			if (output.isClosed && !isAsked) stop.end();
		};
		try {
			await writeAll(evaluation, { output, table, events, options, onRows });
		} finally {
			progress.stop();
		}
		if (statistics.scored === 0 && !stop.signal.aborted && !statistics.errors)
			throw run.noTraces(evaluation.report);
		await run.commit(output, options);
		await events?.commit();
		await session.save();
		const ms = performance.now() - began;
		if (!output.isClosed || isAsked)
			summary(statistics, evaluation.report, { threshold, ms }, run.notesFor(options));
		if (stop.isInterrupted)
			say(
				`interrupted after ${count(statistics.scored, "trace")}${options.memory ? `; ${options.memory} has them` : ""}`,
			);
		const gate = minShare === undefined || statistics.share >= minShare;
		if (!gate)
			say(
				`${style("red", "gate not met:")} ${percent(statistics.share)} of the traces score ${threshold} or more, --min-share is ${percent(minShare)}`,
			);
		return run.exitCode(stop, { errors: statistics.errors, gate });
	} finally {
		await output.discard();
		await events?.discard();
		await session?.close();
	}
};
