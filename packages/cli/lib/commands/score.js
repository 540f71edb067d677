/** kp-score score */
const { InputError } = require("../exit.js");
const { evaluate } = require("../engine.js");
const { show } = require("../output.js");
const { LEGEND, rowTable } = require("../row-table.js");
const { Job } = require("../job.js");
const { openScorer } = require("../scorer.js");
const { sourcesOf } = require("../sources.js");
const { DIMENSIONS, count, duration, percent, style, warn } = require("../terminal.js");

/** If this share of the rows has one value, the dimension hardly affects the order. */
const ALIKE = 0.8;

/** With fewer rows, equal values are chance. */
const FEW = 10;

/** Counts of rows, and their scores. */
class Statistics {
	scores = [];
	/** The number of rows by dimension and value. */
	#values = new Map(Object.keys(DIMENSIONS).map((name) => [name, new Map()]));
	uncompared = 0;

	add({ dimensions, score, similarity }) {
		this.scores.push(score);
		if (similarity === null) this.uncompared += 1;
		for (const [name, values] of this.#values) {
			const value = dimensions[name].toFixed(2);
			values.set(value, (values.get(value) ?? 0) + 1);
		}
	}

	/** The number of scores from a threshold on, and their share. */
	acceptedBy(threshold) {
		const accepted = this.scores.filter((score) => score >= threshold).length;
		return { accepted, share: this.scores.length === 0 ? 0 : accepted / this.scores.length };
	}

	/** Such as `median 0.402, 90th percentile 0.587, maximum 0.613`. */
	get text() {
		const sorted = Float64Array.from(this.scores).sort();
		const at = (share) => sorted[Math.ceil(share * sorted.length) - 1].toFixed(3);
		return `median ${at(0.5)}, 90th percentile ${at(0.9)}, maximum ${at(1)}`;
	}

	/** The dimensions that hardly affect the order, such as `outcome is 0.80 in all 46 runs`. */
	get alike() {
		if (this.scores.length < FEW) return [];
		return [...this.#values].flatMap(([name, values]) => {
			const [value, n] = [...values].reduce((most, each) => (each[1] > most[1] ? each : most));
			if (n < ALIKE * this.scores.length) return [];
			const where =
				n === this.scores.length ? `all ${n} runs` : `${n} of ${this.scores.length} runs`;
			return `${DIMENSIONS[name].title} is ${value} in ${where}`;
		});
	}
}

function summarise(job, statistics, remarks, ms) {
	const { again, threshold } = job.options;
	const { isText } = job.output;
	const { alike, uncompared } = statistics;
	const { known, traces: scored } = remarks;
	if (known > 0) {
		const all = scored + (again ? 0 : known);
		const what = again ? "not added again" : "not scored; --again scores them";
		job.note(`${known} of ${all} scored before: ${what}`);
	}
	const scores = scored > 0 ? `: ${statistics.text}` : "";
	job.note(`${style("bold", count(scored, "trace"))} in ${duration(ms)}${scores}`);
	const { accepted, share } = statistics.acceptedBy(threshold);
	if (threshold !== undefined && scored > 0)
		job.note(`${accepted} of ${scored} (${percent(share)}) score ${threshold} or more`);
	remarks.noteAssumed(isText ? "? " : "");
	if (isText && scored > 0) job.note(style("dim", LEGEND));
	// Only a table has asterisks to explain.
	const alone = `* ${uncompared} with a novelty of 0.5, because they were compared with nothing`;
	if (isText && uncompared > 0) job.note(style("dim", alone));
	if (alike.length > 0) warn(`${alike.join(", ")}: the order comes from the other dimensions`);
	remarks.warnOfDomain();
}

/** Throws an error, or a better one if the source that is no log has rows. */
async function refuseRows(error, { signal, sources }) {
	const { contentOf } = require("../rows.js");
	const found = ({ name, isStream }) => name === error.source && !isStream;
	const source = error.code === "UNKNOWN_FORMAT" && sources.find(found);
	const { rows } = source ? await contentOf(source, signal).catch(() => ({})) : {};
	if (!rows) throw error;
	throw new InputError(
		`${source.name}: it has rows that kp-score score wrote, not logs: kp-score explain, compare and calibrate take them`,
	);
}

const highestOf = (rows, top) => rows.sort((a, b) => b.score - a.score).slice(0, top);

module.exports = async function score(args, given) {
	const options = { assumeSuccess: "true", ...given };
	if (options.decide) return require("./decide.js")(args, options);
	const { threshold, minShare, memory, top } = options;
	if (minShare !== undefined && threshold === undefined)
		throw new InputError("--min-share needs --threshold: the share of runs that score how much?");
	const job = await Job.open(options, await sourcesOf(args[0]));
	const { output } = job;
	const { known, profiles, save, scorer } = await openScorer(job, {
		saved: true,
		again: options.again === true,
	});
	const began = performance.now();
	const lineOf = rowTable(output, options);
	const statistics = new Statistics();
	/** With `--top`, the candidates for the highest rows. */
	let highest = [];
	const take = async (row) => {
		statistics.add(row);
		if (top === undefined) return show(output, row, lineOf);
		highest.push(row);
		if (highest.length >= 2 * top) highest = highestOf(highest, top);
	};
	const isNeeded = minShare !== undefined || memory !== undefined;
	const isShown = top !== undefined || !output.isTerminal;
	const scoring = job.each(evaluate(scorer, job, known), take, { isNeeded, isShown });
	const remarks = await scoring.catch((error) => refuseRows(error, job));
	for (const row of highestOf(highest, top)) await show(output, row, lineOf);
	await job.commit();
	await save();
	const ms = performance.now() - began;
	if (!output.isClosed || isNeeded) {
		summarise(job, statistics, remarks, ms);
		remarks.warnOfTexts(scorer);
		remarks.warnOfNames(profiles);
		remarks.warnOfLosses("not scored");
	}
	const kept = memory ? `; ${memory} has them` : "";
	job.endedEarly(`after ${count(remarks.traces, "trace")}${kept}`);
	const { share } = statistics.acceptedBy(threshold);
	// If all were scored before, there is nothing to judge.
	return job.exitCode(
		minShare === undefined || share >= minShare || remarks.traces === 0,
		`${percent(share)} of the traces score ${threshold} or more, --min-share is ${percent(minShare)}`,
	);
};
