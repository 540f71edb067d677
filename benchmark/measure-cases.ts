/** Latency and throughput: two long-lived processes, and never both at work. */

import { setTimeout as sleep } from "node:timers/promises";
import type { Agreement } from "./agreement.js";
import type { BatchRequest, CaseRequest } from "./batch-process.js";
import { tracesOf } from "./cases.js";
import type { Child } from "./child.js";
import type { CasePlan } from "./plan.js";
import { bySide, type Row, row } from "./rows.js";
import type { Batch } from "./score-many.js";
import { SIDES, type Side } from "./scorers.js";
import { median, quantile, quartiles } from "./statistics.js";

/**
 * Milliseconds between turns. The threads of the ONNX Runtime in transformers.js spin after a run:
 * the other side's next trace was found to suffer from that 10 ms later, and not after 25.
 */
export const PAUSE = 100;

const MANY = 16;

/** Enough for the start and the end, where fewer are in flight, to weigh little. */
const BATCH_OF_MANY = 48;

type Sides<T> = Record<Side, T>;

/** Measures one case, and checks every score on the way. */
export async function measureCase(
	name: string,
	plan: CasePlan,
	children: Sides<Child>,
	agreement: Agreement,
): Promise<Row[]> {
	const ids = tracesOf(name).map((trace, index) => trace.id ?? String(index));
	const request: CaseRequest = { op: "case", name };
	for (const side of SIDES) {
		await children[side].ask(request);
		await sleep(PAUSE);
	}

	let first = 0;
	/** Lets the sides take turns until `total` traces are scored, each by both. */
	async function alternate(
		total: number,
		size: number,
		inFlight: number,
	): Promise<Sides<Batch[]>> {
		const batches: Sides<Batch[]> = { ours: [], typescript: [] };
		const end = first + total;
		for (let round = 0; first < end; round++) {
			const count = Math.min(size, end - first);
			const scores: Sides<number[]> = { ours: [], typescript: [] };
			// Each begins every second round, so that a drift of the machine meets both.
			for (const side of round % 2 === 0 ? SIDES : [...SIDES].reverse()) {
				const batchRequest: BatchRequest = {
					op: "batch",
					first,
					count,
					inFlight,
				};
				const batch = await children[side].ask<Batch>(batchRequest);
				batches[side].push(batch);
				scores[side] = batch.scores;
				await sleep(PAUSE);
			}
			const scored = scores.ours.map(
				(_, index) => ids[(first + index) % ids.length] as string,
			);
			agreement.check(
				`${name}, ours against typescript, while measured`,
				scored,
				scores.ours,
				scores.typescript,
			);
			first += count;
		}
		return batches;
	}

	const alone = await alternate(plan.alone, plan.batch, 1);
	const together = await alternate(plan.together, BATCH_OF_MANY, MANY);
	const times = bySide((side) => alone[side].flatMap((batch) => batch.times));
	return [
		row(
			name,
			"p50, ms",
			bySide((side) => median(times[side])),
			bySide((side) => quartiles(times[side])),
		),
		row(
			name,
			"p99, ms",
			bySide((side) => quantile(times[side], 0.99)),
		),
		throughput(name, 1, alone),
		throughput(name, MANY, together),
	];
}

function throughput(
	name: string,
	inFlight: number,
	batches: Sides<Batch[]>,
): Row {
	const rates = bySide((side) =>
		batches[side].map((batch) => (1000 * batch.scores.length) / batch.elapsed),
	);
	return row(
		name,
		`traces/s, ${inFlight} in flight (greater is better)`,
		bySide((side) => median(rates[side])),
		bySide((side) => quartiles(rates[side])),
	);
}
