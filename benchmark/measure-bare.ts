/** Scoring without the model: what the way into the addon and back costs. */

import type { Agreement } from "./agreement.js";
import type { BareRequest, BareRun } from "./bare-process.js";
import { BARE_CASES, sourceOf, take } from "./cases.js";
import { Child } from "./child.js";
import type { BarePlan } from "./plan.js";
import { collect, medianRow, type Row } from "./rows.js";
import type { BySide, Side } from "./sides.js";
import { inTurns } from "./turns.js";

/** The model makes no difference here, so neither do precisions. */
const SIDES: readonly Side[] = ["exact", "typescript"];

/** Rounds at the beginning, in which code is still being compiled. */
const WARM_UP = 1;

/** Measures calls, round trips and many at once, for traces of two sizes. */
export async function measureBare(plan: BarePlan, agreement: Agreement): Promise<Row[]> {
	const children = new Map(SIDES.map((side) => [side, new Child("bare-process.js", side)]));
	const ask = (side: Side, request: BareRequest) =>
		(children.get(side) as Child).ask<BareRun>(request);
	const rows: Row[] = [];
	try {
		for (const name of BARE_CASES) {
			rows.push(...(await measureOne(name, plan, ask, agreement)));
		}
	} finally {
		await Promise.all([...children.values()].map((child) => child.end()));
	}
	return rows;
}

async function measureOne(
	name: string,
	plan: BarePlan,
	ask: (side: Side, request: BareRequest) => Promise<BareRun>,
	agreement: Agreement,
): Promise<Row[]> {
	const source = sourceOf(name);
	const count = plan.traces;
	let next = 0;

	async function times(
		way: BareRequest["way"],
		value: (microseconds: number) => number,
	): Promise<BySide<number[]>> {
		const start = next;
		const rounds = WARM_UP + plan.rounds;
		next += rounds * count;
		const firstOf = (round: number) => start + round * count;
		const runs = await inTurns(
			SIDES,
			rounds,
			(side, round) => ask(side, { name, first: firstOf(round), count, way }),
			(results, round) => {
				const ids = take(source, firstOf(round), count).map((trace) => trace.id ?? "");
				const scores = [results.get("exact"), results.get("typescript")].map(
					(run) => run?.scores ?? [],
				);
				const what = `${name}, exact against typescript`;
				agreement.check(what, ids, scores[0] ?? [], scores[1] ?? [], 0);
			},
		);
		const warm = new Map([...runs].map(([side, all]) => [side, all.slice(WARM_UP)]));
		return collect(warm, (run) => run.times.map(value));
	}

	const same = (microseconds: number) => microseconds;
	return [
		medianRow(name, "JS thread for one call, µs", await times("call", same)),
		medianRow(name, "round trip, µs", await times("alone", same)),
		medianRow(
			name,
			`traces/s, ${count} in flight (+)`,
			await times("together", (microseconds) => 1e6 / microseconds),
		),
	];
}
