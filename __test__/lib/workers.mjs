/** Starts workers. Used in child processes. */

import { Worker } from "node:worker_threads";

/** A worker that scores `traces`, and ends as `ending` says; see worker.mjs. */
export function startWorker(traces, ending, options) {
	// Without the arguments of the process, which are for code that is no file.
	const given = { workerData: { traces, ending, options }, execArgv: [] };
	return new Worker(new URL("./worker.mjs", import.meta.url), given);
}

/** Waits until a worker has ended: its exit code, error message, and all that it told. */
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

/** Waits until a worker tells `wanted`. */
export function tells(worker, wanted) {
	return new Promise((resolve) => {
		worker.on("message", (value) => value === wanted && resolve());
	});
}
