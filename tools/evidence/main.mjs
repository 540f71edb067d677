/**
 * Measures on repeated runs of tasks what novelty, scores and kept runs say:
 *
 *     npm run evidence -- SOURCES... --group POINTER|COLUMN [--match REGEX] [--labels FILE] [--share 0.1]
 *
 * Sources and labels are those of `kp-score select`. The task of a run is the text at a JSON pointer, or in a column of the
 * labels, and of that what the first group of REGEX matches, as in `--group /id --match '(\d+)-\d'`. Intervals have 95%
 * of 1,000 samples of tasks.
 */
import { createRequire } from "node:module";
import { parseArgs } from "node:util";
import { Scorer, scoreWith } from "@knowledgepulse/scoring";
import { aucOf, coverByParts, estimate, judge, MEASURES, sortedBy, waysOf } from "./kept.mjs";

const require = createRequire(new URL("../../packages/cli/lib/main.js", import.meta.url));
const { importTraces } = require("./engine.js");
const { InputError } = require("./exit.js");
const { Job } = require("./job.js");
const { grouping, rowOf } = require("./selection.js");
const { sourcesOf } = require("./sources.js");
const { count, DIMENSIONS, warn } = require("./terminal.js");
const { traceOf } = require("./written.js");

const { values: options, positionals } = parseArgs({
	options: {
		group: { type: "string" },
		labels: { type: "string", multiple: true },
		match: { type: "string", default: "(.*)" },
		share: { type: "string", multiple: true, default: ["0.1", "0.2"] },
	},
	allowPositionals: true,
});

const two = (value) => (Number.isFinite(value) ? value.toFixed(2) : "–");
const signed = (value) => (value < 0 ? "−" : "+") + two(Math.abs(value));
const percent = (share) => `${(100 * share).toFixed(0)}%`;
const line = (...cells) => console.log(cells.map((cell) => cell.padEnd(26)).join(""));

/** The interval that has 95% of the samples. */
function intervalOf(samples) {
	const sorted = samples.filter(Number.isFinite).sort((a, b) => a - b);
	return [0.025, 0.975].map((share) => sorted[Math.round(share * (sorted.length - 1))]);
}

const shown = ({ value, samples }, of = two) =>
	`${of(value)} (${intervalOf(samples).map(of).join(" to ")})`;

/** Reads the runs: `{ index, trace, task, success }`, and the number of their tasks. */
async function readRuns() {
	const { group, labels, match } = options;
	if (positionals.length === 0 || group === undefined)
		throw new InputError("expected logs of repeated runs, and --group: where their task is");
	const given = { assumeSuccess: "true", group, labels };
	const job = await Job.open(given, await sourcesOf(positionals));
	const [groupOf, pattern] = [grouping(job), new RegExp(match)];
	const tasks = new Map();
	const runs = [];
	const take = (item) => {
		const trace = traceOf(item);
		const name = groupOf(trace, rowOf(item))?.match(pattern)?.[1];
		if (name === undefined) return;
		if (!tasks.has(name)) tasks.set(name, tasks.size);
		const success = Number(trace.metadata.success);
		runs.push({ index: runs.length, trace, task: tasks.get(name), success });
	};
	const remarks = await job.each(importTraces(job), take, { isNeeded: true, saysErrors: true });
	job.labels?.check();
	remarks.noteAssumed();
	const others = remarks.traces - runs.length;
	if (others > 0) warn(`left out: ${count(others, "run")} without a task`);
	if (tasks.size < 2 || tasks.size === runs.length)
		throw new InputError("expected several runs of a task, and several tasks");
	return { runs, tasks: tasks.size };
}

/** Says how well a kind of novelty tells tasks apart. Returns the runs with their reports, and how similar they are. */
async function compared({ runs, tasks }, novelty) {
	const scorer = new Scorer({ novelty });
	const vectors = await Promise.all(runs.map(({ trace }) => scorer.embed(trace)));
	const all = vectors.map(() => new Float32Array(runs.length));
	const similarity = ({ index: i }, { index: j }) => all[Math.max(i, j)][Math.min(i, j)];
	const pairs = [];
	const reported = runs.map((run, index) => {
		for (let other = 0; other <= index; other++) {
			const vector = vectors[other];
			all[index][other] = vectors[index].reduce((sum, x, at) => sum + x * vector[at], 0);
			const success = runs[other].task === run.task;
			if (other < index) pairs.push({ task: 0, success, value: all[index][other] });
		}
		// As many as the cache has.
		const earlier = all[index].subarray(Math.max(0, index - 1000), index);
		const maxSimilarity = index > 0 ? Math.max(...earlier) : null;
		return { ...run, report: scoreWith(run.trace, { maxSimilarity }) };
	});
	const ascending = sortedBy(pairs, ({ value }) => value);
	const same = ascending.filter(({ success }) => success);
	const half = same.at(-Math.ceil(same.length / 2)).value;
	const found = ascending.filter(({ value }) => value >= half);
	const precision = found.filter(({ success }) => success).length / found.length;
	const nearest = judge({ runs, similarity, tasks }, runs).sums.same.reduce((a, b) => a + b);
	const auc = aucOf(ascending, [1]).toFixed(3);
	line(novelty, auc, percent(nearest / runs.length), percent(precision));
	return { runs: reported, similarity, tasks };
}

/** Says how scores are distributed, and how often those of successful runs are greater, by dimension. */
function sayScores({ runs, tasks }) {
	// The first run was compared with nothing.
	const [, ...rest] = runs;
	const scores = rest.map(({ report }) => report.score).sort((a, b) => a - b);
	const quantile = (share) => {
		const at = share * (scores.length - 1);
		const [low, high = low] = scores.slice(at);
		return `${percent(share)}: ${(low + (at % 1) * (high - low)).toFixed(3)}`;
	};
	console.log(`\nscores, ${[0, 0.1, 0.25, 0.5, 0.75, 0.9, 1].map(quantile).join(", ")}`);
	const say = (name, of) => {
		const values = rest.map((run) => ({ ...run, value: of(run.report) }));
		const predicted = sortedBy(values, ({ value }) => value);
		line(`AUC of ${name}`, shown(estimate([{ predicted }], tasks).at(-1)));
	};
	say("score", ({ score }) => score);
	for (const name in DIMENSIONS) say(DIMENSIONS[name].title, ({ dimensions }) => dimensions[name]);
	// The outcome contains success, so only this one is informative.
	say(
		"score but outcome",
		({ score, dimensions, weights }) =>
			score - weights.outcomeConfidence * dimensions.outcomeConfidence,
	);
}

/** Says what those are worth that each way keeps of the runs. */
async function sayKept(set) {
	const { runs, tasks } = set;
	const counts = options.share.map((share) => Math.max(1, Math.round(share * runs.length)));
	const waysFor = await waysOf(set, Math.max(...counts));
	for (const most of counts) {
		console.log(`\n${runs.length} runs of ${tasks} tasks, ${most} kept`);
		line("", ...Object.keys(MEASURES));
		let chance;
		for (const [name, choices] of waysFor(most)) {
			const judged = choices.map((kept) => judge(set, kept));
			const results = estimate(judged, tasks);
			chance ??= results;
			line(name, ...results.map((result) => shown(result)));
			const differences = results.map(({ value, samples }, at) => {
				const { value: base, samples: others } = chance[at];
				const all = { value: value - base, samples: samples.map((one, n) => one - others[n]) };
				return shown(all, signed);
			});
			if (results !== chance) line("  minus random", ...differences);
		}
		const share = await coverByParts(set, most);
		console.log(`in parts, then of what they kept: ${share.toFixed(3)} of the coverage`);
	}
}

const set = await readRuns();
line("novelty", "AUC of the same task", "nearest of same task", "precision at half recall");
const byText = await compared(set, "text");
await compared(set, "words");
const { similarity } = await compared(set, "run");
sayScores(byText);
await sayKept({ ...byText, similarity });
