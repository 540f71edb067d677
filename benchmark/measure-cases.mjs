/** Latency and throughput: a long-lived process for each side, and never two at work. */

import { AGAIN_CASE, sourceOf, take } from "./cases.mjs";
import { Child, inTurns } from "./processes.mjs";
import { collect, medianRow, row } from "./results.mjs";
import { mapValues } from "./sides.mjs";
import { quantile } from "./statistics.mjs";

const MANY = 16;

/** Enough for the start and the end, where fewer are in flight, to weigh little. */
const BATCH_OF_MANY = 48;

/** The processes that score in turns, and the place where their scores are compared. */
export class Contest {
	children;

	constructor(sides, agreement) {
		this.sides = sides;
		this.agreement = agreement;
		this.children = new Map(sides.map((side) => [side, new Child("batch-process.mjs", side)]));
	}

	/** Measures one case, and checks every score on the way. */
	async measureCase(name, plan) {
		const { warmUp } = plan;
		const request = { op: "case", name, warmUp };
		await inTurns(this.sides, 1, (side) => this.ask(side, request));
		const { alone, together, batch } = plan;
		const singles = await this.batches(name, warmUp, alone, batch, 1);
		const times = collect(singles, (done) => done.times);
		const rows = [medianRow(name, "p50, ms", times)];
		if (together === 0) return rows;
		const p99 = mapValues(times, (list) => quantile(list, 0.99));
		rows.push(row(name, "p99, ms", p99), throughput(name, 1, singles));
		const first = warmUp + alone;
		const size = BATCH_OF_MANY;
		const many = await this.batches(name, first, together, size, MANY);
		return [...rows, throughput(name, MANY, many)];
	}

	/** Lets the sides take turns until `total` traces are scored, each by all of them. */
	batches(name, start, total, size, inFlight) {
		const source = sourceOf(name);
		const firstOf = (round) => start + round * size;
		const countOf = (round) => Math.min(size, total - round * size);
		return inTurns(
			this.sides,
			Math.ceil(total / size),
			(side, round) => {
				const [first, count] = [firstOf(round), countOf(round)];
				const request = { op: "batch", first, count, inFlight };
				return this.ask(side, request);
			},
			(results, round) => {
				const traces = take(source, firstOf(round), countOf(round));
				this.agreement.compareBatches(name, traces.map(idOf), results);
			},
		);
	}

	/** Measures a text that has been scored before. */
	async measureMemo({ rounds, again }) {
		const done = await inTurns(
			this.sides,
			rounds,
			(side, first) => this.ask(side, { op: "again", first, count: again }),
			(results, round) => {
				// The first time is not measured, but compared.
				const ids = Array(1 + again).fill(idOf(sourceOf(AGAIN_CASE)(round)));
				this.agreement.compareBatches(AGAIN_CASE, ids, results);
			},
		);
		const times = collect(done, (batch) => batch.times);
		return medianRow(AGAIN_CASE, "p50, ms", times);
	}

	async end() {
		await Promise.all([...this.children.values()].map((child) => child.end()));
	}

	ask(side, request) {
		return this.children.get(side).ask(request);
	}
}

function idOf(trace) {
	return trace.id ?? "a trace without id";
}

function throughput(name, inFlight, batches) {
	return medianRow(
		name,
		`traces/s, ${inFlight} in flight (+)`,
		collect(batches, (batch) => [(1000 * batch.times.length) / batch.elapsed]),
	);
}
