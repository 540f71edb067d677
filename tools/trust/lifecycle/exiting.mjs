/** A program that ends while scores are in flight. Runs in processes of its own, and in workers. */
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import { says, words } from "../../../__test__/support/traces.mjs";

/** What is in flight at the end. Each returns the promises of its calls. */
const WORK = {
	"the default scorer": ({ scoring, traces }) =>
		traces.map((trace) => scoring.evaluateValue(trace)),
	"a scorer of its own": ({ scorer, traces }) => traces.map((trace) => scorer.evaluateValue(trace)),
	explanations: ({ scoring, traces }) => traces.map((trace) => scoring.explainValue(trace)),
	"a batch": ({ scorer, traces }) => [
		scorer.evaluateValues(traces.slice(0, traces.length / 2)),
		scorer.evaluateValues(traces.slice(traces.length / 2)),
	],
	"snapshots being saved": ({ scorer, traces, folder }) => [
		...traces.map((trace) => scorer.evaluateValue(trace)),
		...[0, 1, 2, 3].map((file) => scorer.save(join(folder, `${file}`))),
	],
	"several scorers": ({ scoring, traces }) =>
		traces.flatMap((trace, index) => {
			const scorer = new scoring.Scorer({ threads: 1 + (index % 2) });
			return [scorer.warmup(), scorer.evaluateValue(trace)];
		}),
};
export const works = Object.keys(WORK);

/** When the end comes; each starts the work, and returns its promises. */
const MOMENTS = {
	"before the model is loaded": (start) => start(),
	"while the model is being loaded": async (start, { delay }) => {
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
	"with a queue": async (start, { delay }) => {
		const calls = start();
		await Promise.any(calls);
		await sleep(delay / 8);
		return calls;
	},
};
export const moments = Object.keys(MOMENTS);

/** How it ends. `ready` announces the end. */
const WAYS = {
	return: async ({ code, calls, ready }) => {
		process.exitCode = code;
		Promise.allSettled(calls).then(ready);
	},
	"process.exit": ({ code, ready }) => {
		ready();
		process.exit(code);
	},
	"uncaught throw": ({ ready }) => {
		setImmediate(() => {
			ready();
			throw new Error("thrown on purpose");
		});
	},
	"unhandled rejection": ({ ready }) => {
		ready();
		Promise.reject(new Error("rejected on purpose"));
	},
	"a signal": async ({ ready }) => {
		ready();
		// The signal comes from the parent; nothing here must end the process before it.
		setInterval(() => {}, 1000);
	},
	"a signal with a listener": async ({ code, signal, ready }) => {
		process.once(signal, () => process.exit(code));
		setInterval(() => {}, 1000);
		ready();
	},
};
export const ways = Object.keys(WAYS);

/**
 * Scores with `input.work`, and ends at `input.moment` in the way `input.way`: with the package, or with
 * the stand-in for it. Just before, it sends how many calls there were, and how many have settled.
 */
export async function endWith(input, send) {
	const scoring = await import(input.addon ? "@knowledgepulse/scoring" : "./stand-in.mjs");
	const scorer = new scoring.Scorer();
	// Each text another one: what was met lately is not embedded again.
	const traces = Array.from({ length: input.count }, (_, index) =>
		says(words(index % 5 ? 450 : 5, input.seed + index)),
	);
	const context = { ...input, scoring, scorer, traces };
	let settled = 0;
	const settle = () => {
		settled += 1;
	};
	const start = () => {
		// One that is refused at once is among them.
		const calls = [scoring.evaluateValue({}), ...WORK[input.work](context)];
		for (const call of calls) call.then(settle, settle);
		return calls;
	};
	const calls = await MOMENTS[input.moment](start, context);
	const ready = () => send({ calls: calls.length, settled });
	await WAYS[input.way]({ ...input, calls, ready });
}

/** The program in the main thread of a process. */
export const exiting = (_, input, send) => endWith(input, send);

/** The program in a worker of a process, whose main thread does `input.main`. */
export function exitingInWorker(_, input) {
	const worker = new Worker(new URL("alone.mjs", import.meta.url), {
		workerData: input,
		execArgv: [],
	});
	worker.on("message", () => {
		if (input.main === "exits") process.exit(input.code);
		if (input.main === "terminates it") worker.terminate();
	});
	worker.on("exit", (code) => {
		process.exitCode = code;
	});
	if (input.main === "listens for the error") worker.on("error", () => {});
}
