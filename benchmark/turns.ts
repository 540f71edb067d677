import { setTimeout as sleep } from "node:timers/promises";
import type { BySide, Side } from "./sides.js";

/**
 * Milliseconds between turns. The threads of the ONNX Runtime in transformers.js spin after a run:
 * the other side's next trace was found to suffer from that 10 ms later, and not after 25.
 */
const PAUSE = 100;

/**
 * Lets the sides work in turns, never two at once; `check` sees what they did in one round. Another
 * one begins each round, so that a drift of the machine meets all.
 */
export async function inTurns<T>(
	sides: readonly Side[],
	rounds: number,
	work: (side: Side, round: number) => Promise<T>,
	check?: (results: BySide<T>, round: number) => void,
): Promise<BySide<T[]>> {
	const all = new Map<Side, T[]>(sides.map((side) => [side, []]));
	for (let round = 0; round < rounds; round++) {
		const first = round % sides.length;
		const results = new Map<Side, T>();
		for (const side of [...sides.slice(first), ...sides.slice(0, first)]) {
			const result = await work(side, round);
			results.set(side, result);
			all.get(side)?.push(result);
			await sleep(PAUSE);
		}
		check?.(results, round);
	}
	return all;
}
