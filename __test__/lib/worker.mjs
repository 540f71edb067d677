/** A worker that scores `workerData.traces`, tells how far it has got, and ends in a given way. */

import { parentPort, workerData } from "node:worker_threads";
import { evaluateValue } from "../../index.mjs";

parentPort.postMessage("imported");
const calls = workerData.traces.map((trace) => evaluateValue(trace));
calls[0].then(() => parentPort.postMessage("scored"));
parentPort.postMessage("called");

const endings = {
	return: () => {},
	exit: () => process.exit(4),
	"exit after a score": () => calls[0].then(() => process.exit(4)),
	throw: () => {
		throw new Error("thrown on purpose");
	},
	scores: async () =>
		parentPort.postMessage({ scores: await Promise.all(calls) }),
};
endings[workerData.ending]();
