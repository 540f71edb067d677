/**
 * What exiting.mjs uses of the package, without the addon: shows how the same program ends without it.
 */
import { writeFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";

async function score(trace) {
	if (trace.metadata === undefined)
		throw Object.assign(new Error("metadata: expected an object"), {
			code: "INVALID_TRACE",
		});
	await sleep(5);
	return 0.5;
}

export class Scorer {
	evaluateValue = score;
	explainValue = async (trace) => ({ score: await score(trace) });
	evaluateValues = async (traces) => {
		const scores = [];
		for (const trace of traces) scores.push(await score(trace));
		return scores;
	};
	warmup = () => sleep(5);
	save = (path) => writeFile(path, "");
	close() {}
}

export const { evaluateValue, evaluateValues, explainValue, warmup } = new Scorer();
