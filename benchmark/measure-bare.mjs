/** Scoring without the model: what the way into the addon and back costs. */

import { BARE_CASES, sourceOf, take } from "./cases.mjs";
import { Child, inTurns } from "./processes.mjs";
import { collect, medianRow } from "./results.mjs";

/** The model makes no difference here, so neither do precisions. */
const SIDES = ["exact", "typescript"];

/** Rounds at the beginning, in which code is still being compiled. */
const WARM_UP = 1;

/** Measures calls, round trips and many at once, for traces of two sizes. */
export async function measureBare(plan, agreement) {
	const children = new Map(SIDES.map((side) => [side, new Child("bare-process.mjs", side)]));
	const ask = (side, request) => children.get(side).ask(request);
	const rows = [];
	try {
		for (const name of BARE_CASES) {
			rows.push(...(await measureOne(name, plan, ask, agreement)));
		}
	} finally {
		await Promise.all([...children.values()].map((child) => child.end()));
	}
	return rows;
}

async function measureOne(name, plan, ask, agreement) {
	const source = sourceOf(name);
	const count = plan.traces;
	let next = 0;

	async function times(way, value) {
		const start = next;
		const rounds = WARM_UP + plan.rounds;
		next += rounds * count;
		const firstOf = (round) => start + round * count;
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

	const same = (microseconds) => microseconds;
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
