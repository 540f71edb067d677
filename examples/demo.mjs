/** Scores a dozen traces and a session of an agent, and explains each score. */
import { mkdir, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { explainValue, Scorer, status } from "@knowledgepulse/scoring";
import { calibrate, calibrationReport } from "@knowledgepulse/scoring/calibrate";
import { importTraces } from "@knowledgepulse/scoring/logs";
import { explanation } from "./explanation.mjs";
import { traces } from "./traces.mjs";

const COLUMNS = [
	["trace", -20],
	["domain", -18],
	["steps", 5],
	["C", 6],
	["N", 6],
	["D", 6],
	["O", 6],
	["score", 7],
	["overrides", -40],
];

const row = (cells) =>
	cells
		.map((cell, index) => {
			const width = COLUMNS[index][1];
			return width < 0 ? String(cell).padEnd(-width) : String(cell).padStart(width);
		})
		.join(" ")
		.trimEnd();

const began = performance.now();
// The scores equal those of sequential calls.
const reports = await Promise.all(traces.map(explainValue));
const elapsed = performance.now() - began;

console.log(`${row(COLUMNS.map(([name]) => name))}\n`);
reports.forEach((report, index) => {
	const { metadata, outcome, steps } = traces[index];
	const { complexity, novelty, toolDiversity, outcomeConfidence } = report.dimensions;
	const overrides = report.overrides.map(
		({ name, before, after }) => `${name} (${before.toFixed(2)} to ${after.toFixed(2)})`,
	);
	console.log(
		row([
			outcome.result_summary,
			metadata.task_domain,
			steps.length,
			...[complexity, novelty, toolDiversity, outcomeConfidence].map((value) => value.toFixed(3)),
			report.score.toFixed(4),
			overrides.join(", "),
		]),
	);
});

// A trace to which two overrides apply.
const index = reports.findIndex(({ overrides }) => overrides.length > 1);
console.log(`\n${explanation(traces[index].outcome.result_summary, reports[index])}`);

const { embedder, threads } = status();
console.log(`
C complexity, N novelty, D tool diversity, O outcome confidence, each in [0, 1];
a domain without its own weights gets the default ones.
${reports.length} traces in ${elapsed.toFixed(0)} ms on ${threads} threads, including loading the model.`);
console.log(
	embedder.state === "ready"
		? `Model ${embedder.modelName}.`
		: `Without an embedder: ${embedder.reason}`,
);

// An agent's own log, which does not say whether the agent succeeded.
const session = new URL("session.jsonl", import.meta.url);
const imported = importTraces(session, { assumeSuccess: true });
for await (const { trace, provenance } of imported) {
	const { task, steps } = trace;
	console.log(`\nImported from ${provenance.format}: "${task.objective}"\n`);
	for (const { type, tool, content } of steps) {
		const text = tool?.name ?? content.trim().split("\n")[0];
		console.log(`  ${type.padEnd(15)} ${text.slice(0, 90)}`);
	}
	const { successFrom, confidenceFrom } = provenance;
	console.log(`\n  success: ${successFrom}, confidence: ${confidenceFrom}\n`);
	console.log(explanation("the session", await explainValue(trace)));
}

// The effect of a threshold on the traces above.
const rows = [];
const scorer = new Scorer();
for await (const scored of scorer.evaluateLogs({ name: "traces.mjs", data: traces }))
	rows.push(scored);
const calibration = await calibrate(rows, { target: { share: 0.3 } });
const html = await calibrationReport(calibration, rows, { title: "Scores of the demo's traces" });
const file = new URL("../dist/report.html", import.meta.url);
await mkdir(new URL(".", file), { recursive: true });
await writeFile(file, html);
const { threshold } = calibration;
console.log(`
A threshold of ${threshold.value} accepts ${threshold.accepted} of ${calibration.rows.used} traces. The report:
${fileURLToPath(file)}`);
