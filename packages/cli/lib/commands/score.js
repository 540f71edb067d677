/** kp-score score */
const { InputError } = require("../exit.js");
const { evaluate } = require("../engine.js");
const { recordOf } = require("../otel-file.js");
const { Hints } = require("../hints.js");
const { FileOutput, Output, isTable } = require("../output.js");
const { LEGEND, RowTable } = require("../row-table.js");
const run = require("../run.js");
const { Session } = require("../session.js");
const { sourcesInOrder } = require("../sources.js");
const { count, duration, percent, say, style, warn } = require("../terminal.js");
const decide = require("./decide.js");

/** The share of rows with one value from which a dimension says little. */
const ALIKE = 0.8;

/** With fewer rows, equal values are chance. */
const FEW = 10;

const NAMES = {
	complexity: "complexity",
	novelty: "novelty",
	toolDiversity: "tool diversity",
	outcomeConfidence: "outcome",
};

/** Counts of rows, and their scores. */
class Statistics {
	#threshold;
	#domain;
	#scores = [];
	/** How many rows have a value of a dimension, by dimension. */
	#values = new Map(Object.keys(NAMES).map((name) => [name, new Map()]));
	accepted = 0;
	assumed = 0;
	uncompared = 0;
	/** Rows of another domain than the one that was asked for. */
	others = 0;

	constructor({ threshold, domain }) {
		this.#threshold = threshold;
		this.#domain = domain;
	}

	add({ dimensions, domain, score, similarity, successFrom }) {
		this.#scores.push(score);
		if (score >= this.#threshold) this.accepted += 1;
		if (successFrom === "assumed") this.assumed += 1;
		if (similarity === null) this.uncompared += 1;
		if (domain !== (this.#domain ?? domain)) this.others += 1;
		for (const [name, values] of this.#values) {
			const value = dimensions[name].toFixed(2);
			values.set(value, (values.get(value) ?? 0) + 1);
		}
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

	/** The dimensions that tell few rows apart, such as `outcome is 0.80 in all 46 runs`. */
	get alike() {
		if (this.scored < FEW) return [];
		return [...this.#values].flatMap(([name, values]) => {
			const [value, n] = [...values].reduce((most, each) => (each[1] > most[1] ? each : most));
			if (n < ALIKE * this.scored) return [];
			const where = n === this.scored ? `all ${n} runs` : `${n} of ${this.scored} runs`;
			return `${NAMES[name]} is ${value} in ${where}`;
		});
	}
}

function summarise(statistics, { options, ms, note, table }) {
	const { threshold } = options;
	const { alike, assumed, scored, uncompared } = statistics;
	const scores = scored > 0 ? `: ${statistics.text}` : "";
	note(`${style("bold", count(scored, "trace"))} in ${duration(ms)}${scores}`);
	if (threshold !== undefined && scored > 0)
		note(
			`${statistics.accepted} of ${scored} (${percent(statistics.share)}) score ${threshold} or more`,
		);
	run.noteAssumed(assumed, scored, options, note);
	if (table && scored > 0) note(style("dim", LEGEND));
	// Only a table has asterisks to explain.
	if (table && uncompared > 0)
		note(
			style(
				"dim",
				`* ${uncompared} with a novelty of 0.5, because they were compared with nothing`,
			),
		);
	if (alike.length > 0) warn(`${alike.join(", ")}: the order comes from the other dimensions`);
	run.warnOfDomain(statistics.others, options);
}

module.exports = async function score([args], options) {
	if (options.decide) return decide([args], options);
	const { threshold, minShare, emitOtel, group, memory, top } = options;
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
		const show = (row) => output.write(table ? table.lineOf(row) : `${JSON.stringify(row)}\n`);
		const statistics = new Statistics(options);
		const texts = new run.Texts();
		const hints = await Hints.open(options);
		/** With `--top`, the rows so far that may be among the highest. */
		let highest = [];
		const rows = evaluate(session.scorer, sources, { ...imported, group, stop: stop.signal });
		const isNeeded = minShare !== undefined || events || memory;
		const context = { sources, options, stop, isShown: !output.isTerminal || top !== undefined };
		const { errors } = await run.each(rows, context, async (item) => {
			if (output.isClosed && !isNeeded) stop.end();
			if (item.error && table) return say(style("red", item.error.message));
			if (!item.error) {
				statistics.add(item);
				texts.add(item);
				hints.add(item.domain);
				await events?.write(recordOf(item, threshold));
			}
			if (top === undefined || item.error) return show(item);
			highest.push(item);
			if (highest.length >= 2 * top) highest = highestOf(highest, top);
		});
		for (const row of highestOf(highest, top)) await show(row);
		await run.commit(output, options);
		await events?.commit();
		await session.save();
		const ms = performance.now() - began;
		if (!output.isClosed || isNeeded) {
			summarise(statistics, { options, ms, note: run.notesFor(options), table });
			texts.warn(session.scorer, options);
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

const highestOf = (rows, top) => rows.sort((a, b) => b.score - a.score).slice(0, top);
