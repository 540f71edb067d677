/** A worker that scores `workerData` with a scorer of its own, and stays until it gets a message. */

import { parentPort, workerData } from "node:worker_threads";

parentPort.once("message", () => {});
if (workerData.length > 0) {
	const { Scorer } = await import("../../index.mjs");
	await new Scorer().evaluateValues(workerData);
}
parentPort.postMessage("done");
