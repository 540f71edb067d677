/**
 * Scores the traces of a case with the installed package, in the order in which they come, and
 * compares: node score.mjs CASE.json. Runs on any system, beside its node_modules.
 */
import { readFileSync } from "node:fs";
import { explainValue, Scorer } from "@knowledgepulse/scoring";

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
const systemOf = process.report.getReport().header;
const hasLibrary = process.platform !== "linux" || systemOf.glibcVersionRuntime !== undefined;
let engine = "no ONNX Runtime";
if (hasLibrary) {
	const onnx = new Scorer({ backend: "onnx", embedder: "required" });
	const distance = Math.abs((await onnx.evaluateValue(traces[0])) - scores[0]);
	const custom = new Scorer({ model: "custom-model", pooling: "mean", embedder: "required" });
	const vector = await custom.embed("a b");
	if (!(distance <= tolerance) || Math.hypot(vector[0] - 0.6, vector[1] - 0.8) > 1e-6) {
		console.error(`${name}: ONNX Runtime gives ${distance}, ${vector}`);
		process.exit(1);
	}
	engine = `ONNX Runtime ${onnx.status().embedder.libraryVersion}`;
}
console.log(
	`${name}: ${traces.length} scores within ${worst.toExponential(1)} on ${process.platform} ${process.arch}, ${process.version}, ${engine}`,
);
