/**
 * Scores the traces of a case with the installed package, in the order in which they come, and
 * compares: node score.mjs CASE.json. Runs on any system, beside its node_modules.
 */
import { readFileSync } from "node:fs";
import { explainValue } from "@knowledgepulse/scoring";

const { name, traces, scores, tolerance } = JSON.parse(readFileSync(process.argv[2], "utf8"));
let worst = 0;
for (const [index, trace] of traces.entries()) {
	const { score, novelty } = await explainValue(trace);
	const distance = Math.abs(score - scores[index]);
	if (novelty.reason !== null || !(distance <= tolerance)) {
		console.error(
			`${name}, trace ${index}: expected ${scores[index]}, got ${score}`,
			novelty.reason ?? "",
		);
		process.exit(1);
	}
	worst = Math.max(worst, distance);
}
console.log(
	`${name}: ${traces.length} scores within ${worst.toExponential(1)} on ${process.platform} ${process.arch}, ${process.version}`,
);
