/** kp-score compare */
const { InputError } = require("../exit.js");
const { eachRow } = require("../rows.js");
const { Job } = require("../job.js");
const { show } = require("../output.js");
const { sourcesOf } = require("../sources.js");
const { DIMENSIONS, cell, count, fit, signed, style, warn, widthOf } = require("../terminal.js");

/** Changes below this come from rounding. */
const NOTHING = 1e-12;

/** The rows of a side by key: the id, and the number of earlier rows with it. */
async function sideOf(sources, job) {
	const byKey = new Map();
	const seen = new Map();
	await eachRow(sources, job, ({ id = null, score, dimensions, overrides = [], objective }) => {
		const nth = seen.get(id) ?? 0;
		seen.set(id, nth + 1);
		const row = { id, score, dimensions, overrides, objective: objective ?? "" };
		byKey.set(JSON.stringify([id, nth]), row);
	});
	return byKey;
}

function pairsOf(old, now) {
	const pairs = [];
	for (const [key, before] of old) {
		const after = now.get(key);
		if (after === undefined) continue;
		const dimensions = {};
		for (const name of Object.keys(before.dimensions))
			dimensions[name] = after.dimensions[name] - before.dimensions[name];
		pairs.push({
			id: after.id,
			before: before.score,
			after: after.score,
			change: after.score - before.score,
			dimensions,
			overrides: { before: before.overrides, after: after.overrides },
			objective: after.objective,
		});
	}
	return pairs.sort((a, b) => Math.abs(b.change) - Math.abs(a.change));
}

/** Returns a function that formats one of the pairs; the first line comes with the table head. */
function tableOf(pairs, { width }) {
	const longest = pairs.reduce((length, { id }) => Math.max(length, widthOf(id ?? "")), 2);
	const id = Math.min(longest, 36);
	let head = `${style("dim", ` change  before  after  ${"id".padEnd(id)}  because of`)}\n`;
	return (pair) => {
		const causes = Object.entries(pair.dimensions)
			.filter(([, change]) => Math.abs(change) >= 0.0005)
			.map(([name, change]) => `${DIMENSIONS[name].column} ${signed(change, 3)}`);
		if (pair.overrides.before.join() !== pair.overrides.after.join())
			causes.push(`rules ${pair.overrides.after.join("+") || "none"}`);
		const change = style(pair.change < 0 ? "red" : "green", signed(pair.change, 4));
		const line = `${change}  ${pair.before.toFixed(3)}   ${pair.after.toFixed(3)}  ${cell(pair.id ?? "", id)}  ${fit(causes.join(", "), Math.max(width - 28 - id, 20))}`;
		const lines = `${head}${line.trimEnd()}\n`;
		head = "";
		return lines;
	};
}

function summarise(job, pairs, changed) {
	const { threshold } = job.options;
	const mean = pairs.reduce((sum, { change }) => sum + change, 0) / pairs.length;
	const largest = Math.abs(pairs[0].change).toFixed(4);
	const changes =
		changed.length > 0 ? `, by ${signed(mean, 4)} on average, at most ${largest}` : "";
	job.note(`${changed.length} of ${count(pairs.length, "pair")} changed${changes}`);
	if (threshold === undefined) return;
	const isAccepted = (score) => score >= threshold;
	const before = pairs.filter((pair) => isAccepted(pair.before)).length;
	const after = pairs.filter((pair) => isAccepted(pair.after)).length;
	const crossed = pairs.filter((pair) => isAccepted(pair.before) !== isAccepted(pair.after)).length;
	job.note(`${threshold} or more: ${before} before, ${after} after; ${crossed} crossed it`);
}

module.exports = async function compare([before, after], options) {
	const { limit, maxChange } = options;
	const sources = [await sourcesOf([before]), await sourcesOf([after])];
	const job = await Job.open(options);
	const { output } = job;
	const old = await sideOf(sources[0], job);
	const now = await sideOf(sources[1], job);
	if (job.endedEarly("before all was read: nothing was compared")) return job.exitCode();
	const pairs = pairsOf(old, now);
	if (pairs.length === 0) throw new InputError(`no id is in both ${before} and ${after}`);
	const changed = pairs.filter(({ change }) => Math.abs(change) > NOTHING);
	const shown = output.isText ? changed.slice(0, limit) : pairs;
	const lineOf = tableOf(shown, output);
	for (const pair of shown) await show(output, pair, lineOf);
	if (output.isText && changed.length > limit)
		job.note(`… and ${changed.length - limit} more: --limit`);
	await job.commit();
	summarise(job, pairs, changed);
	if (old.size > pairs.length) warn(`${old.size - pairs.length} only in ${before}`);
	if (now.size > pairs.length) warn(`${now.size - pairs.length} only in ${after}`);
	const largest = Math.abs(pairs[0].change);
	const unpaired = old.size + now.size - 2 * pairs.length;
	const isSmall = largest <= maxChange + NOTHING;
	return job.exitCode(
		maxChange === undefined || (isSmall && unpaired === 0),
		isSmall
			? `--max-change is for runs on both sides, ${count(unpaired, "run")} only on one`
			: `a score changed by ${largest.toFixed(4)}, --max-change is ${maxChange}`,
	);
};
