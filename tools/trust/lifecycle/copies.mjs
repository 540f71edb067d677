/** Two copies of the package. Runs in a process of its own. */
import { setTimeout as sleep } from "node:timers/promises";

/** Scores with both copies at once, and ends. */
export async function both(scoring, input, send) {
	const other = await import(input.other);
	const copies = input.isOtherFirst ? [other, scoring] : [scoring, other];
	const calls = copies.map(({ evaluateValues }) => evaluateValues(input.traces));
	if (input.way === "return") return Promise.all(calls);
	await sleep(input.delay);
	send("exit");
	if (input.way === "exit") process.exit(input.code);
	throw new Error("thrown on purpose");
}
