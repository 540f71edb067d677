/** Starts workers. Used in child processes. */

import { Worker } from "node:worker_threads";

/** A worker that scores `traces`, and ends as `ending` says; see worker.mjs. */
export function startWorker(traces, ending, options) {
	// The arguments of the process are for code that is not in a file.
	const given = { workerData: { traces, ending, options }, execArgv: [] };
	return new Worker(new URL("./worker.mjs", import.meta.url), given);
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
