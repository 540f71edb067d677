/** kp-score score */
const { InputError } = require("../exit.js");
const { evaluate } = require("../engine.js");
const { recordOf } = require("../otel-file.js");
const { Hints } = require("../hints.js");
const { FileOutput, Output, isTable } = require("../output.js");
const { RowTable } = require("../row-table.js");
const run = require("../run.js");
const { Session } = require("../session.js");
const { sourcesInOrder } = require("../sources.js");
const { count, duration, percent, say, style, warn } = require("../terminal.js");
const decide = require("./decide.js");

/** Counts of rows, and their scores. */
class Statistics {
	#threshold;
	#scores = [];
	accepted = 0;
	embedded = 0;
	cut = 0;
	uncompared = 0;

	constructor(threshold) {
		this.#threshold = threshold;
	}

	add({ score, isCut, similarity, tokens }) {
		this.#scores.push(score);
		if (score >= this.#threshold) this.accepted += 1;
		if (tokens !== null) this.embedded += 1;
		if (isCut) this.cut += 1;
		if (similarity === null) this.uncompared += 1;
	}

	get scored() {
		return this.#scores.length;
	}

	/** The accepted share. */
	get share() {
		return this.scored === 0 ? 0 : this.accepted / this.scored;
	}

	/** Such as `median 0.402, 90th percentile 0.587, maximum 0.613`. */
	get text() {
		const sorted = Float64Array.from(this.#scores).sort();
		const at = (share) => sorted[Math.ceil(share * sorted.length) - 1].toFixed(3);
		return `median ${at(0.5)}, 90th percentile ${at(0.9)}, maximum ${at(1)}`;
	}
}

function summarise(statistics, { threshold, ms, note, table }) {
	const { scored, cut, embedded, uncompared } = statistics;
	const scores = scored > 0 ? `: ${statistics.text}` : "";
	note(`${style("bold", count(scored, "trace"))} in ${duration(ms)}${scores}`);
	if (threshold !== undefined && scored > 0)
		note(
			`${statistics.accepted} of ${scored} (${percent(statistics.share)}) score ${threshold} or more`,
		);
	if (cut > 0)
		warn(
			`${cut} of ${count(embedded, "text")} (${percent(cut / embedded)}) were cut: the model saw only the beginning`,
		);
	// Only a table has asterisks to explain.
	if (table && uncompared > 0)
		note(
			style(
				"dim",
				`* ${uncompared} with a novelty of 0.5, because they were compared with nothing`,
			),
		);
}

module.exports = async function score([args], options) {
	if (options.decide) return decide([args], options);
	const { threshold, minShare, emitOtel, group, memory } = options;
	if (minShare !== undefined && threshold === undefined)
		throw new InputError("--min-share needs --threshold: the share of runs that score how much?");
	const stop = new run.Stop();
	const imported = run.importOptions(options);
	const sources = await sourcesInOrder(args, imported, stop);
	const output = await Output.open(options.output);
	let events;
	let session;
	try {
		events = emitOtel && (await FileOutput.open(emitOtel));
		session = await Session.open(options, { saved: true });
		const began = performance.now();
		const table = isTable(output, options) ? new RowTable(output, options) : undefined;
		const statistics = new Statistics(threshold);
		const hints = await Hints.open(options);
		const rows = evaluate(session.scorer, sources, { ...imported, group, stop: stop.signal });
		const isNeeded = minShare !== undefined || events || memory;
		const context = { sources, options, stop, isShown: !output.isTerminal };
		const { errors } = await run.each(rows, context, async (item) => {
			if (output.isClosed && !isNeeded) stop.end();
			if (item.error && table) return say(style("red", item.error.message));
			if (!item.error) {
				statistics.add(item);
				hints.add(item.domain);
				await events?.write(recordOf(item, threshold));
			}
			await output.write(table ? table.lineOf(item) : `${JSON.stringify(item)}\n`);
		});
		await run.commit(output, options);
		await events?.commit();
		await session.save();
		const ms = performance.now() - began;
		if (!output.isClosed || isNeeded) {
			const note = run.notesFor(options);
			summarise(statistics, { threshold, ms, note, table });
			hints.warn();
			run.warnOfLosses(rows.report, "not scored", errors);
		}
		const { scored } = statistics;
		if (stop.isInterrupted)
			say(`interrupted after ${count(scored, "trace")}${memory ? `; ${memory} has them` : ""}`);
		const gate = minShare === undefined || statistics.share >= minShare;
		if (!gate)
			say(
				`${style("red", "gate not met:")} ${percent(statistics.share)} of the traces score ${threshold} or more, --min-share is ${percent(minShare)}`,
			);
		return stop.exitCode({ errors, gate });
	} finally {
		await output.discard();
		await events?.discard();
		await session?.close();
	}
};
