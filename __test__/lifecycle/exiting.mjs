/** A program that ends with scores in flight. Runs in child processes. */

import { availableParallelism } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { filling } from "../support/traces.mjs";

/** The calls in flight at the end. Each function returns their promises. */
const WORK = {
	"the default scorer": ({ scoring, traces }) =>
		traces.map((trace) => scoring.evaluateValue(trace)),
	"a scorer of its own": ({ scorer, traces }) => traces.map((trace) => scorer.evaluateValue(trace)),
	explanations: ({ scoring, traces }) => traces.map((trace) => scoring.explainValue(trace)),
	"two batches": ({ scorer, traces }) => [
		scorer.evaluateValues(traces.slice(0, traces.length / 2)),
		scorer.evaluateValues(traces.slice(traces.length / 2)),
	],
	"snapshots being saved": ({ scorer, traces, folder }) => [
		...traces.map((trace) => scorer.evaluateValue(trace)),
		...[0, 1, 2, 3].map((file) => scorer.save(join(folder, `${file}`))),
	],
	"several scorers": ({ scoring, traces }) =>
		traces.slice(0, 8).flatMap((trace, index) => {
			const threads = Math.min(1 + (index % 2), availableParallelism());
			const scorer = new scoring.Scorer({ threads });
			return [scorer.warmup(), scorer.evaluateValue(trace)];
		}),
};
export const works = Object.keys(WORK);

/** The moment of the end. Each function starts the work and returns its promises. */
const MOMENTS = {
	"at once": (start) => start(),
	"in the next turn": async (start) => {
		const calls = start();
		await new Promise(setImmediate);
		return calls;
	},
	"while the model is loading": async (start, { delay }) => {
		const calls = start();
		await sleep(delay);
		return calls;
	},
	"in the middle of a text": async (start, { delay, scoring, scorer }) => {
		await Promise.all([scoring.warmup(), scorer.warmup()]);
		const calls = start();
		await sleep(delay / 4);
		return calls;
	},
	"after a score": async (start, { delay }) => {
		const calls = start();
		await Promise.any(calls);
		await sleep(delay / 8);
		return calls;
	},
};
export const moments = Object.keys(MOMENTS);

/** The ways to end. `ready` tells the parent, which sends signals. */
const WAYS = {
	return: ({ code, calls, ready }) => {
		process.exitCode = code;
		Promise.allSettled(calls).then(ready);
	},
	"process.exit()": ({ code, ready }) => {
		ready();
		process.exit(code);
	},
	"an uncaught error": ({ ready }) => {
		setImmediate(() => {
			ready();
			throw new Error("thrown on purpose");
		});
	},
	"an unhandled rejection": ({ scoring, ready }) => {
		ready();
		scoring.evaluateValue({});
	},
	"a signal": ({ ready }) => {
		setInterval(() => {}, 1000);
		ready();
	},
	"a signal with a listener": ({ code, signal, ready }) => {
		process.once(signal, () => process.exit(code));
		setInterval(() => {}, 1000);
		ready();
	},
};
export const ways = Object.keys(WAYS);

/**
 * Scores with `input.work`, and ends at `input.moment` in the way `input.way`. Just before, it sends the
 * number of calls, and how many of them have settled.
 */
export async function exiting({ scoring, input, send }) {
	const scorer = new scoring.Scorer();
	// All texts differ: the memo would answer a repeated one at once.
	const traces = filling(input.count, input.seed);
	const context = { ...input, scoring, scorer, traces };
	let settled = 0;
	const settle = () => {
		settled += 1;
	};
	const start = () => {
		const rejectedAtOnce = scoring.evaluateValue({});
		const calls = [rejectedAtOnce, ...WORK[input.work](context)];
		for (const call of calls) call.then(settle, settle);
		return calls;
	};
	const calls = await MOMENTS[input.moment](start, context);
	WAYS[input.way]({ ...context, calls, ready: () => send({ calls: calls.length, settled }) });
}
