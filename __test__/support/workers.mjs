/** Workers that score. Used in child processes. */

import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";

/**
 * A worker that scores `traces`, with its own scorer if there are `options`, posts its progress, and ends by
 * `ending`.
 */
export function startWorker(traces, ending, options) {
	// The arguments of the process only apply to code outside a file.
	const given = { workerData: { traces, ending, options }, execArgv: [] };
	return new Worker(new URL(import.meta.url), given);
}

/** Waits until a worker has ended. Returns its exit code, error message and messages. */
export function ended(worker) {
	const told = [];
	let message;
	worker.on("message", (value) => told.push(value));
	worker.on("error", (error) => {
		message = error.message;
	});
	return new Promise((resolve) => {
		worker.once("exit", (code) => resolve({ code, message, told }));
	});
}

/** Waits for the message `wanted` of a worker. */
export function tells(worker, wanted) {
	return new Promise((resolve) => {
		worker.on("message", (value) => value === wanted && resolve());
	});
}

async function work({ traces, options, ending }) {
	const scoring = await import("@knowledgepulse/scoring");
	parentPort.postMessage("imported");
	const scorer = options ? new scoring.Scorer(options) : scoring;
	const calls = traces.map((trace) => scorer.evaluateValue(trace));
	calls[0].then(() => parentPort.postMessage("scored"));
	parentPort.postMessage("called");

	const endings = {
		return: () => {},
		exit: () => process.exit(4),
		"exit after a score": () => calls[0].then(() => process.exit(4)),
		throw: () => {
			throw new Error("thrown on purpose");
		},
		scores: async () => parentPort.postMessage({ scores: await Promise.all(calls) }),
	};
	endings[ending]();
}

if (!isMainThread) await work(workerData);
