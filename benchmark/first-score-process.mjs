/** A fresh process that scores one trace: node first-score-process.mjs SIDE TRACE [warm]. */

import { assertModel, isOurs, loadScorer } from "./sides.mjs";

async function timed(work) {
	const start = performance.now();
	const result = await work();
	return [result, performance.now() - start];
}

/** From the start of the process, except before its clock. */
const nodeTime = performance.now();
const [side, json, warm] = process.argv.slice(2);
const trace = JSON.parse(json);
const [, importTime] = await timed(() =>
	isOurs(side)
		? import("@knowledgepulse/scoring")
		: import("../__test__/oracle/evaluate-value.mjs"),
);
const scorer = await loadScorer(side);
let libraryImportTime = null;
let warmUpTime = null;
if (warm) {
	[, warmUpTime] = await timed(async () => {
		if (scorer.importLibrary) [, libraryImportTime] = await timed(scorer.importLibrary);
		await scorer.warmup();
	});
}
const [score, scoreTime] = await timed(() => scorer.evaluateValue(trace));
assertModel(scorer);
const { loadMs = null } = scorer.status?.().embedder ?? {};
const first = {
	score,
	nodeTime,
	importTime,
	libraryImportTime,
	warmUpTime,
	scoreTime,
	loadTime: loadMs,
};
process.send({ result: first });
