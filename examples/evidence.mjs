/**
 * Measures on repeated runs of tasks whether the kept runs are worth keeping:
 *
 *     npm run evidence -- RUNS... --task-from-id REGEX [--share 0.1] [--plot evidence.svg]
 *
 * The task of a run is what the first group of REGEX matches in its id, for example `airline-(\d+)-`. `select` keeps a share
 * of the runs, with success unknown and known, and is compared with as many random, longest and best scored runs, and random
 * successful ones. For each: the share of tasks covered (of as many as could be), how often the nearest kept run of a run
 * that was not kept is of the same task, and of the same task and successful, and the share of kept runs that succeeded;
 * with 95% intervals from 1,000 samples of tasks, and the difference to random runs. Then what a selection in two rounds, of
 * each of `--parts` parts as many, covers of what one in one round covers.
 */
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { Scorer } from "@knowledgepulse/scoring";
import { importTraces } from "@knowledgepulse/scoring/logs";

const SAMPLES = 1000;
/** How many random choices are averaged. */
const DRAWS = 20;

const { values: options, positionals } = parseArgs({
	options: {
		"task-from-id": { type: "string", default: "(.*)" },
		plot: { type: "string" },
		parts: { type: "string", default: "8" },
		share: { type: "string", multiple: true, default: ["0.1", "0.2"] },
	},
	allowPositionals: true,
});

/** Numbers below 1, the same in every run (mulberry32). */
function random(seed) {
	let state = seed;
	return () => {
		state = (state + 0x6d2b79f5) | 0;
		let bits = Math.imul(state ^ (state >>> 15), 1 | state);
		bits = (bits + Math.imul(bits ^ (bits >>> 7), 61 | bits)) ^ bits;
		return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32;
	};
}

async function readRuns() {
	const pattern = new RegExp(options["task-from-id"]);
	const runs = [];
	for await (const { trace } of importTraces(positionals, { assumeSuccess: true })) {
		const task = pattern.exec(trace.id)?.[1];
		if (task === undefined) throw new Error(`--task-from-id matches nothing in ${trace.id}`);
		runs.push({ trace, task, success: trace.metadata.success });
	}
	const scorer = new Scorer({ novelty: "run" });
	const vectors = await Promise.all(runs.map(({ trace }) => scorer.embed(trace)));
	const scores = await new Scorer().evaluateValues(runs.map(({ trace }) => trace));
	return runs.map((run, index) => ({ ...run, vector: vectors[index], score: scores[index] }));
}

const dot = (a, b) => a.reduce((sum, x, index) => sum + x * b[index], 0);

/** What a set of runs is worth, by task: `[tasks covered, same task, … and successful, success]` as sums and counts. */
function judge(runs, kept) {
	const set = new Set(kept);
	const byTask = new Map(
		runs.map(({ task }) => [
			task,
			{ isCovered: 0, rest: 0, same: 0, useful: 0, kept: 0, succeeded: 0 },
		]),
	);
	for (const index of kept) {
		const sums = byTask.get(runs[index].task);
		sums.isCovered = 1;
		sums.kept += 1;
		sums.succeeded += runs[index].success ? 1 : 0;
	}
	for (const [index, run] of runs.entries()) {
		if (set.has(index)) continue;
		const similarity = (other) => dot(run.vector, runs[other].vector);
		const nearest = runs[kept.reduce((a, b) => (similarity(b) > similarity(a) ? b : a))];
		const sums = byTask.get(run.task);
		sums.rest += 1;
		sums.same += nearest.task === run.task ? 1 : 0;
		sums.useful += nearest.task === run.task && nearest.success ? 1 : 0;
	}
	return byTask;
}

const MEASURES = {
	"tasks covered": ({ isCovered, kept }, tasks) => isCovered / Math.min(kept, tasks),
	"nearest of same task": ({ same, rest }) => same / rest,
	"… and it succeeded": ({ useful, rest }) => useful / rest,
	"success of kept": ({ succeeded, kept }) => succeeded / kept,
};

/** The measures over some tasks, which may be repeated, of the mean of several choices. */
function measured(judgements, tasks) {
	const all = judgements.map((byTask) => {
		const sums = { isCovered: 0, rest: 0, same: 0, useful: 0, kept: 0, succeeded: 0 };
		for (const task of tasks) for (const name in sums) sums[name] += byTask.get(task)[name];
		return Object.values(MEASURES).map((measure) => measure(sums, tasks.length));
	});
	return all[0].map((_, at) => all.reduce((sum, values) => sum + values[at], 0) / all.length);
}

/** The values with their intervals, and their differences to those of `other`. */
function compared(judgements, other, tasks) {
	const draw = random(1);
	const samples = Array.from({ length: SAMPLES }, () =>
		tasks.map(() => tasks[Math.floor(draw() * tasks.length)]),
	);
	const own = samples.map((sample) => measured(judgements, sample));
	const theirs = samples.map((sample) => measured(other, sample));
	const interval = (values) => {
		const sorted = values.filter((value) => !Number.isNaN(value)).sort((a, b) => a - b);
		return [0.025, 0.975].map((share) => sorted[Math.round(share * (sorted.length - 1))]);
	};
	const value = measured(judgements, tasks);
	const base = measured(other, tasks);
	return value.map((value, at) => ({
		value,
		interval: interval(own.map((values) => values[at])),
		difference: value - base[at],
		differs: interval(own.map((values, sample) => values[at] - theirs[sample][at])),
	}));
}

/** The indexes of the runs that each way keeps: a list of choices, of random ones several. */
async function choices(runs, count) {
	const indexes = Array.from(runs.keys());
	const draw = random(2);
	const some = (from) => {
		const keyed = from.map((index) => [draw(), index]).sort(([a], [b]) => a - b);
		return keyed.slice(0, count).map(([, index]) => index);
	};
	const best = (of) => indexes.toSorted((a, b) => of(runs[b]) - of(runs[a])).slice(0, count);
	const select = async (traceOf) => {
		const kept = await new Scorer({ novelty: "run" }).select(runs.map(traceOf), { count });
		return [kept.map(({ index }) => index)];
	};
	const unknown = ({ trace }) => ({ ...trace, metadata: { ...trace.metadata, success: true } });
	const succeeded = indexes.filter((index) => runs[index].success);
	const draws = (from) => Array.from({ length: DRAWS }, () => some(from));
	return {
		random: draws(indexes),
		longest: [best(({ trace }) => trace.steps.length)],
		"best score": [best(({ score }) => score)],
		"select, success unknown": await select(unknown),
		"select, success known": await select(({ trace }) => trace),
		...(succeeded.length >= count && { "random successful": draws(succeeded) }),
	};
}

/** The cover of all runs by a selection in two rounds, as a share of that by one in one round. */
async function twoRounds(runs, count) {
	const scorer = new Scorer({ novelty: "run" });
	const size = Math.ceil(runs.length / Number(options.parts));
	const select = async (some, count) => {
		const kept = await scorer.select(
			some.map(({ trace }) => trace),
			{ count },
		);
		return kept.map(({ index, standsFor, covers }) => {
			const { trace, ...run } = some[index];
			const metadata = { ...trace.metadata, stands_for: standsFor, covers };
			return { ...run, trace: { ...trace, metadata } };
		});
	};
	const weightOf = ({ success }) => (success ? 1 : 0.5);
	const cover = (kept) => {
		const covers = (run) => (of) => weightOf(of) * Math.max(0, dot(run.vector, of.vector)) ** 3;
		return runs.reduce((sum, run) => sum + Math.max(...kept.map(covers(run))), 0);
	};
	const parts = [];
	for (let at = 0; at < runs.length; at += size)
		parts.push(...(await select(runs.slice(at, at + size), count)));
	return cover(await select(parts, count)) / cover(await select(runs, count));
}

const two = (value) => value.toFixed(2);
const signed = (value) => `${value < 0 ? "−" : "+"}${two(Math.abs(value))}`;

/** A plot of values and intervals, one panel a measure. */
function plotOf(rows) {
	const [line, panel, label] = [22, 230, 210];
	const names = Object.keys(MEASURES);
	const height = (rows.length + 2) * line;
	const text = (x, y, content) => `<text x="${x}" y="${y}">${content}</text>`;
	const x = (at, value) => label + at * panel + value * (panel - 30);
	const marks = rows.flatMap(({ name, share, results }, row) => {
		const y = (row + 2) * line;
		const bars = results.map(
			({ value, interval: [low, high] }, at) =>
				`<path d="M${x(at, low)} ${y - 4}H${x(at, high)}" stroke="#888"/><circle cx="${x(at, value)}" cy="${y - 4}" r="4" fill="#06c"/>`,
		);
		return [text(4, y, `${name}, ${share}`), ...bars];
	});
	const heads = names.map((name, at) => text(x(at, 0), line, `${name}, 0 to 1`));
	const frames = names.map(
		(_, at) =>
			`<path d="M${x(at, 0)} ${line + 6}V${height}M${x(at, 1)} ${line + 6}V${height}" stroke="#ddd"/>`,
	);
	return `<svg xmlns="http://www.w3.org/2000/svg" width="${label + names.length * panel}" height="${height + line}" font-family="sans-serif" font-size="12"><rect width="100%" height="100%" fill="#fff"/>${[...heads, ...frames, ...marks].join("\n")}</svg>\n`;
}

if (positionals.length === 0)
	throw new Error(
		"expected logs of repeated runs: npm run evidence -- RUNS... --task-from-id REGEX",
	);
const runs = await readRuns();
const tasks = [...new Set(runs.map(({ task }) => task))];
if (tasks.length === runs.length || tasks.length === 1)
	throw new Error("expected several runs of a task, and several tasks");
const rows = [];
for (const share of options.share.map(Number)) {
	const count = Math.max(1, Math.round(share * runs.length));
	console.log(`\n${runs.length} runs of ${tasks.length} tasks, ${count} kept`);
	console.log(
		`${"".padEnd(24)}${Object.keys(MEASURES)
			.map((name) => name.padEnd(26))
			.join("")}`,
	);
	const all = await choices(runs, count);
	const judgements = Object.entries(all).map(([name, sets]) => [
		name,
		sets.map((kept) => judge(runs, kept)),
	]);
	const [[, chance]] = judgements;
	for (const [name, sets] of judgements) {
		const results = compared(sets, chance, tasks);
		const cells = results.map(({ value, interval: [low, high], difference }) =>
			`${two(value)} (${two(low)}–${two(high)}) ${sets === chance ? "" : signed(difference)}`.padEnd(
				26,
			),
		);
		console.log(`${name.padEnd(24)}${cells.join("")}`);
		rows.push({ name, share: `${Math.round(100 * share)}%`, results });
		if (sets === chance) continue;
		const sure = results.map(({ differs: [low, high] }) =>
			`${signed(low)} to ${signed(high)}`.padEnd(26),
		);
		console.log(`${"  minus random".padEnd(24)}${sure.join("")}`);
	}
	const rounds = await twoRounds(runs, count);
	console.log(
		`in ${options.parts} parts, then of what they kept: ${rounds.toFixed(3)} of the coverage`,
	);
}
if (options.plot) writeFileSync(options.plot, plotOf(rows));
