/**
 * A worker that scores `workerData.traces`, with its own scorer if there are `workerData.options`,
 * posts its progress, and ends as `workerData.ending` says.
 */

import { parentPort, workerData } from "node:worker_threads";
import * as scoring from "@knowledgepulse/scoring";

parentPort.postMessage("imported");
const { traces, options } = workerData;
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
endings[workerData.ending]();
