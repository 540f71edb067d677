/** Latency and throughput: a long-lived process for each side, and never two at work. */

import type { Agreement } from "./agreement.js";
import type {
	AgainRequest,
	BatchRequest,
	CaseRequest,
	ThoughtsRequest,
} from "./batch-process.js";
import {
	AGAIN_CASE,
	FOLLOWER_CASE,
	sourceOf,
	THOUGHT_CASE,
	take,
} from "./cases.js";
import { Child } from "./child.js";
import type { CasePlan, MemoPlan } from "./plan.js";
import { collect, medianRow, type Row, row } from "./rows.js";
import type { Batch } from "./score-many.js";
import { type BySide, mapValues, type Side } from "./sides.js";
import { quantile } from "./statistics.js";
import { inTurns } from "./turns.js";

const MANY = 16;

/** Enough for the start and the end, where fewer are in flight, to weigh little. */
const BATCH_OF_MANY = 48;

/** The processes that score in turns, and the place where their scores are compared. */
export class Contest {
	private readonly children: BySide<Child>;

	constructor(
		private readonly sides: readonly Side[],
		private readonly agreement: Agreement,
	) {
		this.children = new Map(
			sides.map((side) => [side, new Child("batch-process.js", side)]),
		);
	}

	/** Measures one case, and checks every score on the way. */
	async measureCase(name: string, plan: CasePlan): Promise<Row[]> {
		const { warmUp } = plan;
		const request: CaseRequest = { op: "case", name, warmUp };
		await inTurns(this.sides, 1, (side) => this.ask<true>(side, request));
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
	private batches(
		name: string,
		start: number,
		total: number,
		size: number,
		inFlight: number,
	): Promise<BySide<Batch[]>> {
		const source = sourceOf(name);
		const firstOf = (round: number) => start + round * size;
		const countOf = (round: number) => Math.min(size, total - round * size);
		return inTurns<Batch>(
			this.sides,
			Math.ceil(total / size),
			(side, round) => {
				const [first, count] = [firstOf(round), countOf(round)];
				const request: BatchRequest = { op: "batch", first, count, inFlight };
				return this.ask(side, request);
			},
			(results, round) => {
				const traces = take(source, firstOf(round), countOf(round));
				this.agreement.compareBatches(name, traces.map(idOf), results);
			},
		);
	}

	/** Measures what need not wait for the model: a text seen before, and a score that is fixed. */
	async measureMemo(plan: MemoPlan): Promise<Row[]> {
		const again = await this.rounds(
			AGAIN_CASE,
			plan.rounds,
			(round) => ({ op: "again", first: round, count: plan.again }),
			// The first time is not measured, but compared.
			(round) => Array(1 + plan.again).fill(idAt(AGAIN_CASE, round)),
		);
		const { thoughts } = plan;
		const numbers = (round: number) =>
			Array.from({ length: thoughts }, (_, index) => round * thoughts + index);
		const fixed = await this.rounds(
			THOUGHT_CASE,
			plan.rounds,
			(round) => ({ op: "thoughts", first: round * thoughts, count: thoughts }),
			(round) =>
				numbers(round).flatMap((number) => [
					idAt(THOUGHT_CASE, number),
					idAt(FOLLOWER_CASE, number),
				]),
		);
		return [again, fixed];
	}

	/** One row out of requests, whose scores are those of the traces with these ids. */
	private async rounds(
		name: string,
		rounds: number,
		request: (round: number) => AgainRequest | ThoughtsRequest,
		ids: (round: number) => string[],
	): Promise<Row> {
		const done = await inTurns<Batch>(
			this.sides,
			rounds,
			(side, round) => this.ask(side, request(round)),
			(results, round) =>
				this.agreement.compareBatches(name, ids(round), results),
		);
		return medianRow(
			name,
			"p50, ms",
			collect(done, (batch) => batch.times),
		);
	}

	async end(): Promise<void> {
		await Promise.all([...this.children.values()].map((child) => child.end()));
	}

	private ask<T>(side: Side, request: object): Promise<T> {
		return (this.children.get(side) as Child).ask<T>(request);
	}
}

function idOf(trace: { id?: string }): string {
	return trace.id ?? "a trace without id";
}

function idAt(name: string, number: number): string {
	return idOf(sourceOf(name)(number));
}

function throughput(
	name: string,
	inFlight: number,
	batches: BySide<Batch[]>,
): Row {
	return medianRow(
		name,
		`traces/s, ${inFlight} in flight (+)`,
		collect(batches, (batch) => [(1000 * batch.times.length) / batch.elapsed]),
	);
}
