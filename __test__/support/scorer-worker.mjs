/** A worker that scores `workerData` with its own scorer, and lives until it gets a message. */

import { parentPort, workerData } from "node:worker_threads";

parentPort.once("message", () => {});
if (workerData.length > 0) {
	const { Scorer } = await import("@knowledgepulse/scoring");
	await new Scorer().evaluateValues(workerData);
}
parentPort.postMessage("done");
