/** The measurements. Each checks every score or similarity on the way. */

import { codeReview } from "../__test__/data/runs.mjs";
import { AGAIN_CASE, fileOf, goldenScores, sourceOf, take } from "./cases.mjs";
import { Child, inTurns } from "./processes.mjs";
import { collect, mapValues, medianRow } from "./report.mjs";
import { environmentOf, toleranceOf } from "./sides.mjs";
import { quantile } from "./statistics.mjs";

const MANY = 16;

/** Enough that the start and the end, with fewer in flight, hardly matter. */
const BATCH_OF_MANY = 48;

/** Starts a script for a side, which is its first argument. */
function childOf(script, side, args = []) {
	return new Child(script, [side, ...args], { env: environmentOf(side) });
}

/** Runs a script for a side. Returns the result of `use`, by default its first message, and ends the process. */
async function runOnce(script, side, args = [], use = (child) => child.next()) {
	const child = childOf(script, side, args);
	try {
		return await use(child);
	} finally {
		await child.end();
	}
}

/** Latency and throughput, in a long-lived process for each side; only one works at a time. */
export class Contest {
	constructor(sides, agreement) {
		this.sides = sides;
		this.agreement = agreement;
		this.children = Object.fromEntries(
			sides.map((side) => [side, childOf("batch-process.mjs", side)]),
		);
	}

	/** Measures one case. */
	async measureCase(name, { warmUp, alone, together, batch }) {
		await inTurns(this.sides, 1, (side) => this.children[side].ask("case", { name, warmUp }));
		const singles = await this.batches(name, warmUp, alone, batch, 1);
		const times = collect(singles, (done) => done.times);
		const rows = [medianRow(name, "p50, ms", times)];
		if (together === 0) return rows;
		const values = mapValues(times, (list) => quantile(list, 0.99));
		rows.push({ case: name, metric: "p99, ms", values }, throughput(name, 1, singles));
		const many = await this.batches(name, warmUp + alone, together, BATCH_OF_MANY, MANY);
		return [...rows, throughput(name, MANY, many)];
	}

	/** Alternates the sides until each has scored `total` traces. */
	batches(name, start, total, size, inFlight) {
		const source = sourceOf(name);
		const partOf = (round) => ({
			first: start + round * size,
			count: Math.min(size, total - round * size),
		});
		return inTurns(
			this.sides,
			Math.ceil(total / size),
			(side, round) => this.children[side].ask("batch", { ...partOf(round), inFlight }),
			(results, round) => {
				const { first, count } = partOf(round);
				const ids = take(source, first, count).map(({ id }) => id);
				this.agreement.compare(name, ids, results);
			},
		);
	}

	/** Measures a text that has been scored before. */
	async measureMemo({ rounds, again }) {
		const done = await inTurns(
			this.sides,
			rounds,
			(side, first) => this.children[side].ask("again", { first, count: again }),
			(results, round) => {
				// The first score is compared, not measured.
				const ids = Array(1 + again).fill(sourceOf(AGAIN_CASE)(round).id);
				this.agreement.compare(AGAIN_CASE, ids, results);
			},
		);
		const times = collect(done, (batch) => batch.times);
		return medianRow(AGAIN_CASE, "p50, ms", times);
	}

	async end() {
		await Promise.all(Object.values(this.children).map((child) => child.end()));
	}
}

function throughput(name, inFlight, batches) {
	return medianRow(
		name,
		`traces/s, ${inFlight} in flight (+)`,
		collect(batches, (batch) => (1000 * batch.times.length) / batch.elapsed),
	);
}

/** The code-review example of the documents. */
const EXAMPLE = "5-step example";
const EXAMPLE_TOLERANCE = 1e-12;

/** Measures the first score in fresh processes, cold and warmed up. */
export async function measureFirstScore(sides, plan, agreement) {
	const started = (repetitions, args) =>
		inTurns(
			sides,
			repetitions,
			(side) => start(side, args),
			(results) => checkExample(results, agreement),
		);
	const cold = await started(plan.firstScores, []);
	const warm = await started(plan.warmUps, ["warm"]);
	const medians = (metric, starts, value) =>
		medianRow(
			EXAMPLE,
			metric,
			collect(starts, (start) => value(start) ?? []),
		);
	return [
		medians("first score after start, ms", cold, (start) => start.sinceStart),
		medians("of which Node.js, ms", cold, (start) => start.nodeTime),
		medians("import, ms", cold, (start) => start.importTime),
		medians("load of the model, ms", cold, (start) => start.loadTime),
		medians(
			"tokens and model, ms",
			cold,
			({ scoreTime, loadTime }) => loadTime && scoreTime - loadTime,
		),
		medians("import transformers.js, ms", warm, (start) => start.libraryImportTime),
		medians("warm-up, ms", warm, (start) => start.warmUpTime),
		medians("first score after warm-up, ms", warm, (start) => start.scoreTime),
	];
}

function start(side, args) {
	const before = performance.now();
	const all = [JSON.stringify(codeReview.trace), ...args];
	return runOnce("first-score-process.mjs", side, all, async (child) => {
		const first = await child.next();
		return { ...first, sinceStart: performance.now() - before };
	});
}

/** Without an earlier trace no score depends on the model, so all sides must agree. */
function checkExample(results, agreement) {
	for (const [side, { score }] of Object.entries(results)) {
		const what = `${EXAMPLE}, ${side} against the documents`;
		agreement.check(what, [EXAMPLE], [score], [codeReview.score], EXAMPLE_TOLERANCE);
	}
}

/**
 * Scores a whole file in fresh processes of each side, and checks the scores against each other and
 * against the golden ones.
 */
export async function measureFile(sides, name, { inFlight, repetitions, metric }, agreement) {
	const ids = fileOf(name).map(({ id }) => id);
	const golden = goldenScores(name);
	const recorded = golden && ids.map((id) => golden.get(id));
	const runs = await inTurns(
		sides,
		repetitions,
		(side) =>
			runOnce("batch-process.mjs", side, [], (child) => child.ask("file", { name, inFlight })),
		(results) => {
			agreement.compare(`${name} unchanged`, ids, results);
			if (!recorded) return;
			for (const [side, { scores }] of Object.entries(results)) {
				const what = `${name} unchanged, ${side} against golden`;
				agreement.check(what, ids, scores, recorded, toleranceOf(side));
			}
		},
	);
	const medians = (metric, value) => medianRow(name, metric, collect(runs, value));
	const where = `${inFlight} in flight`;
	if (metric === "memory") return [medians(`peak RSS, ${where}, MB`, (run) => run.peakMemory)];
	return [
		medians(`loop p99, ${where}, ms`, (run) => run.delay.p99),
		medians(`loop max, ${where}, ms`, (run) => run.delay.max),
	];
}

/** Tolerance between two similarities. */
const SIMILARITY_TOLERANCE = 1e-6;

export const SEARCH_METRIC = "greatest cosine, µs";

/** Returns the name of the case with `count` vectors. */
export function vectorsCase(count) {
	return `${count.toLocaleString("en")} vectors`;
}

/** Searching the vector cache and adding to it, beside the linear scan and a store from npm. */
export async function measureCache({ vectors, searches }, agreement) {
	const name = vectorsCase(vectors);
	const run = await runOnce("cache-process.mjs", "exact", [vectors, searches].map(String));
	const { typescript, ...others } = run;
	const queries = typescript.similarities.map((_, index) => `query ${index}`);
	for (const [store, { similarities }] of Object.entries(others)) {
		const what = `${name}, ${store} against the linear scan`;
		agreement.check(what, queries, similarities, typescript.similarities, SIMILARITY_TOLERANCE);
	}
	const medians = (metric, values) => medianRow(name, metric, mapValues(run, values));
	return [
		medians(SEARCH_METRIC, ({ searches }) => searches),
		medians("add to a full one, µs", ({ additions }) => additions),
	];
}
